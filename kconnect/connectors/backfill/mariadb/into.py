"""
The task that reads MariaDB straight into tables of a lake: what identifies its copy.

Started by `source.py`. Read next: `../range_into.py`, which does the work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.connectors.backfill.mariadb.task import MariaDbBackfillTask
from kconnect.connectors.backfill.range_into import RangeIntoTask


class MariaDbIntoTask(RangeIntoTask, MariaDbBackfillTask):
    def copy_of(self, told: Mapping[str, Any]) -> int:
        """
        Return the moment at which the copy was begun. A place in the log is none: on an idle server the next copy has the same,
        and on the server that takes over from this one it may be less.
        """
        return int(told["taken_us"])

    @property
    def order(self) -> int:
        # By keys no row comes twice. Of rows with another id the change stream says which came last: it begins before them all.
        return 0
