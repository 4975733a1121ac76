"""
A database: its engine, and what its errors mean.

Errors that may pass lead to another try, bad rows to the dead letters, all others to a failed task. SQLAlchemy names errors
alike for all drivers, but only the drivers know which of them pass. Made by the tasks and the connectors. Read next: `urls.py`.
"""

from __future__ import annotations

import logging
import math
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import URL
from sqlalchemy.exc import (
    DataError,
    DBAPIError,
    IntegrityError,
    InterfaceError,
    NoSuchModuleError,
    OperationalError,
    ProgrammingError,
    SQLAlchemyError,
    StatementError,
)

from kconnect.api import ConfigError, ConnectError
from kconnect.connectors import databases
from kconnect.connectors.sql import mysql_tables, owners, pg_tables, settings, sqlite_tables
from kconnect.connectors.sql.answers import CrowdedError, Limits, TooMuchError
from kconnect.connectors.sql.connections import Connections
from kconnect.connectors.sql.urls import url_of

log = logging.getLogger(__name__)

T = TypeVar("T")

_PASSING_STATES = ("08", "40", "53", "55P03", "57014", "57P")
"""What the SQLSTATEs of PostgreSQL begin with: lost connections, rolled back transactions, no resources, locks, shutdowns."""
_REFUSED = re.compile(
    r"password authentication failed|no password supplied|no pg_hba\.conf entry|pg_hba\.conf rejects|is not permitted to log in"
    r"|(?:role|user|database) \".{0,256}\" does not exist|permission denied for database|authentication failed for user"
)
"""What PostgreSQL says to who may not log in, whose client tells no SQLSTATE then: to ask again may lock the user out."""
_NO_LOGIN_CODES = frozenset((1044, 1045, 1049, 1130, 1698))
"""Of MySQL and MariaDB: the same."""
_PASSING_CODES = frozenset(
    (1040, 1041, 1053, 1105, 1152, 1158, 1159, 1160, 1161, 1205, 1213, 1317, 1927, 2002, 2003, 2006, 2013, 3101)
)
"""Of MySQL and MariaDB: the same."""
_LEGAL = re.compile(r"[A-Z0-9_$]+\Z", re.IGNORECASE)
_SQLITE_PASSING = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_IOERR")
_CONNECT_S = 30.0
_ASKED_S = 300.0
"""For so long who only looks at a database waits for an answer."""
KEEPALIVES = {"keepalives_idle": 60, "keepalives_interval": 10, "keepalives_count": 6}
NEEDED = {
    **{"extra_float_digits": "1", "datestyle": "ISO", "intervalstyle": "postgres", "bytea_output": "hex", "array_nulls": "on"},
    **{"standard_conforming_strings": "on", "transform_null_equals": "off", "quote_all_identifiers": "off"},
}
"""
For a transaction on PostgreSQL, also behind a pool: roles and databases may have settings by which floats lose digits, bytes
are others, dates have another form, nulls within arrays are texts, and types have other names.
"""
_WITHOUT_TRANSACTIONS = frozenset(("myisam", "aria", "memory", "heap", "csv", "archive", "mrg_myisam", "merge"))
_OTHERS = "TRIM(BOTH ',' FROM REPLACE(CONCAT(',', @@sql_mode, ','), ',EMPTY_STRING_IS_NULL,', ','))"
_STRICT = f", sql_mode = CONCAT_WS(',', NULLIF({_OTHERS}, ''), 'STRICT_ALL_TABLES', 'NO_AUTO_VALUE_ON_ZERO')"
_BAD_CODES = frozenset((1048, 1062, 1216, 1217, 1264, 1292, 1364, 1366, 1406, 1451, 1452, 1690, 3819, 4025))
"""Of rows that the table does not take; some come as errors of operation."""


def for_a_transaction(needed: Mapping[str, str]) -> str:
    """Return the statement that gives the transaction under way these settings, as far as the server knows them."""
    return (
        f"SELECT set_config(name, value, true) FROM (VALUES {', '.join(map(str, needed.items()))}) AS needed(name, value) "
        "WHERE current_setting(name, true) IS NOT NULL"
    )


def made_engine(
    config: Mapping[str, Any],
    worker: Mapping[str, str],
    timeout_s: float = _CONNECT_S,
    writes: bool = True,
    connections: Connections | None = None,
) -> sa.Engine:
    """
    An engine without connections. ConfigError if the URL can't be used, or its driver is not installed. `timeout_s` is how long
    it may take to connect, if the URL does not say. `writes`: whether rows are to be written, and not only read. `worker` has
    the worker's limits. `connections` takes note of the engine's. Without them nobody can end a wait, and each has an end.
    """
    url = url_of(config, worker)
    databases.check_login(settings.URL, url)
    longest_s = config[settings.ANSWER_TIME] / 1000 or (math.inf if connections is not None else _ASKED_S)
    try:
        # The task has one connection, and knows when it is lost; another one may look at tables meanwhile.
        engine = sa.create_engine(
            url,
            pool_size=1,
            max_overflow=1,
            hide_parameters=True,
            connect_args=_arguments(url, timeout_s, writes),
            # Its driver would ask for that type by an operator that anybody may have made.
            **({"use_native_hstore": False} if url.get_driver_name() == "psycopg" else {}),
        )
    except NoSuchModuleError:
        text = f"There is no dialect {url.drivername} here: install SQLAlchemy's for this database"
        raise ConfigError(settings.URL, "[hidden]", text) from None
    except ImportError as error:
        text = (
            f"The driver of {url.drivername} is not installed here ({error}): for PostgreSQL, MySQL and MariaDB it comes with "
        )
        raise ConfigError(settings.URL, "[hidden]", f"{text}pip install 'kconnect[sql]'") from None
    # SQLAlchemy's own pattern takes a name that ends in a new line for one that needs no quotes.
    engine.dialect.identifier_preparer.legal_characters = _LEGAL
    limits = Limits(config[settings.ANSWER_SIZE], longest_s)
    (connections or Connections()).attach(engine, limits, _connect_s(url, timeout_s))
    if engine.dialect.name == "sqlite":
        sqlite_tables.guard(engine)
    elif engine.dialect.name in ("mysql", "mariadb"):
        mysql_tables.guard(engine)
    if engine.dialect.name == "sqlite" and writes:
        # Its driver would begin a transaction too late for a savepoint; and who will write is to wait for others at once.
        sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    if engine.dialect.name == "postgresql":
        pg_tables.guard(engine)
        as_they_are = for_a_transaction(NEEDED)
        sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(as_they_are))
        if connections is not None:
            place = shown(engine)
            sa.event.listen(engine, "begin", lambda connection: owners.warn_of_open_schemas(connection, place), once=True)
    return engine


def patiently(
    engine: sa.Engine,
    config: Mapping[str, Any],
    call: Callable[[], T],
    wait: Callable[[float], object] = time.sleep,
    also: tuple[type[Exception], ...] = (),
) -> T:
    """
    Call, and try again what the framework does not: as often as `connection.attempts` says, if the error may pass, or is one of
    `also`. Then raise ConnectError.
    """
    attempts: int = config[settings.ATTEMPTS]
    for attempt in range(1, attempts + 1):
        try:
            return call()
        except SQLAlchemyError as error:
            text = f"The {shown(engine)} says: {reason(error)}"
            if attempt == attempts or not (passes(error) or isinstance(error, also)):
                raise ConnectError(f"It was tried {attempt} times ({settings.ATTEMPTS}). {text}") from None
            log.warning("%s. It is tried again", text)
            wait(config[settings.CONNECT_BACKOFF] / 1000)
    raise AssertionError("there is at least one attempt")


def _connect_s(url: URL, timeout_s: float) -> float:
    timeout = str(url.query.get("connect_timeout", ""))
    return float(timeout) if timeout.isdecimal() and int(timeout) else timeout_s


def _arguments(url: URL, timeout_s: float, writes: bool) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if url.get_backend_name() in ("postgresql", "mysql", "mariadb") and "connect_timeout" not in url.query:
        arguments["connect_timeout"] = max(1, round(timeout_s))
    if url.get_backend_name() == "postgresql":
        arguments["application_name"] = "kconnect"
        # In another one, some texts could not be told, and by SQL_ASCII they would come as bytes.
        arguments["client_encoding"] = "utf8"
        # By the system's own, a machine that is gone is noticed after two hours.
        arguments |= {name: number for name, number in KEEPALIVES.items() if name not in url.query}
    if url.get_driver_name() == "mysqldb":
        arguments["local_infile"] = 0
    if url.get_backend_name() == "sqlite":
        arguments["isolation_level"] = None
    if url.get_backend_name() in ("mysql", "mariadb"):
        # In another one, the server gives question marks for what that has not.
        arguments["charset"] = "utf8mb4"
        # A TIMESTAMP is a point in time, and comes and goes in the zone of the session. Without strict mode, texts that are too
        # long are cut off, and numbers that are too large are others. 0 would be the next number of an AUTO_INCREMENT.
        # A server may have a limit of the rows that a query gives, and says nothing of the others. Without quotes, SQLAlchemy
        # does not see columns in what the server says of a table. And `IS NULL` may be the last number that was given.
        needed = f"sql_select_limit = {2**64 - 1}, sql_quote_show_create = 1, sql_auto_is_null = 0, completion_type = 0"
        arguments["init_command"] = f"SET time_zone = '+00:00', {needed}{_STRICT if writes else ''}"
    return arguments


def shown(engine: sa.Engine) -> str:
    """Return the database's kind and address for messages, without user and password."""
    url = engine.url
    place = f"{url.host or ''}{f':{url.port}' if url.port else ''}/{url.database or ''}" if url.host else url.database or ""
    return f"{url.get_backend_name()} at {place}"


def passes(error: Exception) -> bool:
    """Whether another try may succeed."""
    if not isinstance(error, DBAPIError) or isinstance(error.orig, TooMuchError):
        return False
    if error.connection_invalidated or isinstance(error.orig, CrowdedError):
        return True
    original = error.orig
    state = state_of(original)
    if state is not None:
        return state.startswith(_PASSING_STATES)
    code = _code(original)
    if code is not None:
        return code in _PASSING_CODES
    name = sqlite_code(original)
    if name is not None:
        return name.startswith(_SQLITE_PASSING)
    if "locked" in str(original) or "disk I/O" in str(original):
        return True
    # Without a code, PostgreSQL's client did not reach the server, lost it, or was not let in.
    module = type(original).__module__
    is_of_client = module.startswith("psycopg") and isinstance(error, OperationalError | InterfaceError)
    return is_of_client and not refuses_login(error)


def sqlite_code(original: object) -> str | None:
    """Return the name of SQLite's code; None for another database, and before Python 3.11. Its text may have others' words."""
    name = getattr(original, "sqlite_errorname", None)
    return name if isinstance(name, str) else None


def refuses_login(error: Exception) -> bool:
    """Whether the server knows no such user, password or database, or does not let this one in."""
    original = getattr(error, "orig", None)
    state = state_of(original)
    if state is not None:
        return state.startswith(("28", "3D"))
    return _code(original) in _NO_LOGIN_CODES or (
        type(original).__module__.startswith("psycopg") and _REFUSED.search(str(original)) is not None
    )


def has_transactions(table: sa.Table) -> bool:
    """Return whether a statement that fails, or is rolled back, leaves nothing in a table: by its engine, if it has one."""
    return are_of_transactions(table.kwargs)


def are_of_transactions(options: Mapping[str, Any]) -> bool:
    """The same of a table's options."""
    engine = next((str(value) for name, value in options.items() if name.endswith("_engine")), "")
    return engine.lower() not in _WITHOUT_TRANSACTIONS


def is_bad_row(error: Exception) -> bool:
    """Whether it is a row's own fault."""
    if isinstance(error, UnicodeEncodeError):
        return True  # A text with half of a pair of surrogates.
    if isinstance(error, StatementError) and not isinstance(error, DBAPIError):
        return True  # A value that the type of its column does not take.
    if not isinstance(error, DBAPIError) or passes(error):
        return False
    if isinstance(error, DataError | IntegrityError):
        return True
    state = state_of(error.orig)
    if state is not None:
        # 21: two keys are one to the database, such as two texts that differ in blanks, or NaN, which equals itself there.
        return state.startswith(("21", "22", "23")) or state == "42804"
    if isinstance(error, ProgrammingError) and type(error.orig).__module__.startswith("psycopg"):
        return True  # A value of a type that the driver does not know.
    if _code(error.orig) is not None:
        return _code(error.orig) in _BAD_CODES or str(getattr(error.orig, "sqlstate", None)).startswith(("21", "22", "23"))
    return "datatype mismatch" in str(error.orig)


def reason(error: Exception) -> str:
    """Return what the database says, in one line, without the statement and its values."""
    original = getattr(error, "orig", None) or error
    diagnosis = getattr(original, "diag", None)
    text = getattr(diagnosis, "message_primary", None)
    if text:
        column = getattr(diagnosis, "column_name", None)
        return f"{text} (column {column})" if column and column not in text else str(text)
    arguments: Any = getattr(original, "args", ())
    if len(arguments) == 2 and isinstance(arguments[0], int):
        return str(arguments[1])
    return " ".join(str(original).split()) or type(original).__name__


def state_of(original: Any) -> str | None:
    """Return PostgreSQL's SQLSTATE. PyMySQL has one, too, since 1.2, which says less than its code: HY000 is many things."""
    state = getattr(original, "sqlstate", None)
    return None if state is None or _code(original) is not None else str(state)


def _code(original: Any) -> int | None:
    """MySQL's."""
    arguments: Any = getattr(original, "args", ())
    return arguments[0] if arguments and isinstance(arguments[0], int) else None
