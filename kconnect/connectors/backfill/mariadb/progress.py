"""
How far a backfill of MariaDB is, as its offsets say it: where the change stream begins, and each range.

The names are those of PostgreSQL's offsets, by which `kconnect backfill status` counts: `lsn` is a place in the binary log, and
`pages` is the number of a range. Used by `source.py` and `task.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.connectors.backfill.mariadb.sessions import Place
from kconnect.connectors.backfill.mariadb.tables import Plan, Range


@dataclass(frozen=True)
class Beginning:
    """
    The place where the change stream begins, when that was noted, and how the tables are divided. No two copies have the same
    `taken_us`, by the server's clock.
    """

    place: Place
    taken_us: int
    plans: Sequence[Plan]

    def as_offset(self) -> dict[str, Any]:
        """Return it as an offset, which is flat."""
        return {
            "file": self.place.file,
            "pos": self.place.position,
            "gtids": self.place.gtids,
            "taken_us": self.taken_us,
            "tables": json.dumps([plan.as_json() for plan in self.plans]),
        }

    @classmethod
    def of_offset(cls, offset: Mapping[str, Any]) -> Beginning:
        place = Place(offset["file"], offset["pos"], offset["gtids"])
        return cls(place, offset["taken_us"], [Plan.of_json(parts) for parts in json.loads(offset["tables"])])

    def same_as(self, other: Beginning) -> bool:
        return (self.place, self.taken_us) == (other.place, other.taken_us)


def beginning_partition() -> dict[str, Any]:
    """Return the source partition that has the beginning, once a task is to read."""
    return {"backfill": "begun"}


def partition_of(beginning: Beginning, part: Range) -> dict[str, Any]:
    """Return the source partition of a range."""
    name = part.name
    return {
        "lsn": str(beginning.place),
        "schema": name.database,
        "table": name.table,
        "file": 0,
        # On an idle server two beginnings have one place, and divide otherwise.
        "taken_us": beginning.taken_us,
        "pages": f"{part.number}-{part.number + 1}",
    }


def is_done(offset: Mapping[str, Any] | None) -> bool:
    """Whether a range was read to its end."""
    return offset is not None and bool(offset.get("done"))
