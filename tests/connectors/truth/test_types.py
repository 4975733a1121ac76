"""
Every type of PostgreSQL and MariaDB, from a table by the SQL source through JSON and Avro and by the SQL sink into a table of
the same columns: the row is the same, or the source refuses it by table, row and column, after it has given those before.
"""

from __future__ import annotations

import itertools

import pytest

from kconnect.api import ConnectError, SourceRecord
from kconnect.testing import SourceRunner
from tests.connectors.sql.conftest import EVERY
from tests.connectors.sql.databases import Database
from tests.connectors.truth.rows import CONVERTERS, Way

OF_MARIADB: dict[str, list[str]] = {
    "tinyint": ["-128", "127"], "tinyint unsigned": ["255"], "smallint": ["-32768"], "smallint unsigned": ["65535"],
    "mediumint": ["-8388608"], "mediumint unsigned": ["16777215"], "int": ["-2147483648"], "int unsigned": ["4294967295"],
    "bigint": ["-9223372036854775808", "9223372036854775807"], "bigint unsigned": ["9223372036854775807"],
    "int(5) zerofill": ["42"], "boolean": ["0", "1", "2", "-1"], "tinyint(1) unsigned": ["200"], "bit(1)": ["b'0'", "b'1'"],
    "bit(4)": ["b'0101'"], "bit(64)": [f"b'{'1' * 64}'"], "decimal(10,2)": ["-1.25", "99999999.99"],
    "decimal(38,10)": ["0.0000000001"], "decimal(65,30)": ["1.000000000000000000000000000001"], "decimal(5,0)": ["12345"],
    "decimal(10,2) unsigned": ["1.20"], "float": ["1.5", "16777217", "0.1", "3.4e38", "1.17e-38", "123456.789"],
    "float(7,3)": ["1234.567"], "float unsigned": ["7.1234567"], "double(10,2)": ["1.25"],
    "double": ["0.1", "1.7976931348623157e308", "2.2250738585072014e-308", "9007199254740993", "0.30000000000000004"],
    "date": ["'2024-02-29'", "'0001-01-01'", "'9999-12-31'"], "time": ["'10:20:30'", "'23:59:59'"],
    "time(3)": ["'10:20:30.123'"], "datetime": ["'2024-02-29 10:20:30'", "'0001-01-01'", "'9999-12-31 23:59:59'"],
    "datetime(3)": ["'2024-02-29 10:20:30.123'"], "year": ["1901", "2155", "0", "2024"],
    "timestamp null": ["'2024-02-29 10:20:30'", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'"],
    "timestamp(6) null": ["'2024-02-29 10:20:30.123000'"], "char(5)": ["'ab'", "'ab   '", "''"],
    "varchar(5)": ["'ab  '", "''", "'é'"], "varchar(5) character set latin1": ["'é'"],
    "varchar(5) character set ucs2": ["'é'"], "varchar(20) character set utf8mb4": ["'😀'"], "char(3) binary": ["'aB'"],
    "tinytext": ["'x'"], "text": ["'x'", "'null'"], "mediumtext": ["'x'"], "longtext": ["'x'", "'{\"a\":1}'", "''"],
    "binary(4)": ["'ab'", "x'00ff00ff'"], "varbinary(4)": ["'ab'", "x''", "x'00ff'"], "tinyblob": ["x'ff'"],
    "blob": ["x'00ff'"], "mediumblob": ["x'ff'"], "longblob": ["x'ff'"], "enum('a','b','')": ["'a'", "''"],
    "set('a','b')": ["'a,b'", "''"], "json": ["'{\"a\": [1, null]}'", "'null'", "'\"x\"'"], "inet6": ["'::1'"],
    "uuid": ["'6b3f9fd4-7bb9-4d7a-9d27-3f2c1d0e5a11'"],
}  # fmt: skip
OF_POSTGRESQL: dict[str, list[str]] = {
    "smallint": ["-32768"], "integer": ["-2147483648"], "bigint": ["-9223372036854775808"], "numeric(10,2)": ["1.25"],
    "numeric": ["1.5", "123456789012345678901234567890.123456789", "1e-30"], "numeric(5,0)": ["12345"],
    "numeric(3,-2)": ["12300"], "numeric(2,4)": ["0.0012"], "real": ["1.5", "0.1", "16777217"],
    "double precision": ["0.1", "1e-307"], "money": ["'12.34'"], "boolean": ["true", "false"], "char(5)": ["'ab'"],
    "varchar(5)": ["'ab  '"], "text": ["''", "'é'", "'\\x41'"], "name": ["'n'"], '"char"': ["'c'"],
    "bytea": ["'\\x00ff'", "''"], "bit(4)": ["b'0101'"], "bit varying(8)": ["b'01'"], "bit(1)": ["b'1'"],
    "date": ["'2024-02-29'", "'0001-01-01'", "'9999-12-31'"], "time": ["'10:20:30.123'"], "timetz": ["'10:20:30+02'"],
    "time(0)": ["'10:20:30'"], "timestamp": ["'2024-02-29 10:20:30.123'", "'0001-01-01'"],
    "timestamptz": ["'2024-02-29 10:20:30.123+02'"], "interval": ["'1 year 2 days 03:04:05.678'", "'-1 day'"],
    "uuid": ["'6b3f9fd4-7bb9-4d7a-9d27-3f2c1d0e5a11'"], "json": ["'{\"a\": 1}'", "'null'"],
    "jsonb": ["'{\"a\": [1, null]}'", "'\"x\"'", "'1.10'"], "xml": ["'<a/>'"], "inet": ["'10.0.0.1/8'"],
    "cidr": ["'10.0.0.0/8'"], "macaddr": ["'08:00:2b:01:02:03'"], "point": ["'(1,2)'"], "box": ["'(1,1),(0,0)'"],
    "circle": ["'<(1,2),3>'"], "path": ["'((1,1),(2,2))'"], "int4range": ["'[1,3)'"], "tstzrange": ["'[2024-01-01,)'"],
    "int4multirange": ["'{[1,3),[5,7)}'"], "tsvector": ["'a b'"], "tsquery": ["'a & b'"], "pg_lsn": ["'16/B374D848'"],
    "oid": ["4294967295"], "regclass": ["'pg_class'"], "int[]": ["'{1,NULL,3}'", "'{}'"], "text[]": ["'{a,NULL,\"\"}'"],
    "numeric(10,2)[]": ["'{1.25}'"], "real[]": ["'{0.1}'"], "boolean[]": ["'{t,f}'"], "bytea[]": ["'{\"\\\\x00ff\"}'"],
    "date[]": ["'{2024-01-01}'"], "timestamp[]": ["'{2024-01-01 10:00:00.5}'"], "time[]": ["'{10:20:30}'"],
    "timestamptz[]": ["'{2024-01-01 10:00:00.5+02}'"], "uuid[]": ["'{6b3f9fd4-7bb9-4d7a-9d27-3f2c1d0e5a11}'"],
    "jsonb[]": ["'{\"{}\"}'"], "inet[]": ["'{10.0.0.1}'"], "interval[]": ["'{1 day}'"], "char(3)[]": ["'{ab}'"],
    "money[]": ["'{1}'"], "{t}_mood": ["'sad'"], "{t}_mood[]": ["'{sad,ok}'"], "{t}_pos": ["5"],
    "{t}_pair": ["row(1,'x')::{t}_pair"], "{t}_words": ["'{a}'"], "{t}_pair[]": ["array[row(1,'x')::{t}_pair]"],
    "{t}_dmood": ["'ok'"], "{t}_amount": ["1.25"], "{t}_day": ["'2024-02-29'"],
}  # fmt: skip
TYPES = {"postgresql": OF_POSTGRESQL, "mariadb": OF_MARIADB}
REFUSED = {
    "postgresql": [
        ("date", "'infinity'"), ("date", "'0044-03-15 BC'"), ("date", "'10000-01-01'"), ("timestamp", "'-infinity'"),
        ("timestamptz", "'10000-01-01'"), ("time", "'24:00'"), ("numeric", "'NaN'"), ("numeric", "1e-50"),
        ("int[]", "'{{1},{2}}'"), ("date[]", "'{infinity}'"), ("timestamp[]", "'{10000-01-01}'"),
        ("timestamptz[]", "'{0044-03-15 BC}'"),
    ],
    "mariadb": [
        ("bigint unsigned", "18446744073709551615"), ("date", "'0000-00-00'"), ("date", "'2024-00-00'"), ("time", "'24:00:00'"),
        ("time", "'838:59:59'"), ("time", "'-01:00:00'"), ("datetime", "'0000-00-00 00:00:00'"),
        ("timestamp null", "'0000-00-00 00:00:00'"),
    ],
}  # fmt: skip
servers = pytest.mark.parametrize("database", EVERY[1:], indirect=True)


def execute(database: Database, *statements: str) -> None:
    # Zero dates and the like are there for who does not want them.
    lenient = "set statement sql_mode='' for " if database.backend == "mariadb" else ""
    database.execute(*(f"{lenient if each.startswith('insert') else ''}{each}".replace(":", "\\:") for each in statements))


def make_types(database: Database, topic: str) -> None:
    if database.backend == "postgresql":
        execute(
            database,
            f"create type {topic}_mood as enum('sad','ok')",
            f"create type {topic}_pair as (a int, b text)",
            *(
                f"create domain {topic}_{name} as {kind}"
                for name, kind in (
                    ("pos", "int check (value > 0)"),
                    ("words", "text[]"),
                    ("dmood", f"{topic}_mood"),
                    ("amount", "numeric(10,2)"),
                    ("day", "date"),
                )
            ),
        )


def comparable(backend: str, name: str, kind: str) -> str:
    if backend == "postgresql":
        return f"{name}::numeric" if kind.startswith("numeric") and "[" not in kind else f"{name}::text"
    if kind.startswith(("float", "double")):
        return f"{name} + 0e0"
    return (
        f"hex(cast({name} as {'binary' if 'bin' in kind or 'blob' in kind else 'char'}))" if "bit" not in kind else f"{name}+0"
    )


def polled(source: SourceRunner) -> list[SourceRecord]:
    return list(itertools.chain.from_iterable(source.poll() for _ in range(4)))


@servers
@pytest.mark.parametrize("query", [False, True], ids=["table", "query"])
@pytest.mark.parametrize("converter", CONVERTERS)
def test_a_row_of_every_type_comes_as_it_is(database: Database, topic: str, converter: str, query: bool) -> None:
    make_types(database, topic)
    kinds = [kind.replace("{t}", topic) for kind in TYPES[database.backend]]
    literals = [[each.replace("{t}", topic) for each in values] for values in TYPES[database.backend].values()]
    columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(kinds))
    execute(database, *(f"create table {name} (id integer primary key, {columns})" for name in (topic, f"{topic}_to")))
    count = max(map(len, literals)) + 1
    for row in range(count):
        values = [each[row] if row < len(each) else "null" for each in literals]
        execute(database, f"insert into {topic} values ({row}, {', '.join(values)})")
    way = Way(database, topic, converter, query)
    with way.source() as source:
        records = polled(source)
    with way.sink() as sink:
        sink.put([way.through_kafka(record, at) for at, record in enumerate(records)])
        assert not sink.reported
    assert len(records) == count
    selected = ", ".join(comparable(database.backend, f"c{at}", kind) for at, kind in enumerate(kinds)).replace(":", "\\:")
    there, back = (database.rows(f"select {selected} from {name} order by id") for name in (topic, f"{topic}_to"))
    wrong = [
        f"{kind}: {first!r} has become {second!r}"
        for before, after in zip(there, back)
        for kind, first, second in zip(kinds, before, after)
        if first != second
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "database", [EVERY[1], pytest.param("mariadb", marks=[pytest.mark.process, pytest.mark.long])], indirect=True
)
def test_a_row_that_has_no_record_is_named(database: Database, topic: str) -> None:
    for at, (kind, literal) in enumerate(REFUSED[database.backend]):
        table = f"{topic}x{at}"
        good = {"time": "'10:00'", "int[]": "'{1}'", "numeric": "1", "bigint unsigned": "1"}.get(kind, "'2024-01-01'")
        good = "'{2024-01-01 10:20:30.5}'" if kind.endswith("[]") and kind != "int[]" else good
        execute(database, f"create table {table} (id integer primary key, v {kind})")
        execute(database, f"insert into {table} values (1, {good}), (2, null), (3, {literal}), (4, {good})")
        with Way(database, table, "json", behavior_on_error="log").source() as source:
            assert [record.value["id"] for record in polled(source)] == [1, 2, 4], f"{kind} {literal}: it is passed over"
        with Way(database, table, "json").source() as source:
            records: list[SourceRecord] = []
            with pytest.raises(ConnectError) as refused:
                for _ in range(5):
                    records += source.poll()
        assert [record.value["id"] for record in records] == [1, 2], f"{kind} {literal}: those before it are given"
        for part in (table, "in the row id=3", "the column v: "):
            assert part in str(refused.value), f"{kind} {literal}: {refused.value}"


@pytest.mark.parametrize("database", EVERY[2:], indirect=True)
def test_geometry_is_read_as_text(database: Database, topic: str) -> None:
    execute(database, f"create table {topic} (id integer primary key, v point, w geometry)")
    execute(database, f"insert into {topic} values (1, point(1,2), st_geomfromtext('POINT(3 4)', 4326)), (2, null, null)")
    with Way(database, topic, "json").source() as source:
        found = [(record.value["v"], record.value["w"]) for record in polled(source)]
    assert found == [("POINT(1 2)", "SRID=4326;POINT(3 4)"), (None, None)]


@pytest.mark.parametrize("database", EVERY[2:], indirect=True)
def test_a_round_does_not_end_where_rows_are_passed_over(database: Database, topic: str) -> None:
    execute(database, f"create table {topic} (id integer primary key, v date)")
    values = ["'0000-00-00'"] * 7 + ["'2024-01-01'"]
    execute(database, f"insert into {topic} values {', '.join(f'({at}, {value})' for at, value in enumerate(values))}")
    with Way(database, topic, "json", mode="bulk", batch_max_rows="2", behavior_on_error="log").source() as source:
        assert [record.value["id"] for record in source.poll()] == [7]
