"""
IcebergLake: the tables of an Iceberg catalog.

Made by `task.py` and `connector.py`. Read next: `targets.py`, which commits to one, and `catalogs.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    BadRequestError,
    ForbiddenError,
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
    ValidationError,
    ValidationException,
)
from pyiceberg.io.pyarrow import UnsupportedPyArrowTypeException
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import parse_transform
from requests import RequestException

from kconnect.api import ConfigError, ConnectError, DataError, TopicPartition
from kconnect.connectors.iceberg import catalogs, columns, commits, settings
from kconnect.connectors.iceberg.targets import TableTarget
from kconnect.connectors.identity import Mark
from kconnect.connectors.lake import lakes, partitions
from kconnect.connectors.lake.columns import is_list
from kconnect.connectors.lake.lakes import Lake, TopicIdsOf

_LONGEST = 300
_KEPT = 100


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    """
    Raise OSError where a catalog's answer, or a table's metadata, can't be read. What pyiceberg raises is among `unfit`, which
    say that no table can have a record's columns.
    """
    try:
        yield
    except (ValidationError, LookupError) as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]
        raise OSError(f"what its catalog or its metadata say can't be read: {text}") from None


class IcebergLake(Lake[Table]):
    names = settings.NAMES
    kinds = columns.KINDS
    unfit = (
        ValidationException,
        ValidationError,
        BadRequestError,
        UnsupportedPyArrowTypeException,
        LookupError,
        NotImplementedError,
        AssertionError,
    )
    refusals = (ForbiddenError, BadRequestError, ConfigError, NotImplementedError, ValueError)

    def __init__(self, catalog: Catalog, connector: str, config: Mapping[str, Any], props: Mapping[str, str]) -> None:
        super().__init__(config, props)
        self.errors = catalogs.errors()
        self.catalog, self._connector = catalog, connector
        self._arrow: dict[tuple[str, ...], tuple[TableMetadata, pa.Schema]] = {}
        """The columns of tables as rows are written, with the metadata that they were made of: many puts ask for them."""
        self._locations = config[settings.LOCATIONS]
        self._partitions = partitions.parsed(self.names.partitions, config[self.names.partitions])

    @classmethod
    def made(cls, config: Mapping[str, Any], props: Mapping[str, str], worker: Mapping[str, str]) -> IcebergLake:
        """
        Return the lake of a config. lakes.AwayError if its catalog is to be had later only, ConfigError if not at all. `worker`
        has the worker's limits.
        """
        try:
            return cls(catalogs.made_catalog(config, props, worker), props["name"], config, props)
        except catalogs.AwayError as error:
            raise lakes.AwayError(str(error)) from None

    def load(self, name: str) -> Table | None:
        try:
            with _readable():
                return self.catalog.load_table(_identifier(name))
        except (NoSuchTableError, NoSuchNamespaceError):
            return None

    def reread(self, name: str, table: Table) -> Table:
        identity = table.metadata.table_uuid
        try:
            with _readable():
                return table.refresh()
        except ValueError:
            current = self.load(name)
            if current is None or current.metadata.table_uuid == identity:
                raise
            raise lakes.other_table(name) from None

    def schema(self, table: Table) -> pa.Schema:
        name, metadata = table.name(), table.metadata
        known = self._arrow.get(name)
        if known is None or known[0] is not metadata:
            # Metadata never changes: whatever changes a table gives it other metadata.
            if len(self._arrow) >= _KEPT:
                self._arrow.clear()
            known = self._arrow[name] = (metadata, columns.arrow_of(table))
        return known[1]

    def own_ids(self, table: Table) -> list[str]:
        schema = table.schema()
        return [schema.find_field(number).name for number in schema.identifier_field_ids]

    def create(self, name: str, schema: pa.Schema) -> None:
        identifier = _identifier(name)
        with contextlib.suppress(NamespaceAlreadyExistsError):
            self.catalog.create_namespace(identifier[:-1])
        partition_by = self._own.get(name, {}).get("partition-by")
        setting = self.names.of_table(name, "partition-by") if partition_by else self.names.partitions
        parts = partitions.parsed(setting, [partition_by]) if partition_by else self._partitions
        try:
            # Both in one step: who comes between would find a table without partitions.
            with self.catalog.create_table_transaction(identifier, schema) as creation, creation.update_spec() as spec:
                columns.check_readable(creation.table_metadata.schema())
                for partition in parts:
                    _check(partition, schema, setting)
                    spec.add_field(partition.column, parse_transform(partition.transform))
        except TableAlreadyExistsError:
            pass  # Another task was quicker.

    def widen(self, name: str, table: Table, wanted: pa.Schema) -> Table:
        # Not in a `with`, which commits whatever comes out of it.
        update = table.update_schema()
        update.union_by_name(wanted)
        columns.check_readable(update._apply(), table.schema())
        update.commit()
        return table

    def takes(self, column_type: pa.DataType, value_type: pa.DataType) -> bool:
        """Compare types at any depth; values are looked at one by one."""
        if pa.types.is_struct(value_type) and pa.types.is_struct(column_type):
            return all(self.takes(column_type.field(field.name).type, field.type) for field in value_type)
        if is_list(value_type) and is_list(column_type):
            return self.takes(column_type.value_type, value_type.value_type)
        if pa.types.is_map(value_type) and pa.types.is_map(column_type):
            keys = self.takes(column_type.key_type, value_type.key_type)
            return keys and self.takes(column_type.item_type, value_type.item_type)
        if value_type in (pa.int64(), pa.float64()):
            return column_type not in (pa.int32(), pa.float32())
        return True

    def check_parts(self, table: Table, rows: pa.Table) -> None:
        columns.check_partitions(table, rows)

    def partitions_of(self, table: Table, rows: pa.Table) -> set[tuple[Hashable, ...]]:
        return columns.partitions_of(table, rows)

    def mark(self, table: Table, place: TopicPartition, topic_ids: TopicIdsOf) -> Mark | None:
        return commits.marks(table, self._connector, [place]).get(place)

    def target(self, name: str, topic_ids: TopicIdsOf) -> TableTarget:
        table = self.fresh(name)
        if table is None:
            raise ConnectError(f"The table {name} is not there any more")
        ids = self.ids(name, table) if self._upserts else None
        return TableTarget(table, self._connector, topic_ids, ids, self._locations)

    def lets_in(self) -> bool:
        return catalogs.lets_in(self.catalog)

    def passes(self, error: Exception) -> bool:
        return catalogs.passes(error)

    def is_away(self, error: Exception) -> bool:
        return isinstance(error, RequestException)

    def forbids(self, error: Exception) -> bool:
        return isinstance(error, ForbiddenError)

    def reason(self, error: Exception) -> str:
        return catalogs.reason(error)


def _identifier(name: str) -> tuple[str, ...]:
    return tuple(name.split("."))


def _check(partition: partitions.Partition, schema: pa.Schema, setting: str) -> None:
    """Raise DataError for columns of a record that make no such partition: those of the next one may."""
    if partition.column.partition(".")[0] not in schema.names:
        raise DataError(f"it has no field {partition.column}, by which {setting} has a new table partitioned")
    kind = schema.field(partition.column).type if partition.column in schema.names else pa.null()
    if partition.transform.startswith("truncate") and (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        raise DataError(
            f"its {partition.column} is of bytes, by whose begin, as {setting} says, no table can be partitioned here"
        )
