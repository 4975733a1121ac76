"""
What each transform, predicate and converter costs: nanoseconds of CPU a record, alone and in chains of 1, 3 and 6.

In memory, without a broker: batches of 1,000 records of ten fields, once with a schema and once as plain maps; for converters
also envelopes as Debezium makes them of a table's rows. Each figure is the median of several rounds; rounds of all rows
alternate, so that a busy moment of the machine hits all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from kconnect.api.record import SourceRecord
from kconnect.core.task.batch import Records
from kconnect.core.task.chain import Converters, SinkChain, SourceChain
from kconnect.core.task.errors import strict
from kconnect.core.task.source_pump import SourceConversion
from kconnect.core.task.steps import Steps
from kconnect.data.schema import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT64_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Struct,
    struct,
)
from kconnect.plugins.registry import Registry
from kconnect.units.transforms import Transforms
from tests.rig.benches import results

BATCH = 1000
FIELDS: dict[str, tuple[Schema, Any]] = {
    "id": (INT64_SCHEMA, 1234567),
    "name": (STRING_SCHEMA, "Ada Lovelace"),
    "email": (OPTIONAL_STRING_SCHEMA, "ada@example.org"),
    "city": (OPTIONAL_STRING_SCHEMA, None),
    "age": (INT32_SCHEMA, 36),
    "score": (FLOAT64_SCHEMA, 12.75),
    "active": (BOOLEAN_SCHEMA, True),
    "created": (INT64_SCHEMA, 1_700_000_000_000),
    "comment": (STRING_SCHEMA, "a text of some forty characters, or so."),
    "country": (STRING_SCHEMA, "GB"),
}
TRANSFORMS: dict[str, dict[str, str]] = {
    "Cast$Value": {"spec": "age:int64,score:string"},
    "DropHeaders": {"headers": "h"},
    "ExtractField$Value": {"field": "name"},
    "Filter": {},
    "Flatten$Value": {},
    "HeaderFrom$Value": {"fields": "name", "headers": "name", "operation": "copy"},
    "HoistField$Value": {"field": "line"},
    "InsertField$Value": {"static.field": "from", "static.value": "bench", "topic.field": "topic"},
    "InsertHeader": {"header": "h", "value.literal": "1"},
    "MaskField$Value": {"fields": "email"},
    "RegexRouter": {"regex": "(.*)", "replacement": "$1-x"},
    "ReplaceField$Value": {"exclude": "comment", "renames": "name:full_name"},
    "SetSchemaMetadata$Value": {"schema.name": "Person", "schema.version": "2"},
    "TimestampConverter$Value": {"field": "created", "target.type": "string", "format": "yyyy-MM-dd"},
    "TimestampRouter": {},
    "ValueToKey": {"fields": "id"},
}
PREDICATES: dict[str, dict[str, str]] = {
    "TopicNameMatches": {"pattern": "o.*"},
    "HasHeaderKey": {"name": "h"},
    "RecordIsTombstone": {},
}
CHAINS = {
    "chain of 1": ["InsertField$Value"],
    "chain of 3": ["InsertField$Value", "ReplaceField$Value", "Cast$Value"],
    "chain of 6": ["InsertField$Value", "ReplaceField$Value", "Cast$Value", "MaskField$Value", "ValueToKey", "RegexRouter"],
}
CONVERTERS: dict[str, dict[str, str]] = {
    "JsonConverter, schemas": {"schemas.enable": "true"},
    "JsonConverter": {"schemas.enable": "false"},
    "AvroConverter": {"schema.registry.url": "mock://bench"},
}
SIMPLE: dict[str, tuple[Schema, Any]] = {
    "StringConverter": (STRING_SCHEMA, "a text of some forty characters, or so."),
    "LongConverter": (INT64_SCHEMA, 1234567),
    "ByteArrayConverter": (BYTES_SCHEMA, b"a text of some forty characters, or so."),
}

Work = Callable[[], object]


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    options = parser.parse_args()
    rows = {name: work for name, work in all_rows().items() if options.only in name}
    found: dict[str, list[float]] = {name: [] for name in rows}
    for work in rows.values():
        work()
    for _ in range(options.rounds):
        for name, work in rows.items():
            began = time.process_time_ns()
            work()
            found[name].append((time.process_time_ns() - began) / BATCH)
    made = results.Results("chain", options.json)
    for name, costs in found.items():
        made.add(name, results.KCONNECT, "CPU a record", "ns", *costs)
    made.show()


def all_rows() -> dict[str, Work]:
    registry = Registry.scan([])
    rows: dict[str, Work] = {}
    for form, records in (("struct", structs()), ("map", maps())):
        for name, settings in TRANSFORMS.items():
            if name == "SetSchemaMetadata$Value" and form == "map":
                continue  # It has no schema to set.
            rows[f"{name}, {form}"] = chain(registry, [(name, settings)], records)
        for name, names in CHAINS.items():
            rows[f"{name}, {form}"] = chain(registry, [(each, TRANSFORMS[each]) for each in names], records)
    for name, settings in PREDICATES.items():
        config = {"predicates": "p", "predicates.p.type": name, "transforms.t0.predicate": "p"}
        config |= {f"predicates.p.{key}": value for key, value in settings.items()}
        rows[f"{name} (with DropHeaders)"] = chain(registry, [("DropHeaders", {"headers": "x"})], structs(), config)
    for name, settings in CONVERTERS.items():
        rows |= converter(registry, name, settings, maps() if name == "JsonConverter" else structs())
        rows |= converter(registry, f"{name}, envelope", settings, envelopes())
    for name, (schema, value) in SIMPLE.items():
        records = [SourceRecord(None, None, "orders", value_schema=schema, value=value) for _ in range(BATCH)]
        rows |= converter(registry, name, {}, records)
    return rows


def chain(
    registry: Registry, steps: list[tuple[str, dict[str, str]]], records: list[Any], more: Mapping[str, str] | None = None
) -> Work:
    config = {"transforms": ",".join(f"t{number}" for number in range(len(steps))), **(more or {})}
    for number, (name, settings) in enumerate(steps):
        config[f"transforms.t{number}.type"] = f"org.apache.kafka.connect.transforms.{name}"
        config |= {f"transforms.t{number}.{key}": value for key, value in settings.items()}
    made = Transforms(config, registry, owned=True)
    errors = strict()

    def as_a_source_does_it() -> object:
        batch = Records.of(records, owned=False)
        return made.steps.run([record.copy() for record in records] if batch is None else batch, records, errors)

    return as_a_source_does_it


def converter(registry: Registry, name: str, settings: dict[str, str], records: list[SourceRecord]) -> dict[str, Work]:
    def make(which: str) -> Any:
        value = which == "value"
        made = registry.load(name.split(",")[0] if value else "StringConverter", "converter")()
        made.configure(settings if value else {}, not value)
        return made

    def headers() -> Any:
        raise AssertionError("no record here has headers")

    converters = Converters(make("key"), make("value"), headers)
    source, sink = SourceChain(converters), SinkChain(converters)
    messages = [Message(found[1]) for found in source.apply(records) if found is not None]
    convert = SourceConversion(source, Steps([]), strict())
    return {
        f"{name}: to bytes": lambda: convert(records),
        f"{name}: from bytes": lambda: sink.at_once(messages) or sink.apply(messages),
    }


class Message:
    """As cheap as a message can be: what is measured is the chain."""

    __slots__ = ("_value",)

    def __init__(self, value: bytes | None) -> None:
        self._value = value

    def topic(self) -> str:
        return "orders"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 1

    def key(self) -> None:
        return None

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_700_000_000_000


def structs() -> list[Any]:
    schema = struct({name: schema for name, (schema, _) in FIELDS.items()}, name="person")

    def value(number: int) -> Struct:
        return Struct(schema, {name: number if name == "id" else value for name, (_, value) in FIELDS.items()})

    return [record(schema, value(number)) for number in range(BATCH)]


def maps() -> list[Any]:
    values = {name: value for name, (_, value) in FIELDS.items()}
    return [record(None, {**values, "id": number}) for number in range(BATCH)]


def envelopes() -> list[Any]:
    table = struct({name: schema for name, (schema, _) in FIELDS.items()}, name="shop.people.Value", optional=True)
    place = {"connector": "postgresql", "snapshot": "true", "db": "shop", "schema": "public", "table": "people"}
    numbers = {"ts_ms": 1_700_000_000_000, "txId": 777, "lsn": 123_456_789}
    kinds = {**dict.fromkeys(place, STRING_SCHEMA), **dict.fromkeys(numbers, INT64_SCHEMA)}
    source = struct(kinds, name="io.debezium.connector.postgresql.Source")
    schema = struct({"before": table, "after": table, "source": source, "op": STRING_SCHEMA}, name="shop.people.Envelope")

    def value(row: Struct) -> Struct:
        after = Struct.unchecked(table, list(row.values))
        return Struct(schema, {"after": after, "source": Struct(source, {**place, **numbers}), "op": "r"})

    return [record(schema, value(person.value)) for person in structs()]


def record(schema: Schema | None, value: Any) -> SourceRecord:
    return SourceRecord(None, None, "orders", value_schema=schema, value=value, timestamp=1_700_000_000_000)


if __name__ == "__main__":
    main()
