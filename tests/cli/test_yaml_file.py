"""YAML that commands write: what a terminal would obey is escaped, and reads back as it was."""

from __future__ import annotations

import pytest

from kconnect.cli import terminal, yaml_file


def test_characters_that_a_terminal_does_not_get_are_escaped_and_read_back() -> None:
    for character in ("\u202e", "\u2028", "\x1b", "\x9b", "\u2066"):
        text = yaml_file.dump({"a": f"to {character}pot", "b": "ä"})
        assert character not in text and terminal.harmless(text) == text
        assert yaml_file.load(text) == {"a": f"to {character}pot", "b": "ä"}


LAUGHS = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
MERGES = "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n}\n  !!merge <<: [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))


@pytest.mark.parametrize("text", [LAUGHS, MERGES], ids=["lists", "merges"])
def test_aliases_that_multiply_are_refused(text: str) -> None:
    """A file of somebody else's would take all memory of whoever applies it."""
    for read in (yaml_file.load, yaml_file.documents):
        with pytest.raises(ValueError, match=r"its aliases .* stand for more than 1000000 values"):
            read(text)


def test_aliases_that_people_write_are_taken() -> None:
    text = "common: &common {a: 1, b: 2}\nlist: [*common, *common]\n"
    assert yaml_file.load(text) == {"common": {"a": 1, "b": 2}, "list": [{"a": 1, "b": 2}] * 2}
    assert yaml_file.load("") is None
    many = "&x [" + "1, " * 50_000 + "1]\n"
    assert len(yaml_file.load(many)) == 50_001


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000 + "]" * 100_000,
        "{a: " * 20_000 + "}" * 20_000,
        "- " * 20_000 + "x",
        "".join(f"{' ' * at}a:\n" for at in range(2000)),
    ],
)
def test_what_is_too_deep_is_refused_and_ends_nothing(text: str) -> None:
    for read in (yaml_file.load, yaml_file.documents):
        with pytest.raises(ValueError, match=r"more than 500 deep in each other in line \d+"):
            read(text)
    assert yaml_file.load("[" * 400 + "]" * 400) is not None
