"""
SparkTarget: how a task has the application commit rows to a table, while it goes on reading.

Whether a commit was made, and what the table has then, is the application's answer; a task that never hears it reads its
records again, and those that the table has are passed over. Made by `lake.py`. Read next: `lake/pending.py`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kconnect.api import TopicPartition
from kconnect.connectors.lake import lakes, rows
from kconnect.connectors.lake.pending import Part
from kconnect.connectors.lake.stages import Stage
from kconnect.connectors.spark.application import Answer

if TYPE_CHECKING:
    from kconnect.connectors.spark.lake import SparkLake, SparkTable

_numbers = itertools.count(1)


class Flight(NamedTuple):
    """A commit that was asked for, by the number of its stage, and when."""

    number: int
    answer: Future[Answer]
    since: float
    rows: int
    bytes: int


class SparkTarget:
    """A table as a task knows it. `ids` are the columns by which rows are replaced, or None."""

    def __init__(self, lake: SparkLake, table: SparkTable, topic_ids: lakes.TopicIdsOf, ids: Sequence[str] | None) -> None:
        self._lake, self._table, self._topic_ids, self._ids = lake, table, topic_ids, ids

    def begin(self, parts: Mapping[TopicPartition, Part]) -> Stage:
        """Have rows committed. StaleError if the table has not the columns that they were made for."""
        table = self._table
        mark: str | None = None
        empties = rows.is_emptied(parts.values())
        if self._ids is None:
            made = rows.together(parts.values(), table.schema)
        else:
            made, deleted, anew = rows.last_of_each(parts.values(), table.schema, self._ids, self._lake.order)
            if not empties:
                made, mark = rows.marked(made, deleted, anew)
        head: dict[str, Any] = {
            "do": "write",
            **self._lake.head(table.name),
            "identity": table.identity,
            "partitions": [list(part) for part in table.partitions],
            "begins": [[*place, part.begin] for place, part in parts.items()],
            "ends": [[*place, part.next] for place, part in parts.items()],
            "topic_ids": dict(self._topic_ids({place.topic for place in parts})),
            "ids": list(self._ids or ()),
            "mark": mark,
            # A table may have got no row yet that has it.
            "order": self._lake.order if self._lake.order in table.schema.names else "",
            "empties": empties,
            **self._lake.may(),
        }
        since, stream = time.monotonic(), _stream(made)
        flight = Flight(next(_numbers), self._lake.begin(head, stream), since, len(made), stream.size)
        self._lake.flights[table.name] = flight
        return Stage(flight.number, "", {}, {place: part.next for place, part in parts.items()})

    def settled(self, stage: Stage) -> bool | None:
        """
        Return whether a commit was made; None if it was not, and never will be. SparkFault, once, if it failed. ConnectError if
        the table is another one.
        """
        flight = self._lake.flights.get(self._table.name)
        if flight is None or flight.number != stage.snapshot:
            return None
        if not flight.answer.done():
            return False
        del self._lake.flights[self._table.name]
        answer = flight.answer.result()
        table = self._lake.told(self._table.name, answer)
        if self._table.identity is not None and (table is None or table.identity != self._table.identity):
            raise lakes.other_table(self._table.name)
        if answer.outcome == "committed":
            assert table is not None
            self._lake.note(table)
            waited_s = time.monotonic() - flight.since - answer.seconds
            self._lake.rounds[table.name].add(flight.rows, flight.bytes, answer.seconds, waited_s)
            return True
        self._lake.replace(self._table.name, table)
        return None


def _stream(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
