"""
Reads a Java pattern and writes the same pattern for the `regex` package: ASCII only, no flags, no named groups.

`regex.py` calls `parse`. Every character class becomes plain ranges (`charsets.py`), case is written out into them, anchors and
line ends become look-arounds with Java's line terminators. What an engine does with alternatives, quantifiers and groups is
the same in both. Where it isn't, the pattern is refused, or the group is named in `Parsed.uncertain_groups`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kconnect.java import charsets, regex_nodes
from kconnect.java.charsets import CharSet
from kconnect.java.regex_nodes import Node

_SPACES = frozenset(" \t\n\x0b\f\r")
_DIGITS = frozenset("0123456789")
_HEX = frozenset("0123456789abcdefABCDEF")
_FAR = 100_000  # more than this below the greatest number is "without a bound", as no pattern is as long

class PatternSyntaxError(ValueError):
    """Not a pattern in Java either. The text is that of Java's exception."""

    java_class = "java.util.regex.PatternSyntaxException"

    def __init__(self, description: str, pattern: str, index: int) -> None:
        self.description, self.pattern, self.index = description, pattern, index
        text = description if index < 0 else f"{description} near index {index}"
        text += "\n" + pattern
        if 0 <= index < len(pattern):
            text += "\n" + "".join("\t" if char == "\t" else " " for char in pattern[:index]) + "^"
        super().__init__(text)


class UnsupportedPatternError(ValueError):
    """A pattern of Java that means something else, or nothing, here."""

    def __init__(self, pattern: str, construct: str, index: int, remedy: str) -> None:
        self.pattern, self.construct, self.index = pattern, construct, index
        super().__init__(f"{construct} near index {index} of the pattern {pattern} is not supported; {remedy}")


@dataclass(frozen=True)
class Parsed:
    text: str
    groups: int
    names: dict[str, int]
    uncertain_groups: frozenset[int]
    """Groups of which Java may tell what a failed attempt left there: those in a look-around or an atomic group."""
    ascii_case: bool


@dataclass
class _Flags:
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
            name = "unicode_case" if on else None
        elif name is None:
            return False
        if name:
            setattr(self, name, on)
        return True

    def copy(self) -> _Flags:
        return _Flags(**vars(self))


_FLAGS = {"i": "insensitive", "m": "multiline", "s": "dotall", "d": "unix", "u": "unicode_case", "x": "comments"}


def parse(pattern: str) -> Parsed:
    """
    Raises:
        PatternSyntaxError, UnsupportedPatternError
    """
    return _Parser(pattern).parse()


def _unquoted(pattern: str) -> str:
    r"""`\Q...\E` written with a backslash before each character that needs one."""
    found = re.compile(r"(?:[^\\]|\\[^Q])*?\\Q", re.DOTALL).match(pattern)
    if not found:
        return pattern
    written = [pattern[: found.end() - 2]]
    index = found.end() - 2
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
        elif quoting and begins and char in _DIGITS:
            # Not to be taken for a part of an escape before it.
            written.append(f"\\x3{char}")
        elif quoting and char < "\x80" and not char.isalnum():
            written.append("\\" + char)
        else:
            written.append(char)
        begins = False
        index += 1
    return "".join(written)


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._text = _unquoted(pattern)
        self._at = 0
        self._flags = _Flags()
        self._count = 0
        self._names: dict[str, int] = {}
        self._dirty: set[int] = set()
        self._referred: dict[int, int] = {}
        self._reference_case: set[str] = set()

    def parse(self) -> Parsed:
        root = self._alternatives()
        if self._at != len(self._text):
            raise self._error("Unmatched closing ')'" if self._peek() == ")" else "Unexpected internal error")
        uncertain = frozenset(self._dirty - root.sure)
        for group, index in self._referred.items():
            if group in uncertain:
                raise self._unsupported(
                    f"The reference to group {group}, which stands in a look-around, atomic or possessive part,",
                    "capture the text outside of it",
                    index,
                )
        if len(self._reference_case) > 1:
            raise self._unsupported("A reference under (?i) beside one under (?iu)", "use one of the two")
        text = re.sub(
            r"\\g<(\d+)>", lambda found: found[0] if int(found[1]) <= self._count else "(?!)", root.text
        )
        return Parsed(text, self._count, self._names, uncertain, "i" in self._reference_case)

    # --- Reading. Past the end there is "". In comments mode white space and comments are nowhere to be seen, but raw reads.

    def _char(self, at: int) -> str:
        return self._text[at : at + 1]

    def _seen(self, at: int) -> int:
        """Where the next character that counts is, from `at` on."""
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

    # --- Alternatives and sequences.

    def _alternatives(self) -> Node:
        branches = [self._sequence()]
        while self._peek() == "|":
            self._next()
            branches.append(self._sequence())
        return branches[0] if len(branches) == 1 else regex_nodes.any_of(branches)

    def _sequence(self) -> Node:
        nodes: list[Node] = []
        while True:
            char = self._peek()
            if char == "(":
                group = self._group()
                if group is not None:
                    nodes.append(group)
                continue
            if char == "[":
                node = regex_nodes.one_of(self._class(True))
            elif char == "^":
                self._next()
                node = Node(regex_nodes.START[self._flags.unix] if self._flags.multiline else r"\A")
            elif char == "$":
                self._next()
                node = Node(regex_nodes.END[self._flags.multiline, self._flags.unix])
            elif char == ".":
                self._next()
                node = regex_nodes.one_of(self._dot())
            elif char in ("|", ")"):
                break
            elif char in ("?", "*", "+") and char:
                self._next()
                raise self._error(f"Dangling meta character '{char}'")
            elif not char:
                if self._at >= len(self._text):
                    break
                raise AssertionError(self._at)
            elif char == "\\" and self._char(self._at + 1) in ("p", "P") and self._char(self._at + 1):
                node = regex_nodes.one_of(self._property())
            else:
                nodes.extend(self._literals())
                continue
            nodes.append(self._repeated(node))
        return regex_nodes.sequence(nodes)

    def _dot(self) -> CharSet:
        if self._flags.dotall:
            return CharSet.of((0, charsets.LAST))
        return ~CharSet.of(0x0A) if self._flags.unix else ~charsets.LINE_ENDS

    def _literals(self) -> list[Node]:
        """Characters that stand for themselves up to something else, or one escape. A quantifier is for the last."""
        chars: list[int] = []
        before = self._at
        while True:
            char = self._peek()
            if char in ("*", "+", "?", "{") and char:
                if len(chars) > 1:
                    self._at = before
                    chars.pop()
                break
            if not char or char in "$.^([|)":
                break
            if char == "\\":
                if self._char(self._at + 1) in ("p", "P") and self._char(self._at + 1):
                    break
                start = self._at
                found = self._escape(inside=False, build=not chars)
                if isinstance(found, int):
                    before = start
                    chars.append(found)
                    continue
                if not chars:
                    assert isinstance(found, Node)
                    return [self._repeated(found)]
                self._at = start
                break
            before = self._at
            chars.append(ord(char))
            self._next()
        if len(chars) == 1:
            return [self._repeated(regex_nodes.one_of(self._single(chars[0])))]
        return [
            *(regex_nodes.one_of(self._in_text(char)) for char in chars[:-1]),
            self._repeated(regex_nodes.one_of(self._in_text(chars[-1])) if chars else Node("")),
        ]

    def _single(self, char: int) -> CharSet:
        return charsets.ignoring_case(char, self._flags.unicode_case) if self._flags.insensitive else CharSet.of(char)

    def _in_text(self, char: int) -> CharSet:
        both = self._flags.insensitive and self._flags.unicode_case
        return charsets.same_fold(char) if both else self._single(char)

    # --- Quantifiers.

    def _repeated(self, node: Node) -> Node:
        bounds = self._quantifier()
        return node if bounds is None else regex_nodes.repeat(node, *bounds)

    def _quantifier(self) -> tuple[int, int, str, bool] | None:
        """Least, most, "" or "?" or "+", and whether it was `?`."""
        char = self._peek()
        if char == "?":
            least, most = 0, 1
        elif char == "*":
            least, most = 0, regex_nodes.MANY
        elif char == "+":
            least, most = 1, regex_nodes.MANY
        elif char == "{":
            least, most = self._braces()
        else:
            return None
        mode = self._next()
        if mode not in ("?", "+"):
            mode = ""
        else:
            self._next()
        return least, most, mode, char == "?"

    def _braces(self) -> tuple[int, int]:
        self._at += 1
        if self._char(self._at) not in _DIGITS:
            self._at += 1
            raise self._error("Illegal repetition")
        least, char = self._number(self._read_raw())
        most = least
        if char == ",":
            most = regex_nodes.MANY
            char = self._read()
            if char != "}":
                most, char = self._number(char)
        if char != "}":
            raise self._error("Unclosed counted closure")
        if most < least:
            raise self._error("Illegal repetition range")
        self._at -= 1
        return least, most

    def _number(self, char: str) -> tuple[int, str]:
        number = 0
        while char and char in _DIGITS:
            number = number * 10 + int(char)
            if number > regex_nodes.MANY:
                raise self._error("Illegal repetition range")
            char = self._read()
        return number, char

    # --- Groups.

    def _group(self) -> Node | None:
        """None: it only set flags."""
        saved = self._flags.copy()
        if self._next() != "?":
            node = self._capture(None)
        else:
            self._at += 1
            kind = self._read_raw()
            if kind == ":":
                node = self._plain()
            elif kind and kind in "=!":
                node = self._ahead(kind)
            elif kind == ">":
                node = self._atomic()
            elif kind == "<":
                char = self._read()
                if char in ("=", "!"):
                    node = self._behind(char)
                else:
                    name = self._name(char)
                    if name in self._names:
                        raise self._error(f"Named capturing group <{name}> is already defined")
                    node = self._capture(name)
            elif kind and kind in "$@":
                raise self._error("Unknown group type")
            else:
                self._at -= 1
                self._change_flags()
                char = self._read()
                if char == ")":
                    return None
                if char != ":":
                    raise self._error("Unknown inline modifier")
                node = self._plain()
        self._close()
        self._flags = saved
        bounds = self._quantifier()
        return node if bounds is None else regex_nodes.repeat(node, *bounds, group=True)

    def _close(self) -> None:
        # Java notes where it is before it looks at the flags that are valid after the group.
        if self._read() != ")":
            raise self._error("Unclosed group")

    def _capture(self, name: str | None) -> Node:
        self._count += 1
        number = self._count
        if name is not None:
            self._names[name] = number
        body = self._alternatives()
        own = frozenset((number,))
        return regex_nodes.changed(body, f"({body.text})", groups=body.groups | own, sure=body.sure | own)

    def _plain(self) -> Node:
        body = self._alternatives()
        return regex_nodes.changed(body, f"(?:{body.text})")

    def _ahead(self, kind: str) -> Node:
        body = self._alternatives()
        self._dirty |= body.groups
        return Node(
            f"(?{kind}{body.text})", groups=body.groups, sure=body.sure if kind == "=" else frozenset(), fixed=not body.groups
        )

    def _atomic(self) -> Node:
        body = self._alternatives()
        self._dirty |= body.groups
        return regex_nodes.changed(body, f"(?>{body.text})", fixed=False)

    def _behind(self, kind: str) -> Node:
        body = self._alternatives()
        if not body.bounded:
            raise self._error("Look-behind group does not have an obvious maximum length")
        self._dirty |= body.groups
        if not body.fixed:
            raise self._unsupported(
                "A group or an atomic part in a look-behind of several lengths", "leave the group out of the look-behind"
            )
        text = f"(?<{'=' if kind == '=' else '!'}{body.text})"
        if body.most < 0:
            # Java's sum of lengths has overflowed. It looks back only as far as the sum then says.
            over = body.most + 0x80000000
            if over > _FAR:
                text = "(?!)" if kind == "=" else ""
            elif kind == "=":
                text = f"(?<=(?s:.){{{over}}}){text}"
            else:
                text = f"(?:(?<!(?s:.){{{over}}})|{text})"
        elif body.most < body.least:
            text = "(?!)" if kind == "=" else ""
        return Node(text, groups=body.groups, sure=body.sure if kind == "=" else frozenset(), fixed=not body.groups)

    def _change_flags(self) -> None:
        on = True
        while True:
            char = self._peek()
            if char == "c":
                raise self._unsupported("The flag c (canonical equivalence)", "write both forms of the characters")
            if char == "-" and on:
                on = False
            elif not char or not self._flags.change(char, on):
                return
            self._next()

    def _name(self, char: str) -> str:
        if not ("a" <= char <= "z" or "A" <= char <= "Z"):
            raise self._error("capturing group name does not start with a Latin letter")
        name = ""
        while char and char < "\x80" and char.isalnum():
            name += char
            char = self._read()
        if char != ">":
            raise self._error("named capturing group is missing trailing '>'")
        return name

    # --- Escapes. Called at the backslash.

    def _escape(self, inside: bool, build: bool, in_range: bool = False) -> int | CharSet | Node:
        self._at += 1
        char = self._read_raw()
        if not char:
            # A backslash is the pattern's last character: Java sees the end there as a character and goes past it.
            self._at = len(self._text) + 1
            if inside:
                raise self._error("Unclosed character class")
            raise self._error("Unexpected internal error")
        if char in _SIMPLE:
            return _SIMPLE[char]
        chars = self._escaped_set(char, in_range)
        if chars is not None:
            return chars if isinstance(chars, int) else chars if inside else regex_nodes.one_of(chars)
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
            return self._character_name()
        if not inside:
            node = self._escaped_node(char, build)
            if node is not None:
                return node
        if char < "\x80" and char.isalnum():
            raise self._error("Illegal/unsupported escape sequence")
        return ord(char)

    def _escaped_set(self, char: str, in_range: bool) -> CharSet | int | None:
        wide = self._flags.unicode_classes
        kind = char.lower()
        if kind == "d":
            chars = charsets.unicode_digit() if wide else charsets.DIGIT
        elif kind == "w":
            chars = charsets.unicode_word() if wide else charsets.WORD
        elif kind == "s":
            chars = charsets.unicode_space() if wide else charsets.SPACE
        elif kind == "h":
            chars = charsets.HORIZONTAL
        elif kind == "v":
            if char == "v" and in_range:
                return 0x0B
            chars = charsets.VERTICAL
        else:
            return None
        return chars if char == kind else ~chars

    def _escaped_node(self, char: str, build: bool) -> Node | None:
        if char in "123456789":
            return self._numbered(int(char)) if build else Node("")
        if char in "AG":
            # A search starts at the text's start, and so does what \G looks for.
            return Node(r"\A")
        if char == "z":
            return Node(r"\z")
        if char == "Z":
            return Node(regex_nodes.END[False, self._flags.unix])
        if char == "B":
            return Node(f"(?!{regex_nodes.word_bound(self._flags.unicode_classes)})")
        if char == "b":
            if build and self._peek() == "{" and self._text.startswith("{g}", self._at):
                self._at += 3
                return Node(regex_nodes.cluster_bound())
            return Node(regex_nodes.word_bound(self._flags.unicode_classes))
        if char == "R":
            return Node(r"(?:\r\n|[\n\x0b\f\r\x85\u2028\u2029])", 1, 2, fixed=False, stiff=True)
        if char == "X":
            return Node(r"\X", 1, 1, bounded=False, fixed=False, stiff=True)
        if char == "k":
            return self._named()
        return None

    def _numbered(self, number: int) -> Node:
        while True:
            digit = self._peek()
            if not digit or digit not in _DIGITS or number * 10 + int(digit) > self._count:
                return self._reference(number)
            number = number * 10 + int(digit)
            self._read()

    def _named(self) -> Node:
        if self._read() != "<":
            raise self._error("\\k is not followed by '<' for named capturing group")
        name = self._name(self._read())
        if name not in self._names:
            raise self._error(f"named capturing group <{name}> does not exist")
        return self._reference(self._names[name])

    def _reference(self, number: int) -> Node:
        self._referred.setdefault(number, self._at - 1)
        text = f"\\g<{number}>"
        if self._flags.insensitive:
            self._reference_case.add("iu" if self._flags.unicode_case else "i")
            text = f"(?i:{text})"
        return Node(text, bounded=False)

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

    def _character_name(self) -> int:
        if self._read() != "{":
            raise self._error("Illegal character name escape sequence")
        start = self._at
        while (char := self._read()) != "}":
            if not char:
                raise self._error("Unclosed character name escape sequence")
        name = self._text[start : self._at - 1]
        found = charsets.by_name(name)
        if found is None:
            raise self._error(f"Unknown character name [{name}]")
        return found

    def _property(self) -> CharSet:
        r"""`\pL` or `\p{...}`, from the backslash on."""
        self._at += 1
        negated = self._char(self._at) == "P"
        if self._next() == "{":
            start = self._at + 1
            end = self._text.find("}", start)
            if end < 0:
                self._at = len(self._text) + 1
                raise self._error("Unclosed character family")
            self._at = end + 1
            if start == end:
                raise self._error("Empty character family")
            name = self._text[start:end]
        else:
            name = self._char(self._at) or "\0"
            self._at += 1
        found = self._family(name)
        return ~found if negated else found

    def _family(self, name: str) -> CharSet:
        any_case = self._flags.insensitive
        kind, equals, value = name.partition("=")
        found = None
        if equals:
            kind = kind.lower()
            if kind in ("sc", "script"):
                found = charsets.script(value)
            elif kind in ("blk", "block"):
                found = charsets.block(value)
            elif kind in ("gc", "general_category"):
                found = charsets.named(value, any_case)
            if found is None:
                raise self._error(f"Unknown Unicode property {{name=<{kind}>, value=<{value}>}}")
            return found
        if name.startswith("In"):
            found = charsets.block(name[2:])
        elif name.startswith("Is"):
            short = name[2:]
            for find in (charsets.binary, charsets.named):
                found = find(short, any_case) if found is None else found
            found = charsets.script(short) if found is None else found
        else:
            found = charsets.posix(name, any_case) if self._flags.unicode_classes else None
            found = charsets.named(name, any_case) if found is None else found
        if found is None:
            raise self._error(f"Unknown character property name {{{name}}}")
        return found

    # --- Classes.

    def _class(self, close: bool) -> CharSet:
        """
        From the bracket on; or the right side of `&&`, from the character before it on, without the bracket that ends it.

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
            found, is_small = self._item()
            if is_small:
                small = found if small is None else small | found
                last = None
            else:
                last = found
                total = found if total is None else total | found
            char = self._peek()
        whole = charsets.union(chars for chars in (total, small) if chars is not None)
        return ~whole if negated else whole

    def _right_side(self) -> CharSet | None:
        """What follows `&&`, up to the next of them or the end."""
        right: CharSet | None = None
        char = self._next()
        while char not in ("]", "&"):
            if char == "[":
                found = self._class(True)
            else:
                self._at -= 1
                found = self._class(False)
            right = found if right is None else right | found
            char = self._peek()
        return right

    def _item(self) -> tuple[CharSet, bool]:
        """A character, a range or a set inside of a class, and whether it is one small character."""
        char = self._peek()
        if char == "\\":
            if self._char(self._at + 1) in ("p", "P") and self._char(self._at + 1):
                return self._property(), False
            found = self._escape(inside=True, build=True, in_range=self._char(self._at + 2) == "-")
            if isinstance(found, CharSet):
                return found, False
            assert isinstance(found, int)
            low = found
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
            found = self._escape(inside=True, build=False, in_range=True)
            high = found if isinstance(found, int) else -1
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
            found = CharSet.of(*(each for each in (char, charsets.lower(char), charsets.upper(char)) if each < 0x100))
            return found, True
        if both:
            return charsets.ignoring_case(char, False), True
        return self._single(char), True


_SIMPLE = {"a": 7, "e": 0x1B, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09}

# The Latin-1 characters with a partner outside of Latin-1.
_SPECIAL_CASES = frozenset(map(ord, "IiSsKk\xff\xb5\xc5\xe5"))
