"""
Each type, default and key of PostgreSQL comes as Debezium wrote it: `debezium.json` has what it made of `types.sql`.

Debezium was 3.6.1. A test of `--long` has it make them anew (`tests/integration/test_backfill.py`).
"""

from __future__ import annotations

import decimal
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kconnect.api import ConnectError, SourceRecord
from kconnect.connectors.backfill.defaults import default_of
from kconnect.connectors.backfill.mariadb import ddl
from kconnect.connectors.backfill.mariadb import types as mariadb_types
from kconnect.connectors.backfill.mariadb.types import Modes
from kconnect.connectors.backfill.source import BackfillConnector
from kconnect.connectors.backfill.types import ColumnType, reading_of
from kconnect.converters.json import JsonConverter
from kconnect.testing import SourceRunner

HERE = Path(__file__).parent
OTHERS = {
    # Debezium gives the texts of Java's objects, or counts days by the calendar of Caesar, or more than a long has.
    ("public.odd", 1, "ta2"): [None, None],
    ("public.odd", 2, "d"): -735160,
    ("public.odd", 3, "ts"): 9223372036825200000,
    ("public.odd", 4, "d"): -141432,
}
"""The values that differ on purpose, by table, id and column; docs/backfill.md lists their kinds."""


def golden() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((HERE / "debezium.json").read_text())
    return read


def converted(record: SourceRecord, is_key: bool) -> dict[str, Any] | None:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "true"}, is_key)
    schema, value = (record.key_schema, record.key) if is_key else (record.value_schema, record.value)
    data = converter.from_connect_data(record.topic, schema, value)
    return None if data is None else json.loads(data)


@pytest.mark.process
def test_schemas_keys_and_values_are_debeziums(database: Callable[[str], dict[str, str]]) -> None:
    config = database((HERE / "types.sql").read_text())
    wanted = golden()
    with SourceRunner(BackfillConnector, config) as source:
        records = source.read(sum(len(table["rows"]) for table in wanted.values()))
    by_table: dict[str, list[SourceRecord]] = {}
    for record in records:
        by_table.setdefault(record.topic.removeprefix("cdc."), []).append(record)
    assert set(by_table) == set(wanted)
    for name, table in wanted.items():
        assert len(by_table[name]) == len(table["rows"])
        for record, row in zip(by_table[name], table["rows"]):
            key, value = converted(record, is_key=True), converted(record, is_key=False)
            assert value is not None
            fields = {field["field"]: field for field in value["schema"]["fields"]}
            assert fields["after"]["fields"] == fields["before"]["fields"] == table["columns"], name
            rest = [
                {part: of for part, of in field.items() if part != "fields" or field["field"] not in ("before", "after")}
                for field in value["schema"]["fields"]
            ]
            assert {**value["schema"], "fields": rest} == table["envelope"]
            assert (key and key["schema"], key and key["payload"]) == (table["key"], row["key"])
            after, payload = value["payload"]["after"], value["payload"]
            for column, wanted_value in row["after"].items():
                other = OTHERS.get((name, after.get("id"), column), wanted_value)
                # As texts, for NaN and -0.0.
                assert json.dumps(after[column]) == json.dumps(other), (name, after.get("id"), column)
            assert (payload["op"], payload["before"], payload["transaction"]) == ("r", None, None)
            assert payload["source"]["connector"] == "postgresql" and payload["source"]["table"] in ("Odd Name", name[7:])


@pytest.mark.process
@pytest.mark.parametrize("mode", ["string", "double"])
def test_decimals_are_what_debezium_makes_of_them_in_other_modes(database: Callable[[str], dict[str, str]], mode: str) -> None:
    config = database(
        """
        create table t (id int primary key, n numeric, s numeric(5, 2) not null default 1.2, a numeric[], m money,
                        f numeric default 3.14);
        insert into t values (1, 1e20, -0.01, '{1.50,2e10,null}', 12.5), (2, 'NaN', 'NaN', null, null),
                             (3, -0.00001, 2.56, '{}', -1.01)
        """
    )
    with SourceRunner(BackfillConnector, {**config, "decimal.handling.mode": mode}) as source:
        records = source.read(3)
    rows = [{name: record.value["after"][name] for name in "nsam"} for record in records]
    # Written down from Debezium 3.6.1.
    texts: list[dict[str, Any]] = [
        {"n": "100000000000000000000", "s": "-0.01", "a": ["1.50", "20000000000", None], "m": "12.50"},
        {"n": "NAN", "s": "NAN", "a": None, "m": None},
        {"n": "-0.00001", "s": "2.56", "a": [], "m": "-1.01"},
    ]

    def number(value: Any) -> Any:
        return [number(each) for each in value] if isinstance(value, list) else None if value is None else float(value)

    wanted = texts if mode == "string" else [{name: number(value) for name, value in row.items()} for row in texts]
    assert str(rows) == str(wanted)
    row = records[0].value["after"].schema
    defaults = [row.field("s").schema.default, row.field("f").schema.default]
    assert defaults == (["1.20", "3.14"] if mode == "string" else [1.2, 3.14])


@pytest.mark.process
def test_an_infinite_number_is_told(database: Callable[[str], dict[str, str]]) -> None:
    config = database("create table t (id int primary key, n numeric); insert into t values (1, 'Infinity')")
    with SourceRunner(BackfillConnector, config) as source, pytest.raises(ConnectError, match="infinite number"):
        source.poll()


@pytest.mark.parametrize(
    ("kind", "expression", "default"),
    [
        (ColumnType("int4"), "7", 7),
        (ColumnType("int4"), "'-7'::integer", -7),
        (ColumnType("int4"), "(1 + 1)", None),
        (ColumnType("int8"), "nextval('s'::regclass)", 0),
        (ColumnType("text"), "'it''s'::text", "it"),
        (ColumnType("text"), "upper('x'::text)", ""),
        (ColumnType("varchar"), "NULL::character varying", None),
        (ColumnType("interval"), "'1 year 2 mons -03:04:05.5'::interval", 14 * 2_629_800_000_000 - 11_045_500_000),
        (ColumnType("interval"), "'P1Y'::interval", None),
        (ColumnType("time", 3), "'12:00:00.5'::time(3)", 43_200_500),
        (ColumnType("timestamptz", 0), "'2024-01-02 03:04:05+00'::timestamptz", "2024-01-02T03:04:05Z"),
        (ColumnType("timestamptz", 3), "CURRENT_TIMESTAMP", "1970-01-01T00:00:00.000Z"),
        (ColumnType("bool"), "maybe", None),
        (ColumnType("bit", 9), "B'100000001'::\"bit\"", b"\x01\x01"),
        (ColumnType("mood", labels=("sad", "ok")), "'ok'::mood", "ok"),
        (ColumnType("inet"), "'::1'::inet", None),
        (ColumnType("int4", element=ColumnType("int4")), "'{}'::integer[]", None),
    ],
)
def test_a_default_is_read_from_its_expression(kind: ColumnType, expression: str, default: Any) -> None:
    assert default_of(kind, expression) == default


@pytest.mark.parametrize("text", ["1E+999999999", "-1e5", "1E-999999999"])
def test_a_number_with_an_exponent_is_written_out_by_nobody(text: str) -> None:
    """Who answers as the database has a billion digits in twelve characters, for which the whole process waited."""
    number = decimal.Decimal(text)
    for kind in (ColumnType("numeric"), ColumnType("numeric", modifier=(10 << 16 | 2000) + 4)):
        reading = reading_of(kind, True)
        assert reading is not None and reading.convert is not None
        assert reading.convert(decimal.Decimal("1.50")) is not None
        with pytest.raises(ConnectError, match="has an exponent"):
            reading.convert(number)
    assert default_of(ColumnType("numeric"), f"'{text}'::numeric", "string") is None
    plain = mariadb_types.reading_of(ddl.parse("CREATE TABLE t (`a` decimal(10,2) NOT NULL)").columns[0], Modes("string", "x"))
    assert plain is not None and plain.convert is not None
    assert plain.convert(decimal.Decimal("1.50")) == "1.50"
    with pytest.raises(ConnectError, match="has an exponent"):
        plain.convert(number)


def test_a_default_of_an_interval_takes_time_by_its_length() -> None:
    """Who answers as the database has a default of a megabyte."""
    assert default_of(ColumnType("interval"), f"'{'1 day ' * 100_000}'::interval") == 100_000 * 86_400_000_000
