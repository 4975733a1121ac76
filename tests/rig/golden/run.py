"""
Checks golden files: every case of every file of a directory, none left out.

`scripts/golden` runs `main` and the tests go through `cases` and `check` (`tests/golden/test_golden.py`). A file whose name is
not that of a format is an error, and so is a directory without any; what a case has that its format has not makes it fail.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.rig.golden import converters, data, texts, transforms
from tests.rig.golden.errors import Case, Difference, Failed, Unreadable, shown

FORMATS: dict[str, Callable[[Case], None]] = {
    "transforms": transforms.transform,
    "chains": transforms.chain,
    "predicates": transforms.predicate,
    "converters": converters.converter,
    "converter_sequences": converters.sequence,
    "header_converters": converters.header_converter,
    "values": data.parse,
    "values_convert": data.convert,
    "projector": data.projection,
    "validate": data.validation,
    "java_regex": texts.java_regex,
    "simple_date_format": texts.simple_date_format,
    "version_ranges": texts.version_ranges,
}
"""The formats by the names of their files, without `.jsonl`."""


class UnknownFormat(Exception):
    """A file, or directory, that can't be checked at all."""


@dataclass(frozen=True)
class Failure:
    id: str
    expected: str
    got: str
    where: str = ""

    def __str__(self) -> str:
        place = f" at {self.where}" if self.where else ""
        return f"{self.id}{place}\n    expected  {self.expected}\n    got       {self.got}"


@dataclass
class Result:
    """What became of the cases of one format."""

    name: str
    passed: int = 0
    failures: list[Failure] = field(default_factory=list)

    def add(self, failure: Failure | None) -> None:
        if failure is None:
            self.passed += 1
        else:
            self.failures.append(failure)

    def __str__(self) -> str:
        return f"{self.name}: {self.passed} passed, {len(self.failures)} failed"


def files(directory: Path) -> list[Path]:
    """Its golden files. UnknownFormat if there is none, or one of another name."""
    found = sorted(directory.glob("*.jsonl"))
    if not found:
        raise UnknownFormat(f"{directory} has no golden files (*.jsonl)")
    for path in found:
        if path.stem not in FORMATS:
            raise UnknownFormat(f"{path} is of no known format; known are {', '.join(sorted(FORMATS))}")
    return found


def lines(path: Path) -> Iterator[tuple[str, str]]:
    """Each case as text, with the name that stands for it until its own is known."""
    text = path.read_text("utf-8")
    # Not splitlines: texts in a case may have U+2028 and other ends of lines that JSON leaves as they are.
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        yield f"line {number}", line


def cases(path: Path) -> Iterator[tuple[str, Case]]:
    """The cases with their ids; ValueError for one that can't be read."""
    for name, line in lines(path):
        case = json.loads(line)
        if not isinstance(case, dict) or not isinstance(case.get("id"), str):
            raise ValueError(f"{path}, {name}: not a case with an id")
        yield case["id"], case


def check(name: str, case: Case) -> Failure | None:
    """None if ours do what Connect did. `name` is that of the format."""
    try:
        FORMATS[name](case)
    except Difference as different:
        return Failure(case["id"], shown(different.expected), shown(different.got), different.where)
    except Unreadable as error:
        return Failure(case["id"], "a case of this format", str(error))
    except Failed as failed:
        return Failure(case["id"], "no error", f"{failed.cause!r} at {failed.phase}")
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a case, it is this case that failed
        last = traceback.extract_tb(error.__traceback__)[-1]
        return Failure(case["id"], "no error", f"{error!r} in {Path(last.filename).name}, line {last.lineno}")
    return None


def check_file(path: Path) -> Result:
    result = Result(path.stem)
    ids: set[str] = set()
    for name, line in lines(path):
        failure: Failure | None
        try:
            case: Any = json.loads(line)
            known = case["id"]
        except (ValueError, TypeError, KeyError) as error:
            failure = Failure(name, "a case, as JSON with an id", f"{error!r} for {shown(line, 100)}")
        else:
            failure = check(path.stem, case)
            if known in ids:
                failure = Failure(known, "an id of its own", "the id of a case before")
            ids.add(known)
        result.add(failure)
    return result


def report(results: list[Result], say: Callable[[str], None], differences: int = 3) -> bool:
    """Says what became of them, with the first differences of each; whether all passed."""
    for result in results:
        say(str(result))
        for failure in result.failures[:differences]:
            say(f"  {failure}")
        if len(result.failures) > differences:
            say(f"  and {len(result.failures) - differences} more")
    passed, failed = sum(result.passed for result in results), sum(len(result.failures) for result in results)
    say(f"all: {passed} passed, {failed} failed")
    return failed == 0
