"""
IcebergSinkTask: keeps rows in memory, and commits those of each table together with their offsets.

Started by `connector.py`. Read next: `commits.py`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import pyarrow as pa
from pyiceberg.catalog import Catalog

import kconnect
from kconnect.api import (
    ConnectError,
    DataError,
    OffsetAndMetadata,
    SinkBatch,
    SinkRecord,
    SinkTask,
    Struct,
    TopicPartition,
)
from kconnect.connectors.common import MISFITS, Patience, bad_record
from kconnect.connectors.groups import Group, Origins, groups_of
from kconnect.connectors.iceberg import catalogs, commits, rows, settings
from kconnect.connectors.iceberg.tables import Tables, arrow_of
from kconnect.connectors.slices import Slice, record_at, slices_of


@dataclass
class Part:
    """Rows of one partition of Kafka that a table has not yet: those from `begin`, what the table has, up to `next`."""

    begin: int | None
    next: int
    rows: list[pa.Table] = field(default_factory=list)


class IcebergSinkTask(SinkTask):
    def __init__(self) -> None:
        self._parts: dict[str, dict[TopicPartition, Part]] = {}
        """By table."""
        self._next: dict[TopicPartition, int] = {}
        """Behind the last record that was taken."""
        self._safe: dict[TopicPartition, int] = {}
        """Behind what is in tables."""
        self._first: dict[TopicPartition, int] = {}
        self._count = 0
        self._due_at = 0.0

    def version(self) -> str:
        return kconnect.__version__

    def start(self, props: dict[str, str]) -> None:
        config = settings.CONFIG.parse(props)
        self._errors = catalogs.errors()
        self._connector = props["name"]
        self._catalog: Catalog = catalogs.made_catalog(config, props)
        self._tables = Tables(self._catalog, config, props)
        self._names: Sequence[str] = config[settings.TABLES]
        self._route: str = config[settings.ROUTE_FIELD]
        self._dynamic: bool = config[settings.DYNAMIC]
        own = settings.of_tables(props)
        self._routes = {name: re.compile(each["route-regex"]) for name, each in own.items() if "route-regex" in each}
        self._upserts: bool = config[settings.UPSERT]
        self._interval_s: float = config[settings.INTERVAL] / 1000
        self._most: int = config[settings.ROWS]
        self._patience = Patience(settings.RETRIES, config[settings.RETRIES], config[settings.BACKOFF])
        self._due_at = time.monotonic() + self._interval_s

    def stop(self) -> None:
        self._parts.clear()

    def open(self, partitions: Collection[TopicPartition]) -> None:
        """The table goes before the offsets of the group, if there is one table that all records of a topic go to."""
        for place in partitions:
            names = [self._named(name, place.topic) for name in self._names]
            if len(names) == 1 and not self._route:
                offset = self._begin(names[0], place)
                if offset is not None:
                    self.context.offset(place, offset)

    def close(self, partitions: Collection[TopicPartition]) -> None:
        for place in partitions:
            self._drop(place)

    def _drop(self, place: TopicPartition) -> None:
        for offsets in (self._next, self._safe, self._first):
            offsets.pop(place, None)
        for parts in self._parts.values():
            part = parts.pop(place, None)
            self._count -= 0 if part is None else sum(map(len, part.rows))

    def put(self, records: list[SinkRecord]) -> None:
        self._put(groups_of(records))

    def put_batch(self, batch: SinkBatch) -> None:
        self._put([Group(batch.topic, batch.key, batch.value, Origins(batch))])

    def _put(self, groups: Sequence[Group]) -> None:
        if self._parts and (self._count >= self._most or time.monotonic() >= self._due_at):
            self._commit()
        for group in groups:
            for place, some in slices_of(group):
                self._first.setdefault(place, some.offsets[0])
                # A null makes no row. All values of a group are null, or none is.
                for name, chosen in () if group.value.has_nulls else self._routed(some):
                    self._keep(name, place, chosen, group)
                self._next[place] = some.offsets[-1] + 1

    # Rows.

    def _named(self, name: str, topic: str) -> str:
        return name.replace("${topic}", topic)

    def _routed(self, some: Slice) -> Iterable[tuple[str, Slice]]:
        """The tables, each with its records."""
        if not self._route:
            return [(self._named(name, some.topic), some) for name in self._names]
        found: dict[str, list[int]] = {}
        for at, each in enumerate(some.value.values):
            value = _field(each, self._route)
            names = [] if value is None else [str(value).lower()] if self._dynamic else self._matching(str(value))
            for name in names:
                found.setdefault(name, []).append(at)
        return [(name, some.only(places)) for name, places in found.items()]

    def _matching(self, value: str) -> list[str]:
        return [name for name in self._names if name in self._routes and self._routes[name].fullmatch(value)]

    def _keep(self, name: str, place: TopicPartition, some: Slice, group: Group) -> None:
        part = self._parts.get(name, {}).get(place)
        if part is None:
            begin = self._begin(name, place)
            part = Part(begin, begin or 0)
        # A put that is made again, or a group whose offsets are behind the table's, has some that are there.
        first = next((at for at, offset in enumerate(some.offsets) if offset >= part.next), len(some))
        fresh = some.cut(first, len(some))
        if not len(fresh):
            return
        kept = self._made(name, place, fresh, group)
        self._parts.setdefault(name, {})[place] = part
        part.next = fresh.offsets[-1] + 1
        if kept is not None and len(kept):
            part.rows.append(kept)
            self._count += len(kept)

    def _begin(self, name: str, place: TopicPartition) -> int | None:
        """What the table has."""
        try:
            table = self._tables.existing(name)
            if table is None:
                return None
            table.refresh()
        except self._errors as error:
            self._failed(name, error)
        return commits.stored(table, self._connector, [place]).get(place)

    def _made(self, name: str, place: TopicPartition, some: Slice, group: Group) -> pa.Table | None:
        """Their rows, without those of bad records."""
        try:
            return self._rows(name, some)
        except (*MISFITS, pa.ArrowException) as error:
            if len(some) == 1:
                problem = DataError(f"the table {name} can't have it: {' '.join(str(error).split())}")
                self._bad(record_at(group, place, some.offsets[0]), problem)
                return None
        half = len(some) // 2
        both = [self._made(name, place, each, group) for each in (some.cut(0, half), some.cut(half, len(some)))]
        found = [each for each in both if each is not None]
        # The table may have got a column between them.
        return pa.concat_tables([rows.fitted(each, found[-1].schema) for each in found]) if found else None

    def _rows(self, name: str, some: Slice) -> pa.Table:
        found = rows.made(some.value)
        try:
            table = self._tables.ensure(name, found.schema, some.value.schema is None)
        except self._errors as error:
            self._failed(name, error)
        return rows.fitted(found, arrow_of(table))

    def _bad(self, record: SinkRecord, error: DataError) -> None:
        reporter = self.context.errant_record_reporter()
        if reporter is None:
            raise bad_record(record, error) from error
        reporter.report(record, error)

    # Commits.

    def _commit(self) -> None:
        for name in list(self._parts):
            self._commit_table(name, self._parts[name])
            self._parts.pop(name)
            self._count = sum(len(each) for parts in self._parts.values() for part in parts.values() for each in part.rows)
        self._safe |= self._next
        self._due_at = time.monotonic() + self._interval_s
        self.context.request_commit()

    def _commit_table(self, name: str, parts: Mapping[TopicPartition, Part]) -> None:
        table = self._tables.existing(name)
        if table is None:
            raise ConnectError(f"The table {name} is not there any more")
        begins = {place: part.begin for place, part in parts.items()}
        ends = {place: part.next for place, part in parts.items()}
        wanted = arrow_of(table)
        kept = [rows.fitted(each, wanted) for part in parts.values() for each in part.rows]
        together = pa.concat_tables([wanted.empty_table(), *kept])
        try:
            table.refresh()
            if commits.stored(table, self._connector, ends) == ends:
                return  # It has succeeded before, though nobody said so.
            ids = self._tables.ids(name, table) if self._upserts else None
            last = together if ids is None else _last_of_each(together, ids)
            commits.commit(table, last, self._connector, begins, ends, ids)
        except commits.StaleError:
            self._begin_again(list(parts))
        except self._errors as error:
            self._tables.forget(name)
            self._failed(name, error)
        self._patience.succeeded()

    def _begin_again(self, places: Sequence[TopicPartition]) -> None:
        """Behind what is safe everywhere: each table passes over what it has."""
        for place in places:
            offset = self._safe.get(place, self._first[place])
            self._drop(place)
            self.context.offset(place, offset)

    def _failed(self, name: str, error: Exception) -> NoReturn:
        text = f"The table {name} can't be used: {catalogs.reason(error)}"
        if not catalogs.passes(error):
            raise ConnectError(text) from None
        again, pause_ms = self._patience.failed(text)
        self.context.timeout(pause_ms)
        raise again from None

    def pre_commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> dict[TopicPartition, OffsetAndMetadata]:
        """Only what is in tables."""
        waiting = {place for parts in self._parts.values() for place in parts}
        behind = {**self._next, **{place: self._safe.get(place, -1) for place in waiting}}
        return {place: OffsetAndMetadata(behind[place]) for place in offsets if behind.get(place, -1) >= 0}


def _field(value: Any, path: str) -> Any:
    for name in path.split("."):
        if isinstance(value, Struct):
            value = value[name] if value.schema.field(name) else None
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value


def _last_of_each(table: pa.Table, ids: Sequence[str]) -> pa.Table:
    """The last row of each id."""
    places = table.select(ids).append_column("_place", pa.array(range(len(table)), pa.int64()))
    return table.take(places.group_by(list(ids)).aggregate([("_place", "max")]).column("_place_max"))
