"""Patterns against what Java 17 made of them, and what must hold for any."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconnect.java import regex
from tests.golden import envelopes

CASES = envelopes.load("java_regex.jsonl")


@pytest.mark.parametrize("case", envelopes.as_params([case for case in CASES if case["kind"] == "regex"]))
def test_matches_and_replaces(case: dict[str, Any]) -> None:
    error = case["error"]
    if error is not None and error["phase"] == "compile":
        with pytest.raises(regex.PatternSyntaxError) as syntax:
            regex.compile(case["pattern"])
        assert (syntax.value.java_class, str(syntax.value)) == (error["class"], error["message"])
        return
    pattern = regex.compile(case["pattern"])
    found = pattern.matches(case["input"])
    assert (found is not None) == case["full_match"]
    assert found is None or list(found.groups) == case["groups"]
    if error is not None:
        kind = {each.java_class: each for each in (regex.IllegalReplacementError, regex.NoGroupError)}[error["class"]]
        with pytest.raises(kind) as raised:
            pattern.replace_first(case["input"], case["replacement"])
        assert str(raised.value) == error["message"]
    elif found is None:
        assert case["result"] == case["input"]
    else:
        assert pattern.replace_first(case["input"], case["replacement"]) == case["result"]


@pytest.mark.parametrize("case", envelopes.as_params([case for case in CASES if case["kind"] == "topic_creation"]))
def test_joined_patterns_of_topic_creation(case: dict[str, Any]) -> None:
    if case["error"] is not None:
        with pytest.raises(regex.PatternSyntaxError) as raised:
            regex.compile("|".join(case["include"]))
        assert str(raised.value) == case["error"]["message"]
        return
    include, exclude = (regex.compile("|".join(case[key])) for key in ("include", "exclude"))
    found = include.matches(case["input"]) is not None and exclude.matches(case["input"]) is None
    assert found == case["full_match"]


@given(st.text())
def test_quoted_text_matches_itself(text: str) -> None:
    quoted = "\\Q" + text.replace("\\E", "\\E\\\\E\\Q") + "\\E"
    assert regex.compile(quoted).matches(text) is not None
