"""
DeltaSinkTask: the task of a lake whose tables are Delta's.

Started by `connector.py`. Read next: `connectors/lake/task.py`, which does the work, and `lake.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.connectors import interrupts
from kconnect.connectors.delta import settings
from kconnect.connectors.delta.asking import Asker
from kconnect.connectors.delta.lake import DeltaLake
from kconnect.connectors.lake.settings import Names
from kconnect.connectors.lake.task import LakeSinkTask


class DeltaSinkTask(LakeSinkTask):
    shares = False

    def __init__(self) -> None:
        super().__init__()
        self._asker = Asker()

    def parsed(self, props: dict[str, str]) -> tuple[Names, Mapping[str, Any]]:
        self._props, self._config = props, settings.CONFIG.parse(props)
        return settings.NAMES, self._config

    def made_lake(self) -> DeltaLake:
        return DeltaLake(self._config, self._props, self.worker, self._asker)

    def interrupt(self) -> None:
        # What can be committed soon need not be read again.
        interrupts.after_grace(self._asker.end)
