"""Cases of `kconnect test`: what they may say, and what counts as different."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.errors import ConfigError
from kconnect.preview.cases import cases_of, differences
from kconnect.preview.preview import Done, Outcome, Problem

INT = {"type": "int32", "optional": False}
SCHEMA = {"type": "struct", "name": "N", "optional": False, "fields": [{**INT, "field": "a"}, {**INT, "field": "b"}]}
FIELD_C = {"field": "c"}
NOTHING = "nothing of that name"
OUT = {
    "topic": "t",
    "partition": None,
    "timestamp": 5,
    "key": {"schema": None, "payload": "k"},
    "value": {"schema": SCHEMA, "payload": {"a": 1, "b": None}},
    "headers": [{"name": "h", "value": {"schema": None, "payload": 1.0, "types": "float32"}}],
}
CAME = Outcome(OUT, (Done("s", None, True, OUT),), OUT, b"k", b'{"a": 1, "l": [1, 2]}')
DROPPED = Outcome(OUT, (Done("s", None, True, None),), None)
FAILED = Outcome(
    OUT,
    (Done("s", None, True, None),),
    None,
    error=Problem("TRANSFORMATION", "org.apache.kafka.connect.errors.DataException", "no field x", "s", False),
)


def found(outcome: Outcome, **expect: Any) -> list[tuple[str, str, str]]:
    return [(each.place, each.expected, each.found) for each in differences(expect, outcome)]


@pytest.mark.parametrize(
    "expect",
    [
        {"out": {}},
        {"out": {"topic": "t", "partition": None, "key": "k", "value": {"a": 1}, "headers": ["h"]}},
        {"out": {"value": {"b": None, "c": None}}},
        {"out": {"value": {"schema": SCHEMA, "payload": {"a": 1, "b": None}}}},
        {"out": {"value": {"schema": {"name": "N"}}}},
        {"out": {"value": {"schema": {"fields": [{"field": "b", "type": "int32"}]}}}},
        {"out": {"headers": [{"name": "h", "value": {"schema": None, "payload": 1.0, "types": "float32"}}]}},
        {"out": OUT, "exact": True},
        {"key_text": "k", "key_bytes": "aw==", "value_text": '{"a": 1, "l": [1, 2]}', "value_json": {"a": 1}},
        {"dropped": False},
    ],
    ids=str,
)
def test_as_expected(expect: dict[str, Any]) -> None:
    assert found(CAME, **expect) == []


@pytest.mark.parametrize(
    ("expect", "place", "wanted", "got"),
    [
        ({"out": {"topic": "u"}}, "out.topic", '"u"', '"t"'),
        ({"out": {"value": {"a": 1.0}}}, "out.value.a", "1.0", "1"),
        ({"out": {"value": {"a": True}}}, "out.value.a", "true", "1"),
        ({"out": {"value": {"c": 1}}}, "out.value.c", "1", NOTHING),
        ({"out": {"value": {"b": 1}}}, "out.value.b", "1", "null"),
        ({"out": {"value": {"schema": {"fields": [FIELD_C]}}}}, "out.value schema.fields.c", '{"field": "c"}', NOTHING),
        ({"out": {"headers": []}}, "out.headers", "[]", '["h"]'),
        ({"out": {"headers": [{"name": "h", "value": 2.0}]}}, "out.headers.h", "2.0", "1.0"),
        ({"out": {"tpoic": "t"}}, "out.tpoic", '"t"', NOTHING),
        ({"out": {**OUT, "timestamp": None}, "exact": True}, "out.timestamp", "null", "5"),
        ({"out": {**OUT, "value": {}}, "exact": True}, "out.value.a", "nothing", "1"),
        ({"key_text": "K"}, "key_text", '"K"', '"k"'),
        ({"key_text": None}, "key_text", "null", "1 bytes"),
        ({"value_json": {"l": [1]}}, "value_json.l", "[1]", "[1, 2]"),
        ({"key_json": "k"}, "key_json", '"k"', "b'k', which is not JSON"),
        ({"dropped": True}, "dropped", "dropped", "a record for the topic t"),
        ({"error": "x"}, "error", '"x"', "a record for the topic t"),
    ],
    ids=str,
)
def test_not_as_expected(expect: dict[str, Any], place: str, wanted: str, got: str) -> None:
    assert found(CAME, **expect) == [(place, wanted, got)]


def test_drops() -> None:
    assert found(DROPPED, dropped=True) == found(DROPPED, dropped="s") == []
    assert found(DROPPED, dropped="r") == [("dropped", "by r", "by s")]
    assert found(DROPPED, out={}) == found(DROPPED, dropped=False) == [("out", "a record", "dropped by s")]
    assert found(DROPPED, error="x") == [("error", '"x"', "dropped by s")]


def test_errors() -> None:
    name = "org.apache.kafka.connect.errors.DataException"
    for expected in ("no field", "DataException", name, {"class": "DataException", "alias": "s", "message": "field x"}):
        assert found(FAILED, error=expected) == []
    told = f"{name} in TRANSFORMATION s: no field x"
    assert found(FAILED, error="other") == [("error", "other", told)]
    assert found(FAILED, error={"class": name, "stage": "KEY_CONVERTER"}) == [
        ("error.stage", "KEY_CONVERTER", "TRANSFORMATION")
    ]
    assert found(FAILED, out={}) == found(FAILED, dropped=True) == [("error", "none", told)]


GOOD = {"config": {"transforms": ""}, "in": {"topic": "t"}, "expect": {"out": {}}}


def test_config_and_kind_for_all_cases_and_for_one() -> None:
    cases = [{"in": 1, "expect": {"out": {}}}, {**GOOD, "name": "n"}]
    (first, second), worker = cases_of({"config": "a.json", "kind": "sink", "worker": "w", "cases": cases}, "f.yaml")
    assert (first.name, first.where, first.config, first.kind) == ("case 1", "f.yaml, case 1", "a.json", "sink")
    assert (second.name, second.where, second.config, worker) == ("n", "f.yaml, n", {"transforms": ""}, "w")
    assert cases_of([GOOD], "f")[1] is None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (None, "f: there are no cases: write a list of them, alone or as `cases`"),
        ({"cases": []}, "f: there are no cases"),
        ({"cases": [GOOD], "configs": 1}, "f: `configs` is not known; known are cases, config, kind, worker"),
        ([7], "f, case 1: a case is an object with `name`, `in` and `expect`"),
        ([{**GOOD, "when": 1}], "f, case 1: `when` is not known; known are config, expect, in, kind, name"),
        ([{"name": "n", "in": 1}], "f, n: `config` is missing"),
        ([{**GOOD, "kind": "both"}], "f, case 1: `kind` is both, and must be source or sink"),
        ([{"config": {}, "expect": {"out": {}}}], "f, case 1: `in` is missing"),
        ([{**GOOD, "expect": None}], "f, case 1: `expect` must say something: one of dropped, error, key_bytes, "),
        ([{**GOOD, "expect": {"exact": True}}], "f, case 1: `expect` must say something"),
        ([{**GOOD, "expect": {"outs": {}}}], "f, case 1: `expect`: `outs` is not known"),
        ([{**GOOD, "expect": {"out": None}}], "f, case 1: `out` must be a record; write `dropped: true` if there is none"),
        ([{**GOOD, "expect": {"out": {}, "error": "x"}}], "f, case 1: `expect` has `error` and something else"),
        ([{**GOOD, "expect": {"dropped": 1}}], "f, case 1: `dropped` must be true, false, or the alias"),
        ([{**GOOD, "expect": {"error": True}}], "f, case 1: `error` must be a text, or an object with class, message"),
        ([{**GOOD, "expect": {"error": {"type": "x"}}}], "f, case 1: `error`: `type` is not known"),
    ],
    ids=str,
)
def test_what_is_no_file_of_cases_says_why(body: Any, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        cases_of(body, "f")
    assert said in str(raised.value)
