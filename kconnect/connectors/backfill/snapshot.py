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
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sqlalchemy.engine import URL

from kconnect.api import ConfigError, ConnectError
from kconnect.connectors import databases
from kconnect.connectors.backfill import settings
from kconnect.connectors.backfill.tables import quoted
from kconnect.connectors.sql.answers import Limits, connect

log = logging.getLogger(__name__)

_CONNECT_S = 30.0
_ANSWER_S = 3600.0
_ANSWER_BYTES = 512 << 20
_PASSING_STATES = ("08", "40", "53", "55P03", "57")
_OLDEST = 140000
"""PostgreSQL 14 reads ranges of pages without the rest of the table."""
_ID = re.compile(r"[0-9A-F-]{3,40}")
_DRIVER = types.SimpleNamespace(driver="psycopg")
_KEEPALIVES = {"keepalives_idle": 60, "keepalives_interval": 10, "keepalives_count": 6}
_AS_TEXT = "SELECT " + ", ".join(
    f"set_config('{name}', '{value}', true)"
    for name, value in (
        ("extra_float_digits", "1"),
        ("datestyle", "ISO"),
        ("timezone", "UTC"),
        ("intervalstyle", "postgres"),
        ("bytea_output", "hex"),
        ("xmloption", "content"),
        ("idle_in_transaction_session_timeout", "0"),
        ("statement_timeout", "0"),
    )
)
"""Roles and databases may have settings by which values have other texts, and by which a session ends that waits."""


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
    """Makes the sessions of one backfill. `note` is given each connection of the driver, so that somebody else can end it."""

    def __init__(
        self, config: Mapping[str, Any], worker: Mapping[str, str], note: Callable[[Any], object] = lambda connection: None
    ) -> None:
        self._config, self._note = config, note
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
            **_KEEPALIVES,
        }
        mark = hashlib.sha256(f"{config[settings.DATABASE]}\n{config[settings.SLOT]}".encode()).hexdigest()[:12]
        self.slot = f"kconnect_backfill_{mark}"
        """The slot of the backfill itself: Debezium's is made of it at the end."""
        self._holding = f"kconnect-{mark}:"

    def plain(self, **more: Any) -> Any:
        """Return a connection whose statements are transactions by themselves. psycopg's errors."""
        connection = connect(
            _DRIVER,
            (),
            {"application_name": "kconnect backfill", **self._arguments, **more, "autocommit": True},
            Limits(_ANSWER_BYTES, _ANSWER_S, are_set=False),
            self._note,
            _CONNECT_S,
        )
        if connection.info.server_version < _OLDEST:
            raise ConnectError(
                f"A backfill needs PostgreSQL 14 or later; the server is {connection.info.server_version // 10000}"
            )
        return connection

    def joined(self, wanted: str | None = None) -> tuple[Any, Snapshot]:
        """
        Return a connection within the snapshot that others have, which it offers to others in turn. LostError if nobody has
        one, or not that which sees `wanted`.
        """
        connection = self.plain()
        try:
            lsn = self._begin(connection)
            for identity in self._offered(connection):
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                try:
                    connection.execute(f"SET TRANSACTION SNAPSHOT '{identity}'")
                    found = Snapshot(lsn, self._offer(connection))
                except _errors() as error:
                    log.debug("The snapshot %s can't be joined: %s", identity, error)
                    with contextlib.suppress(Exception):
                        connection.execute("ROLLBACK")
                    continue
                if wanted is None or found.sees == wanted:
                    return connection, found
                connection.execute("ROLLBACK")
        except BaseException:
            connection.close()
            raise
        connection.close()
        raise LostError("No session has the snapshot any more")

    def made(self, tables: Callable[[Any], list[str]]) -> tuple[Any, Snapshot]:
        """
        Make the slot anew, and return a connection within the snapshot at which it begins. `tables` gives those to publish,
        quoted, where the publication is missing. ConnectError if that can't be had.
        """
        with contextlib.closing(self.plain()) as connection:
            self._publish(connection, tables)
            with contextlib.suppress(_missing()):
                connection.execute("SELECT pg_drop_replication_slot(%s)", [self.slot])
        with contextlib.closing(self.plain(replication="database")) as replication:
            made = replication.execute(
                f"CREATE_REPLICATION_SLOT {quoted(self.slot)} LOGICAL pgoutput (SNAPSHOT 'export')"
            ).fetchone()
            identity = made[2]
            joined = self.plain()
            try:
                joined.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                joined.execute(f"SET TRANSACTION SNAPSHOT '{_checked(identity)}'")
                return joined, Snapshot(_number(made[1]), self._offer(joined))
            except BaseException:
                joined.close()
                raise

    def made_again(self) -> tuple[Any, Snapshot]:
        """Return a connection within a new snapshot, with the slot that there is. LostError if there is none."""
        connection = self.plain()
        try:
            lsn = self._begin(connection)
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return connection, Snapshot(lsn, self._offer(connection))
        except BaseException:
            connection.close()
            raise

    def _publish(self, connection: Any, tables: Callable[[Any], list[str]]) -> None:
        """A slot can't tell of changes before its publication was made: so that comes first."""
        name, mode = self._config[settings.PUBLICATION], self._config[settings.PUBLISHING].lower()
        if connection.execute("SELECT FROM pg_publication WHERE pubname = %s", [name]).fetchone() is not None:
            return
        if mode == "disabled":
            raise ConnectError(
                f"There is no publication {name} ({settings.PUBLICATION}), and {settings.PUBLISHING}=disabled: make it, or "
                "have it made"
            )
        what = "ALL TABLES" if mode == "all_tables" else f"TABLE {', '.join(tables(connection))}"
        connection.execute(f"CREATE PUBLICATION {quoted(name)} FOR {what}")

    def _begin(self, connection: Any) -> int:
        found = connection.execute(
            "SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = %s", [self.slot]
        ).fetchone()
        if found is None or found[0] is None:
            raise LostError(f"There is no replication slot {self.slot}")
        return _number(found[0])

    def _offered(self, connection: Any) -> list[str]:
        found = connection.execute(
            "SELECT application_name FROM pg_stat_activity WHERE usename = current_user AND datname = current_database() "
            "AND starts_with(application_name, %s) AND pid <> pg_backend_pid() ORDER BY backend_start",
            [self._holding],
        ).fetchall()
        names = [name.removeprefix(self._holding) for (name,) in found]
        return [name for name in names if _ID.fullmatch(name)]

    def _offer(self, connection: Any) -> str:
        """Export what the transaction sees, and return that."""
        connection.execute(_AS_TEXT)
        identity, sees = connection.execute("SELECT pg_export_snapshot(), pg_current_snapshot()::text").fetchone()
        connection.execute(f"SET LOCAL application_name = '{self._holding}{_checked(identity)}'")
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
        found = connection.execute(
            "SELECT theirs.confirmed_flush_lsn::text, theirs.confirmed_flush_lsn = ours.confirmed_flush_lsn, "
            "pg_current_snapshot()::text FROM pg_replication_slots AS theirs "
            "LEFT JOIN pg_replication_slots AS ours ON ours.slot_name = %s WHERE theirs.slot_name = %s",
            [self.slot, slot],
        ).fetchone()
        if found is None:
            return None
        if not found[1]:
            raise ConnectError(
                f"There is a replication slot {slot} already ({settings.SLOT}): changes since it was made would come twice. If "
                f"nobody needs it, drop it: SELECT pg_drop_replication_slot('{slot}'); or name another one"
            )
        return Snapshot(_number(found[0]), found[2])


def give_up(sessions: Sessions) -> None:
    """Drop the slot of the backfill, if it is there: the database keeps its log for nobody then."""
    with contextlib.closing(sessions.plain()) as connection, contextlib.suppress(_missing()):
        connection.execute("SELECT pg_drop_replication_slot(%s)", [sessions.slot])


def passes(error: Exception) -> bool:
    """Whether another try may succeed: of what PostgreSQL's states say, and of a connection that was lost, which has none."""
    state = getattr(error, "sqlstate", None)
    return state is None or state.startswith(_PASSING_STATES)


def reason(error: Exception) -> str:
    """Return what the database says, in one line, without the statement."""
    diagnosis = getattr(error, "diag", None)
    return str(getattr(diagnosis, "message_primary", None) or " ".join(str(error).split()) or type(error).__name__)


def _checked(identity: str) -> str:
    if not _ID.fullmatch(identity):
        raise ConnectError("The server has answered with the name of a snapshot that is none")
    return identity


def _number(lsn: str) -> int:
    high, _, low = lsn.partition("/")
    return (int(high, 16) << 32) + int(low, 16)


def _errors() -> type[Exception]:
    import psycopg

    return psycopg.Error


def _missing() -> type[Exception]:
    import psycopg

    return psycopg.errors.UndefinedObject
