"""
Copies: staged files of many tasks, which become one commit of each table, once.

Each table's commit says which copy it is of, by a number that rises with each copy that is begun anew, its place. So one that
is made twice adds nothing, and one of a copy that was given up comes too late. Called by `backfill/range_into.py`, with the
files that it knows to be whole. Read next: `session/copies.py`, which is the other side.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from kconnect.api import ConnectError, DataError
from kconnect.connectors.lake.columns import are_alike, union
from kconnect.connectors.names import printable, shown
from kconnect.connectors.spark.application import Answer, Application
from kconnect.connectors.spark.session.copies import TOPIC
from kconnect.connectors.spark.staging import HEAD, KEPT, MARK, digest

Where = Callable[[str], Mapping[str, Any]]
"""Says where a table of the sink is."""
_WHERE = ("format", "where")
_NAME = re.compile("[0-9a-f]{40}[.]parquet")


class Entry(NamedTuple):
    """
    A staged file. Of rows with the same id, those with the greatest `order` count. `digest` is what `staging.digest` made of
    it; files of earlier versions have none.
    """

    order: int
    name: str
    rows: int
    digest: str = ""


@dataclass
class Copy:
    """All that is staged for a table: the head of its commit, the columns, and the files by their order."""

    head: dict[str, Any]
    schema: pa.Schema
    files: dict[int, list[str]] = field(default_factory=dict)
    rows: int = 0

    @property
    def table(self) -> str:
        return str(self.head["table"])


def read(folder: Path, entries: Iterable[Entry], where: Where) -> list[Copy]:
    """Return what is staged, by table. ConnectError for a file that is not there, or not what it was."""
    copies: dict[str, Copy] = {}
    for entry in entries:
        head, schema, rows = _look(folder / entry.name, where, entry.digest)
        if rows != entry.rows:
            raise ConnectError(f"The staged file {entry.name} has {rows} rows, and should have {entry.rows}: begin anew")
        copy = copies.setdefault(head["table"], Copy(head, schema))
        _add(copy, head, schema)
        copy.files.setdefault(entry.order, []).append(f"file://{folder / entry.name}")
        copy.rows += rows
    return list(copies.values())


def found(folder: Path, where: Where) -> list[Copy]:
    """Return the tables of which something is staged, whatever it is."""
    copies: dict[str, Copy] = {}
    for path in sorted(folder.glob("*.parquet")):
        head, schema, _ = _look(path, where)
        copies.setdefault(head["table"], Copy(head, schema))
    return list(copies.values())


def _look(path: Path, where: Where, known: str = "") -> tuple[dict[str, Any], pa.Schema, int]:
    """
    Return a file's head, columns and number of rows. Whoever may write into the folder may have written any head: of it counts
    what a task writes, and if its digest is `known`, it has to be the very one.
    """
    try:
        if not _NAME.fullmatch(path.name) or path.is_symlink():
            raise ValueError("it is none that a backfill has written")
        if not path.is_file():
            # A pipe, for one, would keep whoever reads it waiting.
            raise ValueError("it is no file")
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as content:
            if known and digest(content) != known:
                raise ValueError("it is not what was written")
            with pq.ParquetFile(content) as file:
                schema, rows = file.schema_arrow, file.metadata.num_rows
        written = json.loads((schema.metadata or {})[HEAD])
        head = {name: written[name] for name in KEPT if name in written}
        if head["where"] != where(head["table"]):
            raise ValueError("its table is not the sink's")
        return head, schema.remove_metadata(), rows
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError, DataError) as error:
        text = printable(str(error))
        raise ConnectError(f"The staged file {path.name} in {path.parent} can't be read: {text}. Begin anew") from None


def _add(copy: Copy, head: Mapping[str, Any], schema: pa.Schema) -> None:
    if any(head[name] != copy.head[name] for name in _WHERE):
        raise ConnectError(f"What is staged of the table {shown(copy.table)} is of several tables: begin anew")
    both, turned = union(copy.schema, schema), union(schema, copy.schema)
    # Whoever saw the table after others, and after it was altered, has other fields, and those of both in another order.
    if not all(are_alike(both.field(column.name).type, column.type) for column in turned):
        raise ConnectError(
            f"The table {shown(copy.table)} would have a column with several types, by records that differ or by a change of "
            "the database's table: use converters with schemas, begin anew, or let the copy go through topics"
        )
    copy.schema = both
    copy.head["order"] = copy.head["order"] or head["order"]


def begin(spark: Application, copy: Copy, connector: str, place: int, tries: bool = False) -> Future[Answer]:
    """
    Have a copy committed, as that of `place`, by whoever this connector is. With `tries`, only see whether that could be.
    SparkFault if Spark can't be started.
    """
    schema, mark = copy.schema, MARK if MARK in copy.schema.names else None
    if mark is not None:
        schema = pa.schema([*(column for column in schema if column.name != mark), schema.field(mark)])
    head = {
        **copy.head,
        "do": "copy",
        "connector": connector,
        "identity": None,
        "mark": mark,
        "empties": False,
        "place": place,
        "tries": tries,
        "files": sorted(copy.files.items()),
    }
    return spark.ask(head, pa.py_buffer(schema.serialize()))


def check(copy: Copy, answer: Answer) -> None:
    """Raise ConnectError, with the remedy, unless a copy is committed, or could be."""
    name = shown(copy.table)
    if answer.outcome in ("committed", "fits"):
        return
    if answer.outcome == "later":
        raise ConnectError(
            f"The table {name} has a copy that was begun later than this one: cancel this one. If the database is another one "
            "by now, whose log or clock is behind, drop the table, or give Debezium's connector another name"
        )
    if answer.outcome == "occupied":
        raise ConnectError(
            f"The table {name} has rows already, which a copy would double: empty or drop it, or have the sink replace rows by "
            "their id (lake.tables.upsert-mode-enabled=true)"
        )
    if answer.schema is None:
        raise ConnectError(f"There is no table {name}: create it, or set lake.tables.auto-create-enabled=true")
    there = {column.name: column.type for column in answer.schema}
    odd = [column for column in copy.schema if column.name != MARK and there.get(column.name, column.type) != column.type]
    missing = [column.name for column in copy.schema if column.name != MARK and column.name not in there]
    if odd:
        what = (
            f"the column {shown(odd[0].name)} is {there[odd[0].name]} there, and {odd[0].type} here: change or drop the table"
        )
    else:
        what = f"it has no column {shown(', '.join(missing))}: add it, or set lake.tables.evolve-schema-enabled=true"
    raise ConnectError(f"The copy does not fit the table {name}: {what}")


def fence(spark: Application, copies: Sequence[Copy], connector: str, place: int) -> list[Future[Answer]]:
    """Have tables that are there refuse the commit of a copy, which may be under way somewhere."""
    heads = [{name: copy.head[name] for name in _WHERE} for copy in copies]
    return [spark.ask({"do": "set", **head, "connector": connector, "ends": [[TOPIC, 0, place]]}, None) for head in heads]
