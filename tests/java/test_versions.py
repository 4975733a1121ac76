"""The order of versions, beyond the golden cases (`tests/golden/version_ranges.jsonl`)."""

from __future__ import annotations

import itertools

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


IN_ORDER = [
    "undefined",
    *("0", "0.9", "1.0a1", "1.0a1.dev2", "1.0a1.post1", "1.0b2", "1.0rc1", "1.0"),
    *("1!0.1", "1.0+1", "1.0+cu9", "1.0+cu118", "1.0.dev3", "1.0.dev12", "1.0.post1", "1.0.post1+x", "1.0.post1.dev1"),
    *("1.0.post2", "1.0.1rc1", "1.0.1", "1.0.1.dev1", "1.1", "2.0", "2024.1.15"),
]


def test_python_s_versions_as_docs_versions_md_says() -> None:
    assert versions.oldest_first(IN_ORDER[::-1]) == IN_ORDER
    for older, newer in itertools.pairwise(IN_ORDER[1:]):
        assert versions.compare(older, newer) < 0 < versions.compare(newer, older), (older, newer)


@pytest.mark.parametrize(
    ("spec", "chosen"),
    [
        *((None, "2.0rc1"), ("latest", "2.0rc1"), ("1.0", "1.0"), ("[1.0]", "1.0"), ("1.0.0", "1.0"), (" 1.0 ", "1.0")),
        *(("1.0rc1", "1.0rc1"), ("1.0-rc-1", "1.0rc1"), ("1.0+cu118", "1.0+cu118"), ("1.0.post1", "1.0.post1")),
        *(("[1.0,2.0)", "2.0rc1"), ("[1.0,2.0-alpha)", "1.1.dev3"), ("(,1.0]", "1.0"), ("(,1.0)", "1.0rc1")),
        *(("[1.0,1.1)", "1.0.post1"), ("(,1.0],[1.1]", "1.1"), ("undefined", "undefined"), ("(,0)", None)),
        *(("3", None), ("Latest", None), ("1.0.dev3", None)),
    ],
)
def test_what_is_chosen_of_python_s_versions(spec: str | None, chosen: str | None) -> None:
    available = ["undefined", "1.0", "1.0rc1", "1.0+cu118", "1.0.post1", "1.1", "1.1.dev3", "2.0rc1"]
    if chosen is not None:
        assert versions.choose("x", available, spec) == chosen
    else:
        with pytest.raises(versions.VersionNotFoundError, match=r"available versions: \[undefined, 1.0rc1, 1.0, 1.0\+cu118, "):
            versions.choose("x", available, spec)
