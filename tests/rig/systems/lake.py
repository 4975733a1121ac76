"""
The Python for lake work, made once on this machine: `python` gives it to tests of SparkSink. 700 MB, half a minute. And how the
tables are read, by others than Spark.

Read next: `kconnect/jvm/lake.py`.
"""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.dataset
from pyiceberg.io import pyarrow as pyiceberg_arrow
from pyiceberg.table import StaticTable, Table

from kconnect.jvm import lake


def python() -> str:
    """Return its path. ConnectError if it can't be made here."""
    return str(lake.make(lake.directory(), lambda text: None))


def rows_of(table: Table) -> pa.Table:
    """Return the rows of a table, as pyiceberg reads it, whatever IcebergSink has changed in that."""
    # Without its cache of formats: what it made for this must not be what IcebergSink reads with afterwards, nor the other way.
    formats = pyiceberg_arrow._get_file_format.__wrapped__
    with patch.object(pyiceberg_arrow, "ds", pyarrow.dataset), patch.object(pyiceberg_arrow, "_get_file_format", formats):
        return table.scan().to_arrow()


def iceberg_files(folder: Path) -> list[str]:
    """Return the data files that a table of a Hadoop catalog has now."""
    return [task.file.file_path for task in _table(folder).scan().plan_files()]


def _table(folder: Path) -> StaticTable:
    number = (folder / "metadata" / "version-hint.text").read_text().strip()
    return StaticTable.from_metadata(str(folder / "metadata" / f"v{number}.metadata.json"))


def iceberg_rows(folder: Path) -> pa.Table:
    """Return the rows of a table of a Hadoop catalog."""
    return rows_of(_table(folder))
