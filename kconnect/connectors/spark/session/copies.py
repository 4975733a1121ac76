"""
What the application does with a copy: rows in files that many have written become one commit, once.

The table's ledger says of which place the last copy was. Called by `tables.py`, for which `Files` stand for the rows of a
request.
"""

from __future__ import annotations

from typing import Any

TOPIC = "kconnect copy"
"""What stands for the copy among the topics of a ledger: none can have this name."""
_ORDER, _NUMBER = "order =", "number ="
"""Columns that no table has."""


class Files:
    """The rows of files, with the columns `schema`, of which the last may be the mark. `ids` are empty where rows are added."""

    is_empty = False

    def __init__(self, head: dict[str, Any], schema: Any) -> None:
        self.schema, self._files = schema, head["files"]
        self._ids: list[str] = head["ids"] if head["mark"] is not None else []
        self._by: str = head["order"]

    def frame(self, spark: Any, wanted: Any, there: Any) -> Any:
        """
        Return the rows: of those with one id the last one. `wanted` are their columns as Spark has them, `there` those of the
        table; those that the rows lack are null, but for those that the table makes itself.
        """
        from pyspark.sql import Window
        from pyspark.sql import functions as sql

        reader = spark.read.schema(wanted).option("datetimeRebaseMode", "CORRECTED").option("int96RebaseMode", "CORRECTED")
        parts = [reader.parquet(*paths).withColumn(_ORDER, sql.lit(order).cast("long")) for order, paths in self._files]
        rows = parts[0]
        for part in parts[1:]:
            rows = rows.unionByName(part)
        if self._ids:
            newest = [rows[name_of(self._by)].desc_nulls_last()] if self._by else []
            window = Window.partitionBy(*(rows[name_of(name)] for name in self._ids)).orderBy(
                *newest, rows[name_of(_ORDER)].desc()
            )
            rows = rows.withColumn(_NUMBER, sql.row_number().over(window)).where(f"{name_of(_NUMBER)} = 1").drop(_NUMBER)
        names = {column.name.lower() for column in wanted}
        lacking = [column for column in there if column.name.lower() not in names and not makes_itself(column)]
        every = [sql.col(name_of(column.name)) for column in wanted]
        nulls = [sql.lit(None).cast(column.dataType).alias(column.name) for column in lacking]
        return rows.select(*nulls, *every)


def makes_itself(column: Any) -> bool:
    """Whether a table makes the values of a column itself."""
    return any(name.startswith(("delta.generationExpression", "delta.identity.")) for name in column.metadata or {})


def name_of(name: str) -> str:
    """Return a name as SQL has it."""
    return "`" + name.replace("`", "``") + "`"
