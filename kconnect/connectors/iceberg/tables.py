"""
Tables: that of a name, made or widened if the config allows that.

Used by `task.py` and `connector.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NamespaceAlreadyExistsError, NoSuchNamespaceError, NoSuchTableError, TableAlreadyExistsError
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import Table
from pyiceberg.transforms import parse_transform

from kconnect.api import ConfigError, ConnectError, DataError
from kconnect.connectors.iceberg import columns, settings
from kconnect.connectors.iceberg.settings import Partition

_KEPT = 1000
"""Tables whose metadata is kept."""


class Tables:
    def __init__(self, catalog: Catalog, config: Mapping[str, Any], props: Mapping[str, str]) -> None:
        self._catalog = catalog
        self._create: bool = config[settings.CREATE]
        self._evolve: bool = config[settings.EVOLVE]
        self._most: int = config[settings.MOST_COLUMNS]
        self._optional: bool = config[settings.OPTIONAL]
        self._partitions = settings.partitions(settings.PARTITIONS, config[settings.PARTITIONS])
        self._ids: Sequence[str] = config[settings.IDS]
        self._own = settings.of_tables(props)
        self._known: dict[str, Table] = {}

    def forget(self, name: str) -> None:
        """Look at it anew: somebody may have changed it, or deleted it."""
        self._known.pop(name, None)

    def ids(self, name: str, table: Table) -> list[str]:
        """The columns of its id."""
        id_columns = self._own.get(name, {}).get("id-columns", "")
        names = [column.strip() for column in id_columns.split(",") if column.strip()] or list(self._ids)
        schema = table.schema()
        names = names or [schema.find_field(number).name for number in schema.identifier_field_ids]
        if not names:
            raise ConnectError(f"The table {name} has no columns for ids: {settings.IDS} names them")
        return names

    def existing(self, name: str) -> Table | None:
        table = self._known.get(name)
        if table is None:
            try:
                table = self._catalog.load_table(_identifier(name))
            except (NoSuchTableError, NoSuchNamespaceError):
                return None
            if len(self._known) >= _KEPT:
                # Records may name tables, as many as there are.
                del self._known[next(iter(self._known))]
            self._known[name] = table
        return table

    def ensure(self, name: str, wanted: pa.Schema, guessed: bool) -> Table:
        """
        Return the table with all these columns. ConnectError if there is none, and none may be made. DataError if it has not
        these columns, and the config does not allow to change that. `guessed`: the types are those of values, not of a schema,
        so that narrower ones may do.
        """
        existing = self.existing(name)
        if existing is None and self._create:
            columns.check_new(wanted, None, self._most)
        table = self._made(name, wanted) if existing is None else existing
        if self._fits(table, wanted, guessed):
            return table
        if not self._evolve:
            missing = ", ".join(columns.lacking(arrow_of(table), wanted))
            what = f"no column {missing}" if missing else "a narrower column than the records need"
            raise DataError(f"The table {name} has {what}: change it, or set {settings.EVOLVE}=true")
        table.refresh()
        if not self._fits(table, wanted, guessed):
            columns.check_new(wanted, arrow_of(table), self._most)
            # Not in a `with`, which commits whatever comes out of it.
            update = table.update_schema()
            update.union_by_name(pa.schema([columns.optional(field) for field in wanted]))
            columns.check_readable(update._apply())
            update.commit()
        return table

    def _fits(self, table: Table, needed: pa.Schema, guessed: bool) -> bool:
        table_schema = arrow_of(table)
        if columns.lacking(table_schema, needed):
            return False
        return guessed or all(_takes(table_schema.field(field.name).type, field.type) for field in needed)

    def _made(self, name: str, needed: pa.Schema) -> Table:
        if not self._create:
            raise ConnectError(f"There is no table {name}: create it, or set {settings.CREATE}=true")
        identifier = _identifier(name)
        with contextlib.suppress(NamespaceAlreadyExistsError):
            self._catalog.create_namespace(identifier[:-1])
        first = pa.schema([field.with_nullable(True) for field in needed]) if self._optional else needed
        partition_by = self._own.get(name, {}).get("partition-by")
        partitions = (
            settings.partitions(f"iceberg.table.{name}.partition-by", [partition_by]) if partition_by else self._partitions
        )
        try:
            # Both in one step: who comes between would find a table without partitions.
            with self._catalog.create_table_transaction(identifier, first) as creation, creation.update_spec() as spec:
                columns.check_readable(creation.table_metadata.schema())
                for partition in partitions:
                    _check(partition, first, name)
                    spec.add_field(partition.column, parse_transform(partition.transform))
        except TableAlreadyExistsError:
            pass  # Another task was quicker.
        table = self.existing(name)
        if table is None:
            raise ConnectError(f"The table {name} was made, but is not there: check the rights of the user")
        return table


def arrow_of(table: Table) -> pa.Schema:
    """The columns that rows are written as."""
    return schema_to_pyarrow(table.schema(), include_field_ids=False)


def _identifier(name: str) -> tuple[str, ...]:
    return tuple(name.split("."))


def _check(partition: Partition, columns: pa.Schema, name: str) -> None:
    if partition.column.partition(".")[0] not in columns.names:
        raise ConfigError(settings.PARTITIONS, partition.column, f"Records for the table {name} have no such field")


def _takes(column_type: pa.DataType, value_type: pa.DataType) -> bool:
    """Whether a column has room for values of a type, as far as types tell, at any depth; values are looked at one by one."""
    if pa.types.is_struct(value_type) and pa.types.is_struct(column_type):
        return all(_takes(column_type.field(field.name).type, field.type) for field in value_type)
    if columns.is_list(value_type) and columns.is_list(column_type):
        return _takes(column_type.value_type, value_type.value_type)
    if pa.types.is_map(value_type) and pa.types.is_map(column_type):
        return _takes(column_type.key_type, value_type.key_type) and _takes(column_type.item_type, value_type.item_type)
    if value_type in (pa.int64(), pa.float64()):
        return column_type not in (pa.int32(), pa.float32())
    return True
