"""
What plugin code finds when it imports: the directories that the plugins of one connector come from.

`directories` tells them, in the worker, by metadata alone; units that have the same share hosts. `enter` makes a process one
for them, before any plugin code runs in it: `host/main.py` and `sandbox_child.py` call it. `Registry.load` imports by
`import_module`. What a directory gives under which name, `arrangement.py` says; docs/design/plugin-code.md has the reasons.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING

from kconnect.core.settings import references
from kconnect.core.settings.worker import WorkerSettings, converters
from kconnect.core.state.assignment_records import SPARK
from kconnect.errors import ConnectError
from kconnect.plugins import arrangement, chain
from kconnect.plugins.arrangement import Layout
from kconnect.plugins.realms import Realm
from kconnect.plugins.scan import GROUPS, INSTALLED

if TYPE_CHECKING:
    from kconnect.plugins.registry import PluginDesc, Registry

JVM = "jvm:"
"""
Stands in an environment for all Java plugins: a process that may start a JVM for them. Class loaders keep them apart, so that
many share one, whatever their directories. Behind it there may be a number and directories: see `_jvm`.
"""

_LAKE = "kconnect.connectors.spark.connector:SparkSinkConnector"

log = logging.getLogger(__name__)


def directories(registry: Registry, config: chain.Config, worker: WorkerSettings) -> tuple[str, ...]:
    """
    Return the directories that a unit of that connector needs, in their order: of its connector, its converters, its transforms
    and predicates.

    Never raises: what can't be found adds nothing, and the unit fails where it runs, with a text that says what there is.
    """
    worker_converters = converters(worker)
    return tuple(
        _jvm(registry, config, worker_converters) if directory == JVM else directory
        for directory in of_chain(registry, config, worker_converters)
    )


def _jvm(registry: Registry, config: chain.Config, worker: Mapping[str, str]) -> str:
    """
    Whom a connector shares its JVM with, now that the worker has looked at plugin.path anew: all that have the plugins which
    they would have had at some time before, in a process which knows what was there then.

    So a reload moves those connectors only that get something else by it.
    """
    java_parts = _java_parts(registry, config, worker)
    all_of_them = (*registry.before, registry)
    number, chosen = next(
        (at, candidate) for at, candidate in enumerate(all_of_them) if _java_parts(candidate, config, worker) == java_parts
    )
    # Commas can't be in plugin.path's directories. What there was first, each host is told in any case.
    return ",".join([f"{JVM}{number}", *sorted({plugin.location for plugin in chosen.java_plugins})]) if number else JVM


def _java_parts(registry: Registry, config: chain.Config, worker: Mapping[str, str]) -> list[PluginDesc]:
    plugins = []
    for part in chain.parts(registry, config, worker):
        with suppress(ConnectError):
            plugins.append(part.find(registry))
    return [plugin for plugin in plugins if plugin.java]


def places(environment: Iterable[str]) -> set[str]:
    """The directories that an environment names, those of Java plugins included."""
    return {place for entry in environment for place in entry.split(",")}


def of_chain(registry: Registry, config: chain.Config, worker: Mapping[str, str]) -> tuple[str, ...]:
    """
    Return the directories as `directories` does, with the worker's own converters as `core.settings.worker.converters` gives
    them.
    """
    names: dict[str, None] = {}
    for part in chain.parts(registry, config, worker):
        with suppress(ConnectError):
            names.update(dict.fromkeys(of_plugin(part.find(registry))))
    return tuple(names)


def of_plugin(plugin: PluginDesc) -> tuple[str, ...]:
    """Return what a process needs for this plugin."""
    if plugin.java:
        return (JVM,)
    if plugin.python_path == _LAKE:
        return (SPARK,)
    return () if plugin.location == INSTALLED else (plugin.location,)


def of_providers(registry: Registry, worker: Mapping[str, str]) -> tuple[str, ...]:
    """
    Return the directories of the config providers that a worker's settings declare. Any unit may need them, so no placement
    looks at them.
    """
    names: dict[str, None] = {}
    for provider in references.declared(worker).values():
        with suppress(ConnectError):
            names.update(dict.fromkeys(of_plugin(registry.find(provider.class_name, "config_provider"))))
    return tuple(names)


def enter(paths: Sequence[str]) -> None:
    """
    Have this process import from these directories first, in their order. Once in a process, before plugin code runs.

    What kconnect has imported already it keeps; plugin code that imports the same gets what its directory brings.
    """
    _process.enter(paths)


def prepare(paths: Sequence[str]) -> None:
    """
    Enter directories as `enter` does, for programs that try one chain after the other: all but the first come behind what is
    there already.
    """
    _process.prepare(paths)


def import_module(location: str, name: str) -> ModuleType:
    """A module of a plugin: from its directory, or INSTALLED. A directory that was not entered comes behind those that were."""
    return _process.import_module(location, name)


class _Process:
    """The directories that were entered in this process. Thread-safe but for `enter`."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._layouts: dict[str, Layout] = {}
        self._realms: dict[str, Realm] = {}
        self._finder: _Finder | None = None
        self._entered = False

    def enter(self, paths: Sequence[str]) -> None:
        with self._lock:
            if self._entered:
                raise RuntimeError("This process has entered an environment already")
            self._entered = True
            existing = dict.fromkeys(os.path.realpath(directory) for directory in paths if os.path.isdir(directory))
            layouts = arrangement.arrange(existing)
            tops = {name.partition(".")[0] for layout in layouts for name in layout.public}
            if any(PathFinder.find_spec(top) is not None for top in tops):
                _bind_our_plugins()
            self._install(layouts)
            self._evict(layouts)

    def prepare(self, paths: Sequence[str]) -> None:
        with self._lock:
            if paths and not self._entered:
                self.enter(paths)

    def import_module(self, location: str, name: str) -> ModuleType:
        directory = location if location == INSTALLED else os.path.realpath(location)
        with self._lock:
            if directory == INSTALLED:
                realm = self._installed(name)
            else:
                if directory not in self._layouts:
                    self._install(arrangement.arrange([directory], self._taken(directory)))
                realm = self._realms.get(directory)
        # Outside of the lock: a plugin's module may start a thread that imports another, and wait for it.
        return realm.import_module(name) if realm is not None else importlib.import_module(name)

    def _install(self, layouts: Iterable[Layout]) -> None:
        if self._finder is None:
            self._finder = _Finder()
            place = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
            sys.meta_path.insert(place, self._finder)
        for layout in layouts:
            for name in sorted(layout.ignored):
                log.warning("%s brings the module %s, which is ignored: it is %s", layout.directory, name, _whose(name))
            self._layouts[layout.directory] = layout
            self._finder.directories.append(layout.directory)
            if layout.is_realm:
                number, clashes = len(self._realms) + 1, layout.clashes
                name, owner = min(clashes.items())
                reason = f"{layout.directory} shares this process with {owner}, which has another {name}."
                realm = Realm(number, [layout.directory], layout.private, clashes, reason)
                self._realms[layout.directory] = self._finder.realms[realm.name] = realm
                self._finder.guests.update(dict.fromkeys(layout.public, layout.directory))
                log.info("%s is a realm (%s): %s is in %s, too", layout.directory, realm.name, name, owner)
            else:
                behind = sum(not other_layout.is_realm for other_layout in self._layouts.values()) - 1
                sys.path.insert(behind, layout.directory)
        importlib.invalidate_caches()

    def _evict(self, layouts: Sequence[Layout]) -> None:
        """Forget what was imported from elsewhere under a name that a directory brings."""
        owners = {name: layout.directory for layout in reversed(layouts) for name in layout.public}
        for name, module in list(sys.modules.items()):
            owner = next((owners[part] for part in arrangement.and_above(name) if part in owners), None)
            if owner is not None and not _is_in(module, owner):
                del sys.modules[name]

    def _taken(self, directory: str) -> dict[str, str]:
        """
        Return the names that a directory which comes late can't have: also those that have been imported from elsewhere, for
        code may be using them.
        """
        owners = {name: layout.directory for layout in self._layouts.values() for name in layout.public}
        for name in arrangement.names(directory):
            module = sys.modules.get(name)
            if module is not None and not _is_in(module, directory):
                owners.setdefault(name, os.path.dirname(getattr(module, "__file__", None) or "") or "this process")
        return owners

    def _installed(self, name: str) -> Realm | None:
        """A realm for a plugin installed beside kconnect, if a directory has taken the name of its module."""
        owners = {brought: layout.directory for layout in self._layouts.values() for brought in layout.public}
        clash = next((part for part in arrangement.and_above(name) if part in owners), None)
        if clash is None:
            return None
        if INSTALLED not in self._realms:
            assert self._finder is not None
            outside = self._finder.outside()
            clashes = {
                brought: place for brought, place in owners.items() if PathFinder.find_spec(brought.split(".")[0], outside)
            }
            reason = f"The packages installed with kconnect share this process with {owners[clash]}, which has another {clash}."
            realm = Realm(0, outside, frozenset(clashes), clashes, reason)
            self._realms[INSTALLED] = self._finder.realms[realm.name] = realm
        return self._realms[INSTALLED]


class _Finder(MetaPathFinder):
    """Stands before Python's own finder of files: for what must not come from a plugin's directory, and for realms."""

    def __init__(self) -> None:
        self.directories: list[str] = []
        self.realms: dict[str, Realm] = {}
        self.guests: dict[str, str] = {}
        """Modules of a realm's directory that are imported under their own names, and that directory."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        top = fullname.partition(".")[0]
        realm = self.realms.get(top)
        if realm is not None:
            return realm.find_spec(fullname, path)
        if path is not None:
            return None
        if top in arrangement.PROTECTED:
            return PathFinder.find_spec(fullname, self.outside())
        guest = self.guests.get(fullname)
        return None if guest is None else PathFinder.find_spec(fullname, [guest])

    def outside(self) -> list[str]:
        """`sys.path` without the plugins' directories."""
        return [entry for entry in sys.path if entry not in self.directories]


def _bind_our_plugins() -> None:
    """
    Import kconnect's own plugins before anything that they use is replaced: a converter that is imported later would work with
    the libraries of a stranger's plugin.
    """
    for name in _our_plugins():
        with suppress(Exception):  # as of an extra that is not installed; whoever asks for it is told
            importlib.import_module(name)


def _our_plugins() -> Iterator[str]:
    entry_points = metadata.distribution("kconnect").entry_points
    yield from sorted({entry.module for entry in entry_points if entry.group in GROUPS})


def _is_in(module: ModuleType, directory: str) -> bool:
    file: str | None = getattr(module, "__file__", None)
    if file is not None:
        return os.path.realpath(file).startswith(directory + os.sep)
    return any(os.path.realpath(place).startswith(directory + os.sep) for place in getattr(module, "__path__", ()))


def _whose(name: str) -> str:
    return "kconnect's own" if name.partition(".")[0] in arrangement.OURS else "part of Python"


_process = _Process()
