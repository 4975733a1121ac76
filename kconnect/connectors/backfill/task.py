"""
The task: reads its ranges one after the other, each from where its last record was, and makes of rows what Debezium would.

A range is read by pages, in the order of rows' places, so that its offset is the place of a row. Started by `source.py`. Read
next: `tables.py`, `snapshot.py`.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg

from kconnect.api import ConnectError, Header, OffsetOnly, RetriableError, SourceRecord, Struct, schema
from kconnect.connectors import interrupts
from kconnect.connectors.backfill import settings
from kconnect.connectors.backfill.snapshot import LostError, Sessions, Snapshot, passes
from kconnect.connectors.backfill.tables import ROW, SOURCE, Plan, Range, Table, lock, look, ranges
from kconnect.connectors.common import Polling
from kconnect.connectors.libraries import Informed
from kconnect.connectors.sql.answers import TooMuchError
from kconnect.connectors.sql.connections import Connections
from kconnect.connectors.sql.database import reason

log = logging.getLogger(__name__)

_PAUSE_S = 0.5
_LONG_WAIT_S = 1.0
_TELL_S = 10.0
_CURSOR = "kconnect"
_CELL = 50
_LONG = 1 << 20
"""So many bytes a row of a table may have, until the first ones are there."""


def partition_of(snapshot: Snapshot, part: Range) -> dict[str, Any]:
    """Return the source partition of a range: of that slot, and of the table as it is on the disk."""
    name = part.name
    return {"lsn": snapshot.lsn, "schema": name.schema, "table": name.table, "file": part.file, "pages": part.text}


def is_done(offset: Mapping[str, Any] | None, snapshot: Snapshot) -> bool:
    """Whether a range was read to its end, by this snapshot."""
    return offset is not None and bool(offset.get("done")) and offset.get("sees") == snapshot.sees


def _beginning(offset: Mapping[str, Any], snapshot: Snapshot) -> dict[str, Any]:
    """
    Return the offset that a range begins with.

    The place of a row in one snapshot is nothing in another one. But of a range that was read by an older snapshot, those rows
    are enough that have come or changed `since`: their changes are in the stream, but not the long values in them that did not
    change.
    """
    if offset.get("sees") == snapshot.sees:
        return dict(offset)
    since = offset.get("sees") if offset.get("done") else offset.get("since")
    if since is None:
        return {}
    # What was staged for a lake stays: it is older, and loses against what comes.
    staged = {name: offset[name] for name in ("staged",) if name in offset}
    return {"since": since, "rows": offset.get("rows", 0), **staged}


def done_partition() -> dict[str, Any]:
    """Return the source partition that says that all ranges were read, and where the change stream begins."""
    return {"backfill": "done"}


class BackfillTask(Informed, Polling):
    def __init__(self) -> None:
        super().__init__()
        self._connection: Any = None
        self._connections = Connections()
        self._cursor: Any = None
        self._table: Table | None = None
        self._average = _LONG
        self._next_at = self._tell_at = 0.0

    def start(self, props: dict[str, str]) -> None:
        config = settings.CONFIG.parse(props)
        self._config = config
        self._done: dict[str, Any] | None = json.loads(props[settings.DONE]) if settings.DONE in props else None
        if self._done is not None:
            return
        self._sessions = Sessions(config, self.worker, self._connections)
        told = json.loads(props[settings.SNAPSHOT])
        self._snapshot = Snapshot(told["lsn"], told["sees"])
        self._taken_us: int = told["taken_us"]
        share = json.loads(props[settings.RANGES])
        parts = ranges(Plan.of_json(each) for each in share["tables"])[share["place"] :: share["of"]]
        stored = self.context.offsets.offsets([partition_of(self._snapshot, part) for part in parts])
        self._ranges = [
            (part, _beginning(offset or {}, self._snapshot))
            for part, offset in zip(parts, stored)
            if not is_done(offset, self._snapshot)
        ]
        self._headers = self._made_headers()

    def _made_headers(self) -> tuple[Header, ...]:
        if self._config[settings.HEADERS].lower() == "false":
            return ()
        values = {
            "connectorLogicalName": self._config[settings.PREFIX],
            "taskId": "0",
            "connectorName": "postgresql",
            # One for all tasks that read one snapshot.
            "runId": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self._snapshot.lsn}:{self._snapshot.sees}")),
        }
        return tuple(Header(f"__debezium.context.{name}", value, schema.STRING_SCHEMA) for name, value in values.items())

    def interrupt(self) -> None:
        interrupts.after_grace(self._connections.end)

    def read(self) -> list[SourceRecord] | None:
        if self._done is not None:
            done, self._done = self._done, {}
            if done:
                return [OffsetOnly(done_partition(), done)]
        if self._done is not None or not self._ranges:
            # The session stays: others may need its snapshot.
            self._keep()
            self.stopped.wait(_PAUSE_S)
            return None
        rate, now = self._config[settings.RATE], time.monotonic()
        try:
            if now < self._next_at:
                if self._next_at - now > _LONG_WAIT_S:
                    self._rest()
                self.stopped.wait(min(self._next_at - now, _PAUSE_S))
                return None
            records = self._read(*self._ranges[0])
            if rate:
                self._next_at = now + len(records) / rate
            return records
        except LostError as error:
            self.release()
            self.context.waits_for(f"a snapshot of the database: {error}")
            self.stopped.wait(_PAUSE_S)
            return None
        except (psycopg.Error, UnicodeError) as error:
            self.release()
            if isinstance(error, TooMuchError):
                # Rows before were shorter.
                self._average = min(self._average * 16, self._config[settings.BYTES])
            elif not passes(error):
                remedy = "If the table was altered since the snapshot was taken, cancel the backfill and begin it anew"
                table = self._ranges[0][0].name
                raise ConnectError(f"{table} can't be read. The database says: {reason(error)}. {remedy}") from None
            raise RetriableError(f"The database says: {reason(error)}") from None

    def _keep(self) -> None:
        if self._connection is not None and self._connection.closed:
            self.release()

    def _read(self, part: Range, offset: dict[str, Any]) -> list[SourceRecord]:
        if self._connection is None:
            self._connection, _ = self._sessions.joined(self._snapshot.sees)
            self.context.waits_for(None)
        self._tell()
        if self._table is None or self._table.name != part.name:
            self._rest()
            average = self._average if self._table is None else _LONG
            self._table, self._average = look(self._connection, part.name, self._config), average
        if self._cursor is None:
            self._cursor = self._opened(part, offset)
        count = max(1, min(self._config[settings.ROWS], self._config[settings.BYTES] // self._average))
        rows = self._cursor.fetchmany(count)
        over = len(rows) < count
        partition = partition_of(self._snapshot, part)
        after = {**offset, "sees": self._snapshot.sees, "rows": offset.get("rows", 0) + len(rows)}
        if over:
            after["done"] = True
        if not rows:
            self._end_range()
            return [OffsetOnly(partition, after)]
        after["ctid"] = rows[-1][0]
        self._weigh(rows)
        records = self._records(self._table, rows, partition, offset or {"rows": 0}, after)
        if over:
            self._end_range()
        else:
            self._ranges[0] = part, after
        return records

    def _tell(self) -> None:
        """Have metrics say what the database keeps for this copy."""
        now = time.monotonic()
        if now < self._tell_at:
            return
        self._tell_at = now + _TELL_S
        transactions, log_bytes = self._sessions.held(self._connection)
        self.context.metric("backfill_snapshot_seconds", round(time.time() - self._taken_us / 1e6))
        self.context.metric("backfill_snapshot_transactions", transactions)
        self.context.metric("backfill_log_held_bytes", log_bytes)

    def _end_range(self) -> None:
        self._rest()
        del self._ranges[0]

    def _rest(self) -> None:
        """Let go of the table's lock: who alters the table waits for a range only."""
        if self._cursor is not None:
            self._cursor.close()
            self._cursor = None
            self._connection.execute("ROLLBACK TO SAVEPOINT range; RELEASE SAVEPOINT range")

    def _opened(self, part: Range, offset: Mapping[str, Any]) -> Any:
        assert self._table is not None
        self._connection.execute("SAVEPOINT range")
        with contextlib.closing(self._sessions.plain()) as present:
            lock(self._connection, part, self._table, present)
        # Only the newest ones are known to who ends what waits.
        self._connections.note(self._connection)
        end = "" if part.end is None else f" AND ctid < '({part.end},0)'::tid"
        last, since = offset.get("ctid"), offset.get("since")
        begin = f"ctid > '{last}'::tid" if last else f"ctid >= '({part.first},0)'::tid"
        newer = ""
        if since is not None:
            # Those that the older snapshot has not seen: its oldest transaction and all after it.
            oldest = int(since.partition(":")[0]) % 2**32
            newer = f" AND age({ROW}.xmin) <= age('{oldest}'::xid)"
        cursor = self._connection.cursor(_CURSOR)
        cursor.execute(
            f"SELECT ctid, {self._table.selection()} FROM ONLY {part.name.quoted} AS {ROW} WHERE {begin}{end}{newer}"
        )
        return cursor

    def _weigh(self, rows: Sequence[Sequence[Any]]) -> None:
        assert self._table is not None
        size = _CELL * len(rows[0]) * len(rows)
        for place in self._table.long:
            size += sum(len(row[place + 1]) for row in rows if row[place + 1] is not None)
        self._average = max(_CELL, size // len(rows))

    def _records(
        self,
        table: Table,
        rows: Sequence[Sequence[Any]],
        partition: Mapping[str, Any],
        before: Mapping[str, Any],
        after: Mapping[str, Any],
    ) -> list[SourceRecord]:
        """All but the last one have the offset of those before: who stops in between begins with the first one again."""
        _, *columns = zip(*rows)
        converted = [_converted(table, place, values) for place, values in enumerate(columns)]
        keys = list(zip(*(converted[place] for place in table.key))) if table.key else None
        now_ns = time.time_ns()
        source, row_schema, value_schema = self._source(table), table.row_schema, table.schema
        times = [now_ns // 1_000_000, now_ns // 1000, now_ns]
        key_schema, topic, headers = table.key_schema, table.topic, self._headers
        records = []
        new, make = SourceRecord.__new__, Struct.unchecked
        # Attribute by attribute it takes three quarters of the time of calls with all of them.
        for values in zip(*converted):
            record = new(SourceRecord)
            record.source_partition, record.source_offset = partition, before
            record.topic, record.partition, record.headers, record.timestamp = topic, None, headers, None
            record.key_schema = record.key = None
            record.value_schema = value_schema
            record.value = make(value_schema, [None, make(row_schema, list(values)), source, None, "r", *times])
            records.append(record)
        if keys is not None:
            assert key_schema is not None
            for record, key in zip(records, keys):
                record.key_schema, record.key = key_schema, make(key_schema, list(key))
        records[-1].source_offset = after
        return records

    def _source(self, table: Table) -> Struct:
        snapshot, taken_us = self._snapshot, self._taken_us
        return Struct(
            SOURCE,
            {
                "version": self._config[settings.VERSION],
                "connector": "postgresql",
                "name": self._config[settings.PREFIX],
                "ts_ms": taken_us // 1000,
                "snapshot": "true",
                "db": self._config[settings.DATABASE],
                "sequence": f'[null,"{snapshot.lsn}"]',
                "ts_us": taken_us,
                "ts_ns": taken_us * 1000,
                "schema": table.name.schema,
                "table": table.name.table,
                "txId": snapshot.transaction,
                "lsn": snapshot.lsn,
            },
        )

    def release(self) -> None:
        connection, self._connection, self._cursor, self._table = self._connection, None, None, None
        if connection is not None:
            connection.close()


def _converted(table: Table, place: int, values: Sequence[Any]) -> Sequence[Any]:
    name, reading = table.columns[place]
    if not reading.schema.optional and None in values:
        raise ConnectError(f"{table.name}.{name} has a value, such as NaN, that Debezium has no place for")
    convert = reading.convert
    return values if convert is None else [None if value is None else convert(value) for value in values]
