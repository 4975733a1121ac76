"""
Sets of characters as Java's patterns name them: ranges, case, and the properties of `\\p{...}`.

`regex_parser.py` computes one `CharSet` for every class of a pattern and writes it as plain ranges. So nothing depends on how
another engine understands a property, an intersection or a case. The Unicode tables are those of the `regex` package, which are
newer than Java 17's. A JVM's tables also differ from version to version.
"""

from __future__ import annotations

import array
import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

import regex

LAST = 0x10FFFF
ASCII_LETTERS = frozenset(range(0x41, 0x5B)) | frozenset(range(0x61, 0x7B))


@dataclass(frozen=True)
class CharSet:
    """Code points: `ranges` ascend, don't touch, and include both ends."""

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, *items: int | tuple[int, int]) -> CharSet:
        merged: list[tuple[int, int]] = []
        for low, high in sorted((item, item) if isinstance(item, int) else item for item in items):
            if merged and low <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
            else:
                merged.append((low, high))
        return cls(tuple(merged))

    @classmethod
    def chars(cls, text: str) -> CharSet:
        return cls.of(*map(ord, text))

    def __or__(self, other: CharSet) -> CharSet:
        return CharSet.of(*self.ranges, *other.ranges)

    def __invert__(self) -> CharSet:
        gaps = []
        start = 0
        for low, high in self.ranges:
            if low > start:
                gaps.append((start, low - 1))
            start = high + 1
        if start <= LAST:
            gaps.append((start, LAST))
        return CharSet(tuple(gaps))

    def __and__(self, other: CharSet) -> CharSet:
        return ~(~self | ~other)

    def __sub__(self, other: CharSet) -> CharSet:
        return self & ~other

    def __contains__(self, char: int) -> bool:
        return any(low <= char <= high for low, high in self.ranges)

    def pattern(self) -> str:
        """Return a pattern of `regex` that takes one character of the set; ASCII only, in any mode."""
        if not self.ranges:
            return "(?!)"
        if self.ranges == ((0, LAST),):
            return "(?s:.)"
        if len(self.ranges) == 1 and self.ranges[0][0] == self.ranges[0][1]:
            return escape(self.ranges[0][0])
        complement = ~self
        # Not for "all but one character": `regex` takes `[^a]|[^b]` for `[ab]`, and finds nothing in "a" with it.
        if len(complement.ranges) < len(self.ranges) and complement.ranges[0][0] != complement.ranges[-1][1]:
            return f"[^{_ranges(complement)}]"
        return f"[{_ranges(self)}]"


def _ranges(chars: CharSet) -> str:
    return "".join(escape(low) if low == high else f"{escape(low)}-{escape(high)}" for low, high in chars.ranges)


def escape(char: int) -> str:
    if char < 0x80 and chr(char).isalnum():
        return chr(char)
    return f"\\x{char:02x}" if char < 0x100 else f"\\u{char:04x}" if char < 0x10000 else f"\\U{char:08x}"


# --- Case. Java compares by simple mappings: one character to one.


def upper(char: int) -> int:
    text = chr(char).upper()
    if len(text) > 1:
        # The full mapping is longer; a title case of one character is the simple mapping, otherwise there is none.
        text = chr(char).title()
    return ord(text) if len(text) == 1 else char


def lower(char: int) -> int:
    # The dotted capital I is the one whose full mapping is longer.
    text = chr(char).lower()
    return ord(text[0]) if len(text) == 1 or char == 0x130 else char


def fold(char: int) -> int:
    return lower(upper(char))


@functools.lru_cache(maxsize=1)
def _folded() -> dict[int, tuple[int, ...]]:
    """Return the characters that fold to a character, for those to which others fold."""
    chars_by_fold: dict[int, list[int]] = {}
    for low, high in of_class(r"\p{Cased}\p{M}").ranges:
        for char in range(low, high + 1):
            chars_by_fold.setdefault(fold(char), []).append(char)
    return {to: tuple(chars) for to, chars in chars_by_fold.items() if chars != [to]}


def same_fold(char: int) -> CharSet:
    """All characters that a text of several, `char` among them, takes in its place: (?iu)."""
    return CharSet.of(fold(char), *_folded().get(fold(char), ()))


def ignoring_case(char: int, unicode_case: bool) -> CharSet:
    """Return the characters that a character of a pattern takes under (?i) or (?iu)."""
    if unicode_case:
        # A letter without an upper case stands for itself alone.
        return same_fold(char) if upper(char) != fold(char) else CharSet.of(char)
    return CharSet.of(char, char ^ 0x20) if char in ASCII_LETTERS else CharSet.of(char)


def range_ignoring_case(low: int, high: int, unicode_case: bool) -> CharSet:
    inside = CharSet.of((low, high))
    if not unicode_case:
        return inside | CharSet.of(*(char for char in ASCII_LETTERS if char ^ 0x20 in inside))
    more = [
        char
        for start, end in of_class(r"\p{Cased}\p{M}").ranges
        for char in range(start, end + 1)
        if low <= upper(char) <= high or low <= fold(char) <= high
    ]
    return inside | CharSet.of(*more)


# --- Properties.


@functools.lru_cache(maxsize=512)
def of_class(body: str) -> CharSet:
    """
    The characters of a class as the `regex` package writes it, given without its brackets.

    Raises:
        KeyError: it has no such property.
    """
    try:
        pattern = regex.compile(f"[{body}]+", regex.V1)
    except regex.error:
        raise KeyError(body) from None
    every = array.array("I", range(LAST + 1)).tobytes().decode("utf-32", "surrogatepass")
    return CharSet(tuple((match.start(), match.end() - 1) for match in pattern.finditer(every)))


DIGIT = CharSet.of((0x30, 0x39))
WORD = CharSet.of((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A), 0x5F)
SPACE = CharSet.of((0x09, 0x0D), 0x20)
HORIZONTAL = CharSet.of(0x09, 0x20, 0xA0, 0x1680, 0x180E, (0x2000, 0x200A), 0x202F, 0x205F, 0x3000)
VERTICAL = CharSet.of((0x0A, 0x0D), 0x85, 0x2028, 0x2029)
LINE_ENDS = CharSet.of(0x0A, 0x0D, 0x85, 0x2028, 0x2029)

UNICODE_DIGIT = r"\p{Nd}"
UNICODE_SPACE = r"\p{Z}\t-\r\x85"
UNICODE_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d"
_HEX = r"\p{Nd}A-Fa-f\uff10-\uff19\uff21-\uff26\uff41-\uff46"
_IGNORABLE = r"\p{Cf}\x00-\x08\x0e-\x1b\x7f-\x9f"
_OTHER_START = r"\u1885\u1886\u2118\u212e\u309b\u309c"

_CATEGORY = re.compile("C[cfnos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?")

# `\p{name}`, or `\p{Isname}`; the names' case counts. Categories have their own names.
_NAMED = {
    "LC": r"\p{Lu}\p{Ll}\p{Lt}",
    "LD": r"\p{L}\p{Nd}",
    "L1": r"\x00-\xff",
    "all": r"\x00-\U0010ffff",
    "ASCII": r"\x00-\x7f",
    "Alnum": "A-Za-z0-9",
    "Alpha": "A-Za-z",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "Digit": "0-9",
    "Graph": "!-~",
    "Lower": "a-z",
    "Print": " -~",
    "Punct": r"!-/:-@\[-`{-~",
    "Space": r"\t-\r ",
    "Upper": "A-Z",
    "XDigit": "0-9A-Fa-f",
    "javaLowerCase": r"\p{Lowercase}",
    "javaUpperCase": r"\p{Uppercase}",
    "javaAlphabetic": r"\p{Alphabetic}",
    "javaIdeographic": r"\p{Ideographic}",
    "javaTitleCase": r"\p{Titlecase_Letter}",
    "javaDigit": r"\p{Nd}",
    "javaDefined": r"^\p{Cn}",
    "javaLetter": r"\p{L}",
    "javaLetterOrDigit": r"\p{L}\p{Nd}",
    "javaJavaIdentifierStart": r"\p{L}\p{Sc}\p{Pc}\p{Nl}",
    "javaJavaIdentifierPart": r"\p{L}\p{Sc}\p{Pc}\p{Nl}\p{Nd}\p{Mc}\p{Mn}" + _IGNORABLE,
    "javaUnicodeIdentifierStart": r"\p{L}\p{Nl}" + _OTHER_START,
    "javaUnicodeIdentifierPart": (
        r"\p{L}\p{Nl}\p{Pc}\p{Nd}\p{Mc}\p{Mn}\xb7\u0387\u1369-\u1371\u19da" + _IGNORABLE + _OTHER_START
    ),
    "javaIdentifierIgnorable": _IGNORABLE,
    "javaSpaceChar": r"\p{Z}",
    "javaWhitespace": r"[\p{Z}--[\xa0\u2007\u202f]]\t-\r\x1c-\x1f",
    "javaISOControl": r"\x00-\x1f\x7f-\x9f",
    "javaMirrored": r"\p{Bidi_Mirrored}",
}

# `\p{Isname}` in any case, here without underscores.
_BINARY = {
    "ALPHABETIC": r"\p{Alphabetic}",
    "ASSIGNED": r"^\p{Cn}",
    "CONTROL": r"\p{Cc}",
    "HEXDIGIT": _HEX,
    "IDEOGRAPHIC": r"\p{Ideographic}",
    "JOINCONTROL": r"\u200c\u200d",
    "LETTER": r"\p{L}",
    "LOWERCASE": r"\p{Lowercase}",
    "NONCHARACTERCODEPOINT": r"\p{Noncharacter_Code_Point}",
    "TITLECASE": r"\p{Titlecase_Letter}",
    "PUNCTUATION": r"\p{P}",
    "UPPERCASE": r"\p{Uppercase}",
    "WHITESPACE": UNICODE_SPACE,
    "WORD": UNICODE_WORD,
}
_OF_WORDS = {"HEX_DIGIT", "JOIN_CONTROL", "NONCHARACTER_CODE_POINT", "WHITE_SPACE"}

# `\p{name}` in any case under (?U).
_POSIX = {
    "ALPHA": r"\p{Alphabetic}",
    "LOWER": r"\p{Lowercase}",
    "UPPER": r"\p{Uppercase}",
    "SPACE": UNICODE_SPACE,
    "PUNCT": r"\p{P}",
    "XDIGIT": _HEX,
    "ALNUM": r"\p{Alphabetic}\p{Nd}",
    "CNTRL": r"\p{Cc}",
    "DIGIT": r"\p{Nd}",
    "BLANK": r"\p{Zs}\t",
    "GRAPH": r"^\p{Z}\p{Cc}\p{Cs}\p{Cn}",
    "PRINT": r"^\p{Zl}\p{Zp}\p{Cc}\p{Cs}\p{Cn}",
}

# What these become where case does not matter.
_ANY_CASE = {
    **dict.fromkeys(("A-Z", "a-z"), "A-Za-z"),
    **dict.fromkeys((r"\p{Lu}", r"\p{Ll}", r"\p{Lt}"), r"\p{Lu}\p{Ll}\p{Lt}"),
    **dict.fromkeys((r"\p{Lowercase}", r"\p{Uppercase}", r"\p{Titlecase_Letter}"), r"\p{Lowercase}\p{Uppercase}\p{Lt}"),
}


def named(name: str, any_case: bool) -> CharSet | None:
    return _made(rf"\p{{{name}}}" if _CATEGORY.fullmatch(name) else _NAMED.get(name), any_case)


def posix(name: str, any_case: bool) -> CharSet | None:
    return _made(_POSIX.get(name.upper()), any_case)


def binary(name: str, any_case: bool) -> CharSet | None:
    name = name.upper()
    return _made(_BINARY.get(name.replace("_", "") if name in _OF_WORDS else name), any_case)


def _made(body: str | None, any_case: bool) -> CharSet | None:
    return None if body is None else of_class(_ANY_CASE.get(body, body) if any_case else body)


def script(name: str) -> CharSet | None:
    """
    Return the characters of a script, by its name or ISO 15924's code, in any case. Java insists on the underscores between a
    name's words.
    """
    return _if_known(f"Script={name}") if name.replace("_", "").isalpha() else None


def block(name: str) -> CharSet | None:
    """Return the characters of a block, by Unicode's name, with spaces or without, or Java's, with underscores."""
    if not name or not name[0].isalnum() or not name[-1].isalnum() or ("_" in name and ("-" in name or " " in name)):
        return None
    return _if_known(f"Block={name}")


def _if_known(property: str) -> CharSet | None:
    try:
        return of_class(rf"\p{{{property}}}")
    except KeyError:
        return None


def union(sets: Iterable[CharSet]) -> CharSet:
    return CharSet.of(*(char_range for char_set in sets for char_range in char_set.ranges))
