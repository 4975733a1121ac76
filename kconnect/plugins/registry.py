"""
Which plugins there are: found by the metadata of installed distributions, without importing any of their code.

`Registry.scan` is called by the worker, the sandbox and the task hosts; `load`, which does import, only by the latter two.
A plugin is known by its Python path, its class's name, that name without `Connector`, `Converter` or the like, and the
built-in ones by their Java class names as well, so that existing configs run unchanged. Read next: `sandbox.py`.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from kconnect.api.errors import ConnectError, NotFoundError

log = logging.getLogger(__name__)

KINDS = ("connector", "transformation", "predicate", "converter", "header_converter", "config_provider")

_GROUPS = {
    "kconnect.connectors": "connector",
    "kconnect.transforms": "transformation",
    "kconnect.predicates": "predicate",
    "kconnect.converters": "converter",
    "kconnect.header_converters": "header_converter",
    "kconnect.config_providers": "config_provider",
}

_JAVA_NAMES = {
    "kconnect.connectors.file_source:FileStreamSourceConnector": (
        "org.apache.kafka.connect.file.FileStreamSourceConnector"
    ),
    "kconnect.connectors.file_sink:FileStreamSinkConnector": "org.apache.kafka.connect.file.FileStreamSinkConnector",
    "kconnect.converters.json:JsonConverter": "org.apache.kafka.connect.json.JsonConverter",
    "kconnect.converters.string:StringConverter": "org.apache.kafka.connect.storage.StringConverter",
}

_JAVA_TASKS = {
    "kconnect.connectors.file_source:FileStreamSourceTask": "org.apache.kafka.connect.file.FileStreamSourceTask",
    "kconnect.connectors.file_sink:FileStreamSinkTask": "org.apache.kafka.connect.file.FileStreamSinkTask",
}
"""For `task.class` in task configs: a Connect worker that takes the topics over starts the same task."""

_SUFFIXES = {
    "connector": ("Connector",),
    "converter": ("Converter",),
    "header_converter": ("HeaderConverter", "Converter"),
    "config_provider": ("ConfigProvider", "Provider"),
}


@dataclass(frozen=True)
class PluginDesc:
    """One plugin as its metadata tell it. `class_name` is what REST shows; `path` is `module:Class`."""

    class_name: str
    path: str
    kind: str
    version: str
    location: str

    @property
    def simple_name(self) -> str:
        return self.path.rsplit(":", 1)[1].rsplit(".", 1)[-1]

    @property
    def names(self) -> tuple[str, ...]:
        simple = self.simple_name
        short = [simple.removesuffix(suffix) for suffix in _SUFFIXES.get(self.kind, ()) if simple.endswith(suffix)]
        return tuple(dict.fromkeys((self.class_name, self.path, self.path.replace(":", "."), simple, *short)))


@dataclass(frozen=True)
class BrokenPlugin:
    location: str
    reason: str


class Registry:
    def __init__(self, plugins: Sequence[PluginDesc], broken: Sequence[BrokenPlugin]) -> None:
        self.plugins = list(plugins)
        self.broken = list(broken)
        self._by_name: dict[tuple[str, str], list[PluginDesc]] = {}
        for plugin in self.plugins:
            for name in plugin.names:
                self._by_name.setdefault((plugin.kind, name), []).append(plugin)

    @classmethod
    def scan(cls, plugin_path: Iterable[str] | None) -> Registry:
        """Read the metadata beside kconnect and in each child directory of `plugin_path`. A broken one is only listed."""
        found: dict[tuple[str, str, str], PluginDesc] = {}
        broken: list[BrokenPlugin] = []
        for location, distributions in _locations(plugin_path or ()):
            try:
                for plugin in _plugins(location, distributions):
                    found.setdefault((plugin.kind, plugin.class_name, plugin.version), plugin)
            except Exception as error:  # noqa: BLE001 - one broken plugin must not hide the others
                broken.append(BrokenPlugin(location, f"{type(error).__name__}: {error}"))
                log.warning("The plugin in %s can't be used: %s", location, error)
        return cls(list(found.values()), broken)

    def find(self, name: str, kind: str) -> PluginDesc:
        """The plugin of that name. NotFoundError with what there is, ConnectError if the name fits several classes."""
        matches = self._by_name.get((kind, name.strip()), [])
        classes = sorted({match.class_name for match in matches})
        if len(classes) > 1:
            raise ConnectError(f"More than one {kind} matches alias {name}. Use one of these: {', '.join(classes)}")
        if not matches:
            there = ", ".join(sorted(p.class_name for p in self.plugins if p.kind == kind)) or "none"
            raise NotFoundError(
                f"Failed to find any class that implements {kind.title().replace('_', '')} and which name matches "
                f"{name}, available {kind}s are: {there}"
            )
        return matches[-1]

    def load(self, name: str, kind: str) -> type[Any]:
        """Import the plugin's class. ConnectError, naming class and cause, if that fails."""
        plugin = self.find(name, kind)
        module, _, attribute = plugin.path.partition(":")
        try:
            found = importlib.import_module(module)
            for part in attribute.split("."):
                found = getattr(found, part)
        except Exception as error:
            raise ConnectError(f"The class {plugin.class_name} can't be imported: {error!r}") from error
        return found  # type: ignore[return-value]


    @staticmethod
    def shown_name(task_class: type[Any]) -> str:
        """The name of a task's class as task configs hold it."""
        path = f"{task_class.__module__}:{task_class.__qualname__}"
        return _JAVA_TASKS.get(path, path.replace(":", "."))


def _locations(plugin_path: Iterable[str]) -> Iterator[tuple[str, Iterable[metadata.Distribution]]]:
    yield "installed", metadata.distributions()
    for directory in plugin_path:
        root = Path(directory).expanduser()
        if not root.is_dir():
            log.warning("The directory %s of plugin.path does not exist", root)
            continue
        for child in sorted(root.iterdir()):
            if child.is_dir():
                yield str(child), metadata.distributions(path=[str(child)])


def _plugins(location: str, distributions: Iterable[metadata.Distribution]) -> Iterator[PluginDesc]:
    for distribution in distributions:
        for entry in distribution.entry_points:
            kind = _GROUPS.get(entry.group)
            if kind is None:
                continue
            if ":" not in entry.value:
                raise ConnectError(f"the entry point {entry.name} is not of the form module:Class but {entry.value}")
            path = entry.value.replace(" ", "")
            class_name = _JAVA_NAMES.get(path, path.replace(":", "."))
            yield PluginDesc(class_name, path, kind, distribution.version, location)
