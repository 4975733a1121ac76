"""Kafka's ConfigDef: what it parses, and the texts with which it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconnect.api.config import (
    ConfigDef,
    ConfigKey,
    ConfigValue,
    Importance,
    NonEmptyString,
    NonNull,
    OneOf,
    Password,
    Range,
    Type,
    Validator,
    Width,
    parse,
    to_text,
)
from kconnect.errors import ConfigError


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (Type.BOOLEAN, " TRUE ", True),
        (Type.BOOLEAN, "false", False),
        (Type.STRING, " a b ", "a b"),
        (Type.STRING, "\u00a0a", "\u00a0a"),  # Java's trim leaves a no-break space
        (Type.STRING, "", ""),
        (Type.INT, " +7", 7),
        (Type.INT, "-2147483648", -(2**31)),
        (Type.SHORT, "32767", 32767),
        (Type.LONG, "9223372036854775807", 2**63 - 1),
        (Type.DOUBLE, "1e3", 1000.0),
        (Type.DOUBLE, 2, 2.0),
        (Type.LIST, " a , b,,c ", ["a", "b", "", "c"]),
        (Type.LIST, " ", []),
        (Type.LIST, ("a", "b"), ["a", "b"]),
        (Type.CLASS, "org.example.A$B ", "org.example.A$B"),
        (Type.PASSWORD, " p ", Password("p")),
        (Type.PASSWORD, Password("p"), Password("p")),
        *((type, None, None) for type in Type),
    ],
)
def test_parsing(type: Type, text: Any, value: Any) -> None:
    assert parse("k", text, type) == value


@pytest.mark.parametrize(
    ("type", "value", "message"),
    [
        (Type.BOOLEAN, "maybe", "Invalid value maybe for configuration k: Expected value to be either true or false"),
        (Type.INT, "abc", "Invalid value abc for configuration k: Not a number of type INT"),
        (Type.INT, "2147483648", "Invalid value 2147483648 for configuration k: Not a number of type INT"),
        (Type.INT, "1_000", "Invalid value 1_000 for configuration k: Not a number of type INT"),
        (Type.INT, "1.0", "Invalid value 1.0 for configuration k: Not a number of type INT"),
        (Type.INT, True, "Invalid value true for configuration k: Not a number of type INT"),
        (Type.SHORT, "32768", "Invalid value 32768 for configuration k: Not a number of type SHORT"),
        (Type.LONG, "", "Invalid value  for configuration k: Not a number of type LONG"),
        (Type.DOUBLE, "x", "Invalid value x for configuration k: Not a number of type DOUBLE"),
        (Type.DOUBLE, "1_0", "Invalid value 1_0 for configuration k: Not a number of type DOUBLE"),
        (Type.LIST, 5, "Invalid value 5 for configuration k: Expected a comma separated list."),
        (Type.STRING, 5, "Invalid value 5 for configuration k: Expected value to be a string, but it was a int"),
    ],
)
def test_refusing(type: Type, value: Any, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse("k", value, type)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("validator", "text", "good", "bad"),
    [
        (Range.at_least(1), "[1,...]", [1, 9], {0: "Value must be at least 1", None: "Value must be non-null"}),
        (Range.between(0, 9), "[0,...,9]", [0, 9], {10: "Value must be no more than 9", -1: "Value must be at least 0"}),
        (
            OneOf(("none", "all")),
            "[none, all]",
            ["all"],
            {"ALL": "String must be one of: none, all", None: "String must be one of: none, all"},
        ),
        (
            OneOf(("NUMERIC", "BASE64"), ignore_case=True),
            "(case insensitive) [NUMERIC, BASE64]",
            ["base64", "Numeric"],
            {"x": "String must be one of (case insensitive): NUMERIC, BASE64"},
        ),
        (NonEmptyString(), "non-empty string", ["a", None], {"": "String must be non-empty"}),
        (NonNull(), "non-null string", ["", []], {None: "entry must be non null"}),
    ],
)
def test_validators(validator: Validator, text: str, good: list[Any], bad: dict[Any, str]) -> None:
    assert str(validator) == text
    for value in good:
        validator("k", value)
    for value, message in bad.items():
        with pytest.raises(ConfigError) as raised:
            validator("k", value)
        assert str(raised.value).endswith(f" for configuration k: {message}")


TABLE = ConfigDef(
    ConfigKey("name", Type.STRING),
    ConfigKey("tasks.max", Type.INT, 1, validator=Range.at_least(1)),
    ConfigKey("tags", Type.LIST, ["a", "b"]),
    ConfigKey("password", Type.PASSWORD, None),
)


def test_parse_fills_in_defaults_and_ignores_what_is_not_declared() -> None:
    parsed = TABLE.parse({"name": "x", "other": "y"})
    assert parsed == {"name": "x", "tasks.max": 1, "tags": ["a", "b"], "password": None}
    assert list(TABLE.keys) == list(parsed)


def test_parse_raises_the_first_error() -> None:
    with pytest.raises(ConfigError, match=r'^Missing required configuration "name" which has no default value\.$'):
        TABLE.parse({"tasks.max": "0"})
    with pytest.raises(ConfigError, match=r"Invalid value 0 for configuration tasks\.max: Value must be at least 1"):
        TABLE.parse({"name": "x", "tasks.max": "0"})


def test_a_setting_can_be_declared_once_only() -> None:
    with pytest.raises(ConfigError, match="Configuration name is defined twice"):
        ConfigDef(ConfigKey("name", Type.STRING)).define(ConfigKey("name", Type.INT))


def test_validate_finds_all_errors() -> None:
    found = {value.name: value for value in TABLE.validate({"tasks.max": "abc", "password": "s3cret"})}
    assert found["name"].errors == ['Missing required configuration "name" which has no default value.']
    assert found["tasks.max"].errors == [
        "Invalid value abc for configuration tasks.max: Not a number of type INT",
        "Invalid value null for configuration tasks.max: Value must be non-null",
    ]
    assert found["tasks.max"].value is None
    assert found["tags"] == ConfigValue("tags", ["a", "b"])
    assert "s3cret" not in repr(found)


def test_validators_see_what_is_missing() -> None:
    def spec(name: str, value: Any) -> None:
        if not value:
            raise ConfigError("Must specify at least one field to cast.")

    (found,) = ConfigDef(ConfigKey("spec", Type.LIST, validator=spec)).validate({})
    assert found.errors == [
        'Missing required configuration "spec" which has no default value.',
        "Must specify at least one field to cast.",
    ]


def test_recommenders_get_parsed_values() -> None:
    def tables(name: str, parsed: Mapping[str, Any]) -> list[Any]:
        if parsed["count"] is None:
            raise ConfigError("no count")
        return [f"t{number}" for number in range(parsed["count"])]

    table = ConfigDef(
        ConfigKey("table", Type.STRING, None, recommender=tables, visible=lambda name, parsed: parsed["count"] > 1),
        ConfigKey("count", Type.INT, 0),
    )
    found = table.validate({"count": "2"})[0]
    assert (found.recommended_values, found.visible) == (["t0", "t1"], True)
    assert table.validate({})[0].visible is False
    assert table.validate({"count": "x"})[0].errors == ["no count"]


def test_the_json_of_a_setting() -> None:
    key = ConfigKey("tags", Type.LIST, ["a", "b"], Importance.LOW, "Tags.", None, "G", 3, Width.LONG, "The tags", ("name",))
    assert key.info() == {
        "name": "tags",
        "type": "LIST",
        "required": False,
        "default_value": "a,b",
        "importance": "LOW",
        "documentation": "Tags.",
        "group": "G",
        "order_in_group": 3,
        "width": "LONG",
        "display_name": "The tags",
        "dependents": ["name"],
    }
    bare = ConfigKey("name", Type.STRING).info()
    assert (bare["required"], bare["default_value"], bare["group"], bare["order_in_group"]) == (True, None, None, -1)
    assert bare["display_name"] == "name"
    assert ConfigKey("p", Type.PASSWORD, Password("s3cret")).info()["default_value"] == "[hidden]"


def test_a_password_shows_itself_to_nobody() -> None:
    password = Password("s3cret")
    assert f"{password} {password!r} {[password]}" == "[hidden] [hidden] [[hidden]]"
    assert password.value == "s3cret"
    with pytest.raises(ConfigError) as raised:
        parse("p", {"s3cret": 1}, Type.PASSWORD)
    assert "s3cret" not in str(raised.value)


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1)))
def test_a_list_survives_its_text(items: list[str]) -> None:
    assert parse("k", to_text(items, Type.LIST), Type.LIST) == items


@given(st.sampled_from([Type.BOOLEAN, Type.INT, Type.DOUBLE]), st.data())
def test_a_value_survives_its_text(type: Type, data: st.DataObject) -> None:
    numbers = {Type.INT: st.integers(-(2**31), 2**31 - 1), Type.DOUBLE: st.floats(allow_nan=False)}
    value = data.draw(numbers.get(type, st.booleans()))
    assert parse("k", to_text(value, type), type) == value
