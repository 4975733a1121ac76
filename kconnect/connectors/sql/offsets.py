"""
Offsets beside the rows, in a table of the same database, so that a transaction has both or none of them.

A task that gets a partition raises its epoch there, and begins where the table says. Whoever wrote for the partition before
finds another epoch in its next transaction, and writes nothing: so a task that was given up for dead, but lives, can't repeat a
row. It holds through rebalances, since the epoch does not ask who a task is. Beside each offset is the topic's id, which
`connectors/identity.py` compares. Called by `task.py` and `connector.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from kconnect.api import ConnectError, TopicPartition
from kconnect.connectors.identity import Mark
from kconnect.connectors.sql import database, owners

log = logging.getLogger(__name__)

COLUMNS = frozenset(("connector", "topic", "part", "next_offset", "epoch"))
"""Those of a table of offsets: one that has them takes no records."""
_ID = "topic_id"


class LostError(ConnectError):
    """Another task has taken a partition over."""


class Offsets:
    """The offsets of one connector, in the table of that name; a dot separates a schema."""

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
            sa.Column(_ID, sa.String(40)),
            schema=schema or None,
            # A server may have another one by default, in which nothing is taken back.
            mysql_engine="InnoDB",
            mariadb_engine="InnoDB",
        )
        self._epochs: dict[TopicPartition, int] = {}
        self._has_ids = True
        self.with_rows = True
        """Whether what is stored in a transaction is not there without its rows."""

    @property
    def name(self) -> str:
        return f"The table {self._table.fullname}"

    def create(self) -> None:
        """Create the table if it is missing, or the column that tables of older versions have not."""
        if not self._is_there():
            self._table.create(self._engine, checkfirst=False)
        self._look()
        if not self.with_rows:
            log.warning(
                "%s has an engine without transactions: rows are written at least once. ALTER TABLE … ENGINE=InnoDB helps",
                self.name,
            )
        if self._has_ids:
            return
        column = self._table.columns[_ID]
        kind = column.type.compile(self._engine.dialect)
        table = self._engine.dialect.identifier_preparer.format_table(self._table)
        try:
            with self._engine.begin() as connection:
                connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {_ID} {kind}")
        except SQLAlchemyError as error:
            if database.passes(error):
                raise
            reason = database.reason(error)
        else:
            reason = ""
        # Another task may have been quicker.
        self._look()
        if not self._has_ids:
            log.warning(
                "%s has no column %s, and none can be added (%s): a topic that is made anew is noticed only if it is shorter",
                self.name,
                _ID,
                reason,
            )

    def _look(self) -> None:
        with owners.inspected(self._engine, self._table.name, self._table.schema) as (inspector, schema):
            columns = inspector.get_columns(self._table.name, schema)
            self._has_ids = any(column["name"].casefold() == _ID for column in columns)
            if self._engine.dialect.name in ("mysql", "mariadb"):
                self.with_rows = database.are_of_transactions(inspector.get_table_options(self._table.name, schema))

    def _is_there(self) -> bool:
        with owners.inspected(self._engine, self._table.name, self._table.schema) as (inspector, schema):
            return inspector.has_table(self._table.name, schema)

    def take(
        self,
        partitions: Collection[TopicPartition],
        ids: Mapping[str, str],
        check: Callable[[Mapping[TopicPartition, Mark]], None],
    ) -> dict[TopicPartition, int]:
        """
        Take partitions over, of topics with these ids, unless `check` raises for what is stored. Where to begin in those that
        were written before; -1 is not known.
        """
        with self._engine.begin() as connection:
            rows = {
                partition: connection.execute(self._row(partition).with_for_update()).one_or_none()
                for partition in sorted(partitions)
            }
            stored = {partition: row for partition, row in rows.items() if row is not None}
            check({partition: Mark(row.next_offset, row.topic_id) for partition, row in stored.items()})
            for partition in rows:
                epoch = stored[partition].epoch + 1 if partition in stored else 1
                id_values = {_ID: ids[partition.topic]} if self._has_ids and partition.topic in ids else {}
                if partition in stored:
                    connection.execute(self._update(partition).values(epoch=epoch, **id_values))
                else:
                    values = {"connector": self._connector, "topic": partition.topic, "part": partition.partition, **id_values}
                    connection.execute(sa.insert(self._table).values(**values, next_offset=-1, epoch=epoch))
                self._epochs[partition] = epoch
        return {partition: row.next_offset for partition, row in stored.items()}

    def leave(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self._epochs.pop(partition, None)

    def lock(self, connection: sa.Connection, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """
        Lock the offsets in the transaction of the rows, before these. Return the offset that is to be written next, of each
        partition. Raise LostError if another task has taken one over.
        """
        next_offsets = {}
        for partition in sorted(partitions):
            row = connection.execute(self._row(partition).with_for_update()).one_or_none()
            if row is None or row.epoch != self._epochs.get(partition):
                raise LostError(f"{partition.topic}-{partition.partition} was taken over by another task of {self._connector}")
            next_offsets[partition] = row.next_offset
        return next_offsets

    def store(self, connection: sa.Connection, offsets: Mapping[TopicPartition, int]) -> None:
        for partition, offset in sorted(offsets.items()):
            connection.execute(self._update(partition).values(next_offset=offset))

    def alter(self, offsets: Mapping[TopicPartition, int | None]) -> None:
        """Change the offsets of a connector that is stopped; None forgets a partition."""
        if not self._is_there():
            return
        self._look()
        # Whatever topic there is by then, it is meant.
        id_values = {_ID: None} if self._has_ids else {}
        with self._engine.begin() as connection:
            for partition, offset in offsets.items():
                # None and unknown are the same: the group's offset holds.
                connection.execute(self._update(partition).values(next_offset=-1 if offset is None else offset, **id_values))

    def _here(self, partition: TopicPartition) -> list[sa.ColumnElement[bool]]:
        columns, backend = self._table.columns, self._engine.dialect.name
        wanted = {"connector": self._connector, "topic": partition.topic, "part": partition.partition}
        return [owners.compared(backend, columns[name], "=", value) for name, value in wanted.items()]

    def _row(self, partition: TopicPartition) -> sa.Select[tuple[int, int, str | None]]:
        columns = self._table.columns
        topic_id = columns[_ID] if self._has_ids else sa.null().label(_ID)
        return sa.select(columns.next_offset, columns.epoch, topic_id).where(*self._here(partition))

    def _update(self, partition: TopicPartition) -> sa.Update:
        return sa.update(self._table).where(*self._here(partition))
