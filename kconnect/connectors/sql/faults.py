"""
Faults: whether a database, or its driver, complains of what a record has, or of something that all records would meet.

A record brings values, and with auto.create and auto.evolve the names of columns: what is wrong with these goes the way of bad
records. A database that is away, full, read-only, or has no table or right for us is none of a record's doing. Used by
`statements.py` and `tables.py`; what passes by itself is known to `database.py`.
"""

from __future__ import annotations

import re

from sqlalchemy import exc

from kconnect.connectors.common import MISFITS
from kconnect.connectors.sql import database

_ROW_STATES = ("09", "22", "23", "27", "2F", "38", "39", "44", "54", "0A", "P0", "42804", "42846", "428C9")
"""
PostgreSQL's of values: data, constraints, views with a check, limits, what is not supported, triggers and functions, types,
identities.
"""
_OWN_CLASSES = (
    "01 02 03 08 09 0A 0B 0F 0L 0P 0Z 10 20 21 22 23 24 25 26 27 28 2B 2D 2F 34 38 39 3B 3D 3F 40 42 44 53 54 55 57 58 72 "
    "F0 HV P0 XX CR XC XK"
)
"""What states of PostgreSQL begin with, and of who speaks as it does. Any other is one that a trigger has raised."""
_POLICY_STATE, _POLICY_CHECK = "42501", "ExecWithCheckOptions"
"""A row that a policy refuses has the state of a missing right. Its function has one name in all languages."""
_VALUE_CONTEXT = re.compile(r"^COPY [^,\n]+, \S+ \d+, \S+ \S", re.MULTILINE)
"""
What PostgreSQL says, in any language, of a text that is read as a column's type: COPY t, line 2, column v. Types have states of
all kinds for such a text: a tsvector that of a syntax error, a regclass that of a missing table, hstore and PostGIS that of an
internal error.
"""
_NO_VALUE_STATES = ("08", "25", "28", "40", "53", "55", "57", "58", "F0", "XX001", "XX002")
"""Those that no text has: it may be read while the disk is full, or the server stops."""
_TARGET_STATES = ("08", "25", "28", "3D", "3F", "40", "42501", "42P01", "42P07", "53", "55", "57", "58", "F0", "XX")
"""PostgreSQL's of what all records would meet: connections, logins, rights, a missing schema, no room, locks, operators."""
_ROW_CODES = frozenset(
    (1071, 1118, 1153, 1265, 1267, 1300, 1366, 1367, 1369, 1411, 1441, 1526, 1644, 1690, 1748, 3140, 3156, 4078)
)
"""
MySQL's and MariaDB's of values, beside those that `database.py` has: charsets, lengths of keys, packets, views with a check,
partitions, triggers, JSON.
"""
_RAISED = "45"
"""What the state of an error that a trigger has raised begins with, whatever code it has given it."""
_TARGET_CODES = frozenset(
    (1005, 1021, 1030, 1037, 1041, 1044, 1045, 1046, 1049, 1114, 1142, 1143, 1146, 1227, 1290, 1792, 1836, 2002, 2003, 3024)
)
"""Theirs of logins, rights, missing tables, no room, read-only servers."""
_NO_RIGHT_STATE, _NO_RIGHT_CODES = "42501", frozenset((1044, 1142, 1143, 1227))
_CHANGED_STATES, _CHANGED_CODES = ("42703", "42P01"), frozenset((1054, 1146))
_SQLITE_CHANGED = ("no such column", "has no column named", "no such table")
_SQLITE_ROW = ("binding parameter", "malformed JSON", "integer overflow")
_SQLITE_TARGET_CODES = tuple(
    f"SQLITE_{name}" for name in ("BUSY", "LOCKED", "READONLY", "CANTOPEN", "IOERR", "FULL", "CORRUPT", "NOTADB")
)
_SQLITE_TARGET = ("locked", "readonly", "read-only", "unable to open", "disk", "malformed", "no such table", "not a database")


def is_of_row(error: Exception) -> bool:
    """Whether a statement has failed for the values of a row, so that it will fail for them again, and for no others."""
    if isinstance(error, MISFITS):
        return True  # Before the database has seen it: the driver can't send such a value.
    if not isinstance(error, exc.DBAPIError) or database.passes(error):
        return isinstance(error, exc.StatementError) and not isinstance(error, exc.DBAPIError)
    if database.is_bad_row(error):
        return True
    state = database.state_of(error.orig)
    if state is not None:
        is_raised = state[:2] not in _OWN_CLASSES
        return state.startswith(_ROW_STATES) or is_raised or _is_of_policy(error) or _is_of_value(error, state)
    code = _code(error.orig)
    if code is not None:
        return code in _ROW_CODES or str(getattr(error.orig, "sqlstate", "")).startswith(_RAISED)
    return any(words in str(error.orig) for words in _SQLITE_ROW)


def _is_of_policy(error: exc.DBAPIError) -> bool:
    """Whether a policy of PostgreSQL (row level security) refuses a row, and not the right to write any."""
    diagnosis = getattr(error.orig, "diag", None)
    return database.state_of(error.orig) == _POLICY_STATE and getattr(diagnosis, "source_function", None) == _POLICY_CHECK


def _is_of_value(error: exc.DBAPIError, state: str) -> bool:
    """Whether PostgreSQL was at a single value when it failed, and not at a whole row."""
    context = getattr(getattr(error.orig, "diag", None), "context", None)
    return not state.startswith(_NO_VALUE_STATES) and _VALUE_CONTEXT.search(context or "") is not None


def is_of_names(error: Exception) -> bool:
    """Whether a table can't be looked at, made or widened because of the names or types of a record's fields."""
    if isinstance(error, MISFITS):
        return True
    if not isinstance(error, exc.SQLAlchemyError) or database.passes(error):
        return False
    if not isinstance(error, exc.DBAPIError):
        # Names that are too long, or there twice, before the database has seen them.
        return isinstance(error, exc.CompileError | exc.ArgumentError | exc.StatementError)
    state = database.state_of(error.orig)
    if state is not None:
        return not state.startswith(_TARGET_STATES)
    code = _code(error.orig)
    if code is not None:
        return code not in _TARGET_CODES
    name = database.sqlite_code(error.orig)
    if name is not None:
        return not name.startswith(_SQLITE_TARGET_CODES) and not str(error.orig).startswith("no such table")
    if type(error.orig).__module__.startswith("sqlite3"):
        return not any(word in str(error.orig) for word in _SQLITE_TARGET)
    return False


def is_of_change(error: Exception) -> bool:
    """Whether there is no such column, or no such table, though there was."""
    if not isinstance(error, exc.DBAPIError):
        return False
    state = database.state_of(error.orig)
    if state is not None:
        return state in _CHANGED_STATES
    code = _code(error.orig)
    return code in _CHANGED_CODES if code is not None else any(word in str(error.orig) for word in _SQLITE_CHANGED)


def is_of_right(error: Exception) -> bool:
    """Whether the user may not do that with the table."""
    if not isinstance(error, exc.DBAPIError) or _is_of_policy(error):
        return False
    return database.state_of(error.orig) == _NO_RIGHT_STATE or _code(error.orig) in _NO_RIGHT_CODES


def _code(original: object) -> int | None:
    arguments = getattr(original, "args", ())
    return arguments[0] if arguments and isinstance(arguments[0], int) else None
