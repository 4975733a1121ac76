"""
No pattern of ours takes the square of a text's length, or more: Python looks for it in every way, and the whole host waits.

Each pattern of the packages below is tried on texts of the letters that it has, repeated, in the ways in which its module uses
it. What is slow is told by how its time grows. A pattern that is found here and gets no texts of others, or short ones only,
stands in `BOUNDED` with the reason.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import random
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any

import pytest

PACKAGES = (
    *("connectors", "converters", "data", "transforms", "predicates", "cel", "java", "dlq", "preview"),
    *("core", "host", "kafka", "processes", "rest", "tls", "units", "worker"),
)
BOUNDED = {
    "kconnect.cel.times._PART": "of durations only, whose numbers have 18 digits",
    "kconnect.core.describe.advice._BAD_DATA": "of a cause's first 400 characters",
    "kconnect.core.metrics.published._PROPERTY": "names that plugins give",
    "kconnect.core.settings.cloud_rules._ACCOUNT": "of 200 characters at the end of a setting's name",
    "kconnect.core.settings.database_rules._UP_TO_LAST": "of as many characters at the end of a parameter's",
}
WAYS = ("search", "match", "fullmatch", "findall")
REPEATS = ("MAX_REPEAT", "MIN_REPEAT")
EVERYWHERE = ("findall", "finditer", "sub", "split")
LENGTH, SLOW_S, ENDLESS_S, GROWTH = 3000, 0.02, 1.0, 3.0
"""Twice the length takes twice the time, or four times if it is the square."""


class _Endless(BaseException):
    pass


def modules() -> Iterator[ModuleType]:
    import kconnect

    for package in PACKAGES:
        for found in pkgutil.walk_packages([f"{kconnect.__path__[0]}/{package}"], f"kconnect.{package}."):
            yield importlib.import_module(found.name)


def patterns() -> dict[str, tuple[re.Pattern[Any], tuple[str, ...]]]:
    """Return the patterns by their names, with the ways in which they are used where they stand."""
    found = {}
    for module in modules():
        source = inspect.getsource(module)
        for name, value in vars(module).items():
            uses = set(re.findall(rf"\b{name}\.(\w+)\(", source)) if isinstance(value, re.Pattern) else set()
            ways = tuple(way for way in WAYS if way in uses or (way == "findall" and uses & {*EVERYWHERE}))
            if ways:
                found[f"{module.__name__}.{name}"] = (value, ways)
    return found


class Writer:
    """Writes texts that a pattern may match. `letters` are some of its own."""

    def __init__(self, letters: str) -> None:
        self._letters, self.chosen = letters, random.Random(1)

    def sentence(self, tree: Any) -> str:
        """Return a text that a pattern, as Python has parsed it, may match."""
        return "".join(self._part(str(operation), given) for operation, given in tree)

    def _part(self, kind: str, given: Any) -> str:
        if kind == "LITERAL":
            return chr(given)
        if kind in ("NOT_LITERAL", "ANY"):
            return self.chosen.choice(self._letters)
        if kind == "IN":
            part, of = self.chosen.choice(given)
            if str(part) in ("LITERAL", "RANGE") and str(given[0][0]) != "NEGATE":
                return chr(of if str(part) == "LITERAL" else of[0])
            return {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}.get(str(of), "~")
        if kind in REPEATS:
            least, most, within = given
            return "".join(self.sentence(within) for _ in range(self.chosen.randint(least, min(int(most), least + 1))))
        if kind == "SUBPATTERN":
            return self.sentence(given[3])
        return self.sentence(self.chosen.choice(given[1])) if kind == "BRANCH" else ""


def loops(tree: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield what is repeated without an end, at any depth, each with what comes before it."""
    for place, (operation, given) in enumerate(tree):
        kind, so_far = str(operation), (*before, *list(tree)[:place])
        if kind in REPEATS:
            if int(given[1]) > 1000:
                yield so_far, given[2]
            yield from loops(given[2], so_far)
        elif kind == "SUBPATTERN":
            yield from loops(given[3], so_far)
        elif kind == "BRANCH":
            for branch in given[1]:
                yield from loops(branch, so_far)
        elif kind in ("ASSERT", "ASSERT_NOT"):
            yield from loops(given[1], so_far)


def texts(pattern: re.Pattern[Any]) -> set[tuple[str, str, str]]:
    """Return what stands before, what is repeated, and what stands behind."""
    parser = importlib.import_module("re._parser" if hasattr(re, "_parser") else "sre_parse")
    is_text = isinstance(pattern.pattern, str)
    text = pattern.pattern if is_text else pattern.pattern.decode("latin-1")
    tree = parser.parse(pattern.pattern, pattern.flags if is_text else pattern.flags & ~re.UNICODE)
    letters = "".join(sorted({*text} & {*"\"',;@&/#%<>"}))
    writer, found = Writer(f"~{letters}"), set()
    for before, within in loops(tree):
        for _ in range(16):
            begin, repeated = writer.sentence(before), writer.sentence(within) * writer.chosen.randint(1, 2)
            if repeated:
                found |= {(begin, repeated, end) for end in ("", "\0!", '"')} | {("", begin + repeated, "\0!")}
    return found


def seconds(look: Callable[[Any], Any], text: Any) -> float:
    """Return how much of the processor it takes, at most `ENDLESS_S`."""
    signal.setitimer(signal.ITIMER_VIRTUAL, ENDLESS_S)
    begin = time.thread_time()
    try:
        look(text)
    except _Endless:
        return ENDLESS_S
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.thread_time() - begin


def slow(pattern: re.Pattern[Any], ways: tuple[str, ...]) -> str | None:
    """Return a text, in short, of which twice as much takes more than twice the time."""

    def made(length: int) -> Any:
        text = before + repeated * (length // len(repeated)) + behind
        return text if isinstance(pattern.pattern, str) else text.encode("latin-1", "replace")

    for before, repeated, behind in texts(pattern):
        for way in ways:
            look = getattr(pattern, way)
            once = seconds(look, made(LENGTH))
            if once >= ENDLESS_S:
                return f"{way}: {before!r} + {repeated!r} * n + {behind!r} takes more than {once} s"
            if once > SLOW_S / 4:
                # Once more, because a processor is at times slow by itself.
                once, twice = min(once, seconds(look, made(LENGTH))), min(seconds(look, made(2 * LENGTH)) for _ in range(2))
                if twice > SLOW_S and twice > GROWTH * once:
                    return f"{way}: {before!r} + {repeated!r} * n + {behind!r}: {once:.3f} s, twice as long {twice:.3f} s"
    return None


@pytest.fixture(autouse=True)
def no_end() -> Iterator[None]:
    def ends(number: int, frame: FrameType | None) -> None:
        raise _Endless

    assert threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGVTALRM, ends)
    yield
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize(
    ("text", "way"),
    [
        (r"\s*(?P<day>\d{8})?\s*(?P<zone>Z)?\s*", "fullmatch"),
        (r"\s*<([^<>]*)>((?:\s*;\s*[^\s;,=\"]+(?:\s*=\s*(?:[^\s;,\"]*))?)*)\s*(?:,|$)", "match"),
        (r"(?=[0-9.]{19})[0-9]+\.[0-9]+", "search"),
        (r":\d\d.*?(?:[+-]\d|[a-z]{3}|/|z\s*$)", "search"),
        (r'"((?:[^"\\]|\\.)*)"|([^{},"]+)', "findall"),
    ],
)
def test_what_was_slow_is_found(text: str, way: str) -> None:
    """Patterns that we had: a record, or a header, of some kilobytes kept a host busy for hours."""
    assert slow(re.compile(text), (way,))


def test_no_pattern_takes_more_time_than_its_text_is_long() -> None:
    """Who may write a record, or answer as a service, chooses the text."""
    tried = patterns()
    assert len(tried) > 60
    found = {name: slow(*each) for name, each in tried.items() if name not in BOUNDED}
    assert not {name: text for name, text in found.items() if text}
