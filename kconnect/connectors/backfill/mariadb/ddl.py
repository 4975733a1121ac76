"""
A table's columns and keys as they stand in `SHOW CREATE TABLE`, which is what Debezium reads them from, too.

Only what MariaDB itself prints is understood, not all that its users may type. Defaults are left as they are written: Debezium
takes a text's quotes away and leaves what is escaped within. Called by `tables.py`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kconnect.api import ConnectError

_TOKEN = re.compile(
    # Quotes may stay open, and comments are short, so that no text takes more time than it is long.
    r"(?P<name>`(?:[^`]|``)*(?:`|\Z))|(?P<text>[bBxX]?'(?:[^'\\]|''|\\.)*(?:'|\\?\Z))|(?P<comment>/\*[^*]{0,100}\*/)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<number>-?\d[0-9A-Za-z.+-]*|-?\.\d+)|(?P<sign>[^\s])",
    re.DOTALL,
)


class Token(NamedTuple):
    kind: str
    text: str

    @property
    def word(self) -> str:
        """The word that it is, in lower case; nothing for other tokens."""
        return self.text.lower() if self.kind == "word" else ""


class Column(NamedTuple):
    """
    `type` is in lower case, `arguments` are what stands in parentheses behind it: numbers, or the labels of an enum.
    `default` is the literal as it is written; `is_now` if it is the current time. Other expressions are no default.
    `comment` is as it is written, without its quotes.
    """

    name: str
    type: str
    arguments: Sequence[str]
    is_unsigned: bool
    is_optional: bool
    default: str | None
    is_now: bool
    comment: str | None


class Key(NamedTuple):
    """The name of an index, and its columns in order. `is_whole`: rows can be read in its order, by whole values."""

    name: str
    columns: Sequence[str]
    is_whole: bool


class Definition(NamedTuple):
    """The columns of a table, and the key that identifies its rows as Debezium chooses it: the primary, or a unique one."""

    columns: Sequence[Column]
    key: Key | None


def parse(statement: str) -> Definition:
    """Return what a statement of `SHOW CREATE TABLE` says. ConnectError if it can't be read."""
    columns: list[Column] = []
    primary: Key | None = None
    unique: list[Key] = []
    try:
        for item in _items(statement):
            first = item[0]
            if first.kind == "name":
                columns.append(_column(item))
            elif [token.word for token in item[:2]] == ["primary", "key"]:
                primary = _key("PRIMARY", item[2:])
            elif [token.word for token in item[:2]] == ["unique", "key"]:
                unique.append(_key(unquoted(item[2].text), item[3:]))
    except (IndexError, ValueError):
        raise ConnectError("The database describes a table in a way that is not understood") from None
    required = {column.name for column in columns if not column.is_optional}
    candidates = [primary] if primary else [key for key in unique if required.issuperset(key.columns)]
    return Definition(columns, candidates[0] if candidates else None)


def unquoted(name: str) -> str:
    """Return a name without its backticks."""
    return name[1:-1].replace("``", "`")


def _items(statement: str) -> Iterator[list[Token]]:
    """Yield the columns, keys and so on: what stands between the outer parentheses, with commas between."""
    depth, item = 0, list[Token]()
    for match in _TOKEN.finditer(statement):
        token = Token(str(match.lastgroup), match[0])
        depth += (token == ("sign", "(")) - (token == ("sign", ")"))
        if depth == 0 and token == ("sign", ")"):
            break
        if depth == 1 and token == ("sign", ","):
            yield item
            item = []
        elif depth > 1 or (depth == 1 and (item or token != ("sign", "("))):
            item.append(token)
    if item:
        yield item


def _column(item: list[Token]) -> Column:
    name, type_name = unquoted(item[0].text), item[1].word
    arguments: list[str] = []
    place = 2
    if place < len(item) and item[place] == ("sign", "("):
        end = item.index(Token("sign", ")"), place)
        arguments = [token.text for token in item[place + 1 : end] if token.kind in ("text", "number", "word")]
        place = end + 1
    rest = item[place:]
    outside = _outside(rest)
    words = [token.word for token in outside]
    default, is_now = _default(outside, words)
    comment = outside[words.index("comment") + 1].text[1:-1] if "comment" in words else None
    is_optional = not any(pair == ("not", "null") for pair in itertools.pairwise(words))
    return Column(name, type_name, arguments, "unsigned" in words, is_optional, default, is_now, comment)


def _outside(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens that are in no parentheses."""
    depth, outside = 0, []
    for token in tokens:
        depth -= token == ("sign", ")")
        if depth == 0:
            outside.append(token)
        depth += token == ("sign", "(")
    return outside


def _default(outside: Sequence[Token], words: Sequence[str]) -> tuple[str | None, bool]:
    if "default" not in words:
        return None, False
    value, *after = outside[words.index("default") + 1 :]
    if value.word in ("current_timestamp", "now"):
        return None, True
    is_literal = value.kind in ("text", "number") and not (after and after[0] == ("sign", "("))
    return (value.text if is_literal else None), False


def _key(name: str, item: list[Token]) -> Key:
    begin = item.index(Token("sign", "("))
    columns, is_whole, depth = [], True, 0
    for token in item[begin:]:
        depth += (token == ("sign", "(")) - (token == ("sign", ")"))
        if depth == 0:
            break
        if token.kind == "name":
            columns.append(unquoted(token.text))
        elif token.kind == "number":
            is_whole = False
        elif token.word == "without" and columns:
            # `p WITHOUT OVERLAPS`: a period, and no column.
            columns.pop()
            is_whole = False
    words = [token.word for token in item]
    # A long unique key, in whose order nothing can be read.
    is_whole = is_whole and ("using", "hash") not in itertools.pairwise(words)
    return Key(name, columns, is_whole)
