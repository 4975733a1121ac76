"""
The task that reads PostgreSQL straight into tables of a lake: what identifies its copy, and which of two snapshots is later.

Started by `source.py`. Read next: `range_into.py`, which does the work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.connectors.backfill.range_into import RangeIntoTask
from kconnect.connectors.backfill.snapshot import Snapshot
from kconnect.connectors.backfill.task import BackfillTask

_BITS = 20
"""So many bits the number of open transactions has at most."""


def order_of(snapshot: Snapshot) -> int:
    """Return a number that is greater for a later snapshot: that of its next transaction, and then fewer that are open."""
    *_, still_open = snapshot.sees.split(":")
    return (snapshot.transaction << _BITS) - (still_open.count(",") + 1 if still_open else 0)


class IntoTask(RangeIntoTask, BackfillTask):
    def copy_of(self, told: Mapping[str, Any]) -> int:
        """Return the place in the log at which the slot begins, which is made anew for each copy."""
        return int(told["lsn"])

    @property
    def order(self) -> int:
        return order_of(self._snapshot)
