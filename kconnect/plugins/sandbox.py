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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from typing import Any

from kconnect import errors
from kconnect.core.herder.effects import RefusedError, UnsupportedError
from kconnect.core.settings import references, secrets
from kconnect.core.settings.connector import framework_config
from kconnect.core.settings.internal_topics import InternalTopics
from kconnect.core.settings.overrides import Policy, is_policy
from kconnect.errors import BadRequestError, ConfigError, ConnectError, NotFoundError, RequestTimeoutError
from kconnect.java import versions
from kconnect.jvm.scan import DISCOVERY
from kconnect.plugins import environments, listing
from kconnect.plugins.child import Child, ChildEndedError
from kconnect.plugins.listing import Listing
from kconnect.plugins.providers import WorkerTexts
from kconnect.plugins.registry import PluginDesc, PluginVersionError, Registry

log = logging.getLogger(__name__)

_CHILDREN = 8
_CHILDREN_OF_ONE = 4
"""For the plugins of the same directories: when they hang, the others still have somewhere to run."""
_CHILDREN_OF_CLASS = 3
"""For one plugin: all in the box are of the same directories, and the services that one of them asks may not answer."""
_KEPT = 4
_IDLE_S = 60.0
_LARGE_CONFIG = 2**15
"""In characters. So many aliases of transforms still make an answer that a child may send."""
_ANY = Policy()
_NO_TOPICS = InternalTopics()
_ERRORS = {**errors.BY_NAME, RefusedError.__name__: RefusedError, UnsupportedError.__name__: UnsupportedError}


class Sandbox:
    """
    Thread-safe. `timeout` in seconds limits each call, the start of a child and the wait for a free one included.

    `worker_group` is the worker's group.id, `exactly_once` whether it supports exactly-once sources, `topic_creation`
    whether sources may say how topics are created, `overrides` what connectors may set of their clients, `internal_topics`
    which topics are no data: validation compares configs with these. `plugin_settings` are the worker's texts that transforms
    and predicates may ask for, `provider_settings` those that declare its config providers, `client_settings` those that the
    clients of connectors inherit, `converters` its own converters by setting, the defaults of connectors. `memory` in bytes
    limits each child. `discovery` is Connect's `plugin.discovery`; `java` are bytes of heap, and options, of a child's JVM for
    Java plugins.
    """

    def __init__(
        self,
        registry: Registry,
        plugin_path: Iterable[str] | None = None,
        timeout: float = 60.0,
        *,
        worker_group: str = "",
        exactly_once: bool = False,
        topic_creation: bool = True,
        overrides: Policy = _ANY,
        internal_topics: InternalTopics = _NO_TOPICS,
        plugin_settings: Mapping[str, str] | None = None,
        converters: Mapping[str, str] | None = None,
        provider_settings: Mapping[str, str] | None = None,
        client_settings: Mapping[str, str] | None = None,
        memory: int | None = None,
        discovery: str = DISCOVERY,
        java: tuple[int, list[str]] | None = None,
    ) -> None:
        self._registry = registry
        self._converters = dict(converters or {})
        self._timeout = timeout
        worker = {
            "group": worker_group,
            "exactly_once": exactly_once,
            "topic_creation": topic_creation,
            "overrides": asdict(overrides),
            "internal_topics": {**asdict(internal_topics), "names": sorted(internal_topics.names)},
            "settings": dict(plugin_settings or {}),
            "converters": self._converters,
            "providers": dict(provider_settings or {}),
            "clients": dict(client_settings or {}),
        }
        self._greeting = {
            "plugin_path": list(plugin_path or ()),
            "plugins": registry.directories,
            "worker": worker,
            "memory": memory,
            "discovery": discovery,
            "java": java,
        }
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(_CHILDREN)
        self._slots_of: dict[tuple[str, ...], threading.BoundedSemaphore] = {}
        self._slots_of_class: dict[tuple[tuple[str, ...], str], threading.BoundedSemaphore] = {}
        self._idle: list[Child] = []
        self._busy: set[Child] = set()
        self._described: dict[tuple[str, str], dict[str, Any]] = {}
        self._listing = Listing(registry, self._described, timeout, self._ask_listing)
        self._tidying: threading.Timer | None = None
        self._closed = False

    def warm_up(self) -> None:
        """Have a child ready before somebody asks."""
        self._give_back(Child((), self._greeting))

    def reload(self, registry: Registry) -> None:
        """Answer by what this registry has from now on. Children at work finish what they are at, and then end."""
        with self._lock:
            self._registry = registry
            self._greeting = {**self._greeting, "plugins": registry.directories}
            self._described = {}
            self._listing = Listing(registry, self._described, self._timeout, self._ask_listing)
            idle, self._idle = self._idle, []
        for child in idle:
            child.kill()
        self.warm_up()

    def close(self) -> None:
        """End all children, also those at work."""
        with self._lock:
            self._closed = True
            if self._tidying is not None:
                self._tidying.cancel()
            idle, self._idle = self._idle, []
            for child in self._busy:
                child.interrupt()
        for child in idle:
            child.kill()

    def describe(self, plugin: str, timeout: float | None = None, version: str | None = None) -> dict[str, Any]:
        """`class`, `type` and `version` of a connector; NotFoundError if there is none of that name."""
        connector = self._registry.find(plugin, "connector", version)
        key, asked = (connector.python_path, connector.version), {"plugin": plugin, "version": connector.version}
        if connector.type:
            return listing.known(connector)
        described = self._described  # of before or after a `reload`, but the same all the time
        if key not in described:
            described[key] = self._call("describe", environments.of_plugin(connector), timeout, **asked)
        return described[key]

    def validate(self, plugin: str, config: Mapping[str, str | None], timeout: float | None = None) -> dict[str, Any]:
        """
        ConfigInfos of a config; `plugin` counts where the config names no `connector.class`.

        BadRequestError if there is no such class, RequestTimeoutError or ConnectError if its code hangs or fails; that it
        fails on a config of extraordinary size is the config's fault, and a BadRequestError too.
        """
        named = config.get("connector.class") or plugin
        secrets.require_few(config)
        try:
            environment = self._environment(named, config)
        except NotFoundError as error:
            raise BadRequestError(str(error)) from error
        try:
            infos: dict[str, Any] = self._call("validate", environment, timeout, plugin=named, config=dict(config))
        except (RequestTimeoutError, ConnectError) as error:
            size = sum(len(name) + len(value or "") for name, value in config.items())
            if size <= _LARGE_CONFIG or type(error) not in (RequestTimeoutError, ConnectError):
                raise
            raise BadRequestError(
                f"The config has {size:,} characters and could not be validated; make it smaller: {error}"
            ) from error
        return infos

    def resolve(self, texts: Mapping[str, str], timeout: float | None = None) -> WorkerTexts:
        """A worker's own texts with their references replaced. ConfigError with all that can't be had."""
        environment = environments.of_providers(self._registry, texts)
        answer = self._call("resolve", environment, timeout, plugin=references.PROVIDERS, config=dict(texts))
        if "error" in answer:
            raise ConfigError(answer["error"])
        return WorkerTexts(answer["texts"], answer["covered"], tuple(answer["settings"]))

    def resolve_config(self, config: Mapping[str, str], timeout: float | None = None) -> tuple[dict[str, str], dict[str, str]]:
        """
        Settings of a connector with their references replaced, and by what must not be shown, the references to show instead.
        ConfigError, naming setting and reference, if one can't be had.
        """
        answer = self._call("resolve_config", (), timeout, plugin=references.PROVIDERS, config=dict(config))
        if "error" in answer:
            raise ConfigError(answer["error"])
        return answer["config"], answer["covered"]

    def alter_offsets(
        self, plugin: str, config: Mapping[str, str | None], offsets: Iterable[tuple[Any, Any]], timeout: float | None = None
    ) -> bool:
        """
        Call a connector's `alter_offsets` with these pairs, and return its answer. A pair is of source partition and offset, or
        of (topic, partition) and an int; None as an offset resets it.

        RefusedError if the connector says no, UnsupportedError if it can't have its offsets changed; RequestTimeoutError or
        another ConnectError if its code hangs or fails.
        """
        environment = self._environment(plugin, config)
        pairs = [[place, offset] for place, offset in offsets]
        answer = self._call("alter_offsets", environment, timeout, plugin=plugin, config=dict(config), offsets=pairs)
        return bool(answer)

    def check(self, plugin: PluginDesc, timeout: float | None = None) -> None:
        """Try whether a class can be imported and is what its entry point says; the errors are those of `describe`."""
        asked = {"plugin": plugin.python_path, "kind": plugin.kind, "version": plugin.version}
        self._call("check", environments.of_plugin(plugin), timeout, **asked)

    def list_plugins(self, connectors_only: bool) -> list[dict[str, Any]]:
        """The body of `GET /connector-plugins`; a connector whose code can't be asked is left out, with a warning."""
        return self._listing.rows(connectors_only)

    def plugin_config(self, plugin: str, version: str | None) -> list[dict[str, Any]]:
        """The body of `GET /connector-plugins/{plugin}/config`: own settings first, then those of the framework."""
        try:
            versions.requirement(version)
        except versions.VersionRangeError:
            raise BadRequestError(f"Invalid version specification: {version}") from None
        if versions.is_range(version or ""):
            raise BadRequestError(
                f"Invalid version specification: {version} is a range. Give one of the versions that GET /connector-plugins "
                "lists, or none for the newest"
            )
        for kind in ("connector", "converter", "header_converter", "transformation", "predicate"):
            try:
                described = self._registry.find(plugin, kind, version)
            except NotFoundError:
                continue
            asked = {"plugin": described.python_path, "kind": kind, "version": described.version}
            rows: list[dict[str, Any]] = self._call("config", environments.of_plugin(described), None, **asked)
            if kind == "connector":
                declared = {row["name"] for row in rows}
                framework = framework_config(self.describe(plugin, version=version)["type"]).keys
                version_key = replace(framework["connector.plugin.version"], default=self._registry.versions(plugin, kind)[0])
                keys = {**framework, version_key.name: version_key}
                rows += [key.info() for name, key in keys.items() if name not in declared]
            return rows
        if is_policy(plugin) or any(self._has(plugin, kind) for kind in ("config_provider", "override_policy")):
            raise BadRequestError(
                f"Invalid plugin class {plugin}. Valid types are sink, source, converter, header_converter, "
                "transformation, predicate."
            )
        raise NotFoundError(f"Unknown plugin {plugin}.")

    def _ask_listing(self, request: dict[str, Any], deadline: float) -> dict[str, Any]:
        child = Child((), self._greeting, "kconnect.plugins.listing_child")
        self._use(child)
        try:
            return child.ask(request, deadline)
        finally:
            self._drop(child)

    def _has(self, plugin: str, kind: str) -> bool:
        try:
            self._registry.find(plugin, kind)
        except NotFoundError:
            return False
        return True

    def _environment(self, plugin: str, config: Mapping[str, str | None]) -> tuple[str, ...]:
        """The directories that the plugins of a config come from. The errors are those of the connector's class."""
        with suppress(PluginVersionError):  # nothing of it is going to be asked
            self._registry.find(plugin, "connector", config.get("connector.plugin.version"))
        return environments.of_chain(self._registry, {**config, "connector.class": plugin}, self._converters)

    def _call(self, call: str, environment: tuple[str, ...], timeout: float | None, **arguments: Any) -> Any:
        limit = self._timeout if timeout is None else timeout
        deadline = time.monotonic() + limit
        with self._lock:
            of_one = self._slots_of.setdefault(environment, threading.BoundedSemaphore(_CHILDREN_OF_ONE))
            key = environment, self._class_of(arguments["plugin"])
            of_class = self._slots_of_class.setdefault(key, threading.BoundedSemaphore(_CHILDREN_OF_CLASS))
        # Who waits for one of its class must not hold one that another may have.
        with _slot(of_class, deadline, limit), _slot(of_one, deadline, limit), _slot(self._slots, deadline, limit):
            hidden = secrets.values(arguments.get("config", {}))
            request = {"call": call, "arguments": arguments, "directories": environment}
            answer = self._ask(environment, request, deadline, limit, hidden)
        for text in answer.get("warnings", ()):
            log.warning("Connector %s: %s", arguments.get("config", {}).get("name"), text)
        if "error" in answer:
            raise _ERRORS[answer["error"]](answer["message"])
        return answer["result"]

    def _class_of(self, plugin: str) -> str:
        """Return one name for a plugin that may be called by several; "" for all that are not there: anybody makes up names."""
        with suppress(NotFoundError, PluginVersionError):
            return self._registry.find(plugin, "connector").python_path
        return ""

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
            if answer.get("left"):
                log.info(
                    "%s has changed the state of its process, so the process is not used again: %s",
                    child.where(plugin),
                    ", ".join(answer["left"]),
                )
                self._drop(child)
            else:
                self._give_back(child)
            return answer

    def _take(self, environment: tuple[str, ...]) -> Child:
        dropped: list[Child] = []
        reused = None
        with self._lock:
            for child in reversed(self._idle):
                # One that has not imported anything yet is as good as new.
                if child.environment == environment or not child.used:
                    self._idle.remove(child)
                    if child.is_alive():
                        reused = child
                        break
                    dropped.append(child)
            if reused is None and len(self._idle) >= _KEPT:
                dropped.append(self._idle.pop(0))
        for child in dropped:
            child.kill()
        child = reused or Child(environment, self._greeting)
        child.environment = environment
        self._use(child)
        return child

    def _use(self, child: Child) -> None:
        with self._lock:
            self._busy.add(child)
            if self._closed:
                child.interrupt()

    def _drop(self, child: Child) -> None:
        with self._lock:
            self._busy.discard(child)
        child.kill()

    def _give_back(self, child: Child) -> None:
        child.idle_since = time.monotonic()
        with self._lock:
            self._busy.discard(child)
            # Each config may bring secrets of a megabyte: in one process for all, they would fill the worker's memory.
            is_kept = not (self._closed or child.greeting is not self._greeting or child.hides_much)
            if is_kept:
                self._idle.append(child)
                self._tidy_later()
        if not is_kept:
            child.kill()

    def _tidy_later(self) -> None:
        """Have `_tidy` called, by who holds the lock."""
        if self._tidying is None:
            self._tidying = threading.Timer(_IDLE_S, self._tidy)
            self._tidying.name, self._tidying.daemon = "sandbox-tidying", True
            self._tidying.start()

    def _tidy(self) -> None:
        """
        End what has been idle for long, but for the last one, if it is small: a single request finds it warm. A large one, as
        with the JVM of Java plugins, would take as much as the worker itself for nothing; a new one stands in its place then.
        """
        now = time.monotonic()
        with self._lock:
            self._tidying = None
            long_idle = [child for child in self._idle if now - child.idle_since >= _IDLE_S]
            kept = next((child for child in reversed(long_idle) if not child.is_large()), None)
            dropped = [child for child in long_idle if child is not kept]
            self._idle = [child for child in self._idle if child not in dropped]
            if any(child is not kept for child in self._idle):
                self._tidy_later()
            is_cold = not self._idle and not self._closed
        for child in dropped:
            child.kill()
        if is_cold:
            self.warm_up()


@contextmanager
def _slot(slots: threading.BoundedSemaphore, deadline: float, limit: float) -> Iterator[None]:
    if not slots.acquire(timeout=max(0.0, deadline - time.monotonic())):
        raise RequestTimeoutError(
            f"Request timed out: all processes for this plugin were busy with other requests for {limit:g} s"
        )
    try:
        yield
    finally:
        slots.release()
