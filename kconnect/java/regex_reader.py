"""
The characters of a Java pattern: white space and comments, escapes, properties, and whole character classes.

`regex_parser.py` builds on it. Methods with `raw` in their names ignore the comments mode. Positions and messages are Java's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kconnect.java import charsets
from kconnect.java.charsets import CharSet

_SPACES = frozenset(" \t\n\x0b\f\r")
DIGITS = frozenset("0123456789")
_HEX = frozenset("0123456789abcdefABCDEF")
_FLAGS = {"i": "insensitive", "m": "multiline", "s": "dotall", "d": "unix", "u": "unicode_case", "x": "comments"}
_SIMPLE = {"a": 7, "e": 0x1B, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09}

# The Latin-1 characters with a partner outside of Latin-1.
_SPECIAL_CASES = frozenset(map(ord, "IiSsKk\xff\xb5\xc5\xe5"))


class PatternSyntaxError(ValueError):
    """An error of a pattern that is none in Java either. The text is that of Java's exception."""

    shown_as = "java.util.regex.PatternSyntaxException"

    def __init__(self, description: str, pattern: str, index: int) -> None:
        self.description, self.pattern, self.index = description, pattern, index
        text = description if index < 0 else f"{description} near index {index}"
        text += "\n" + pattern
        # The index counts characters, but Java goes by units of UTF-16 below the pattern.
        units = "".join(char if char < "\U00010000" else "  " for char in pattern)
        if 0 <= index < len(units):
            text += "\n" + "".join("\t" if unit == "\t" else " " for unit in units[:index]) + "^"
        super().__init__(text)


class UnsupportedPatternError(ValueError):
    """A pattern of Java that means something else, or nothing, here."""

    def __init__(self, pattern: str, construct: str, index: int, remedy: str) -> None:
        self.pattern, self.construct, self.index = pattern, construct, index
        super().__init__(f"{construct} near index {index} of the pattern {pattern} is not supported; {remedy}")


@dataclass
class Flags:
    insensitive: bool = False
    multiline: bool = False
    dotall: bool = False
    unix: bool = False
    unicode_case: bool = False
    unicode_classes: bool = False
    comments: bool = False

    def change(self, letter: str, on: bool) -> bool:
        """False: no such flag."""
        name = _FLAGS.get(letter)
        if letter == "U":
            self.unicode_classes = on
            name = "unicode_case"
        if name is None:
            return False
        setattr(self, name, on)
        return True

    def copy(self) -> Flags:
        return Flags(**vars(self))


def _unquoted(pattern: str) -> str:
    r"""`\Q...\E` written with a backslash before each character that needs one."""
    match = re.compile(r"(?:[^\\]|\\[^Q])*?\\Q", re.DOTALL).match(pattern)
    if not match:
        return pattern
    written = [pattern[: match.end() - 2]]
    index = match.end() - 2
    quoting = begins = False
    while index < len(pattern):
        char = pattern[index]
        if not quoting and pattern.startswith("\\Q", index):
            quoting = begins = True
            index += 2
            continue
        if quoting and pattern.startswith("\\E", index):
            quoting = False
            index += 1
        elif not quoting and char == "\\":
            written.append(pattern[index : index + 2])
            index += 1
        elif quoting and begins and char in DIGITS:
            # Not to be taken for a part of an escape before it.
            written.append(f"\\x3{char}")
        elif quoting and char < "\x80" and not char.isalnum():
            written.append("\\" + char)
        else:
            written.append(char)
        begins = False
        index += 1
    return "".join(written)


class PatternReader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._text = _unquoted(pattern)
        self._at = 0
        self._flags = Flags()

    # --- Reading. Past the end there is "". In comments mode white space and comments are nowhere to be seen, but raw reads.

    def _char(self, at: int) -> str:
        return self._text[at : at + 1]

    def _seen(self, at: int) -> int:
        """Return where the next character that counts is, from `at` on."""
        while self._flags.comments:
            char = self._char(at)
            if char == "#":
                while self._char(at) and not self._ends_line(self._char(at)):
                    at += 1
            elif char and char in _SPACES:
                at += 1
            else:
                break
        return at

    def _ends_line(self, char: str) -> bool:
        return char == "\n" if self._flags.unix else ord(char) in charsets.LINE_ENDS

    def _peek(self) -> str:
        self._at = self._seen(self._at)
        return self._char(self._at)

    def _next(self) -> str:
        self._at += 1
        return self._peek()

    def _read(self) -> str:
        at = self._seen(self._at)
        self._at = at + 1
        return self._char(at)

    def _read_raw(self) -> str:
        self._at += 1
        return self._char(self._at - 1)

    def _error(self, description: str) -> PatternSyntaxError:
        return PatternSyntaxError(description, self._pattern, self._at - 1)

    def _unsupported(self, construct: str, remedy: str, index: int | None = None) -> UnsupportedPatternError:
        return UnsupportedPatternError(self._pattern, construct, max(self._at - 1, 0) if index is None else index, remedy)

    def _single(self, char: int) -> CharSet:
        return charsets.ignoring_case(char, self._flags.unicode_case) if self._flags.insensitive else CharSet.of(char)

    def _in_text(self, char: int) -> CharSet:
        both = self._flags.insensitive and self._flags.unicode_case
        return charsets.same_fold(char) if both else self._single(char)

    # --- Escapes. Called at the backslash.

    def _escape(self, inside: bool, in_range: bool = False) -> int | CharSet | str:
        """A character, a set of them, or the letter of what is neither; never that inside of a class."""
        self._at += 1
        char = self._read_raw()
        if not char:
            # A backslash is the pattern's last character. Java goes past the end, and says so in one way or another.
            return 0
        if char in _SIMPLE:
            return _SIMPLE[char]
        chars = self._escaped_set(char, in_range)
        if chars is not None:
            return chars
        if char == "0":
            return self._octal()
        if char == "c":
            if self._at >= len(self._text):
                raise self._error("Illegal control escape sequence")
            return ord(self._read()) ^ 64
        if char == "x":
            return self._hexadecimal()
        if char == "u":
            return self._utf16()
        if char == "N":
            raise self._unsupported(r"\N (a character by its name)", "write the character")
        if not inside and char in "123456789AGzZBbRXk":
            return char
        if char < "\x80" and char.isalnum():
            raise self._error("Illegal/unsupported escape sequence")
        return ord(char)

    def _escaped_set(self, char: str, in_range: bool) -> CharSet | int | None:
        wide = self._flags.unicode_classes
        kind = char.lower()
        if kind == "d":
            chars = charsets.of_class(charsets.UNICODE_DIGIT) if wide else charsets.DIGIT
        elif kind == "w":
            chars = charsets.of_class(charsets.UNICODE_WORD) if wide else charsets.WORD
        elif kind == "s":
            chars = charsets.of_class(charsets.UNICODE_SPACE) if wide else charsets.SPACE
        elif kind == "h":
            chars = charsets.HORIZONTAL
        elif kind == "v":
            if char == "v" and in_range:
                return 0x0B
            chars = charsets.VERTICAL
        else:
            return None
        return chars if char == kind else ~chars

    def _octal(self) -> int:
        first = self._read()
        if not first or first not in "01234567":
            raise self._error("Illegal octal escape sequence")
        number = int(first)
        for most in (8, 4):
            char = self._read()
            if not char or char not in "01234567" or (most == 4 and int(first) > 3):
                self._at -= 1
                break
            number = number * 8 + int(char)
        return number

    def _hexadecimal(self) -> int:
        first = self._read()
        if first and first in _HEX:
            second = self._read()
            if second and second in _HEX:
                return int(first + second, 16)
        elif first == "{" and self._peek() and self._peek() in _HEX:
            number = 0
            while (char := self._read()) and char in _HEX:
                number = number * 16 + int(char, 16)
                if number > charsets.LAST:
                    raise self._error("Hexadecimal codepoint is too big")
            if char != "}":
                raise self._error("Unclosed hexadecimal escape sequence")
            return number
        raise self._error("Illegal hexadecimal escape sequence")

    def _utf16(self) -> int:
        first = self._unit()
        after = self._at
        if 0xD800 <= first < 0xDC00 and self._read() == "\\" and self._read() == "u":
            second = self._unit()
            if 0xDC00 <= second < 0xE000:
                return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
        self._at = after
        return first

    def _unit(self) -> int:
        number = 0
        for _ in range(4):
            char = self._read()
            if not char or char not in _HEX:
                raise self._error("Illegal Unicode escape sequence")
            number = number * 16 + int(char, 16)
        return number

    def _property(self) -> CharSet:
        r"""`\pL` or `\p{...}`, from the backslash on."""
        self._at += 1
        negated = self._char(self._at) == "P"
        if self._next() == "{":
            self._next()
            start = self._at
            while (char := self._read()) != "}":
                if not char:
                    self._at = len(self._text) + 1
                    raise self._error("Unclosed character family")
            if start + 1 == self._at:
                raise self._error("Empty character family")
            name = self._text[start : self._at - 1]
        else:
            name = self._char(self._at) or "\0"
            self._at += 1
        chars = self._family(name)
        return ~chars if negated else chars

    def _family(self, name: str) -> CharSet:
        any_case = self._flags.insensitive
        kind, equals, value = name.partition("=")
        chars = None
        if equals:
            kind = kind.lower()
            if kind in ("sc", "script"):
                chars = charsets.script(value)
            elif kind in ("blk", "block"):
                chars = charsets.block(value)
            elif kind in ("gc", "general_category"):
                chars = charsets.named(value, any_case)
            if chars is None:
                raise self._error(f"Unknown Unicode property {{name=<{kind}>, value=<{value}>}}")
            return chars
        if name.startswith("In"):
            chars = charsets.block(name[2:])
        elif name.startswith("Is"):
            short = name[2:]
            for find in (charsets.binary, charsets.posix, charsets.named):
                chars = find(short, any_case) if chars is None else chars
            chars = charsets.script(short) if chars is None else chars
        else:
            chars = charsets.posix(name, any_case) if self._flags.unicode_classes else None
            chars = charsets.named(name, any_case) if chars is None else chars
        if chars is None:
            raise self._error(f"Unknown character property name {{{name}}}")
        return chars

    # --- Classes.

    def _class(self, close: bool) -> CharSet:
        """
        Read a class, from the bracket on; or the right side of `&&`, from the character before it on, without the bracket that
        ends it.

        Java collects single characters below U+0100 (`small`) apart, which shows at a `&&` that nothing follows.
        """
        total: CharSet | None = None
        last: CharSet | None = None
        small: CharSet | None = None
        char = self._next()
        negated = False
        if char == "^" and self._char(self._at - 1) == "[":
            negated = True
            char = self._next()
        while True:
            if char == "[":
                last = self._class(True)
                total = last if total is None else total | last
                char = self._peek()
                continue
            if char == "&":
                if self._next() == "&":
                    right = self._right_side()
                    if small is not None:
                        if total is None:
                            total = last = small
                        else:
                            total |= small
                        small = None
                    if right is not None:
                        last = right
                    if total is None:
                        if right is None:
                            raise self._error("Bad class syntax")
                        total = right
                    elif last is None:
                        raise self._unsupported("A character class in which nothing follows &&", "leave && out")
                    else:
                        total &= last
                    char = self._peek()
                    continue
                self._at -= 1
            elif not char:
                raise self._error("Unclosed character class")
            elif char == "]" and (total is not None or small is not None):
                if close:
                    self._next()
                break
            item, is_small = self._item()
            if is_small:
                small = item if small is None else small | item
                last = None
            else:
                last = item
                total = item if total is None else total | item
            char = self._peek()
        whole = charsets.union(chars for chars in (total, small) if chars is not None)
        return ~whole if negated else whole

    def _right_side(self) -> CharSet | None:
        """Read what follows `&&`, up to the next of them or the end."""
        right: CharSet | None = None
        char = self._next()
        while char not in ("]", "&"):
            if char == "[":
                nested = self._class(True)
            else:
                self._at -= 1
                nested = self._class(False)
            right = nested if right is None else right | nested
            char = self._peek()
        return right

    def _item(self) -> tuple[CharSet, bool]:
        """A character, a range or a set inside of a class, and whether it is one small character."""
        char = self._peek()
        if char == "\\":
            if self._char(self._at + 1) in ("p", "P"):
                return self._property(), False
            escaped = self._escape(inside=True, in_range=self._char(self._at + 2) == "-")
            if isinstance(escaped, CharSet):
                return escaped, False
            assert isinstance(escaped, int)
            low = escaped
        else:
            self._next()
            low = ord(char)
        if self._peek() == "-":
            after = self._char(self._at + 1)
            if after not in ("[", "]"):
                return self._range(low), False
        return self._in_class(low)

    def _range(self, low: int) -> CharSet:
        char = self._next()
        high = -1
        if char == "\\":
            escaped = self._escape(inside=True, in_range=True)
            high = escaped if isinstance(escaped, int) else -1
        else:
            self._next()
            high = ord(char) if char else -1
        if high < low:
            raise self._error("Illegal character range")
        if self._flags.insensitive:
            return charsets.range_ignoring_case(low, high, self._flags.unicode_case)
        return CharSet.of((low, high))

    def _in_class(self, char: int) -> tuple[CharSet, bool]:
        both = self._flags.insensitive and self._flags.unicode_case
        if char > 0xFF or (both and char in _SPECIAL_CASES):
            return self._single(char), False
        if both and char > 0x7F:
            chars = CharSet.of(*(variant for variant in (char, charsets.lower(char), charsets.upper(char)) if variant < 0x100))
            return chars, True
        if both:
            return charsets.ignoring_case(char, False), True
        return self._single(char), True
