"""
Commits: rows and the offsets behind them, in one snapshot, or none of them.

The offset of each partition of Kafka is a property of the snapshot. Who commits says from which offset its rows begin: if
the table has another one by then, somebody else has written, and nothing is. So it holds through crashes between a commit and
Kafka's, and for two tasks that both think that they own a partition. Beside each offset is the topic's id, which
`connectors/identity.py` compares. Called by `lake.py`, `targets.py`, `staging.py` and
`connector.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table, Transaction

from kconnect.api import ConfigError, ConnectError, TopicPartition
from kconnect.connectors.iceberg import upserts
from kconnect.connectors.iceberg.columns import arrow_of
from kconnect.connectors.iceberg.places import Places
from kconnect.connectors.identity import Mark
from kconnect.connectors.lake.stages import StaleError

_OFFSET = re.compile(r"-?[0-9]{1,19}")
Offsets = Mapping[TopicPartition, int]
Begins = Mapping[TopicPartition, int | None]
Ids = Mapping[str, str]
NO_IDS: Ids = {}


def name_of(connector: str, place: TopicPartition) -> str:
    """Return the name of the property that has the offset of a partition."""
    return f"kconnect.offset.{connector}.{place.topic}.{place.partition}"


def _id_of(name: str) -> str:
    """Return the name of the property with the topic's id; it stands beside the one with an offset."""
    return name.replace("offset", "topic-id", 1)


def _owners(connector: str, places: Iterable[TopicPartition]) -> dict[str, str]:
    """
    Return the properties that say whose the offsets are. The connector `a` with the topic `b.c` and the connector `a.b` with
    the topic `c` have one property: who has committed first has it.
    """
    return {
        name_of(connector, place).replace("offset", "owner", 1): connector
        for place in places
        if "." in connector or "." in place.topic
    }


def _require_own(table: Table, connector: str, places: Iterable[TopicPartition]) -> None:
    """Raise ConfigError if offsets of these partitions are another connector's, by whose offsets records would be skipped."""
    for name in _owners(connector, places):
        owner = table.properties.get(name, connector)
        if owner != connector:
            rule = (
                f"The table {'.'.join(table.name())} has offsets of the connector {owner} by the same name as those of "
                f"{connector} ({name.replace('owner', 'offset', 1)}). Give one of them a name without dots, or another table"
            )
            raise ConfigError("name", connector, rule)


def stored(table: Table, connector: str, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """The offsets that the table has, of these partitions: none of a partition that it knows nothing of."""
    return {place: mark.offset for place, mark in marks(table, connector, places).items()}


def marks(table: Table, connector: str, places: Iterable[TopicPartition]) -> dict[TopicPartition, Mark]:
    """Return what `stored` does, each with the id of its topic, as far as that was known."""
    place_by_name = {name_of(connector, place): place for place in places}
    _require_own(table, connector, place_by_name.values())
    result: dict[TopicPartition, Mark] = {}
    # pyiceberg goes through all of them to find one.
    snapshots = {snapshot.snapshot_id: snapshot for snapshot in table.metadata.snapshots}
    snapshot = table.current_snapshot()
    # A table that is rolled back has the offsets of then.
    while snapshot is not None and place_by_name:
        summary = snapshot.summary.additional_properties if snapshot.summary is not None else {}
        for name in place_by_name.keys() & summary.keys():
            result[place_by_name.pop(name)] = Mark(_offset(table, name, summary[name]), summary.get(_id_of(name)) or None)
        snapshot = snapshots.get(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id is not None else None
    # Snapshots are thrown away at some time.
    for name in place_by_name.keys() & table.properties.keys():
        offset = _offset(table, name, table.properties[name])
        result[place_by_name[name]] = Mark(offset, table.properties.get(_id_of(name)) or None)
    return {place: mark for place, mark in result.items() if mark.offset >= 0}


def _offset(table: Table, name: str, text: str) -> int:
    """Return an offset that a table has. Raise ConnectError if somebody has written something else there."""
    if not _OFFSET.fullmatch(text):
        raise ConnectError(f"The table {'.'.join(table.name())} has an offset that is none: {name}. Take that property away")
    return int(text)


class _Checked(Transaction):
    """A transaction that is tried again on what others have committed only if that was not about the same partitions."""

    def __init__(self, table: Table, connector: str, begins: Begins) -> None:
        super().__init__(table)
        self._connector, self._begins = connector, begins

    def check(self) -> None:
        stored_offsets = stored(self._table, self._connector, self._begins)
        if any(stored_offsets.get(place) != begin for place, begin in self._begins.items()):
            raise StaleError

    def _rebuild_snapshot_updates(self) -> None:
        self.check()
        super()._rebuild_snapshot_updates()


def _begun(table: Table, connector: str, begins: Begins, ends: Offsets, ids: Ids) -> tuple[_Checked, dict[str, Any]]:
    """A transaction that sets the offsets `ends`, and them as the properties of its snapshot."""
    offsets: dict[str, Any] = {name_of(connector, place): str(end) for place, end in ends.items()}
    # An id that is not known takes that of an older topic's offset away.
    offsets |= {_id_of(name_of(connector, place)): ids.get(place.topic, "") for place in ends}
    transaction = _Checked(table, connector, begins)
    transaction.check()
    transaction.set_properties({**offsets, **_owners(connector, ends)})
    return transaction, offsets


def commit(
    table: Table,
    rows: pa.Table,
    connector: str,
    begins: Begins,
    ends: Offsets,
    columns: list[str] | None = None,
    ids: Ids = NO_IDS,
    locations: Sequence[str] = (),
    deleted: pa.Table | None = None,
) -> None:
    """
    Append the rows, or with `columns` replace those with the same values there, and take out those with the values of
    `deleted`: the files that have them may be in the folders `locations`, too. `ids` are those of topics. StaleError if the
    table has not the offsets `begins` any more, and other errors as catalogs and files raise them: then it may have succeeded,
    and `stored` says so.
    """
    table.refresh()
    transaction, offsets = _begun(table, connector, begins, ends, ids)
    if columns is not None:
        gone = rows.select(columns) if deleted is None else pa.concat_tables([rows.select(columns), deleted])
        if len(gone):
            # The offsets are at the last snapshot only: before it, the rows are gone.
            upserts.remove(transaction, gone, columns, Places(table, locations))
    transaction.append(rows, snapshot_properties=offsets)
    transaction.commit_transaction()


def commit_files(
    table: Table, files: Iterable[DataFile], connector: str, begins: Begins, ends: Offsets, ids: Ids = NO_IDS
) -> None:
    """Commit, as `commit` does, files that exist, to a table that is fresh."""
    transaction, offsets = _begun(table, connector, begins, ends, ids)
    with transaction.update_snapshot(snapshot_properties=offsets).fast_append() as snapshot:
        for file in files:
            snapshot.append_data_file(file)
    transaction.commit_transaction()


def alter(table: Table, connector: str, place: TopicPartition, offset: int | None) -> None:
    """Set the offset of a partition by a snapshot without rows; None: the table knows nothing of it any more."""
    _require_own(table, connector, [place])
    name = name_of(connector, place)
    # Whatever topic there is by then, it is meant.
    properties = {name: str(-1 if offset is None else offset), _id_of(name): ""}
    with table.transaction() as transaction:
        transaction.set_properties({**properties, **_owners(connector, [place])})
        transaction.append(arrow_of(table).empty_table(), snapshot_properties=properties)
