"""
The trials of a source: rows, files or documents are added to the system that it reads, and arrive in its topic.

Run by the connectors' tests in `tests/integration`. Read next: `trials.py`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import orjson

from kconnect.testing.processes import WorkerProcess
from tests.rig.connectors import trials
from tests.rig.connectors.trials import System
from tests.rig.systems import recorder


class Origin(System):
    @abstractmethod
    def prepare(self, topic: str) -> None:
        """What the connector looks for when it is made."""

    @abstractmethod
    def add(self, topic: str, numbers: range, more: str | None) -> None:
        """Rows with these ids, and with `more` in a field of that name."""


class Trial(trials.Trial):
    def __init__(self, worker: WorkerProcess, bootstrap: str, name: str, origin: Origin) -> None:
        super().__init__(worker, bootstrap, name, origin)
        self.origin = origin

    def prepare(self) -> None:
        self.origin.prepare(self.name)

    def common(self) -> Mapping[str, str]:
        return {
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
        }

    def write(self, count: int, more: str | None = None) -> None:
        if count:
            self.origin.add(self.name, range(self.made, self.made + count), more)
            self.made += count

    def write_on(self, count: int) -> None:
        """Nobody can."""

    def _values(self) -> list[dict[str, Any]]:
        try:
            return [orjson.loads(message.value() or b"") for message in recorder.read(self.bootstrap, self.name)]
        except KeyError:
            return []  # The topic is not there yet.

    def numbers(self) -> list[int]:
        return [value["id"] for value in self._values()]

    def more(self) -> int:
        return sum(value.get("more") is not None for value in self._values())


TRIALS = trials.TRIALS
