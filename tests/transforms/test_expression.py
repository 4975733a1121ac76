"""The transform and the predicate Expression: what becomes of records and their schemas, and which settings are refused."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest

from kconnect.api import ConfigError, DataError, Header, Schema, SinkRecord, SourceRecord, Struct
from kconnect.cel import types
from kconnect.data import schema
from kconnect.predicates.expression import Expression as Predicate
from kconnect.transforms.expression import Expression

UTC = datetime.timezone.utc
MAKER = schema.struct({"name": schema.STRING_SCHEMA, "since": schema.OPTIONAL_INT32_SCHEMA}, name="Maker")
ORDER = schema.struct(
    {
        "id": schema.INT64_SCHEMA,
        "price": schema.FLOAT64_SCHEMA,
        "count": schema.INT32_SCHEMA,
        "note": schema.OPTIONAL_STRING_SCHEMA,
        "tax": schema.decimal_schema(2, optional=True),
        "day": schema.DATE_SCHEMA.optional_copy(),
        "raw": schema.OPTIONAL_BYTES_SCHEMA,
        "tags": schema.array(schema.STRING_SCHEMA, optional=True),
        "maker": MAKER,
    },
    name="Order",
    version=3,
)


def order(**fields: Any) -> Struct:
    maker = Struct(MAKER, {"name": "Ada"})
    return Struct(ORDER, {"id": 7, "price": 2.5, "count": 4, "tags": ["a", "b"], "maker": maker, **fields})


def record(value: Any, value_schema: Schema | None = None, **other: Any) -> SourceRecord:
    if isinstance(value, Struct):
        value_schema = value.schema
    return SourceRecord({}, {}, "orders", value_schema=value_schema, value=value, **other)


def transform(**settings: str) -> Expression:
    made = Expression()
    made.configure({name.replace("__", "."): text for name, text in settings.items()})
    return made


def configured(settings: dict[str, str]) -> Expression:
    made = Expression()
    made.configure(settings)
    return made


def value_of(settings: dict[str, str], given: SourceRecord) -> Any:
    return configured(settings).apply(given).value


class TestWithSchemas:
    def test_a_field_is_added_with_the_type_of_its_expression(self) -> None:
        changed = transform(field__total="value.price * double(value.count)").apply(record(order()))
        assert changed.value["total"] == 10.0
        assert [field.name for field in changed.value_schema.fields] == [*[f.name for f in ORDER.fields], "total"]
        assert changed.value_schema.field("total").schema == schema.OPTIONAL_FLOAT64_SCHEMA
        assert (changed.value_schema.name, changed.value_schema.version) == ("Order", 3)
        assert changed.value.schema is changed.value_schema
        changed.value.validate()

    @pytest.mark.parametrize(
        ("text", "kind", "value"),
        [
            ("value.count + 1", types.INT, 5),
            ("2u", types.INT, 2),
            ("value.price", types.DOUBLE, 2.5),
            ("value.tax", types.DOUBLE, 1.25),
            ("value.count > 3", types.BOOL, True),
            ("'n' + string(value.id)", types.STRING, "n7"),
            ("bytes('x')", types.BYTES, b"x"),
            ("value.day", types.TIMESTAMP, datetime.datetime(2024, 5, 1, tzinfo=UTC)),
            ("value.day + duration('1h')", types.TIMESTAMP, datetime.datetime(2024, 5, 1, 1, tzinfo=UTC)),
            ("(value.day - timestamp(0)).getHours()", types.INT, 476256),
            ("value.tags.map(tag, tag.size())", schema.array(types.INT, optional=True), [1, 1]),
            ("value.tags.filter(tag, tag > 'a')", schema.array(types.STRING, optional=True), ["b"]),
            ("has(value.note) ? value.note : null", types.STRING, None),
            ("value.note == null ? 'none' : value.note", types.STRING, "none"),
            ("value.tags[0]", types.STRING, "a"),
            ("topic + string(partition)", types.STRING, "orders3"),
            ("timestamp.getFullYear()", types.INT, 2024),
            ("value.maker.since", types.INT, None),
        ],
    )
    def test_types(self, text: str, kind: Schema, value: Any) -> None:
        filled = order(tax=decimal.Decimal("1.25"), day=datetime.datetime(2024, 5, 1, tzinfo=UTC))
        given = record(filled, partition=3, timestamp=1714521600000)
        changed = transform(field__x=text).apply(given)
        assert changed.value["x"] == value
        assert changed.value_schema.field("x").schema == kind
        changed.value.validate()

    def test_a_written_map_is_a_struct(self) -> None:
        changed = transform(field__summary="{'id': value.id, 'cheap': value.price < 3.0}").apply(record(order()))
        assert changed.value["summary"]["id"] == 7
        assert changed.value["summary"]["cheap"] is True
        made = schema.struct({"id": types.INT, "cheap": types.BOOL}, optional=True)
        assert changed.value_schema.field("summary").schema == made

    def test_a_struct_of_the_record_keeps_its_schema(self) -> None:
        changed = transform(field__by="value.maker").apply(record(order()))
        assert changed.value["by"].schema == MAKER.optional_copy()
        assert changed.value["by"]["name"] == "Ada"
        changed.value.validate()

    def test_all_records_of_one_schema_share_one(self) -> None:
        made = transform(field__x="value.note")
        first = made.apply(record(order()))
        second = made.apply(record(order(note="hi")))
        assert first.value_schema is second.value_schema
        assert (first.value["x"], second.value["x"]) == (None, "hi")

    def test_a_field_that_is_there_keeps_its_schema_if_the_type_is_the_same(self) -> None:
        changed = transform(field__count="value.count + 1", field__note="value.id").apply(record(order()))
        assert changed.value_schema.field("count").schema == schema.INT32_SCHEMA
        assert changed.value_schema.field("note").schema == types.INT
        assert [field.name for field in changed.value_schema.fields] == [field.name for field in ORDER.fields]

    def test_no_number_is_cut_off(self) -> None:
        with pytest.raises(DataError, match=r"^field\.count = value\.id \* 1000000000 .*: 7000000000 does not fit INT32$"):
            transform(field__count="value.id * 1000000000").apply(record(order()))

    def test_null_for_a_required_field(self) -> None:
        with pytest.raises(DataError, match=r"^field\.count gives null, but the field is required$"):
            transform(field__count="value.maker.since").apply(record(order()))

    def test_a_type_that_is_said(self) -> None:
        made = transform(field__x="value.count", field__x__type="int16", field__y="null", field__y__type="string")
        changed = made.apply(record(order()))
        assert changed.value_schema.field("x").schema == schema.OPTIONAL_INT16_SCHEMA
        assert changed.value_schema.field("y").schema == schema.OPTIONAL_STRING_SCHEMA
        assert (changed.value["x"], changed.value["y"]) == (4, None)

    def test_a_null_without_a_type(self) -> None:
        with pytest.raises(DataError, match=r"gives null, and the field's type is not known: set it with field\.x\.type$"):
            transform(field__x="null").apply(record(order()))

    def test_a_type_that_the_first_value_tells(self) -> None:
        made = configured({"field.x": "headers.kind"})
        first = made.apply(record(order(), headers=[Header("kind", "a")]))
        second = made.apply(record(order(), headers=[Header("kind", None)]))
        assert first.value_schema is second.value_schema
        # Whoever sends the first one decides nothing for the others.
        third = made.apply(record(order(), headers=[Header("kind", 1)]))
        fourth = made.apply(record(order(), headers=[Header("kind", "b")]))
        assert third.value_schema.field("x").schema == types.INT
        assert fourth.value_schema == first.value_schema
        assert (third.value["x"], fourth.value["x"]) == (1, "b")

    def test_a_path_leads_into_structs(self) -> None:
        changed = configured({"field.maker.name": "'the ' + value.maker.name", "field.maker.age": "1"}).apply(record(order()))
        assert changed.value["maker"]["name"] == "the Ada"
        assert changed.value["maker"]["age"] == 1
        assert changed.value["maker"].schema.name == "Maker"
        changed.value.validate()

    def test_a_name_with_points_is_meant_first(self) -> None:
        flat = schema.struct({"maker.name": schema.STRING_SCHEMA})
        changed = configured({"field.maker.name": "'x'"}).apply(record(Struct(flat, {"maker.name": "Ada"})))
        assert changed.value["maker.name"] == "x"

    def test_the_record_before_is_as_it_was(self) -> None:
        before = order()
        configured({"field.maker.name": "'x'", "field.id": "1"}).apply(record(before))
        assert (before["id"], before["maker"]["name"]) == (7, "Ada")

    def test_the_whole_value(self) -> None:
        envelope = schema.struct({"before": ORDER.optional_copy(), "after": ORDER.optional_copy()})
        given = record(Struct(envelope, {"after": Struct.unchecked(ORDER.optional_copy(), list(order().values))}))
        changed = transform(expression="value.after").apply(given)
        assert changed.value["id"] == 7
        assert changed.value_schema == ORDER.optional_copy()
        gone = transform(expression="value.before").apply(given)
        assert (gone.value_schema, gone.value) == (ORDER.optional_copy(), None)
        new = transform(expression="{'id': value.after.id}").apply(given)
        assert new.value == Struct(schema.struct({"id": types.INT}, optional=True), {"id": 7})

    def test_a_key(self) -> None:
        key = schema.struct({"id": schema.INT64_SCHEMA})
        given = record(order(), key_schema=key, key=Struct(key, {"id": 1}))
        changed = configured({"key.field.text": "string(key.id)"}).apply(given)
        assert changed.key["text"] == "1"
        assert changed.value == order()


class TestWithoutSchemas:
    def test_fields_of_maps(self) -> None:
        given = {"price": 2, "count": 3, "maker": {"name": "Ada"}}
        settings = {"field.total": "value.price * value.count", "field.maker.big": "true", "field.new.path": "['x', 1u]"}
        assert value_of(settings, record(given)) == {
            "price": 2,
            "count": 3,
            "maker": {"name": "Ada", "big": True},
            "total": 6,
            "new": {"path": ["x", 1]},
        }
        assert given == {"price": 2, "count": 3, "maker": {"name": "Ada"}}

    def test_the_whole_value(self) -> None:
        assert value_of({"expression": "{'n': [value.a, null]}"}, record({"a": 1})) == {"n": [1, None]}
        assert value_of({"expression": "value + '!'"}, record("hi")) == "hi!"

    def test_a_type_that_is_said_is_checked(self) -> None:
        with pytest.raises(DataError, match="300 does not fit INT8"):
            configured({"field.x": "300", "field.x.type": "int8"}).apply(record({}))

    def test_what_records_can_not_hold(self) -> None:
        with pytest.raises(
            DataError,
            match=r"a value of type google\.protobuf\.Duration can't be in a record; convert it to a text or a number",
        ):
            configured({"field.x": "duration('1h')"}).apply(record({}))

    def test_a_list_that_holds_one_item_many_times(self) -> None:
        doubled = "[value]" + ".map(x, [x, x])" * 30
        with pytest.raises(DataError, match="it has more than 200000 parts"):
            configured({"field.x": doubled}).apply(record({}))

    def test_what_is_no_map(self) -> None:
        with pytest.raises(DataError, match=r"^field\.x sets a field of something in the value that is not a map$"):
            configured({"field.x": "1"}).apply(record("text"))


def test_a_tombstone_has_no_fields() -> None:
    assert value_of({"field.x": "value.y"}, record(None)) is None


def test_drop_topic_and_headers() -> None:
    made = configured(
        {
            "drop": "value != null && value.count == 0",
            "topic": "topic + '-' + value.kind",
            "header.size": "size(value)",
            "header.old": "null",
            "header.day": "timestamp('2024-05-01T00:00:00Z')",
        }
    )
    headers = [Header("old", "1"), Header("size", "x"), Header("other", "y"), Header("size", "z")]
    changed = made.apply(record({"kind": "new", "count": 1}, headers=headers))
    assert changed.topic == "orders-new"
    assert list(changed.headers) == [
        Header("other", "y"),
        Header("size", 2, types.INT),
        Header("day", datetime.datetime(2024, 5, 1, tzinfo=UTC), types.TIMESTAMP),
    ]
    assert made.apply(record({"kind": "new", "count": 0})) is None


def test_a_sink_s_record_has_an_offset() -> None:
    given = SinkRecord("t", 1, None, None, None, {"a": 1}, 42)
    assert configured({"field.place": "string(partition) + '@' + string(offset)"}).apply(given).value["place"] == "1@42"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, r"^Expression has nothing to do: set expression, drop, topic, field\.<path> or header\.<name>$"),
        (
            {"field.x": "value.("},
            r"^Invalid value value\.\( for configuration field\.x: it must be a CEL expression: expected a name, found "
            r"\( \(at character 7\)$",
        ),
        ({"drop": "valeu.x == 1"}, "there is no variable valeu; there are: topic, partition, key, value, headers, timestamp"),
        ({"drop": "size(topic)"}, "for configuration drop: its result must be of type bool, but is of type int64$"),
        ({"topic": "partition"}, "for configuration topic: its result must be of type string, but is of type int64$"),
        ({"field.x": "1", "field.x.type": "int"}, r"for configuration field\.x\.type: String must be one of: int8, int16, "),
        ({"field.": "1"}, "the setting's own name must end in that of a field"),
        ({"field.a..b": "1"}, "the setting's own name must end in that of a field"),
        ({"expression": "1", "field.x": "2"}, r"it sets the whole value already; remove it or field\.x$"),
        ({"header.x": "lower('A')"}, "there is no function lower; there are: size"),
        ({"field.x": "a" * 5000}, "it is 5000 characters long, but may have 4096 at most"),
    ],
)
def test_settings_that_are_refused(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        configured(settings)


def test_a_field_called_type() -> None:
    assert value_of({"field.x.type": "'a' + 'b'"}, record({})) == {"x": {"type": "ab"}}


def test_validation_has_a_row_for_each_setting() -> None:
    rows = Expression().config_for({"type": "Expression", "field.x": "value.(", "field.x.type": "int32"})
    errors = {value.name: value.errors for value in rows.validate({"field.x": "value.(", "field.x.type": "int32"})}
    assert list(errors) == ["expression", "drop", "topic", "field.x", "field.x.type"]
    assert [name for name, found in errors.items() if found] == ["field.x"]


class TestPredicate:
    def made(self, text: str) -> Predicate:
        found = Predicate()
        found.configure({"expression": text})
        return found

    def test_it_says_which_records(self) -> None:
        big = self.made("value.price > 100 || (has(value.vip) && value.vip)")
        values: list[dict[str, Any]] = [{"price": 101}, {"price": 1}, {"price": 1, "vip": True}]
        assert [big.test(record(value)) for value in values] == [True, False, True]

    @pytest.mark.parametrize("text", ["value.nope", "value.price", "null", "value.price / 0 == 1"])
    def test_what_is_neither_true_nor_false_is_an_error(self, text: str) -> None:
        with pytest.raises(DataError, match=r"^expression = "):
            self.made(text).test(record({"price": 1}))

    def test_what_can_be_no_predicate(self) -> None:
        with pytest.raises(
            ConfigError, match="for configuration expression: its result must be of type bool, but is of type string"
        ):
            self.made("topic")
        with pytest.raises(ConfigError, match='Missing required configuration "expression"'):
            Predicate().configure({})
