"""Versions and ranges against what Connect 4.3.1 and Maven's own classes made of them."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.java import versions
from tests.golden import envelopes

CASES = envelopes.load("version_ranges.jsonl")


@pytest.mark.parametrize("case", envelopes.as_params(CASES))
def test_version_ranges(case: dict[str, Any]) -> None:
    available, spec, error = case["available"], case["spec"], case["error"]
    assert versions.oldest_first(available) == case["sorted"]
    if error is not None and error["phase"] == "parse":
        with pytest.raises(versions.VersionRangeError) as raised:
            versions.requirement(spec)
        assert str(raised.value) == error["message"] == case["validation_error"]["message"]
        return
    wanted = versions.requirement(spec)
    assert (None if wanted is None else str(wanted)) == case["range"]
    if error is None:
        assert versions.choose("example.ExampleConnector", available, spec) == case["chosen"]
    else:
        with pytest.raises(versions.VersionNotFoundError) as not_found:
            versions.choose("example.ExampleConnector", available, spec)
        assert str(not_found.value) == error["message"]


@pytest.mark.parametrize(
    ("older", "newer"),
    [("1.0-alpha", "1.0"), ("1.9", "1.10"), ("1.0-rc1", "1.0-snapshot"), ("1.0", "1.0-sp"), ("1.0-foo", "1.0-1")],
)
def test_order(older: str, newer: str) -> None:
    assert versions.compare(older, newer) < 0 < versions.compare(newer, older)


def test_equal_versions() -> None:
    for other in ("1.0", "1.0.0", "1-ga", "1.0.Final", "1.0-RELEASE"):
        assert versions.compare("1", other) == 0
