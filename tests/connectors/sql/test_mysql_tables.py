"""What SQLAlchemy is told of MariaDB's tables: as it finds out itself, but for what takes it for ever, or it can't read."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import sqlalchemy as sa

from kconnect.connectors.sql import mysql_tables
from tests.connectors.sql import databases
from tests.rig.systems.mariadb import MariaDB

pytestmark = pytest.mark.process

EVERY = """
create table `every` (
  `id` bigint unsigned not null auto_increment, `tiny` tinyint(1) default 0, `small` smallint(5) unsigned zerofill,
  `medium` mediumint, `number` int not null default 7, `exact` decimal(20,4) not null, `plain` decimal(10,0), `one` float,
  `two` double(8,3), `day` date, `at` datetime(3) default current_timestamp(3) on update current_timestamp(3),
  `stamp` timestamp not null default current_timestamp(), `clock` time(6), `year` year(4), `bits` bit(5),
  `fixed` char(3) character set latin1, `text` varchar(32) collate utf8mb4_bin default 'it''s (a, b)', `long` longtext,
  `raw` varbinary(16), `short` binary(4), `blob` mediumblob, `kind` enum('a','b''c','d,e',')') default 'a',
  `some` set('x','y''','z'), `json` json, `shape` geometry, `uuid` uuid, `twice` int as (`number` * 2) virtual,
  `thrice` int generated always as (`number` * 3) stored, `odd name(1)` int comment 'it''s',
  primary key (`id`, `number`), unique key `u` (`text`(8), `day`), key `plain` (`two`), fulltext key `f` (`long`)
) engine=InnoDB comment='of every type'
"""
OTHERS = (
    "create table plain (a int, b int, unique (a), unique (b, a)) engine=MyISAM",
    "create view seen as select id, kind, twice from `every`",
    "create table nothing (a int)",
    "create table Nothing (b int, primary key (b))",
)
TABLES = ("every", "plain", "seen", "nothing", "Nothing")


def facts(engine: sa.Engine, name: str) -> dict[str, Any]:
    """Return what the connectors ask of a table."""
    table = sa.Table(name, sa.MetaData(), autoload_with=engine, resolve_fks=False)
    return {
        "columns": [
            (
                column.name,
                _shown(column.type),
                column.nullable,
                column.autoincrement,
                column.computed is not None,
                column.server_default is not None,
                column.primary_key,
            )
            for column in table.columns
        ],
        "indexes": sorted((index.name, index.unique, index.columns.keys()) for index in table.indexes),
        "engine": [value for option, value in table.kwargs.items() if option.endswith("_engine")],
    }


def _shown(kind: sa.types.TypeEngine[Any]) -> tuple[str, dict[str, Any]]:
    """Return a type without the order and the set of its characters, of which nobody asks."""
    said = {name: value for name, value in vars(kind).items() if isinstance(value, (int, str, list)) and name[0] != "_"}
    return type(kind).__name__, {name: value for name, value in said.items() if name not in ("collation", "charset")}


@pytest.fixture(scope="module")
def engine(mariadb_server: MariaDB) -> sa.Engine:
    database = databases.mariadb(mariadb_server)
    with database.engine.begin() as connection:
        for statement in ("drop database if exists shapes", "create database shapes character set utf8mb4", "use shapes"):
            connection.exec_driver_sql(statement)
        for statement in (EVERY, *OTHERS):
            connection.exec_driver_sql(statement)
    return sa.create_engine(database.engine.url.set(database="shapes"), poolclass=sa.NullPool)


def guarded(engine: sa.Engine) -> sa.Engine:
    made = sa.create_engine(engine.url, poolclass=sa.NullPool)
    mysql_tables.guard(made)
    return made


@pytest.mark.parametrize("name", TABLES)
def test_it_is_what_sqlalchemy_finds_out(engine: sa.Engine, name: str) -> None:
    found, wanted = facts(guarded(engine), name), facts(engine, name)
    assert found["columns"] == wanted["columns"]
    assert found == wanted


def test_values_of_types_are_read_to_the_letter(engine: sa.Engine) -> None:
    table = sa.Table("every", sa.MetaData(), autoload_with=guarded(engine))
    assert table.columns["kind"].type.enums == ["a", "b'c", "d,e", ")"]  # type: ignore[attr-defined]
    assert sorted(table.columns["some"].type.values) == ["x", "y'", "z"]  # type: ignore[attr-defined]


def test_a_table_that_is_not_there_is_none(engine: sa.Engine) -> None:
    with pytest.raises(sa.exc.NoSuchTableError):
        sa.Table("gone", sa.MetaData(), autoload_with=guarded(engine))


def test_names_with_new_lines_are_columns(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql("create table odd (id int primary key, `a\n  ``b` int)")
    assert [name for name, *_ in facts(guarded(engine), "odd")["columns"]] == ["id", "a\n  `b"]


LOOK = """
import sys
import sqlalchemy as sa
from kconnect.connectors.sql import mysql_tables
engine = sa.create_engine(sys.argv[1])
if sys.argv[2] == "guarded":
    mysql_tables.guard(engine)
engine.connect().close()
print("looks", flush=True)
print(len(sa.Table("evil", sa.MetaData(), autoload_with=engine).columns))
"""


@pytest.mark.timeout(300)
def test_names_that_look_like_enums_take_no_time(engine: sa.Engine) -> None:
    """Whoever may make a table in the database chose such names: SQLAlchemy takes twice as long for two quotes more."""
    names = [f"{number:x}\n  `` enum(".ljust(63, "'") + "x" for number in range(20)]
    columns = ", ".join(f"{engine.dialect.identifier_preparer.quote_identifier(name)} int" for name in names)
    with engine.begin() as connection:
        connection.exec_driver_sql("drop table if exists evil")
        connection.exec_driver_sql(f"create table evil (id bigint primary key, {columns})")
    command = [sys.executable, "-c", LOOK, engine.url.render_as_string(hide_password=False)]
    with subprocess.Popen([*command, "plain"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "looks\n"
            # The control: by itself it does not come to an end.
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(3)
        finally:
            process.kill()
    found = subprocess.run([*command, "guarded"], capture_output=True, text=True, check=True, timeout=200)
    assert found.stdout.split() == ["looks", "21"]


@pytest.mark.parametrize(
    ("shown", "wanted"),
    [
        ("int(11) unsigned", "INTEGER"),
        ("decimal(999999999,3)", "DECIMAL"),
        ("decimal(9999999999)", "DECIMAL"),
        ("date(3)", "NullType"),
        ("enum(", "ENUM"),
        ("enum(" + "'" * 100_001, "ENUM"),
        ("what(1)", "NullType"),
        ("", "NullType"),
        ("(1)", "NullType"),
    ],
)
def test_a_server_says_what_it_likes(engine: sa.Engine, shown: str, wanted: str) -> None:
    known: Any = engine.dialect
    assert type(mysql_tables.type_of(known.ischema_names, shown)).__name__ == wanted
