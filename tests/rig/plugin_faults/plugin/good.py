"""
The neighbours: a source that writes numbered records all the time, and a sink that writes down what it reads.

They share directory, environment and host with whatever misbehaves in `bad.py`; `tests/rig/plugin_faults/watch.py` reads what
they deliver.
"""

from __future__ import annotations

import os
import threading
from typing import Any

from kconnect.api.config import ConfigDef, ConfigKey, Type
from kconnect.api.connector import SinkConnector, SourceConnector
from kconnect.api.record import SinkRecord, SourceRecord
from kconnect.api.task import SinkTask, SourceTask
from kconnect.data.schema import STRING_SCHEMA

from . import faults

_PERIOD_S = 0.1


class GoodSource(SourceConnector):
    def version(self) -> str:
        return "1.0"

    def start(self, props: dict[str, str]) -> None:
        self._props = dict(props)

    def stop(self) -> None:
        """Nothing was taken."""

    def task_class(self) -> type[SourceTask]:
        return GoodSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._props]

    def config(self) -> ConfigDef:
        return ConfigDef(ConfigKey("topic", Type.STRING, doc="Where the numbers go."))


class GoodSourceTask(SourceTask):
    def version(self) -> str:
        return "1.0"

    def start(self, props: dict[str, str]) -> None:
        self._topic = props["topic"]
        stored = self.context.offsets.offset({"good": self._topic})
        self._last: int = stored["number"] if stored else 0
        self._stopped = threading.Event()

    def poll(self) -> list[SourceRecord] | None:
        self._stopped.wait(_PERIOD_S)
        self._last += 1
        value = f"{self._last} {'patched' if faults.is_patched() else 'clean'} {os.getpid()}"
        return [SourceRecord({"good": self._topic}, {"number": self._last}, self._topic, 0, None, None, STRING_SCHEMA, value)]

    def stop(self) -> None:
        self._stopped.set()


class GoodSink(SinkConnector):
    def version(self) -> str:
        return "1.0"

    def start(self, props: dict[str, str]) -> None:
        self._props = dict(props)

    def stop(self) -> None:
        """Nothing was taken."""

    def task_class(self) -> type[SinkTask]:
        return GoodSinkTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._props]

    def config(self) -> ConfigDef:
        return ConfigDef(ConfigKey("file", Type.STRING, doc="Where what was read is written down."))


class GoodSinkTask(SinkTask):
    def version(self) -> str:
        return "1.0"

    def start(self, props: dict[str, str]) -> None:
        self._file: Any = faults.true_open(props["file"], "a", encoding="utf-8")

    def put(self, records: list[SinkRecord]) -> None:
        for record in records:
            self._file.write(f"{record.value} {os.getpid()}\n")
        self._file.flush()

    def stop(self) -> None:
        self._file.close()
