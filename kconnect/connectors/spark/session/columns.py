"""
Columns as Spark has them: of rows of Arrow, and what becomes of a table's columns if it gets those of rows.

Called by `tables.py` and by the formats. It is nothing of kconnect's `lake/columns.py`, which the application does not have.
"""

from __future__ import annotations

from typing import Any


def empty(spark: Any, schema: Any) -> Any:
    """Return no rows with these columns. Made of Arrow: of a list, Spark would start Python for them."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return spark.createDataFrame(to_arrow_schema(schema).empty_table(), schema=schema)


def of_arrow(schema: Any) -> Any:
    """Return the columns of a schema of Arrow as Spark has them."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def struct(fields: list[Any]) -> Any:
    """Return columns as one schema."""
    from pyspark.sql.types import StructType

    return StructType(fields)


def optional(column: Any) -> Any:
    """Return a column which may be null, with all within it."""
    from pyspark.sql.types import StructField

    return StructField(column.name, _optional_type(column.dataType), nullable=True)


def _optional_type(kind: Any) -> Any:
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(kind, StructType):
        return StructType([optional(column) for column in kind])
    if isinstance(kind, ArrayType):
        return ArrayType(_optional_type(kind.elementType), containsNull=True)
    if isinstance(kind, MapType):
        return MapType(kind.keyType, _optional_type(kind.valueType), valueContainsNull=True)
    return kind


def union(there: Any, wanted: Any) -> Any:
    """Return the columns of both, at any depth; None if one can't have the values of the other."""
    fields = _fields(list(there), list(wanted))
    return None if fields is None else struct(fields)


def _fields(there: list[Any], wanted: list[Any]) -> list[Any] | None:
    from pyspark.sql.types import StructField

    by_name = {column.name: column for column in wanted}
    fields = []
    for column in there:
        kind = column.dataType
        if column.name in by_name:
            kind = _merged(kind, by_name[column.name].dataType)
            if kind is None:
                return None
        fields.append(StructField(column.name, kind, column.nullable, column.metadata))
    names = {column.name for column in there}
    return fields + [optional(column) for column in wanted if column.name not in names]


def _merged(there: Any, wanted: Any) -> Any:
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(there, StructType) and isinstance(wanted, StructType):
        return union(there, wanted)
    if isinstance(there, ArrayType) and isinstance(wanted, ArrayType):
        item = _merged(there.elementType, wanted.elementType)
        return None if item is None else ArrayType(item, there.containsNull)
    if isinstance(there, MapType) and isinstance(wanted, MapType):
        item = _merged(there.valueType, wanted.valueType)
        same = there.keyType == wanted.keyType
        return MapType(there.keyType, item, there.valueContainsNull) if same and item is not None else None
    return there if there == wanted else None
