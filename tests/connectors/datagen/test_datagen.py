"""Made-up records: repeatable, of the schema that is asked for, as many and as often as is asked for."""

from __future__ import annotations

import datetime
import decimal
import itertools
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from kconnect.api import ConnectError, SchemaType, SourceRecord, schema
from kconnect.connectors.datagen import settings, task
from kconnect.connectors.datagen.connector import DatagenSourceConnector
from kconnect.testing import SourceRunner, check_plugin, config_errors, config_infos

BASE = {"kafka.topic": "t", "max.interval": "0", "random.seed": "7"}
BLOCK = 1000


def runner(**config: str) -> SourceRunner:
    return SourceRunner(DatagenSourceConnector, {**BASE, **{name.replace("_", "."): value for name, value in config.items()}})


def of(spec: Any, **config: str) -> SourceRunner:
    return runner(schema_string=spec if isinstance(spec, str) else json.dumps(spec), **config)


def record(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": list(fields)}


def made(kind: Any, count: int = 200, **properties: Any) -> list[Any]:
    """Values of one field."""
    with of(record({"name": "f", "type": kind, "arg.properties": properties})) as source:
        return [each.value["f"] for each in source.read(count)][:count]


def offset(each: SourceRecord) -> dict[str, Any]:
    return dict(each.source_offset or {})


def plain(records: list[SourceRecord]) -> list[Any]:
    return [(each.key, each.value, each.source_offset) for each in records]


@pytest.mark.parametrize("quickstart", settings.QUICKSTARTS)
def test_a_quickstart_makes_records_that_fit_their_schema(quickstart: str) -> None:
    with runner(quickstart=quickstart) as source:
        for each in source.read(50):
            assert each.value_schema is not None and each.key_schema is not None
            schema.validate(each.value_schema, each.value)
            schema.validate(each.key_schema, each.key)
            assert each.key == each.value[settings.QUICKSTARTS[quickstart]]


def test_the_plugin_keeps_to_the_rules() -> None:
    check_plugin(DatagenSourceConnector, {**BASE, "quickstart": "orders"})


def test_a_task_that_comes_back_goes_on_with_its_series(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 2 * BLOCK
    with runner(quickstart="pageviews") as source:
        whole = plain(source.read(count))
    monkeypatch.setattr(task._Pace, "due", lambda self, now, most: (min(most, 170), 0.0))
    with runner(quickstart="pageviews") as source:
        parts = plain(source.read(BLOCK - 1))
        source.restart(crash=True)
        parts += plain(source.read(2))
        source.restart()
        parts += plain(source.read(count))
    by_number = {offset["current.iteration"]: (key, value) for key, value, offset in parts}
    assert [by_number[number] for number in range(1, count + 1)] == [(key, value) for key, value, _ in whole]


def test_without_a_seed_the_series_is_its_own_and_goes_on_too() -> None:
    config = {**BASE, "quickstart": "users"}
    del config["random.seed"]
    with SourceRunner(DatagenSourceConnector, config) as source:
        before = source.read(100)
        source.restart()
        after = source.read(100)
    with SourceRunner(DatagenSourceConnector, config) as source:
        other = source.read(100)
    assert len({offset(each)["random.seed"] for each in [*before, *after]}) == 1
    assert [each.value for each in before] != [each.value for each in other]


@pytest.mark.long
def test_each_task_has_a_series_of_its_own() -> None:
    found = []
    for number in range(2):
        config = {**BASE, "quickstart": "users", "tasks.max": "2"}
        with SourceRunner(DatagenSourceConnector, config, task=number) as source:
            assert len(source.task_configs) == 2
            found.append(source.read(50))
    assert [each.value for each in found[0]] != [each.value for each in found[1]]
    assert [each[0].source_partition for each in found] == [{"task.id": 0}, {"task.id": 1}]


def test_a_field_more_leaves_the_values_of_others_as_they_are() -> None:
    one = {"name": "a", "type": "int"}
    with of(record(one)) as source:
        before = [each.value["a"] for each in source.read(20)]
    with of(record({"name": "b", "type": "string"}, one)) as source:
        assert [each.value["a"] for each in source.read(20)] == before


@pytest.mark.parametrize(
    ("kind", "properties", "fits"),
    [
        ("int", {"range": {"min": 3, "max": 6}}, lambda all: set(all) == {3, 4, 5}),
        ("long", {}, lambda all: max(all) > 2**40 and min(all) < -(2**40)),
        ("long", {"options": [1, 9]}, lambda all: set(all) == {1, 9}),
        ("int", {"iteration": {"start": 5, "step": 2, "restart": 10}}, lambda all: all[:7] == [5, 7, 9, 5, 7, 9, 5]),
        ("int", {"iteration": {"start": 3, "restart": 0}}, lambda all: all[:5] == [3, 2, 1, 3, 2]),
        ("double", {"iteration": {"start": 0.5, "step": 0.5}}, lambda all: all[:3] == [0.5, 1.0, 1.5]),
        ("double", {"range": {"min": 1, "max": 2}, "digits": 1}, lambda all: {len(str(each)) for each in all} == {3}),
        ("float", {"range": {"min": -1, "max": 1}}, lambda all: min(all) < -0.5 and max(all) > 0.5),
        ("boolean", {"odds": 1.0}, all),
        ("boolean", {}, lambda all: set(all) == {True, False}),
        ("string", {"length": 4}, lambda all: all == [each for each in all if re.fullmatch("[a-z]{4}", each)]),
        ("string", {"length": {"min": 1, "max": 3}}, lambda all: {len(each) for each in all} == {1, 2}),
        ("string", {"regex": "[AB]-\\d{2}"}, lambda all: [1 for each in all if not re.fullmatch("[AB]-\\d\\d", each)] == []),
        ("string", {"iteration": {"start": 1}, "prefix": "U"}, lambda all: all[:2] == ["U1", "U2"]),
        ("string", {"options": ["a"]}, lambda all: set(all) == {"a"}),
        ("string", {"uuid": True}, lambda all: len(set(all)) == len(all) and len(all[0]) == 36),
        ("string", {"faker": "color_name"}, lambda all: len(set(all)) > 20),
        ("bytes", {"length": 3}, lambda all: {len(each) for each in all} == {3}),
        ({"type": "fixed", "name": "F", "size": 2}, {}, lambda all: {len(each) for each in all} == {2}),
        ({"type": "enum", "name": "E", "symbols": ["X", "Y"]}, {}, lambda all: set(all) == {"X", "Y"}),
        ({"type": "enum", "name": "E", "symbols": ["X", "Y"]}, {"options": ["Y"]}, lambda all: set(all) == {"Y"}),
        (["null", "int"], {"null.odds": 1}, lambda all: set(all) == {None}),
        (["null", "string"], {}, lambda all: 50 < all.count(None) < 150),
        ({"type": "array", "items": "boolean"}, {"length": {"min": 0, "max": 3}}, lambda all: {*map(len, all)} == {0, 1, 2}),
        (
            {"type": "array", "items": {"type": "int", "arg.properties": {"iteration": {"start": 1}}}},
            {"length": 2},
            lambda all: all == [[1, 2]] * len(all),
        ),
        (
            {"type": "map", "values": "int"},
            {"length": 1, "keys": {"options": ["k"]}},
            lambda all: {*itertools.chain(*all)} == {"k"},
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
            {"range": {"min": 0.5, "max": 1}},
            lambda all: all == [each for each in all if decimal.Decimal("0.50") <= each < 1 and each.as_tuple().exponent == -2],
        ),
        ({"type": "int", "logicalType": "date"}, {"range": {"min": 0, "max": 2}}, lambda all: len(set(all)) == 2),
    ],
)
def test_a_property_says_what_the_values_are(kind: Any, properties: dict[str, Any], fits: Any) -> None:
    assert fits(made(kind, **properties))


def test_a_text_is_what_its_name_promises() -> None:
    with of(record(*[{"name": name, "type": "string"} for name in ("email", "city", "blurb")])) as source:
        values = [each.value for each in source.read(20)]
    assert all("@" in each["email"] for each in values)
    assert len({each["city"] for each in values}) > 1
    assert all(re.fullmatch("[a-z]{8,16}", each["blurb"]) for each in values)


def test_a_type_that_has_a_name_may_be_used_again() -> None:
    side = {"type": "enum", "name": "Side", "symbols": ["BUY", "SELL"]}
    place = {"type": "record", "name": "Place", "fields": [{"name": "side", "type": "Side"}]}
    fields: list[dict[str, Any]] = [
        {"name": "a", "type": side},
        {"name": "b", "type": "Side"},
        {"name": "c", "type": place},
        {"name": "d", "type": "x.Place"},
    ]
    with of({**record(*fields), "namespace": "x"}) as source:
        values = [each.value for each in source.read(50)]
    assert {each["b"] for each in values} == {each["d"]["side"] for each in values} == {"BUY", "SELL"}
    assert [each["a"] for each in values] != [each["b"] for each in values]


def test_options_of_a_record_belong_together() -> None:
    city = {"type": "record", "name": "City", "fields": [{"name": "n", "type": "string"}, {"name": "zip", "type": "int"}]}
    found = made(city, options=[{"n": "A", "zip": 1}, {"n": "B", "zip": 2}])
    assert {(each["n"], each["zip"]) for each in found} == {("A", 1), ("B", 2)}


def test_a_json_schema_says_it_with_its_own_words() -> None:
    spec = {
        "type": "object",
        "title": "order",
        "properties": {
            "id": {"type": "integer", "x-datagen": {"iteration": {"start": 1}}},
            "stars": {"type": "integer", "minimum": 1, "maximum": 3},
            "price": {"type": "number", "minimum": 2, "maximum": 3, "x-datagen": {"digits": 2}},
            "state": {"enum": ["on", "off"]},
            "code": {"type": "string", "pattern": "[A-Z]{3}"},
            "mail": {"type": "string", "format": "email"},
            "at": {"type": "string", "format": "date-time"},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 2}, "minItems": 2, "maxItems": 2},
            "note": {"type": ["string", "null"]},
            "more": {"type": "object", "additionalProperties": {"type": "boolean"}},
            "odd": {"type": "string", "x-datagen": {"null.odds": 1}},
        },
        "required": ["id", "stars", "price", "state", "code", "mail", "at", "tags"],
    }
    with of(spec) as source:
        records = source.read(100)[:100]
    assert records[0].value_schema is not None
    fields = records[0].value_schema.fields
    assert [each.name for each in fields if each.schema.optional] == ["note", "more", "odd"]
    values = [{field.name: value for field, value in each.value.items()} for each in records]
    assert [each["id"] for each in values] == list(range(1, 101))
    assert {each["stars"] for each in values} == {1, 2, 3}
    assert all(2 <= each["price"] <= 3 for each in values)
    assert {each["state"] for each in values} == {"on", "off"}
    assert all(re.fullmatch("[A-Z]{3}", each["code"]) and "@" in each["mail"] for each in values)
    assert all(len(each["tags"]) == 2 and max(map(len, each["tags"])) <= 2 for each in values)
    assert isinstance(values[0]["at"], datetime.datetime)
    assert {each["odd"] for each in values} == {None}
    assert isinstance(values[0]["more"], dict)


def test_event_time_by_the_clock_is_the_timestamp_and_in_the_fields() -> None:
    before = datetime.datetime.now(datetime.timezone.utc).timestamp() * 1000
    with of(record({"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}})) as source:
        records = source.read(10)
    after = datetime.datetime.now(datetime.timezone.utc).timestamp() * 1000
    assert all(before - 1000 <= (each.timestamp or 0) <= after for each in records)
    assert [each.value["at"].timestamp() * 1000 for each in records] == pytest.approx([each.timestamp for each in records])


def test_event_time_from_a_start_on_is_repeatable() -> None:
    kinds = {
        "ms": ("long", "timestamp-millis"),
        "us": ("long", "timestamp-micros"),
        "d": ("int", "date"),
        "t": ("int", "time-millis"),
    }
    fields = [{"name": name, "type": {"type": kind, "logicalType": logical}} for name, (kind, logical) in kinds.items()]
    start = {"event_time_start": "2026-01-31T23:59:59Z", "event_time_step_ms": "1000"}
    with of(record(*fields), **start) as source:
        first, second, *_ = source.read(2)
    at = 1769903999000
    assert [first.timestamp, second.timestamp] == [at, at + 1000]
    assert second.value["us"] == (at + 1000) * 1000
    assert second.value["ms"] == second.value["d"] == datetime.datetime(2026, 2, 1, tzinfo=datetime.timezone.utc)
    assert first.value["t"].time() == datetime.time(23, 59, 59)


def test_values_that_are_times_are_fresh_in_a_slow_series(monkeypatch: pytest.MonkeyPatch) -> None:
    with of(
        record({"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}, {"name": "n", "type": "int"})
    ) as source:
        whole = source.read(2)
    monkeypatch.setattr(task, "_FRESH_S", -1.0)
    with of(
        record({"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}, {"name": "n", "type": "int"})
    ) as source:
        assert [each.value["n"] for each in source.read(2)] == [each.value["n"] for each in whole]


def test_so_many_and_no_more() -> None:
    with runner(quickstart="users", iterations="3") as source:
        source.task._stopped.set()  # type: ignore[attr-defined]  # so that it does not wait
        found = [each for _ in range(5) for each in source.poll()]
    assert [offset(each)["current.iteration"] for each in found] == [1, 2, 3]


@pytest.mark.parametrize(
    ("pace", "at", "due"),
    [
        (task._Pace(None, 0, 1), [0.0, 0.0], [50, 50]),
        (task._Pace(0.0, 500, 1), [0.0, 9.0], [50, 50]),
        (task._Pace(10.0, 500, 1), [0.0, 0.1, 0.55, 0.55, 0.6], [0, 1, 4, 0, 1]),
        # What was not taken for more than a second is not made up for.
        (task._Pace(10.0, 500, 1), [0.0, 100.0, 100.1], [0, 0, 1]),
    ],
)
def test_pace(pace: task._Pace, at: list[float], due: list[int]) -> None:
    assert [pace.due(now, 50)[0] for now in at] == due


def test_random_pauses_are_half_of_the_longest_on_average() -> None:
    pace = task._Pace(None, 100, 1)
    assert 1900 <= sum(pace.due(step / 10, 50)[0] for step in range(1000)) <= 2100


@pytest.mark.parametrize(
    ("config", "setting", "text"),
    [
        ({}, "quickstart", "One of quickstart, schema.string and schema.filename"),
        ({"quickstart": "users", "schema.string": "{}"}, "schema.string", "leave out one"),
        ({"quickstart": "nothing"}, "quickstart", "There is no quickstart nothing, but clickstream, orders"),
        ({"schema.string": "{"}, "schema.string", "not JSON"),
        ({"schema.string": '{"type": "int"}'}, "schema.string", "neither"),
        ({"schema.filename": "/nowhere.avsc"}, "schema.filename", "/nowhere.avsc can't be read: No such file"),
        ({"quickstart": "users", "schema.keyfield": "usr"}, "schema.keyfield", "has no field usr, but registertime, userid"),
        ({"quickstart": "users", "locale": "xx_XX"}, "locale", "xx_XX"),
        ({"quickstart": "users", "event.time.start": "tomorrow"}, "event.time.start", "ISO 8601"),
        ({"quickstart": "users", "records.per.second": "-1"}, "records.per.second", "at least 0"),
        ({"quickstart": "users", "kafka.topic": ""}, "kafka.topic", "non-empty"),
    ],
)
def test_what_is_wrong_is_said_at_the_setting(config: dict[str, str], setting: str, text: str) -> None:
    errors = config_errors(DatagenSourceConnector, {"kafka.topic": "t", **config})
    assert list(errors) == [setting]
    assert text in errors[setting][0]


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ({"name": "f"}, "value.f has no type"),
        ({"name": "f", "type": "text"}, "the type text, which Avro does not have"),
        ({"name": "f", "type": "R"}, "would never end"),
        ({"name": "f", "type": ["int", "string"]}, "a union of 2 types"),
        ({"name": "f", "type": "int", "arg.properties": {"regex": "a"}}, "the property regex, but those of the type int are"),
        ({"name": "f", "type": "int", "arg.properties": {"range": {"min": 5, "max": 5}}}, "5 is not below 5"),
        ({"name": "f", "type": "int", "arg.properties": {"range": {"min": 0.5}}}, "range is an integer, not 0.5"),
        ({"name": "f", "type": "int", "arg.properties": {"options": []}}, "at least one value"),
        ({"name": "f", "type": "int", "arg.properties": {"options": ["x"]}}, 'option "x" is not of its type'),
        ({"name": "f", "type": "int", "arg.properties": {"iteration": {"start": 0, "restart": 5, "step": -1}}}, "never gets"),
        ({"name": "f", "type": "string", "arg.properties": {"regex": "a", "length": 3}}, "has regex and length"),
        ({"name": "f", "type": "string", "arg.properties": {"regex": "("}}, "no text can be made by the regex ("),
        ({"name": "f", "type": "string", "arg.properties": {"faker": "nonsense"}}, "Faker makes no nonsense"),
        ({"name": "f", "type": "string", "arg.properties": {"length": {"min": 4, "max": 4}}}, "its length is from min"),
    ],
)
def test_what_is_wrong_with_a_schema_is_said_with_its_place(field: dict[str, Any], text: str) -> None:
    errors = config_errors(DatagenSourceConnector, {"kafka.topic": "t", "schema.string": json.dumps(record(field))})
    assert list(errors) == ["schema.string"]
    assert text in errors["schema.string"][0]


def test_a_schema_may_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "s.avsc"
    file.write_text(json.dumps(record({"name": "n", "type": "int"})))
    with runner(schema_filename=str(file), schema_keyfield="n") as source:
        found = source.read(1)[0]
    assert found.key_schema is not None and found.key_schema.type is SchemaType.INT32
    assert found.key == found.value["n"]


def test_without_faker_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faker", None)
    errors = config_errors(DatagenSourceConnector, {"kafka.topic": "t", "quickstart": "users"})
    assert "pip install 'kconnect[datagen]'" in errors["quickstart"][0]


def test_settings_that_do_not_apply_are_not_shown() -> None:
    found = config_infos(DatagenSourceConnector, {**BASE, "quickstart": "users"})["configs"]
    infos = {each["value"]["name"]: each["value"] for each in found if each["value"]["name"] in settings.CONFIG.keys}
    assert [name for name, value in infos.items() if not value["visible"]] == [
        "schema.string",
        "schema.filename",
        "event.time.step.ms",
    ]
    assert infos["quickstart"]["recommended_values"] == list(settings.QUICKSTARTS)


@pytest.mark.parametrize(
    ("partition", "offset", "text"),
    [
        ({"task.id": 0}, {"current.iteration": 5}, None),
        ({"task.id": 0}, None, None),
        ({"file": "x"}, {"current.iteration": 5}, '{"task.id": n}'),
        ({"task.id": 0}, {"current.iteration": -1}, "0 or more"),
        ({"task.id": 0}, {"current.iteration": 1, "random.seed": "x"}, "is an integer"),
    ],
)
def test_offsets_can_be_altered(partition: Any, offset: Any, text: str | None) -> None:
    if text is None:
        assert DatagenSourceConnector().alter_offsets({}, [(partition, offset)])
    else:
        with pytest.raises(ConnectError, match=re.escape(text)):
            DatagenSourceConnector().alter_offsets({}, [(partition, offset)])
