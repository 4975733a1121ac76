"""
Keys of tables, by which they are read in order and divided: as texts that offsets can hold, and as conditions of a statement.

The order is the database's own, with its collations; a key is compared as it was stored, byte by byte in its own character set.
What is put into a statement is checked, for offsets come from a topic. Called by `tables.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kconnect.api import ConnectError
from kconnect.connectors.backfill.mariadb.ddl import Column
from kconnect.connectors.backfill.mariadb.types import BINARIES, TEXTS

_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")
_TIMES = ("date", "datetime", "timestamp", "time")
_NUMBER = re.compile(r"-?\d{1,70}(?:\.\d{1,40})?")
_TIME = re.compile(r"[0-9:. -]{1,40}")
_HEX = re.compile(r"(?:[0-9A-F]{2})*")
_UUID = re.compile(r"[0-9a-f-]{36}")
_CHARSET = re.compile(r"[a-z0-9_]{1,32}")


def quoted(name: str) -> str:
    """Return a name as it stands in a statement, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


class KeyColumn(NamedTuple):
    """A column of a key. `charset` is that of its texts. `form` is what else its order follows from."""

    name: str
    type: str
    charset: str | None
    form: str = ""

    @property
    def identity(self) -> str:
        """Return what is the same as long as values keep their order and texts: who alters that has rows sorted anew."""
        return " ".join(filter(None, (self.name, self.type, self.form)))

    @property
    def is_integer(self) -> bool:
        return self.type in _INTEGERS

    @property
    def is_ordered(self) -> bool:
        """Whether rows can be read in its order, and from one of its values on."""
        if self.type in TEXTS:
            return self.charset is not None and _CHARSET.fullmatch(self.charset) is not None
        return self.type in (*_INTEGERS, *_TIMES, *BINARIES, "decimal", "year", "uuid", "bit", "enum", "set")

    @property
    def selected(self) -> str:
        """Return what to select for the text of a value."""
        name = quoted(self.name)
        return f"HEX({name})" if self.type in TEXTS or self.type in BINARIES else f"CAST({self._compared} AS CHAR)"

    @property
    def _compared(self) -> str:
        # Compared with a text, an enum would be one; its order is that of its numbers.
        return f"({quoted(self.name)} + 0)" if self.is_compared_otherwise else quoted(self.name)

    @property
    def is_compared_otherwise(self) -> bool:
        return self.type in ("enum", "set", "bit")

    def condition(self, operator: str, text: str) -> str:
        """Return a comparison with a value. ConnectError if that is none."""
        return f"{self._compared} {operator} {self._literal(text)}"

    def _literal(self, text: str) -> str:
        if self.type in TEXTS:
            return f"_{self.charset} x'{_checked(_HEX, text)}'"
        if self.type in BINARIES:
            return f"x'{_checked(_HEX, text)}'"
        if self.type == "uuid":
            return f"'{_checked(_UUID, text)}'"
        return f"'{_checked(_TIME, text)}'" if self.type in _TIMES else _checked(_NUMBER, text)


def _checked(form: re.Pattern[str], text: str) -> str:
    if not form.fullmatch(text):
        raise ConnectError("An offset of the backfill holds a key that is none: reset its offsets, to begin it anew")
    return text


def of_columns(
    columns: Sequence[Column], names: Sequence[str], texts: Mapping[str, tuple[str | None, str | None]]
) -> tuple[KeyColumn, ...]:
    """Return the columns of a key. `texts` has the character sets and collations of the table's texts, by column."""
    by_name = {column.name: column for column in columns}
    return tuple(_of_column(by_name[name], *texts.get(name, (None, None))) for name in names)


def _of_column(column: Column, charset: str | None, collation: str | None) -> KeyColumn:
    is_only_longer = column.type in (*_INTEGERS, *TEXTS) or (column.type in BINARIES and column.type != "binary")
    arguments = "" if is_only_longer else ",".join(column.arguments)
    form = " ".join(filter(None, (arguments, "unsigned" if column.is_unsigned else "", collation)))
    return KeyColumn(column.name, column.type, charset, form)


def behind(columns: Sequence[KeyColumn], values: Sequence[str], operator: str = ">") -> str:
    """
    Return the condition for rows behind a key, or at it or behind with `>=`, before it with `<`. Of the key there may be the
    first values only.
    """
    strict = operator[0]
    parts: list[str] = []
    for place in range(len(values)):
        same = [columns[number].condition("=", values[number]) for number in range(place)]
        last = operator if place == len(values) - 1 else strict
        parts.append(" AND ".join([*same, columns[place].condition(last, values[place])]))
    # The first column alone, too, so that the database reads its index from there.
    outer = columns[0].condition(f"{strict}=", values[0])
    return f"{outer} AND ({' OR '.join(f'({part})' for part in parts)})" if len(parts) > 1 else parts[0]


def order(columns: Sequence[KeyColumn]) -> str:
    """Return what to order by."""
    return ", ".join(quoted(column.name) for column in columns)
