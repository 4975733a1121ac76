"""
Cases of `kconnect test`: a record, a connector's config, and what is to become of the record.

`cases_of` reads what a YAML file holds, `differences` compares a case with what really happened (`preview.py`). Only what a
case gives is compared, unless it says `exact: true`. Read next: docs/connectors.md, "Try a chain before production".
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kconnect.errors import ConfigError
from kconnect.preview import envelopes
from kconnect.preview.preview import Outcome, Problem

_FILE = {"cases", "config", "kind", "worker"}
_CASE = {"name", "config", "kind", "in", "expect"}
_BYTES = tuple(f"{part}_{form}" for part in ("key", "value") for form in ("bytes", "text", "json"))
_EXPECT = {"out", "dropped", "error", "exact", *_BYTES}
_ERROR = ("class", "message", "stage", "alias")
_NOTHING: Any = object()


@dataclass(frozen=True)
class Case:
    """`config` is what the file says: settings, or the path of a file with them. `where` is for messages."""

    name: str
    where: str
    config: Any
    kind: str | None
    record: Any
    expect: Mapping[str, Any]


@dataclass(frozen=True)
class Difference:
    """`expected` and `found` are texts, JSON where they are data."""

    place: str
    expected: str
    found: str


def cases_of(body: Any, name: str, with_config: bool = True) -> tuple[list[Case], Any]:
    """
    The cases of a file, and the worker settings or the path of their file. ConfigError for what is none.

    `with_config` False: the config comes from elsewhere, and a case need have none.
    """
    if isinstance(body, list):
        body = {"cases": body}
    if not isinstance(body, dict) or not isinstance(body.get("cases"), list) or not body["cases"]:
        raise ConfigError(f"{name}: there are no cases: write a list of them, alone or as `cases`")
    _known(body, _FILE, name)
    cases = []
    for number, case in enumerate(body["cases"], 1):
        where = f"{name}, case {number}"
        if not isinstance(case, dict):
            raise ConfigError(f"{where}: a case is an object with `name`, `in` and `expect`")
        title = str(case.get("name") or f"case {number}")
        where = f"{name}, {title}"
        _known(case, _CASE, where)
        config = case.get("config", body.get("config"))
        kind = case.get("kind", body.get("kind"))
        if config is None and with_config:
            raise ConfigError(f"{where}: `config` is missing: settings, or the path of a file with them, here or for all cases")
        if kind not in (None, "source", "sink"):
            raise ConfigError(f"{where}: `kind` is {kind}, and must be source or sink")
        if "in" not in case:
            raise ConfigError(f"{where}: `in` is missing: the record that the chain is given")
        cases.append(Case(title, where, config, kind, case["in"], _expectation(case.get("expect"), where)))
    return cases, body.get("worker")


def _expectation(expect: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(expect, dict) or not expect.keys() - {"exact"}:
        raise ConfigError(f"{where}: `expect` must say something: one of {', '.join(sorted(_EXPECT - {'exact'}))}")
    _known(expect, _EXPECT, f"{where}: `expect`")
    ends = [name for name in ("dropped", "error") if expect.get(name)]
    if len(ends) > 1 or (ends and expect.keys() - {*ends, "exact", "dropped", "error"}):
        raise ConfigError(f"{where}: `expect` has `{ends[0]}` and something else, but then nothing else comes out")
    if not isinstance(expect.get("dropped", True), bool | str):
        raise ConfigError(f"{where}: `dropped` must be true, false, or the alias of the transform that drops the record")
    if not isinstance(expect.get("error", ""), str | dict):
        raise ConfigError(f"{where}: `error` must be a text, or an object with {', '.join(_ERROR)}")
    if isinstance(expect.get("error"), dict):
        _known(expect["error"], set(_ERROR), f"{where}: `error`")
    if not isinstance(expect.get("out", {}), dict):
        raise ConfigError(f"{where}: `out` must be a record; write `dropped: true` if there is none")
    return expect


def _known(body: dict[Any, Any], names: set[str], where: str) -> None:
    for name in body.keys() - names:
        raise ConfigError(f"{where}: `{name}` is not known; known are {', '.join(sorted(names))}")


def differences(expect: Mapping[str, Any], outcome: Outcome) -> list[Difference]:
    """Return what is not as expected, in the order of reading."""
    return list(_differences(expect, outcome))


def _differences(expect: Mapping[str, Any], outcome: Outcome) -> Iterator[Difference]:
    error, dropped = expect.get("error"), expect.get("dropped")
    if error:
        yield from _error(error, outcome)
        return
    if outcome.error is not None:
        yield Difference("error", "none", _told(outcome.error))
        return
    by = outcome.dropped_by
    if dropped:
        if by is None:
            yield Difference("dropped", "dropped", _what_came(outcome))
        elif isinstance(dropped, str) and dropped != by:
            yield Difference("dropped", f"by {dropped}", f"by {by}")
        return
    if by is not None:
        yield Difference("out", "a record", f"dropped by {by}")
        return
    exact = bool(expect.get("exact"))
    if "out" in expect:
        yield from _record(expect["out"], outcome.out or {}, exact)
    for name in _BYTES:
        if name in expect:
            yield from _of_bytes(name, expect[name], outcome.key if name.startswith("key") else outcome.value, exact)


def _error(expected: Any, outcome: Outcome) -> Iterator[Difference]:
    error = outcome.error
    if error is None:
        yield Difference("error", _json(expected), _what_came(outcome))
        return
    if isinstance(expected, str):
        if expected not in error.message and expected not in (error.class_name, error.class_name.rsplit(".", 1)[-1]):
            yield Difference("error", expected, _told(error))
        return
    facts = {"class": error.class_name, "message": error.message, "stage": error.stage, "alias": error.alias}
    for name, value in expected.items():
        if name == "message":
            same = str(value) in error.message
        else:
            same = value == facts[name] or (name == "class" and value == error.class_name.rsplit(".", 1)[-1])
        if not same:
            yield Difference(f"error.{name}", str(value), str(facts[name]))


def _told(error: Problem) -> str:
    where = f"{error.stage} {error.alias}" if error.alias else error.stage
    return f"{error.class_name} in {where}: {error.message}"


def _what_came(outcome: Outcome) -> str:
    if outcome.error is not None:
        return _told(outcome.error)
    return f"dropped by {outcome.dropped_by}" if outcome.out is None else f"a record for the topic {outcome.out['topic']}"


def _record(expected: Mapping[str, Any], actual: Mapping[str, Any], exact: bool) -> Iterator[Difference]:
    for name in actual if exact else ():
        # Where a record came from is no part of what a chain makes of it.
        if name not in expected and name != "original" and actual[name] not in (None, []):
            yield Difference(f"out.{name}", "nothing", _json(actual[name]))
    for name, value in expected.items():
        place = f"out.{name}"
        if name in ("key", "value"):
            yield from _envelope(value, actual[name], place, exact)
        elif name == "headers" and isinstance(value, list):
            yield from _headers(value, actual[name], exact)
        elif name not in actual:
            yield Difference(place, _json(value), "nothing of that name")
        else:
            yield from _compare(value, actual[name], place, exact)


def _headers(expected: list[Any], actual: list[Any], exact: bool) -> Iterator[Difference]:
    names = [header.get("name") if isinstance(header, dict) else header for header in expected]
    actual_names = [header["name"] for header in actual]
    if names != actual_names:
        yield Difference("out.headers", _json(names), _json(actual_names))
        return
    for header, actual_header in zip(expected, actual):
        if isinstance(header, dict) and "value" in header:
            yield from _envelope(header["value"], actual_header["value"], f"out.headers.{actual_header['name']}", exact)


def _envelope(expected: Any, actual: Mapping[str, Any], place: str, exact: bool) -> Iterator[Difference]:
    if not envelopes.is_envelope(expected):
        yield from _compare(expected, actual["payload"], place, exact)
        return
    if "payload" in expected:
        yield from _compare(expected["payload"], actual["payload"], place, exact)
    yield from _compare(expected["schema"], actual["schema"], f"{place} schema", exact)
    if "types" in expected:
        yield from _compare(expected["types"], actual.get("types"), f"{place} types", exact)


def _of_bytes(name: str, expected: Any, data: bytes | None, exact: bool) -> Iterator[Difference]:
    if data is None or expected is None:
        if (data is None) is not (expected is None):
            yield Difference(name, _json(expected), "null" if data is None else f"{len(data)} bytes")
        return
    if name.endswith("_json"):
        try:
            yield from _compare(expected, json.loads(data), name, exact)
        except ValueError:
            yield Difference(name, _json(expected), f"{data!r}, which is not JSON")
        return
    text = base64.b64encode(data).decode() if name.endswith("_bytes") else data.decode("utf-8", "backslashreplace")
    if text != expected:
        yield Difference(name, _json(expected), _json(text))


def _compare(expected: Any, actual: Any, place: str, exact: bool) -> Iterator[Difference]:
    """A null stands for what is not there, too; `true` is not 1, and 7 not 7.0."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for name in actual if exact else ():
            if name not in expected and actual[name] is not None:
                yield Difference(f"{place}.{name}", "nothing", _json(actual[name]))
        for name, value in expected.items():
            actual_item = actual.get(name, _NOTHING)
            if actual_item is _NOTHING and value is not None:
                yield Difference(f"{place}.{name}", _json(value), "nothing of that name")
            elif actual_item is not _NOTHING:
                yield from _compare(value, actual_item, f"{place}.{name}", exact)
    elif isinstance(expected, list) and isinstance(actual, list):
        if not exact and expected and all(isinstance(item, dict) and "field" in item for item in [*expected, *actual]):
            # Fields of a schema: those that are given, wherever they stand.
            by_name = {field["field"]: field for field in actual}
            yield from _compare({field["field"]: field for field in expected}, by_name, place, exact)
        elif len(expected) != len(actual):
            yield Difference(place, _json(expected), _json(actual))
        else:
            for index, (expected_item, actual_item) in enumerate(zip(expected, actual)):
                yield from _compare(expected_item, actual_item, f"{place}[{index}]", exact)
    elif type(expected) is not type(actual) or expected != actual:
        yield Difference(place, _json(expected), _json(actual))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
