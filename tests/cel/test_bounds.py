"""Expressions that are meant to do harm: none reaches beyond the record, none takes a worker's time or memory."""

from __future__ import annotations

import contextlib
import resource
import time
from typing import Any

import pytest

from kconnect.api import SourceRecord, Struct
from kconnect.cel import CelError, compile
from kconnect.cel.records import VARIABLES
from kconnect.cel.syntax import MAX_DEPTH, MAX_LENGTH, MAX_NESTING
from kconnect.data import schema

LONG = "a" * 1_000_000
DATA: dict[str, Any] = {"l": list(range(3000)), "s": LONG, "m": {"a": 1}, "one": [1] * 8}
READ = {name: (lambda _, value=value: value) for name, value in DATA.items()}
SECONDS = 10.0
"""Of the processor. Far below what any of these takes without limits; ten times what one takes on a slow machine."""
MEMORY_KB = 400_000


def run(text: str) -> Any:
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.thread_time()
    try:
        return compile(text, READ)(None)
    finally:
        assert time.thread_time() - start < SECONDS
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY_KB


def chained(first: str, step: str, times: int) -> str:
    return first + step * times


EIGHT = "+".join("x" * 8)


@pytest.mark.parametrize(
    "text",
    [
        "l.all(x, l.all(y, x + y >= 0))",
        "l.all(x, l.all(y, l.all(z, x + y + z >= 0)))",
        "l.map(x, l.map(y, l)).size()",
        "l.exists(x, l.exists(y, l.exists(z, 1 / 0 > 1)))",
        "l.all(x, l.all(y, x < 0)) || l.all(x, l.all(y, x == -1 || y == 'a' || true))",
        chained("[s]", ".map(x, x + x)", 20),
        chained("['aaaaaaaa']", f".map(x, {EIGHT})", 12),
        chained("[one]", f".map(x, {EIGHT})", 12),
        chained("[s]", ".map(x, string(bytes(x)) + x)", 15),
        "l.map(x, s + s).size()",
        "l.all(x, s.contains('b') || true)",
        "l.all(x, s.matches('(a|aa)+b') || true)",
        "l.all(x, (s + 'b') != (s + 'c'))",
        "l.map(x, l.map(y, y)).all(x, l in [l, l, l])",
        "l.filter(x, s.matches('x' + string(x)) || true)",
        "s.matches('[ab]{0,999}c')",
        "l.exists(x, l.exists(y, 'a'.matches('[ab]{0,900}' + string(x) + string(y))))",
        r"l.exists(x, l.exists(y, 'a'.matches(r'\pL{0,900}' + string(x) + string(y))))",
        "s.matches('(?:[ab]{0,99}a?){9}c')",
        "s.matches('(?:a|b|ab|ba|aab){0,300}c')",
    ],
)
def test_work_is_bounded(text: str) -> None:
    with pytest.raises(CelError, match="it takes more work than is allowed for one record"):
        run(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("s.matches('^(a+)+$')", True),
        ("(s + '!').matches('^(a+)+$')", False),
        ("s.matches('(a*)*(a*)*(a*)*b')", False),
        ("s.matches('(.*)(.*)(.*)(.*)(.*)[^a]')", False),
    ],
)
def test_patterns_take_time_in_proportion_to_the_text(text: str, value: bool) -> None:
    assert run(text) is value


@pytest.mark.parametrize("pattern", ["((a{100}){100}){100}", "(?=a)b", r"(a)\1", "(?<=a)b", r"\pL{0,500}"])
def test_patterns_are_those_of_re2_and_of_bounded_size(pattern: str) -> None:
    with pytest.raises(CelError, match="takes an RE2 pattern"):
        run(f"s.matches(r'{pattern}')")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 1000 + "1" + ")" * 1000,
        "[" * 1000 + "]" * 1000,
        "{1:" * 1000 + "1" + "}" * 1000,
        "size(" * 500 + "s" + ")" * 500,
        "true ? 1 : " * 300 + "2",
        "l.map(x, " * 300 + "1" + ")" * 300,
        "m[" * 1000 + "1" + "]" * 1000,
        "-(" * 1000 + "1" + ")" * 1000,
    ],
)
def test_nesting_is_bounded(text: str) -> None:
    with pytest.raises(CelError, match=f"nested {MAX_NESTING} deep|characters long"):
        run(text[:MAX_LENGTH])


@pytest.mark.parametrize("text", ["1" + "+1" * 1000, "m" + ".a" * 1000, "m" + "[1]" * 1000, chained("l", ".map(x,x)", 300)])
def test_depth_is_bounded(text: str) -> None:
    with pytest.raises(CelError, match=f"more than {MAX_DEPTH} operations depend on each other"):
        run(text)


def test_length_is_bounded() -> None:
    with pytest.raises(CelError, match="it is 5001 characters long, but may have 4096 at most"):
        run("1" * 5001)


@pytest.mark.parametrize("sign", ["!", "-"])
def test_many_signs_are_one_or_two(sign: str) -> None:
    assert run(sign * 4001 + ("true" if sign == "!" else "1")) in (False, -1)
    assert run(sign * 4002 + ("true" if sign == "!" else "1")) in (True, 1)


def test_what_nobody_looks_into_is_not_walked() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert compile("value.size()", {"value": lambda _: deep})(None) == 1
    with pytest.raises(CelError, match="nested too deep"):
        compile("value == other", {"value": lambda _: deep, "other": lambda _: [deep[0]]})(None)


@pytest.mark.parametrize(
    "text",
    [
        "value.__class__",
        "value.__class__.__mro__",
        "topic.__class__",
        "topic.__len__()",
        "value['__class__']",
        "headers.__init__.__globals__",
        "timestamp.tzinfo",
        "timestamp.year",
        "value.schema",
        "value._values",
        "__import__('os')",
        "open('/etc/passwd')",
        "eval('1')",
        "getattr(value, 'x')",
        "record",
        "self",
        "frame",
        "'%s'.format(['x'])",
        "type(1).name",
        "timestamp.getHours('../../../etc/passwd')",
        "timestamp.getHours('/etc/passwd')",
    ],
)
def test_nothing_but_the_record_can_be_reached(text: str) -> None:
    shape = schema.struct({"a": schema.INT32_SCHEMA})
    record = SourceRecord({}, {}, "t", value_schema=shape, value=Struct(shape, {"a": 1}), timestamp=0)
    with pytest.raises(CelError):
        compile(text, VARIABLES)(record)


@pytest.mark.parametrize("value", [float("nan"), 10**30, "\ud800", Ellipsis, {1: 2}, [None], 1j, b"\xff", {"a": object()}])
def test_odd_values_of_records_are_errors_at_worst(value: Any) -> None:
    for text in (
        "value + 1",
        "value == 1",
        "value < 1",
        "string(value)",
        "bytes(value)",
        "value.matches('a')",
        "value in [value]",
        "size(value)",
        "value.a",
        "value[0]",
        "[value][0] + value",
        "value.map(x, x)",
        "type(value)",
        "int(value)",
        "-value",
        "{'a': value} == {'a': value}",
        "timestamp(value)",
        "double(value)",
    ):
        with contextlib.suppress(CelError):
            compile(text, {"value": lambda _: value})(None)
