"""
Java's regular expressions as `java.util.regex` (Java 17) understands them: the patterns of RegexRouter, TopicNameMatches,
`topics.regex` and `topic.creation.*`.

`compile` returns a `JavaPattern`. `regex_parser.py` translates the pattern. It refuses any construct that could mean something
else here, instead of replacing it with something similar.
"""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass
from typing import Any

import regex

from kconnect.errors import ConfigError, DataError
from kconnect.java import regex_parser
from kconnect.java.regex_reader import PatternSyntaxError, UnsupportedPatternError

LONGEST_S = 3.0
"""For one text: what most patterns take is millionths of that. The texts are those of records, and of whoever names topics."""
_SHOWN, _MOST_LATE, _TRIES = 80, 1000, 2

__all__ = [
    "IllegalReplacementError",
    "JavaPattern",
    "LateError",
    "Match",
    "NoGroupError",
    "PatternSyntaxError",
    "UnsupportedPatternError",
    "ValidRegex",
    "compile",
]


class IllegalReplacementError(ValueError):
    """The replacement can't be read, or names a group that isn't there."""

    shown_as = "java.lang.IllegalArgumentException"


class NoGroupError(IndexError):
    """The replacement has a number that no group has."""

    shown_as = "java.lang.IndexOutOfBoundsException"


class LateError(DataError, TimeoutError):
    """Looking for a pattern takes longer than it may: some patterns try as many ways as there are to split a text."""


@dataclass(frozen=True)
class Match:
    start: int
    end: int
    groups: tuple[str | None, ...]
    """The text of the groups from 1 on; None of those that took no part."""


class JavaPattern:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        try:
            parsed = regex_parser.parse(pattern)
            self._compiled = regex.compile(parsed.text, regex.V0 | (regex.ASCII if parsed.ascii_case else 0))
        except RecursionError:
            raise UnsupportedPatternError(pattern, "A nesting as deep as this", 0, "leave out some groups") from None
        self.names = parsed.names
        self.group_count = parsed.groups
        self.uncertain_groups = parsed.uncertain_groups
        """Groups whose text may not be what Java tells; a replacement may not use them."""
        self._late: set[str] = set()
        """Texts for which there was no time: all records of a topic have the same one."""

    def __repr__(self) -> str:
        return f"JavaPattern({self.pattern!r})"

    def matches(self, text: str, timeout: float = LONGEST_S) -> Match | None:
        """The match of the whole text (`Matcher.matches`). LateError if finding it takes more than `timeout` seconds."""
        return self._within(self._compiled.fullmatch, text, timeout)

    def find(self, text: str, timeout: float = LONGEST_S) -> Match | None:
        """The first match anywhere. LateError if finding it takes more than `timeout` seconds."""
        return self._within(self._compiled.search, text, timeout)

    def _within(self, look: Any, text: str, timeout: float) -> Match | None:
        for _ in range(_TRIES):
            if text in self._late:
                break
            # Once is not enough: a machine that has stood still says nothing of the pattern.
            with contextlib.suppress(TimeoutError):
                return _match(look(text, timeout=timeout))
        if len(self._late) >= _MOST_LATE:
            self._late.clear()
        self._late.add(text)
        raise LateError(
            f"It takes more than {timeout:g} s to look for the pattern {self.pattern} in the text {text[:_SHOWN]!r}: write it "
            "so that there are not many ways to split a text, as (a|aa)+ has"
        )

    def replace_first(self, text: str, replacement: str, most: int | None = None) -> str:
        """
        The text with its first match replaced; `$1` and `${name}` stand for groups, a backslash takes a character as it is.
        DataError if it would have more than `most` characters.

        Raises:
            IllegalReplacementError, NoGroupError: only if something matches, as in Java.
            UnsupportedPatternError: the replacement uses one of the `uncertain_groups`.
        """
        match = self.find(text)
        if match is None:
            return text
        whole = text[match.start : match.end]
        parts = []
        for part in self._template(replacement):
            if isinstance(part, str):
                parts.append(part)
            elif part > self.group_count:
                raise NoGroupError(f"No group {part}")
            else:
                parts.append((match.groups[part - 1] or "") if part else whole)
        length = len(text) - len(whole) + sum(map(len, parts))
        if most is not None and length > most:
            raise DataError(f"The replacement makes a text of {length} characters, of which {most} may be")
        return text[: match.start] + "".join(parts) + text[match.end :]

    def check_replacement(self, replacement: str) -> None:
        """
        Whether `replace_first` can do what Java does. Mistakes that Java finds only when it replaces are left until then.

        Raises:
            UnsupportedPatternError
        """
        with contextlib.suppress(IllegalReplacementError):
            self._template(replacement)

    def _template(self, replacement: str) -> list[str | int]:
        """Its texts and group numbers. What is before a mistake was already appended in Java, but nobody sees it."""
        parts: list[str | int] = []
        index = 0
        while index < len(replacement):
            char = replacement[index]
            index += 1
            if char == "\\":
                if index == len(replacement):
                    raise IllegalReplacementError("character to be escaped is missing")
                parts.append(replacement[index])
                index += 1
            elif char == "$":
                group, index = self._group(replacement, index)
                if group in self.uncertain_groups:
                    raise UnsupportedPatternError(
                        self.pattern,
                        f"Group {group}, which may still hold what a failed attempt found, in the replacement {replacement}",
                        0,
                        "capture the text outside of look-arounds, of atomic and possessive parts, and of repeated groups",
                    )
                parts.append(group)
                if group > self.group_count:
                    # Java stops here, whatever follows.
                    break
            else:
                parts.append(char)
        return parts

    def _group(self, replacement: str, index: int) -> tuple[int, int]:
        """The number of the group named after a `$`, and the index behind it."""
        if index == len(replacement):
            raise IllegalReplacementError("Illegal group reference: group index is missing")
        if replacement[index] == "{":
            return self._named_group(replacement, index + 1)
        if replacement[index] not in "0123456789":
            raise IllegalReplacementError("Illegal group reference")
        group = int(replacement[index])
        index += 1
        # As many digits as there is a group for.
        while index < len(replacement) and replacement[index] in "0123456789":
            longer = group * 10 + int(replacement[index])
            if longer > self.group_count:
                break
            group = longer
            index += 1
        return group, index

    def _named_group(self, replacement: str, index: int) -> tuple[int, int]:
        end = index
        while end < len(replacement) and replacement[end] < "\x80" and replacement[end].isalnum():
            end += 1
        name = replacement[index:end]
        if not name:
            raise IllegalReplacementError("named capturing group has 0 length name")
        if replacement[end : end + 1] != "}":
            raise IllegalReplacementError("named capturing group is missing trailing '}'")
        if name[0] in "0123456789":
            raise IllegalReplacementError(f"capturing group name {{{name}}} starts with digit character")
        if name not in self.names:
            raise IllegalReplacementError(f"No group with name {{{name}}}")
        return self.names[name], end + 1


def _match(match: regex.Match[str] | None) -> Match | None:
    return None if match is None else Match(match.start(), match.end(), match.groups())


@functools.lru_cache(maxsize=512)
def compile(pattern: str) -> JavaPattern:
    """
    Raises:
        PatternSyntaxError: not a pattern in Java either.
        UnsupportedPatternError: one that can't be carried over.
    """
    return JavaPattern(pattern)


@dataclass(frozen=True)
class ValidRegex:
    """Validator of a setting that is a pattern. Null is none, with the JVM's own words for it."""

    def __call__(self, name: str, value: Any) -> None:
        if value is None:
            nothing = 'Cannot invoke "String.isEmpty()" because "this.pattern" is null'
            raise ConfigError(name, None, f"Invalid regex: {nothing}")
        try:
            compile(value)
        except (PatternSyntaxError, UnsupportedPatternError) as error:
            raise ConfigError(name, value, f"Invalid regex: {error}") from None

    def __str__(self) -> str:
        return "valid regex"
