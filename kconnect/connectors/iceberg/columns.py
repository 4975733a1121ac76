"""
Columns of Iceberg: what its metadata can have, and the partitions of rows.

Called by `lake.py`. Read next: `connectors/lake/columns.py`, which has what holds for every lake.
"""

from __future__ import annotations

import urllib.parse
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema, sanitize_column_names
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform, TruncateTransform

from kconnect.api import DataError
from kconnect.connectors import names
from kconnect.connectors.arrow import is_text
from kconnect.connectors.common import MISFITS
from kconnect.connectors.lake.columns import has_odd_numbers, longest_part, same

KINDS = {
    pa.int8(): pa.int32(),
    pa.int16(): pa.int32(),
    pa.time32("ms"): pa.time64("us"),
    pa.timestamp("ms", "UTC"): pa.timestamp("us", "UTC"),
}
"""What Iceberg has not, and what it has in its place."""
_SURELY_SHORT = 40
"""A text of so many bytes is short enough, however it is quoted, behind the name of a column."""


def arrow_of(table: Table) -> pa.Schema:
    """Return the columns that rows are written as."""
    return schema_to_pyarrow(table.schema(), include_field_ids=False)


def check_readable(schema: Schema, before: Schema | None = None) -> None:
    """
    Raise DataError for the schema of a table that could be written into its metadata, but not be read there, or not by engines.
    What the table has `before` stays as it is.
    """
    _check_cases(schema, frozenset(() if before is None else before.column_names))
    try:
        read = Schema.model_validate_json(schema.model_dump_json())
    except MISFITS as error:
        raise DataError(f"its metadata could not be read: {' '.join(str(error).split())[:200]}") from None
    if read != schema:
        raise DataError("its metadata would be read as other columns")
    try:
        # In files, characters that names of Avro have not are written in another way: 1a is _1a there.
        sanitize_column_names(schema)
    except MISFITS as error:
        raise DataError(f"two of its columns have one name in files: {' '.join(str(error).split())[:200]}") from None


def _check_cases(schema: Schema, there: frozenset[str]) -> None:
    """Raise DataError for a new column whose name is another's but for its case: engines take both for one."""
    names_of: dict[str, str] = {}
    for name in sorted(schema.column_names, key=lambda each: each not in there):
        other = names_of.setdefault(same(name), name)
        if other != name and name not in there:
            raise DataError(
                f"{names.shown(name)} can't be a column beside {names.shown(other)}: Spark, Trino and Hive take them for one. "
                "Rename the field, or add the column to the table by hand"
            )


def check_partitions(table: Table, rows: pa.Table) -> None:
    """Raise DataError for rows of which no folder of a partition can be made."""
    spec = table.spec()
    if not spec.fields:
        return
    longest = longest_part(table.location(), len(spec.fields))
    for field in spec.fields:
        if not isinstance(field.transform, IdentityTransform | TruncateTransform):
            continue
        name = table.schema().find_column_name(field.source_id) or ""
        # It may be within a struct.
        column = _column(rows, name)
        if column is None:
            continue
        kind = column.type
        if isinstance(field.transform, TruncateTransform) and pa.types.is_decimal(kind):
            try:
                cut = field.transform.pyarrow_transform(table.schema().find_type(field.source_id))
                cut(column).validate(full=True)
            except pa.ArrowException:
                raise DataError(f"its {name}, which is of the partition, would have too many digits as it is cut") from None
        if pa.types.is_floating(kind) and has_odd_numbers(column):
            raise DataError(f"its {name}, which is of the partition, is not a number, or -0.0, which equals 0.0")
        if is_text(kind) and (pc.max(pc.binary_length(column)).as_py() or 0) > _SURELY_SHORT:
            for value in pc.unique(column):
                _check_part(field, table.schema().find_type(field.source_id), value.as_py(), longest)


def partitions_of(table: Table, rows: pa.Table) -> set[tuple[Any, ...]]:
    """Return the partitions that rows come into, for each of which a commit makes a file; none without a spec."""
    spec, schema = table.spec(), table.schema()
    parts: dict[str, Any] = {}
    for at, field in enumerate(spec.fields):
        path = schema.find_column_name(field.source_id)
        if path is not None and (column := _column(rows, path)) is not None:
            cut = field.transform.pyarrow_transform(schema.find_type(field.source_id))
            parts[str(at)] = cut(column)
    if not parts:
        return set()
    distinct = pa.table(parts).group_by(list(parts)).aggregate([])
    return set(zip(*(distinct.column(name).to_pylist() for name in parts), strict=True))


def _column(rows: pa.Table, path: str) -> pa.ChunkedArray | None:
    if path in rows.column_names:
        return rows.column(path)
    first, *within = path.split(".")
    column = rows.column(first) if first in rows.column_names else None
    return column if column is None or not within else pc.struct_field(column, within)


def _check_part(field: Any, kind: Any, value: Any, longest: int) -> None:
    cut = field.transform.transform(kind)(value)
    text = f"{field.name}={field.transform.to_human_string(kind, cut)}"
    size = len(urllib.parse.quote_plus(text, safe="="))
    if size > longest:
        raise DataError(f"its value for the partition {field.name} is too long: a folder's name has {longest} bytes at most")
