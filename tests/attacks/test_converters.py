"""Attacks on converters by who may write one record to a data topic, and by a schema registry."""

from __future__ import annotations

import gzip
import io
import json
import struct
import threading
from collections.abc import Iterator
from typing import Any

import fastavro
import pytest

from kconnect.api import SinkRecord, SourceRecord
from kconnect.converters import avro
from kconnect.converters.avro import AvroConverter
from kconnect.converters.avro_depth import check_depth
from kconnect.converters.avro_types import Avro, parse
from kconnect.converters.json import JsonConverter
from kconnect.converters.schema_registry import MemoryRegistry
from kconnect.converters.simple_header import SimpleHeaderConverter
from kconnect.converters.string import StringConverter
from kconnect.core.task.batch import Records
from kconnect.core.task.chain import Converters, SourceChain
from kconnect.data.schema import Schema
from kconnect.errors import ConnectError, DataError, RetriableError
from kconnect.transforms.common import PerSchema
from kconnect.transforms.replace_field import ReplaceFieldValue
from tests.attacks import hostile
from tests.attacks.hostile import Asked, Hostile, Reply

SCOPE = "attacks-converters"
SIMPLE = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}


@pytest.fixture
def registry() -> Iterator[MemoryRegistry]:
    yield MemoryRegistry.of(SCOPE)
    MemoryRegistry.drop(SCOPE)


@pytest.fixture
def service() -> Iterator[Hostile]:
    with Hostile() as made:
        yield made


def converter(url: str = f"mock://{SCOPE}", **more: Any) -> AvroConverter:
    made = AvroConverter()
    made.configure({"schema.registry.url": url, **{name.replace("_", "."): value for name, value in more.items()}})
    return made


def message(id: int, body: bytes) -> bytes:
    return struct.pack(">bI", 0, id) + body


# Records.


def test_schemas_that_come_with_records_take_no_memory() -> None:
    """Who may write to the topic sends a long schema with each record, another one each time: few of them are kept."""
    converter, transform = JsonConverter(), PerSchema(Schema.optional_copy)
    for number in range(60):
        described = {"type": "struct", "fields": [], "doc": f"{number}" + "x" * 900_000}
        value = converter.to_connect_data("t", json.dumps({"schema": described, "payload": {}}).encode())
        assert value.schema is not None
        converter.from_connect_data("t", *value)
        transform(value.schema)
    for kept in (converter._read, converter._heads, converter._writers._kept, transform._made):
        assert 0 < len(kept) < 40


def test_names_that_come_with_records_take_no_memory() -> None:
    """Who may write to the topic has ten thousand other names in each record: what is made of few of them is kept."""
    transform = ReplaceFieldValue()
    transform.configure({"renames": "a:b"})
    for number in range(100):
        value = {f"{number}_{each}": 1 for each in range(10_000)}
        transform.apply(SinkRecord("t", 0, None, None, None, value, 0))
    assert 0 < len(transform._plans) <= 10


def test_topics_that_records_choose_take_no_memory() -> None:
    """Who decides about a source's records has a transform make another topic of each: few of them are kept."""
    string = StringConverter()
    chain = SourceChain(Converters(string, string, SimpleHeaderConverter))
    for number in range(5000):
        chain.apply([SourceRecord({}, {}, f"t{number}", None, None, None, None, "x")])
    assert 0 < len(chain._null_keys) <= 1000


def envelope(described: Any, payload: Any) -> bytes:
    return json.dumps({"schema": described, "payload": payload}, separators=(",", ":")).encode()


NOTHING = {"type": "int8", "optional": True}
WIDE = {"type": "struct", "fields": [{**NOTHING, "field": f"{each}"} for each in range(3000)], "optional": True}
LONG = {"type": "string", "default": "x" * 500_000, "optional": True}


@pytest.mark.parametrize(
    ("described", "payload"),
    [
        ({"type": "array", "items": WIDE}, [{}] * 20_000),
        ({"type": "array", "items": {"type": "array", "items": WIDE}}, [[{}]] * 20_000),
        ({"type": "map", "keys": {"type": "string"}, "values": WIDE}, {f"{each}": {} for each in range(20_000)}),
        ({"type": "array", "items": LONG}, [None] * 20_000),
        ({"type": "array", "items": {"type": "struct", "fields": [{**LONG, "field": "a"}]}}, [{}] * 20_000),
    ],
    ids=["fields", "lists", "map", "texts", "defaults"],
)
def test_what_is_missing_in_a_record_takes_no_memory(described: Any, payload: Any) -> None:
    """Who may write to the topic says `{}` or null very often, of a schema that makes much of each: 1 MB became 16 GB."""
    made = JsonConverter()
    data = envelope(described, payload)
    for read in (lambda: made.to_connect_data("t", data), lambda: made.to_connect_all("t", [data, data])):
        with pytest.raises(DataError, match="far more values than it has"):
            read()
    few = payload[:4] if isinstance(payload, list) else dict(list(payload.items())[:4])
    assert len(made.to_connect_data("t", envelope(described, few)).value) == 4
    assert made.to_connect_data("t", envelope(WIDE, {"7": 1})).value.get("7") == 1


def test_data_without_a_schema_is_not_nested_without_an_end(registry: MemoryRegistry) -> None:
    """Who may write to the topic nests a value of the type Anything until fastavro has no room left and ends the host."""
    made = converter()
    flat, deeper = (made.from_connect_data("t", None, value) for value in ([1], [[1]]))
    assert flat is not None
    assert deeper is not None
    inner, outer = flat[5:], deeper[5:]
    begin = next(at for at in range(len(outer)) if outer[at : at + len(inner)] == inner)
    before, behind = outer[:begin], outer[begin + len(inner) :]
    assert made.to_connect_data("t", flat[:5] + before * 20 + inner + behind * 20).value != [1]
    with pytest.raises(DataError, match="nested more than"):
        made.to_connect_data("t", flat[:5] + before * 500_000 + inner + behind * 500_000)


def test_a_list_that_is_chained_is_measured_without_being_read() -> None:
    """Who may write to the topic sends 50,000 elements of a chain, which ended the process in which fastavro read them."""
    chain = parse(json.dumps({"type": "record", "name": "N", "fields": [{"name": "n", "type": ["null", "N"]}]}))
    check_depth(chain, b"\x02" * 100 + b"\0" + b"a" * 10_000, 0)
    with pytest.raises(DataError, match="nested more than"):
        check_depth(chain, b"\x02" * 50_000 + b"\0", 0)


@pytest.mark.parametrize(
    "items",
    [
        {"type": "record", "name": "E", "fields": []},
        {"type": "fixed", "name": "F", "size": 0},
        {"type": "record", "name": "E", "fields": [{"name": "f", "type": {"type": "fixed", "name": "F", "size": 0}}]},
    ],
    ids=["record", "fixed", "inner"],
)
def test_a_list_of_nothing_has_no_billion_elements(registry: MemoryRegistry, items: Any) -> None:
    """Who may write to the topic says in six bytes that a list has a billion elements, of a type that has no bytes."""
    kind = {"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": items}}]}
    id = registry.register("t-value", json.dumps(kind))
    with pytest.raises(DataError, match="elements have no bytes"):
        converter().to_connect_data("t", message(id, b"\x80\x94\xeb\xdc\x03\x00"))


FIXED: Any = {"type": "fixed", "name": "F", "size": 0}


def of_fields(*kinds: Any, name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": f"a{at}", "type": kind} for at, kind in enumerate(kinds)]}


@pytest.mark.parametrize(
    "record",
    [
        of_fields("int", FIXED, *["F"] * 1000),
        of_fields("int", of_fields(name="E"), *["E"] * 1000),
        of_fields("int", *(of_fields({**FIXED, "name": f"F{at}"}, *[f"F{at}"] * 3, name=f"E{at}") for at in range(5))),
    ],
    ids=["fixed", "records", "nested"],
)
def test_a_record_has_few_fields_of_nothing(registry: MemoryRegistry, record: Any) -> None:
    """Who may register a schema has a thousand fields in it that take no byte, in a list: 20 kB took 676 MB and 20 s."""
    id = registry.register("t-value", json.dumps({"type": "array", "items": record}))
    with pytest.raises(DataError, match="without any bytes"):
        converter().to_connect_data("t", message(id, b"\xc0\xb8\x02" + b"\x02" * 20_000 + b"\0"))
    few = {"type": "array", "items": of_fields("int", "int", FIXED, of_fields(name="E"))}
    good = registry.register("u-value", json.dumps(few))
    assert len(converter().to_connect_data("u", message(good, b"\x04" + b"\x02" * 4 + b"\0")).value) == 2


@pytest.mark.parametrize("body", [b"\x80\x94\xeb\xdc\x03", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x01", b""])
def test_a_text_has_no_more_bytes_than_its_record(registry: MemoryRegistry, body: bytes) -> None:
    """Who may write to the topic says that a text has a billion bytes, or less than none."""
    id = registry.register("t-value", json.dumps("string"))
    with pytest.raises(DataError):
        converter().to_connect_data("t", message(id, body))


@pytest.mark.parametrize("body", [b"\1\0", b"\3\0", b"\0\1\2", b"\0\5\2"], ids=["enum", "far enum", "union", "far union"])
def test_no_index_of_avro_is_below_zero(registry: MemoryRegistry, body: bytes) -> None:
    """Who may write to the topic has indexes from the end: a bad record, in place of another symbol, or null."""
    enum = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
    kind = {
        **{"type": "record", "name": "R"},
        "fields": [{"name": "e", "type": enum}, {"name": "u", "type": ["null", "int"]}],
    }
    id = registry.register("t-value", json.dumps(kind))
    value = converter().to_connect_data("t", message(id, b"\2\2\4")).value
    assert (value.get("e"), value.get("u")) == ("B", 2), "the control"
    with pytest.raises(DataError):
        converter().to_connect_data("t", message(id, body))


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"type": "enum", "name": "E", "symbols": ["A", "A"]}),
        json.dumps({"type": "enum", "name": "E", "symbols": [[1], {}]}),
        '{"type":"fixed","name":"F","size":1e999}',
        json.dumps(["null", "null"]),
        "[]",
        json.dumps({"type": "record", "name": "R", "fields": [{"name": 1, "type": "int"}]}),
        json.dumps({"type": "record", "name": "R", "fields": [{"name": [1], "type": "int"}]}),
    ],
)
def test_a_schema_that_cannot_be_is_its_records_fault(registry: MemoryRegistry, text: str) -> None:
    """Who may register a schema registers one of which nothing can be made: a bad record, and no bare error."""
    id = registry.register("t-value", text)
    with pytest.raises(DataError, match="Failed to deserialize data for topic t to Avro"):
        converter().to_connect_data("t", message(id, b"\x02"))


def test_a_schema_that_cannot_be_is_asked_for_once_in_a_while(
    registry: MemoryRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may write to the topic sends a thousand records with it: a request, and the work of parsing, for each of them."""
    bad = registry.register("t-value", "[]")
    asked: list[int] = []
    by_id = registry.by_id

    def counted(id: int, subject: str | None = None) -> Any:
        asked.append(id)
        return by_id(id, subject)

    monkeypatch.setattr(registry, "by_id", counted)
    monkeypatch.setattr(avro, "_AGAIN_S", 1e9)
    reader, missing = converter(), bad + 1
    said = set()
    for id in (bad, missing):
        for _ in range(1000):
            with pytest.raises(DataError, match="Failed to deserialize data for topic t to Avro") as raised:
                reader.to_connect_data("t", message(id, b"\x02"))
            said.add(str(raised.value))
    assert asked == [bad, missing] and len(said) == 2
    # One that is registered late is found.
    assert registry.register("t-value", json.dumps(SIMPLE)) == missing
    monkeypatch.setattr(avro, "_AGAIN_S", 1.0)
    assert reader.to_connect_data("t", message(missing, b"\x02")).value is not None


@pytest.mark.parametrize(
    "kind",
    [
        {**SIMPLE, "doc": {"a": 1}, "namespace": ["n"]},
        {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int", "doc": [1]}]},
        {"type": "enum", "name": "E", "symbols": ["A", "B"], "default": [1]},
    ],
)
def test_words_of_a_schema_that_are_no_texts_are_none(registry: MemoryRegistry, kind: Any) -> None:
    """Who may register a schema has a list where a text is: it became a schema's, which no map could hold."""
    value = converter().to_connect_data("t", message(registry.register("t-value", json.dumps(kind)), b"\x02"))
    assert converter().from_connect_data("u", *value) is not None


def test_a_union_takes_time_by_its_length(registry: MemoryRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may register a schema has twenty thousand branches in it: to write one value took a minute, and all else waited."""
    count = 2000
    branches = [{"type": "record", "name": f"R{number}", "fields": []} for number in range(count)]
    value = converter().to_connect_data("t", message(registry.register("t-value", json.dumps(branches)), b"\x02"))
    gone_through = 0
    present = vars(Avro)["present"].fget

    def counted(avro: Avro) -> list[Avro]:
        nonlocal gone_through
        gone_through += len(avro.branches)
        return present(avro)

    monkeypatch.setattr(Avro, "present", property(counted))
    assert converter().from_connect_data("u", *value) is not None
    assert count <= gone_through < 50 * count


DECIMAL = '{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"%s"}}'


@pytest.mark.parametrize(
    ("scale", "payload"),
    [("2", "1e999999999"), ("2", "1E-999999999"), ("999999999", '"AQ=="'), ("-999999999", '"AQ=="'), ("2", "1e100001")],
)
def test_a_decimal_has_no_billion_digits(scale: str, payload: str) -> None:
    """Who may write to the topic sends a decimal of ten characters, which is a gigabyte wherever it is written out."""
    made = JsonConverter()
    made.configure({})
    with pytest.raises(DataError, match="scale that exceeds"):
        made.to_connect_data("t", f'{{"schema":{DECIMAL % scale},"payload":{payload}}}'.encode())


@pytest.mark.parametrize(
    ("scale", "payload", "value"), [("2", "1.5", "1.5"), ("2", "1e30", "1E+30"), ("300", '"AQ=="', "1E-300")]
)
def test_a_decimal_with_many_digits_is_one(scale: str, payload: str, value: str) -> None:
    """The control: what people have in their decimals is read."""
    made = JsonConverter()
    made.configure({})
    found = made.to_connect_data("t", f'{{"schema":{DECIMAL % scale},"payload":{payload}}}'.encode()).value
    assert str(found) == value


@pytest.mark.parametrize("levels", [900, 5000, 200_000])
def test_json_that_is_nested_is_one_records_fault(levels: int) -> None:
    """Who may write to the topic nests lists: the record is read, or refused, and the process goes on."""
    made = JsonConverter()
    made.configure({"schemas.enable": "false"})
    try:
        found = made.to_connect_data("t", b"[" * levels + b"]" * levels)
    except (DataError, RecursionError):
        return
    with pytest.raises((DataError, RecursionError)):
        made.from_connect_data("t", None, found.value)


def _enveloped(levels: int, first: str) -> bytes:
    """A record with a list of lists; `first` is the attribute that its schemas begin with."""
    own: dict[str, Any] = {"type": "int32", "optional": True}
    for _ in range(levels):
        parts = {"type": "array", "items": own, "optional": True}
        own = {first: parts[first], **parts}
    top = {"type": "struct", "fields": [{**own, "field": "a"}]}
    return json.dumps({"schema": top, "payload": {"a": None}}).encode()


def test_schemas_that_are_nested_are_one_records_fault() -> None:
    """
    Who may write to the topic nests the schema of a record four hundred times, and spells it in two ways: each could be read,
    and the task ended where a transform's batch compared them.
    """
    made = JsonConverter()
    made.configure({"schemas.enable": "true"})
    with pytest.raises(DataError, match="Schemas are within each other more than 250 times"):
        made.to_connect_data("t", _enveloped(400, "type"))
    values = [made.to_connect_data("t", _enveloped(240, first)) for first in ("type", "optional")]
    assert values[0].schema is not values[1].schema
    records = [SinkRecord("t", 0, None, None, *values[at % 2], at) for at in range(20)]
    assert Records.of(records, owned=True) is not None


# Registries.


def schema_of(text: str, **more: Any) -> hostile.Answer:
    return hostile.given({"schema": text, "schemaType": "AVRO", **more})


def test_a_schema_has_a_size(service: Hostile) -> None:
    """The registry answers with a schema of many megabytes, with its length or without: it is not read."""
    service.default = schema_of(json.dumps({**SIMPLE, "doc": "a" * 2_000_000}))
    for _ in range(2):
        with pytest.raises(DataError, match=r"http\.response\.max\.bytes is 1000000"):
            converter(service.url, http_response_max_bytes=1_000_000).to_connect_data("t", message(1, b"\x02"))
        service.default = service.endless()


def test_a_schema_is_not_unpacked(service: Hostile) -> None:
    """The registry answers with a bomb, though nobody has asked for a packed answer."""
    data = gzip.compress(json.dumps({"schema": " " * 50_000_000}).encode())
    service.default = lambda asked: Reply(headers={"Content-Encoding": "gzip"}, body=data)
    with pytest.raises(DataError, match="packed"):
        converter(service.url).to_connect_data("t", message(1, b"\x02"))
    assert {each.headers["accept-encoding"] for each in service.asked} == {"identity"}


def test_a_schema_that_drips_is_late(service: Hostile) -> None:
    """The registry answers a byte at a time, each in time: the limit is of the whole answer."""
    service.default = service.dripping(pause_s=0.1)
    with pytest.raises((DataError, RetriableError), match=r"http\.read\.timeout\.ms"):
        converter(service.url, http_read_timeout_ms=500).to_connect_data("t", message(1, b"\x02"))


def test_references_have_an_end(service: Hostile) -> None:
    """The registry answers each question for a referenced schema with a reference to one more."""
    count = iter(range(10**9))

    def answer(asked: hostile.Asked) -> Reply:
        number = next(count)
        references = [{"name": f"n{number}", "subject": f"s{number}", "version": 1}]
        more = {"id": number + 1, "subject": "s", "version": 1, "references": references}
        return schema_of(json.dumps(SIMPLE), **more)(asked)

    service.default = answer
    with pytest.raises(DataError, match="refers to more than"):
        converter(service.url).to_connect_data("t", message(1, b"\x02"))
    assert len(service.asked) < 1100


@pytest.mark.parametrize(
    "text", ["[" * 3000 + "]" * 3000, '{"type":"array","items":' * 900 + '"int"' + "}" * 900], ids=["lists", "types"]
)
def test_a_schema_is_not_nested_without_an_end(service: Hostile, text: str) -> None:
    """The registry answers with a schema that is nested until nobody can walk down: it is refused, and the process goes on."""
    service.default = schema_of(text)
    with pytest.raises((ConnectError, RecursionError)):
        converter(service.url).to_connect_data("t", message(1, b"\x02"))


def test_a_subject_is_never_another_address(service: Hostile) -> None:
    """The registry names a record as the folder above, where a lookup by the record's name must not go."""
    service.default = schema_of(json.dumps({**SIMPLE, "name": ".."}))
    strategy = "io.confluent.kafka.serializers.subject.RecordNameStrategy"
    with pytest.raises(DataError, match="no name of a subject"):
        converter(service.url, value_subject_name_strategy=strategy).to_connect_data("t", message(1, b"\x02"))
    assert all(each.path.startswith("/schemas/ids/") for each in service.asked)


@pytest.mark.parametrize("version", ["1/../../../../config", "1?x=y", "1\r\nx: y", [1], 1.5, True, -7, 10**30])
def test_a_version_is_never_another_address(service: Hostile, version: Any) -> None:
    """The registry names a version that is a path: the next request went to another address, with the login."""
    service.default = schema_of(json.dumps(SIMPLE), references=[{"name": "n", "subject": "s", "version": version}])
    with pytest.raises(ConnectError, match="does not answer as a schema registry does"):
        converter(service.url).to_connect_data("t", message(1, b"\x02"))
    assert [each.path.partition("?")[0] for each in service.asked] == ["/schemas/ids/1"]


@pytest.mark.parametrize("version", ['"x"', "1.5", "NaN", "1" + "0" * 30, "-5", "true"])
def test_the_version_of_a_schema_is_a_number(service: Hostile, version: str) -> None:
    """The registry gives a schema a version that is none: it became a schema's, and NaN is no schema's twice."""
    body = f'{{"schema":{json.dumps(json.dumps(SIMPLE))},"id":1,"version":{version}}}'.encode()
    service.default = lambda asked: Reply(body=body)
    with pytest.raises(ConnectError, match="does not answer as a schema registry does"):
        converter(service.url).to_connect_data("t", message(1, b"\x02"))


@pytest.mark.parametrize("body", [{"error_code": 40403, "message": [1]}, {"error_code": {"a": 1}, "message": 5}])
def test_a_refusal_without_words_is_one(service: Hostile, body: Any) -> None:
    """The registry refuses with what is no text: its records had an error of Python's."""
    service.default = hostile.given(body, 404)
    with pytest.raises(DataError, match="status 404"):
        converter(service.url).to_connect_data("t", message(1, b"\x02"))


def test_the_id_of_a_schema_has_four_bytes(service: Hostile) -> None:
    """The registry gives an id that no record has room for."""
    service.default = hostile.given({"id": 2**32})
    with pytest.raises(ConnectError, match="does not answer as a schema registry does"):
        converter(service.url).from_connect_data("t", None, 5)


def test_what_a_registry_says_is_one_short_line(service: Hostile) -> None:
    """The registry refuses with a page of text that would make lines of a log."""
    body = {"error_code": 42201, "message": "no\n2026-01-01 INFO forged\n\x1b[2J" + "x" * 100_000}
    service.default = hostile.given(body, 422)
    with pytest.raises(DataError) as raised:
        converter(service.url).from_connect_data("t", None, 5)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 1500


def test_an_ordinary_registry_is_read(service: Hostile) -> None:
    """The control: what a registry gives as a rule is read, in a thread as tasks are."""
    service.default = lambda asked: (
        schema_of(json.dumps(SIMPLE), id=1, subject="t-value", version=1)(asked)
        if asked.method == "GET"
        else hostile.given({"subject": "t-value", "id": 1, "version": 1, "schema": json.dumps(SIMPLE)})(asked)
    )
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(SIMPLE), {"a": 7})
    found: list[Any] = []
    thread = threading.Thread(
        target=lambda: found.append(converter(service.url).to_connect_data("t", message(1, out.getvalue())))
    )
    thread.start()
    thread.join(60)
    assert found[0].value.get("a") == 7


def test_schemas_that_a_schema_refers_to_have_a_size_together(service: Hostile) -> None:
    """The registry answers with a thousand long schemas, one after the other: the record fails before they fill the memory."""
    long = json.dumps({"type": "record", "name": "L", "doc": "x" * 3_000_000, "fields": []})

    def answer(asked: Asked) -> Reply:
        path = asked.path.partition("?")[0]
        if path.startswith("/schemas/ids/"):
            references = [{"name": f"r{number}", "subject": f"s{number}", "version": 1} for number in range(900)]
            return hostile.given({"schema": json.dumps(SIMPLE), "references": references})(asked)
        return hostile.given({"subject": "s", "id": 1, "version": 1, "schema": long})(asked)

    service.default = answer
    with pytest.raises(DataError, match="refers to schemas of more than 16777216 characters together"):
        converter(service.url).to_connect_data("t", message(7, b"\0"))
    assert len(service.asked) < 10


# What a record leaves behind for those that come later.


def test_a_second_schema_behind_a_payload_is_nobody_elses() -> None:
    """Who may write to the topic sends two schemas in a message: others that begin alike were read by the second one."""
    number, text = {"type": "int32"}, {"type": "string"}
    twice = envelope(number, 1)[:-1] + b"," + envelope(text, "x")[1:]
    good = [envelope(number, each) for each in range(20)]
    one, all_of_them = JsonConverter(), JsonConverter()
    for made in (one, all_of_them):
        assert made.to_connect_data("t", twice).value == "x", "of a name that comes twice the last one counts, as in Connect"
    assert [one.to_connect_data("t", each).value for each in good] == list(range(20))
    column = all_of_them.to_connect_all("t", good)
    assert column is None or list(column) == list(range(20))


LONG_TEXT = "x" * 900_000


@pytest.mark.parametrize(
    "more",
    [{"fields": [{"type": "int8", "optional": True, "field": f"{LONG_TEXT}NUMBER"}]}, {"of whom": f"{LONG_TEXT}NUMBER"}],
    ids=["names", "what nobody knows"],
)
def test_texts_of_schemas_take_no_memory(more: Any) -> None:
    """Who may write to the topic sends a schema with a long name, or with what no schema has: a thousand were kept."""
    made = JsonConverter()
    for number in range(60):
        described = json.loads(json.dumps({"type": "struct", "fields": [], **more}).replace("NUMBER", str(number)))
        made.to_connect_data("t", envelope(described, {}))
    assert 0 < len(made._read) < 40


def test_texts_of_registered_schemas_take_no_memory(registry: MemoryRegistry) -> None:
    """Who may register schemas has much in them that no record has: a thousand were kept."""
    made = converter()
    for number in range(45):
        id = registry.register("t-value", json.dumps({**SIMPLE, "name": f"R{number}", "of whom": LONG_TEXT}))
        assert made.to_connect_data("t", message(id, b"\x02")).value.get("a") == 1
    assert 0 < len(made._readings) < 40


@pytest.mark.long
def test_defaults_within_each_other_take_no_more_time_than_their_length() -> None:
    """Who may write to the topic has three hundred structs in each other, each with a default, above very many fields."""

    def within(levels: int, fields: int) -> Any:
        leaves = [{**NOTHING, "field": f"{each}"} for each in range(fields)]
        described = {"type": "struct", "fields": leaves, "optional": True}
        for _ in range(levels):
            described = {"type": "struct", "optional": True, "fields": [{**described, "field": "x", "default": None}]}
        return described

    with pytest.raises(DataError, match="defaults within each other"):
        JsonConverter().to_connect_data("t", envelope(within(200, 10_000), {}))
    assert JsonConverter().to_connect_data("t", envelope(within(5, 1000), {})).schema is not None


@pytest.mark.long
@pytest.mark.timeout(60)
def test_defaults_within_each_other_in_a_registered_schema_take_no_minutes(registry: MemoryRegistry) -> None:
    """Who may register a schema, or answers as the registry, has records in each other, each with a default."""

    def within(levels: int, fields: int) -> Any:
        leaves = [{"name": f"f{each}", "type": "int", "default": 0} for each in range(fields)]
        described: Any = {"type": "record", "name": "R0", "fields": leaves}
        for level in range(1, levels):
            fields_of_level = [{"name": "a", "type": described, "default": {}}]
            described = {"type": "record", "name": f"R{level}", "fields": fields_of_level}
        return described

    made = converter()
    id = registry.register("t-value", json.dumps(within(200, 30_000)))
    with pytest.raises(DataError, match="defaults within each other"):
        made.to_connect_data("t", message(id, bytes(30_000)))
    id = registry.register("t-value", json.dumps(within(5, 1000)))
    assert made.to_connect_data("t", message(id, bytes(1000))).schema is not None


@pytest.mark.parametrize(("kind", "value"), [("double", 1.5), ("int64", 7)])
def test_a_number_beyond_all_is_nobody_elses_default(kind: str, value: Any) -> None:
    """Who may write to the topic sends a default that no double has: others, whose default is null, had it for their nulls."""
    fields = [{"type": kind, "optional": True, "field": "x", "default": None}]
    mine, made = {"type": "struct", "fields": fields}, JsonConverter()
    evil = envelope(mine, {}).replace(b"null", b"1e400")
    assert b"1e400" in evil
    made.to_connect_data("t", evil)
    for given in (None, value):
        assert made.to_connect_data("t", envelope(mine, {"x": given})).value["x"] == given
