"""Java's part of a task for tests: the rig's plugin, and chains of Connect's own converters and transforms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kconnect.core.settings.errors import ErrorSettings
from kconnect.core.task.errors import Errors, Failure
from kconnect.jvm import classes
from kconnect.jvm.chain import Chain
from kconnect.plugins.registry import PluginDesc
from tests.integration.units import Plugins

Part = tuple[str, Mapping[str, str]]

CLASSES = {"Numbers": "rig.NumbersSource", "Recording": "rig.RecordingSink"}

JSON: Part = ("org.apache.kafka.connect.json.JsonConverter", {"schemas.enable": "false"})
STRING: Part = ("org.apache.kafka.connect.storage.StringConverter", {})
LONG: Part = ("org.apache.kafka.connect.converters.LongConverter", {})
SIMPLE: Part = ("org.apache.kafka.connect.storage.SimpleHeaderConverter", {})


def part(kind: str, named: Part, *more: bool) -> Any:
    made = classes.load(kind, named[0], "")()
    made.configure(dict(named[1]), *more)
    return made


def chain(key: Part, value: Part, *transforms: tuple[str, Part, Part | None, bool]) -> Chain:
    """Each transform with its alias, its predicate if it has one, and whether that is negated."""
    header = part("header_converter", SIMPLE)
    made = Chain(part("converter", key, True), part("converter", value, False), header)
    for alias, named, predicate, negate in transforms:
        test = None if predicate is None else part("predicate", predicate)
        made.add(alias, part("transformation", named), test, negate)
    return made


class Judged:
    """`errors`, which may tolerate all, and what was reported to them."""

    def __init__(self, tolerant: bool = False, retries: bool = False) -> None:
        self.failures: list[Failure] = []
        settings = ErrorSettings(retry_timeout_s=None if retries else 0, retry_delay_max_s=0.001, tolerant=tolerant)
        self.errors = Errors(settings, self.failures.append, lambda seconds: True, lambda: 0.0, lambda longest: longest)

    def told(self) -> Sequence[tuple[str, str, str]]:
        """Stage, class and text of each."""
        return [(each.stage.value, each.component.class_name, str(each.error)) for each in self.failures]


class JavaPlugins(Plugins):
    """The rig's connectors, with which chains are Java's as a whole."""

    def __init__(self, place: Path) -> None:
        super().__init__(**{name: classes.load("connector", java, str(place)) for name, java in CLASSES.items()})
        self._place = str(place)

    def find(self, name: str, kind: str, version: str | None = None, beside: str | None = None) -> PluginDesc:
        if name in CLASSES:
            return PluginDesc(CLASSES[name], f"java:{CLASSES[name]}", name, kind, "1.2.3", self._place)
        return super().find(name, kind, version, beside)
