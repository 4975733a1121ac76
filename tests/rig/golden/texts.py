"""Golden cases of what reads texts as Java does: regular expressions, date patterns, version ranges."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

from kconnect.java import dates, regex, versions
from tests.rig.golden.errors import Case, Unreadable, expect, only, phase, same


def java_regex(case: Case) -> None:
    if case.get("kind") == "topic_creation":
        _topic_creation(case)
        return
    only(case, "id", "kind", "pattern", "input", "full_match", "error", groups=..., replacement=..., result=...)
    if case["kind"] != "regex":
        raise Unreadable(f"no such kind: {case['kind']}")
    if _is_refused_as_listed(case["pattern"], case.get("replacement")):
        return
    matched: list[Any] = []

    def run() -> Any:
        with phase("compile"):
            pattern = regex.compile(case["pattern"])
        with phase("match"):
            found = pattern.matches(case["input"])
        matched.append(found)
        if found is None or case.get("replacement") is None:
            return case["input"]
        with phase("apply"):
            return pattern.replace_first(case["input"], case["replacement"])

    found = expect(case["error"], run)
    for match in matched:
        same(match is not None, case["full_match"], "full_match")
        if match is not None and case.get("groups") is not None:
            same(list(match.groups), case["groups"], "groups")
    if case["error"] is None and case.get("replacement") is not None:
        same(found, case["result"], "result")


def _is_refused_as_listed(pattern: str, replacement: str | None) -> bool:
    """Whether the pattern is one of those that docs/compatibility.md says are refused. One that it does not list must work."""
    try:
        regex.compile(pattern).check_replacement(replacement or "")
    except regex.UnsupportedPatternError as error:
        construct = re.sub(r"[0-9]+", "N", error.construct)
        return any(construct.startswith(listed) for listed in refused())
    except (ValueError, IndexError):
        pass
    return False


@functools.cache
def refused() -> tuple[str, ...]:
    """What docs/compatibility.md lists as refused, in the words of the errors; there is no such file but in the project."""
    text = (Path(__file__).parents[3] / "docs" / "compatibility.md").read_text("utf-8")
    section = text.split("## Java's patterns")[1].split("\n## ")[0]
    return tuple(re.findall(r"^- \*(.+?)\*(?=[:,]? |$)", section, re.MULTILINE))


def _topic_creation(case: Case) -> None:
    only(case, "id", "kind", "include", "exclude", "input", "full_match", "error")

    def run() -> Any:
        with phase("compile"):
            include, exclude = (regex.compile("|".join(case[key])) for key in ("include", "exclude"))
        with phase("match"):
            return include.matches(case["input"]) is not None and exclude.matches(case["input"]) is None

    found = expect(case["error"], run)
    if case["error"] is None:
        same(found, case["full_match"], "full_match")


def simple_date_format(case: Case) -> None:
    only(case, "id", "kind", "pattern", "millis", "text", "error", parsed_chars=...)
    if case["kind"] not in ("format", "parse"):
        raise Unreadable(f"no such kind: {case['kind']}")

    def run() -> Any:
        with phase("compile"):
            made = dates.SimpleDateFormat(case["pattern"])
        if case["kind"] == "format":
            with phase("format"):
                return made.format(case["millis"])
        with phase("parse"):
            # `parse` has the error, `parse_prefix` says how much was read; of an instance each, for a zone in the text stays.
            millis = made.parse(case["text"])
            return millis, dates.SimpleDateFormat(case["pattern"]).parse_prefix(case["text"])

    found = expect(case["error"], run)
    if case["error"] is not None:
        return
    if case["kind"] == "format":
        same(found, case["text"], "text")
    else:
        millis, prefix = found
        same(millis, case["millis"], "millis")
        same(prefix, (case["millis"], case["parsed_chars"]), "millis and parsed_chars")


def version_ranges(case: Case) -> None:
    only(case, "id", "available", "spec", "chosen", "sorted", "error", range=..., validation_error=...)
    available, spec = case["available"], case["spec"]
    same(versions.oldest_first(available), case["sorted"], "sorted")

    def understood() -> Any:
        with phase("parse"):
            return versions.requirement(spec)

    def run() -> Any:
        wanted = understood()
        same(None if wanted is None else str(wanted), case["range"], "range")
        with phase("load"):
            return versions.choose("example.ExampleConnector", available, spec)

    if case.get("validation_error") is not None:
        only(case["validation_error"], "class", "message")
        expect(case["validation_error"], understood)
    else:
        understood()
    found = expect(case["error"], run)
    if case["error"] is None:
        same(found, case["chosen"], "chosen")
