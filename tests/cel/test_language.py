"""
CEL itself: what its specification says an expression gives.

When this was written, tens of thousands of random expressions gave what Google's implementation for C++ gives, but that it also
has `int(true)`, writes parts of a second in threes (`1.020s`), and tells the keys true and 1 of one map apart.
"""

from __future__ import annotations

import datetime
import math
from typing import Any

import pytest

from kconnect.api import Struct
from kconnect.cel import CelError, compile
from kconnect.data import schema
from kconnect.data.schema import Int8, Int32

UTC = datetime.timezone.utc
ADDRESS = schema.struct({"city": schema.STRING_SCHEMA, "zip": schema.OPTIONAL_STRING_SCHEMA})
PERSON = schema.struct(
    {
        "name": schema.STRING_SCHEMA,
        "age": schema.OPTIONAL_INT32_SCHEMA,
        "kind": schema.Schema(schema.SchemaType.STRING, optional=True, default="plain"),
        "address": ADDRESS,
    }
)
VALUES: dict[str, Any] = {
    "i": 7,
    "d": 2.5,
    "s": "héllo",
    "b": b"ab\x00",
    "x": None,
    "l": [1, 2, 3],
    "m": {"a": 1, "b": "x", "c": [1], "e": None},
    "ts": datetime.datetime(2024, 2, 29, 13, 5, 6, 789000, tzinfo=UTC),
    "du": datetime.timedelta(hours=1, seconds=5),
    "p": Struct(PERSON, {"name": "Ada", "address": Struct(ADDRESS, {"city": "London"})}),
    "narrow": Int8(7),
    "narrows": [Int32(1), Int32(2)],
}


def evaluated(text: str) -> Any:
    return compile(text, {name: lambda _, value=value: value for name, value in VALUES.items()})(None)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3 - 4", 3),
        ("(1 + 2) * 3", 9),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("7.0 / 2.0", 3.5),
        ("1.0 / 0.0", math.inf),
        ("-9223372036854775808", -(2**63)),
        ("0x1F + 1", 32),
        ("2u + 3u == 5u", True),
        ("1 == 1.0 && 1u == 1 && 1 < 1.5", True),
        ("1 == '1'", False),
        ("'a' + \"b\" + 'c'", "abc"),
        (r"'\u00e9\x41\101\n'", "éAA\n"),
        (r"r'\d'", "\\d"),
        ("'''it's'''", "it's"),
        ("b'\\xff' + b'a'", b"\xffa"),
        ("!true || !!true", True),
        ("- -1", 1),
        ("1 / 0 > 1 || true", True),
        ("false && 1 / 0 > 1", False),
        ("true || 1 / 0 > 1", True),
        ("i > 5 ? 'many' : 'few'", "many"),
        ("true ? 1 : false ? 2 : 3", 1),
        ("[1, 2.0, 'a',][1]", 2.0),
        ("{'a': 1, 'b': {'c': 2}}.b.c", 2),
        ("{true: 'yes'}[true]", "yes"),
        ("{true: 'yes'} == {1: 'yes'}", False),
        ("2 in l && !(5 in l) && 'a' in m && !('z' in m)", True),
        ("size(s) + size(b) + l.size() + size(m)", 15),
        ("s.contains('éll') && s.startsWith('h') && s.endsWith('o')", True),
        ("s.matches('^h.*o$') && matches(s, 'l+')", True),
        ("s.matches('^l')", False),
        ("l.all(x, x > 0) && l.exists(x, x == 2) && l.exists_one(x, x > 2)", True),
        ("l.exists(y, 1 / (y - 1) > 10 || y == 3)", True),
        ("l.filter(x, x > 1).map(x, x * 2)", [4, 6]),
        ("l.map(x, x > 1, x * 2)", [4, 6]),
        ("l.map(x, l.map(y, x * y))", [[1, 2, 3], [2, 4, 6], [3, 6, 9]]),
        ("l.map(x, l.exists(x, x == 3) ? x : 0)", [1, 2, 3]),
        ("m.exists(k, k == 'a')", True),
        ("has(m.a) && has(m.e) && !has(m.z)", True),
        ("m.e == null && x == null", True),
        ("int('12') + int(2.9) + int(3u)", 17),
        ("double('1.5e3') + double(1)", 1501.0),
        ("string(1) + string(1.5) + string(2.0) + string(true) + string(b'a')", "11.52truea"),
        ("bytes('é')", b"\xc3\xa9"),
        ("bool('true')", True),
        ("type(1) == int && type('') == string && type(null) == null_type && type(ts) == google.protobuf.Timestamp", True),
        ("timestamp('2024-02-29T14:05:06.789+01:00') == ts", True),
        ("timestamp(0) + duration('90m') == timestamp('1970-01-01T01:30:00Z')", True),
        ("string(ts)", "2024-02-29T13:05:06.789Z"),
        ("int(ts)", 1709211906),
        ("ts.getFullYear() + ts.getMonth() + ts.getDate() + ts.getDayOfMonth()", 2024 + 1 + 29 + 28),
        ("[ts.getDayOfWeek(), ts.getDayOfYear(), ts.getHours()]", [4, 59, 13]),
        ("[ts.getMinutes(), ts.getSeconds(), ts.getMilliseconds()]", [5, 6, 789]),
        ("ts.getHours('Europe/Berlin') + ts.getHours('-05:00')", 14 + 8),
        ("du.getMinutes() + du.getSeconds()", 60 + 3605),
        ("ts - timestamp('2024-02-29T00:00:00Z') > duration('13h')", True),
        ("p.name + p.address.city", "AdaLondon"),
        ("p.age == null && !has(p.age) && !has(p.nope) && has(p.address.city)", True),
        ("p.kind", "plain"),
        ("p['name'] == 'Ada' && 'age' in p", True),
        ("narrow + 1", 8),
        ("narrows.map(n, n + 1)", [2, 3]),
        ("[1, 2 // a comment\n]", [1, 2]),
    ],
)
def test_value(text: str, value: Any) -> None:
    found = evaluated(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 + 1.0", "+ is not defined for int and double, which CEL does not mix: convert one"),
        ("x + 1", "null_type and int: if a field may be null, check it first"),
        ("'a' - 'b'", "- is not defined for string and string"),
        ("true < 'a'", "< is not defined"),
        ("9223372036854775807 + 1", "not a 64-bit integer"),
        ("-(-9223372036854775808)", "not a 64-bit integer"),
        ("-9223372036854775808 / -1", "not a 64-bit integer"),
        ("1u - 2u", "not an unsigned 64-bit integer"),
        ("1 / 0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("m.z", "there is no field z; has() tells"),
        ("p.nope", "there is no field nope; has() tells"),
        ("x.name", "null has no field name"),
        ("s.name", "a string has no fields"),
        ("l[3]", "there is no item 3 in a list of 3"),
        ("l[-1]", "there is no item -1"),
        ("i ? 1 : 2", "?: is not defined for int"),
        ("i && true", "&& is not defined for int"),
        ("i.exists(y, true)", "exists needs a list or a map, but this is of type int"),
        ("int('1_000')", "int() can't read the text"),
        ("int(1e300)", "not a 64-bit integer"),
        ("int(double('nan'))", "can't convert"),
        ("timestamp('yesterday')", "is not a timestamp such as"),
        ("timestamp('2024-02-30T00:00:00Z')", "is not a timestamp"),
        ("duration('1 h')", "is not a duration such as"),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", "years 1 to 9999"),
        ("ts.getHours('Nowhere/City')", "is not a time zone"),
        ("string(b'\\xff')", "not UTF-8 text"),
        ("{'a': 1, 'a': 2}", "the map has the key 'a' twice"),
    ],
)
def test_no_value(text: str, message: str) -> None:
    with pytest.raises(CelError) as error:
        evaluated(text)
    assert message in str(error.value)
    assert "(at character " in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("1 +", "expected a value, found the end (at character 4)"),
        ("(1", "expected ), found the end"),
        ("1 2", "expected nothing more, found 2 (at character 3)"),
        ("'abc", "has no ' at its end (at character 1)"),
        (r"'\q'", "is not an escape in CEL"),
        (r"'\ud800'", "is not a Unicode character"),
        ("a @ b", "'@' is not valid in CEL (at character 3)"),
        ("vlaue.price", "there is no variable vlaue; there are: i, d, s"),
        ("l.map(y, y) + y", "there is no variable y"),
        ("lower(s)", "there is no function lower; there are: size, matches, int"),
        ("s.lower()", "there is no method lower; there are: size, matches, contains"),
        ("contains(s, 'a')", "contains is called as x.contains(...)"),
        ("s.int()", "int is called as int(x)"),
        ("s.contains()", "contains takes 1 arguments, but got 0"),
        ("l.map(1, 2)", "must be a new name"),
        ("l.map(y)", "map takes a name and an expression"),
        ("has(m)", "has() asks for a field: has(value.name)"),
        ("m.in", "read a field of that name with ['in']"),
        ("while", "is a reserved word of CEL"),
        ("Foo{a: 1}", "messages can't be made here"),
        ("m.?a", "optional fields are not supported"),
        ("99999999999999999999", "is not a 64-bit integer"),
        ("s.matches('(')", "this one is not valid: missing )"),
    ],
)
def test_no_expression(text: str, message: str) -> None:
    with pytest.raises(CelError) as error:
        compile(text, dict.fromkeys(VALUES, lambda _: None))
    assert message in str(error.value)
