"""
IcebergSinkTask: the task of a lake whose catalog is one of Iceberg's.

Started by `connector.py`. Read next: `connectors/lake/task.py`, which does the work, and `lake.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.connectors import interrupts
from kconnect.connectors.iceberg import ends, settings
from kconnect.connectors.iceberg.lake import IcebergLake
from kconnect.connectors.lake.settings import Names
from kconnect.connectors.lake.task import LakeSinkTask


class IcebergSinkTask(LakeSinkTask):
    shares = True

    def __init__(self) -> None:
        super().__init__()
        self._owner: object = None
        """The thread of its calls, as `ends` knows it; None before `start`."""

    def parsed(self, props: dict[str, str]) -> tuple[Names, Mapping[str, Any]]:
        self._owner = ends.here()
        self._props, self._config = props, settings.CONFIG.parse(props)
        return settings.NAMES, self._config

    def made_lake(self) -> IcebergLake:
        return IcebergLake.made(self._config, self._props, self.worker)

    def interrupt(self) -> None:
        # What can be committed soon need not be read again.
        interrupts.after_grace(lambda: ends.end(self._owner))
