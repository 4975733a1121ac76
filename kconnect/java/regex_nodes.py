"""
The parts of a translated pattern: their text for the `regex` package, and what Java works out of them.

`regex_parser.py` puts them together. Java judges look-behinds and repeated groups by the lengths of their parts, with sums of
32 bits that may overflow; a pattern that only works because of that works here.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from kconnect.java import charsets
from kconnect.java.charsets import CharSet

MANY = 0x7FFFFFFF

_TERMINATOR = r"[\n\r\x85\u2028\u2029]"
END = {
    # Before a line end of the text's last line, but not inside of \r\n.
    (False, False): r"(?:\z|(?=\r\n\z)|(?=[\r\x85\u2028\u2029]\z)|(?<!\r)(?=\n\z))",
    (False, True): r"(?=\n?\z)",
    (True, False): r"(?:\z|(?=[\r\x85\u2028\u2029])|(?<!\r)(?=\n))",
    (True, True): r"(?:\z|(?=\n))",
}
START = {
    # A line doesn't start at the very end, and not inside of \r\n.
    False: rf"(?:(?<![\s\S])|(?<={_TERMINATOR})(?<!\r(?=\n)))(?=[\s\S])",
    True: r"(?<![^\n])(?=[\s\S])",
}


@dataclass(frozen=True)
class Node:
    """A part of the pattern, and what Java works out of it to judge look-behinds and repetitions."""

    text: str
    least: int = 0
    most: int = 0  # wraps at 32 bits, as Java's
    bounded: bool = True
    deterministic: bool = True
    groups: frozenset[int] = frozenset()
    sure: frozenset[int] = frozenset()  # those that have matched whenever the part has
    fixed: bool = True  # whether reading it backwards finds the same groups
    one: bool = False  # exactly one character of a set
    stiff: bool = False  # Java doesn't try a second way through it, if repeated


def wrap(number: int) -> int:
    return (number + 0x80000000) % 0x100000000 - 0x80000000


# --- Nodes put together.


def changed(node: Node, text: str, **changes: object) -> Node:
    return Node(**{**vars(node), "one": False, "text": text, **changes})  # type: ignore[arg-type]


def one_of(chars: CharSet) -> Node:
    return Node(chars.pattern(), 1, 1, one=True)


def sequence(nodes: list[Node]) -> Node:
    if len(nodes) == 1:
        return nodes[0]
    most = 0
    for node in nodes:
        most = wrap(most + node.most)
    return Node(
        "".join(node.text for node in nodes),
        sum(node.least for node in nodes),
        most,
        all(node.bounded for node in nodes),
        all(node.deterministic for node in nodes),
        frozenset().union(*(node.groups for node in nodes)),
        frozenset().union(*(node.sure for node in nodes)),
        all(node.fixed for node in nodes),
        stiff=any(node.stiff for node in nodes),
    )


def any_of(branches: list[Node]) -> Node:
    groups = frozenset[int]().union(*(node.groups for node in branches))
    return Node(
        "|".join(node.text for node in branches),
        min(node.least for node in branches),
        max(node.most for node in branches),
        all(node.bounded for node in branches),
        False,
        groups,
        frozenset.intersection(*(node.sure for node in branches)),
        all(node.fixed for node in branches) and (not groups or len({(node.least, node.most) for node in branches}) == 1),
    )


def repeat(node: Node, least: int, most: int, mode: str, optional: bool, group: bool = False) -> Node:
    text = node.text if node.one or group else f"(?:{node.text})"
    if node.stiff:
        text = f"(?>{node.text})"
    sign = {(0, 1): "?", (0, MANY): "*", (1, MANY): "+"}.get((least, most))
    if sign is None:
        sign = f"{{{least}}}" if least == most else f"{{{least},}}" if most == MANY else f"{{{least},{most}}}"
    total = wrap(node.most * most)
    bounded = node.bounded and total >= 0
    if group and mode != "+" and not optional and not node.deterministic:
        bounded = False
    return Node(
        f"{text}{sign}{mode}",
        node.least * least,
        total,
        bounded,
        node.deterministic and least == most and not optional,
        node.groups,
        node.sure if least else frozenset(),
        not node.groups and mode != "+",
    )


# --- Boundaries.


@functools.lru_cache(maxsize=2)
def word_bound(wide: bool) -> str:
    """Marks count as what they stand on, also where there is no letter but a mark: one is no word by itself."""
    base = charsets.letter_or_digit()
    word = charsets.unicode_word() if wide else base | CharSet.of(ord("_"))
    marks = charsets.unicode("Mn").pattern()
    marked = f"(?<={base.pattern()}{marks}+)"
    left = f"(?:(?<={word.pattern()})|{marked})"
    right = f"(?={word.pattern()}|{marks}{marked})"
    return f"(?:{left}(?!{right})|(?!{left}){right})"


@functools.lru_cache(maxsize=1)
def cluster_bound() -> str:
    def kind(*names: str) -> str:
        return charsets.categories(*(f"Grapheme_Cluster_Break={name}" for name in names)).pattern()

    control = kind("Control", "CR", "LF")
    joined = "|".join(
        (
            r"(?<=\r)(?=\n)",
            f"(?<!{control})(?={kind('Extend', 'ZWJ', 'SpacingMark')})",
            f"(?<={kind('Prepend')})(?!{control})",
            f"(?<={kind('L')})(?={kind('L', 'V', 'LV', 'LVT')})",
            f"(?<={kind('LV', 'V')})(?={kind('V', 'T')})",
            f"(?<={kind('LVT', 'T')})(?={kind('T')})",
            f"(?<={kind('Regional_Indicator')})(?={kind('Regional_Indicator')})",
        )
    )
    return rf"(?:\A|\z|(?!{joined}))"
