"""
The Delta sink in random histories, on tables in a folder: those of the Iceberg sink, appended and merged. Each record is there
once, or reported.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, example, given, note
from hypothesis import strategies as st

from kconnect.api import Struct
from kconnect.connectors.delta import commits
from kconnect.connectors.delta.asking import ConflictError
from tests.connectors.delta.test_delta_sink import Lake
from tests.connectors.truth.budget import histories
from tests.connectors.truth.engine import Step
from tests.connectors.truth.test_iceberg import NESTED, WIDE, Play, Upserts, steps


class DeltaPlay(Play):
    """`ids` are the columns by which rows are replaced; each record has a name of its own."""

    def __init__(self, folder: Path, tasks: int, ids: str = "") -> None:
        self._ids = ids
        super().__init__(Lake(folder), tasks)

    def settings(self) -> dict[str, str]:
        more = {"delta.tables.upsert-mode-enabled": "true", "delta.tables.default-id-columns": self._ids} if self._ids else {}
        return {
            "delta.tables": self.table,
            "delta.tables.evolve-schema-enabled": "true",
            "errors.tolerance": "all",
            "max.retries": "25",
            "tasks.max": str(self._tasks),
            **more,
        }

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.lake.table(self.table).to_pyarrow_table().to_pylist()
        return found

    def commit(self) -> tuple[Any, str, Exception]:
        return commits.DeltaTarget, "append", ConflictError("others commit all the time", passes=True)

    def is_bad(self, value: Any) -> bool:
        # Columns are not made wider.
        return super().is_bad(value) or (isinstance(value, Struct) and value.schema in (WIDE, NESTED))


class DeltaUpserts(Upserts, DeltaPlay):
    """Of each key the last record is there, unless that has deleted it."""

    def settings(self) -> dict[str, str]:
        more = {"delta.tables.evolve-schema-enabled": "false", "delta.tables.delete-enabled": "true"}
        return {**DeltaPlay.settings(self), **more}


def play(history: list[Step], make: Any, *arguments: Any) -> None:
    note(f"{arguments!r}, history={history!r}")
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="kconnect-truth-") as folder:
        played = make(Path(folder), *arguments)
        try:
            for step in history:
                event(str(step[0]))
                played.play(step, patch)
            played.check()
        finally:
            played.engine.close()


LATE: list[Step] = [
    ("produce", 0, ["row"] * 3),
    ("abandon", 0),
    ("stir",),
    ("produce", 0, ["row"] * 3),
    ("put", 0, 500),
    ("stir",),
    ("put", 0, 500),
    ("stir",),
]
"""Who was given up for dead commits between a task's read and its commit, and then is late itself."""


@histories(6)
@example(tasks=1, ids="", history=LATE)
@given(tasks=st.sampled_from((1, 2)), ids=st.sampled_from(("", "n")), history=steps)
def test_each_record_is_in_the_table_once(tasks: int, ids: str, history: list[Step]) -> None:
    play(history, DeltaPlay, tasks, ids)


@histories(4)
@given(tasks=st.sampled_from((1, 2)), history=steps)
def test_the_last_record_of_a_key_is_in_the_table(tasks: int, history: list[Step]) -> None:
    play(history, DeltaUpserts, tasks, "k")
