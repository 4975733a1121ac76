"""
Connectors whose answers and failures their settings choose, for tests on a real worker.

Loaded by the shared worker as a plugin that `write_plugin` makes, and so by its sandbox and hosts, which know nothing of the
tests: this module's text goes with it, and it imports the public API only.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kconnect.api.config import ConfigDef, ConfigKey, Type
from kconnect.api.connector import Connector, SinkConnector, SourceConnector
from kconnect.api.record import SinkRecord, SourceRecord, TopicPartition
from kconnect.api.task import SinkTask, SourceTask
from kconnect.data.schema import STRING_SCHEMA
from kconnect.errors import ConnectError

CLASSES = ("ScriptedSourceConnector", "ScriptedSinkConnector")

SETTINGS = ConfigDef(
    ConfigKey("topic", Type.STRING, None, doc="Where the source's numbers go; each task sends to it."),
    ConfigKey("count", Type.INT, 3, doc="The last number that a source's task sends; its offset is {n: number}."),
    ConfigKey("alter", Type.STRING, "agree", doc="agree, unaware, unsupported, refuse, stumble or crash"),
    ConfigKey("start", Type.STRING, "", doc="fail: start() raises. later: the instance fails on a thread of its own"),
    ConfigKey("stop", Type.STRING, "", doc="fail: stop() raises. Or a path: stop() returns once that file exists"),
    ConfigKey("task.stop", Type.STRING, "", doc="The same for a task's stop()."),
)


def write_plugin(directory: Path) -> Path:
    """Make a directory for `plugin.path` that holds nothing but these connectors; gives it back."""
    info = directory / "scripted" / "scripted-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: scripted\nVersion: 1.0\n")
    entries = "".join(f"{name} = scripted_connectors:{name}\n" for name in CLASSES)
    (info / "entry_points.txt").write_text(f"[kconnect.connectors]\n{entries}")
    (info.parent / "scripted_connectors.py").write_text(Path(__file__).read_text("utf-8"), "utf-8")
    return directory


def source(name: str, **settings: str) -> dict[str, str]:
    """The config of a source whose topic is named after it; a sink's of the same name reads that."""
    return {"connector.class": "ScriptedSource", "topic": f"{name}-topic", **settings}


def sink(name: str, **settings: str) -> dict[str, str]:
    return {"connector.class": "ScriptedSink", "topics": f"{name}-topic", **settings}


class _Scripted(Connector):
    context: Any

    def version(self) -> str:
        return "1.0"

    def config(self) -> ConfigDef:
        return SETTINGS

    def start(self, props: dict[str, str]) -> None:
        self._props = dict(props)
        script = props.get("start")
        if script == "fail":
            raise ConnectError("start() fails, as its config says")
        if script == "later":
            self.context.raise_error(ConnectError("it fails later, as its config says"))

    def stop(self) -> None:
        _end(self._props.get("stop", ""))

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{**self._props, "number": str(number)} for number in range(max_tasks)]


class ScriptedSourceConnector(_Scripted, SourceConnector):
    def task_class(self) -> type[SourceTask]:
        return ScriptedSourceTask

    def alter_offsets(
        self,
        connector_config: dict[str, str],
        offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]],
    ) -> bool:
        return _answer(connector_config, lambda: super(ScriptedSourceConnector, self).alter_offsets(connector_config, offsets))


class ScriptedSinkConnector(_Scripted, SinkConnector):
    def task_class(self) -> type[SinkTask]:
        return ScriptedSinkTask

    def alter_offsets(self, connector_config: dict[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        return _answer(connector_config, lambda: super(ScriptedSinkConnector, self).alter_offsets(connector_config, offsets))


class ScriptedSourceTask(SourceTask):
    """Sends the numbers up to `count`, one a call, from the one after its offset on."""

    def version(self) -> str:
        return "1.0"

    def start(self, props: dict[str, str]) -> None:
        self._props = props
        self._partition = {"task": int(props["number"])}
        stored = self.context.offsets.offset(self._partition)
        self._sent = stored["n"] if stored else 0

    def poll(self) -> list[SourceRecord] | None:
        settings = SETTINGS.parse(self._props)
        if self._sent >= settings["count"]:
            return None
        self._sent += 1
        place, offset = self._partition, {"n": self._sent}
        return [SourceRecord(place, offset, settings["topic"], None, None, None, STRING_SCHEMA, str(self._sent))]

    def stop(self) -> None:
        _end(self._props.get("task.stop", ""))


class ScriptedSinkTask(SinkTask):
    """Takes whatever comes."""

    def version(self) -> str:
        return "1.0"

    def start(self, props: dict[str, str]) -> None:
        self._props = props

    def put(self, records: list[SinkRecord]) -> None:
        """Nothing is to be seen of them but their offsets."""

    def stop(self) -> None:
        _end(self._props.get("task.stop", ""))


def _answer(config: Mapping[str, str], unaware: Callable[[], bool]) -> bool:
    script = config.get("alter", "agree")
    if script == "unsupported":
        raise NotImplementedError
    if script == "refuse":
        raise ConnectError("no offsets are changed on Sundays")
    if script == "stumble":
        raise KeyError("shard")
    if script == "crash":
        os.abort()
    return unaware() if script == "unaware" else True


def _end(script: str) -> None:
    if script == "fail":
        raise ConnectError("stop() fails, as its config says")
    while script and not os.path.exists(script):
        time.sleep(0.05)
