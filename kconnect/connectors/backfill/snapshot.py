"""
One snapshot of a PostgreSQL database that many sessions share, and the replication slot that begins exactly there.

The slot keeps all changes since. So if the last session is lost, which happens when the whole of a worker ends or the database
is restarted, what is not read yet is read from another snapshot: its changes since the slot's place come again, and the last of
a key counts.

A snapshot lives as long as one session that has it. Each session exports it again, and says under which name in its
`application_name`: so whoever comes later, a task that was restarted or the connector itself, takes it from any that is still
there. What a session says is believed of our own user's only, and then it must be the very snapshot. Used by `source.py` and
`task.py`.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import time
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import psycopg
from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError

from kconnect.api import ConfigError, ConnectError
from kconnect.connectors import databases
from kconnect.connectors.backfill import settings
from kconnect.connectors.backfill.tables import Name, quoted
from kconnect.connectors.sql import database
from kconnect.connectors.sql.answers import Limits, connect
from kconnect.connectors.sql.connections import Connections

log = logging.getLogger(__name__)

_CONNECT_S = 30.0
_ANSWER_S = 3600.0
_PAUSE_S = 0.1
_TRIES = 5
_NEW_TABLES = "Tables were made again and again while the copy was to begin: try again later"
_WITH_FILTERS = 150000
_WHICH_TABLES = (
    *(settings.TABLES_IN, settings.TABLES_OUT, settings.SCHEMAS_IN, settings.SCHEMAS_OUT),
    settings.PUBLICATION,
)
_OLDEST = 140000
"""PostgreSQL 14 reads ranges of pages without the rest of the table."""
_ID = re.compile(r"[0-9A-F-]{3,40}")
_DRIVER = types.SimpleNamespace(driver="psycopg")
_AS_TEXT = database.for_a_transaction(
    {
        **database.NEEDED,
        **{"timezone": "UTC", "xmloption": "content"},
        **dict.fromkeys(
            ("idle_in_transaction_session_timeout", "statement_timeout", "lock_timeout", "transaction_timeout"), "0"
        ),
        # Rows come in the order of their places, of which one is a range's offset.
        **{"synchronize_seqscans": "off", "max_parallel_workers_per_gather": "0"},
        # A table that has got row-level security since it was looked at is an error: its policies call functions of its owner.
        **{"row_security": "off"},
    }
)
"""
Roles and databases may have settings by which values have other texts, rows another order, and sessions that wait an end. Not
every version knows all of these.
"""
_PATH = "SET search_path TO pg_catalog"
"""Otherwise whoever may make functions in a schema of the path has them called by our user."""


class Snapshot(NamedTuple):
    """`lsn` is where the change stream begins, `sees` are the transactions of the snapshot, as PostgreSQL writes them."""

    lsn: int
    sees: str

    @property
    def transaction(self) -> int:
        """The number of the first transaction that it does not see."""
        return int(self.sees.split(":")[1])


class LostError(ConnectError):
    """Nobody has the snapshot any more."""


class Sessions:
    """Makes the sessions of one backfill. `connections` takes note of them, so that somebody else can end what waits."""

    def __init__(self, config: Mapping[str, Any], worker: Mapping[str, str], connections: Connections | None = None) -> None:
        self._config, self._connections = config, connections or Connections()
        host: str = config[settings.HOST]
        if "," in host:
            raise ConfigError(settings.HOST, host, "It has several hosts, but there may be one")
        query = {"sslmode": config[settings.SSL].lower(), **({"sslrootcert": root} if (root := config[settings.ROOT]) else {})}
        url = URL.create(
            "postgresql+psycopg",
            config[settings.USER],
            config[settings.PASSWORD].value or None,
            host,
            config[settings.PORT],
            config[settings.DATABASE],
            query,
        )
        databases.check(settings.HOST, url, worker)
        databases.check_login(settings.HOST, url)
        self._arguments = {
            "host": host,
            "port": config[settings.PORT],
            "user": config[settings.USER],
            "password": config[settings.PASSWORD].value or "",
            "dbname": config[settings.DATABASE],
            **query,
            "connect_timeout": round(_CONNECT_S),
            "client_encoding": "utf8",
            **database.KEEPALIVES,
        }
        mark = _mark(config, settings.DATABASE, settings.SLOT)
        self._slots = f"kconnect_backfill_{mark}_"
        # With other tables another one is needed: the old one's publication may have lacked them.
        self.slot = self._slots + _mark(config, *_WHICH_TABLES)
        """The slot of the backfill itself: Debezium's is made of it at the end."""
        self._holding = f"kconnect-{mark}:"

    def plain(self, **more: Any) -> Any:
        """Return a connection whose statements are transactions by themselves. psycopg's errors."""
        connection = connect(
            _DRIVER,
            (),
            {"application_name": "kconnect backfill", **self._arguments, **more, "autocommit": True},
            Limits(settings.ANSWER_BYTES, _ANSWER_S, are_set=False),
            self._connections.note,
            _CONNECT_S,
        )
        version = connection.info.server_version
        if version < _OLDEST:
            connection.close()
            raise ConnectError(f"A backfill needs PostgreSQL 14 or later; the server is {version // 10000}")
        connection.execute(_PATH)
        return connection

    def joined(self, wanted: str | None = None) -> tuple[Any, Snapshot]:
        """
        Return a connection within the snapshot that others have, which it offers to others in turn. LostError if nobody has
        one, or not that which sees `wanted`.
        """
        connection = self.plain()
        try:
            lsn = self._begin(connection)
            for identity in self._offered(connection, lsn):
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                try:
                    connection.execute(f"SET TRANSACTION SNAPSHOT '{identity}'")
                    snapshot = Snapshot(lsn, self._offer(connection, lsn))
                except psycopg.Error as error:
                    log.debug("The snapshot %s can't be joined: %s", identity, error)
                    with contextlib.suppress(Exception):
                        connection.execute("ROLLBACK")
                    continue
                if wanted is None or snapshot.sees == wanted:
                    return connection, snapshot
                connection.execute("ROLLBACK")
        except BaseException:
            connection.close()
            raise
        connection.close()
        raise LostError("No session has the snapshot any more")

    def made(self, tables: Callable[[Any], Sequence[Name]]) -> tuple[Any, Snapshot]:
        """
        Make the slot anew, and return a connection within the snapshot at which it begins. `tables` gives those to publish.
        ConnectError if that can't be had, or if the backfill has begun with other tables.
        """
        for _ in range(_TRIES):
            with contextlib.closing(self.plain()) as connection:
                self._require_only(connection)
                published = tables(connection)
                self._publish(connection, published)
                self.drop(connection)
            joined, snapshot = self._slot_made()
            if self._are_all(joined, published, tables):
                return joined, snapshot
        raise ConnectError(_NEW_TABLES)

    def _slot_made(self) -> tuple[Any, Snapshot]:
        with contextlib.closing(self.plain(replication="database")) as replication:
            slot = replication.execute(
                f"CREATE_REPLICATION_SLOT {quoted(self.slot)} LOGICAL pgoutput (SNAPSHOT 'export')"
            ).fetchone()
            identity = slot[2]
            joined = self.plain()
            try:
                joined.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                joined.execute(f"SET TRANSACTION SNAPSHOT '{_checked(identity)}'")
                lsn = _number(slot[1])
                return joined, Snapshot(lsn, self._offer(joined, lsn))
            except BaseException:
                joined.close()
                raise

    def _are_all(self, joined: Any, published: Sequence[Name], tables: Callable[[Any], Sequence[Name]]) -> bool:
        """Return whether a snapshot has no table that is newer than what was published; else its connection is closed."""
        try:
            are_all = set(tables(joined)) <= set(published)
        except BaseException:
            joined.close()
            raise
        if not are_all:
            joined.close()
        return are_all

    def _require_only(self, connection: Any) -> None:
        """
        Raise ConnectError if the backfill has begun with other tables, or another publication. A slot that is made now begins
        later than the first one: rows that were copied and deleted in between would stay in the topics.
        """
        earlier = connection.execute(
            "SELECT slot_name::text FROM pg_replication_slots WHERE starts_with(slot_name::text, %s) AND slot_name <> %s "
            "AND database = current_database()",
            [self._slots, self.slot],
        ).fetchone()
        if earlier is not None:
            raise ConnectError(
                f"A backfill for the slot {self._config[settings.SLOT]} has begun with other tables or another publication, "
                f"and its replication slot {earlier[0]} is there. Change them back, or cancel the backfill and begin it anew. "
                f"If nobody needs that slot, drop it: SELECT pg_drop_replication_slot('{earlier[0]}')"
            )

    def made_again(self, tables: Callable[[Any], Sequence[Name]]) -> tuple[Any, Snapshot]:
        """
        Return a connection within a new snapshot, with the slot that there is. LostError if there is none. `tables` gives those
        to publish, of which some may be newer than the slot: the publication has them before the snapshot is taken.
        """
        for _ in range(_TRIES):
            connection = self.plain()
            try:
                lsn, published = self._begin(connection), tables(connection)
                if self._publish(connection, published):
                    self._await_writers(connection)
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                snapshot = Snapshot(lsn, self._offer(connection, lsn))
            except BaseException:
                connection.close()
                raise
            if self._are_all(connection, published, tables):
                return connection, snapshot
        raise ConnectError(_NEW_TABLES)

    def _await_writers(self, connection: Any) -> None:
        """
        Wait until all transactions have ended that may have changed a table before its publication had it. Neither a snapshot
        from before their end nor the stream has these changes. Who makes a slot waits for them, too.
        """
        [now] = connection.execute("SELECT pg_current_xact_id()::text").fetchone()
        is_told = False
        while connection.execute("SELECT pg_snapshot_xmin(pg_current_snapshot()) <= %s::xid8", [now]).fetchone() == (True,):
            if not is_told:
                log.info("The publication has got tables: transactions that may have changed them before are waited for")
                is_told = True
            time.sleep(_PAUSE_S)

    def drop(self, connection: Any, handed_over: bool = False) -> None:
        """
        Drop the slots of the backfill, this one's and those that it had with other tables; with `handed_over` Debezium's, too,
        if it was made of ours and nobody has begun to read it. ConnectError if one is in use: one that stayed would keep the
        database's log for nobody.
        """
        if handed_over:
            connection.execute(
                "SELECT pg_drop_replication_slot(theirs.slot_name) FROM pg_replication_slots AS theirs "
                "JOIN pg_replication_slots AS ours ON ours.confirmed_flush_lsn = theirs.confirmed_flush_lsn "
                "WHERE theirs.slot_name = %s AND ours.slot_name = %s AND theirs.database = current_database() "
                "AND NOT theirs.active",
                [self._config[settings.SLOT], self.slot],
            )
        ours = "FROM pg_replication_slots WHERE starts_with(slot_name::text, %s) AND database = current_database()"
        connection.execute(f"SELECT pg_drop_replication_slot(slot_name) {ours} AND NOT active", [self._slots])
        busy = connection.execute(f"SELECT slot_name::text, active_pid {ours}", [self._slots]).fetchone()
        if busy is not None:
            raise ConnectError(
                f"The replication slot {busy[0]} is in use by the server's process {busy[1]}: try again, or end that one by "
                f"SELECT pg_terminate_backend({busy[1]})"
            )

    def _publish(self, connection: Any, tables: Sequence[Name]) -> bool:
        """
        Have all tables published. A slot can't tell of changes before its publication had their table: so that comes first.
        Return whether the publication has changed.
        """
        name, mode = self._config[settings.PUBLICATION], self._config[settings.PUBLISHING].lower()
        publication = connection.execute(
            "SELECT pubinsert AND pubupdate AND pubdelete FROM pg_publication WHERE pubname = %s", [name]
        ).fetchone()
        if publication is not None:
            if not publication[0]:
                raise ConnectError(
                    f"The publication {name} ({settings.PUBLICATION}) leaves out inserts, updates or deletions: "
                    f"ALTER PUBLICATION {quoted(name)} SET (publish = 'insert, update, delete, truncate'); or name another one"
                )
            return self._add_missing(connection, name, mode, tables)
        if mode == "disabled":
            raise ConnectError(
                f"There is no publication {name} ({settings.PUBLICATION}), and {settings.PUBLISHING}=disabled: make it, or "
                "have it made"
            )
        what = "ALL TABLES" if mode == "all_tables" else f"TABLE {', '.join(table.quoted for table in tables)}"
        connection.execute(f"CREATE PUBLICATION {quoted(name)} FOR {what}")
        return True

    def _add_missing(self, connection: Any, name: str, mode: str, tables: Sequence[Name]) -> bool:
        """Have a publication that is there publish all tables as a whole. ConnectError if it does not, and is not ours."""
        published = connection.execute(
            "SELECT schemaname::text, tablename::text FROM pg_publication_tables WHERE pubname = %s", [name]
        ).fetchall()
        missing = sorted(table.quoted for table in tables if (table.schema, table.table) not in published)
        if missing and mode == "filtered":
            connection.execute(f"ALTER PUBLICATION {quoted(name)} ADD TABLE {', '.join(missing)}")
        elif missing:
            raise ConnectError(
                f"The publication {name} ({settings.PUBLICATION}) lacks tables that are to be read: ALTER PUBLICATION "
                f"{quoted(name)} ADD TABLE {', '.join(missing)}; or name another one"
            )
        if connection.info.server_version < _WITH_FILTERS:
            return bool(missing)
        for table in tables:
            partly = connection.execute(
                "SELECT FROM pg_publication_rel AS r JOIN pg_publication AS p ON p.oid = r.prpubid "
                "WHERE p.pubname = %s AND r.prrelid = %s::regclass AND (r.prqual IS NOT NULL OR r.prattrs IS NOT NULL)",
                [name, table.quoted],
            ).fetchone()
            if partly is not None:
                raise ConnectError(
                    f"The publication {name} ({settings.PUBLICATION}) has only some rows or columns of {table}: name another"
                )
        return bool(missing)

    def _begin(self, connection: Any) -> int:
        slot = connection.execute(
            "SELECT confirmed_flush_lsn::text, wal_status FROM pg_replication_slots WHERE slot_name = %s", [self.slot]
        ).fetchone()
        if slot is None or slot[0] is None:
            raise LostError(f"There is no replication slot {self.slot}")
        self._require_kept(slot[1])
        return _number(slot[0])

    def _require_kept(self, wal_status: str | None) -> None:
        if wal_status == "lost":
            raise ConnectError(
                f"The database has not kept its log for the replication slot {self.slot} (max_slot_wal_keep_size): changes "
                "since the copy began are gone. Cancel the backfill, and begin it anew"
            )

    def check(self, session: Any) -> None:
        """Raise ConnectError if the slot can't be gone on from any more; psycopg's errors if the session is gone."""
        slot = session.execute(
            "SELECT wal_status FROM pg_catalog.pg_replication_slots WHERE slot_name = %s", [self.slot]
        ).fetchone()
        if slot is None:
            raise ConnectError(
                f"The replication slot {self.slot} of the backfill is gone: cancel the backfill, and begin it anew"
            )
        self._require_kept(slot[0])

    def held(self, session: Any) -> tuple[int, int]:
        """
        Return how many transactions there have been since the snapshot, whose rows VACUUM can't remove, and how many bytes of
        the log the slot keeps. psycopg's errors.
        """
        slot = session.execute(
            "SELECT age(pg_snapshot_xmin(pg_current_snapshot())::xid), "
            "pg_wal_lsn_diff(pg_current_wal_insert_lsn(), restart_lsn)::int8 "
            "FROM pg_catalog.pg_replication_slots WHERE slot_name = %s",
            [self.slot],
        ).fetchone()
        return (0, 0) if slot is None else (max(slot[0], 0), max(slot[1] or 0, 0))

    def _holding_at(self, lsn: int) -> str:
        """The beginning of the names of sessions: of this very slot, for one before it may have left some behind."""
        return f"{self._holding}{lsn:x}:"

    def _offered(self, connection: Any, lsn: int) -> list[str]:
        sessions = connection.execute(
            "SELECT application_name FROM pg_stat_activity WHERE usename = session_user AND datname = current_database() "
            "AND starts_with(application_name, %s) AND pid <> pg_backend_pid() ORDER BY backend_start",
            [self._holding_at(lsn)],
        ).fetchall()
        names = [name.removeprefix(self._holding_at(lsn)) for (name,) in sessions]
        return [name for name in names if _ID.fullmatch(name)]

    def _offer(self, connection: Any, lsn: int) -> str:
        """Export what the transaction sees, and return that."""
        connection.execute(_AS_TEXT)
        identity, sees = connection.execute("SELECT pg_export_snapshot(), pg_current_snapshot()::text").fetchone()
        connection.execute(f"SET LOCAL application_name = '{self._holding_at(lsn)}{_checked(identity)}'")
        return str(sees)

    def hand_over(self) -> None:
        """
        Make Debezium's slot begin where ours does, which stays until the offsets are reset. To do it again changes nothing.
        ConnectError if there is a slot of that name that begins elsewhere.
        """
        with contextlib.closing(self.plain()) as connection:
            slot = self._config[settings.SLOT]
            slots = dict(
                connection.execute(
                    "SELECT slot_name::text, confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name IN (%s, %s)",
                    [slot, self.slot],
                ).fetchall()
            )
            if self.slot not in slots:
                raise ConnectError(f"The replication slot {self.slot} of the backfill is gone: begin it anew")
            if slot not in slots:
                connection.execute("SELECT pg_copy_logical_replication_slot(%s, %s)", [self.slot, slot])
            elif slots[slot] != slots[self.slot]:
                raise ConnectError(
                    f"There is a replication slot {slot} already ({settings.SLOT}), which begins elsewhere than the backfill. "
                    f"If nobody needs it, drop it: SELECT pg_drop_replication_slot('{slot}')"
                )

    def handed_over(self, connection: Any) -> Snapshot | None:
        """
        Return where Debezium's slot begins, if it was made of ours. ConnectError if it was not, and is there: the stream would
        not begin with the snapshot.
        """
        slot = self._config[settings.SLOT]
        slots = connection.execute(
            "SELECT theirs.confirmed_flush_lsn::text, theirs.confirmed_flush_lsn = ours.confirmed_flush_lsn, "
            "pg_current_snapshot()::text FROM pg_replication_slots AS theirs "
            "LEFT JOIN pg_replication_slots AS ours ON ours.slot_name = %s WHERE theirs.slot_name = %s",
            [self.slot, slot],
        ).fetchone()
        if slots is None:
            return None
        if not slots[1]:
            raise ConnectError(
                f"There is a replication slot {slot} already ({settings.SLOT}): changes since it was made would come twice. If "
                f"nobody needs it, drop it: SELECT pg_drop_replication_slot('{slot}'); or name another one"
            )
        return Snapshot(_number(slots[0]), slots[2])


def _mark(config: Mapping[str, Any], *names: str) -> str:
    return hashlib.sha256("\n".join(str(config[name]) for name in names).encode()).hexdigest()[:12]


def passes(error: Exception) -> bool:
    """Whether another try may succeed, by `sql/database.py`, which knows drivers' errors as SQLAlchemy has them."""
    return isinstance(error, psycopg.Error) and database.passes(DBAPIError.instance(None, None, error, psycopg.Error))


def _checked(identity: str) -> str:
    if not _ID.fullmatch(identity):
        raise ConnectError("The server has answered with the name of a snapshot that is none")
    return identity


def _number(lsn: str) -> int:
    high, _, low = lsn.partition("/")
    return (int(high, 16) << 32) + int(low, 16)
