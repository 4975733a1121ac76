"""
Reads a Java pattern and writes the same pattern for the `regex` package: ASCII only, no flags, no named groups.

`regex.py` calls `parse`. Every character class becomes plain ranges (`charsets.py`), which include both cases if case does not
matter. Anchors and line ends become look-arounds with Java's line terminators. Both engines treat alternatives, quantifiers and
groups alike, with some exceptions. For these, the pattern is refused, or the group is named in `Parsed.uncertain_groups`.

Why not `regex` alone: it differs from Java in 30 of 111 golden cases, mostly without an error, for example in the characters
that match a digit, a word or `[a-z&&[^b]]`. PyICU is closer to Java, but has to be compiled against ICU.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kconnect.java import charsets, regex_nodes
from kconnect.java.charsets import CharSet
from kconnect.java.regex_nodes import Node
from kconnect.java.regex_reader import DIGITS, PatternReader, UnsupportedPatternError

_LARGEST = 100_000  # of all repetitions written out, which takes about 50 MB
_LONGEST = 200_000  # of the text that a pattern becomes, which takes some seconds to compile: \p{L} alone is 10,000


@dataclass(frozen=True)
class Parsed:
    text: str
    groups: int
    names: dict[str, int]
    uncertain_groups: frozenset[int]
    """Groups of which Java may tell what a failed attempt left there: those in a look-around or an atomic group."""
    ascii_case: bool
    """Whether it is for the ASCII mode of `regex`: what a group has taken is compared in ASCII's case only."""


def parse(pattern: str) -> Parsed:
    """
    Raises:
        PatternSyntaxError, UnsupportedPatternError
    """
    return _Parser(pattern).parse()


class _Parser(PatternReader):
    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self._count = 0
        self._names: dict[str, int] = {}
        self._open: set[int] = set()
        self._dirty: set[int] = set()
        self._referred: dict[int, int] = {}
        self._reference_case: set[str] = set()
        self._written = 0

    def parse(self) -> Parsed:
        root = self._alternatives()
        if self._at != len(self._text):
            raise self._error("Unmatched closing ')'" if self._peek() == ")" else "Unexpected internal error")
        uncertain = frozenset(self._dirty - root.sure) | root.doubtful
        for group, index in self._referred.items():
            if group in uncertain:
                raise self._unsupported(
                    f"The reference to group {group}, which may still hold what a failed attempt found,",
                    "capture the text outside of look-arounds, of atomic and possessive parts, and of repeated groups",
                    index,
                )
        if len(self._reference_case) > 1:
            raise self._unsupported("A reference under (?i) beside one under (?iu)", "use one of the two")
        text = re.sub(r"\\g<(\d+)>", lambda match: match[0] if int(match[1]) <= self._count else "(?!)", root.text)
        self._limit(len(text))
        ascii_case = "i" in self._reference_case
        if ascii_case:
            text = regex_nodes.without_properties(text)
        return Parsed(text, self._count, self._names, uncertain, ascii_case)

    def _limit(self, length: int) -> None:
        if length > _LONGEST:
            remedy = r"write fewer classes such as \p{L} or \b, or fewer alternatives; a class that repeats can have {n}"
            raise self._unsupported(f"A pattern that becomes more than {_LONGEST} characters here", remedy)

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
                node = regex_nodes.anchor(regex_nodes.START[self._flags.unix] if self._flags.multiline else r"\A")
            elif char == "$":
                self._next()
                node = regex_nodes.anchor(regex_nodes.END[self._flags.multiline, self._flags.unix])
            elif char == ".":
                self._next()
                node = regex_nodes.one_of(self._dot())
            elif char in ("", "|", ")"):
                break
            elif char in ("?", "*", "+"):
                self._next()
                raise self._error(f"Dangling meta character '{char}'")
            elif char == "\\" and self._char(self._at + 1) in ("p", "P"):
                node = regex_nodes.one_of(self._property())
            else:
                literals = self._literals()
                nodes.extend(literals)
                self._written += sum(len(literal.text) for literal in literals)
                self._limit(self._written)
                continue
            self._written += len(node.text)
            # Already here: what is far too long would take as long to put together.
            self._limit(self._written)
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
            if char in ("*", "+", "?", "{"):
                if len(chars) > 1:
                    self._at = before
                    chars.pop()
                break
            if not char or char in "$.^([|)":
                break
            if char == "\\":
                if self._char(self._at + 1) in ("p", "P"):
                    break
                start = self._at
                escaped = self._escape(inside=False)
                if isinstance(escaped, int):
                    before = start
                    chars.append(escaped)
                    continue
                if not chars:
                    node = regex_nodes.one_of(escaped) if isinstance(escaped, CharSet) else self._escaped_node(escaped)
                    return [self._repeated(node)]
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

    # --- Quantifiers.

    def _repeated(self, node: Node) -> Node:
        bounds = self._quantifier()
        if bounds is None:
            return node
        return self._repeat(node, *bounds, loop=False)

    def _repeat(self, node: Node, least: int, most: int, mode: str, optional: bool, loop: bool) -> Node:
        repeated = regex_nodes.repeat(node, least, most, mode, optional, loop)
        if repeated.size > _LARGEST:
            raise self._unsupported(f"A part that must come {least} times", "write a smaller number")
        return repeated

    def _quantifier(self) -> tuple[int, int, str, bool] | None:
        """Least, most, "" or "?" or "+", and whether that makes it optional."""
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
        return least, most, mode, (least, most) == (0, 1)

    def _braces(self) -> tuple[int, int]:
        self._at += 1
        if self._char(self._at) not in DIGITS:
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
        while char and char in DIGITS:
            number = number * 10 + int(char)
            if number > regex_nodes.MANY:
                raise self._error("Illegal repetition range")
            char = self._read()
        return number, char

    # --- Groups.

    def _group(self) -> Node | None:
        """Parse a group. Return None if it only set flags."""
        saved = self._flags.copy()
        loop = True
        if self._next() != "?":
            node = self._capture(None)
        else:
            self._at += 1
            kind = self._read_raw()
            if kind == ":":
                node = self._plain()
            elif kind and kind in "=!":
                node = self._ahead(kind)
                loop = False
            elif kind == ">":
                node = self._atomic()
                loop = False
            elif kind == "<":
                char = self._read()
                if char in ("=", "!"):
                    node = self._behind(char)
                    loop = False
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
        if bounds is None:
            return node
        least, _, mode, _ = bounds
        if mode == "+":
            self._dirty |= node.groups
        if loop and least > 1 and node.least == 0 and node.moody and not node.deterministic:
            raise self._unsupported(
                "A repetition, two times or more, of a group that may match nothing and still go on,",
                "let the group match something, or leave the least number out",
            )
        return self._repeat(node, *bounds, loop=loop)

    def _close(self) -> None:
        # Java notes where it is before it looks at the flags that are valid after the group.
        if self._read() != ")":
            raise self._error("Unclosed group")

    def _capture(self, name: str | None) -> Node:
        self._count += 1
        number = self._count
        self._open.add(number)
        if name is not None:
            self._names[name] = number
        body = self._alternatives()
        self._open.remove(number)
        group = frozenset((number,))
        return regex_nodes.changed(
            body, f"({body.text})", groups=body.groups | group, sure=body.sure | group, grouped=True, own=group
        )

    def _plain(self) -> Node:
        body = self._alternatives()
        return regex_nodes.changed(body, f"(?:{body.text})", grouped=True)

    def _ahead(self, kind: str) -> Node:
        body = self._alternatives()
        self._dirty |= body.groups
        return Node(
            f"(?{kind}{body.text})",
            groups=body.groups,
            sure=body.sure if kind == "=" else frozenset(),
            fixed=not body.groups,
            size=body.size,
            doubtful=body.doubtful,
            moody=True,
        )

    def _atomic(self) -> Node:
        body = self._alternatives()
        self._dirty |= body.groups
        return regex_nodes.changed(body, f"(?>{body.text})", rigid=True, grouped=True)

    def _behind(self, kind: str) -> Node:
        body = self._alternatives()
        if not body.bounded:
            raise self._error("Look-behind group does not have an obvious maximum length")
        self._dirty |= body.groups
        if body.rigid:
            raise self._unsupported(
                r"An atomic or possessive part, or a repeated \R in a look-behind", "leave it out of the look-behind"
            )
        if body.most > regex_nodes.MANY:
            raise self._unsupported("A look-behind with more than a repetition without a limit", "leave the rest out")
        return Node(
            f"(?<{'=' if kind == '=' else '!'}{body.text})",
            groups=body.groups,
            sure=body.sure if kind == "=" else frozenset(),
            fixed=not body.groups,
            size=body.size,
            doubtful=body.doubtful if body.fixed else body.doubtful | body.groups,
            moody=True,
        )

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

    def _escaped_node(self, char: str) -> Node:
        if char in "123456789":
            return self._numbered(int(char))
        if char in "AG":
            # A search starts at the text's start, and so does what \G looks for.
            return regex_nodes.anchor(r"\A")
        if char == "z":
            return regex_nodes.anchor(r"\z")
        if char == "Z":
            return regex_nodes.anchor(regex_nodes.END[False, self._flags.unix])
        if char == "B":
            return regex_nodes.anchor(f"(?!{regex_nodes.word_bound(self._flags.unicode_classes)})")
        if char == "b":
            if self._peek() == "{" and self._text.startswith("{g}", self._at):
                raise self._clusters(r"\b{g}")
            return regex_nodes.anchor(regex_nodes.word_bound(self._flags.unicode_classes))
        if char == "R":
            return Node(r"(?:\r\n|[\n\x0b\f\r\x85\u2028\u2029])", 1, 2, fixed=False, stiff=True)
        if char == "X":
            raise self._clusters(r"\X")
        return self._named()

    def _clusters(self, construct: str) -> UnsupportedPatternError:
        return self._unsupported(f"{construct} (grapheme clusters)", "write the characters")

    def _numbered(self, number: int) -> Node:
        while True:
            digit = self._peek()
            if not digit or digit not in DIGITS or number * 10 + int(digit) > self._count:
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
        if number in self._open:
            raise self._unsupported(f"A reference to group {number} from inside of it", "refer to it from behind it")
        self._referred.setdefault(number, self._at - 1)
        text = f"\\g<{number}>"
        if self._flags.insensitive:
            self._reference_case.add("iu" if self._flags.unicode_case else "i")
            text = f"(?i:{text})"
        return Node(text, bounded=False, moody=True)
