"""
Sessions of one backfill with a server of MariaDB, and places in its binary log.

A transaction begins with a snapshot of its own, and MariaDB says which place in the log that is, without any lock. No other
session can have the same one. So the change stream begins at a place before all of them, and has what has changed since. Used
by `source.py` and `task.py`.
"""

from __future__ import annotations

import contextlib
import re
import ssl
import types
from collections.abc import Mapping
from typing import Any, NamedTuple

import pymysql
from pymysql.constants import FIELD_TYPE
from pymysql.converters import encoders
from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError

from kconnect import small_files
from kconnect.api import ConfigError, ConnectError
from kconnect.connectors import databases
from kconnect.connectors.backfill.mariadb import settings
from kconnect.connectors.backfill.mariadb.tables import Name
from kconnect.connectors.backfill.settings import ANSWER_BYTES
from kconnect.connectors.sql import database
from kconnect.connectors.sql.answers import Limits, connect
from kconnect.connectors.sql.connections import Connections

_CONNECT_S = 30.0
_ANSWER_S = 3600.0
_DRIVER = types.SimpleNamespace(driver="pymysql")
_OLDEST = (10, 5)
"""Older versions, of whose rights and types other things hold, are no longer kept up by MariaDB."""
_VERSION = re.compile(r"(?:5\.5\.5-)?(\d{1,4})\.(\d{1,4})\.")
_FILE = re.compile(r"[\w.-]{1,500}\.\d{6,}")
_GTIDS = re.compile(r"\d+-\d+-\d+(?:,\d+-\d+-\d+)*")
_DAY_S = 86400
_AS_TEXT = {
    **encoders,
    **dict.fromkeys((FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG, FIELD_TYPE.LONGLONG), int),
    **dict.fromkeys((FIELD_TYPE.FLOAT, FIELD_TYPE.DOUBLE), float),
    **{kind: pymysql.converters.decoders[kind] for kind in (FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL)},
}
"""Times stay texts: Python has no zero dates."""
_SESSION = {
    # Whatever the server and its users have set: times in UTC, names in backticks, all rows, and no end while a task waits.
    **{"time_zone": "'+00:00'", "sql_mode": "''", "old_mode": "''", "sql_quote_show_create": "1"},
    **{"sql_select_limit": str(2**64 - 1), "sql_auto_is_null": "0", "completion_type": "0", "autocommit": "1"},
    **{"max_statement_time": "0", "lock_wait_timeout": "60"},
    **{"wait_timeout": str(7 * _DAY_S), "net_write_timeout": "3600", "idle_transaction_timeout": "0"},
    **{"idle_readonly_transaction_timeout": "0", "character_set_results": "utf8mb4"},
}


class Place(NamedTuple):
    """A place in the server's binary log: the name of a file, and how far in it. `gtids` are all before it, or nothing."""

    file: str
    position: int
    gtids: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.position}"

    @property
    def order(self) -> tuple[int, str, int]:
        """Return what places are compared by: numbers of files get another digit at some time."""
        return len(self.file), self.file, self.position


class Sessions:
    """Makes the sessions of one backfill. `connections` takes note of them, so that somebody else can end what waits."""

    def __init__(self, config: Mapping[str, Any], worker: Mapping[str, str], connections: Connections | None = None) -> None:
        self._config, self._connections = config, connections or Connections()
        host: str = config[settings.HOST]
        if "," in host:
            raise ConfigError(settings.HOST, host, "It has several hosts, but there may be one")
        if host.startswith("/"):
            raise ConfigError(settings.HOST, host, "It is a path: name a host")
        authority = config[settings.CA]
        url = URL.create(
            "mariadb+pymysql",
            config[settings.USER],
            config[settings.PASSWORD].value or None,
            host,
            config[settings.PORT],
            query={"ssl_ca": authority} if authority else {},
        )
        databases.check(settings.HOST, url, worker)
        databases.check_login(settings.HOST, url)
        self._arguments = {
            "host": host,
            "port": config[settings.PORT],
            "user": config[settings.USER],
            # Of a text the driver makes Latin-1.
            "password": (config[settings.PASSWORD].value or "").encode(),
            "connect_timeout": round(_CONNECT_S),
            "charset": "utf8mb4",
            "program_name": "kconnect backfill",
            "autocommit": True,
            "init_command": f"SET {', '.join(f'{name} = {value}' for name, value in _SESSION.items())}",
            "conv": _AS_TEXT,
        }
        mode = config[settings.SSL].lower()
        if mode == "disable":
            self._arguments["ssl_disabled"] = True
        else:
            self._arguments["ssl"] = _context(mode, authority)

    def plain(self, **more: Any) -> Any:
        """Return a connection whose statements are transactions by themselves. pymysql's errors."""
        connection = connect(
            _DRIVER,
            (),
            {**self._arguments, **more},
            Limits(ANSWER_BYTES, _ANSWER_S, are_set=False),
            self._connections.note,
            _CONNECT_S,
        )
        server: str = connection.get_server_info()
        version = _VERSION.match(server) if "mariadb" in server.lower() else None
        if version is None or (int(version[1]), int(version[2])) < _OLDEST:
            connection.close()
            raise ConnectError(f"A backfill needs MariaDB {'.'.join(map(str, _OLDEST))} or later; the server is {server[:100]}")
        return connection

    def raw(self) -> Any:
        """Return a connection that gives bytes: the definition of a table may have some that are no text."""
        return self.plain(use_unicode=False)

    def check_log(self, connection: Any) -> None:
        """Raise ConnectError if the server does not log what Debezium needs."""
        needed = {"log_bin": "ON", "binlog_format": "ROW", "binlog_row_image": "FULL"}
        variables = dict(_rows(connection, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('" + "', '".join(needed) + "')"))
        for name, value in needed.items():
            if variables.get(name) != value:
                raise ConnectError(
                    f"The server has {name} = {variables.get(name)}, and changes can be told with {name} = {value} only: set "
                    "that, and begin the backfill then"
                )

    def check_kept(self, connection: Any, place: Place) -> None:
        """Raise ConnectError if the server has not kept its log from a place on."""
        sizes = {row[0]: row[1] for row in _rows(connection, "SHOW BINARY LOGS")}
        if sizes.get(place.file, -1) < place.position:
            raise ConnectError(
                f"The server has not kept its binary log from {place} on (binlog_expire_logs_seconds, PURGE BINARY LOGS, RESET "
                "MASTER): changes since the copy began are gone. Cancel the backfill, and begin it anew"
            )


def begin(connection: Any, with_gtids: bool = False) -> Place:
    """
    Begin a transaction with a snapshot, and return its place in the binary log. For `with_gtids` the server reads the file of
    its log.
    """
    run(connection, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    run(connection, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
    status = dict(_rows(connection, "SHOW SESSION STATUS LIKE 'binlog_snapshot_%'"))
    file, position = status.get("Binlog_snapshot_file", ""), status.get("Binlog_snapshot_position", "")
    if not _FILE.fullmatch(file) or not str(position).isdecimal():
        raise ConnectError("The server does not say which place in its binary log a snapshot has: is log_bin on?")
    gtids = ""
    if with_gtids:
        [[gtids]] = _rows(connection, "SELECT BINLOG_GTID_POS(%s, %s)", [file, int(position)])
    return Place(file, int(position), gtids if gtids and _GTIDS.fullmatch(gtids) else "")


def now_us(connection: Any) -> int:
    """Return the server's time, in microseconds: workers' clocks may differ."""
    [[now]] = _rows(connection, "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS INTEGER)")
    return int(now)


def definition(raw: Any, name: Name) -> str:
    """Return how a table is made, by a connection that gives bytes. What is no text in it becomes a mark, as in Java."""
    [row] = _rows(raw, f"SHOW CREATE TABLE {name.quoted}")
    return str(row[1].decode("utf-8", "replace"))


def charsets(connection: Any) -> tuple[tuple[str, str], dict[str, tuple[str, str]]]:
    """Return the character set and collation of the server, and those of its databases."""
    [server] = _rows(connection, "SELECT @@GLOBAL.character_set_server, @@GLOBAL.collation_server")
    query = "SELECT SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA"
    return server, {name: (charset, collation) for name, charset, collation in _rows(connection, query)}


def run(connection: Any, statement: str) -> None:
    """Run a statement whose rows, if it has some, nobody needs."""
    with contextlib.closing(connection.cursor()) as cursor:
        cursor.execute(statement)


def _rows(connection: Any, statement: str, arguments: Any = None) -> Any:
    with contextlib.closing(connection.cursor()) as cursor:
        cursor.execute(statement, arguments)
        return cursor.fetchall()


def _context(mode: str, authority: str) -> ssl.SSLContext:
    if mode == "trust":
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context
    try:
        if authority:
            small_files.read(authority)
        context = ssl.create_default_context(cafile=authority or None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(settings.CA, authority, f"It can't be read as certificates in PEM: {error}") from None
    context.check_hostname = mode == "verify-full"
    return context


def passes(error: Exception) -> bool:
    """Whether another try may succeed, by `sql/database.py`, which knows drivers' errors as SQLAlchemy has them."""
    return isinstance(error, pymysql.MySQLError) and database.passes(DBAPIError.instance(None, None, error, pymysql.MySQLError))


def code_of(error: Exception) -> int | None:
    """Return MariaDB's number of an error."""
    return error.args[0] if error.args and isinstance(error.args[0], int) else None
