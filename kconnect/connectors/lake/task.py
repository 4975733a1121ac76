"""
LakeSinkTask: makes rows of records, and has those of each table committed together with their offsets.

If tasks share commits, that with the first partition commits for all of them, once an interval: the others write their rows
into files of the table, and tell it. A task whose rows nobody commits does it itself, so nothing depends on one. `IcebergSink`
and `DeltaSink` have such a task. Read next: `pending.py`, which has what is in no table yet, and `lakes.py`.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import time
from abc import abstractmethod
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import pyarrow as pa

import kconnect
from kconnect.api import (
    Column,
    ConfigError,
    ConnectError,
    DataError,
    OffsetAndMetadata,
    RetriableError,
    SinkBatch,
    SinkRecord,
    SinkTask,
    Struct,
    TopicPartition,
)
from kconnect.connectors import names
from kconnect.connectors.common import MISFITS, Patience, bad_record
from kconnect.connectors.groups import Group, Origins, groups_of
from kconnect.connectors.identity import TopicIds
from kconnect.connectors.lake import changes, columns, pending, rows, settings
from kconnect.connectors.lake.lakes import AwayError, Lake
from kconnect.connectors.lake.narrowing import Narrowing
from kconnect.connectors.lake.pending import Part, Pending, SharedTarget, Target
from kconnect.connectors.lake.rows import Changes
from kconnect.connectors.libraries import Informed
from kconnect.connectors.patterns import LateError, Pattern
from kconnect.connectors.slices import Slice, record_at, slices_of

log = logging.getLogger(__name__)

_NO_TABLES: tuple[type[Exception], ...] = (LateError, *MISFITS)
"""What is raised for a value that chooses no table."""
_MOST_REFUSED, _REFUSED_S = 1000, 60.0
"""Rights may be granted, so a refusal of a table is not believed for longer."""
_OF_TABLES: tuple[type[Exception], ...] = (
    *(ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError, NotImplementedError, RecursionError),
    pa.ArrowException,
)
"""
What libraries raise in a commit, beside a lake's errors, for what a table says of itself: an unknown compression, a size that
is no number. Rows have been looked at before.
"""


class LakeSinkTask(Informed, SinkTask):
    reports_in_put_only = takes_batches_with_headers = True
    commits_aside = False
    """Whether tables are `AsideTarget`s, which `commit_aside` is for."""

    def __init__(self) -> None:
        self._assigned: set[TopicPartition] = set()
        self._unopened: set[TopicPartition] = set()
        """What is assigned, and where nobody has looked yet how far the tables are: the lake was away."""
        self._is_reached = self._goes_back = False
        self._refused: dict[str, tuple[float, str]] = {}
        """Tables that records have named, and that may not be written to: until when that is believed, and why."""
        self._narrowings: dict[str, Narrowing] = {}
        """Tables that have refused rows have one each."""
        self._due_at = 0.0

    def version(self) -> str:
        return kconnect.__version__

    @abstractmethod
    def parsed(self, props: dict[str, str]) -> tuple[settings.Names, Mapping[str, Any]]:
        """Note a config, and return it, with the names of its settings."""

    @abstractmethod
    def made_lake(self) -> Lake[Any]:
        """Return the lake of the config. AwayError if it is to be had later only."""

    @property
    @abstractmethod
    def shares(self) -> bool:
        """Whether one of several tasks commits for all."""

    def start(self, props: dict[str, str]) -> None:
        setting_names, config = self.parsed(props)
        self._connector = props["name"]
        self._names: Sequence[str] = config[setting_names.tables]
        self._route: str = config[setting_names.route_field]
        self._dynamic: bool = config[setting_names.dynamic]
        of_tables = settings.of_tables(setting_names, props)
        # What a field has, whoever writes records says.
        self._routes = {
            name: Pattern(table_settings["route-regex"])
            for name, table_settings in of_tables.items()
            if "route-regex" in table_settings
        }
        self._upserts: bool = config[setting_names.upsert]
        self._deletes: bool = config[setting_names.delete]
        self._order: str = config.get(setting_names.order, "")
        self._reads: changes.Reader | None = None
        if config[setting_names.envelopes]:
            self._reads = changes.of_envelopes
        elif config[setting_names.delete_field]:
            self._reads = changes.by_field(config[setting_names.delete_field])
        self._shares = self.shares and int(props.get("tasks.max", "1")) > 1 and not self._upserts and not self._route
        self._interval_s: float = config[setting_names.interval] / 1000
        # Nobody waits for a commit aside, however long it takes.
        most_folders = math.inf if self.commits_aside else pending.MOST_FOLDERS
        self._pending = Pending(self._interval_s, config[settings.ROWS], config[settings.BYTES], self._go, most_folders)
        self._patience = Patience(settings.RETRIES, config[settings.RETRIES], config[settings.BACKOFF])
        self._due_at = time.monotonic() + self._interval_s
        with contextlib.suppress(RetriableError):
            self._reach()

    def _reach(self) -> bool:
        """
        Have a lake, and go where the tables are with partitions that are new; return whether there are such. RetriableError
        if that is to wait: a task that is started, or given partitions, does so in its next put, where everybody sees it.
        """
        moves = False
        if not self._is_reached:
            try:
                self._lake = self.made_lake()
            except AwayError as error:
                self._later(str(error))
            self._is_reached = True
        for place in sorted(self._unopened):
            # The table goes before the offsets of the group, if there is one table that all records of a topic go to.
            tables = [self._named(name, place.topic) for name in self._names]
            if len(tables) == 1 and not self._route and _is_table(tables[0]):
                offset = self._begin(tables[0], place)
                if offset is not None:
                    self.context.offset(place, offset)
                    moves = True
            self._unopened.discard(place)
        return moves

    def _go(self, place: TopicPartition, offset: int) -> None:
        self.context.offset(place, offset)

    def stop(self) -> None:
        """Do nothing: no file is open, and rows in memory are read again."""

    @functools.cached_property
    def _ids(self) -> TopicIds:
        return TopicIds(self.context, self._connector)

    def open(self, partitions: Collection[TopicPartition]) -> None:
        self._assigned.update(partitions)
        self._unopened.update(partitions)
        self._ids.forget()
        with contextlib.suppress(RetriableError):
            self._reach()

    def close(self, partitions: Collection[TopicPartition]) -> None:
        self._assigned.difference_update(partitions)
        self._unopened.difference_update(partitions)
        self._narrowings.clear()
        # Partitions that have rows in a stage with these go on where that begins.
        self._goes_back |= self._pending.leave(partitions)

    def put(self, records: list[SinkRecord]) -> None:
        self._put(groups_of(records))

    def put_batch(self, batch: SinkBatch) -> None:
        self._put([Group(batch.topic, batch.key, batch.value, Origins(batch))])

    def _put(self, groups: Sequence[Group]) -> None:
        moves = self._reach() or self._goes_back
        self._goes_back = False
        if not moves and (self._pending.is_full or time.monotonic() >= self._due_at):
            moves = self._commit()
        if moves and groups:
            # What was read meanwhile is none of what comes next: the worker goes there before this put is made again.
            self.context.timeout(1)
            raise RetriableError("Records are read from where the tables are")
        for group in groups:
            # A null makes no row. All values of a group are null, or none is.
            deletes = group.value.has_nulls
            for place, some in slices_of(replace(group, value=group.key) if deletes else group):
                for name, chosen in self._deleted_from(some) if deletes else self._routed(place, some, group):
                    self._keep(name, place, chosen, group, deletes)
                self._pending.take(place, some.offsets[-1] + 1)

    # Rows.

    def _named(self, name: str, topic: str) -> str:
        return name.replace("${topic}", topic)

    def _deleted_from(self, some: Slice) -> Iterable[tuple[str, Slice]]:
        """Return the tables that records without a value delete rows from. A field that routes they have not."""
        return [(self._named(name, some.topic), some) for name in self._names] if self._deletes and not self._route else []

    def _routed(self, place: TopicPartition, some: Slice, group: Group) -> Iterable[tuple[str, Slice]]:
        """The tables, each with its records. A value that keeps a pattern busy is a bad record."""
        if not self._route:
            return [(self._named(name, some.topic), some) for name in self._names]
        places_by_table: dict[str, list[int]] = {}
        for at, item in enumerate(some.value.values):
            value = _field(item, self._route)
            try:
                tables = [] if value is None else [str(value).lower()] if self._dynamic else self._matching(str(value))
            except _NO_TABLES as error:
                problem = error if isinstance(error, DataError) else DataError(f"its {self._route} names no table: {error}")
                self._bad(record_at(group, place, some.offsets[at]), problem)
                continue
            for name in tables:
                places_by_table.setdefault(name, []).append(at)
        return [(name, some.only(places)) for name, places in places_by_table.items()]

    def _matching(self, value: str) -> list[str]:
        return [name for name in self._names if name in self._routes and self._routes[name].fullmatch(value)]

    def _keep(self, name: str, place: TopicPartition, some: Slice, group: Group, deletes: bool) -> None:
        try:
            # A field or a topic may have chosen it.
            names.check_table(name)
        except DataError as error:
            for offset in some.offsets:
                self._bad(record_at(group, place, offset), error)
            return
        part = self._pending.parts(name).get(place)
        if part is None:
            begin = self._pending.staged_end(name, place)
            try:
                begin = self._begin(name, place) if begin is None else begin
            except DataError as error:
                for offset in some.offsets:
                    self._bad(record_at(group, place, offset), error)
                return
            part = Part(begin, begin or 0, -1)
        # A put that is made again, or a group whose offsets are behind the table's, has some that are there.
        first = next((at for at, offset in enumerate(some.offsets) if offset >= part.next), len(some))
        if first:
            self._ids.look(_table_of(name), at_once=True)
        fresh, refusal = some.cut(first, len(some)), None
        if self._pending.is_held(name, place):
            return
        if name in self._narrowings:
            fresh, refusal = self._narrowings[name].take(self._pending, name, place, fresh)
        if not len(fresh):
            return
        table_rows: pa.Table | Changes | None
        if refusal is not None:
            self._bad(record_at(group, place, fresh.offsets[0]), DataError(f"the table {name} refuses it: {refusal}"))
            table_rows = None
        elif deletes:
            table_rows = self._deletions(name, place, fresh, group)
        elif self._reads is not None:
            table_rows = self._changes(name, place, fresh, group, self._reads)
        else:
            made = self._made(name, place, fresh, group)
            table_rows = None if made is None else made[0]
        with_folders = table_rows.made if isinstance(table_rows, Changes) else table_rows
        table = None if with_folders is None else self._lake.existing(name)
        folders = self._lake.partitions_of(table, with_folders) if table is not None else set[tuple[Hashable, ...]]()
        self._pending.keep(name, place, part, fresh.offsets, table_rows, folders)

    def _begin(self, name: str, place: TopicPartition) -> int | None:
        """
        Return the offset behind the last one that the table has; None if it has none of this partition. DataError for a table
        that a record has named, and that may not be used.
        """
        if name in self._refused:
            until, reason = self._refused[name]
            if time.monotonic() < until:
                raise DataError(reason)
            del self._refused[name]
        try:
            table = self._lake.fresh(name)
        except (*self._lake.errors, *self._lake.refusals) as error:
            # A service that can't be reached refuses nothing.
            if isinstance(error, self._lake.refusals) and not self._lake.is_away(error) and self._is_fault_of_choice(name):
                raise DataError(self._refusal(name, error)) from None
            if not isinstance(error, self._lake.errors):
                raise
            self._endure(name, error)
            self._refuse(name, error)
            raise DataError(self._refusal(name, error)) from None
        try:
            mark = None if table is None else self._lake.mark(table, place, self._ids.of)
        except self._lake.errors as error:
            self._failed(name, error)
        if mark is not None:
            self._ids.check({place: mark}, _table_of(name))
        offset = None if mark is None else mark.offset
        if self._pending.is_behind(name, place, offset):
            self._go_back(name, place, offset)
        return offset

    def _go_back(self, name: str, place: TopicPartition, offset: int | None) -> NoReturn:
        """Have records read again that a table had, and has not any more: somebody has set it back to an older version."""
        where = f"{place.topic}-{place.partition}"
        if offset is None:
            raise ConnectError(
                f"The table {name} had records of {where}, and knows nothing of them any more: others have set it back. Set "
                "the offset that it is to begin at, as in: kconnect offsets set"
            )
        log.warning("The table %s was set back: the records of %s are read again from offset %d", name, where, offset)
        self._pending.begin_again([place])
        self._go(place, offset)
        self.context.timeout(1)
        raise RetriableError(f"The table {name} was set back by others, and its records are read again")

    def _made(self, name: str, place: TopicPartition, some: Slice, group: Group) -> tuple[pa.Table, Sequence[int]] | None:
        """Their rows, without those of bad records, and the offsets of the others."""
        try:
            return self._rows(name, some, self._is_chosen(some, place)), some.offsets
        except rows.NO_ROWS as error:
            if len(some) == 1:
                problem = DataError(f"the table {name} can't have it: {' '.join(str(error).split())}")
                self._bad(record_at(group, place, some.offsets[0]), problem)
                return None
        both = [self._made(name, place, half, group) for half in _halves(some)]
        found = [made for made in both if made is not None]
        if not found:
            return None
        return _concatenated([table for table, _ in found]), [offset for _, offsets in found for offset in offsets]

    def _is_chosen(self, some: Slice, place: TopicPartition) -> bool:
        """Whether records name their table, by a field or by the topic that a transform has made."""
        return self._dynamic or some.topic != place.topic

    def _changes(self, name: str, place: TopicPartition, some: Slice, group: Group, reads: changes.Reader) -> Changes | None:
        """Return what records have changed, without those that are bad."""
        try:
            self._require_room(name, changes.width(some.value))
            events = reads(some.value, self._lake.set_ids(name))
            if events.emptied and not self._lake.empties:
                setting = self._lake.names.truncate
                remedy = f"set {setting}=true" if self._lake.can_empty else "do that yourself, and skip the record"
                raise DataError(f"it says that the whole table was emptied, which is not done here: {remedy}")
        except rows.NO_ROWS as error:
            if len(some) == 1:
                problem = error if isinstance(error, DataError) else DataError(f"it can't be read: {error}")
                self._bad(record_at(group, place, some.offsets[0]), problem)
                return None
            both = [self._changes(name, place, half, group, reads) for half in _halves(some)]
            return _joined(rows.since_emptied([found for found in both if found is not None]))
        for at, problem in events.bad:
            self._bad(record_at(group, place, some.offsets[at]), problem)
        begin = events.emptied[-1] if events.emptied else -1
        written = _behind(some, events.written, begin)
        made = self._made(name, place, written, group) if len(written) else None
        keys = [at for at in events.deleted_by_key if at > begin]
        by_key = Slice(some.topic, _keys(group, place, [some.offsets[at] for at in keys]), *_taken(some, keys))
        by_row = _behind(some, events.deleted, begin)
        gone = [part for part in (by_row, by_key) if len(part)]
        deleted = [each for each in (self._deletions(name, place, part, group) for part in gone) if each is not None]
        moved = set(written.offsets).intersection(by_row.offsets)
        if moved and self._lake.existing(name) is not None:
            # A record that moves a row does so wholly or not at all.
            halved = moved.difference(() if made is None else made[1])
            halved |= moved.difference(*(each.deleted_at for each in deleted))
            deleted = [each.without(halved) for each in deleted]
            made = None if made is None else _without(made, halved)
        # Of a table that is not there, there is nothing to delete.
        empties = begin >= 0 and self._lake.existing(name) is not None
        found = [*([] if made is None else [Changes(*made, None, ())]), *deleted]
        joined = _joined(found)
        if not empties:
            return joined
        return Changes(None, (), None, (), True) if joined is None else replace(joined, emptied=True)

    def _deletions(self, name: str, place: TopicPartition, some: Slice, group: Group) -> Changes | None:
        """The ids that keys have, or what is left of rows, without those of bad records."""
        try:
            of_ids = self._columns_of_ids(name, self._is_chosen(some, place))
        except DataError as error:
            for offset in some.offsets:
                self._bad(record_at(group, place, offset), error)
            return None
        # Of a table that is not there, there is nothing to delete.
        ids = [] if of_ids is None else self._deleted_ids(name, place, some, group, of_ids)
        if not ids:
            return None
        return Changes(None, (), pa.concat_tables([table for table, _ in ids]), [at for _, places in ids for at in places])

    def _columns_of_ids(self, name: str, chosen: bool) -> pa.Schema | None:
        """
        Return the columns of a table's id; None if there is no such table. DataError for one without them that records have
        `chosen`, as in `_rows`.
        """
        try:
            table = self._lake.existing(name)
            if table is None:
                return None
            table_schema, id_columns = self._lake.schema(table), self._lake.ids(name, table)
            if missing := [column for column in id_columns if column not in table_schema.names]:
                raise ConnectError(f"The table {name} has no column {missing[0]}, which is to be of the id")
        except self._lake.errors as error:
            self._failed(name, error)
        except ConnectError as error:
            if not chosen or isinstance(error, ConfigError):
                raise
            raise DataError(str(error)) from error
        order = [table_schema.field(self._order).with_nullable(True)] if self._order in table_schema.names else []
        return pa.schema([*(table_schema.field(column) for column in id_columns), *order])

    def _deleted_ids(
        self, name: str, place: TopicPartition, some: Slice, group: Group, wanted: pa.Schema
    ) -> list[tuple[pa.Table, Sequence[int]]]:
        try:
            return [(self._ids_of(some.value, wanted), some.offsets)]
        except rows.NO_ROWS as error:
            if len(some) == 1:
                problem = DataError(f"the table {name} can't have it: {' '.join(str(error).split())}")
                self._bad(record_at(group, place, some.offsets[0]), problem)
                return []
        return [ids for half in _halves(some) for ids in self._deleted_ids(name, place, half, group, wanted)]

    def _ids_of(self, key: Column, wanted: pa.Schema) -> pa.Table:
        """Return the ids of records without a value. DataError, or one of Arrow's errors, if one of them has none."""
        ids = [name for name in wanted.names if name != self._order]
        if any(item is None for item in key.values):
            raise DataError("it has neither a key nor a value, so it deletes nothing")
        if len(ids) == 1 and not isinstance(key.values[0], dict | Struct):
            # The key is the id.
            made = rows.of_keys(key, ids[0], self._lake.kinds)
        else:
            made = rows.made(changes.only(key, wanted.names), self._lake.kinds)
        if missing := [column for column in ids if column not in made.column_names]:
            raise DataError(f"it has no value, and its key has no {missing[0]}, which is of the id")
        fitted = rows.fitted(made.select([name for name in wanted.names if name in made.column_names]), wanted)
        columns.check_ids(fitted, ids)
        return fitted

    def _rows(self, name: str, some: Slice, chosen: bool) -> pa.Table:
        """Return the rows for a table. `chosen`: records name it, by a field or by the topic that a transform has made."""
        table_rows = rows.made(some.value, self._lake.kinds, functools.partial(self._require_room, name))
        if self._upserts:
            # A table that is made for them would have no id that rows are found by.
            columns.check_keys(table_rows.schema, self._lake.set_ids(name))
        try:
            table = self._lake.ensure(name, table_rows.schema, some.value.schema is None)
            id_columns = self._lake.ids(name, table) if self._upserts else []
        except self._lake.unfit as error:
            self._lake.forget(name)
            raise DataError(f"{type(error).__name__}: {self._lake.reason(error)}") from error
        except ConnectError as error:
            if not chosen or isinstance(error, DataError | ConfigError):
                raise
            # The record has named a table that there is not.
            raise DataError(str(error)) from error
        except self._lake.errors as error:
            self._failed(name, error)
        fitted = rows.fitted(table_rows, self._lake.schema(table))
        try:
            self._lake.check_parts(table, fitted)
        except self._lake.errors as error:
            self._failed(name, error)
        columns.check_ids(fitted, id_columns)
        if self._order:
            columns.check_order(fitted, self._order)
        return fitted

    def _require_room(self, name: str, count: int) -> None:
        try:
            self._lake.require_room(name, count)
        except self._lake.errors as error:
            self._failed(name, error)

    def _bad(self, record: SinkRecord, error: DataError) -> None:
        reporter = self.context.errant_record_reporter()
        if reporter is None:
            raise bad_record(record, error) from error
        reporter.report(record, error)

    # Commits.

    def _commit(self) -> bool:
        """Commit what there is; return whether some of it is to be read again."""
        moves = False
        tables = list(dict.fromkeys((*self._pending.tables, *(self._shared() if self._shares else ()))))
        for name in tables:
            try:
                self._ids.look(_table_of(name))
                if self._is_of_bad_records(name):
                    self._pending.forget(name)
                elif self.commits_aside:
                    moves |= self.commit_aside(name)
                elif self._lake.existing(name) is not None if self._shares else self._pending.parts(name):
                    target = self._lake.target(name, self._ids.of)
                    assert isinstance(target, Target)
                    if self._shares and isinstance(target, SharedTarget):
                        moves |= self._pending.commit_shared(name, target, self._assigned, time.monotonic())
                    else:
                        moves |= self._pending.commit_own(name, target)
            except (*self._lake.errors, *_OF_TABLES) as error:
                self._lake.forget(name)
                if not self._lake.forbids(error) or not self._is_fault_of_choice(name):
                    self._endure(name, error)
                moves |= self._give_back(name, error)
        if tables:
            self._patience.succeeded()
        # A stage is looked after more often than that.
        look_s = min(self._interval_s, max(pending.LOOK_S, self._interval_s / 10))
        self._due_at = time.monotonic() + (look_s if self._pending.waits else self._interval_s)
        self.context.request_commit()
        return moves

    def commit_aside(self, name: str) -> bool:
        """Go on with the commit of an `AsideTarget`; return whether some of its rows are to be read again."""
        raise NotImplementedError

    def _is_fault_of_choice(self, name: str) -> bool:
        """
        Whether a table can't be used because of records that have chosen it, by a field, or by the topic that a transform has
        made. A lake that refuses this user all that it is asked is no fault of theirs.
        """
        if not self._dynamic and name in {
            self._named(template, place.topic) for template in self._names for place in self._assigned
        }:
            return False
        try:
            return self._lake.lets_in()
        except self._lake.errors:
            return False

    def _give_back(self, name: str, error: Exception) -> bool:
        """Have the rows of a table that may be looked at, and not be written to, come again: as bad records."""
        self._refuse(name, error)
        return self._pending.begin_again(list(self._pending.places(name)))

    def _refuse(self, name: str, error: Exception) -> None:
        if len(self._refused) >= _MOST_REFUSED:
            self._refused.clear()
        self._refused[name] = time.monotonic() + _REFUSED_S, self._refusal(name, error)

    def _refusal(self, name: str, error: Exception) -> str:
        return f"the table {name} can't be used: {self._lake.reason(error)}"

    def _is_of_bad_records(self, name: str) -> bool:
        """Whether there is no such table, since all records for it were bad."""
        parts = self._pending.parts(name).values()
        return bool(parts) and not any(part.rows for part in parts) and self._lake.existing(name) is None

    def _shared(self) -> set[str]:
        """The tables that this task may have to commit for others."""
        tables = {self._named(name, place.topic) for name in self._names for place in self._assigned}
        return {name for name in tables if _is_table(name)}

    def _failed(self, name: str, error: Exception) -> NoReturn:
        text = f"The table {name} can't be used: {self._lake.reason(error)}"
        if not self._lake.passes(error):
            raise ConnectError(text) from None
        self._later(text)

    def _endure(self, name: str, error: Exception) -> None:
        """Raise as `_failed`, but for a table that records have named once it was tried too often: it is their fault then."""
        try:
            self._failed(name, error)
        except RetriableError:
            raise
        except ConnectError:
            if not self._is_fault_of_choice(name):
                raise
        self._patience.succeeded()

    def _later(self, text: str) -> NoReturn:
        again, pause_ms = self._patience.failed(text)
        self.context.timeout(pause_ms)
        raise again from None

    def pre_commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the offsets of what is in tables. A put that is to be made again may have taken more than is asked for."""
        behind = {place: self._pending.safe(place) for place in offsets}
        return {
            place: OffsetAndMetadata(min(offset, offsets[place].offset))
            for place, offset in behind.items()
            if offset is not None
        }


def _without(made: tuple[pa.Table, Sequence[int]], offsets: Collection[int]) -> tuple[pa.Table, Sequence[int]]:
    """Return rows, and the offsets of their records, without those of some records."""
    table, every = made
    kept = [at for at, offset in enumerate(every) if offset not in offsets]
    return table.take(pa.array(kept, pa.int64())), [every[at] for at in kept]


def _table_of(name: str) -> str:
    return f"The table {names.shown(name)}"


def _halves(some: Slice) -> tuple[Slice, Slice]:
    half = len(some) // 2
    return some.cut(0, half), some.cut(half, len(some))


def _behind(some: Slice, part: changes.Some, begin: int) -> Slice:
    """Return a part of the records, with values of its own, behind the place where the table was emptied."""
    kept = [at for at, place in enumerate(part.places) if place > begin]
    value = part.value if len(kept) == len(part.places) else Column(part.value.schema, [part.value[at] for at in kept])
    return Slice(some.topic, value, *_taken(some, [part.places[at] for at in kept]))


def _taken(some: Slice, places: Sequence[int]) -> tuple[Sequence[int], Sequence[int | None]]:
    return [some.offsets[at] for at in places], [some.timestamps[at] for at in places]


def _keys(group: Group, place: TopicPartition, offsets: Sequence[int]) -> Column:
    """Return the keys of the records with these offsets."""
    wanted, origins = set(offsets), group.origins
    where = zip(*map(origins.every, ("original_topic", "original_partition", "original_offset")), strict=True)
    places = [at for at, (*found, offset) in enumerate(where) if tuple(found) == place and offset in wanted]
    return Column(group.key.schema, [group.key[at] for at in places] if places else [])


def _joined(found: Sequence[Changes]) -> Changes | None:
    """Return all as one; None if there is nothing."""
    if len(found) < 2:
        return found[0] if found else None
    made = [some.made for some in found if some.made is not None]
    deleted = [some.deleted for some in found if some.deleted is not None]
    return Changes(
        _concatenated(made),
        [at for some in found for at in some.made_at],
        _concatenated(deleted),
        [at for some in found for at in some.deleted_at],
        any(some.emptied for some in found),
    )


def _concatenated(tables: Sequence[pa.Table]) -> pa.Table | None:
    if not tables:
        return None
    # The table may have got a column between them, at any depth.
    wanted = functools.reduce(columns.union, (table.schema for table in tables))
    return pa.concat_tables([rows.fitted(table, wanted) for table in tables])


def _is_table(name: str) -> bool:
    try:
        names.check_table(name)
    except DataError:
        return False
    return True


def _field(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = changes.get(value, name)
    return value
