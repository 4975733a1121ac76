"""YAML that commands write: what a terminal would obey is escaped, and reads back as it was."""

from __future__ import annotations

from kconnect.cli import terminal, yaml_file


def test_characters_that_a_terminal_does_not_get_are_escaped_and_read_back() -> None:
    for character in ("\u202e", "\u2028", "\x1b", "\x9b", "\u2066"):
        text = yaml_file.dump({"a": f"to {character}pot", "b": "ä"})
        assert character not in text and terminal.harmless(text) == text
        assert yaml_file.load(text) == {"a": f"to {character}pot", "b": "ä"}
