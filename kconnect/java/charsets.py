"""
Sets of characters as Java's patterns name them: ranges, case, and the properties of `\\p{...}`.

`regex_parser.py` computes one `CharSet` for every class of a pattern and writes it as plain ranges. So nothing depends on how
another engine understands a property, an intersection or a case. The Unicode tables are those of the `regex` package, which are
newer than Java 17's. A JVM's tables also differ from version to version.
"""

from __future__ import annotations

import array
import functools
from collections.abc import Callable, Iterable
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
        """As a pattern of `regex` that takes one character; ASCII only, in any mode."""
        if not self.ranges:
            return "(?!)"
        if self.ranges == ((0, LAST),):
            return "(?s:.)"
        if len(self.ranges) == 1 and self.ranges[0][0] == self.ranges[0][1]:
            return escape(self.ranges[0][0])
        other = ~self
        # Not for "all but one character": `regex` takes `[^a]|[^b]` for `[ab]`, and finds nothing in "a" with it.
        if len(other.ranges) < len(self.ranges) and other.ranges[0][0] != other.ranges[-1][1]:
            return f"[^{_ranges(other)}]"
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
    """What folds to a character, for those that something else folds to."""
    found: dict[int, list[int]] = {}
    for low, high in (unicode("Cased") | unicode("M")).ranges:
        for char in range(low, high + 1):
            found.setdefault(fold(char), []).append(char)
    return {to: tuple(chars) for to, chars in found.items() if chars != [to]}


def same_fold(char: int) -> CharSet:
    """All characters that a text of several, `char` among them, takes in its place: (?iu)."""
    return CharSet.of(fold(char), *_folded().get(fold(char), ()))


def ignoring_case(char: int, unicode_case: bool) -> CharSet:
    """What one character of a pattern takes under (?i) or (?iu)."""
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
        for start, end in (unicode("Cased") | unicode("M")).ranges
        for char in range(start, end + 1)
        if low <= upper(char) <= high or low <= fold(char) <= high
    ]
    return inside | CharSet.of(*more)


# --- Properties.


@functools.lru_cache(maxsize=512)
def unicode(name: str) -> CharSet:
    """
    The characters of a property, as the `regex` package names it.

    Raises:
        KeyError: there is none of this name.
    """
    try:
        found = regex.compile(rf"\p{{{name}}}+", regex.V0)
    except regex.error:
        raise KeyError(name) from None
    every = array.array("I", range(LAST + 1)).tobytes().decode("utf-32", "surrogatepass")
    return CharSet(tuple((match.start(), match.end() - 1) for match in found.finditer(every)))


def categories(*names: str) -> CharSet:
    return functools.reduce(CharSet.__or__, map(unicode, names))


DIGIT = CharSet.of((0x30, 0x39))
WORD = CharSet.of((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A), 0x5F)
SPACE = CharSet.of((0x09, 0x0D), 0x20)
HORIZONTAL = CharSet.of(0x09, 0x20, 0xA0, 0x1680, 0x180E, (0x2000, 0x200A), 0x202F, 0x205F, 0x3000)
VERTICAL = CharSet.of((0x0A, 0x0D), 0x85, 0x2028, 0x2029)
LINE_ENDS = CharSet.of(0x0A, 0x0D, 0x85, 0x2028, 0x2029)
_ASCII = CharSet.of((0, 0x7F))
_ALPHA = CharSet.of(*ASCII_LETTERS)
_PUNCT = CharSet.of((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E))


def unicode_digit() -> CharSet:
    return unicode("Nd")


def unicode_space() -> CharSet:
    return categories("Z") | CharSet.of((9, 13), 0x85)


def unicode_word() -> CharSet:
    return categories("Alphabetic", "M", "Nd", "Pc") | CharSet.of(0x200C, 0x200D)


def letter_or_digit() -> CharSet:
    return categories("L", "Nd")


def _cased(name: str, any_case: bool) -> CharSet:
    if any_case:
        return categories("Lowercase", "Uppercase", "Lt")
    return unicode(name)


def _cased_category(name: str, any_case: bool) -> CharSet:
    return categories("Lu", "Ll", "Lt") if any_case else unicode(name)


def _graph() -> CharSet:
    return ~categories("Z", "Cc", "Cs", "Cn")


def _blank() -> CharSet:
    return unicode("Zs") | CharSet.of(9)


def _hex() -> CharSet:
    fullwidth = CharSet.of((0xFF10, 0xFF19), (0xFF21, 0xFF26), (0xFF41, 0xFF46))
    return unicode("Nd") | CharSet.of((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)) | fullwidth


def _java_ignorable() -> CharSet:
    return unicode("Cf") | CharSet.of((0, 8), (0xE, 0x1B), (0x7F, 0x9F))


def _java_start() -> CharSet:
    return categories("L", "Sc", "Pc", "Nl")


def _java_part() -> CharSet:
    return _java_start() | categories("Nd", "Mc", "Mn") | _java_ignorable()


_OTHER_ID = CharSet.of(0x1885, 0x1886, 0x2118, 0x212E, 0x309B, 0x309C, 0xB7, 0x387, (0x1369, 0x1371), 0x19DA)

_Made = Callable[[bool], CharSet]


def _set(chars: CharSet) -> _Made:
    return lambda any_case: chars


def _lazily(make: Callable[[], CharSet]) -> _Made:
    return lambda any_case: make()


def _category(*names: str) -> _Made:
    return lambda any_case: categories(*names)


_CATEGORIES = (
    "Cn",
    "Lm",
    "Lo",
    "Mn",
    "Me",
    "Mc",
    "Nd",
    "Nl",
    "No",
    "Zs",
    "Zl",
    "Zp",
    "Cc",
    "Cf",
    "Co",
    "Cs",
    "Pd",
    "Ps",
    "Pe",
    "Pc",
    "Po",
    "Sm",
    "Sc",
    "Sk",
    "So",
    "Pi",
    "Pf",
    "L",
    "M",
    "N",
    "Z",
    "C",
    "P",
    "S",
)

# `\p{name}`, or `\p{Isname}`; the names' case counts.
_NAMED: dict[str, _Made] = {
    **{name: _category(name) for name in _CATEGORIES},
    "Lu": lambda any_case: _cased_category("Lu", any_case),
    "Ll": lambda any_case: _cased_category("Ll", any_case),
    "Lt": lambda any_case: _cased_category("Lt", any_case),
    "LC": _category("Lu", "Ll", "Lt"),
    "LD": _category("L", "Nd"),
    "L1": _set(CharSet.of((0, 0xFF))),
    "all": _set(CharSet.of((0, LAST))),
    "ASCII": _set(_ASCII),
    "Alnum": _set(_ALPHA | DIGIT),
    "Alpha": _set(_ALPHA),
    "Blank": _set(CharSet.chars(" \t")),
    "Cntrl": _set(CharSet.of((0, 0x1F), 0x7F)),
    "Digit": _set(DIGIT),
    "Graph": _set(CharSet.of((0x21, 0x7E))),
    "Lower": lambda any_case: _ALPHA if any_case else CharSet.of((0x61, 0x7A)),
    "Print": _set(CharSet.of((0x20, 0x7E))),
    "Punct": _set(_PUNCT),
    "Space": _set(SPACE),
    "Upper": lambda any_case: _ALPHA if any_case else CharSet.of((0x41, 0x5A)),
    "XDigit": _set(CharSet.of((0x30, 0x39), (0x41, 0x46), (0x61, 0x66))),
    "javaLowerCase": lambda any_case: _cased("Lowercase", any_case),
    "javaUpperCase": lambda any_case: _cased("Uppercase", any_case),
    "javaAlphabetic": _category("Alphabetic"),
    "javaIdeographic": _category("Ideographic"),
    "javaTitleCase": lambda any_case: _cased("Lt", any_case),
    "javaDigit": _category("Nd"),
    "javaDefined": lambda any_case: ~unicode("Cn"),
    "javaLetter": _category("L"),
    "javaLetterOrDigit": _lazily(letter_or_digit),
    "javaJavaIdentifierStart": _lazily(_java_start),
    "javaJavaIdentifierPart": _lazily(_java_part),
    "javaUnicodeIdentifierStart": lambda any_case: (
        categories("L", "Nl") | CharSet.of(0x1885, 0x1886, 0x2118, 0x212E, 0x309B, 0x309C)
    ),
    "javaUnicodeIdentifierPart": lambda any_case: categories("L", "Nl", "Pc", "Nd", "Mc", "Mn") | _java_ignorable() | _OTHER_ID,
    "javaIdentifierIgnorable": _lazily(_java_ignorable),
    "javaSpaceChar": _category("Z"),
    "javaWhitespace": lambda any_case: (unicode("Z") - CharSet.of(0xA0, 0x2007, 0x202F)) | CharSet.of((9, 13), (0x1C, 0x1F)),
    "javaISOControl": _set(CharSet.of((0, 0x1F), (0x7F, 0x9F))),
    "javaMirrored": _category("Bidi_Mirrored"),
}

# `\p{Isname}` in any case.
_BINARY: dict[str, _Made] = {
    "ALPHABETIC": _category("Alphabetic"),
    "ASSIGNED": lambda any_case: ~unicode("Cn"),
    "CONTROL": _category("Cc"),
    "HEXDIGIT": _lazily(_hex),
    "HEX_DIGIT": _lazily(_hex),
    "IDEOGRAPHIC": _category("Ideographic"),
    "JOINCONTROL": _set(CharSet.of(0x200C, 0x200D)),
    "JOIN_CONTROL": _set(CharSet.of(0x200C, 0x200D)),
    "LETTER": _category("L"),
    "LOWERCASE": lambda any_case: _cased("Lowercase", any_case),
    "NONCHARACTERCODEPOINT": _category("Noncharacter_Code_Point"),
    "NONCHARACTER_CODE_POINT": _category("Noncharacter_Code_Point"),
    "TITLECASE": lambda any_case: _cased("Lt", any_case),
    "PUNCTUATION": _category("P"),
    "UPPERCASE": lambda any_case: _cased("Uppercase", any_case),
    "WHITESPACE": _lazily(unicode_space),
    "WHITE_SPACE": _lazily(unicode_space),
    "WORD": _lazily(unicode_word),
}

# `\p{name}` in any case under (?U).
_POSIX: dict[str, _Made] = {
    "ALPHA": _category("Alphabetic"),
    "LOWER": lambda any_case: _cased("Lowercase", any_case),
    "UPPER": lambda any_case: _cased("Uppercase", any_case),
    "SPACE": _lazily(unicode_space),
    "PUNCT": _category("P"),
    "XDIGIT": _lazily(_hex),
    "ALNUM": _category("Alphabetic", "Nd"),
    "CNTRL": _category("Cc"),
    "DIGIT": _category("Nd"),
    "BLANK": _lazily(_blank),
    "GRAPH": _lazily(_graph),
    "PRINT": lambda any_case: (_graph() | _blank()) - unicode("Cc"),
}


def named(name: str, any_case: bool) -> CharSet | None:
    make = _NAMED.get(name)
    return None if make is None else make(any_case)


def posix(name: str, any_case: bool) -> CharSet | None:
    make = _POSIX.get(name.upper())
    return None if make is None else make(any_case)


def binary(name: str, any_case: bool) -> CharSet | None:
    make = _BINARY.get(name.upper())
    return None if make is None else make(any_case)


def script(name: str) -> CharSet | None:
    """By its name or ISO 15924's code, in any case. Java insists on the underscores between a name's words."""
    return _if_named(f"Script={name}") if name.replace("_", "").isalpha() else None


def block(name: str) -> CharSet | None:
    """By Unicode's name, with spaces or without, or Java's, with underscores."""
    if not name or not name[0].isalnum() or not name[-1].isalnum() or ("_" in name and ("-" in name or " " in name)):
        return None
    return _if_named(f"Block={name}")


def _if_named(name: str) -> CharSet | None:
    try:
        return unicode(name)
    except KeyError:
        return None


def union(sets: Iterable[CharSet]) -> CharSet:
    return CharSet.of(*(each for one in sets for each in one.ranges))
