"""
The patterns of SimpleDateFormat, split into parts: letters, each with the number of its repetitions, and literal texts.

`date_writing.py` and `date_reading.py` turn the parts into functions, which `dates.py` runs.
"""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    """A letter and how often it stands there, or, of letter "", a literal text."""

    letter: str
    times: int
    literal: str

    @property
    def is_number(self) -> bool:
        return self.times <= 2 if self.letter in ("M", "L") else self.letter in _NUMBERS


_NUMBERS = frozenset("yYdHmsSDFwWkKhu")
_LETTERS = frozenset("GyMdkHmsSEDFwWahKzZYuXL")


def parts_of(pattern: str) -> list[Part]:
    """ValueError, with the message of Java's IllegalArgumentException, for an illegal pattern."""
    parts: list[Part] = []
    letter, times = "", 0
    quoted: str | None = None

    def add_literal(text: str) -> None:
        if parts and parts[-1].letter == "":
            parts[-1] = Part("", 0, parts[-1].literal + text)
        else:
            parts.append(Part("", 0, text))

    def end_of_letters() -> None:
        nonlocal letter, times
        if letter:
            if letter == "X" and times > 3:
                raise ValueError(f"invalid ISO 8601 format: length={times}")
            parts.append(Part(letter, times, ""))
        letter, times = "", 0

    index = 0
    while index < len(pattern):
        char = pattern[index]
        index += 1
        if char == "'":
            end_of_letters()
            if pattern[index : index + 1] == "'":
                index += 1
                if quoted is None:
                    add_literal("'")
                else:
                    quoted += "'"
            elif quoted is None:
                quoted = ""
            else:
                add_literal(quoted)
                quoted = None
        elif quoted is not None:
            quoted += char
        elif not (char.isascii() and char.isalpha()):
            end_of_letters()
            add_literal(char)
        elif char not in _LETTERS:
            raise ValueError(f"Illegal pattern character '{char}'")
        elif char == letter:
            times += 1
        else:
            end_of_letters()
            letter, times = char, 1
    if quoted is not None:
        raise ValueError("Unterminated quote")
    end_of_letters()
    return parts


def to_utf16(text: str) -> str:
    """The text in Java's characters: one beyond U+FFFF is two of them."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    units = text.encode("utf-16-le", "surrogatepass")
    return "".join([chr(units[at] | units[at + 1] << 8) for at in range(0, len(units), 2)])


def from_utf16(units: str) -> str:
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
