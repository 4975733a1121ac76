"""
What servers, roles and databases set for a session makes no other value of one: rows of every type go from table to table,
while the connectors' user has settings that are drawn. Those of the tests' own sessions are the usual ones.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from hypothesis import example, given, note
from hypothesis import strategies as st

from tests.connectors.sql.conftest import EVERY
from tests.connectors.sql.databases import Database
from tests.connectors.truth.budget import histories
from tests.connectors.truth.rows import CONVERTERS, Way
from tests.connectors.truth.test_types import TYPES, comparable, execute, make_types, polled

USER, PASSWORD = "truth_user", "truth-password"
OF_POSTGRESQL = {
    "datestyle": ["'SQL, DMY'", "'Postgres, MDY'", "'German'"],
    "intervalstyle": ["sql_standard", "postgres_verbose", "iso_8601"],
    "extra_float_digits": ["-15", "0", "3"],
    "timezone": ["'America/New_York'", "'Asia/Kolkata'", "'Australia/Lord_Howe'"],
    "bytea_output": ["escape"],
    "standard_conforming_strings": ["off"],
    "backslash_quote": ["on"],
    "client_encoding": ["'LATIN1'", "'SQL_ASCII'"],
    "array_nulls": ["off"],
    "quote_all_identifiers": ["on"],
    "xmloption": ["document"],
    "xmlbinary": ["hex"],
    "transform_null_equals": ["on"],
    "plan_cache_mode": ["force_generic_plan"],
    "default_transaction_isolation": ["serializable"],
    "default_transaction_deferrable": ["on"],
    "lock_timeout": ["'5s'"],
}
OF_MARIADB = {
    "sql_mode": [
        "''", "'ANSI'", "'ORACLE'", "'NO_BACKSLASH_ESCAPES'", "'TIME_ROUND_FRACTIONAL'", "'EMPTY_STRING_IS_NULL'",
        "'REAL_AS_FLOAT'", "'PIPES_AS_CONCAT,IGNORE_SPACE,HIGH_NOT_PRECEDENCE'", "'NO_ZERO_DATE,NO_ZERO_IN_DATE'",
        "'POSTGRESQL'", "'MSSQL'", "'ANSI_QUOTES,STRICT_ALL_TABLES'", "'TRADITIONAL'", "'NO_AUTO_VALUE_ON_ZERO'",
    ],
    "time_zone": ["'+05:30'", "'-11:00'"],
    "sql_select_limit": ["1", "0"],
    "sql_auto_is_null": ["1"],
    "autocommit": ["0"],
    "sql_safe_updates": ["1"],
    "completion_type": ["1"],
    "max_sort_length": ["8"],
    "collation_connection": ["'latin1_german1_ci'", "'utf8mb4_bin'"],
    "character_set_results": ["'latin1'", "'binary'"],
    "old_mode": ["'ZERO_DATE_TIME_CAST,UTF8_IS_UTF8MB3'"],
    "div_precision_increment": ["0"],
    "sql_quote_show_create": ["0"],
    "lc_time_names": ["'de_DE'"],
    "group_concat_max_len": ["4"],
    "default_storage_engine": ["'MyISAM'"],
    "tx_isolation": ["'SERIALIZABLE'", "'READ-UNCOMMITTED'"],
    "unique_checks": ["0"],
}  # fmt: skip
SETTINGS = {"postgresql": OF_POSTGRESQL, "mariadb": OF_MARIADB}
ENCODINGS = ("utf8", "latin1", "sql_ascii")


def drawn(backend: str) -> st.SearchStrategy[dict[str, str]]:
    each = {name: st.sampled_from(values) for name, values in SETTINGS[backend].items()}
    return st.fixed_dictionaries({}, optional=each)


_numbers = itertools.count(1)


@contextlib.contextmanager
def of_user(database: Database, settings: dict[str, str]) -> Iterator[None]:
    """The connectors' user has these settings, and is the one whom `database.config` names."""
    before = dict(database.config)
    database.config |= {"connection.user": USER, "connection.password": PASSWORD}
    try:
        if database.backend == "postgresql":
            roles = database.rows(f"select 1 from pg_roles where rolname = '{USER}'")
            database.execute(
                *([] if roles else [f"create role {USER} login superuser password '{PASSWORD}'"]),
                f"alter role {USER} reset all",
                *(f"alter role {USER} set {name} = {value}" for name, value in settings.items()),
            )
        else:
            # Who may do anything is spared what the server says at a connection's begin.
            sets = ", ".join(f"session {name} = {value}" for name, value in settings.items())
            init = f"set {sets}".replace("'", "''") if settings else ""
            database.execute(
                f"create user if not exists {USER} identified by '{PASSWORD}'",
                f"grant all privileges on trial.* to {USER}",
                f"set global init_connect = '{init}'".replace(":", "\\:"),
            )
        yield
    finally:
        database.config = before
        if database.backend == "mariadb":
            database.execute("set global init_connect = ''")


@contextlib.contextmanager
def in_encoding(database: Database, encoding: str) -> Iterator[Database]:
    """The same server, with a database of an encoding."""
    if encoding == "utf8":
        yield database
        return
    name = f"truth_{encoding}"
    if not database.rows(f"select 1 from pg_database where datname = '{name}'"):
        with database.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
            make = f"create database {name} encoding '{encoding}' template template0 lc_collate 'C' lc_ctype 'C'"
            connection.execute(sa.text(make))
    url = database.engine.url.set(database=name, query={"client_encoding": "utf8"})
    place = database.config["connection.url"].rpartition("/")[0]
    made = Database("postgresql", f"{place}/{name}", sa.create_engine(url, poolclass=sa.NullPool))
    made.config |= {key: value for key, value in database.config.items() if key != "connection.url"}
    try:
        yield made
    finally:
        made.close()


def rows_come_as_they_are(database: Database, converter: str, query: bool, settings: dict[str, str]) -> None:
    topic = f"set{next(_numbers)}"
    make_types(database, topic)
    of_kinds = {kind.replace("{t}", topic): each for kind, each in TYPES[database.backend].items()}
    columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(of_kinds))
    execute(database, *(f"create table {name} (id integer primary key, {columns})" for name in (topic, f"{topic}_to")))
    count = max(map(len, of_kinds.values())) + 1
    for row in range(count):
        values = [each[row].replace("{t}", topic) if row < len(each) else "null" for each in of_kinds.values()]
        execute(database, f"insert into {topic} values ({row}, {', '.join(values)})")
    with of_user(database, settings):
        way = Way(database, topic, converter, query)
        with way.source() as source:
            records = polled(source)
        with way.sink() as sink:
            sink.put([way.through_kafka(record, at) for at, record in enumerate(records)])
            refused = [str(error) for _, error in sink.reported]
    assert not refused, refused[0]
    assert len(records) == count
    selected = ", ".join(comparable(database.backend, f"c{at}", kind) for at, kind in enumerate(of_kinds)).replace(":", "\\:")
    there, back = (database.rows(f"select {selected} from {name} order by id") for name in (topic, f"{topic}_to"))
    wrong = [
        f"{kind}: {first!r} has become {second!r}"
        for before, after in zip(there, back)
        for kind, first, second in zip(of_kinds, before, after)
        if first != second
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("database", EVERY[1:2], indirect=True)
@histories(2)
@given(
    settings=drawn("postgresql"),
    encoding=st.sampled_from(ENCODINGS),
    converter=st.sampled_from(sorted(CONVERTERS)),
    query=st.booleans(),
)
@example(settings={name: values[0] for name, values in OF_POSTGRESQL.items()}, encoding="latin1", converter="avro", query=False)
def test_settings_of_postgresql(
    database: Database, settings: dict[str, str], encoding: str, converter: str, query: bool
) -> None:
    note(f"settings={settings!r}, encoding={encoding!r}, converter={converter!r}, query={query!r}")
    with in_encoding(database, encoding) as own:
        rows_come_as_they_are(own, converter, query, settings)


@pytest.mark.parametrize("database", EVERY[2:], indirect=True)
@histories(2)
@given(settings=drawn("mariadb"), converter=st.sampled_from(sorted(CONVERTERS)), query=st.booleans())
@example(settings={name: values[0] for name, values in OF_MARIADB.items()}, converter="avro", query=False)
def test_settings_of_mariadb(database: Database, settings: dict[str, str], converter: str, query: bool) -> None:
    note(f"settings={settings!r}, converter={converter!r}, query={query!r}")
    rows_come_as_they_are(database, converter, query, settings)
