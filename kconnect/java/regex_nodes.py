"""
The parts of a translated pattern: their text for the `regex` package, and the lengths that Java computes for them.

`regex_parser.py` combines the parts. Java judges look-behinds and repeated groups by the lengths of their parts.
"""

from __future__ import annotations

from collections.abc import Iterable
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
    most: int = 0
    bounded: bool = True
    deterministic: bool = True
    groups: frozenset[int] = frozenset()
    sure: frozenset[int] = frozenset()  # those that have matched whenever the part has
    fixed: bool = True  # whether reading it backwards finds the same groups
    rigid: bool = False  # whether reading it backwards may find something else
    size: int = 1  # how much `regex` makes of it: what must be repeated, it writes out
    one: bool = False  # exactly one character of a set
    stiff: bool = False  # Java doesn't try a second way through it, if repeated
    grouped: bool = False  # has its own parentheses
    own: frozenset[int] = frozenset()  # the group that this part is
    repeated: frozenset[int] = frozenset()  # groups that Java takes back to an earlier repetition, if repeated again
    moody: bool = False  # may match nothing before it tries something, or only in some places
    doubtful: frozenset[int] = frozenset()  # groups that Java may leave with what a failed attempt found


# --- Nodes put together.


def _all(sets: Iterable[frozenset[int]]) -> frozenset[int]:
    return frozenset[int]().union(*sets)


def changed(node: Node, text: str, **changes: object) -> Node:
    return Node(**{**vars(node), "one": False, "grouped": False, "own": frozenset(), "text": text, **changes})  # type: ignore[arg-type]


def anchor(text: str) -> Node:
    """Return a node that takes no characters."""
    return Node(text, moody=True)


def one_of(chars: CharSet) -> Node:
    return Node(chars.pattern(), 1, 1, one=True)


def sequence(nodes: list[Node]) -> Node:
    if len(nodes) == 1:
        return nodes[0]
    return Node(
        "".join(node.text for node in nodes),
        sum(node.least for node in nodes),
        sum(node.most for node in nodes),
        all(node.bounded for node in nodes),
        all(node.deterministic for node in nodes),
        _all(node.groups for node in nodes),
        _all(node.sure for node in nodes),
        all(node.fixed for node in nodes),
        any(node.rigid for node in nodes),
        sum(node.size for node in nodes),
        stiff=any(node.stiff for node in nodes),
        moody=any(node.moody for node in nodes),
        repeated=_all(node.repeated for node in nodes),
        doubtful=_all(node.doubtful for node in nodes),
    )


def any_of(branches: list[Node]) -> Node:
    groups = _all(node.groups for node in branches)
    return Node(
        "|".join(node.text for node in branches),
        min(node.least for node in branches),
        max(node.most for node in branches),
        all(node.bounded for node in branches),
        False,
        groups,
        frozenset.intersection(*(node.sure for node in branches)),
        all(node.fixed for node in branches) and (not groups or len({(node.least, node.most) for node in branches}) == 1),
        any(node.rigid for node in branches),
        sum(node.size for node in branches),
        moody=any(node.moody for node in branches) or any(node.least == 0 for node in branches[:-1]),
        repeated=_all(node.repeated for node in branches),
        doubtful=_all(node.doubtful for node in branches),
    )


def repeat(node: Node, least: int, most: int, mode: str, optional: bool, loop: bool) -> Node:
    """`loop`: it is a group, not a look-around and not atomic. Java has three ways to repeat: see its lengths and groups."""
    single = node.one or node.grouped
    text = node.text if single else f"(?:{node.text})"
    if node.stiff and not (loop and optional and not mode):
        text = f"(?>{node.text})"
    sign = {(0, 1): "?", (0, MANY): "*", (1, MANY): "+"}.get((least, most))
    if sign is None:
        sign = f"{{{least}}}" if least == most else f"{{{least},}}" if most == MANY else f"{{{least},{most}}}"
    total = node.most * most
    counted = not optional and not (node.one and most == MANY and not mode)
    bounded = node.bounded and not (counted and total > MANY)
    doubtful, repeated = node.doubtful, node.repeated
    if loop and mode != "+" and not optional:
        if node.deterministic:
            doubtful |= node.groups - node.own
            if node.most == 0:
                doubtful |= node.groups
            if least != most:
                repeated |= node.own
        else:
            bounded = False
            if most > 1 and node.least == 0 and (least > 1 or node.moody):
                doubtful |= node.groups
    if most > 1:
        doubtful |= node.repeated
    return Node(
        f"{text}{sign}{mode}",
        node.least * least,
        total,
        bounded,
        node.deterministic and least == most and not optional,
        node.groups,
        node.sure if least else frozenset(),
        node.fixed and not node.groups,
        node.rigid or node.stiff or mode == "+",
        node.size * max(least, 1),
        moody=node.moody or (mode == "?" and least == 0),
        repeated=repeated,
        doubtful=doubtful,
    )


# --- Boundaries.


_BASE, _MARK = r"\p{L}\p{Nd}", r"\p{Mn}"


def word_bound(wide: bool) -> str:
    """
    Marks count as what they stand on, also where there is no letter but a mark: one is no word by itself.

    The one place with properties of `regex` in it, as it is frequent and the ranges take it long to read. They mean something
    else in its ASCII mode: see `without_properties`.
    """
    word = f"[{charsets.UNICODE_WORD if wide else f'{_BASE}_'}]"
    marked = f"(?<=[{_BASE}][{_MARK}]+)"
    left = f"(?:(?<={word})|{marked})"
    right = f"(?={word}|[{_MARK}]{marked})"
    return f"(?:{left}(?!{right})|(?!{left}){right})"


def without_properties(text: str) -> str:
    """The same pattern for the ASCII mode."""
    for body in (_BASE, f"{_BASE}_", charsets.UNICODE_WORD, _MARK):
        if f"[{body}]" in text:
            text = text.replace(f"[{body}]", charsets.of_class(body).pattern())
    return text
