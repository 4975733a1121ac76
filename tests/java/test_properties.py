"""Java's .properties format."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconnect.errors import ConfigError
from kconnect.java import properties


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a=b", {"a": "b"}),
        ("a:b", {"a": "b"}),
        ("a b", {"a": "b"}),
        ("  a \t=  b  ", {"a": "b  "}),
        ("a==b", {"a": "=b"}),
        ("a = = b", {"a": "= b"}),
        ("a", {"a": ""}),
        ("=b", {"": "b"}),
        ("# no\n ! no\n\na=b#c", {"a": "b#c"}),
        ("a=b\\\n   c\\\r\n d", {"a": "bcd"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a=b\\\n# c", {"a": "b# c"}),
        ("# no \\\na=b", {"a": "b"}),
        ("a=b\\", {"a": "b"}),
        ("a\\=b\\:c\\ d=e", {"a=b:c d": "e"}),
        ("a=\\t\\n\\r\\f\\\\\\q", {"a": "\t\n\r\f\\q"}),
        ("a=\\u00e9\\u20AC", {"a": "é€"}),
        ("a=\\ud83d\\ude00", {"a": "😀"}),
        ("a=é😀", {"a": "é😀"}),
        ("a=1\ra=2\na=3", {"a": "3"}),
        ("a=x\u2028y\x85z", {"a": "x\u2028y\x85z"}),
        ("\ufeffa=b", {"a": "b"}),
        ("", {}),
        (
            'sasl.jaas.config=x required \\\n  username="u" \\\n  password="p";',
            {"sasl.jaas.config": 'x required username="u" password="p";'},
        ),
    ],
)
def test_loading(text: str, found: dict[str, str]) -> None:
    assert properties.load(text) == found


@pytest.mark.parametrize("escape", ["\\u12", "\\uzzzz", "\\u 123", "\\u+123", "\\u1_23"])
def test_a_broken_escape_names_its_line(escape: str) -> None:
    with pytest.raises(ConfigError, match=r"^Line 3 of the properties file has a malformed"):
        properties.load(f"# a comment\na=b\nc={escape}")


@given(st.dictionaries(st.text(), st.text()), st.integers())
def test_what_was_written_is_read(written: dict[str, str], seed: int) -> None:
    assert properties.load(_write(written, random.Random(seed))) == written


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = properties.load(text)
    except ConfigError as error:
        assert "\\u" in text
        assert str(error).startswith("Line ")
    else:
        assert all(isinstance(part, str) for pair in found.items() for part in pair)


def _write(entries: dict[str, str], choice: random.Random) -> str:
    lines = []
    for key, value in entries.items():
        lines += choice.choice([[], ["# comment"], ["   ", "! other"]])
        separator = choice.choice(["=", ":", " = ", "\t:", " = \\\n   "])
        lines.append(_escape(key, choice) + separator + _escape(value, choice))
    return choice.choice(["\n", "\r\n", "\r"]).join(lines)


def _escape(text: str, choice: random.Random) -> str:
    named = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
    out = []
    for character in text:
        units = character.encode("utf-16-be")
        as_units = "".join(f"\\u{units[i]:02x}{units[i + 1]:02X}" for i in range(0, len(units), 2))
        if character in named:
            out.append(choice.choice([named[character], as_units]))
        elif character in " =:#!\\":
            out.append(choice.choice(["\\" + character, as_units]))
        else:
            out.append(choice.choice([character, as_units]))
    if len(out) > 1:
        out.insert(choice.randrange(1, len(out)), choice.choice(["", "\\\n  "]))
    return "".join(out)
