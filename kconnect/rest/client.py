"""
A client for the REST API, for the CLI, the demo, tests and benches. It works with Apache Kafka Connect too.

Every answer is plain JSON data. Whatever goes wrong is a `RestError`, which says it in one sentence.
"""

from __future__ import annotations

import base64
import os
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from email.utils import parsedate_to_datetime
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlsplit

import orjson

from kconnect import deadlines
from kconnect.errors import TABLE, ConfigError, ConnectError, UnavailableError
from kconnect.rest import tls_errors

if TYPE_CHECKING:
    import httpx

    from kconnect.rest.answers import (
        Backfill,
        Changes,
        Cluster,
        ConfigInfos,
        ConnectorInfo,
        ConnectorStateInfo,
        CreatedConnector,
        DeadLetters,
        Demand,
        Health,
        InferredSchemas,
        LogLines,
        Move,
        Placement,
        Preview,
        ReloadedPlugins,
        Replayed,
        Restarts,
        TaskState,
        Worker,
    )

Config = Mapping[str, "str | int | float | bool | None"]

ANSWER_S = 95.0
"""How long to wait for an answer: a little more than the worker's own limit of 90."""

MOST_BYTES = 256 * 2**20
"""An answer may have. Whoever is on the way to a worker, or in its place, could send one without an end."""
T = TypeVar("T")
_WHOLE = 4
"""An answer may take so many times as long as a client waits for each part of it."""

PATIENCE_S = 30.0
"""For `patience`, of those who talk to people: longer than most rebalances."""

_NOT_NOW = (
    "Cannot complete request momentarily",
    "Cannot complete request because of a conflicting operation",
    "Request cannot be completed because a rebalance is expected",
)
"""What Connect's refusals begin with while a cluster rebalances: nothing was done then, whatever was asked for."""

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0
_AGAIN_S = 0.5


_EXITS = {row.status: row.exit for row in TABLE.values() if 400 <= row.status < 500}
"""By status, of what the caller may mend. A status of the server's own stands for too many errors to tell one."""
_LIKE = {401: 403, 405: 400, 406: 400, 415: 400}
"""Statuses that come before any error of ours, and mean to a caller what others do."""


class RestError(ConnectError):
    """
    A request that was refused, failed, or had no answer.

    `status` is the HTTP status, None when there was no answer at all; `exit_code` is for a CLI.
    """

    def __init__(self, status: int | None, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    @property
    def exit_code(self) -> int:
        """The exit status of the error that the HTTP status stands for; UnavailableError's without an answer; 1 otherwise."""
        if self.status is None:
            return TABLE[UnavailableError].exit
        return _EXITS.get(_LIKE.get(self.status, self.status), 1)


class WaitError(RestError):
    """A state was not reached in time; `last` is the last status seen, None when there was none."""

    exit_code = 7

    def __init__(self, message: str, last: ConnectorStateInfo | None) -> None:
        super().__init__(None, message)
        self.last = last


class ConnectClient:
    """
    Calls one worker. Several threads may use it at once, as they may httpx's. Use it in a `with`, or close it.

    For https, `SSL_CERT_FILE` in the environment names whom to trust, `KCONNECT_CLIENT_CERT` a certificate with its key to
    present; both are PEM files.

    Args:
        url: such as `http://localhost:8083`.
        timeout: how long to wait for an answer, in seconds.
        transport: httpx's, for tests.
        patience: for how many seconds to ask again what a cluster refuses only because it rebalances.
        authorization: who is calling, as `basic` or `bearer` make it; None for a worker that doesn't ask.
        waiting: entered around each request, and what is asked again, with what is waited for in words.
    """

    def __init__(
        self,
        url: str,
        timeout: float = ANSWER_S,
        transport: httpx.BaseTransport | None = None,
        authorization: str | None = None,
        patience: float = 0.0,
        waiting: Callable[[str], AbstractContextManager[None]] = lambda what: nullcontext(),
    ) -> None:
        self._patience, self._timeout, self._transport, self._waiting = patience, timeout, transport, waiting
        self._withheld_for: str | None = None
        self._has_own = True
        self._sockets: list[Any] = []
        self.url = url.rstrip("/")
        import httpx  # It takes longer than most commands do.

        limits = httpx.Timeout(timeout, connect=min(timeout, 10.0))
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "kconnect"}
        if authorization is not None:
            headers["Authorization"] = authorization
        self._http = httpx.Client(
            base_url=self.url, timeout=limits, headers=headers, transport=transport, verify=_tls(self.url)
        )

    def at(self, url: str) -> ConnectClient:
        """
        A client for another worker, at the URL that this one's cluster has for it. Close it, too.

        It tells who is calling over https, and to the host that this client was made for; to no other one over http, which
        anybody on the way can read, and which nobody but the cluster has named.
        """
        authorization = self._http.headers.get("Authorization")
        trusted = _is_https(url) or (not _is_https(self.url) and _host(url) == _host(self.url))
        client = ConnectClient(
            url, self._timeout, self._transport, authorization if trusted else None, self._patience, self._waiting
        )
        if authorization is not None and not trusted:
            client._withheld_for = self.url
        return client

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> ConnectClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # -- worker -------------------------------------------------------------------------------------------------------

    def root(self) -> Worker:
        """version, commit, kafka_cluster_id."""
        return self._object("GET", "/")

    def health(self) -> Health:
        """`{"status": "healthy" | "starting" | "unhealthy", "message": ...}`, whatever the HTTP status."""
        with self._waiting(f"the worker at {self.url} (/health)"):
            response = self._send("GET", "/health")
        try:
            data: Any = orjson.loads(response.content)
        except orjson.JSONDecodeError:
            data = None
        if not isinstance(data, dict) or "status" not in data:
            raise _error(response)
        health: Health | Any = data
        return health

    def clock(self) -> tuple[float, float] | None:
        """Return by how many seconds the worker's clock is ahead, at least and at most; None if it doesn't tell."""
        before = time.time()
        date = self._send("GET", "/").headers.get("Date")
        after = time.time()
        try:
            # It leaves fractions of a second out.
            told_s = parsedate_to_datetime(date or "").timestamp()
        except ValueError:
            return None
        return told_s - after, told_s + 1 - before

    def cluster(self) -> Cluster:
        """Members, leader, units by worker and host, and what moves: see `core/herder/requests/cluster.py`. kconnect only."""
        return self._object("GET", "/cluster")

    def demand(self) -> Demand:
        """Return how many workers the load wants: see `core/herder/requests/cluster.py`. kconnect only."""
        return self._object("GET", "/cluster/demand")

    def drain(self, worker: str, is_drained: bool = True) -> None:
        """Have a worker run nothing, or take that back."""
        self._call("PUT", _path("cluster", worker, "drain" if is_drained else "undrain"))

    def own(self) -> dict[str, Any]:
        """Return what only kconnect tells of connectors, by name; nothing of Kafka Connect, which is asked once."""
        if self._has_own:
            try:
                answer = self._json("GET", "/kconnect/connectors")
            except RestError as error:
                if error.status not in (404, 405):
                    raise
            else:
                return answer if isinstance(answer, dict) else {}
            self._has_own = False
        return {}

    def placement(self, name: str) -> Placement:
        """Return where a connector and its tasks run, and what they wait for. kconnect only."""
        return self._object("GET", _path("kconnect", "connectors", name, "placement"))

    def reload_plugins(self, url: str | None = None) -> ReloadedPlugins:
        """Have the worker, or another one as `at` asks it, look at plugin.path anew; what is different. kconnect only."""
        if url is not None:
            with self.at(url) as worker:
                return worker.reload_plugins()
        return self._object("POST", "/kconnect/plugins/reload")

    def metrics(self, url: str | None = None) -> str:
        """Return the metrics of this worker, or of another one as `at` asks it, in Prometheus' text format. kconnect only."""
        if url is not None:
            with self.at(url) as worker:
                return worker.metrics()
        response = self._send("GET", "/metrics", accept="text/plain")
        if not response.is_success:
            raise _error(response)
        return response.text

    def plugins(self, connectors_only: bool = True) -> list[dict[str, Any]]:
        return self._objects("GET", "/connector-plugins", params={"connectorsOnly": str(connectors_only).lower()})

    def plugin_config(self, plugin: str, version: str | None = None) -> list[dict[str, Any]]:
        params = None if version is None else {"version": version}
        return self._objects("GET", _path("connector-plugins", plugin, "config"), params=params)

    def validate(self, plugin: str, config: Config) -> ConfigInfos:
        return self._object("PUT", _path("connector-plugins", plugin, "config", "validate"), config)

    def preview(self, config: Config, records: list[Any] | None = None, **sample: Any) -> Preview:
        """Return what the chain makes of `records`, or of some of a `topic`: `limit`, `partition`, `offset`, `newest`."""
        source = sample if records is None else {"records": records}
        return self._object("POST", "/kconnect/preview", {"config": dict(config), **source})

    def moves(self, connector: str, **to: str) -> list[Move]:
        """Return where a sink would go on, and what comes again: `to` earliest or latest, a `time` in ms, or `back` by N."""
        answer = self._json("GET", _path("kconnect", "connectors", connector, "offsets", "moves"), params=to)
        return list(answer["moves"])

    def changes(self, connector: str) -> Changes:
        """Return a connector's history, as far as the internal topics tell it."""
        return self._object("GET", _path("kconnect", "connectors", connector, "changes"))

    def restarts(self, connector: str, changed: Iterable[str]) -> Restarts:
        """Return which tasks would restart if these settings changed, and the same as a `text`."""
        path = _path("kconnect", "connectors", connector, "restarts")
        return self._object("GET", path, params={"changed": list(changed)})

    def schemas(self, connector: str) -> InferredSchemas:
        """Return the schemas that a sink's tasks have inferred of JSON."""
        return self._object("GET", _path("kconnect", "connectors", connector, "schemas"))

    def forget_schemas(self, connector: str) -> str:
        """Have the inferred schemas of a stopped connector forgotten; return the answer's text."""
        return str(self._json("DELETE", _path("kconnect", "connectors", connector, "schemas"))["message"])

    def log_lines(self, **wanted: Any) -> LogLines:
        """Some lines of logs, as `GET /kconnect/logs` has them. NotFoundError if the worker keeps none."""
        return self._object("GET", _path("kconnect", "logs"), params=wanted)

    def dead_letters(self, connector: str, **wanted: Any) -> DeadLetters:
        """Return letters of a connector's queue: `limit`, `oldest`, `stage`, `exception`, `topic`, `contains`."""
        return self._object("GET", _path("kconnect", "connectors", connector, "dead-letters"), params=wanted)

    def replay_dead_letters(self, connector: str, letters: list[dict[str, int]], **wanted: Any) -> Replayed:
        """Send letters again; the options are `through_chain`, `again`, `to_topic` and `dry_run`."""
        body = {"letters": letters, **wanted}
        return self._object("POST", _path("kconnect", "connectors", connector, "dead-letters", "replay"), body)

    def backfill(self, connector: str) -> Backfill:
        """Return how far the backfill of a connector of Debezium's is."""
        return self._object("GET", _path("kconnect", "connectors", connector, "backfill"))

    def start_backfill(
        self, connector: str, tasks: int, rate: int | None, settings: Config, into: str | None = None
    ) -> Backfill:
        """Begin one, into topics or straight into the tables of a sink, or let it go on."""
        body = {"tasks": tasks, "rate": rate, "settings": dict(settings), "into": into}
        return self._object("POST", _path("kconnect", "connectors", connector, "backfill"), body)

    def finish_backfill(self, connector: str) -> Backfill:
        """Hand it over to Debezium."""
        return self._object("POST", _path("kconnect", "connectors", connector, "backfill", "finish"))

    def cancel_backfill(self, connector: str) -> None:
        """Give it up."""
        self._call("DELETE", _path("kconnect", "connectors", connector, "backfill"))

    def reread(self, connector: str) -> list[str]:
        """Return the tables that Debezium is still to read again beside its stream."""
        return list(self._json("GET", _path("kconnect", "connectors", connector, "backfill", "again"))["tables"])

    def begin_reread(self, connector: str, tables: Iterable[str], where: str | None) -> None:
        """Have tables read again, or some of their rows."""
        body = {"tables": list(tables), "where": where}
        self._call("POST", _path("kconnect", "connectors", connector, "backfill", "again"), body)

    def stop_reread(self, connector: str) -> None:
        """Have that stopped."""
        self._call("DELETE", _path("kconnect", "connectors", connector, "backfill", "again"))

    def loggers(self) -> dict[str, Any]:
        return self._object("GET", "/admin/loggers")

    def logger(self, name: str) -> dict[str, Any]:
        """Return a logger of any name, also one that `loggers` does not list, as the Java names that lead to kconnect's."""
        return self._object("GET", _path("admin", "loggers", name))

    def set_logger(self, name: str, level: str, cluster: bool = False) -> list[str] | None:
        """Set a level on this worker; gives the loggers that changed. On the whole cluster: None, it takes a moment."""
        path = _path("admin", "loggers", name)
        if cluster:
            self._call("PUT", path, {"level": level}, params={"scope": "cluster"})
            return None
        changed: list[str] = self._json("PUT", path, {"level": level})
        return changed

    # -- connectors: reads --------------------------------------------------------------------------------------------

    def connectors(self, *expand: str) -> Any:
        """The names; with "status" or "info" or both, a dict by name of these."""
        answer = self._json("GET", "/connectors", params={"expand": list(expand)} if expand else None)
        if not isinstance(answer, dict if expand else list):
            raise RestError(200, f"{self.url} is not a worker: the answer of its /connectors has another form")
        return answer

    def connector(self, name: str) -> ConnectorInfo:
        return self._object("GET", _path("connectors", name))

    def get_config(self, name: str) -> dict[str, str | None]:
        return self._object("GET", _path("connectors", name, "config"))

    def get_config_and_tag(self, name: str) -> tuple[dict[str, str | None], str | None]:
        """Return a config, and the tag by which `put_config` replaces no other one; None from Kafka Connect, which has none."""
        response = self._call("GET", _path("connectors", name, "config"))
        return self._parsed(response), response.headers.get("ETag")

    def status(self, name: str) -> ConnectorStateInfo:
        return self._object("GET", _path("connectors", name, "status"))

    def tasks(self, name: str) -> list[dict[str, Any]]:
        return self._objects("GET", _path("connectors", name, "tasks"))

    def task_status(self, name: str, task: int) -> TaskState:
        return self._object("GET", _path("connectors", name, "tasks", str(task), "status"))

    def topics(self, name: str) -> list[str]:
        topics: list[str] = self._json("GET", _path("connectors", name, "topics"))[name]["topics"]
        return topics

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """`[{"partition": ..., "offset": ...}]`."""
        offsets: list[dict[str, Any]] = self._json("GET", _path("connectors", name, "offsets"))["offsets"]
        return offsets

    # -- connectors: writes -------------------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        config: Config,
        initial_state: str | None = None,
        initial_offsets: list[dict[str, Any]] | None = None,
    ) -> CreatedConnector:
        """
        `initial_offsets`, as `offsets` gives them, are where it begins (KIP-995); the answer has `offsets_status` then.
        Kafka Connect 4.3 refuses them.
        """
        body: dict[str, Any] = {"name": name, "config": dict(config)}
        if initial_state is not None:
            body["initial_state"] = initial_state
        if initial_offsets is not None:
            body["initial_offsets"] = initial_offsets
        return self._object("POST", "/connectors", body)

    def put_config(self, name: str, config: Config, tag: str | None = None) -> ConnectorInfo:
        """Create the connector, or replace its whole config; with a `tag`, only the config that had it."""
        answer: ConnectorInfo = self._parsed(self._call("PUT", _path("connectors", name, "config"), config, tag=tag))
        return answer

    def patch_config(self, name: str, patch: Config) -> ConnectorInfo:
        """Change some settings; None removes one (KIP-477)."""
        return self._object("PATCH", _path("connectors", name, "config"), patch)

    def pause(self, name: str) -> None:
        self._call("PUT", _path("connectors", name, "pause"))

    def resume(self, name: str) -> None:
        self._call("PUT", _path("connectors", name, "resume"))

    def stop(self, name: str) -> None:
        self._call("PUT", _path("connectors", name, "stop"))

    def restart(self, name: str, include_tasks: bool = False, only_failed: bool = False) -> dict[str, Any] | None:
        """Restart a connector. With a parameter, return the status that shows what is RESTARTING (KIP-745)."""
        params = {"includeTasks": str(include_tasks).lower(), "onlyFailed": str(only_failed).lower()}
        response = self._call("POST", _path("connectors", name, "restart"), params=params)
        return orjson.loads(response.content) if response.content else None

    def restart_task(self, name: str, task: int) -> None:
        self._call("POST", _path("connectors", name, "tasks", str(task), "restart"))

    def reset_topics(self, name: str) -> None:
        self._call("PUT", _path("connectors", name, "topics", "reset"))

    def alter_offsets(self, name: str, offsets: list[dict[str, Any]]) -> str:
        """Alter a stopped connector's offsets, given as `offsets` has them; None resets one. Return the worker's message."""
        message: str = self._json("PATCH", _path("connectors", name, "offsets"), {"offsets": offsets})["message"]
        return message

    def reset_offsets(self, name: str) -> str:
        message: str = self._json("DELETE", _path("connectors", name, "offsets"))["message"]
        return message

    def delete(self, name: str) -> None:
        self._call("DELETE", _path("connectors", name))

    # -- waiting ------------------------------------------------------------------------------------------------------

    def wait_for(
        self,
        name: str,
        state: str = "RUNNING",
        tasks: int | None = None,
        timeout: float = 120.0,
        fail_fast: bool = False,
    ) -> ConnectorStateInfo:
        """
        Poll until the connector and its tasks are in a state, and give the status then.

        FAILED is reached when the connector or any task failed. A status that isn't there yet, an election and a worker
        that doesn't answer are waited out.

        Args:
            tasks: how many tasks there must be, all in that state; None takes any number. With FAILED: how many of
                them must have failed, at least.
            fail_fast: raise as soon as something is FAILED, unless that is what is waited for.

        Raises:
            WaitError: when the time is over; it says what was seen last.
        """
        goal = state if tasks is None else f"{state} with {tasks} task(s)"

        def reached(status: ConnectorStateInfo) -> bool:
            if _reached(status, state, tasks):
                return True
            if fail_fast and state != "FAILED" and _reached(status, "FAILED", None):
                raise WaitError(f"Connector {name} failed while it was to become {state}: {summary(status)}", status)
            return False

        return self.wait_until(name, reached, goal, timeout)

    def wait_until(
        self,
        name: str,
        reached: Callable[[ConnectorStateInfo], bool],
        wanted: str,
        timeout: float,
        tell: Callable[[str], None] = lambda last_seen: None,
    ) -> ConnectorStateInfo:
        """
        Poll as `wait_for`, for whatever `reached` says of a status; `wanted` is that in words, such as `RUNNING`. `tell` gets
        what was seen, each time.
        """
        deadline = time.monotonic() + timeout
        pause = _FIRST_PAUSE
        last: ConnectorStateInfo | None = None
        while True:
            try:
                last = self.status(name)
                last_seen = summary(last)
                if reached(last):
                    return last
            except RestError as error:
                if isinstance(error, WaitError) or error.status not in (None, 404, 409, 503):
                    raise
                last_seen = error.message
            tell(last_seen)
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise WaitError(f"Connector {name} was not {wanted} within {timeout:g} s; last seen: {last_seen}", last)
            time.sleep(min(pause, left_s))
            pause = min(pause * 1.6, _LONGEST_PAUSE)

    # -- the wire -----------------------------------------------------------------------------------------------------

    def _object(self, method: str, path: str, body: Any = None, params: Mapping[str, Any] | None = None) -> T:  # type: ignore[type-var]
        """
        Return the answer, taken for what the caller says that it returns, which is not looked at: `_json` finds out what is no
        worker.
        """
        answer: T = self._json(method, path, body, params)
        return answer

    def _objects(self, method: str, path: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        answer: list[dict[str, Any]] = self._json(method, path, params=params)
        return answer

    def _json(self, method: str, path: str, body: Any = None, params: Mapping[str, Any] | None = None) -> Any:
        return self._parsed(self._call(method, path, body, params))

    def _parsed(self, response: httpx.Response) -> Any:
        try:
            return orjson.loads(response.content)
        except orjson.JSONDecodeError:
            raise RestError(response.status_code, f"{self.url} is not a worker: {_kind(response)}") from None

    def _call(
        self, method: str, path: str, body: Any = None, params: Mapping[str, Any] | None = None, tag: str | None = None
    ) -> httpx.Response:
        with self._waiting(f"the worker at {self.url} ({method} {path})"):
            return self._asked(method, path, body, params, {} if tag is None else {"If-Match": tag})

    def _asked(
        self, method: str, path: str, body: Any, params: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> httpx.Response:
        deadline = time.monotonic() + self._patience
        while True:
            response = self._send(method, path, body, params, None, headers)
            if response.is_success:
                return response
            error = _error(response)
            if response.status_code in (404, 405, 501) and path == "/connectors" and error.message.startswith("HTTP "):
                # A worker has it always.
                raise RestError(None, f"{self.url} is not a Connect worker ({error.message}): check the URL")
            pause = _pause(response, error)
            if pause is None:
                raise error
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                asked = f" (asked again for {self._patience:g} s)" if self._patience else ""
                raise RestError(error.status, f"{error.message}{asked}")
            time.sleep(min(pause, left_s))

    def _send(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: Mapping[str, Any] | None = None,
        accept: str | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> httpx.Response:
        import httpx

        content = None if body is None else orjson.dumps(body)
        headers = {**headers} if content is None else {**headers, "Content-Type": "application/json"}
        if accept is not None:
            headers["Accept"] = accept
        asked = self.url
        request = self._http.build_request(
            method, path, content=content, headers=headers, params=params, extensions={"trace": self._watch}
        )
        try:
            with deadlines.within(_WHOLE * self._timeout, self._hang_up, lambda: httpx.ReadTimeout("it takes too long")):
                response = self._answer(request)
        except httpx.TimeoutException:
            raise RestError(None, f"No answer from {asked} in time. The worker may be overloaded") from None
        except httpx.TransportError as error:
            raise RestError(None, _no_answer(asked, error)) from None
        if response.status_code == 401 and self._withheld_for is not None:
            raise RestError(
                401,
                f"The worker at {self.url} needs a login, which was not sent: over http, passwords and tokens go only to the "
                f"host of {self._withheld_for}. Give that worker an https listener, or use it directly with --url {self.url}",
            )
        return response

    def _answer(self, request: httpx.Request) -> httpx.Response:
        """Return the whole answer. RestError if it is too long, or packed though nobody asked for that."""
        import httpx

        response = self._http.send(request, stream=True)
        try:
            if response.headers.get("Content-Encoding", "identity").lower() != "identity":
                raise RestError(None, f"{self.url} answers packed, as no worker does: check the URL, and any proxy in between")
            content = bytearray()
            for part in response.iter_bytes():
                content += part
                if len(content) > MOST_BYTES:
                    raise RestError(
                        None,
                        f"{self.url} answers with more than {MOST_BYTES} bytes, as no worker does: check the URL, and any "
                        "proxy in between",
                    )
        finally:
            response.close()
        about = {name: value for name, value in response.extensions.items() if name != "network_stream"}
        return httpx.Response(
            response.status_code, headers=response.headers, content=bytes(content), request=request, extensions=about
        )

    def _watch(self, event: str, about: Mapping[str, Any]) -> None:
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            # Those that are closed say so by a number of -1.
            self._sockets = [opened for opened in self._sockets if opened.fileno() >= 0]
            self._sockets.append(about["return_value"].get_extra_info("socket"))

    def _hang_up(self) -> None:
        """End all that this client waits for: a head may come letter by letter, and none of them is late."""
        for connected in self._sockets:
            deadlines.shut_down(connected.fileno())


_CLIENT_CERT = "KCONNECT_CLIENT_CERT"
_TRUSTED = "SSL_CERT_FILE"


def _is_https(url: str) -> bool:
    return url.lower().startswith("https:")


def _host(url: str) -> str:
    """All names of this machine's own network are one."""
    host = urlsplit(url).hostname or ""
    return "localhost" if host in ("127.0.0.1", "::1") else host


def _tls(url: str) -> ssl.SSLContext | bool:
    if not _is_https(url):
        # To read whom to trust takes longer than most requests do.
        return False
    import httpx

    try:
        context = httpx.create_ssl_context()
    except OSError as error:
        rule = f"{_TRUSTED} must name a PEM file of the certificates to trust"
        trusted = os.environ.get(_TRUSTED)
        raise ConfigError(f"The certificates {trusted} can't be used ({error.strerror or error}): {rule}") from None
    certificate = os.environ.get(_CLIENT_CERT)
    if not certificate:
        return context
    try:
        context.load_cert_chain(certificate)
    except OSError as error:
        rule = f"{_CLIENT_CERT} must name a PEM file of a certificate and its key"
        raise ConfigError(f"The client certificate {certificate} can't be used ({error.strerror or error}): {rule}") from None
    return context


def _no_answer(url: str, error: httpx.TransportError) -> str:
    import httpx

    reason = tls_errors.reason(error)
    secure = url.lower().startswith("https:")
    if tls_errors.untrusted(error):
        return f"The worker at {url} is not trusted ({reason}). Name its authority's certificate, a PEM file, in SSL_CERT_FILE."
    # asyncio hangs up on a client whose certificate it refuses, mostly without TLS's alert.
    if (reason is not None and "alert" in reason) or (secure and isinstance(error, httpx.RemoteProtocolError)):
        return (
            f"The worker at {url} hung up ({reason or error}). If it asks for client certificates, name a PEM file with one "
            f"that it trusts, and that certificate's key, in {_CLIENT_CERT}."
        )
    if reason is not None:
        return f"No TLS with {url} ({reason}). Check that it is an https listener."
    if isinstance(error, httpx.RemoteProtocolError):
        return (
            f"{url} is not a Connect worker ({error}): check that it is the port of the REST API, and whether the URL needs "
            "https"
        )
    return f"No worker answers at {url} ({error}). Check that it is running."


def basic(name: str, password: str) -> str:
    """The `Authorization` of a user with a password."""
    return f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"


def bearer(token: str) -> str:
    """The `Authorization` of a token."""
    return f"Bearer {token}"


def _path(*segments: str) -> str:
    # Clients resolve dot segments, so that a connector named `..` would be another path.
    dots = {".": "%2E", "..": "%2E%2E"}
    return "/" + "/".join(dots.get(segment) or quote(segment, safe="") for segment in segments)


def _error(response: httpx.Response) -> RestError:
    try:
        message = orjson.loads(response.content)["message"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        message = None
    if isinstance(message, str) and message:
        return RestError(response.status_code, message)
    plain = f"HTTP {response.status_code} {response.reason_phrase}".strip()
    if response.is_redirect:
        return RestError(response.status_code, f"{plain}: {response.url} has moved to {response.headers.get('Location')}")
    if response.status_code == 400 and any(sign in response.request.url.raw_path for sign in (b"%2F", b"%25")):
        # Connect's own server refuses these before Connect sees them.
        return RestError(400, f"{plain}: no request can name a connector with a / or % in its name there; lists show it")
    # A proxy's page mostly, which nobody wants to read here.
    return RestError(response.status_code, f"{plain} ({_kind(response)})" if response.content else plain)


def _pause(response: httpx.Response, error: RestError) -> float | None:
    """Return in how many seconds the same may be asked again, since nothing was done; None for a refusal that stays."""
    if response.status_code in (409, 500) and error.message.startswith(_NOT_NOW):
        return _AGAIN_S
    after = response.headers.get("Retry-After", "")
    # Of a worker that has too much in hand, or a proxy. A date there is rare, and no reason to wait.
    return float(after) if response.status_code in (429, 503) and after.isdecimal() else None


def _kind(response: httpx.Response) -> str:
    kind = response.headers.get("Content-Type", "").partition(";")[0] or "nothing that says its kind"
    return f"the answer of {response.url.path} is {kind} rather than JSON; check the URL, and any proxy in between"


def _reached(status: ConnectorStateInfo, state: str, tasks: int | None) -> bool:
    connector = status["connector"]["state"]
    states = [task["state"] for task in status["tasks"]]
    if state == "FAILED":
        if tasks is not None:
            return states.count("FAILED") >= tasks
        return connector == "FAILED" or "FAILED" in states
    if tasks is not None and len(states) != tasks:
        return False
    return connector == state and all(task_state == state for task_state in states)


def summary(status: ConnectorStateInfo) -> str:
    """The states in one line, with the reason from the first trace."""
    units = [("connector", status["connector"]), *((f"task {task['id']}", task) for task in status["tasks"])]
    text = ", ".join(f"{who} {unit['state']}" for who, unit in units)
    trace = next((unit["trace"].strip() for _, unit in units if unit.get("trace")), "")
    return f"{text} ({_reason(trace)})" if trace else text


def _reason(trace: str) -> str:
    """A Python trace ends with its reason, a Java one begins with it."""
    return trace.splitlines()[-1 if trace.startswith("Traceback") else 0].strip()
