"""
A lake: the tables of a config, found, made and widened, as `LakeSinkTask` asks for them.

What differs between kinds stands below "Of each kind", for `iceberg/lake.py` and `delta/lake.py`. Read next: `task.py`.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import pyarrow as pa

from kconnect.api import ConnectError, DataError, TopicPartition
from kconnect.connectors.identity import Mark
from kconnect.connectors.lake import columns
from kconnect.connectors.lake.pending import AsideTarget, Target
from kconnect.connectors.lake.rows import Kinds
from kconnect.connectors.lake.settings import Names, of_tables

TopicIdsOf = Callable[[set[str]], Mapping[str, str]]
"""Gives the ids of topics, as far as they are known."""
TableT = TypeVar("TableT")
_REFUSED_S = 1.0
"""For so long a table that could not have a record's columns is taken for the same, if it can't have another's either."""


class AwayError(Exception):
    """A lake can't be reached, or is busy: it may be had later."""


def other_table(name: str) -> ConnectError:
    """Return the error of a table that is not the one which was looked at before."""
    return ConnectError(
        f"The table {name} is another one now: it was dropped and made again. To write to the new one, restart the task"
    )


class Lake(ABC, Generic[TableT]):
    names: Names
    kept = 1000
    """Of how many tables the metadata is kept."""
    can_empty = False
    """Whether a commit can take all away that a table had before."""
    empties = False
    """Whether it does so where a record says it."""
    kinds: Kinds
    """The types that its tables have not, and what they have in their place."""
    errors: tuple[type[Exception], ...]
    """All that it raises, but for mistakes of ours."""
    unfit: tuple[type[Exception], ...]
    """Those that mean that no table can have a field, or that this one can't."""
    refusals: tuple[type[Exception], ...]
    """Those that mean that a table may not be used, or can't be: it is elsewhere, or has what nobody here can read."""

    def __init__(self, config: Mapping[str, Any], props: Mapping[str, str]) -> None:
        names = self.names
        self._create: bool = config[names.create]
        self._evolve: bool = config[names.evolve]
        self._most: int = config[names.most_columns]
        self._optional: bool = config[names.optional]
        self._ids: Sequence[str] = config[names.ids]
        self._upserts: bool = config[names.upsert]
        self._own = of_tables(names, props)
        self._known: dict[str, TableT] = {}
        self._refused_at: dict[str, float] = {}
        """When a table was read anew, and could not have the columns of a record even so."""
        self._fitted: tuple[pa.Schema | None, tuple[pa.Schema, bool] | None] = (None, None)
        """The columns of a table, and those that it was last found to have: many puts of the same records ask."""

    def forget(self, name: str) -> None:
        """Look at it anew: somebody may have changed it, or deleted it."""
        self._known.pop(name, None)

    def existing(self, name: str) -> TableT | None:
        """Return a table as it was when it was looked at last; None if there is none."""
        table = self._known.get(name)
        if table is None:
            table = self.load(name)
            if table is not None:
                if len(self._known) >= self.kept:
                    # Records may name tables, as many as there are.
                    del self._known[next(iter(self._known))]
                self._known[name] = table
        return table

    def fresh(self, name: str) -> TableT | None:
        """Return a table as it is now. ConnectError if it was dropped and made again."""
        table = self.existing(name)
        if table is not None:
            self._known[name] = table = self.reread(name, table)
        return table

    def require_room(self, name: str, count: int) -> None:
        """Raise DataError for rows of so many columns, at the top, that the table can't have them, whatever they are called."""
        if count <= self._most:
            return
        table = self.existing(name)
        if table is None or count > len(self.schema(table)):
            raise DataError(f"it has {count} fields, and {self.names.most_columns} is {self._most}")

    def ids(self, name: str, table: TableT) -> list[str]:
        """Return the columns of its id. ConnectError if it has none."""
        names = self.set_ids(name) or self.own_ids(table)
        if not names:
            raise self._without_ids(name)
        return names

    def _without_ids(self, name: str) -> ConnectError:
        return ConnectError(f"The table {name} has no columns for ids: {self.names.ids} names them")

    def set_ids(self, name: str) -> list[str]:
        """Return the columns of a table's id that the config names, if it does."""
        id_columns = self._own.get(name, {}).get("id-columns", "")
        return [column.strip() for column in id_columns.split(",") if column.strip()] or list(self._ids)

    def ensure(self, name: str, wanted: pa.Schema, guessed: bool) -> TableT:
        """
        Return the table with all these columns. ConnectError if there is none, and none may be made. DataError if it has not
        these columns, and the config does not allow to change that. `guessed`: the types are those of values, not of a schema,
        so that narrower ones may do.
        """
        table = self.existing(name)
        if table is None:
            if not self._create:
                raise ConnectError(f"There is no table {name}: create it, or set {self.names.create}=true")
            if self._upserts and not self.set_ids(name):
                raise self._without_ids(name)
            columns.check_new(wanted, None, self._most, self.names.most_columns)
            first = pa.schema([field.with_nullable(True) for field in wanted]) if self._optional else wanted
            self.create(name, first)
            table = self.existing(name)
            if table is None:
                raise ConnectError(f"The table {name} was made, but is not there: check the rights of the user")
        if self._fits(table, wanted, guessed):
            return table
        if not self._evolve:
            missing = ", ".join(columns.lacking(self.schema(table), wanted))
            what = f"no column {missing}" if missing else "a narrower column than the records need"
            raise DataError(f"The table {name} has {what}: change it, or set {self.names.evolve}=true")
        looked_at = time.monotonic()
        is_known = looked_at < self._refused_at.get(name, -math.inf) + _REFUSED_S
        if not is_known:
            self._known[name] = table = self.reread(name, table)
        if not self._fits(table, wanted, guessed):
            try:
                columns.check_new(wanted, self.schema(table), self._most, self.names.most_columns)
                new = pa.schema([columns.optional(field) for field in wanted])
                self._known[name] = table = self.widen(name, table, new)
            except DataError:
                if not is_known:
                    self._note_refusal(name, looked_at)
                raise
            except BaseException:
                # Such as that somebody else has changed it.
                self._refused_at.pop(name, None)
                raise
        return table

    def _note_refusal(self, name: str, looked_at: float) -> None:
        """
        Have the table not read anew for each record that it can't have: whoever writes such records would hold up all others.
        """
        if len(self._refused_at) >= self.kept:
            self._refused_at.clear()
        self._refused_at[name] = looked_at

    def _fits(self, table: TableT, needed: pa.Schema, guessed: bool) -> bool:
        table_schema = self.schema(table)
        fitting = (needed, guessed)
        if table_schema is self._fitted[0] and fitting == self._fitted[1]:
            return True
        if columns.lacking(table_schema, needed):
            return False
        if not guessed and not all(self.takes(table_schema.field(field.name).type, field.type) for field in needed):
            return False
        self._fitted = (table_schema, fitting)
        return True

    # Of each kind.

    @abstractmethod
    def load(self, name: str) -> TableT | None:
        """Return a table as it is now; None if there is none."""

    @abstractmethod
    def reread(self, name: str, table: TableT) -> TableT:
        """Return the table as it is now. ConnectError if another one has its name."""

    @abstractmethod
    def schema(self, table: TableT) -> pa.Schema:
        """Return the columns that rows are written as."""

    @abstractmethod
    def own_ids(self, table: TableT) -> list[str]:
        """Return the columns of its id that the table itself names."""

    @abstractmethod
    def create(self, name: str, schema: pa.Schema) -> None:
        """Make a table, unless somebody else has. DataError, or one of `unfit`, if no table can have these columns."""

    @abstractmethod
    def widen(self, name: str, table: TableT, wanted: pa.Schema) -> TableT:
        """Return the table with these columns, too, which may be null. DataError as `create`."""

    def takes(self, column_type: pa.DataType, value_type: pa.DataType) -> bool:
        """Whether a column need not be made wider for values of a type; where it can't be, each value is looked at."""
        return True

    @abstractmethod
    def check_parts(self, table: TableT, rows: pa.Table) -> None:
        """Raise DataError for rows of which no folder of a partition can be made, or that the table refuses."""

    @abstractmethod
    def partitions_of(self, table: TableT, rows: pa.Table) -> set[tuple[Hashable, ...]]:
        """Return the partitions of the table that rows come into; there are none if it has none."""

    @abstractmethod
    def mark(self, table: TableT, place: TopicPartition, topic_ids: TopicIdsOf) -> Mark | None:
        """Return what the table has of a partition of Kafka; None if it knows nothing of it."""

    @abstractmethod
    def target(self, name: str, topic_ids: TopicIdsOf) -> Target | AsideTarget:
        """Return the table as it is now, to commit to it. ConnectError if it is gone, or another one has its name."""

    @abstractmethod
    def lets_in(self) -> bool:
        """Whether the lake answers this user at all. What it raises is in `errors`."""

    @abstractmethod
    def passes(self, error: Exception) -> bool:
        """Whether another try may succeed."""

    @abstractmethod
    def is_away(self, error: Exception) -> bool:
        """Whether an error is the way's to the lake, and says nothing of a table."""

    @abstractmethod
    def forbids(self, error: Exception) -> bool:
        """Whether the user may not do that with the table."""

    @abstractmethod
    def reason(self, error: Exception) -> str:
        """Return the reason in one line."""
