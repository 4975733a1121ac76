"""A source whose one task sends to many topics in turn: the same as `RoundRobinSource.java`, for `../topics.py`."""

from __future__ import annotations

import time

from kconnect.api.config import ConfigDef, ConfigKey, Type
from kconnect.api.connector import SourceConnector
from kconnect.api.record import SourceRecord
from kconnect.api.task import SourceTask
from kconnect.data.schema import STRING_SCHEMA

SETTINGS = ConfigDef(
    ConfigKey("prefix", Type.STRING, doc="Of the topics' names; a number follows."),
    ConfigKey("topics", Type.INT, doc="How many there are."),
    ConfigKey("rounds", Type.INT, doc="How many records each gets."),
)


class RoundRobinSource(SourceConnector):
    def version(self) -> str:
        return "1.0"

    def config(self) -> ConfigDef:
        return SETTINGS

    def start(self, props: dict[str, str]) -> None:
        self._props = props

    def task_class(self) -> type[SourceTask]:
        return RoundRobinTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._props]

    def stop(self) -> None: ...


class RoundRobinTask(SourceTask):
    """A round a call."""

    def version(self) -> str:
        return "1.0"

    def start(self, props: dict[str, str]) -> None:
        self._settings = SETTINGS.parse(props)
        self._done = 0

    def poll(self) -> list[SourceRecord] | None:
        settings = self._settings
        if self._done == settings["rounds"]:
            time.sleep(0.1)
            return None
        self._done += 1
        return [
            SourceRecord({}, {"done": self._done}, f"{settings['prefix']}-{number}", None, None, None, STRING_SCHEMA, "x")
            for number in range(settings["topics"])
        ]

    def stop(self) -> None: ...
