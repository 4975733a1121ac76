"""A table as the rows of a task come into it: their schema is the table's of now, and offsets go along. For `lake.py`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from pyiceberg.table import Table

from kconnect.api import TopicPartition
from kconnect.connectors.iceberg import commits, staging
from kconnect.connectors.iceberg.columns import arrow_of
from kconnect.connectors.lake import rows
from kconnect.connectors.lake.pending import Part
from kconnect.connectors.lake.stages import Stage, StaleError


class TableTarget:
    """
    `table` was just read. `topic_ids` gives the ids of topics as far as they are known, `ids` the columns by which rows are
    replaced, or None. `locations` are the folders in which the files of those may be, beside the table's.
    """

    def __init__(
        self,
        table: Table,
        connector: str,
        topic_ids: Callable[[set[str]], Mapping[str, str]],
        ids: list[str] | None,
        locations: Sequence[str],
    ) -> None:
        self._table, self._connector, self._topic_ids = table, connector, topic_ids
        self._ids, self._locations = ids, locations

    def stored(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return commits.stored(self._table, self._connector, places)

    def known(self, topics: Collection[str]) -> list[TopicPartition]:
        return staging.known(self._table, self._connector, topics)

    def append(self, parts: Mapping[TopicPartition, Part]) -> None:
        wanted = arrow_of(self._table)
        deleted, ids = None, self._ids
        if ids is None:
            made = rows.together(parts.values(), wanted)
        else:
            made, deleted, _ = rows.last_of_each(parts.values(), wanted, ids)
            if not len(made) and not len(deleted):
                deleted = ids = None
        begins = {place: part.begin for place, part in parts.items()}
        topic_ids = self._topic_ids({place.topic for place in parts})
        commits.commit(self._table, made, self._connector, begins, _ends(parts), ids, topic_ids, self._locations, deleted)

    def stage(self, parts: Mapping[TopicPartition, Part]) -> Stage:
        begins = {place: part.begin or 0 for place, part in parts.items()}
        return staging.made(self._table, rows.together(parts.values(), arrow_of(self._table)), begins, _ends(parts))

    def publish(self, stage: Stage) -> None:
        staging.publish(self._table, self._connector, stage)

    def withdraw(self, stage: Stage) -> None:
        staging.withdraw(self._table, self._connector, stage)

    def published(self, places: Collection[TopicPartition]) -> list[Stage]:
        return staging.published(self._table, self._connector, places)

    def commit(self, stages: Sequence[Stage]) -> None:
        topics = {place.topic for stage in stages for place in stage.ends}
        try:
            staging.commit(self._table, self._connector, stages, self._topic_ids(topics))
        except StaleError:
            return  # Whether a stage was too late, its task sees by the table's offsets.


def _ends(parts: Mapping[TopicPartition, Part]) -> dict[TopicPartition, int]:
    return {place: part.next for place, part in parts.items()}
