"""
Extremes: values at the edges of what types have, put through sinks of tables and files in a process that may die.

Libraries below the sinks (Arrow, delta-rs, pyiceberg, fastavro, drivers) have ended processes, or taken gigabytes, for single
values. A case is one sink with one table, some good records and some at the edges; bad ones may be reported, and nothing else
may come of them. `python -m tests.connectors.truth.extremes SEED COUNT` plays cases and says of each how it ended; it is told
from outside when it has died, see `test_extremes.py`. `--first N` begins later.
"""

from __future__ import annotations

import argparse
import decimal
import math
import random
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from deltalake import DeltaTable
from deltalake import Schema as DeltaSchema
from deltalake.schema import ArrayType, Field, MapType, PrimitiveType, StructType
from pyiceberg import types as ice
from pyiceberg.schema import Schema as IceSchema

from kconnect.api import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    DATE_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    ConnectError,
    DataError,
    RetriableError,
    Schema,
    SinkRecord,
    Struct,
    schema,
)
from kconnect.connectors.objects.connector import ObjectStoreSinkConnector
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.testing import SinkRunner
from tests.connectors.delta.test_delta_sink import Lake as DeltaLake
from tests.connectors.iceberg.test_iceberg_sink import Lake as IcebergLake
from tests.connectors.truth.values import at

_D = decimal.Decimal
_GOOD = 6
_MOST_S, _MOST_KB = 60.0, 1_500_000
"""What a case may take, far above what the largest of these values need."""

TEXTS = [
    "", " ", "\0", "\ud800", "\udfff x", "\u202e", "é" * 3, "💥" * 300, "a" * 70_000, "9" * 400, "0" * 5_000, "-" + "9" * 5_000,
    "1E-999999999", "1E+999999999", "-1e-2147483648", "1e400", "1e-400", "0E-400", "NaN", "-nan", "inf", "-Infinity", "0x1F",
    "1_000", "٣", "１", "+5", "5.", ".5", "1,5", "true", "TRUE", "2024-02-30", "0000-01-01", "0001-01-01", "-0001-01-01",
    "99999-01-01", "10000-01-01T00:00:00", "9999-12-31T23:59:59.999999999Z", "1970-01-01T24:00:00", "1970-01-01T00:00:00+99:99",
    "2024-01-01 10:20:30 Europe/Berlin", "24:00:00", "23:59:60", "[" * 3_000, "{" * 3_000, '{"a":' * 500, "{}", "[]", "null",
    "\x7f\x1b[31m",
    "a\rb\nc", "'; DROP TABLE orders; --", "%s%n%p", "${env:HOME}", "../../x", "00000000-0000-0000-0000-000000000000",
]  # fmt: skip
INTEGERS = [0, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64, -(2**70), 10**38, 10**400]
FLOATS = [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308, 3.5e38, 0.1, 2.0**63, 1e19]
BYTES = [b"", b"\0", b"\xff" * 16, b"\xc3\x28", b"x" * 100_000, bytes(range(256))]
TIMES = [
    at(1, 1, 1), at(9999, 12, 31), at(9999, 12, 31, 23, 59, 59, 999_000), at(1582, 10, 10),
    at(1969, 12, 31, 23, 59, 59, 999_000),
]  # fmt: skip
SCALES = [0, 2, 9, 37, 38, 39, 76, 77, 127, 400, -1, -5, -38, -127, -400]
DIGITS = [1, 17, 18, 19, 37, 38, 39, 75, 76, 77, 200, 20_000]
NAMES = [
    " ", "a.b", "a`b", 'a"b', "é", "e\u0301", "A", "a", "ID", "n" * 300, "n" * 70_000, "\0", "\ud800", "_place", "select",
    "a,b", "a=b", "🙂", "x;y\n",
]  # fmt: skip


def _decimal(chance: random.Random) -> tuple[Schema, Any]:
    scale, digits = chance.choice(SCALES), chance.choice(DIGITS)
    unscaled = chance.choice([(9,) * digits, (1,) + (0,) * (digits - 1), (0,)])
    return schema.decimal_schema(scale), _D((chance.choice([0, 1]), unscaled, -scale))


def _typed(chance: random.Random, depth: int = 0) -> tuple[Schema, Any]:
    """A schema and a value of it."""
    kinds: list[Callable[[], tuple[Schema, Any]]] = [
        *[lambda: (STRING_SCHEMA, chance.choice(TEXTS))] * 6,
        lambda: (INT64_SCHEMA, chance.choice([each for each in INTEGERS if -(2**63) <= each < 2**63])),
        lambda: (chance.choice([INT8_SCHEMA, INT16_SCHEMA, INT32_SCHEMA]), chance.choice([0, -128, 127])),
        lambda: (FLOAT64_SCHEMA, chance.choice(FLOATS)),
        lambda: (FLOAT32_SCHEMA, chance.choice([math.nan, math.inf, -0.0, 1.5])),
        lambda: (BOOLEAN_SCHEMA, True),
        lambda: (BYTES_SCHEMA, chance.choice(BYTES)),
        lambda: (TIMESTAMP_SCHEMA, chance.choice(TIMES)),
        lambda: (DATE_SCHEMA, chance.choice(TIMES).replace(hour=0, minute=0, second=0, microsecond=0)),
        lambda: (TIME_SCHEMA, at(1970, 1, 1, *chance.choice([(0, 0), (23, 59, 59, 999_000)]))),
        *[lambda: _decimal(chance)] * 3,
    ]
    if depth < 3:
        kinds += [lambda: _list(chance, depth), lambda: _map(chance, depth), lambda: _struct(chance, depth)]
    return chance.choice(kinds)()


def _list(chance: random.Random, depth: int) -> tuple[Schema, Any]:
    own, value = _typed(chance, depth + 1)
    optional = own.replace(optional=True)
    return schema.array(optional), chance.choice([[], [None], [value], [value, None] * 20, [value] * 3])


def _map(chance: random.Random, depth: int) -> tuple[Schema, Any]:
    own, value = _typed(chance, depth + 1)
    keys, key = chance.choice([(STRING_SCHEMA, chance.choice(TEXTS)), (INT64_SCHEMA, 2**63 - 1), (FLOAT64_SCHEMA, math.nan)])
    return schema.mapping(keys, own.replace(optional=True)), chance.choice([{}, {key: value}, {key: None}])


def _struct(chance: random.Random, depth: int) -> tuple[Schema, Any]:
    fields = {chance.choice(NAMES): _typed(chance, depth + 1) for _ in range(chance.randrange(0, 4))}
    made = schema.struct({name: own.replace(optional=True) for name, (own, _) in fields.items()}).replace(optional=True)
    return made, Struct(made, {name: chance.choice([value, value, None]) for name, (_, value) in fields.items()})


def _plain(chance: random.Random, depth: int = 0) -> Any:
    """A value without a schema, of any types beside each other."""
    kinds: list[Callable[[], Any]] = [
        lambda: chance.choice(TEXTS),
        lambda: chance.choice(INTEGERS),
        lambda: chance.choice(FLOATS),
        lambda: chance.choice([None, True, False]),
        lambda: chance.choice(BYTES),
        lambda: _D(chance.choice(["1E-400", "1E+400", "0E-6000", "1.5", "-0"])),
    ]
    if depth < 4:
        kinds += [
            lambda: [_plain(chance, depth + 1) for _ in range(chance.randrange(0, 4))],
            lambda: {chance.choice(NAMES): _plain(chance, depth + 1) for _ in range(chance.randrange(0, 4))},
            lambda: _deep(chance.choice([50, 150, 900])),
        ]
    return chance.choice(kinds)()


def _deep(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"d": value}
    return value


def records(chance: random.Random, topic: str) -> list[SinkRecord]:
    """Good ones, whose ids are 0 and so on, and some at the edges, whose ids are negative."""
    own = schema.struct({"id": INT32_SCHEMA, "x": schema.STRING_SCHEMA.replace(optional=True)})
    found: list[tuple[Schema | None, Any, Schema | None, Any]] = []
    plain = chance.random() < 0.3
    for number in range(_GOOD):
        good = {"id": number, "x": "1"}
        found.append((None, good, None, {"id": number}) if plain else (own, Struct(own, good), None, {"id": number}))
    for number in range(chance.choice([1, 2, 20, 40])):
        id = -1 - number
        key = {"id": id}
        column = chance.choice(["x"] * 6 + ["y", chance.choice(NAMES)])
        if plain or chance.random() < 0.2:
            odd: tuple[Schema | None, Any, Schema | None, Any] = (None, {"id": id, column: _plain(chance)}, None, key)
        else:
            kind, value = _typed(chance)
            made = schema.struct({"id": INT32_SCHEMA, column: kind.replace(optional=True)})
            odd = (made, Struct(made, {"id": id, column: value}), None, key)
        if chance.random() < 0.1:
            odd = (*odd[:2], None, chance.choice([None, "text", 5, _plain(chance)]))
        found.insert(chance.randrange(len(found) + 1), odd)
    stamps = [None, 0, -1, 2**53, 2**63 - 1, 1_700_000_000_000]
    return [
        SinkRecord(topic, 0, key_schema, key, value_schema, value, offset, timestamp=chance.choice(stamps))
        for offset, (value_schema, value, key_schema, key) in enumerate(found)
    ]


ICE_TYPES: list[Any] = [
    ice.BooleanType(), ice.IntegerType(), ice.LongType(), ice.FloatType(), ice.DoubleType(), ice.DecimalType(9, 2),
    ice.DecimalType(38, 38), ice.DecimalType(38, 0), ice.DateType(), ice.TimeType(), ice.TimestampType(), ice.TimestamptzType(),
    ice.StringType(), ice.UUIDType(), ice.FixedType(16), ice.BinaryType(), ice.ListType(10, ice.StringType(), False),
    ice.MapType(11, ice.StringType(), 12, ice.DecimalType(38, 5), False),
    ice.StructType(ice.NestedField(13, "a", ice.LongType(), False)),
]  # fmt: skip
DELTA_TYPES: list[Any] = [
    *map(PrimitiveType, (
        "boolean", "byte", "short", "integer", "long", "float", "double", "string", "binary", "date", "timestamp",
        "timestamp_ntz", "decimal(9,2)", "decimal(38,38)", "decimal(38,0)",
    )),
    ArrayType(PrimitiveType("string"), contains_null=True),
    MapType(PrimitiveType("string"), PrimitiveType("decimal(38,5)"), value_contains_null=True),
    StructType([Field("a", PrimitiveType("long"))]),
]  # fmt: skip


class Case:
    """One sink and its records. `ids` are what the target has after it; `ended` is what ended the task, if something did."""

    def __init__(self, chance: random.Random, folder: Path) -> None:
        self._chance, self._folder = chance, folder
        self.ids: Callable[[], list[int]] | None = None
        self.what = chance.choice(["iceberg", "iceberg", "delta", "delta", "parquet", "avro", "json", "sql"])
        getattr(self, f"_{self.what}")()
        self.records = records(chance, "orders")
        self.ended: Exception | None = None
        self.reported: dict[int, str] = {}

    def play(self) -> None:
        try:
            with self._runner() as runner:
                try:
                    for _ in range(3):
                        self._put(runner, self.records)
                        self._put(runner, [])
                        runner.flush()
                        if list(runner.committed.values()) == [len(self.records)]:
                            break
                finally:
                    for bad, error in runner.reported:
                        self.reported[bad.original_offset] = str(error)
        except (ConnectError, DataError) as error:
            self.ended = error

    @staticmethod
    def _put(runner: SinkRunner, some: list[SinkRecord]) -> None:
        for _ in range(30):
            try:
                return runner.put(some)
            except RetriableError:
                continue
        raise ConnectError("a put was tried 30 times")

    def _iceberg(self) -> None:
        warehouse = self._folder / "warehouse"
        warehouse.mkdir()
        lake = IcebergLake("sql", f"sqlite:///{self._folder}/catalog.db", f"file://{warehouse}")
        more = {"errors.tolerance": "all"}
        if self._chance.random() < 0.6:
            column = ice.NestedField(2, "x", self._chance.choice(ICE_TYPES), False)
            lake.catalog.create_namespace("shop")
            lake.catalog.create_table("shop.orders", IceSchema(ice.NestedField(1, "id", ice.IntegerType(), True), column))
        if self._chance.random() < 0.6:
            more["iceberg.tables.evolve-schema-enabled"] = "true"
        if self._chance.random() < 0.3:
            more |= {"iceberg.tables.upsert-mode-enabled": "true", "iceberg.tables.default-id-columns": "id"}
        elif self._chance.random() < 0.3:
            more["iceberg.tables.default-partition-by"] = self._chance.choice(["x", "bucket(x,4)", "truncate(x,3)", "id"])
        self.settings = more
        self._runner = lambda: lake.sink(**more)
        self.ids = lambda: lake.ids() if lake.catalog.table_exists(("shop", "orders")) else []

    def _delta(self) -> None:
        folder = self._folder / "lake"
        folder.mkdir()
        lake = DeltaLake(folder)
        more = {"errors.tolerance": "all"}
        if self._chance.random() < 0.6:
            fields = [Field("id", PrimitiveType("integer"), nullable=False), Field("x", self._chance.choice(DELTA_TYPES))]
            DeltaTable.create(str(folder / "shop" / "orders"), DeltaSchema(fields))
        if self._chance.random() < 0.6:
            more["delta.tables.evolve-schema-enabled"] = "true"
        if self._chance.random() < 0.3:
            more |= {"delta.tables.upsert-mode-enabled": "true", "delta.tables.default-id-columns": "id"}
        elif self._chance.random() < 0.2:
            more["delta.tables.default-partition-by"] = self._chance.choice(["x", "id"])
        self.settings = more
        self._runner = lambda: lake.sink(**more)
        self.ids = lake.ids

    def _files(self, kind: str) -> None:
        folder = self._folder / "store"
        more = {"format.class": kind, "errors.tolerance": "all"}
        if self._chance.random() < 0.3:
            more |= {"partitioner.class": "FieldPartitioner", "partition.field.name": "x"}
        elif self._chance.random() < 0.3:
            more |= {
                "partitioner.class": "TimeBasedPartitioner",
                "path.format": "'y'=YYYY/'m'=MM",
                "locale": "en",
                "timezone": "UTC",
                "partition.duration.ms": "3600000",
                "timestamp.extractor": self._chance.choice(["Record", "RecordField"]),
                "timestamp.field": "x",
            }
        self.settings = more
        settings = {"topics": "orders", "store": f"file://{folder}", "flush.size": "1", **more}
        self._runner = lambda: SinkRunner(ObjectStoreSinkConnector, settings)

    def _parquet(self) -> None:
        self._files("ParquetFormat")

    def _avro(self) -> None:
        self._files("AvroFormat")

    def _json(self) -> None:
        self._files("JsonFormat")

    def _sql(self) -> None:
        url = f"sqlite:///{self._folder}/db.sqlite"
        more = {"errors.tolerance": "all", "auto.create": "true", "auto.evolve": self._chance.choice(["true", "false"])}
        more |= self._chance.choice([{}, {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id"}])
        if self._chance.random() < 0.5:
            with sa.create_engine(url).begin() as connection:
                kind = self._chance.choice(["text", "integer", "numeric", "blob", "real", "date", "timestamp", "boolean"])
                connection.execute(sa.text(f"create table orders (id integer primary key, x {kind})"))
        self.settings = more
        settings = {"topics": "orders", "connection.url": url, "max.retries": "2", "retry.backoff.ms": "1", **more}
        self._runner = lambda: SinkRunner(SqlSinkConnector, settings)

        def ids() -> list[int]:
            with sa.create_engine(url).begin() as connection:
                if not sa.inspect(connection).has_table("orders"):
                    return []
                return [row[0] for row in connection.execute(sa.text("select id from orders"))]

        self.ids = ids


class Watched:
    """What is done meanwhile takes so much time and memory, and no more; `fault` tells if it has."""

    def __enter__(self) -> Watched:
        self._began, self._before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return self

    def __exit__(self, *raised: object) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self._before
        self.fault = too_much(time.monotonic() - self._began, used)


def too_much(seconds: float, kilobytes: int) -> str:
    """Return a sentence if it is; otherwise an empty text."""
    if seconds > _MOST_S:
        return f"it took {seconds:.0f} s"
    return f"it took {kilobytes // 1000} MB" if kilobytes > _MOST_KB else ""


def fault(case: Case) -> str:
    """What went wrong with a case that was played; an empty text if nothing did."""
    if case.ended is not None:
        return f"the task ended: {case.ended}"
    good = {each.original_offset: each.value["id"] for each in case.records if isinstance(each.value, dict | Struct)}
    if case.ids is not None:
        there = case.ids()
        wanted = sorted(number for offset, number in good.items() if offset not in case.reported)
        if sorted(there) != wanted:
            return f"the table has {sorted(there)}, not {wanted}; reported: {case.reported}"
    return ""


def described(case: Case) -> str:
    """The case as a person reads it, shortened."""
    values = [f"{each.value_schema and each.value_schema.fields}: {each.value!r}"[:300] for each in case.records]
    odd = [
        text
        for text, each in zip(values, case.records)
        if not (isinstance(each.value, dict | Struct) and each.value["id"] >= 0)
    ]
    return f"{case.what} {case.settings} {' | '.join(odd)}".encode(errors="backslashreplace").decode()


def play(seed: int, number: int) -> str:
    """Play one case. Return what was wrong."""
    chance = random.Random(f"{seed}-{number}")
    with tempfile.TemporaryDirectory(prefix="kconnect-extremes-") as folder:
        case = Case(chance, Path(folder))
        with Watched() as watched:
            case.play()
        wrong = watched.fault or fault(case)
        return f"{wrong}\n    {described(case)}" if wrong else ""


def main(arguments: list[str], play_one: Callable[[int, int], str] = play) -> int:
    """Play cases and say of each how it ended. Return 1 if one was wrong. `play_one` takes the seed and the case's number."""
    parser = argparse.ArgumentParser(description=play_one.__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args(arguments)
    status = 0
    for number in range(options.first, options.first + options.count):
        # Said first: who dies says nothing afterwards.
        sys.stdout.write(f"case {number}\n")
        sys.stdout.flush()
        try:
            wrong = play_one(options.seed, number)
        except Exception:  # noqa: BLE001 - of whatever kind, it is the case's
            wrong = traceback.format_exc()
        if wrong:
            status = 1
            sys.stdout.write(f"wrong {number}: {wrong}\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
