"""
A client for the REST API, for the CLI, the demo, tests and benches. It works with Apache Kafka Connect too.

Every answer is plain JSON data. Whatever goes wrong is a `RestError`, which says it in one sentence.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any
from urllib.parse import quote

import httpx
import orjson

from kconnect.api.errors import ConnectError

Config = Mapping[str, "str | int | float | bool | None"]

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5


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
        """3 no answer, 4 not found, 5 conflict, 6 refused as wrong, 1 anything else."""
        if self.status is None:
            return 3
        return {404: 4, 409: 5, 400: 6, 403: 6, 405: 6, 406: 6, 415: 6}.get(self.status, 1)


class WaitError(RestError):
    """A state was not reached in time; `last` is the last status seen, None when there was none."""

    exit_code = 7

    def __init__(self, message: str, last: dict[str, Any] | None) -> None:
        super().__init__(None, message)
        self.last = last


class ConnectClient:
    """
    Calls one worker. Not for use by several threads at once; use it in a `with`, or close it.

    Args:
        url: such as `http://localhost:8083`.
        timeout: how long to wait for an answer, in seconds; a little more than the worker's own limit of 90.
        transport: httpx's, for tests.
    """

    def __init__(self, url: str, timeout: float = 95.0, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        limits = httpx.Timeout(timeout, connect=min(timeout, 10.0))
        headers = {"Accept": "application/json", "User-Agent": "kconnect"}
        self._http = httpx.Client(base_url=self.url, timeout=limits, headers=headers, transport=transport)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> ConnectClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- worker -------------------------------------------------------------------------------------------------------

    def root(self) -> dict[str, Any]:
        """version, commit, kafka_cluster_id."""
        return self._json("GET", "/")

    def health(self) -> dict[str, Any]:
        """`{"status": "healthy" | "starting" | "unhealthy", "message": ...}`, whatever the HTTP status."""
        response = self._send("GET", "/health")
        try:
            data = orjson.loads(response.content)
        except orjson.JSONDecodeError:
            data = None
        if not isinstance(data, dict) or "status" not in data:
            raise _error(response)
        return data

    def cluster(self) -> dict[str, Any]:
        """Members, leader, units by worker and host, and what moves: see `core/herder/cluster.py`. kconnect only."""
        return self._json("GET", "/cluster")

    def plugins(self, connectors_only: bool = True) -> list[dict[str, Any]]:
        return self._json("GET", "/connector-plugins", params={"connectorsOnly": str(connectors_only).lower()})

    def plugin_config(self, plugin: str, version: str | None = None) -> list[dict[str, Any]]:
        params = None if version is None else {"version": version}
        return self._json("GET", _path("connector-plugins", plugin, "config"), params=params)

    def validate(self, plugin: str, config: Config) -> dict[str, Any]:
        return self._json("PUT", _path("connector-plugins", plugin, "config", "validate"), config)

    def loggers(self) -> dict[str, Any]:
        return self._json("GET", "/admin/loggers")

    def set_logger(self, name: str, level: str) -> list[str]:
        """Set a level on this worker; gives the loggers that changed."""
        return self._json("PUT", _path("admin", "loggers", name), {"level": level})

    # -- connectors: reads --------------------------------------------------------------------------------------------

    def connectors(self, *expand: str) -> Any:
        """The names; with "status" or "info" or both, a dict by name of these."""
        return self._json("GET", "/connectors", params={"expand": list(expand)} if expand else None)

    def connector(self, name: str) -> dict[str, Any]:
        return self._json("GET", _path("connectors", name))

    def get_config(self, name: str) -> dict[str, str | None]:
        return self._json("GET", _path("connectors", name, "config"))

    def status(self, name: str) -> dict[str, Any]:
        return self._json("GET", _path("connectors", name, "status"))

    def tasks(self, name: str) -> list[dict[str, Any]]:
        return self._json("GET", _path("connectors", name, "tasks"))

    def task_status(self, name: str, task: int) -> dict[str, Any]:
        return self._json("GET", _path("connectors", name, "tasks", str(task), "status"))

    def topics(self, name: str) -> list[str]:
        return self._json("GET", _path("connectors", name, "topics"))[name]["topics"]

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """`[{"partition": ..., "offset": ...}]`."""
        return self._json("GET", _path("connectors", name, "offsets"))["offsets"]

    # -- connectors: writes -------------------------------------------------------------------------------------------

    def create(self, name: str, config: Config, initial_state: str | None = None) -> dict[str, Any]:
        body: dict[str, Any] = {"name": name, "config": dict(config)}
        if initial_state is not None:
            body["initial_state"] = initial_state
        return self._json("POST", "/connectors", body)

    def put_config(self, name: str, config: Config) -> dict[str, Any]:
        """Create the connector, or replace its whole config."""
        return self._json("PUT", _path("connectors", name, "config"), config)

    def patch_config(self, name: str, patch: Config) -> dict[str, Any]:
        """Change some settings; None removes one (KIP-477)."""
        return self._json("PATCH", _path("connectors", name, "config"), patch)

    def pause(self, name: str) -> None:
        self._call("PUT", _path("connectors", name, "pause"))

    def resume(self, name: str) -> None:
        self._call("PUT", _path("connectors", name, "resume"))

    def stop(self, name: str) -> None:
        self._call("PUT", _path("connectors", name, "stop"))

    def restart(self, name: str, include_tasks: bool = False, only_failed: bool = False) -> dict[str, Any] | None:
        """With a parameter, gives the status that shows what is RESTARTING (KIP-745)."""
        params = {"includeTasks": str(include_tasks).lower(), "onlyFailed": str(only_failed).lower()}
        response = self._call("POST", _path("connectors", name, "restart"), params=params)
        return orjson.loads(response.content) if response.content else None

    def restart_task(self, name: str, task: int) -> None:
        self._call("POST", _path("connectors", name, "tasks", str(task), "restart"))

    def reset_topics(self, name: str) -> None:
        self._call("PUT", _path("connectors", name, "topics", "reset"))

    def delete(self, name: str) -> None:
        self._call("DELETE", _path("connectors", name))

    # -- waiting ------------------------------------------------------------------------------------------------------

    def wait_for(
        self,
        name: str,
        state: str = "RUNNING",
        tasks: int | None = None,
        timeout: float = 30.0,
        fail_fast: bool = False,
    ) -> dict[str, Any]:
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
        deadline = time.monotonic() + timeout
        pause = _FIRST_PAUSE
        last: dict[str, Any] | None = None
        while True:
            try:
                last = self.status(name)
                seen = _summary(last)
                if _reached(last, state, tasks):
                    return last
                if fail_fast and state != "FAILED" and _reached(last, "FAILED", None):
                    raise WaitError(f"Connector {name} failed while it was to become {state}: {seen}", last)
            except RestError as error:
                if isinstance(error, WaitError) or error.status not in (None, 404, 409, 503):
                    raise
                seen = error.message
            left = deadline - time.monotonic()
            if left <= 0:
                wanted = state if tasks is None else f"{state} with {tasks} task(s)"
                raise WaitError(f"Connector {name} was not {wanted} within {timeout:g} s; last seen: {seen}", last)
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    # -- the wire -----------------------------------------------------------------------------------------------------

    def _json(self, method: str, path: str, body: Any = None, params: Mapping[str, Any] | None = None) -> Any:
        return orjson.loads(self._call(method, path, body, params).content)

    def _call(
        self, method: str, path: str, body: Any = None, params: Mapping[str, Any] | None = None
    ) -> httpx.Response:
        response = self._send(method, path, body, params)
        if not response.is_success:
            raise _error(response)
        return response

    def _send(
        self, method: str, path: str, body: Any = None, params: Mapping[str, Any] | None = None
    ) -> httpx.Response:
        content = None if body is None else orjson.dumps(body)
        headers = None if content is None else {"Content-Type": "application/json"}
        try:
            return self._http.request(method, path, content=content, headers=headers, params=params)
        except httpx.TimeoutException:
            raise RestError(None, f"No answer from {self.url} in time. Is the worker overloaded?") from None
        except httpx.TransportError as error:
            raise RestError(None, f"No worker answers at {self.url} ({error}). Is it running?") from None


def _path(*segments: str) -> str:
    return "/" + "/".join(quote(segment, safe="") for segment in segments)


def _error(response: httpx.Response) -> RestError:
    try:
        message = orjson.loads(response.content)["message"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        message = None
    return RestError(response.status_code, message or f"HTTP {response.status_code} {response.reason_phrase}".strip())


def _reached(status: dict[str, Any], state: str, tasks: int | None) -> bool:
    connector = status["connector"]["state"]
    states = [task["state"] for task in status["tasks"]]
    if state == "FAILED":
        if tasks is not None:
            return states.count("FAILED") >= tasks
        return connector == "FAILED" or "FAILED" in states
    if tasks is not None and len(states) != tasks:
        return False
    return connector == state and all(each == state for each in states)


def _summary(status: dict[str, Any]) -> str:
    """The states in one line, with the reason from the first trace."""
    units = [("connector", status["connector"]), *((f"task {task['id']}", task) for task in status["tasks"])]
    text = ", ".join(f"{who} {unit['state']}" for who, unit in units)
    trace = next((unit["trace"].strip() for _, unit in units if unit.get("trace")), "")
    return f"{text} ({_reason(trace)})" if trace else text


def _reason(trace: str) -> str:
    """A Python trace ends with its reason, a Java one begins with it."""
    return trace.splitlines()[-1 if trace.startswith("Traceback") else 0].strip()
