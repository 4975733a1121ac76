"""
Asks plugin code about configs in child processes that can be thrown away: the worker itself never imports a plugin.

`Sandbox` is held by `worker/main.py`; its methods block and are called from the loop's threads. A child that does not
answer within the limit, crashes or exits costs that one request an error which names the class and the stage; the next
request gets a fresh child. Plugins of different directories never share a child. Read next: `sandbox_child.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from kconnect.api.errors import BadRequestError, ConnectError, NotFoundError, RequestTimeoutError
from kconnect.core.settings import secrets
from kconnect.core.settings.connector import framework_config
from kconnect.plugins.child import Child, ChildEndedError
from kconnect.plugins.registry import Registry
from kconnect.plugins.scan import INSTALLED

log = logging.getLogger(__name__)

_CHILDREN = 4
_IDLE_S = 60.0
_LIST_S = 15.0
_TYPES = ("sink", "source", "transformation", "predicate", "converter", "header_converter")
_ERRORS = {error.__name__: error for error in (NotFoundError, BadRequestError, ConnectError)}


class Sandbox:
    """
    Thread-safe. `timeout` in seconds limits each call, the start of a child and the wait for a free one included.

    `worker_group` is the worker's group.id, and `exactly_once` whether it supports exactly-once sources: validation
    compares configs with both. `plugin_settings` are the worker's texts that transforms and predicates may ask for.
    """

    def __init__(
        self,
        registry: Registry,
        plugin_path: Iterable[str] | None = None,
        timeout: float = 60.0,
        *,
        worker_group: str = "",
        exactly_once: bool = False,
        plugin_settings: Mapping[str, str] | None = None,
    ) -> None:
        self._registry = registry
        self._timeout = timeout
        worker = {"group": worker_group, "exactly_once": exactly_once, "settings": dict(plugin_settings or {})}
        self._greeting = {"plugin_path": list(plugin_path or ()), "worker": worker}
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(_CHILDREN)
        self._idle: list[Child] = []
        self._busy: set[Child] = set()
        self._described: dict[str, dict[str, Any]] = {}
        self._unlisted: set[str] = set()
        self._closed = False

    def warm_up(self) -> None:
        """Have a child ready before somebody asks."""
        self._give_back(Child((), self._greeting))

    def close(self) -> None:
        """End all children, also those at work."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for child in self._busy:
                child.interrupt()
        for child in idle:
            child.kill()

    def describe(self, plugin: str, timeout: float | None = None) -> dict[str, Any]:
        """`class`, `type` and `version` of a connector; NotFoundError if there is none of that name."""
        path = self._registry.find(plugin, "connector").python_path
        if path not in self._described:
            self._described[path] = self._call("describe", self._environment(plugin), timeout, plugin=plugin)
        return self._described[path]

    def validate(self, plugin: str, config: Mapping[str, str | None], timeout: float | None = None) -> dict[str, Any]:
        """
        ConfigInfos of a config; `plugin` counts where the config names no `connector.class`.

        BadRequestError if there is no such class, RequestTimeoutError or ConnectError if its code hangs or fails.
        """
        named = config.get("connector.class") or plugin
        try:
            environment = self._environment(named, config)
        except NotFoundError as error:
            raise BadRequestError(str(error)) from error
        return self._call("validate", environment, timeout, plugin=named, config=dict(config))

    def list_plugins(self, connectors_only: bool) -> list[dict[str, Any]]:
        """The body of `GET /connector-plugins`; a connector whose code can't be asked is left out, with a warning."""
        rows = []
        for plugin in self._registry.plugins:
            kind, version = plugin.kind, plugin.version
            if kind == "connector":
                described = self._described_for_list(plugin.python_path)
                if described is None:
                    continue
                kind, version = described["type"], described["version"]
            elif connectors_only or kind not in _TYPES:
                continue
            row = {"class": plugin.class_name, "type": kind}
            rows.append(row if version in ("", "undefined") else {**row, "version": version})
        return sorted(rows, key=lambda row: (_TYPES.index(row["type"]), row["class"], row.get("version", "")))

    def plugin_config(self, plugin: str, version: str | None) -> list[dict[str, Any]]:
        """The body of `GET /connector-plugins/{plugin}/config`: own settings first, then those of the framework."""
        for kind in ("connector", "converter", "header_converter", "transformation", "predicate"):
            try:
                found = self._registry.find(plugin, kind, version)
            except NotFoundError:
                continue
            environment = () if found.location == INSTALLED else (found.location,)
            rows: list[dict[str, Any]] = self._call(
                "config", environment, None, plugin=found.python_path, kind=kind, version=found.version
            )
            if kind == "connector":
                own = {row["name"] for row in rows}
                framework = framework_config(self.describe(plugin)["type"]).keys
                rows += [key.info() for name, key in framework.items() if name not in own]
            return rows
        for kind in ("config_provider", "override_policy"):
            if self._has(plugin, kind):
                raise BadRequestError(
                    f"Invalid plugin class {plugin}. Valid types are sink, source, converter, header_converter, "
                    "transformation, predicate."
                )
        raise NotFoundError(f"Unknown plugin {plugin}.")

    def _described_for_list(self, path: str) -> dict[str, Any] | None:
        # One that hung or crashed once must not make every listing wait for it.
        if path in self._unlisted:
            return None
        try:
            return self.describe(path, min(self._timeout, _LIST_S))
        except ConnectError as error:
            self._unlisted.add(path)
            log.warning("The connector plugin %s is not listed until the worker is restarted: %s", path, error)
            return None

    def _has(self, plugin: str, kind: str) -> bool:
        try:
            self._registry.find(plugin, kind)
        except NotFoundError:
            return False
        return True

    def _environment(self, plugin: str, config: Mapping[str, str | None] | None = None) -> tuple[str, ...]:
        """The directories that the connector and the converters of a config come from."""
        locations = {self._registry.find(plugin, "connector").location}
        for which, kind in (("key", "converter"), ("value", "converter"), ("header", "header_converter")):
            named = (config or {}).get(f"{which}.converter")
            if named and self._has(named, kind):
                locations.add(self._registry.find(named, kind).location)
        return tuple(sorted(locations - {INSTALLED}))

    def _call(self, call: str, environment: tuple[str, ...], timeout: float | None, **arguments: Any) -> Any:
        limit = self._timeout if timeout is None else timeout
        deadline = time.monotonic() + limit
        if not self._slots.acquire(timeout=limit):
            raise RequestTimeoutError(
                f"Request timed out: for {limit:g} s all {_CHILDREN} plugin processes have been busy with other requests"
            )
        try:
            hidden = secrets.values(arguments.get("config", {}))
            answer = self._ask(environment, {"call": call, "arguments": arguments}, deadline, limit, hidden)
        finally:
            self._slots.release()
        if "error" in answer:
            raise _ERRORS[answer["error"]](answer["message"])
        return answer["result"]

    def _ask(
        self, environment: tuple[str, ...], request: dict[str, Any], deadline: float, limit: float, hidden: set[str]
    ) -> dict[str, Any]:
        plugin = request["arguments"]["plugin"]
        while True:
            child = self._take(environment)
            used = child.used
            try:
                answer = child.ask(request, deadline, hidden)
            except TimeoutError:
                where = child.where(plugin)
                self._drop(child)
                raise RequestTimeoutError(
                    f"Request timed out: the plugin did not answer within {limit:g} s: {where}. Its process was killed."
                ) from None
            except ChildEndedError as error:
                where, began = child.where(plugin), child.stage is not None
                self._drop(child)
                if used and not began:
                    continue  # it had died of something else, or of what an earlier request left behind
                raise ConnectError(f"The plugin's process ended ({error}): {where}.") from None
            except BaseException:
                self._drop(child)
                raise
            self._give_back(child)
            return answer

    def _take(self, environment: tuple[str, ...]) -> Child:
        dropped: list[Child] = []
        taken = None
        with self._lock:
            for child in reversed(self._idle):
                # One that has not imported anything yet is as good as new.
                if child.environment == environment or not child.used:
                    self._idle.remove(child)
                    if child.is_alive():
                        taken = child
                        break
                    dropped.append(child)
            if taken is None and len(self._idle) >= _CHILDREN:
                dropped.append(self._idle.pop(0))
        for child in dropped:
            child.kill()
        child = taken or Child(environment, self._greeting)
        child.environment = environment
        with self._lock:
            self._busy.add(child)
            if self._closed:
                child.interrupt()
        return child

    def _drop(self, child: Child) -> None:
        with self._lock:
            self._busy.discard(child)
        child.kill()

    def _give_back(self, child: Child) -> None:
        now = time.monotonic()
        child.idle_since = now
        with self._lock:
            self._busy.discard(child)
            # The last one stays for ever, so that a single request finds it warm.
            dropped = [idle for idle in self._idle if now - idle.idle_since > _IDLE_S]
            self._idle = [idle for idle in self._idle if idle not in dropped]
            if self._closed:
                dropped.append(child)
            else:
                self._idle.append(child)
        for idle in dropped:
            idle.kill()
