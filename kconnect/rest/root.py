"""`/`, `/health` (KIP-1017), and `/live` and `/ready`, which Kafka Connect has not."""

from __future__ import annotations

import logging
import re

from starlette.responses import Response

from kconnect import __version__
from kconnect.core.herder.requests.worker import Health, Root, WhyNotReady
from kconnect.errors import ConnectError, RequestTimeoutError, UnavailableError
from kconnect.rest import schemas
from kconnect.rest.operation import Answer, Role
from kconnect.rest.resource import Call, ok

log = logging.getLogger("kconnect.rest")

LIVE = {"status": "live"}
STARTING = {"status": "starting", "message": "Worker is still starting up."}


async def get_worker(call: Call) -> Response:
    return ok(await call.ask(Root()), headers={"X-Kconnect-Version": __version__})


async def get_health(call: Call) -> Response:
    try:
        spark = await call.ask(Health(), call.api.settings.health_timeout)
    except UnavailableError:
        return ok(STARTING, 503)
    except ConnectError as error:
        _trouble.say(str(error))
        text = "Worker was unable to handle this request and may be unable to handle other requests."
        if not isinstance(error, RequestTimeoutError):
            text = f"{text} {error}"
        return _health(500, "unhealthy", text)
    _trouble.end()
    gate = call.api.settings.gate
    login = None if gate is None else gate.file.trouble
    # Still 200, whatever it says: a worker that is ended for this would do no better after a restart.
    text = "Worker has completed startup and is ready to handle requests."
    return _health(200, "healthy", " ".join(filter(None, (text, login, spark))))


async def get_live(call: Call) -> Response:
    # By the server alone: whoever ends a worker that does not answer this ends one that never will.
    return ok(LIVE)


async def get_ready(call: Call) -> Response:
    try:
        why_not = await call.ask(WhyNotReady(), call.api.settings.health_timeout)
    except RequestTimeoutError:
        # Its herder has very much to do: that is `/health`'s to tell, once the worker has come up.
        why_not = None if call.api.has_been_ready.is_set() else "The worker does not answer."
    except ConnectError as error:
        why_not = str(error)
    if why_not is None:
        call.api.has_been_ready.set()
    return ok({"status": "ready"}) if why_not is None else ok({"status": "not ready", "message": why_not}, 503)


class _Trouble:
    """Logs what ails the worker once, however often it is asked: for how long it lasts is no news."""

    def __init__(self) -> None:
        self._said = ""

    def say(self, text: str) -> None:
        what = _DURATION.sub("", text)
        if what != self._said:
            self._said = what
            log.warning("The worker is unhealthy: %s", text)

    def end(self) -> None:
        if self._said:
            self._said = ""
            log.info("The worker is healthy again")


_DURATION = re.compile(r"(?<!\d)\d+ s\b")
_trouble = _Trouble()


def _health(status: int, word: str, message: str) -> Response:
    return ok({"status": word, "message": message}, status)


_LIVE = schemas.declare("Live", "That a worker lives.", {"status": {"enum": ["live"]}})
_READY = schemas.declare(
    "Ready",
    "Whether a worker is ready; if not, what it waits for.",
    {"status": {"enum": ["ready", "not ready"]}},
    {"message": {"type": "string"}},
)
_WORKER = Answer(
    200,
    "The worker.",
    "Worker",
    (("X-Kconnect-Version", "kconnect's own version; the one in the body is Kafka Connect's, whose API this is."),),
)

OPERATIONS = (
    Role.READ.may("GET /", get_worker, "The worker's version and its Kafka cluster", _WORKER),
    Role.ANYONE.may(
        "GET /health",
        get_health,
        "Whether the worker is up (KIP-1017)",
        Answer(200, "It answers requests.", "Health"),
        Answer(500, "It can't answer requests at the moment.", "Health"),
        Answer(503, "It is starting.", "Health"),
        probe=True,
    ),
    Role.ANYONE.may(
        "GET /live",
        get_live,
        "Whether the worker's process answers at all",
        Answer(200, "It does.", _LIVE),
        notes="It looks at nothing else, and may be asked as often as you like.",
        probe=True,
    ),
    Role.ANYONE.may(
        "GET /ready",
        get_ready,
        "Whether the worker has come up, and does not leave",
        Answer(200, "It has read its topics, is in the group, and has had Spark.", _READY),
        Answer(503, "Not yet, or it hands its work over and ends.", _READY),
        notes="What goes wrong later, such as a Kafka that does not answer, is told by `/health`: it concerns all workers at "
        "once, and requests must find some.",
        probe=True,
    ),
)
