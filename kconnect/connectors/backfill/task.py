"""
The task: reads its ranges one after the other, each from where its last record was, and makes of rows what Debezium would.

A range is read by pages, in the order of rows' places, so that its offset is the place of a row. Started by `source.py`. Read
next: `tables.py`, `snapshot.py`.
"""

from __future__ import annotations

import contextlib
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import psycopg

from kconnect.api import ConnectError, Header, OffsetOnly, RetriableError, SourceRecord, Struct
from kconnect.connectors.backfill import settings
from kconnect.connectors.backfill.range_task import RangeTask
from kconnect.connectors.backfill.records import headers_of, records_of
from kconnect.connectors.backfill.snapshot import LostError, Sessions, Snapshot, passes
from kconnect.connectors.backfill.tables import ROW, SOURCE, Plan, Range, Table, lock, look, ranges
from kconnect.connectors.sql.answers import TooMuchError
from kconnect.connectors.sql.database import reason

log = logging.getLogger(__name__)

_TELL_S = 10.0
_CURSOR = "kconnect"


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


class BackfillTask(RangeTask):
    config_def = settings.CONFIG

    def __init__(self) -> None:
        super().__init__()
        self._cursor: Any = None
        self._table: Table | None = None
        self._tell_at = 0.0

    def take_over(self, told: Mapping[str, Any], share: Mapping[str, Any]) -> None:
        self._sessions = Sessions(self._config, self.worker, self._connections)
        self._snapshot = Snapshot(told["lsn"], told["sees"])
        self._taken_us: int = told["taken_us"]
        self.share(ranges(Plan.of_json(each) for each in share["tables"]), share)
        self._headers = self._made_headers()

    def partition_of(self, part: Range) -> dict[str, Any]:
        return partition_of(self._snapshot, part)

    def is_done(self, offset: Mapping[str, Any] | None) -> bool:
        return is_done(offset, self._snapshot)

    def beginning(self, offset: Mapping[str, Any]) -> dict[str, Any]:
        return _beginning(offset, self._snapshot)

    def _made_headers(self) -> tuple[Header, ...]:
        if self._config[settings.HEADERS].lower() == "false":
            return ()
        # One for all tasks that read one snapshot.
        run = uuid.uuid5(uuid.NAMESPACE_OID, f"{self._snapshot.lsn}:{self._snapshot.sees}")
        return headers_of(self._config[settings.PREFIX], "postgresql", str(run))

    def read_some(self) -> list[SourceRecord] | None:
        return self._read(*self._ranges[0])

    def attempt(self, read: Callable[[], list[SourceRecord] | None]) -> list[SourceRecord] | None:
        try:
            return read()
        except LostError as error:
            self.release()
            self.context.waits_for(f"a snapshot of the database: {error}")
            self.pause()
            return None
        except (psycopg.Error, UnicodeError) as error:
            self.release()
            if isinstance(error, TooMuchError):
                self.distrust_weight(self._ranges[0][0].name)
            elif not passes(error):
                remedy = "If the table was altered since the snapshot was taken, cancel the backfill and begin it anew"
                table = self._ranges[0][0].name
                raise ConnectError(f"{table} can't be read. The database says: {reason(error)}. {remedy}") from None
            raise RetriableError(f"The database says: {reason(error)}") from None

    def keep(self) -> None:
        """The session stays: others may need its snapshot."""
        if self._connection is not None and self._connection.closed:
            self.release()

    def _read(self, part: Range, offset: dict[str, Any]) -> list[SourceRecord]:
        if self._connection is None:
            self._connection, _ = self._sessions.joined(self._snapshot.sees)
            self.context.waits_for(None)
        self._tell()
        if self._table is None or self._table.name != part.name:
            self.rest()
            if self._table is not None:
                self.forget_weight()
            self._table = look(self._connection, part.name, self._config)
        if self._cursor is None:
            self._cursor = self._opened(part, offset)
        count = self.count()
        rows = self._cursor.fetchmany(count)
        over = len(rows) < count
        partition = self.partition_of(part)
        after = {**offset, "sees": self._snapshot.sees, "rows": offset.get("rows", 0) + len(rows)}
        if over:
            after["done"] = True
        if not rows:
            self._end_range()
            return [OffsetOnly(partition, after)]
        after["ctid"] = rows[-1][0]
        self.weigh(rows, [place + 1 for place in self._table.shape.long])
        _, *columns = zip(*rows)
        places = partition, offset or {"rows": 0}, after
        records = records_of(self._table.shape, part.name, columns, places, self._source(self._table), self._headers)
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
        self.rest()
        del self._ranges[0]

    def rest(self) -> None:
        """End the table's lock: who alters the table waits for a range only."""
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
