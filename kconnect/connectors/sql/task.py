"""
SqlSinkTask: writes what a put has in one transaction, all of it or nothing.

Records that are alike become rows together. If the database refuses some rows for one of them, they are written by halves
until that one is found. What may pass is tried again with the same records, over a new connection. Started by `connector.py`.
Read next: `rows.py`, `statements.py`, `offsets.py`.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

import kconnect
from kconnect.api import ConnectError, SinkBatch, SinkRecord, SinkTask, TopicPartition
from kconnect.connectors import interrupts
from kconnect.connectors.common import Patience, bad_record, place_of
from kconnect.connectors.groups import Group, groups_of, groups_of_batch
from kconnect.connectors.identity import TopicIds
from kconnect.connectors.libraries import Informed
from kconnect.connectors.sql import database, faults, settings
from kconnect.connectors.sql.connections import Connections
from kconnect.connectors.sql.offsets import Offsets
from kconnect.connectors.sql.rows import Bad, Maker, Rows
from kconnect.connectors.sql.statements import Writer
from kconnect.connectors.sql.tables import Tables

_LOOK_S = 1.0
"""How often bad rows make it look at all tables anew."""
T = TypeVar("T")


class _OverlapError(Exception):
    """Some records of a put are in the table. `begins` are the offsets behind them."""

    def __init__(self, begins: Mapping[TopicPartition, int]) -> None:
        super().__init__("some records are in the table")
        self.begins = begins


class _UndoneError(Exception):
    """A statement with these rows has undone the whole transaction, as a trigger or a constraint of SQLite's may."""

    def __init__(self, rows: Rows) -> None:
        super().__init__("the whole transaction was undone")
        self.rows = rows


class SqlSinkTask(Informed, SinkTask):
    reports_in_put_only = takes_batches_with_headers = True

    def __init__(self) -> None:
        self._engine: sa.Engine | None = None
        self._connections: Connections | None = None
        self._connection: sa.Connection | None = None
        self._look_again_at = 0.0
        self._checks_rows = False
        """Whether constraints that are deferred are looked at behind each statement."""
        self._undoing: dict[tuple[str, int, int], Exception] = {}
        """The records of a put that would undo all others, by topic, partition and offset, with what the database says."""
        self._is_singly = False
        """Whether each row has a statement of its own."""
        self._stopped = threading.Event()
        self._offsets: Offsets | None = None

    def version(self) -> str:
        return kconnect.__version__

    def start(self, props: dict[str, str]) -> None:
        config = self._config = settings.CONFIG.parse(props)
        connections = self._connections = Connections()
        engine = self._engine = database.made_engine(config, self.worker, connections=connections)
        self._batch: int = config[settings.BATCH]
        self._patience = Patience(settings.RETRIES, config[settings.RETRIES], config[settings.BACKOFF])
        self._tables = Tables(engine, config)
        self._maker = Maker(config, self._tables, engine.dialect.name)
        self._writer = Writer(engine, config[settings.MODE].lower())
        self._connection = self._patiently(engine.connect)
        if config[settings.OFFSETS]:
            self._offsets = Offsets(engine, config[settings.OFFSETS], props["name"])
            self._ids = TopicIds(self.context, props["name"], self._stopped.wait)
            self._patiently(self._offsets.create)

    def _patiently(self, call: Callable[[], T]) -> T:
        """Outside of a put. Of two tasks that note a new partition at once, one is refused, and finds it there then."""
        assert self._engine is not None
        return database.patiently(self._engine, self._config, call, self._stopped.wait, also=(IntegrityError,))

    def interrupt(self) -> None:
        self._stopped.set()
        interrupts.after_grace(self._end)

    def _end(self) -> None:
        """End a statement that the database has not answered. Called from another thread."""
        if self._connections is not None:
            self._connections.end()

    def stop(self) -> None:
        self._disconnect()

    def _disconnect(self) -> None:
        with contextlib.suppress(SQLAlchemyError):
            if self._connection is not None:
                self._connection.close()
        self._connection = None
        if self._engine is not None:
            self._engine.dispose()

    def open(self, partitions: Collection[TopicPartition]) -> None:
        offsets = self._offsets
        if offsets is not None:
            self._ids.forget()
            ids = self._ids.of({place.topic for place in partitions})

            def take() -> dict[TopicPartition, int]:
                return offsets.take(partitions, ids, lambda marks: self._ids.check(marks, offsets.name))

            for partition, offset in self._patiently(take).items():
                if offset >= 0:
                    self.context.offset(partition, offset)

    def close(self, partitions: Collection[TopicPartition]) -> None:
        if self._offsets is not None:
            self._offsets.leave(partitions)

    def put(self, records: list[SinkRecord]) -> None:
        if records:
            self._put(groups_of(records))

    def put_batch(self, batch: SinkBatch) -> None:
        self._put(groups_of_batch(batch))

    def _put(self, groups: Sequence[Group]) -> None:
        try:
            try:
                self._write_but_undoing(groups)
            except SQLAlchemyError as error:
                if faults.is_of_change(error):
                    # Somebody has dropped or renamed a column since the table was looked at, or the table.
                    self._forget()
                elif self._may_be_deferred(error):
                    # Which row it is, only a look at it by itself says.
                    self._checks_rows = True
                else:
                    raise
                self._write_but_undoing(groups)
        except SQLAlchemyError as error:
            self._forget()
            self._failed(error)
        finally:
            self._checks_rows = self._is_singly = False
            self._undoing.clear()
        self._patience.succeeded()

    def _write_but_undoing(self, groups: Sequence[Group]) -> None:
        """Write all but those records that would undo what was written of the others, which are bad ones."""
        while True:
            try:
                self._write(groups)
                return
            except _UndoneError as undone:
                self._find_undoing(undone.rows)

    def _find_undoing(self, rows: Rows) -> None:
        """Note which rows of a statement undo a transaction: each is tried by itself, and what is written so is undone, too."""
        before = len(self._undoing)
        for at in range(len(rows)):
            error = self._undone_by(rows.cut(at, at + 1))
            if error is not None:
                self._undoing[_identity(rows.record(at))] = error
        if len(self._undoing) > before:
            return
        if len(rows) == 1:
            # It does so behind others only.
            self._undoing[_identity(rows.record(0))] = ConnectError("it undoes all that was written before it")
        self._is_singly = True

    def _undone_by(self, row: Rows) -> Exception | None:
        """Return what the database says of a row that undoes a transaction, None for any other one."""
        assert self._connection is not None
        transaction = self._connection.begin()
        try:
            self._writer.write(self._connection, row)
        except Exception as error:
            if database.passes(error):
                raise
            return error if self._is_undone() else None
        finally:
            transaction.rollback()
        return None

    def _is_undone(self) -> bool:
        """Whether SQLite has no transaction any more, though nobody has ended it."""
        assert self._connection is not None
        if self._connection.dialect.name != "sqlite" or self._connection.invalidated:
            # A connection that is lost gives nothing to look at.
            return False
        driver: Any = self._connection.connection.dbapi_connection
        return not driver.in_transaction

    def _may_be_deferred(self, error: SQLAlchemyError) -> bool:
        """Whether a constraint was looked at by the commit only, and so by nobody before."""
        assert self._engine is not None
        return self._engine.dialect.name == "postgresql" and isinstance(error, IntegrityError) and database.is_bad_row(error)

    def _write(self, groups: Sequence[Group]) -> None:
        assert self._engine is not None
        if self._connection is None:
            self._connection = self._engine.connect()
        if self._tables.have_changed(self._connection, {group.topic for group in groups}, time.monotonic()):
            self._forget()
        bad: list[Bad] = []
        # Tables are made before the transaction: some databases end one for that.
        rows = self._rows(groups, bad)
        if self._offsets is None:
            with self._connection.begin():
                self._statements(rows, bad)
                self._report(bad)
            return
        self._ids.look(self._offsets.name)
        while True:
            try:
                self._write_with(self._offsets, groups, rows, bad)
                return
            except _OverlapError as overlap:
                begins = overlap.begins
                self._ids.look(self._offsets.name, at_once=True)
                records = [record for group in groups for record in group.origins.records]
            # Outside of the transaction again: their tables may be changed, too, over another connection.
            groups = groups_of([record for record in records if record.original_offset >= begins[place_of(record)]])
            if not groups:
                return
            bad = []
            rows = self._rows(groups, bad)

    def _write_with(self, offsets: Offsets, groups: Sequence[Group], rows: Sequence[Rows], bad: list[Bad]) -> None:
        """Write what is to be written next of each partition, in one transaction with its offsets if these can be in one."""
        assert self._connection is not None
        firsts, ends = _ends(groups)
        if offsets.with_rows:
            with self._connection.begin():
                begins = offsets.lock(self._connection, ends)
                self._write_from(begins, firsts, rows, bad)
                offsets.store(self._connection, {place: max(end, begins[place]) for place, end in ends.items()})
            return
        # In the same one they would stay if it is rolled back, and its rows be passed over.
        with self._connection.begin():
            begins = offsets.lock(self._connection, ends)
        with self._connection.begin():
            self._write_from(begins, firsts, rows, bad)
        with self._connection.begin():
            offsets.store(self._connection, {place: max(end, begins[place]) for place, end in ends.items()})

    def _write_from(
        self,
        begins: Mapping[TopicPartition, int],
        firsts: Mapping[TopicPartition, int],
        rows: Sequence[Rows],
        bad: list[Bad],
    ) -> None:
        if any(firsts[place] < begin for place, begin in begins.items()):
            raise _OverlapError(begins)
        self._statements(rows, bad)
        self._report(bad)

    def _rows(self, groups: Sequence[Group], bad: list[Bad]) -> list[Rows]:
        all_rows = []
        for group in groups:
            rows, without = self._maker.rows(group)
            if without and self._looks_again():
                rows, without = self._maker.rows(group)
            bad += without
            if rows is not None:
                all_rows.append(rows)
        return all_rows

    def _looks_again(self) -> bool:
        """Whether the tables are to be looked at anew before rows are refused: somebody may have widened a column."""
        now = time.monotonic()
        if now < self._look_again_at:
            return False
        self._look_again_at = now + _LOOK_S
        self._forget()
        return True

    def _forget(self) -> None:
        self._tables.forget()
        self._maker.forget()
        self._writer.forget()

    def _statements(self, rows: Sequence[Rows], bad: list[Bad]) -> None:
        for table_rows in rows:
            # What a statement has written before a bad row would stay there, and come again with the halves.
            most = self._batch if database.has_transactions(table_rows.table) and not self._is_singly else 1
            for begin in range(0, len(table_rows), most):
                self._statement(table_rows.cut(begin, begin + most) if len(table_rows) > most else table_rows, bad)

    def _statement(self, rows: Rows, bad: list[Bad]) -> None:
        assert self._connection is not None
        if self._undoing:
            rows = self._without_undoing(rows, bad)
            if not len(rows):
                return
        try:
            with self._connection.begin_nested() if database.has_transactions(rows.table) else contextlib.nullcontext():
                self._writer.write(self._connection, rows)
                if self._checks_rows:
                    self._connection.exec_driver_sql("SET CONSTRAINTS ALL IMMEDIATE")
        except Exception as error:
            if self._is_undone() and not database.passes(error):
                raise _UndoneError(rows) from error
            reason = f"The table {rows.table.fullname} refuses it: {database.reason(error)}"
            # A table that records have chosen, and that can't be used for whatever reason, is their fault.
            is_chosen = rows.have_chosen and isinstance(error, DBAPIError) and not database.passes(error)
            if is_chosen and faults.is_of_right(error):
                bad += [(rows.record(at), ConnectError(reason)) for at in range(len(rows))]
                return
            if not is_chosen and not database.is_bad_row(error):
                raise
            if len(rows) == 1:
                bad.append((rows.record(0), ConnectError(reason)))
            else:
                half = len(rows) // 2
                self._statement(rows.cut(0, half), bad)
                self._statement(rows.cut(half, len(rows)), bad)

    def _without_undoing(self, rows: Rows, bad: list[Bad]) -> Rows:
        """Return the rows but those that would undo all others, which are bad ones."""
        kept = []
        for at in range(len(rows)):
            error = self._undoing.get(_identity(rows.record(at)))
            if error is None:
                kept.append(at)
            else:
                reason = f"The table {rows.table.fullname} refuses it, and all others with it: {database.reason(error)}"
                bad.append((rows.record(at), ConnectError(reason)))
        return rows.only(kept)

    def _report(self, bad: Sequence[Bad]) -> None:
        """Report bad records before the rows are committed: a record may be reported twice, but it is not lost."""
        reporter = self.context.errant_record_reporter() if bad else None
        for record, error in bad:
            if reporter is None:
                raise bad_record(record, error) from error
            reporter.report(record, error)

    def _failed(self, error: SQLAlchemyError) -> None:
        assert self._engine is not None
        text = f"The {database.shown(self._engine)} says: {database.reason(error)}"
        self._disconnect()
        if not database.passes(error):
            raise ConnectError(text) from None
        again, pause_ms = self._patience.failed(text)
        self.context.timeout(pause_ms)
        raise again from None


def _identity(record: SinkRecord) -> tuple[str, int, int]:
    place = place_of(record)
    return place.topic, place.partition, record.original_offset


def _ends(groups: Sequence[Group]) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """The first offset of each partition, and that behind the last one."""
    firsts: dict[Any, int] = {}
    lasts: dict[Any, int] = {}
    for group in groups:
        places = list(zip(group.origins.every("original_topic"), group.origins.every("original_partition")))
        offsets = group.origins.every("original_offset")
        if places.count(places[0]) == len(places):
            places, offsets = [places[0], places[-1]], [offsets[0], offsets[-1]]
        firsts = {**dict(zip(reversed(places), reversed(offsets))), **firsts}
        lasts |= dict(zip(places, offsets))
    return {TopicPartition(*place): at for place, at in firsts.items()}, {
        TopicPartition(*place): at + 1 for place, at in lasts.items()
    }
