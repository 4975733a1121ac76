"""The golden harness: what it takes for a difference, and that nothing is passed over."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kconnect.java import regex
from tests.golden import envelopes
from tests.rig.golden import fresh_cases, run, texts
from tests.rig.golden.envelopes import check, value_of
from tests.rig.golden.errors import Difference, Unreadable

ROOT = Path(__file__).parents[2]
LONG = {"type": "int64", "optional": False}


def one(file: str, **changes: Any) -> dict[str, Any]:
    """A case that passes, changed."""
    return {**envelopes.load(f"{file}.jsonl")[0], **changes}


@pytest.mark.parametrize("name", run.FORMATS)
def test_what_a_format_does_not_know_fails(name: str) -> None:
    assert run.check(name, one(name)) is None
    failure = run.check(name, one(name, more=1))
    assert failure is not None
    assert "more" in failure.got
    assert run.check(name, {"id": "empty"}) is not None


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("transforms", {"class": "org.apache.kafka.connect.transforms.Nothing"}),
        ("transforms", {"kind": "other"}),
        ("transforms", {"out": None}),
        ("predicates", {"result": None}),
        ("converters", {"direction": "sideways"}),
        ("header_converters", {"converter": "Nothing"}),
        ("values_convert", {"function": "parseString"}),
        ("values_convert", {"function": "convertToNothing"}),
        ("java_regex", {"kind": "other"}),
        ("simple_date_format", {"kind": "other"}),
        ("version_ranges", {"chosen": "9"}),
        ("validate", {"valid": False}),
        ("projector", {"error": {"phase": "project", "class": "java.lang.OutOfMemoryError", "message": "x"}}),
    ],
)
def test_what_is_not_so_fails(name: str, changes: dict[str, Any]) -> None:
    assert run.check(name, one(name, **changes)) is not None


def test_an_error_of_another_phase_class_or_text_fails() -> None:
    case = next(case for case in envelopes.load("transforms.jsonl") if (case["error"] or {}).get("phase") == "apply")
    error = case["error"]
    for changed in ({"phase": "configure"}, {"class": "java.text.ParseException"}, {"message": "other"}):
        assert run.check("transforms", {**case, "error": {**error, **changed}}) is not None
    assert run.check("transforms", {**case, "error": None}) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"schema": None, "payload": 1}, {"schema": None, "payload": 1.0}),
        ({"schema": None, "payload": 1}, {"schema": None, "payload": True}),
        ({"schema": None, "payload": 1}, {"schema": None, "payload": 1, "types": "int32"}),
        ({"schema": None, "payload": "1.0", "types": "decimal"}, {"schema": None, "payload": "1.00", "types": "decimal"}),
        ({"schema": None, "payload": "AA==", "types": "bytes"}, {"schema": None, "payload": "AA=="}),
        ({"schema": None, "payload": "-0.0", "types": "float64"}, {"schema": None, "payload": 0.0}),
        ({"schema": None, "payload": {}}, {"schema": None, "payload": []}),
        ({"schema": LONG, "payload": 1}, {"schema": None, "payload": 1}),
        ({"schema": LONG, "payload": 1}, {"schema": {**LONG, "doc": ""}, "payload": 1}),
        ({"schema": LONG, "payload": 1}, {"schema": {**LONG, "default": 1}, "payload": 1}),
        ({"schema": {**LONG, "default": 1}, "payload": None}, {"schema": {**LONG, "default": 1}, "payload": 1}),
        ({"schema": LONG, "payload": 1}, {"schema": LONG, "payload": 1, "types": "int32"}),
    ],
)
def test_values_that_differ(one: dict[str, Any], other: dict[str, Any]) -> None:
    for here, there in ((one, other), (other, one)):
        check(value_of(here), here)
        with pytest.raises(Difference):
            check(value_of(here), there)


def test_floats_are_equal_as_32_bits_and_nan_to_itself() -> None:
    narrow = {"type": "float", "optional": False}
    check(value_of({"schema": narrow, "payload": 0.1}), {"schema": narrow, "payload": 0.10000000149})
    check(value_of({"schema": narrow, "payload": "NaN"}), {"schema": narrow, "payload": "NaN"})


def test_a_payload_has_no_fields_but_those_of_its_schema() -> None:
    empty = {"type": "struct", "fields": [], "optional": False}
    with pytest.raises(Unreadable):
        check(value_of({"schema": empty, "payload": {}}), {"schema": empty, "payload": {"a": 1}})


def test_the_order_of_fields_counts_and_that_of_a_map_does_not() -> None:
    def of(*names: str) -> dict[str, Any]:
        fields = [{**LONG, "field": name} for name in names]
        return {"schema": {"type": "struct", "fields": fields, "optional": False}, "payload": dict.fromkeys(names, 1)}

    with pytest.raises(Difference):
        check(value_of(of("a", "b")), of("b", "a"))
    check(value_of({"schema": None, "payload": {"a": 1, "b": 2}}), {"schema": None, "payload": {"b": 2, "a": 1}})


def test_each_line_counts(tmp_path: Path) -> None:
    good = json.dumps(one("values", text="a\u2028b", schema_type="STRING", schema_name=None, value_json="a\u2028b",
                          to_string="a\u2028b", schema={"type": "string", "optional": False}), ensure_ascii=False)  # fmt: skip
    path = tmp_path / "values.jsonl"
    path.write_text(f'{good}\n{good}\n{{\n[]\n\n{{"id": 1}}\n', "utf-8")
    result = run.check_file(path)
    assert (result.passed, len(result.failures)) == (1, 5)


def scripts_golden(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.rig.golden", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


@pytest.mark.process
def test_the_command(tmp_path: Path) -> None:
    lines = (ROOT / "tests/golden/predicates.jsonl").read_text("utf-8")
    (tmp_path / "predicates.jsonl").write_text(lines, "utf-8")
    done = scripts_golden(str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "predicates: 31 passed, 0 failed\nall: 31 passed, 0 failed\n")
    first = json.loads(lines.splitlines()[0])
    wrong = {**first, "id": "wrong", "result": not first["result"]}
    (tmp_path / "predicates.jsonl").write_text(lines + json.dumps(wrong) + "\n", "utf-8")
    done = scripts_golden(str(tmp_path))
    assert done.returncode == 1
    assert "predicates: 31 passed, 1 failed\n  wrong\n    expected  " in done.stdout
    (tmp_path / "other.jsonl").write_text(lines, "utf-8")
    done = scripts_golden(str(tmp_path))
    assert done.returncode == 2
    assert "other.jsonl is of no known format" in done.stderr


def test_a_seed_gives_the_same_fresh_cases_again() -> None:
    cases = [fresh_cases.case(1, number) for number in range(100)]
    assert cases == [fresh_cases.case(1, number) for number in range(100)]
    assert {name for name, _ in cases} == run.FORMATS.keys() - {"version_ranges"}


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        ("(?c)a", ""),
        ("[\\da&&]", ""),
        (r"a\b{g}", ""),
        (r"\X", ""),
        (r"\N{DIGIT ONE}", ""),
        ("(?<=ab*)c", ""),
        ("(?<=a++)b", ""),
        (r"(a\1)", ""),
        (r"(?:(?=(a))b|a)\1", ""),
        ("(?:(?!(x))y|x)", "$1"),
        (r"(a)(?i)\1(?iu)\1", ""),
        ("(?:^|a){2}", ""),
        ("a{2147483647}", ""),
        ("(" * 5000 + ")" * 5000, ""),
    ],
)
def test_what_is_refused_of_java_s_patterns_is_listed(pattern: str, replacement: str) -> None:
    with pytest.raises(regex.UnsupportedPatternError):
        regex.compile(pattern).check_replacement(replacement)
    case = {"id": "x", "kind": "regex", "pattern": pattern, "replacement": replacement, "input": "a", "error": None}
    texts.java_regex({**case, "full_match": True, "groups": [], "result": "nobody's"})


def test_a_refusal_that_is_not_listed_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "refused", lambda: ("Something else",))
    case = {"id": "x", "kind": "regex", "pattern": "(?c)a", "input": "a", "full_match": True, "groups": [], "error": None}
    with pytest.raises(Exception, match="not supported"):
        texts.java_regex(case)
