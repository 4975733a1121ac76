"""
SparkLake: tables as a task knows them, by what the Spark application has said of each last.

A table is not made, and gets no column, before there is something to commit: the application does both with the commit. So a
record waits for no Spark, and tables that a thousand topics need are not made one after the other. Made by `task.py` and
`connector.py`. Read next: `targets.py`.
"""

from __future__ import annotations

import hashlib
import logging
import re
import urllib.parse
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kconnect.api import ConfigError, ConnectError, DataError, TopicPartition
from kconnect.connectors import clouds, names
from kconnect.connectors.host_files import HostFiles
from kconnect.connectors.identity import Mark
from kconnect.connectors.lake import lakes
from kconnect.connectors.lake.columns import longest_part, same, structs_within, union
from kconnect.connectors.lake.lakes import Lake, TopicIdsOf
from kconnect.connectors.lake.partitions import Partition
from kconnect.connectors.spark import settings, targets
from kconnect.connectors.spark.application import Answer, SparkFault

log = logging.getLogger(__name__)

_SCHEMES = ("file", "s3a", "hdfs", "abfss", "gs", "viewfs")
_LOCAL = "file:///"
_CATALOG = "lake.spark.sql.catalog."
_NAMESERVICES = "lake.spark.hadoop.dfs.nameservices"
_NAME_NODE = re.compile(r"hdfs://([^/,\s]+)")
_ODD = frozenset("%?#\\ \0${}[]")
"""What has a meaning in URLs, in statements of SQL or in settings of Spark's."""
_SELECTORS = frozenset(
    (
        *("history", "snapshots", "files", "data_files", "delete_files", "manifests", "partitions", "refs", "entries"),
        *("all_data_files", "all_delete_files", "all_files", "all_manifests", "all_entries", "metadata_log_entries"),
        *("position_deletes", "changes", "rewrite"),
    )
)
_RESERVED = frozenset(("_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number"))
"""Columns that Iceberg's tables have without being asked."""
_OF_MERGES = frozenset(("__row_from_source", "__row_from_target", "_change_type", "_commit_version", "_commit_timestamp"))
"""Columns that Spark, or Delta, has beside a table's while it merges, or in a feed of changes."""
_MOST_DIGITS = 38
_SMALL = {pa.int8(): pa.int32(), pa.int16(): pa.int32()}
Begin = Callable[[dict[str, Any], "pa.Buffer | None"], "Future[Answer]"]
"""Asks the application. SparkFault if it can't be started."""
Wait = Callable[["Future[Answer]"], Answer]
"""Waits for what it says. SparkFault if it fails, or the task is to stop."""


@dataclass(frozen=True)
class SparkTable:
    """
    A table, with the columns that rows are written as: those that it has, and those that it gets with the next commit.
    `identity` is None for one that is made then.
    """

    name: str
    identity: str | None
    schema: pa.Schema
    columns: tuple[str, ...] = ()
    """By which it is partitioned."""
    partitions: Sequence[Partition] = ()
    """By what it is to be, when it is made."""
    marks: Mapping[TopicPartition, Mark] = field(default_factory=dict)


@dataclass
class Rounds:
    """The commits of a table, in sum. Those that tasks share count for each. Most of `wait_seconds` is that others go first."""

    commits: int = 0
    rows: int = 0
    bytes: int = 0
    commit_seconds: float = 0.0
    wait_seconds: float = 0.0

    def add(self, rows: int, size: int, commit_s: float, wait_s: float) -> None:
        self.commits += 1
        self.rows += rows
        self.bytes += size
        self.commit_seconds += commit_s
        self.wait_seconds += wait_s


class SparkLake(Lake[SparkTable]):
    names = settings.NAMES
    kept = 10_000
    """More than one application keeps: what is to be made with its first commit is nowhere else."""
    errors = (SparkFault,)
    unfit = ()
    refusals = (SparkFault,)
    can_empty = True

    def __init__(
        self, config: Mapping[str, Any], props: Mapping[str, str], worker: Mapping[str, str], begin: Begin, wait: Wait
    ) -> None:
        """ConfigError if the tables may not be there."""
        super().__init__(config, props)
        self.begin, self._wait, self._connector = begin, wait, props.get("name", "")
        self.flights: dict[str, targets.Flight] = {}
        """By table: the commit that was asked for last, until somebody has seen what became of it."""
        self.rounds: defaultdict[str, Rounds] = defaultdict(Rounds)
        """Each table that was to be committed to has its sums here."""
        self._format: str = config[settings.FORMAT]
        # Neither format has a time of the day in Spark: it is a text such as 12:34:56.789.
        self.kinds = {
            pa.time32("ms"): pa.string(),
            pa.timestamp("ms", "UTC"): pa.timestamp("us", "UTC"),
            **(_SMALL if self._format == settings.ICEBERG else {}),
        }
        self._url: str = config[settings.STORE].rstrip("/")
        self._catalog: str = config[settings.CATALOG]
        self._files: HostFiles | None = None
        if self._catalog:
            self._check_catalog(worker)
        else:
            self._check_store(worker)
        self.order: str = config[self.names.order]
        self.empties = config[self.names.truncate]
        self._config, self._props = config, props

    def _check_catalog(self, worker: Mapping[str, str]) -> None:
        if self._format != settings.ICEBERG:
            raise ConfigError(settings.CATALOG, self._catalog, "Tables of Delta are in folders: name a lake.store.url")
        if self._url:
            raise ConfigError(settings.CATALOG, self._catalog, "It says where tables are: leave lake.store.url out")
        if not self._catalog.isidentifier() or _CATALOG + self._catalog not in worker:
            known = sorted(name.removeprefix(_CATALOG) for name in worker if name.startswith(_CATALOG))
            have = ", ".join(name for name in known if "." not in name) or "none"
            rule = f"The worker's file has {have} as {_CATALOG}NAME, and this is to be one of them"
            raise ConfigError(settings.CATALOG, self._catalog, rule)

    def _check_store(self, worker: Mapping[str, str]) -> None:
        if not self._url:
            raise ConfigError(settings.STORE, None, "It is missing")
        scheme = self._url.partition("://")[0]
        if scheme not in _SCHEMES or "://" not in self._url or any(letter in _ODD or letter < " " for letter in self._url):
            rule = f"It must begin with one of {', '.join(f'{name}://' for name in _SCHEMES)}, and name a folder or a bucket"
            raise ConfigError(settings.STORE, self._url, rule)
        if scheme == "file" and not self._url.startswith(_LOCAL):
            raise ConfigError(settings.STORE, self._url, "A folder of this machine is file:///folder")
        _check_address(self._url, worker)
        self._files = HostFiles(worker) if scheme == "file" else None
        self._check(self._url)

    def where(self, name: str) -> dict[str, Any]:
        """Return where a table is, in the words of its format. DataError if no table can have that name."""
        parts = name.split(".")
        if any(part.startswith(("_", "branch_", "tag_")) for part in parts):
            raise DataError(f"{names.shown(name)} can't be a table: lakes have names of their own that begin so")
        if not _ODD.isdisjoint(name):
            raise DataError(f"{names.shown(name)} can't be a table: Spark has a meaning for one of its characters")
        if self._format == settings.DELTA:
            url = "/".join((self._url, *(urllib.parse.quote(part) for part in parts)))
            self._check(url, "_delta_log")
            return {"url": url}
        if parts[-1].lower() in _SELECTORS or parts[-1].lower().startswith(("at_timestamp_", "snapshot_id_")):
            raise DataError(f"{names.shown(name)} can't be a table: Iceberg has such of its own for each table")
        if not {"data", "metadata"}.isdisjoint(parts[2:]):
            raise DataError(f"{names.shown(name)} can't be a table: with Iceberg, that is a folder of another table")
        if self._catalog:
            return {"catalog": self._catalog, "table": parts, "properties": {}}
        self._check("/".join((self._url, *parts)), "metadata", "data")
        catalog = f"kconnect_{hashlib.sha256(self._url.encode()).hexdigest()[:16]}"
        properties = {
            "": "org.apache.iceberg.spark.SparkCatalog",
            ".type": "hadoop",
            ".warehouse": self._url,
            # Others commit to the tables, too.
            ".cache-enabled": "false",
        }
        return {"catalog": catalog, "table": parts, "properties": properties}

    def _check(self, url: str, *within: str) -> None:
        """Raise ConfigError for folders that the worker does not allow: links may have been put in their place since."""
        if self._files is not None:
            path = urllib.parse.unquote(url.removeprefix("file://"))
            top = urllib.parse.unquote(self._url.removeprefix("file://"))
            for folder in (path, *(f"{path}/{name}" for name in within)):
                self._files.check(settings.STORE, folder)
                self._files.check_link(settings.STORE, top, folder)

    def head(self, name: str) -> dict[str, Any]:
        """Return how a question about a table begins."""
        return {"format": self._format, "where": self.where(name), "connector": self._connector}

    def may(self) -> dict[str, bool]:
        """Return what a commit may do to a table."""
        return {"creates": self._create, "widens": self._evolve}

    def _ask(self, head: dict[str, Any]) -> Answer:
        return self._wait(self.begin(head, None))

    def forget(self, name: str) -> None:
        table = self._known.get(name)
        # What is to be made is nowhere else.
        if table is not None and table.identity is not None:
            super().forget(name)

    def fresh(self, name: str) -> SparkTable | None:
        """Return a table as it was after its last commit: the next one says if that is not so any more."""
        return self.existing(name)

    def set_offset(self, name: str, place: TopicPartition, offset: int | None) -> None:
        """Set what a table has of a partition, by a commit without rows; None: it knows nothing of it any more."""
        self._ask({"do": "set", **self.head(name), "ends": [[*place, offset]]})

    def maintain(self, name: str, keep_ms: int) -> Future[Answer] | None:
        """Have a table tidied up, beside all else; None if Spark can't be asked."""
        try:
            chore = self.begin({"do": "maintain", **self.head(name), "keep_ms": keep_ms}, None)
        except SparkFault:
            return None
        chore.add_done_callback(lambda done: _note_chore(name, done))
        return chore

    def load(self, name: str) -> SparkTable | None:
        return self.told(name, self._ask({"do": "look", **self.head(name)}))

    def told(self, name: str, answer: Answer) -> SparkTable | None:
        """Return the table that the application has told of."""
        if answer.table is None or answer.schema is None:
            return None
        ids = answer.table["ids"]
        marks = {
            TopicPartition(topic, int(partition)): Mark(offset, ids.get(topic))
            for topic, partitions in answer.table["offsets"].items()
            for partition, offset in partitions.items()
        }
        return SparkTable(name, answer.table["identity"], answer.schema, tuple(answer.table["columns"]), marks=marks)

    def note(self, table: SparkTable) -> None:
        """Know a table as it is after a commit, with the columns that others of its rows wait with."""
        known = self._known.get(table.name)
        if known is not None and known.identity in (None, table.identity):
            table = replace(table, schema=union(table.schema, known.schema))
        self._known[table.name] = table

    def replace(self, name: str, table: SparkTable | None) -> None:
        """Know a table as it is, since it is not what was known."""
        if table is None:
            self._known.pop(name, None)
        else:
            self._known[name] = table

    def reread(self, name: str, table: SparkTable) -> SparkTable:
        fresh = self.load(name)
        if table.identity is not None and (fresh is None or fresh.identity != table.identity):
            raise lakes.other_table(name)
        # Rows wait that have columns which the table gets with them.
        return table if fresh is None else replace(fresh, schema=union(fresh.schema, table.schema))

    def schema(self, table: SparkTable) -> pa.Schema:
        return table.schema

    def own_ids(self, table: SparkTable) -> list[str]:
        return []

    def create(self, name: str, schema: pa.Schema) -> None:
        self._check_columns(schema)
        parts = settings.partitions_of(self._config, self._props, name)
        if len({part.column for part in parts}) == len(schema):
            raise DataError(f"it has nothing but columns by which a new table {names.shown(name)} is partitioned")
        for part in parts:
            if part.column not in schema.names:
                # That of the next record may have it.
                raise DataError(f"it has no field {part.column}, by which a new table {names.shown(name)} is partitioned")
            if pa.types.is_nested(schema.field(part.column).type):
                raise DataError(
                    f"its {part.column}, by which a new table {names.shown(name)} is partitioned, is no single value"
                )
            if not _can_be(part.transform, schema.field(part.column).type):
                raise DataError(f"its {part.column} can't be a partition by {part.transform}: that is for other types")
        every = pa.schema([column.with_nullable(True) for column in schema])
        self._known[name] = SparkTable(name, None, every, tuple(part.column for part in parts), parts)

    def _check_columns(self, wanted: pa.Schema, there: Collection[pa.Field] = ()) -> None:
        _check_names(wanted, there)
        if self._format == settings.ICEBERG:
            _check_iceberg(wanted)

    def widen(self, name: str, table: SparkTable, wanted: pa.Schema) -> SparkTable:
        self._check_columns(wanted, table.schema)
        return replace(table, schema=union(table.schema, wanted))

    def check_parts(self, table: SparkTable, rows: pa.Table) -> None:
        longest = longest_part(self._url, len(table.columns))
        for name in table.columns:
            column = rows.column(name) if name in rows.column_names else None
            if column is not None and self._format == settings.DELTA and _is_binary(column.type):
                if column.null_count < len(column):
                    raise DataError(f"its {name}, which is of the partition, is bytes, of which Delta makes a text")
                continue
            if column is None or not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
                continue
            for value in pc.unique(column).to_pylist():
                if value == "" and self._format == settings.DELTA:
                    raise DataError(f"its {name}, which is of the partition, is an empty text, and Delta makes that null")
                if value is not None and "\0" in value:
                    raise DataError(f"its {name}, which is of the partition, has a character that no folder's name has")
                if value is not None and len(urllib.parse.quote(f"{name}={value}", safe="=")) > longest:
                    raise DataError(
                        f"its value for the partition {name} is too long: a folder's name has {longest} bytes at most"
                    )

    def partitions_of(self, table: SparkTable, rows: pa.Table) -> set[tuple[Hashable, ...]]:
        parts = [part for part in table.columns if part in rows.column_names]
        if not parts:
            return set()
        distinct = rows.select(parts).group_by(parts).aggregate([])
        return set(zip(*(distinct.column(name).to_pylist() for name in parts), strict=True))

    def mark(self, table: SparkTable, place: TopicPartition, topic_ids: TopicIdsOf) -> Mark | None:
        return table.marks.get(place)

    def target(self, name: str, topic_ids: TopicIdsOf) -> targets.SparkTarget:
        table = self.existing(name)
        if table is None:
            raise ConnectError(f"The table {name} is not there any more")
        return targets.SparkTarget(self, table, topic_ids, self.ids(name, table) if self._upserts else None)

    def lets_in(self) -> bool:
        self._ask({"do": "look", **self.head("kconnect.there_is_none")})
        return True

    def passes(self, error: Exception) -> bool:
        return isinstance(error, SparkFault) and error.passes

    def is_away(self, error: Exception) -> bool:
        return self.passes(error)

    def forbids(self, error: Exception) -> bool:
        return isinstance(error, SparkFault) and error.forbids

    def reason(self, error: Exception) -> str:
        return str(error)


def _note_chore(name: str, done: Future[Answer]) -> None:
    error = done.exception()
    if error is None:
        log.info("The table %s was tidied up", name)
    else:
        log.warning("The table %s could not be tidied up, which is tried again later: %s", name, error)


def _check_names(wanted: Iterable[pa.Field], there: Collection[pa.Field] = ()) -> None:
    """Raise DataError for columns that differ from others by case only: to Spark they are one."""
    lower = {same(column.name): column.name for column in there}
    types = {column.name: column.type for column in there}
    for column in wanted:
        if column.name.lower() in _OF_MERGES:
            raise DataError(f"{names.shown(column.name)} can't be a column: Spark has one of this name of its own")
        if any(letter in column.name for letter in " ,;{}()\n\t=`"):
            raise DataError(f"{names.shown(column.name)} can't be a column: blanks and ,;{{}}()=` can't be in names")
        other = lower.setdefault(same(column.name), column.name)
        if other != column.name and column.name not in types:
            raise DataError(
                f"{names.shown(column.name)} can't be a column beside {names.shown(other)}, which Spark takes for the same"
            )
        _check_digits(column.type)
        for inner, inner_there in structs_within(column.type, types.get(column.name)):
            _check_names(inner, inner_there)


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _check_iceberg(fields: Any) -> None:
    for column in fields:
        if "." in column.name or column.name.lower() in _RESERVED:
            raise DataError(f"{names.shown(column.name)} can't be a column: Iceberg has another meaning for it")
        kinds = [column.type]
        while kinds:
            kind = kinds.pop()
            if pa.types.is_struct(kind):
                _check_iceberg(kind)
            else:
                kinds += [kind.field(at).type for at in range(kind.num_fields)]


def _can_be(transform: str, kind: pa.DataType) -> bool:
    """Whether Iceberg partitions columns of a type so."""
    name = transform.partition("[")[0]
    if name in ("year", "month", "day"):
        return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))
    if name == "hour":
        return bool(pa.types.is_timestamp(kind))
    if name == "bucket":
        return not (pa.types.is_floating(kind) or pa.types.is_boolean(kind))
    if name == "truncate":
        is_number = pa.types.is_integer(kind) or pa.types.is_decimal(kind)
        return bool(is_number or pa.types.is_string(kind) or pa.types.is_binary(kind))
    return True


def _check_digits(kind: pa.DataType) -> None:
    if pa.types.is_decimal(kind) and kind.precision > _MOST_DIGITS:
        raise DataError(f"a decimal with {kind.precision} digits can't be a column: {_MOST_DIGITS} may be")
    for at in range(kind.num_fields):
        _check_digits(kind.field(at).type)


def _check_address(url: str, worker: Mapping[str, str]) -> None:
    """
    Raise ConfigError for a store at an address that the worker does not allow. The logins are the worker's own, and go where
    the URL says: of Azure, to Azure's own hosts or those that the worker's file names; of HDFS, to the name nodes that it
    names, if it names any.
    """
    scheme, _, rest = url.partition("://")
    authority = rest.partition("/")[0].lower()
    named = {name.removeprefix("lake.spark."): text.lower() for name, text in worker.items() if name.startswith("lake.spark.")}
    if scheme == "abfss":
        host = authority.partition("@")[2]
        if not clouds.is_own(host) and not any(name.lower().endswith(f".{host}") for name in named if host):
            rule = (
                "It leads the worker's login to a host that is none of Azure's: name a container and an account, as in "
                "abfss://container@account.dfs.core.windows.net, or have the worker's file name the host, by "
                f"lake.spark.hadoop.fs.azure.account.auth.type.{host or 'HOST'}"
            )
            raise ConfigError(settings.STORE, url, rule)
    if scheme == "hdfs" and authority:
        nodes = {node for text in named.values() for node in _NAME_NODE.findall(text)}
        nodes |= {service.strip() for service in worker.get(_NAMESERVICES, "").lower().split(",")} - {""}
        if nodes and authority.rpartition("@")[2] not in nodes:
            rule = (
                f"The worker's file names {', '.join(sorted(nodes))} as HDFS, and this is another one: name it there, too, by "
                f"lake.spark.kerberos.access.hadoopFileSystems or {_NAMESERVICES}"
            )
            raise ConfigError(settings.STORE, url, rule)
