"""Regular expressions of configs: which ones are read at all. Their time is tried in `tests/attacks`."""

from __future__ import annotations

import pytest

from kconnect.connectors import patterns


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\d{4}-\d{2}\.json(\.gz)?", "2026-11.json.gz"),
        ("[]{9}]{3}", "{9}"),
        (r"\{99999999\}", "{99999999}"),
        ("a{,2}b{000001}", "aab"),
        ("a{x}", "a{x}"),
        ("((a{9}){9}){9}", "a" * 729),
        ("(a{300}){300}", "a" * 90_000),
        ("(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "0123ABCD-0123-0123-0123-0123456789ab"),
        (r"(?s-m:a.b)#\d (?P<x>[a:z]{2})", "a\nb#1 a:"),
        (r"\(?export(?:\(?a)?\(?#[(?#]", "(exporta##"),
    ],
)
def test_what_is_repeated_is_found(pattern: str, text: str) -> None:
    assert patterns.Pattern(pattern).fullmatch(text)


@pytest.mark.parametrize(
    "pattern",
    [
        "(((a{50}){50}){50}){50}",
        "(?:(?:[ab]{400}){1,400})",
        "((((((((a{9}){9}){9}){9}){9}){9}){9}){9}){9}",
        f"a{{{'9' * 5000}}}",
        "a{0000000000200000}",
        "(ab){50000}(cd){50000}",
    ],
)
def test_repetitions_within_each_other_take_no_memory(pattern: str) -> None:
    """Of 23 characters one takes two gigabytes, and a minute in which nobody can end it."""
    with pytest.raises(patterns.error, match="more than 100000 characters"):
        patterns.Pattern(pattern)


@pytest.mark.parametrize("between", ["(?#)", r"(?#\))", "(?i)", "(?i-s)", "(?i)(?-s)"])
def test_what_stands_between_a_group_and_its_count_hides_no_repetition(between: str) -> None:
    """`regex` passes over it, so that the count is that of the group all the same."""
    text = "a{50}"
    for _ in range(3):
        text = f"({text}){between}{{50}}"
    with pytest.raises(patterns.error, match="write it without these"):
        patterns.Pattern(text)


@pytest.mark.parametrize(
    "pattern",
    [
        "(?x)((((a{50}) {50}) {50}) {50})",
        "(?x)((((a{50})#\n{50})#\n{50})#\n{50})",
        "(?i)(?x)(((a{50}) {50}) {50}) {50}",
        "(?x) a",
        "(?ix:((((a{50}) {50}) {50}) {50}))",
        "((((a{50}[[:alpha:](]){50}[[:alpha:](]){50}[[:alpha:](]){50})",
    ],
)
def test_what_is_passed_over_hides_no_repetition(pattern: str) -> None:
    with pytest.raises(patterns.error, match="write it without these"):
        patterns.Pattern(pattern)
