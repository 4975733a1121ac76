"""
Offsets beside the rows, in a table of the same database, so that a transaction has both or none of them.

A task that gets a partition raises its epoch there, and begins where the table says. Whoever wrote for the partition before
finds another epoch in its next transaction, and writes nothing: so a task that was given up for dead, but lives, can't repeat a
row. It holds through rebalances, since the epoch does not ask who a task is. Called by `task.py` and `connector.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sqlalchemy as sa

from kconnect.api import ConnectError, TopicPartition

COLUMNS = frozenset(("connector", "topic", "part", "next_offset", "epoch"))
"""Those of a table of offsets: one that has them takes no records."""


class LostError(ConnectError):
    """Another task has taken a partition over."""


class Offsets:
    """Of one connector, in the table of that name; a dot separates a schema."""

    def __init__(self, engine: sa.Engine, name: str, connector: str) -> None:
        self._engine, self._connector = engine, connector
        schema, _, table = name.rpartition(".")
        key = sa.String(200)
        self._table = sa.Table(
            table,
            sa.MetaData(),
            sa.Column("connector", key, primary_key=True),
            sa.Column("topic", sa.String(249), primary_key=True),
            sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
            sa.Column("next_offset", sa.BigInteger, nullable=False),
            sa.Column("epoch", sa.BigInteger, nullable=False),
            schema=schema or None,
        )
        self._epochs: dict[TopicPartition, int] = {}

    def create(self) -> None:
        """If it is missing."""
        self._table.create(self._engine, checkfirst=True)

    def take(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Take partitions over. Where to begin in those that were written before; -1 is not known."""
        found = {}
        with self._engine.begin() as connection:
            for each in partitions:
                row = connection.execute(self._row(each).with_for_update()).one_or_none()
                epoch = 1 if row is None else row.epoch + 1
                if row is None:
                    values = {"connector": self._connector, "topic": each.topic, "part": each.partition}
                    connection.execute(sa.insert(self._table).values(**values, next_offset=-1, epoch=epoch))
                else:
                    connection.execute(self._update(each).values(epoch=epoch))
                    found[each] = row.next_offset
                self._epochs[each] = epoch
        return found

    def leave(self, partitions: Iterable[TopicPartition]) -> None:
        for each in partitions:
            self._epochs.pop(each, None)

    def lock(self, connection: sa.Connection, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """
        In the transaction of the rows, before these: the offset that is to be written next, of each. LostError if another task
        has taken one over.
        """
        found = {}
        for each in sorted(partitions):
            row = connection.execute(self._row(each).with_for_update()).one_or_none()
            if row is None or row.epoch != self._epochs.get(each):
                raise LostError(f"{each.topic}-{each.partition} was taken over by another task of {self._connector}")
            found[each] = row.next_offset
        return found

    def store(self, connection: sa.Connection, offsets: Mapping[TopicPartition, int]) -> None:
        for each, offset in sorted(offsets.items()):
            connection.execute(self._update(each).values(next_offset=offset))

    def alter(self, offsets: Mapping[TopicPartition, int | None]) -> None:
        """For a connector that is stopped; None forgets a partition."""
        if not sa.inspect(self._engine).has_table(self._table.name, self._table.schema):
            return
        with self._engine.begin() as connection:
            for each, offset in offsets.items():
                # None and unknown are the same: the group's offset holds.
                connection.execute(self._update(each).values(next_offset=-1 if offset is None else offset))

    def _here(self, each: TopicPartition) -> list[sa.ColumnElement[bool]]:
        columns = self._table.columns
        return [columns.connector == self._connector, columns.topic == each.topic, columns.part == each.partition]

    def _row(self, each: TopicPartition) -> sa.Select[tuple[int, int]]:
        columns = self._table.columns
        return sa.select(columns.next_offset, columns.epoch).where(*self._here(each))

    def _update(self, each: TopicPartition) -> sa.Update:
        return sa.update(self._table).where(*self._here(each))
