"""
The task: reads its ranges one after the other, each from behind its last key, and makes of rows what Debezium would.

Each range is read from a snapshot of its own, which is no older than the place where the change stream begins: a transaction
keeps all tables that it has read from being altered, until it ends. Nothing is read before that place is in Kafka, for which
the first task sees. Started by `source.py`. Read next: `tables.py`, `sessions.py`.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pymysql
from pymysql.cursors import SSCursor

from kconnect.api import ConnectError, Header, OffsetOnly, RetriableError, SourceRecord, Struct
from kconnect.connectors.backfill.mariadb import settings
from kconnect.connectors.backfill.mariadb.progress import Beginning, beginning_partition, is_done, partition_of
from kconnect.connectors.backfill.mariadb.sessions import Place, Sessions, begin, code_of, definition, passes, run
from kconnect.connectors.backfill.mariadb.tables import BEGIN_ANEW, SOURCE, Plan, Range, Table, look, ranges
from kconnect.connectors.backfill.range_task import RangeTask
from kconnect.connectors.backfill.records import headers_of, records_of
from kconnect.connectors.sql.answers import TooMuchError
from kconnect.connectors.sql.database import reason

log = logging.getLogger(__name__)

_ALTERED = frozenset((1054, 1412))
"""A column that is gone, and a table that was altered since the snapshot: a newer one has the table as it is."""
_GONE = 1146
_OPEN_S = 10.0
"""For so long a table can't be altered at most, however long its range is: the rest is read from another snapshot."""


class MariaDbBackfillTask(RangeTask):
    config_def = settings.CONFIG

    def __init__(self) -> None:
        super().__init__()
        self._cursor: Any = None
        self._table: Table | None = None
        self._is_open = False
        """Whether a range is being read, and its table can't be altered."""
        self._open_until = 0.0
        self._has_begun = False
        self._is_told = False

    def take_over(self, told: Mapping[str, Any], share: Mapping[str, Any]) -> None:
        self._sessions = Sessions(self._config, self.worker, self._connections)
        plans = [Plan.of_json(each) for each in share["tables"]]
        self._beginning = Beginning(Place(told["file"], told["pos"], told["gtids"]), told["taken_us"], plans)
        self.share(ranges(plans), share)
        self._headers = self._made_headers()

    def partition_of(self, part: Range) -> dict[str, Any]:
        return partition_of(self._beginning, part)

    def is_done(self, offset: Mapping[str, Any] | None) -> bool:
        return is_done(offset)

    def _made_headers(self) -> tuple[Header, ...]:
        if self._config[settings.HEADERS].lower() == "false":
            return ()
        # One for all tasks of one backfill.
        run_id = uuid.uuid5(uuid.NAMESPACE_OID, f"{self._beginning.place}:{self._beginning.taken_us}")
        return headers_of(self._config[settings.PREFIX], "mariadb", str(run_id))

    def read_some(self) -> list[SourceRecord] | None:
        if not self._has_begun:
            noted = self._note_beginning()
            if not self._has_begun:
                return noted
        return self._read(*self._ranges[0])

    def attempt(self, read: Callable[[], list[SourceRecord] | None]) -> list[SourceRecord] | None:
        part = self._ranges[0][0]
        try:
            return read()
        except (pymysql.MySQLError, UnicodeError) as error:
            self.release()
            if code_of(error) in _ALTERED:
                log.info("%s was altered since the snapshot: what is left of it is read from another one", part.name)
                return None
            if code_of(error) == _GONE:
                raise ConnectError(f"{part.name} was dropped or renamed since the copy began. {BEGIN_ANEW}") from None
            if isinstance(error, TooMuchError):
                self.distrust_weight(part.name)
            elif not passes(error):
                raise ConnectError(f"{part.name} can't be read. The database says: {reason(error)}") from None
            raise RetriableError(f"The database says: {reason(error)}") from None

    def _note_beginning(self) -> list[SourceRecord] | None:
        """
        See whether the place where the stream begins is in Kafka, and have it noted if it is not.

        Whoever restarted the connector before that would begin at a later place, and rows that were deleted in between would
        stay in the topic.
        """
        stored = self.context.offsets.offset(beginning_partition())
        if stored is not None and Beginning.of_offset(stored).same_as(self._beginning):
            self._has_begun = True
            self.context.waits_for(None)
            return None
        if stored is None and self.is_first and not self._is_told:
            self._is_told = True
            return [OffsetOnly(beginning_partition(), self._beginning.as_offset())]
        self.context.waits_for("the place where the change stream begins to be in Kafka (offset.flush.interval.ms)")
        self.pause()
        return None

    def keep(self) -> None:
        """Nobody needs the session any more."""
        self.release()

    def _read(self, part: Range, offset: dict[str, Any]) -> list[SourceRecord]:
        if self._connection is None:
            self._connection = self._sessions.plain()
        table = self._opened(part)
        if not table.order and self._cursor is None:
            # Rows without an order: who is interrupted begins with the first one again.
            offset = {}
            self.begin_again()
        count = self.count()
        rows = self._rows(table, part, offset, count)
        over = len(rows) < count
        partition = self.partition_of(part)
        after = {**offset, "sees": str(self._beginning.place), "rows": offset.get("rows", 0) + len(rows)}
        if over:
            after["done"] = True
        if not rows:
            self._end_range()
            return [OffsetOnly(partition, after)]
        width = len(table.order)
        if width:
            after["key"] = json.dumps(rows[-1][:width])
        self.weigh(rows, [place + width for place in table.shape.long])
        columns = list(zip(*rows))[width:]
        places = partition, offset or {"rows": 0}, after
        records = records_of(table.shape, part.name, columns, places, self._source(table), self._headers)
        if over:
            self._end_range()
        else:
            self._ranges[0] = part, after
            if time.monotonic() > self._open_until:
                self.rest()
        return records

    def _opened(self, part: Range) -> Table:
        """Have a snapshot, and the table as it is in it. ConnectError if its key is another one."""
        if self._is_open:
            assert self._table is not None
            return self._table
        if self._table is not None and self._table.name != part.name:
            self.forget_weight()
        place = begin(self._connection)
        if place.order < self._beginning.place.order:
            raise ConnectError(
                f"The server's binary log ends at {place}, before {self._beginning.place}, where the copy began: is it another "
                "server? Cancel the backfill, and begin it anew"
            )
        with contextlib.closing(self._sessions.raw()) as raw:
            self._table = look(self._connection, definition(raw, part.name), part.name, self._config)
        # Only the newest ones are known to who ends what waits.
        self._connections.note(self._connection)
        if self._table.key != part.key:
            raise ConnectError(f"The key of {part.name} was altered since the copy began. {BEGIN_ANEW}")
        self._is_open = True
        self._open_until = time.monotonic() + _OPEN_S
        return self._table

    def _rows(self, table: Table, part: Range, offset: Mapping[str, Any], count: int) -> Sequence[Sequence[Any]]:
        if table.order:
            last = json.loads(offset["key"]) if "key" in offset else None
            with contextlib.closing(self._connection.cursor()) as cursor:
                cursor.execute(table.statement(part, last, count))
                found: Sequence[Sequence[Any]] = cursor.fetchall()
                return found
        if self._cursor is None:
            self._cursor = self._connection.cursor(SSCursor)
            self._cursor.execute(table.statement(part, None, count))
        fetched: Sequence[Sequence[Any]] = self._cursor.fetchmany(count)
        return fetched

    def _end_range(self) -> None:
        self._cursor = None
        self.rest()
        del self._ranges[0]

    def rest(self) -> None:
        """
        End the snapshot, and with it the table's lock: who alters the table waits for a range only. A table that is read in one
        go is read on.
        """
        if self._is_open and self._cursor is None:
            self._is_open = False
            run(self._connection, "ROLLBACK")

    def _source(self, table: Table) -> Struct:
        # The times of the log, which later changes have, are seconds.
        place, taken_s = self._beginning.place, self._beginning.taken_us // 1_000_000
        return Struct(
            SOURCE,
            {
                "version": self._config[settings.VERSION],
                "connector": "mariadb",
                "name": self._config[settings.PREFIX],
                "ts_ms": taken_s * 1000,
                "snapshot": "true",
                "db": table.name.database,
                "ts_us": taken_s * 1_000_000,
                "ts_ns": taken_s * 1_000_000_000,
                "table": table.name.table,
                "server_id": 0,
                "file": place.file,
                "pos": place.position,
                "row": 0,
            },
        )

    def release(self) -> None:
        connection, self._connection, self._cursor, self._table = self._connection, None, None, None
        self._is_open = False
        if connection is not None:
            # Without a word to the server, for there may be rows on the way that nobody wants.
            connection._force_close()
