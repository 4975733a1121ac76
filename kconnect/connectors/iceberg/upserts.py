"""
Upserts: the rows with the ids of new ones are taken out of the table, file by file and a lot at a time.

pyiceberg's own deletion has each file of the table in memory that may have such a row, and reads whatever a manifest names. Its
own upsert fails for good once a column is new. Called by `commits.py`. Read next: `places.py`, `data_files.py`, `deletes.py`.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.expressions.visitors import bind
from pyiceberg.io.pyarrow import ArrowScan, _dataframe_to_data_files, _expression_to_complementary_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.table import Transaction
from pyiceberg.table.upsert_util import create_match_filter

from kconnect.connectors.iceberg import deletes
from kconnect.connectors.iceberg.places import Places

_LOT = 32 * 1024**2
"""Bytes of rows that are compared with the ids at once."""
_PART = 256 * 1024**2
"""Bytes of rows that are written into a file: so much is in memory."""


def remove(transaction: Transaction, rows: pa.Table, ids: Sequence[str], places: Places) -> None:
    """Take the rows with the ids of these out of the table, in the snapshots of a transaction."""
    chosen = create_match_filter(rows, list(ids))
    with transaction.update_snapshot().delete() as whole_files:
        whole_files.delete_by_predicate(chosen, True)
    if not whole_files.rewrites_needed:
        return
    # It has a number of its own, which its files have, too.
    overwrite = transaction.update_snapshot().overwrite()
    remaining = _expression_to_complementary_pyarrow(bind(_schema(transaction), chosen, True), _schema(transaction))
    rewrites = _Rewrites(transaction, remaining, overwrite.commit_uuid)
    replaced: list[tuple[DataFile, list[DataFile]]] = []
    for task in transaction._scan(row_filter=chosen).plan_files():
        for file in (task.file, *task.delete_files):
            places.check(file.file_path)
        files = rewrites.of(task)
        if files is not None:
            replaced.append((task.file, files))
    if not replaced:
        return
    with overwrite:
        overwrite._starting_snapshot_id = whole_files._starting_snapshot_id
        overwrite.delete_by_predicate(chosen, True)
        for old, new in replaced:
            overwrite.delete_data_file(old)
            for file in new:
                overwrite.append_data_file(file)


def _schema(transaction: Transaction) -> Any:
    return transaction.table_metadata.schema()


class _Rewrites:
    """Writes files anew, without the rows for which `kept` is false. Their names have the number `commit`."""

    def __init__(self, transaction: Transaction, kept: pc.Expression, commit: uuid.UUID) -> None:
        self._transaction, self._kept, self._commit = transaction, kept, commit
        self._counter = itertools.count(0)

    def of(self, task: Any) -> list[DataFile] | None:
        """Return the files in place of one; None if it has no row that is to go."""
        for has_any in (False, True):
            files: list[DataFile] = []
            part: list[pa.Table] = []
            size, is_left_out = 0, False
            for lot in self._lots(task):
                rows = lot.filter(self._kept)
                has_any = has_any or len(rows) < len(lot)
                if has_any and is_left_out:
                    break
                part.append(rows)
                size += rows.nbytes
                if size >= _PART:
                    # As long as nothing is to go, nothing is written: then it is read again if something is.
                    is_left_out = not has_any
                    files += self._written(part) if has_any else []
                    part, size = [], 0
            if not has_any:
                return None
            if not is_left_out:
                return [*files, *self._written(part)]
        raise AssertionError("the second time, nothing is left out")

    def _lots(self, task: Any) -> Iterator[pa.Table]:
        metadata, io = self._transaction.table_metadata, self._transaction._table.io
        scan = ArrowScan(metadata, io, _schema(self._transaction), AlwaysTrue())
        rows_gone = deletes.rows_gone(io, task)
        batches = scan._record_batches_from_scan_tasks_and_deletes(
            [task], {} if rows_gone is None else {task.file.file_path: rows_gone}
        )
        lot: list[pa.Table] = []
        size = 0
        for batch in batches:
            lot.append(pa.Table.from_batches([batch]))
            size += batch.nbytes
            if size >= _LOT:
                yield _together(lot)
                lot, size = [], 0
        if lot:
            yield _together(lot)

    def _written(self, part: list[pa.Table]) -> list[DataFile]:
        rows = _together(part) if part else None
        if rows is None or not len(rows):
            return []
        metadata, io = self._transaction.table_metadata, self._transaction._table.io
        return list(_dataframe_to_data_files(metadata, rows, io, self._commit, self._counter))


def _together(tables: list[pa.Table]) -> pa.Table:
    # Large and other texts come side by side.
    return pa.concat_tables(tables, promote_options="permissive")
