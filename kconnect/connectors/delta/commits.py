"""
Commits: rows and the offsets behind them, in one version of a table, or none of them.

The offset of each partition of Kafka is the version of an application's transaction, which Delta keeps through checkpoints for
as long as there is the table. Who commits says from which offset its rows begin. If the table has another one, or another
commit has set one of the same since the table was read, nothing is written. So it holds through crashes between a commit and
Kafka's, and for two tasks that both think that they own a partition. A second transaction has the id of the topic, as a number.
Called by `lake.py` and `connector.py`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from kconnect import normal_forms
from kconnect.api import ConfigError, TopicPartition
from kconnect.connectors.delta.asking import Asker, ConflictError, DeltaFault
from kconnect.connectors.host_files import is_within
from kconnect.connectors.identity import Mark
from kconnect.connectors.lake import rows
from kconnect.connectors.lake.lakes import TopicIdsOf
from kconnect.connectors.lake.pending import Offsets, Part
from kconnect.connectors.lake.stages import StaleError
from kconnect.connectors.objects.options import local_path

_ODD = re.compile(r"[\x00-\x1f\x7f\\]")
_RETENTION = "delta.setTransactionRetentionDuration"
Write = Callable[..., None]
"""Writes to a table; takes the properties of the commit."""
_TRIES = 10
"""How often rows are merged again in a row, since others have committed meanwhile."""
_ANOTHER = "another one"
_KEPT = 1000
"""Tables of which transactions are kept."""


def application(connector: str, place: TopicPartition) -> str:
    """Return the application whose transactions have the offsets of a partition. Names of topics have no colon."""
    return f"kconnect:{place.topic}:{place.partition}:{connector}"


def _id_application(connector: str, place: TopicPartition) -> str:
    return application(connector, place).replace(":", "-topic:", 1)


class Transactions:
    """
    What tables have of partitions of Kafka. The library looks through a table's log for each transaction, so what it has found
    is kept until the table has another version.
    """

    def __init__(self, asker: Asker, connector: str) -> None:
        self._asker, self._connector = asker, connector
        self._found: dict[tuple[str, str], tuple[int, dict[str, int | None]]] = {}
        """What was looked up, by the id and the place of a table: one that was copied has the id of the other."""

    def mark(self, table: DeltaTable, place: TopicPartition, topic_id: str | None) -> Mark | None:
        """
        Return what a table has of a partition; None if it knows nothing of it. `topic_id` is the topic's of now, as far as it
        is known. ConfigError for a table that forgets.
        """
        offset = self.offset(table, place)
        if offset is None:
            return None
        number = self._version(table, _id_application(self._connector, place))
        if not number or topic_id is None:
            return Mark(offset)
        return Mark(offset, topic_id if number == _number(topic_id) else _ANOTHER)

    def offset(self, table: DeltaTable, place: TopicPartition) -> int | None:
        """Return the offset alone, as `mark` does."""
        duration = table.metadata().configuration.get(_RETENTION)
        if duration is not None:
            rule = f"A table that forgets transactions forgets the offsets of what it has. Unset the property of {shown(table)}"
            raise ConfigError(_RETENTION, duration, rule)
        offset = self._version(table, application(self._connector, place))
        return None if offset is None or offset < 0 else offset

    def _version(self, table: DeltaTable, application_id: str) -> int | None:
        identity, version = (table.table_uri, str(table.metadata().id)), table.version()
        known, found = self._found.get(identity, (-1, {}))
        if known != version:
            found = {}
            if len(self._found) >= _KEPT:
                del self._found[next(iter(self._found))]
            self._found[identity] = version, found
        if application_id not in found:
            last: int | None = self._asker.ask(table.transaction_version, application_id)
            found[application_id] = last
        return found[application_id]


def shown(table: DeltaTable) -> str:
    parts = normal_forms.split(table.table_uri)
    return parts._replace(query="", netloc=parts.netloc.rpartition("@")[2]).geturl()


def _number(topic_id: str | None) -> int:
    """Return a topic's id as a number that transactions have; 0 if it is not known."""
    return 0 if topic_id is None else int.from_bytes(hashlib.sha256(topic_id.encode()).digest()[:7], "big") | 1


def _properties(connector: str, ends: Mapping[TopicPartition, int], topic_ids: Mapping[str, str]) -> CommitProperties:
    transactions = [Transaction(application(connector, place), end) for place, end in ends.items()]
    transactions += [Transaction(_id_application(connector, place), _number(topic_ids.get(place.topic))) for place in ends]
    return CommitProperties(custom_metadata={"kconnect.connector": connector}, app_transactions=transactions)


class DeltaTarget:
    """
    A table that was just read, as `Pending` commits to it: each task for itself, since a commit of Delta is one small file.
    `ids` are the columns by which rows are replaced, or None.
    """

    def __init__(
        self,
        table: DeltaTable,
        transactions: Transactions,
        asker: Asker,
        connector: str,
        topic_ids: TopicIdsOf,
        ids: Sequence[str] | None,
    ) -> None:
        self._table, self._transactions, self._asker = table, transactions, asker
        self._connector, self._topic_ids, self._ids = connector, topic_ids, ids

    def stored(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        found = {place: self._transactions.offset(self._table, place) for place in places}
        return {place: offset for place, offset in found.items() if offset is not None}

    def append(self, parts: Mapping[TopicPartition, Part]) -> None:
        begins = {place: part.begin for place, part in parts.items() if part.begin is not None}
        ends = {place: part.next for place, part in parts.items()}
        # The task's thread asks for them, and not that of the library's call.
        properties = _properties(self._connector, ends, self._topic_ids({place.topic for place in ends}))
        for _ in range(_TRIES):
            if self.stored(parts) != begins:
                raise StaleError
            wanted = schema_of(self._table)
            write = self._changed(parts, wanted) if self._ids is not None else self._appended(parts, wanted)
            try:
                # A commit that has set one of these offsets since the table was read is a conflict.
                self._asker.ask(self._write, write, properties)
            except ConflictError:
                self._asker.ask(self._table.update_incremental)
                if schema_of(self._table) != wanted:
                    raise StaleError from None
                continue
            return
        raise DeltaFault("others commit to it all the time", passes=True)

    def _appended(self, parts: Mapping[TopicPartition, Part], wanted: pa.Schema) -> Write | None:
        together = rows.together(parts.values(), wanted)
        return partial(write_deltalake, self._table, together, mode="append") if len(together) else None

    def _changed(self, parts: Mapping[TopicPartition, Part], wanted: pa.Schema) -> Write | None:
        assert self._ids is not None
        made, deleted, _ = rows.last_of_each(parts.values(), wanted, self._ids)
        return partial(merge, self._table, made, deleted, self._ids) if len(made) or len(deleted) else None

    def _write(self, write: Write | None, properties: CommitProperties) -> None:
        (partial(write_nothing, self._table) if write is None else write)(commit_properties=properties)


def schema_of(table: DeltaTable) -> pa.Schema:
    """Return the columns that rows are written as."""
    return pa.schema(table.schema().to_arrow())


def write_nothing(table: DeltaTable, commit_properties: CommitProperties) -> None:
    """Commit offsets without rows."""
    table.create_write_transaction([], "append", table.schema(), commit_properties=commit_properties)


def merge(
    table: DeltaTable, made: pa.Table, deleted: pa.Table, ids: Sequence[str], commit_properties: CommitProperties
) -> None:
    """Replace the rows with the same ids, append the others, and delete those with the ids of `deleted`."""
    check_inside(table)
    names = made.column_names
    source, mark = rows.marked(made, deleted)
    same = " AND ".join(f"target.`{name}` = source.`{name}`" for name in ids)
    merger = table.merge(
        source, same, source_alias="source", target_alias="target", streamed_exec=False, commit_properties=commit_properties
    )
    columns = {f"`{name}`": f"source.`{name}`" for name in names}
    merger = merger.when_matched_delete(f"source.`{mark}`").when_matched_update(columns, f"NOT source.`{mark}`")
    merger.when_not_matched_insert(columns, f"NOT source.`{mark}`").execute()


def check_inside(table: DeltaTable) -> None:
    """
    Raise DeltaFault for a table whose log names a file elsewhere: a merge would copy its rows into the table. Whoever may write
    a file into the table's folder may have written it.
    """
    actions: Any = pa.table(table.get_add_actions())
    top = local_path(table.table_uri)
    folders: dict[str, bool] = {}
    for path in actions.column("path").to_pylist():
        plain = unquote(path)
        if _leads_out(path) or _leads_out(plain):
            raise DeltaFault("its log names a file that is not in its folder, so its rows are not read")
        if top is not None and not _is_here(top, plain, folders):
            raise DeltaFault("its log names a file that a link leads to, so its rows are not read")


def _leads_out(name: str) -> bool:
    """
    Whether anything may take a file's name in a log for one elsewhere. The library reads it as browsers read URLs: backslashes
    are slashes, ends of lines and tabulators are nowhere, and blanks at the ends are cut off.
    """
    if _ODD.search(name) or name != name.strip() or ":" in name.partition("/")[0]:
        return True
    return any(part in ("", ".", "..") for part in name.split("/"))


def _is_here(top: str, name: str, folders: dict[str, bool]) -> bool:
    """Whether a file of a folder of this machine is in it, and not where a link leads to. `folders` are known ones."""
    folder = os.path.dirname(os.path.join(top, name))
    if folder not in folders:
        folders[folder] = "\0" not in folder and is_within(top, folder)
    return folders[folder] and "\0" not in name and not os.path.islink(os.path.join(top, name))


def alter(table: DeltaTable, asker: Asker, connector: str, place: TopicPartition, offset: int | None) -> None:
    """Set the offset of a partition by a version without rows; None: the table knows nothing of it any more."""
    ends: Offsets = {place: -1 if offset is None else offset}
    # Whatever topic there is by then, it is meant.
    asker.ask(lambda: write_nothing(table, _properties(connector, ends, {})))
