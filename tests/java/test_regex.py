"""Patterns against what Java 17 made of them, and what must hold for any."""

from __future__ import annotations

import re
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
    if r"\b{g}" in case["pattern"]:
        with pytest.raises(regex.UnsupportedPatternError):
            regex.compile(case["pattern"])
        return
    if error is not None and error["phase"] == "compile":
        with pytest.raises(regex.PatternSyntaxError) as syntax:
            regex.compile(case["pattern"])
        assert (syntax.value.shown_as, str(syntax.value)) == (error["class"], error["message"])
        return
    pattern = regex.compile(case["pattern"])
    found = pattern.matches(case["input"])
    assert (found is not None) == case["full_match"]
    assert found is None or list(found.groups) == case["groups"]
    if error is not None:
        kind = {each.shown_as: each for each in (regex.IllegalReplacementError, regex.NoGroupError)}[error["class"]]
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


# --- What Java 17 answered beyond the golden cases.


@pytest.mark.parametrize(
    ("pattern", "text", "full", "found"),
    [
        # Line ends: `.`, and the anchors with them; a line never starts at the very end.
        ("a.b", "a\u2028b", False, None),
        ("(?d)a.b", "a\u2028b", True, "a\u2028b"),
        ("a$", "a\r\n", False, "a"),
        ("a\r$", "a\r\n", False, None),
        ("a\\Z", "a\u0085", False, "a"),
        ("(?m)^", "", False, None),
        ("(?m)^b", "a\rb", False, "b"),
        ("(?m)^\n", "a\r\n", False, None),
        ("(?d)a$", "a\r", False, None),
        # \R is one step for a quantifier, and not otherwise.
        ("\\R\\n", "\r\n", True, "\r\n"),
        ("\\R{2}", "\r\n", False, None),
        ("\\R+\\n", "\r\n", False, None),
        # \w is ASCII's, \b is not, and a mark belongs to its letter.
        ("\\w", "é", False, None),
        ("\\bé\\b", "é", True, "é"),
        ("e\\b", "e\u0301", False, None),
        ("(?U)\\w+", "é\u0301", True, "é\u0301"),
        # Case is ASCII's, unless (?u); `\p` takes all cases.
        ("(?i)ж", "Ж", False, None),
        ("(?iu)ж", "Ж", True, "Ж"),
        ("(?iu)ß", "ẞ", False, None),
        ("(?iu)aß", "aẞ", True, "aẞ"),
        ("(?i)\\p{Lu}", "a", True, "a"),
        ("(?i)(k)\\1", "k\u212a", False, None),
        ("(?iu)(k)\\1", "k\u212a", True, "k\u212a"),
        ("(?i)(é)\\1", "éÉ", False, None),
        ("(?i)\\b(é)\\1\\b", "éé", True, "éé"),
        ("a|b(?i)c|d", "D", True, "D"),
        ("(?:a|(?i)b)c", "BC", False, None),
        # Classes: the negation is for the whole, `&` alone is itself, nothing behind `&&` is the last set again.
        ("[^a-c&&[b-d]]", "c", False, None),
        ("[a&b]", "&", True, "&"),
        ("[a&&&b]", "&", True, "&"),
        ("[ab\\d&&]", "a", False, None),
        ("[a&&^]", "^", False, None),
        ("[[a]^b]", "^", True, "^"),
        ("[]a]", "]", True, "]"),
        ("[\\Qa-z\\E]", "b", False, None),
        ("[a-c[x-z]&&[b-y]]", "y", True, "y"),
        ("[^a]|[^b]", "a", True, "a"),
        ("(?:[^.]|b)x", "bx", True, "bx"),
        # Quotes come before anything else.
        ("(?x)\\Qa b\\E", "a b", True, "a b"),
        ("(a)\\1\\Q1\\E", "aa1", True, "aa1"),
        # Comments mode reaches into classes and escapes.
        ("(?x)[a b]", " ", False, None),
        ("(?x)a{2 , 3} # b", "aa", True, "aa"),
        ("(?x) ( ?: a ) ", "a", True, "a"),
        # Braces that nothing precedes repeat nothing.
        ("{2}a", "a", True, "a"),
        ("a{1}{2}", "a", True, "a"),
        ("}", "}", True, "}"),
        # Numbers of groups: as long as there is such a group by then; one that never comes never matches.
        ("(a)\\10", "aa0", True, "aa0"),
        ("(a)\\2", "a", False, None),
        ("(?:(a)|b)\\1", "b", False, None),
        # A look-behind without a bound, where Java happens to allow it.
        ("(?<=a{2,})b", "aab", False, "b"),
        # An end of iterations: one that takes nothing.
        ("(a*)*", "aa", True, "aa"),
        ("(a|b*)*c", "aac", True, "aac"),
        # Code points, not halves of them.
        ("\\ud83d", "\U0001f600", False, None),
        ("\\ud83d\\ude00", "\U0001f600", True, "\U0001f600"),
        ("[^a]", "\U0001f600", True, "\U0001f600"),
        ("\\p{IsAlpha}", "é", True, "é"),
        ("\\p{Alpha}", "é", False, None),
        ("\\p{blk=Latin-1 Supplement}", "é", True, "é"),
        ("\\p{IsOld_Italic}", "\U00010300", True, "\U00010300"),
        ("\\p{IsOldItalic}", "\U00010300", True, "\U00010300"),
    ],
)
def test_as_in_java(pattern: str, text: str, full: bool, found: str | None) -> None:
    compiled = regex.compile(pattern)
    assert (compiled.matches(text) is not None) == full
    match = compiled.find(text)
    assert (match and text[match.start : match.end]) == found


@pytest.mark.parametrize(
    ("pattern", "description", "index"),
    [
        ("(", "Unclosed group", 1),
        ("(?", "Unknown inline modifier", 2),
        ("(?#a)", "Unknown inline modifier", 2),
        ("(?P<a>x)", "Unknown inline modifier", 2),
        ("(?<n_>a)", "named capturing group is missing trailing '>'", 4),
        ("\\k<a>(?<a>x)", "named capturing group <a> does not exist", 4),
        ("a{2,1}", "Illegal repetition range", 5),
        ("a{1", "Unclosed counted closure", 3),
        ("a{99999999999}", "Illegal repetition range", 11),
        ("a+*", "Dangling meta character '*'", 2),
        ("(?i)*", "Dangling meta character '*'", 4),
        ("[", "Unclosed character class", 0),
        ("[&&]", "Bad class syntax", 2),
        ("[a-\\d]", "Illegal character range", 4),
        ("[\\b]", "Illegal/unsupported escape sequence", 2),
        ("\\y", "Illegal/unsupported escape sequence", 1),
        ("\\E", "Illegal/unsupported escape sequence", 1),
        ("\\x{110000}", "Hexadecimal codepoint is too big", 8),
        ("\\08", "Illegal octal escape sequence", 2),
        ("\\c", "Illegal control escape sequence", 1),
        ("\\p{", "Unclosed character family", 3),
        ("\\p{}", "Empty character family", 3),
        ("\\p{lower}", "Unknown character property name {lower}", 8),
        ("\\p{sc=Foo}", "Unknown Unicode property {name=<sc>, value=<Foo>}", 9),
        ("(?<=(?:ab)*)c", "Look-behind group does not have an obvious maximum length", 10),
        ("a)b", "Unmatched closing ')'", 0),
    ],
)
def test_no_pattern_in_java_either(pattern: str, description: str, index: int) -> None:
    with pytest.raises(regex.PatternSyntaxError) as raised:
        regex.compile(pattern)
    assert (raised.value.description, raised.value.index) == (description, index)


@pytest.mark.parametrize(
    "pattern",
    [
        "(?c)a",
        "[\\da&&]",
        "a\\b{g}",
        "\\X",
        "\\N{LATIN SMALL LETTER A}",
        "(?<=a++)b",
        "(?<=xa*)b",
        "(?<=a*a*)b",
        "(?<=xa*?)b",
        "(a\\1?)",
        "(?:(?=(a))b|a)\\1",
        "(?i)(a)(?u)(b)\\1(?-u)\\2",
        "(?:^|a){2}",
        "a{2147483647}",
        "(?:a{1000}){1000}",
        "(" * 2000 + ")" * 2000,
    ],
)
def test_refused(pattern: str) -> None:
    with pytest.raises(regex.UnsupportedPatternError, match=r"near index \d+ of the pattern .* is not supported; "):
        regex.compile(pattern)


def test_a_group_that_a_failed_attempt_may_have_set_is_no_replacement() -> None:
    """In Java group 1 is "x" here: the look-ahead has set it, and was right to fail the first branch."""
    pattern = regex.compile("(?:(?!(x))y|x)")
    assert pattern.matches("x") is not None
    pattern.check_replacement("$0")
    for action in (pattern.check_replacement, lambda to: pattern.replace_first("x", to)):
        with pytest.raises(regex.UnsupportedPatternError):
            action("$1")


def test_groups_of_a_look_around_that_is_always_passed_are_certain() -> None:
    assert regex.compile("(?=(a))a(?!(internal))").uncertain_groups == {2}


# --- What holds for any pattern.

ALPHABET = "abc"
ITEMS = st.one_of(
    st.sampled_from([*"abcdxyz059_-", "b-y", "0-9", "a-c", "\\d", "\\w", "\\D", "\\.", "\\]"]),
)


def meant(item: str) -> set[str]:
    every = set(map(chr, range(128)))
    digits = set("0123456789")
    word = {char for char in every if char.isalnum() or char == "_"}
    known = {"\\d": digits, "\\w": word, "\\D": every - digits, "\\.": {"."}, "\\]": {"]"}}
    if item in known:
        return known[item]
    return {chr(code) for code in range(ord(item[0]), ord(item[-1]) + 1)}


@given(st.lists(ITEMS, min_size=1, max_size=4), st.lists(ITEMS, min_size=1, max_size=4), st.booleans())
def test_a_class_is_the_set_of_its_items(left: list[str], right: list[str], negated: bool) -> None:
    # A dash between items could make a range of them.
    left, right = ([item.replace("-", "\\-") if item == "-" else item for item in items] for items in (left, right))
    sets = [set[str]().union(*(meant(item[-1] if item == "\\-" else item) for item in items)) for items in (left, right)]
    pattern = regex.compile(f"[{'^' if negated else ''}{''.join(left)}&&[{''.join(right)}]]")
    for code in range(128):
        assert (pattern.matches(chr(code)) is not None) == ((chr(code) in sets[0] & sets[1]) != negated)


def alternatives(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        inner.map(lambda part: f"({part})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "??", "+?", "{1,2}"])).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    )


@given(
    st.recursive(st.sampled_from([*ALPHABET, ".", "[ab]", "[^a]"]), alternatives, max_leaves=8),
    st.text(ALPHABET, max_size=6),
)
def test_what_all_engines_share(pattern: str, text: str) -> None:
    expected, found = re.fullmatch(pattern, text), regex.compile(pattern).matches(text)
    assert (found is None) == (expected is None)
    first, at = re.search(pattern, text), regex.compile(pattern).find(text)
    assert (at and (at.start, at.end)) == (first and first.span())


SOUP = [*"ab()[]{}|*+?^$.\\-&,12<>=! #\n", "(?", "(?<n>", "(?i)", "(?x)", "\\p{", "L}", "\\Q", "\\E", "&&", "\\1", "\\x", "é"]


@given(st.lists(st.sampled_from(SOUP), max_size=10).map("".join), st.text("ab1 é\n", max_size=4))
def test_any_text_is_a_pattern_or_told_why_not(pattern: str, text: str) -> None:
    try:
        compiled = regex.compile(pattern)
    except (regex.PatternSyntaxError, regex.UnsupportedPatternError) as error:
        assert pattern in str(error)
        return
    full = compiled.matches(text)
    assert full is None or len(full.groups) == compiled.group_count


@given(st.text(), st.text())
def test_an_escaped_replacement_is_taken_as_it_is(replacement: str, rest: str) -> None:
    escaped = replacement.replace("\\", "\\\\").replace("$", "\\$")
    assert regex.compile("\\A").replace_first(rest, escaped) == replacement + rest


@pytest.mark.parametrize(
    "pattern",
    [r"\p{L}" * 3000, "|".join(rf"\bword{number}\b" for number in range(700)), "." * 8000, r"(?:\p{L}a?){2,9}" * 30],
    ids=["classes", "words", "dots", "groups"],
)
def test_what_would_take_long_to_compile_is_refused(pattern: str) -> None:
    """At once, for it would be compiled again at each start."""
    with pytest.raises(regex.UnsupportedPatternError, match="A pattern that becomes more than 200000 characters here"):
        regex.compile(pattern)


def test_what_is_long_but_not_too_long_is_taken() -> None:
    words = [f"word{number}" for number in range(700)]
    assert regex.compile("|".join(words)).matches("word699")
    assert regex.compile(r"\p{L}" * 15).matches("é" * 15)
