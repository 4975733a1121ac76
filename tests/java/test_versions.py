"""The order of versions, beyond the golden cases (`tests/golden/version_ranges.jsonl`)."""

from __future__ import annotations

import pytest

from kconnect.java import versions


@pytest.mark.parametrize(
    ("older", "newer"),
    [("1.0-alpha", "1.0"), ("1.9", "1.10"), ("1.0-rc1", "1.0-snapshot"), ("1.0", "1.0-sp"), ("1.0-foo", "1.0-1")],
)
def test_order(older: str, newer: str) -> None:
    assert versions.compare(older, newer) < 0 < versions.compare(newer, older)


def test_equal_versions() -> None:
    for other in ("1.0", "1.0.0", "1-ga", "1.0.Final", "1.0-RELEASE"):
        assert versions.compare("1", other) == 0
