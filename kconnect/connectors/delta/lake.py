"""
DeltaLake: the tables in the folders of a store.

Made by `task.py` and `connector.py`. Read next: `commits.py`, which writes to one.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import urllib.parse
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from kconnect.api import ConfigError, ConnectError, DataError, TopicPartition
from kconnect.connectors import names
from kconnect.connectors.arrow import is_text
from kconnect.connectors.delta import commits, settings
from kconnect.connectors.delta.asking import Asker, ConflictError, DeltaFault, NoTableError, reason
from kconnect.connectors.host_files import LINKS, HostFiles
from kconnect.connectors.identity import Mark
from kconnect.connectors.lake import columns, lakes
from kconnect.connectors.lake.columns import has_odd_numbers, longest_part
from kconnect.connectors.lake.lakes import Lake, TopicIdsOf
from kconnect.connectors.objects import options
from kconnect.connectors.objects import settings as objects

_FORBIDDEN = frozenset(" ,;{}()\n\t=`")
"""Which Delta allows no column to have, and what would end a name in a condition."""
_RESERVED = re.compile(r"__delta_rs_.*|_change_type|_commit_version|_commit_timestamp", re.IGNORECASE | re.DOTALL)
"""Columns that the library has beside a table's while it merges, and those that Delta has in a feed of changes."""
_LONG, _LAST_COUNT = 1024, 16
_LAST = f"^[\\x7f\\x{{7FF}}\\x{{D7FF}}\\x{{FFFF}}\\x{{10FFFF}}]{{{_LAST_COUNT}}}"
"""
The begin of a text that nothing as short is greater than: the last characters of each length. The log has the greatest text of
a file, of which the library takes the begin, and there the next character.
"""
_STORE = re.compile(r"((s3a?|gs|az|azure|abfss?)://|file:///)[^\x00-\x20?#]+")
"""The library knows more: ways to this machine's files that pass its limits by, and stores that nobody here has tried."""
_LOG = "_delta_log"
_CONSTRAINT = "delta.constraints."
_TRIES = 5
_CONFIGURATION = {"delta.checkpointInterval": "10"}
"""As Spark has it. The library would have whoever opens the table read a hundred files."""


class DeltaLake(Lake[DeltaTable]):
    names = settings.NAMES
    kinds = {
        # Delta has no time of a day: it is a text such as 12:34:56.789.
        pa.time32("ms"): pa.string(),
        pa.timestamp("ms", "UTC"): pa.timestamp("us", "UTC"),
    }
    errors = (DeltaFault,)
    unfit = ()
    refusals = (DeltaFault,)

    def __init__(self, config: Mapping[str, Any], props: Mapping[str, str], worker: Mapping[str, str], asker: Asker) -> None:
        """ConfigError if the store may not be used."""
        super().__init__(config, props)
        self._asker, self._connector = asker, props.get("name", "")
        self._transactions = commits.Transactions(asker, self._connector)
        self._files = HostFiles(worker)
        self._url: str = config[settings.STORE].rstrip("/")
        self._folder = options.local_path(self._url)
        if _STORE.fullmatch(self._url) is None:
            rule = "It must begin with s3://, gs://, az://, abfss:// or file:///, and name a bucket, a container or a folder"
            raise ConfigError(settings.STORE, "[hidden]", rule)
        if self._folder is not None:
            self._files.check(settings.STORE, self._folder)
        user_options = options.given(props, self._files, options.UNKNOWN_TO_DELTA)
        timeout_ms = config[objects.TIMEOUT]
        own, allows_http = options.of_s3(config) if self._url.startswith(("s3://", "s3a://")) else ({}, None)
        self._options = {
            "timeout": f"{timeout_ms / 1000:g}s",
            "connect_timeout": f"{min(timeout_ms / 1000, 10):g}s",
            # What its retries are to be, this sink knows.
            "max_retries": "0",
            "allow_http": str(bool(allows_http)).lower(),
            **{name: str(value).lower() if isinstance(value, bool) else value for name, value in own.items()},
            **user_options.client,
            **user_options.store,
        }
        self._partitions: Sequence[str] = config[self.names.partitions]

    def load(self, name: str) -> DeltaTable | None:
        try:
            return self._opened(name)
        except NoTableError:
            return None

    def _opened(self, name: str) -> DeltaTable:
        url = self._url_of(name)
        return self._asker.ask(DeltaTable, url, None, self._options)

    def _url_of(self, name: str) -> str:
        parts = name.split(".")
        if any(part.startswith("_") for part in parts):
            # A record may have named it: a table in the log of another one would be read as a part of that.
            raise DataError(f"{names.shown(name)} can't be a table: in folders that begin with _, Delta has what is its own")
        if self._folder is not None:
            # A link may have been put in place of a folder since.
            folder = "/".join((self._folder.rstrip("/"), *parts))
            for place in (folder, f"{folder}/{_LOG}"):
                self._files.check(settings.STORE, place)
                self._files.check_link(settings.STORE, self._folder, place)
        return "/".join((self._url, *(urllib.parse.quote(part) for part in parts)))

    def reread(self, name: str, table: DeltaTable) -> DeltaTable:
        fresh = self._opened(name)
        if fresh.metadata().id != table.metadata().id:
            raise lakes.other_table(name)
        return fresh

    def schema(self, table: DeltaTable) -> pa.Schema:
        return commits.schema_of(table)

    def own_ids(self, table: DeltaTable) -> list[str]:
        return []

    def create(self, name: str, schema: pa.Schema) -> None:
        _check_names(schema)
        partition_by = self._own.get(name, {}).get("partition-by")
        setting = self.names.of_table(name, "partition-by") if partition_by else self.names.partitions
        parts = [part.strip() for part in partition_by.split(",")] if partition_by else list(self._partitions)
        for part in parts:
            if part not in schema.names:
                # That of the next record may have it.
                raise DataError(f"it has no field {part}, by which {setting} has a new table partitioned")
            if pa.types.is_nested(schema.field(part).type) or pa.types.is_binary(schema.field(part).type):
                raise DataError(f"its {part}, by which {setting} has a new table partitioned, is no number, text, date or time")
        url = self._url_of(name)

        def made() -> None:
            more = {"schema": schema, "partition_by": parts or None, "storage_options": self._options}
            DeltaTable.create(url, mode="ignore", configuration=_CONFIGURATION, **more)

        try:
            self._asker.ask(made)
        except ConflictError:
            return  # Another task was quicker.
        except DeltaFault as error:
            raise (error if error.passes or error.forbids else DataError(str(error))) from None

    def widen(self, name: str, table: DeltaTable, wanted: pa.Schema) -> DeltaTable:
        _check_names(wanted, list(commits.schema_of(table)))
        for _ in range(_TRIES):
            union = columns.union(commits.schema_of(table), wanted)
            try:
                self._asker.ask(_widened, table, union)
            except ConflictError:
                table = self.reread(name, table)
                continue
            except DeltaFault as error:
                raise (error if error.passes or error.forbids else DataError(str(error))) from None
            return self.reread(name, table)
        raise DeltaFault("others change it all the time", passes=True)

    def check_parts(self, table: DeltaTable, rows: pa.Table) -> None:
        for name in rows.column_names:
            _check_texts(name, rows.column(name))
        parts = table.metadata().partition_columns
        longest = longest_part(table.table_uri, len(parts))
        for name in parts:
            column = rows.column(name)
            if pa.types.is_floating(column.type) and has_odd_numbers(column):
                raise DataError(f"its {name}, which is of the partition, is not a number, or -0.0, which equals 0.0")
            if pa.types.is_decimal(column.type) and column.type.scale > 0 and pc.any(pc.less(column, 0)).as_py():
                # The library writes -1.25 as -1.-25, which ends all that is read of the table.
                raise DataError(
                    f"its {name}, which is of the partition, is a decimal below 0, which the library writes wrongly"
                )
            for value in pc.unique(column).to_pylist() if is_text(column.type) else ():
                if value == "":
                    raise DataError(
                        f"its {name}, which is of the partition, is an empty text, which Delta takes for null there"
                    )
                if value is not None and len(urllib.parse.quote(f"{name}={value}", safe="=")) > longest:
                    raise DataError(
                        f"its value for the partition {name} is too long: a folder's name has {longest} bytes at most"
                    )
        self._check_constraints(table, rows)

    def _check_constraints(self, table: DeltaTable, rows: pa.Table) -> None:
        """Raise DataError for rows that a constraint of the table refuses: its commit would fail, for all and for good."""
        constraints = {
            name.removeprefix(_CONSTRAINT): text
            for name, text in table.metadata().configuration.items()
            if name.startswith(_CONSTRAINT) and text is not None
        }
        if not constraints:
            return
        refusal = self._asker.ask(_refusal, commits.schema_of(table), constraints, rows)
        if refusal is not None:
            raise DataError(f"a constraint of the table refuses it: {refusal}")

    def partitions_of(self, table: DeltaTable, rows: pa.Table) -> set[tuple[Hashable, ...]]:
        parts = table.metadata().partition_columns
        if not parts:
            return set()
        distinct = rows.select(parts).group_by(parts).aggregate([])
        return set(zip(*(distinct.column(name).to_pylist() for name in parts), strict=True))

    def mark(self, table: DeltaTable, place: TopicPartition, topic_ids: TopicIdsOf) -> Mark | None:
        return self._transactions.mark(table, place, topic_ids({place.topic}).get(place.topic))

    def target(self, name: str, topic_ids: TopicIdsOf) -> commits.DeltaTarget:
        table = self.fresh(name)
        if table is None:
            raise ConnectError(f"The table {name} is not there any more")
        self._check_folders(table)
        ids = self.ids(name, table) if self._upserts else None
        return commits.DeltaTarget(table, self._transactions, self._asker, self._connector, topic_ids, ids)

    def _check_folders(self, table: DeltaTable) -> None:
        """Raise DeltaFault if a link in place of a partition's folder leads to where none is followed."""
        top = options.local_path(table.table_uri)
        folders = [] if top is None else [top]
        for _ in table.metadata().partition_columns:
            entries = [entry for folder in folders for entry in os.scandir(folder) if entry.name != _LOG]
            if any(entry.is_symlink() and self._files.leads_out(str(top), entry.path) for entry in entries):
                raise DeltaFault(f"a link in its folder leads out of it, which the worker's {LINKS} would have to allow")
            folders = [entry.path for entry in entries if entry.is_dir()]

    def lets_in(self) -> bool:
        # Whether there is a table, the library asks without giving other threads of Python a turn.
        with contextlib.suppress(NoTableError):
            self._asker.ask(DeltaTable, self._url, None, self._options)
        return True

    def passes(self, error: Exception) -> bool:
        return isinstance(error, DeltaFault) and error.passes

    def is_away(self, error: Exception) -> bool:
        return self.passes(error)

    def forbids(self, error: Exception) -> bool:
        return isinstance(error, DeltaFault) and error.forbids

    def reason(self, error: Exception) -> str:
        return str(error)


def _refusal(schema: pa.Schema, constraints: Mapping[str, str], rows: pa.Table) -> str | None:
    """
    Return why a table with these constraints does not take rows; None if it does. The table is on this machine, and is gone at
    once: the library has no other way.
    """
    with tempfile.TemporaryDirectory(prefix="kconnect-delta-") as folder:
        table = DeltaTable.create(folder, schema=schema)
        for name, text in constraints.items():
            table.alter.add_constraint({name: text})
        try:
            write_deltalake(table, rows, mode="append")
        except DeltaError as error:
            return reason(error)
    return None


def _widened(table: DeltaTable, union: pa.Schema) -> None:
    write_deltalake(table, union.empty_table(), mode="append", schema_mode="merge")


def _check_names(wanted: Any, there: Any = ()) -> None:
    """Raise DataError for fields, at any depth, that Delta has not: it takes names that differ by case only for one."""
    lower = {columns.same(field.name): field.name for field in there}
    types = {field.name: field.type for field in there}
    for field in wanted:
        if not _FORBIDDEN.isdisjoint(field.name):
            raise DataError(
                f"{names.shown(field.name)} can't be a column: Delta allows no blanks, and none of ,;{{}}()=` in names"
            )
        if _RESERVED.fullmatch(field.name):
            raise DataError(f"{names.shown(field.name)} can't be a column: Delta, or its library, has such of its own")
        other = lower.setdefault(columns.same(field.name), field.name)
        if other != field.name and field.name not in types:
            raise DataError(
                f"{names.shown(field.name)} can't be a column beside {names.shown(other)}, which Delta takes for the same"
            )
        for inner, inner_there in columns.structs_within(field.type, types.get(field.name)):
            _check_names(inner, inner_there)


def _check_texts(name: str, column: pa.ChunkedArray) -> None:
    """Raise DataError for a text that would be in the table's log as a whole, which whoever opens the table has in memory."""
    if pa.types.is_struct(column.type):
        for field in column.type:
            _check_texts(field.name, pc.struct_field(column, field.name))
    elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        long = column.filter(pc.greater(pc.binary_length(column), _LONG))
        if len(long) and pc.any(pc.match_substring_regex(long, _LAST)).as_py():
            raise DataError(
                f"its {name} begins with {_LAST_COUNT} characters that have none behind them: Delta can't shorten it"
            )
