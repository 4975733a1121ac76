"""
`/kconnect`: what Kafka Connect has no resource for.

Read next: `core/herder/requests/own.py` and `core/herder/requests/placement.py`, which answer.
"""

from __future__ import annotations

from starlette.responses import Response

from kconnect.core.herder.requests.own import GetOwn, ListOwn
from kconnect.core.herder.requests.placement import GetPlacement
from kconnect.core.herder.requests.plugins import ReloadPlugins
from kconnect.rest import schemas
from kconnect.rest.operation import Answer, Operation, Role, refused
from kconnect.rest.resource import Call, ok


async def list_own(call: Call) -> Response:
    return ok(await call.ask(ListOwn()))


async def get_own(call: Call) -> Response:
    return ok(await call.ask(GetOwn(call.path("connector"))))


async def get_placement(call: Call) -> Response:
    return ok(await call.ask(GetPlacement(call.path("connector"))))


async def reload_plugins(call: Call) -> Response:
    return ok(await call.ask(ReloadPlugins()))


_PLACED = schemas.declare(
    "PlacedUnit",
    "A task, or the connector's instance.",
    {
        "task": {"type": ["integer", "null"], "description": "Its number; null for the instance."},
        "state": {"type": "string", "description": "As in its status.", "examples": ["RUNNING"]},
        "worker_id": {"type": ["string", "null"], "description": "Its worker.", "examples": ["10.0.0.1:8083"]},
        "host": schemas.HOST,
        "waits_for": {"type": ["string", "null"], "description": "Why it is not where it should be; null if it is."},
    },
)
_PLACEMENT = schemas.declare(
    "Placement",
    "Where a connector should run, and where it runs.",
    {
        "name": {"type": "string"},
        "connector": schemas.ref(_PLACED),
        "tasks": {"type": "array", "description": "By number.", "items": schemas.ref(_PLACED)},
    },
)

OPERATIONS = (
    Operation(
        "GET /kconnect/connectors",
        list_own,
        "What only kconnect knows of the connectors",
        Role.READ,
        (Answer(200, "By name; some seconds old.", "OwnConnectors"),),
        notes="Which host has each task, what that takes, and what is tried again and again.",
    ),
    Operation(
        "GET /kconnect/connectors/{connector}",
        get_own,
        "What only kconnect knows of a connector",
        Role.READ,
        (Answer(200, "The same of one connector, with its name.", "OwnConnector"), refused(404, "There is no such connector.")),
    ),
    Operation(
        "GET /kconnect/connectors/{connector}/placement",
        get_placement,
        "Where a connector and its tasks run, and what they wait for",
        Role.READ,
        (Answer(200, "What the answering worker has read.", _PLACEMENT), refused(404, "There is no such connector.")),
    ),
    Operation(
        "POST /kconnect/plugins/reload",
        reload_plugins,
        "Make this worker read plugin.path again",
        Role.ADMIN,
        (Answer(200, "What has changed.", "ReloadedPlugins"),),
        notes="This reloads one worker: ask each of them. Connectors that name no version get the newest, as after a restart. "
        "Config providers, and packages installed with kconnect, stay as they are until the worker is restarted.",
    ),
)
