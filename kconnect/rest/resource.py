"""
What all resources share: how a path answers its methods, and how a handler asks the herder.

`app.py` makes routes of the resources' rows (`operation.py`). A handler takes a `Call` and returns a response or raises;
`errors.py` does the rest. Read next: `connectors.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from urllib.parse import quote, urlsplit

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from kconnect.core.herder.desk import ForwardError
from kconnect.core.herder.request import Request
from kconnect.core.herder.requests.worker import GetConfigOffset, GetSessionKeys, IsMember, ReadConfigs
from kconnect.core.settings.browsers import Cors, HeaderRule
from kconnect.core.state.records import SessionKey
from kconnect.errors import ConnectError, RequestTimeoutError
from kconnect.processes.levels import Loggers
from kconnect.processes.log_lines import Wanted
from kconnect.rest import bodies, browsers, errands, errors, host_names, places, signature
from kconnect.rest.audit import AuditFile
from kconnect.rest.authentication import Gate
from kconnect.rest.forward import READ_TO, Forwarder
from kconnect.rest.host_names import HostNames
from kconnect.rest.notes import WORKER, noted
from kconnect.rest.operation import JSON, Handler, Operation, Role, accepts, is_json
from kconnect.rest.places import NoPlaceError, Places
from kconnect.rest.reading import BusyError, Reading, TooLargeError
from kconnect.rest.sessions import OPENED
from kconnect.rest.shared import Shared

log = logging.getLogger("kconnect.rest")

T = TypeVar("T")


class Herder(Protocol):
    """The worker's loop, as REST sees it."""

    def submit(self, request: Request[T]) -> Future[T]:
        """
        Queue a request and return at once; called from the server's thread.

        The future gives JSON data or `Created`, or raises an error of `kconnect.errors`. It is cancelled when
        the client's time is over, so whoever completes it must bear that.
        """
        ...


@dataclass(frozen=True, slots=True)
class RestSettings:
    """The worker's settings that concern REST; times are in seconds."""

    advertised_url: str
    """`http://host:port/`, for Location headers; port 0 stands for the port that the request came in by."""
    request_timeout: float = 90.0
    health_timeout: float = 10.0
    verification_algorithms: tuple[str, ...] = ("HmacSHA256",)
    """Those with which other workers may sign their internal requests."""
    max_body_bytes: int = 16 * 2**20
    """A body that is longer is refused. Kafka takes records of 1 MiB unless it is told otherwise, so no config is."""
    max_record_bytes: int = 2**20
    """What the config topic takes at once: a config that is longer is refused before it is validated."""
    admin: bool = True
    """Serve `/admin` too: false when `admin.listeners` is set, be it empty or to listeners of its own."""
    cors: Cors | None = None
    response_headers: tuple[HeaderRule, ...] = ()
    gate: Gate | None = None
    """Asks callers who they are; None lets everybody do everything."""
    host_names: HostNames | None = None
    """Under which names browsers are served where no login is needed; None: the advertised one."""
    connections: int = 4096
    """How many connections the server has: places for requests follow from it."""
    read_logs: Callable[[Wanted], dict[str, Any]] | None = None
    """Reads lines of logs; a call takes some time, in any thread."""
    console: bool = True
    """Serve the web console."""
    audit_file: AuditFile | None = None
    """Where the audit log goes besides its logger."""
    audit_recent: deque[str] = field(default_factory=lambda: deque(maxlen=1000), compare=False)
    """Its last lines, of all listeners."""


@dataclass(frozen=True, slots=True)
class Api:
    """The objects that every handler may use."""

    herder: Herder
    settings: RestSettings
    loggers: Loggers
    forwarder: Forwarder
    operations: tuple[Operation, ...]
    """All that this listener serves."""
    signatures: signature.Seen = field(default_factory=signature.Seen)
    reading: Reading = field(default_factory=Reading)
    places: Places = field(init=False)
    turns: errands.Turns = field(default_factory=errands.Turns)
    shared: Shared = field(default_factory=Shared)
    has_been_ready: threading.Event = field(default_factory=threading.Event)
    """Set once `/ready` has said so."""
    documents: dict[str, str] = field(default_factory=dict)
    """What `documentation.py` has made: it says the same for as long as the worker lives."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", Places(self.settings.connections))

    async def refusal(self, http: HttpRequest, role: Role) -> Response | None:
        """
        Return the response to a caller without the right `role`; None if the caller has it.

        Raises:
            ForbiddenError: a browser asks a worker without login under a name that is not the worker's
        """
        gate = self.settings.gate
        if gate is not None:
            # A browser has no login for somebody else's name.
            return await gate.refusal(http, role)
        host_names.check(http, self.settings.host_names or HostNames([urlsplit(self.settings.advertised_url).hostname or ""]))
        return None


_LARGE_BODY = 2**16
"""In bytes. Less is parsed sooner than a thread is found for it."""
_NO_BODY = 2**16
"""So much is read where nothing is asked for, and of those who are yet to say who they are."""
_TURN_S = 25.0
"""How long a request waits for others that take a process, too: less than clients wait as a rule."""
_REPEATABLE = frozenset(("GET", "HEAD", "PUT"))
"""What may be done twice: a leader that is gone may have done it, and the next one does it again."""
_LOST_LOOK_S = 1.0
"""How often to look whether the worker that is to answer is still there."""
_READ_S = 5.0
"""How long a change that another worker has made may take to be read here, before it is answered all the same."""
_AGAIN_S = 0.25
"""Between two tries to reach whoever has to answer."""


class Call:
    """An HTTP request on its way through a handler."""

    __slots__ = ("_ends_at", "_key", "api", "body", "http")

    def __init__(self, api: Api, http: HttpRequest, body: bytes) -> None:
        self.api = api
        self.http = http
        self.body = body
        self._ends_at = time.monotonic() + api.settings.request_timeout
        self._key: SessionKey | None = None

    def path(self, name: str) -> str:
        """A part of the path, percent-decoded."""
        return str(self.http.path_params[name])

    @property
    def task(self) -> int:
        """The task number; anything but a Java int is an unknown path."""
        text = self.path("task")
        if not re.fullmatch(r"[+-]?[0-9]{1,10}", text) or not -(2**31) <= int(text) < 2**31:
            raise HTTPException(404)
        return int(text)

    @property
    def expected(self) -> frozenset[str] | None:
        """The tags that `If-Match` has; None if it is not there. One without quotes, which shells take away, is the same."""
        header = self.http.headers.get("if-match")
        tags = [] if header is None else [part.strip() for part in header.split(",")]
        return None if header is None else frozenset(tag if re.match(r'"|W/|\*', tag) else f'"{tag}"' for tag in tags)

    def query(self, name: str) -> str | None:
        """The first value of a query parameter, as in JAX-RS."""
        return next(iter(self.http.query_params.getlist(name)), None)

    def flag(self, name: str, default: bool = False) -> bool:
        """A boolean parameter, as Java parses it: "true" in any case is true, other text is false."""
        text = self.query(name)
        return default if text is None or not text.strip() else text.lower() == "true"

    async def ask(self, request: Request[T], timeout: float | None = None) -> T:
        """Submit a request and wait for its answer, within the request's limit."""
        future = self.api.herder.submit(request)
        answer = asyncio.wrap_future(future)
        try:
            await asyncio.wait({answer}, timeout=self._left if timeout is None else timeout)
            if not answer.done():
                raise RequestTimeoutError("Request timed out")
            if answer.cancelled():
                raise ConnectError("Request interrupted")
            return answer.result()
        finally:
            answer.cancel()

    async def poll(self, request: Request[T], at_once: Request[T]) -> T:
        """
        Submit a request that waits for something, and wait for its answer. If places are short meanwhile, it gives way: the
        answer is that to `at_once`.

        Raises:
            ClientDisconnect: the caller has gone
        """
        with self.api.places.poll(places.caller_of(self.http)) as gives_way:
            asked = asyncio.ensure_future(self.ask(request))
            disconnected = asyncio.ensure_future(_gone(self.http))
            try:
                first: set[asyncio.Future[Any]] = {asked, gives_way, disconnected}
                await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
                if asked.done():
                    return asked.result()
                if disconnected.done():
                    raise ClientDisconnect
            finally:
                asked.cancel()
                disconnected.cancel()
            return await self.ask(at_once)

    async def parsed(self, parse: Callable[..., T], *more: Any) -> T:
        """Parse the body with `parse`. A large body is parsed in a thread, so that other requests go on."""
        if len(self.body) <= _LARGE_BODY:
            return parse(self.body, *more)
        return await asyncio.to_thread(parse, self.body, *more)

    async def config(self, expected: str = bodies.CONFIG) -> bodies.Config:
        """The body as a connector's config."""
        return await self.parsed(bodies.config, expected, self.api.settings.max_record_bytes)

    def note(self, name: str, value: object) -> None:
        """Tell the logs something of this request; see `notes.py`."""
        noted(self.http.scope)[name] = value

    async def check_signature(self) -> None:
        """Pass only what another worker has signed; if it is forwarded, this worker signs it again."""
        if self._key is not None:
            return  # The handler is at work again, because nobody was there to ask.
        keys = await self.ask(GetSessionKeys())
        algorithms, headers = self.api.settings.verification_algorithms, self.http.headers
        me = signature.worker_at(self._own_address())
        signed = signature.given(algorithms, headers)
        signature.check(keys, signed, me, self.http.method, self._target, self.body, self.api.signatures)
        self._key = keys[0]
        self.note("user", WORKER)

    async def answered(self, handler: Handler) -> Response:
        """
        Return the response of `handler`, or of the worker that it names. While an election leaves no worker to ask, or the
        worker is not there, try again.
        """
        while True:
            try:
                response = await handler(self)
            except ForwardError as error:
                authorization = self.http.headers.get("authorization")
                forwarded = await self._while_it_lives(
                    error.url,
                    self.api.forwarder.forward(
                        error.url,
                        self.http.method,
                        self._target,
                        self.body,
                        authorization,
                        self._left,
                        self._key,
                        self.http.headers.get("if-match"),
                    ),
                )
                if forwarded is not None:
                    self.note("forwarded_to", error.url)
                    await self._read_as_far(forwarded)
                    return self._as_ours(forwarded)
                if self._left <= _AGAIN_S:
                    raise
                await asyncio.sleep(_AGAIN_S)
            else:
                if self._changes and self.query("forward") is not None:
                    # Whatever comes of that, the request was carried out.
                    with contextlib.suppress(ConnectError):
                        response.headers[READ_TO] = str(await self.ask(GetConfigOffset()))
                return response

    @property
    def _changes(self) -> bool:
        """Whether somebody changes something, who may look at it next: other workers don't."""
        return self.http.method not in ("GET", "HEAD") and self._key is None

    async def _read_as_far(self, response: Response) -> None:
        """Read what the answering worker has written, so that this one doesn't tell of before. Not for long: it is written."""
        offset = response.headers.get(READ_TO, "")
        if self._changes and re.fullmatch("[0-9]{1,18}", offset):
            with contextlib.suppress(ConnectError):
                await self.ask(ReadConfigs(int(offset)), min(self._left, _READ_S))

    async def _while_it_lives(self, url: str, answer: Coroutine[Any, Any, Response | None]) -> Response | None:
        """
        Return the answer of the worker at `url`, or None once the group has lost it: a machine that is gone never answers, and
        another one leads long before the request's time is over. Only for what can be done twice: whether it was done is open.
        """
        if self.http.method not in _REPEATABLE:
            return await answer
        asking = asyncio.ensure_future(answer)
        try:
            while True:
                finished, _ = await asyncio.wait({asking}, timeout=_LOST_LOOK_S)
                if finished:
                    return asking.result()
                if not await self.ask(IsMember(url)):
                    log.warning("The worker at %s has left the group before it answered: asking whoever leads now", url)
                    return None
        finally:
            asking.cancel()

    @property
    def _left(self) -> float:
        return max(0.0, self._ends_at - time.monotonic())

    @property
    def _target(self) -> str:
        """The path and query as they were sent."""
        path, query = self.http.scope["raw_path"].decode("latin-1"), self.http.scope["query_string"].decode("latin-1")
        return f"{path}?{query}" if query else path

    def _as_ours(self, response: Response) -> Response:
        """Rewrite the Location header: only the first worker knows the address that the caller used."""
        if READ_TO in response.headers and self.query("forward") is None:
            del response.headers[READ_TO]
        location = response.headers.get("location")
        if location is not None:
            response.headers["location"] = self._own_address() + urlsplit(location).path
        return response

    def location(self, *segments: str) -> str:
        """The absolute URL of a path on this worker."""
        return f"{self._own_address()}/" + "/".join(quote(segment, safe=_PLAIN) for segment in segments)

    def _own_address(self) -> str:
        base = urlsplit(self.api.settings.advertised_url)
        netloc = base.netloc
        if base.port == 0:
            netloc = f"{netloc.rpartition(':')[0]}:{self.http.scope['server'][1]}"
        return f"{base.scheme}://{netloc}"


async def _gone(http: HttpRequest) -> None:
    while (await http.receive())["type"] != "http.disconnect":
        pass


_PLAIN = ":@!$&'()*+,;=~"
"""What Connect leaves as it is in a Location, but for the slash, which would lead elsewhere."""

ENCODED_SLASH = "\ud800"
"""Stands for it while a route is looked for: nothing that comes percent-encoded is decoded to this."""


def ready(text: str) -> Response:
    """An answer that is JSON already."""
    return Response(text, media_type=JSON)


def ok(data: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(data), status, headers, media_type="application/json")


def empty(status: int) -> Response:
    return Response(status_code=status)


def routes(api: Api) -> list[Route]:
    """A route for each path, in the order of the operations."""
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in api.operations:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    routes_made = [Route(path, _Resource(api, path, methods)) for path, methods in by_path.items()]
    for route in routes_made:
        # Starlette's own end of a path is before a line feed, too: no proxy takes that for the same path.
        route.path_regex = re.compile(route.path_regex.pattern.removesuffix("$") + r"\Z")
    return routes_made


class _Resource:
    """
    The ASGI application of one path.

    It takes all methods of its path, so that OPTIONS and 405 can name them; Starlette's own routes would each
    know theirs only.
    """

    def __init__(self, api: Api, path: str, operations: Mapping[str, Operation]) -> None:
        self._api, self._path = api, path
        self._operations = dict(operations)
        if "GET" in operations:
            self._operations["HEAD"] = operations["GET"]
        self._allow = ",".join([*self._operations, "OPTIONS"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        noted(scope)["route"] = self._path
        named = {name: text.replace(ENCODED_SLASH, "/") for name, text in scope["path_params"].items()}
        scope = {**scope, "path": scope["path"].replace(ENCODED_SLASH, "/"), "path_params": named}
        gate = self._api.settings.gate
        http = HttpRequest(scope if gate is None else gate.sessions.opened(scope), receive)
        response = await self._respond(http)
        if http.method == "HEAD":
            response.body = b""
        await response(scope, receive, send)

    async def _respond(self, http: HttpRequest) -> Response:
        method = http.method
        operation = self._operations.get(method)
        notes = noted(http.scope)
        notes["connector"] = http.path_params.get("connector")
        changes = operation is not None and operation.changes and method not in ("GET", "HEAD")
        # Strangers could fill the log: of what workers send only what is signed, be it wrongly, is written down.
        notes["changes"] = changes and not (operation is not None and operation.signed)
        notes["needs_login"] = self._api.settings.gate is not None or (operation is not None and operation.signed)
        try:
            if operation is None or not operation.probe:
                refusal = await self._api.refusal(http, _needed(http, operation))
                if refusal is not None:
                    return refusal
            notes["reveals"] = operation is not None and operation.reveals
            if notes["changes"]:
                browsers.check_origin(http, self._api.settings.cors, OPENED in http.scope)
            elif operation is not None and operation.errand is not None:
                browsers.check_site(http, self._api.settings.cors)
            if operation is None:
                if method == "OPTIONS":
                    # Not as media_type, to which Starlette would add a charset.
                    return Response(self._allow, headers={"Allow": self._allow, "Content-Type": "text/plain"})
                return errors.framework(405, {"Allow": self._allow})
            if operation.signed:
                signature.given(self._api.settings.verification_algorithms, http.headers)
                notes["changes"] = changes
            if operation.probe:
                return await self._answer(http, operation, b"")
            is_read = method in ("GET", "HEAD")
            with self._api.places.take(places.caller_of(http), changes=not is_read):
                if is_read:
                    return await self._answer(http, operation, b"")
                settings = self._api.settings
                takes_much = operation.body is not None and (operation.role is not Role.ANYONE or operation.signed)
                most = settings.max_body_bytes if takes_much else min(_NO_BODY, settings.max_body_bytes)
                caller = places.caller_of(http)
                async with self._api.reading.body(http, most, settings.request_timeout, caller, operation.signed) as body:
                    return await self._answer(http, operation, body)
        except NoPlaceError:
            return errors.crowded()
        except TooLargeError:
            return errors.too_large(most)
        except BusyError:
            return errors.busy()
        except HTTPException as error:
            return errors.framework(error.status_code, {"Content-Type": JSON, **(error.headers or {})})
        except ClientDisconnect:
            return empty(400)
        except asyncio.CancelledError:
            # Only the server cancels, when its time to stop is over; the client still deserves a word.
            return errors.respond(ConnectError("Worker is shutting down"), method, http.url.path)
        except Exception as error:  # noqa: BLE001 - the table has a line for everything
            return errors.respond(error, method, http.url.path)

    async def _answer(self, http: HttpRequest, operation: Operation, body: bytes) -> Response:
        if body and not operation.signed and not is_json(http.headers.get("content-type", "")):
            return errors.framework(415)
        if not accepts(",".join(http.headers.getlist("accept")), operation.produces):
            return errors.framework(406)
        call = Call(self._api, http, body)
        if operation.errand is None:
            return await call.answered(operation.handler)
        async with self._api.turns.turn(operation.errand, places.caller_of(http), _TURN_S):
            return await call.answered(operation.handler)


def _needed(http: HttpRequest, operation: Operation | None) -> Role:
    if operation is not None:
        return operation.role
    # A browser asks so before it sends what it has to say, and must not send credentials along.
    is_preflight = http.method == "OPTIONS" and "access-control-request-method" in http.headers
    return Role.ANYONE if is_preflight else Role.READ
