"""
Tables of Apache Iceberg, in a catalog of Spark's.

Spark puts an append on top of whatever is there, so a commit that somebody made twice would double rows. Here each is made on a
branch of what the table was known to be, and the table is moved forward to it: the catalog refuses that once anybody else has
committed. The ledger is a property of the snapshot. Read next: `delta.py`, for what is the same.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import starmap
from typing import Any

from kconnect.connectors.spark.session import catalogs
from kconnect.connectors.spark.session.columns import empty
from kconnect.connectors.spark.session.copies import name_of
from kconnect.connectors.spark.session.delta import UPWARDS, check_folder, check_links, merge_of, viewed
from kconnect.connectors.spark.session.tables import (
    By,
    ConflictError,
    ElsewhereError,
    Inside,
    Ledger,
    LostError,
    State,
    java_name,
    parsed,
)

_SESSION_PREFIX = "spark.sql.iceberg.snapshot-property."
_YOUNG_MS = 25 * 3_600_000
"""Files that are younger may be of a commit that is being made; Iceberg refuses to remove those of the last day."""
_FOLDERS = ("data", "metadata")
"""Those of a table, in its own folder."""
_ELSEWHERE = ("write.data.path", "write.metadata.path", "write.location-provider.impl", "write.object-storage.path")
"""Properties of a table that send its files elsewhere."""
_REMOVES = "write.metadata.delete-after-commit.enabled"
"""The property by which a commit removes older metadata, wherever the newest say that these are."""
_STATISTICS = ("statistics", "partition-statistics")
_ASTRAY = "its metadata name files that are not in its folder"
_MAIN, _BRANCH, _NOTES = "main", "kconnect_", "kconnect."
_PLAIN = "kconnect.ledger."
_OLD_S = 24 * 3600.0
"""A branch that was made earlier is nobody's: a commit takes seconds, but for the copy of a large table."""
_BRANCHES = re.compile(_BRANCH + r"(\d{1,12})_[0-9a-f]{32}")
_UNITS = {"year": "years", "month": "months", "day": "days", "hour": "hours"}


class Iceberg:
    def __init__(self, links: list[str] | None = None) -> None:
        self._links = links
        self._swept: set[str] = set()
        """The tables that were looked at for branches that others have left."""
        self._inside = Inside()
        self._listed = Inside()
        """Of which all manifests are known to be in the table's folder."""

    def look(self, spark: Any, where: Mapping[str, Any], connector: str) -> State | None:
        table = _loaded(spark, where)
        if table is None:
            return None
        snapshot, ledger = table.currentSnapshot(), None
        version = "" if snapshot is None else str(snapshot.snapshotId())
        while snapshot is not None and ledger is None:
            notes = snapshot.summary()
            # Before names were in hex they stood as they are, or in small letters.
            texts = (notes.get(name) for name in (_property(connector), _PLAIN + connector, _PLAIN + connector.lower()))
            ledger = next(filter(None, (parsed(text, connector) for text in texts)), None)
            parent = snapshot.parentId()
            snapshot = None if parent is None else table.snapshot(parent)
        if ledger is None and table.properties().get(_mark(connector)) is not None:
            raise LostError(connector, "its snapshots with that are gone, or it was rolled back to before them")
        if where["properties"] and not self._listed.has(str(table.uuid()), _content(table)):
            _check_manifests(table, table.currentSnapshot())
            self._listed.note(str(table.uuid()), _content(table))
        fields = table.spec().fields()
        names = [str(fields.get(at).name()) for at in range(fields.size())]
        schema = spark.table(_name(where)).schema
        return State(str(table.uuid()), version, schema, names, ledger or Ledger(connector))

    def create(self, spark: Any, where: Mapping[str, Any], schema: Any, partitions: list[list[str]]) -> None:
        _prepare(spark, where)
        namespace = ".".join(map(name_of, (where["catalog"], *where["table"][:-1])))
        columns = spark._jvm.org.apache.spark.sql.types.DataType.fromJson(schema.json()).toDDL()
        parts = f" PARTITIONED BY ({', '.join(starmap(_partition, partitions))})" if partitions else ""
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
        spark.sql(
            f"CREATE TABLE IF NOT EXISTS {_name(where)} ({columns}) USING iceberg{parts} TBLPROPERTIES ('format-version'='2', "
            "'write.merge.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.delete.mode'='merge-on-read')"
        )

    def widen(self, spark: Any, where: Mapping[str, Any], schema: Any) -> None:
        there = spark.table(_name(where)).schema
        for path, column in _new("", there, schema):
            kind = spark._jvm.org.apache.spark.sql.types.DataType.fromJson(column.dataType.json()).sql()
            spark.sql(f"ALTER TABLE {_name(where)} ADD COLUMN {path} {kind}")

    def append(self, spark: Any, where: Mapping[str, Any], rows: Any, state: State, ledger: Ledger) -> None:
        rows = empty(spark, state.schema) if rows is None else rows
        self._on_branch(spark, where, state, _notes(ledger), lambda branch: rows.writeTo(branch).append())

    def merge(self, spark: Any, where: Mapping[str, Any], rows: Any, by: By, state: State, ledger: Ledger) -> None:
        self._check_inside(spark, where, state)
        names = [name for name in rows.columns if name != by.mark]
        with viewed(rows) as source:
            self._on_branch(
                *(spark, where, state, _notes(ledger)), lambda branch: spark.sql(merge_of(branch, source, names, by))
            )

    def replace(self, spark: Any, where: Mapping[str, Any], rows: Any, state: State, ledger: Ledger) -> None:
        from pyspark.sql.functions import lit

        self._on_branch(spark, where, state, _notes(ledger), lambda branch: rows.writeTo(branch).overwrite(lit(True)))

    def check_folders(self, where: Mapping[str, Any], state: State) -> None:
        if where["properties"]:
            table = "/".join((where["properties"][".warehouse"], *where["table"]))
            # Below data, with those of the partitions.
            check_links(table, len(state.columns) + 1, self._links)

    def rows(self, spark: Any, where: Mapping[str, Any]) -> Any:
        _prepare(spark, where)
        return spark.table(_name(where))

    def compact(self, spark: Any, where: Mapping[str, Any]) -> None:
        state = self.look(spark, where, "")
        if state is not None:
            self._check_inside(spark, where, state)
            self.check_folders(where, state)
        try:
            spark.sql(
                f"CALL {name_of(where['catalog'])}.system.rewrite_data_files(table => {_text(where)}, options => "
                "map('delete-file-threshold', '1', 'remove-dangling-deletes', 'true'))"
            )
        except Exception as error:
            if _is_conflict(error):
                raise ConflictError(str(error)) from None
            raise

    def settle(self, spark: Any, where: Mapping[str, Any], state: State, ledger: Ledger) -> None:
        """Have those of all connectors in the newest snapshot: each stands in the one that it was written with."""
        table = _loaded(spark, where)
        if table is None:
            raise ConflictError("it was dropped")
        kept = {**_noted_before(table), **(_notes(ledger) if state.ledger.number else {})}
        if kept and state.version:
            self._on_branch(spark, where, state, kept, lambda branch: empty(spark, state.schema).writeTo(branch).append())

    def expire(self, spark: Any, where: Mapping[str, Any], keep_ms: int) -> None:
        table, now = _loaded(spark, where), int(time.time() * 1000)
        if table is None:
            return
        older = table.expireSnapshots().expireOlderThan(now - keep_ms)
        if not where["properties"]:
            older.commit()
            return
        # All that the table still has is read, to see which files it names.
        _check_all(spark, table, where)
        # Who may write into a folder may have written a snapshot, which may name any file. What none names any more is looked
        # for in the table's own folders; others, in the same one, are those of tables with longer names.
        location = str(table.location())
        check_folder(location)
        older.cleanExpiredFiles(False).commit()
        before = datetime.datetime.fromtimestamp((now - max(keep_ms, _YOUNG_MS)) / 1000, datetime.timezone.utc)
        for folder in _FOLDERS:
            path = spark._jvm.org.apache.hadoop.fs.Path(f"{location}/{folder}")
            if path.getFileSystem(spark._jsc.hadoopConfiguration()).exists(path):
                spark.sql(
                    f"CALL {name_of(where['catalog'])}.system.remove_orphan_files(table => {_text(where)}, "
                    f"older_than => TIMESTAMP '{before:%Y-%m-%d %H:%M:%S}', location => {_literal(path.toString())}, "
                    "prefix_mismatch_mode => 'IGNORE')"
                )

    def _check_inside(self, spark: Any, where: Mapping[str, Any], state: State) -> None:
        """Raise ElsewhereError for a table in a folder of which a snapshot names files elsewhere, as with Delta."""
        if not where["properties"]:
            return
        table = _loaded(spark, where)
        content = "" if table is None else _content(table)
        if table is None or self._inside.has(state.identity, content):
            return
        _check_manifests(table, table.currentSnapshot())
        if _has_others(table, spark.table(f"{_name(where)}.files"), "file_path"):
            raise ElsewhereError("its snapshot names files that are not in its folder")
        self._inside.note(state.identity, content)

    def _sweep(self, table: Any) -> None:
        """Take away the branches of applications that have ended while they committed: they keep snapshots for ever."""
        identity = str(table.uuid())
        if identity in self._swept:
            return
        self._swept.add(identity)
        for name in leftovers([str(name) for name in table.refs()], time.time()):
            table.manageSnapshots().removeBranch(name).commit()
            table.refresh()

    def _on_branch(
        self, spark: Any, where: Mapping[str, Any], state: State, notes: Mapping[str, str], write: Callable[[str], Any]
    ) -> None:
        """
        Write, with properties of the snapshot, to a branch of the table as it was looked at, and move the table there, unless
        somebody has moved it.
        """
        table = _loaded(spark, where)
        if table is None:
            raise ConflictError("it was dropped")
        branch = f"{_BRANCH}{int(time.time())}_{uuid.uuid4().hex}"
        if not state.version:
            # What has no snapshot has nothing that a branch could begin at.
            table.newAppend().commit()
            raise ConflictError("it was empty")
        before, base = _content(table), table.snapshot(int(state.version))
        if where["properties"] and base is not None and not _is_below(table, base.manifestListLocation()):
            raise ElsewhereError(_ASTRAY)
        self._sweep(table)
        table.manageSnapshots().createBranch(branch, int(state.version)).commit()
        try:
            with _noted(spark, notes):
                write(f"{_name(where)}.branch_{branch}")
            table.refresh()
            table.manageSnapshots().fastForwardBranch(_MAIN, branch).commit()
            for known in (self._inside, self._listed):
                if known.has(state.identity, before):
                    # All that this one has added is its own.
                    known.note(state.identity, _content(table))
            if table.properties().get(_mark(state.ledger.connector)) is None:
                # Not before it: who finds this looks for a ledger.
                table.updateProperties().set(_mark(state.ledger.connector), "true").commit()
        except Exception as error:
            if _is_conflict(error):
                raise ConflictError(str(error)) from None
            raise
        finally:
            table.refresh()
            table.manageSnapshots().removeBranch(branch).commit()


def _noted_before(table: Any) -> dict[str, str]:
    """Return what connectors have noted in the snapshots of a table, the newest of each note."""
    kept: dict[str, str] = {}
    snapshot = table.currentSnapshot()
    while snapshot is not None:
        summary = snapshot.summary()
        for name in summary:
            # Spark puts values of its environment for ${…} into settings.
            if str(name).startswith(_NOTES) and "$" not in f"{name}{summary[name]}":
                kept.setdefault(str(name), str(summary[name]))
        parent = snapshot.parentId()
        snapshot = None if parent is None else table.snapshot(parent)
    return kept


def _check_place(spark: Any, table: Any, where: Mapping[str, Any]) -> None:
    """
    Raise ElsewhereError for a table in a folder whose metadata send its files elsewhere, or name what is read next, or removed
    by the next commit, elsewhere. Nothing but the metadata was read until here.
    """
    if not where["properties"]:
        catalogs.check_table(spark, where["catalog"], table)
        return
    wanted = "/".join((where["properties"][".warehouse"], *where["table"]))
    path, properties = table.location(), table.properties()
    if _plain(str(path)) != _plain(wanted) or any(properties.get(name) is not None for name in _ELSEWHERE):
        raise ElsewhereError("its metadata send files to another place than its folder")
    snapshot = table.currentSnapshot()
    named = [] if snapshot is None else [snapshot.manifestListLocation()]
    if str(properties.get(_REMOVES)).lower() == "true":
        named += [entry.file() for entry in table.operations().current().previousFiles()]
    if not all(_is_below(table, name) for name in named):
        raise ElsewhereError(_ASTRAY)


def _check_manifests(table: Any, snapshot: Any) -> None:
    """Raise ElsewhereError if the list of a snapshot, which is in the table's folder, names manifests that are not."""
    manifests = [] if snapshot is None else snapshot.allManifests(table.io())
    if not all(_is_below(table, manifest.path()) for manifest in manifests):
        raise ElsewhereError(_ASTRAY)


def _check_all(spark: Any, table: Any, where: Mapping[str, Any]) -> None:
    """Raise ElsewhereError if a snapshot of a table, old ones too, or anything else in its metadata names a file elsewhere."""
    metadata = json.loads(spark._jvm.org.apache.iceberg.TableMetadataParser.toJson(table.operations().current()))
    named = [snapshot.get("manifest-list") for snapshot in metadata.get("snapshots") or ()]
    named += [entry.get("metadata-file") for entry in metadata.get("metadata-log") or ()]
    named += [entry.get("statistics-path") for part in _STATISTICS for entry in metadata.get(part) or ()]
    if not all(_is_below(table, name) for name in named):
        raise ElsewhereError(_ASTRAY)
    if _has_others(table, spark.table(f"{_name(where)}.all_manifests"), "path"):
        raise ElsewhereError(_ASTRAY)


def _has_others(table: Any, rows: Any, column: str) -> bool:
    """Return whether a column names a file that is not in a table's folder."""
    from pyspark.sql import functions

    path = functions.regexp_replace(rows[column], "^([A-Za-z0-9]+):/+", "$1:/")
    return bool(rows.where(~path.startswith(_top(table)) | path.rlike(UPWARDS)).limit(1).count())


def _is_below(table: Any, path: Any) -> bool:
    """Whether a path is in a table's folder. None is not: what stands in its place is read wherever it is."""
    return path is not None and _plain(str(path)).startswith(_top(table)) and re.search(UPWARDS, str(path)) is None


def _top(table: Any) -> str:
    return _plain(str(table.location())) + "/"


def _content(table: Any) -> str:
    """Return what stands for all that a table has: a snapshot may be given another list by who writes the metadata anew."""
    snapshot = table.currentSnapshot()
    return "" if snapshot is None else f"{snapshot.snapshotId()} {snapshot.manifestListLocation()}"


def _plain(url: str) -> str:
    """Return a URL in one of the forms that a folder's has: file:/x is file:///x."""
    scheme, _, rest = url.rstrip("/").partition(":")
    return f"{scheme}:/{rest.lstrip('/')}"


def leftovers(names: Iterable[str], now: float) -> list[str]:
    """Return those of a table's branches that were made for commits, and are too old to be still in use."""
    found = [(name, _BRANCHES.fullmatch(name)) for name in names]
    return [name for name, match in found if match is not None and now - int(match[1]) > _OLD_S]


def _partition(column: str, transform: str) -> str:
    """Return a field of a partition in SQL; a transform is such as day or bucket[16]."""
    kind, _, size = transform.rstrip("]").partition("[")
    if size:
        return f"{kind}({int(size)}, {name_of(column)})"
    return name_of(column) if kind == "identity" else f"{_UNITS[kind]}({name_of(column)})"


def _is_conflict(error: Exception) -> bool:
    name, text = java_name(error), str(error)
    return "CommitFailedException" in name or "is not an ancestor" in text or "ValidationException" in name


def _loaded(spark: Any, where: Mapping[str, Any]) -> Any:
    _prepare(spark, where)
    # One that is away says so here, and later that it has no such table.
    spark._jsparkSession.sessionState().catalogManager().catalog(where["catalog"])
    try:
        table = spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, _name(where))
    except Exception as error:
        if "NoSuchTable" in java_name(error) or "NoSuchNamespace" in java_name(error):
            return None
        raise
    _check_place(spark, table, where)
    return table


def _prepare(spark: Any, where: Mapping[str, Any]) -> None:
    """Tell a session of the catalog: it is made when it is first asked for."""
    for name, value in where["properties"].items():
        spark.conf.set(f"spark.sql.catalog.{where['catalog']}{name}", value)
    if not where["properties"]:
        catalogs.opened(spark, where["catalog"])


def _name(where: Mapping[str, Any]) -> str:
    return ".".join(map(name_of, (where["catalog"], *where["table"])))


def _property(connector: str) -> str:
    """Return the property of a snapshot with the ledger. The name is in hex: Spark takes some letters for others, and ${…}."""
    return _PLAIN + connector.encode().hex()


def _mark(connector: str) -> str:
    """Return the property of a table that the connector has written to."""
    return f"kconnect.writer.{connector.encode().hex()}"


def _notes(ledger: Ledger) -> dict[str, str]:
    return {_property(ledger.connector): ledger.text()}


@contextlib.contextmanager
def _noted(spark: Any, notes: Mapping[str, str]) -> Iterator[None]:
    """Have the next snapshot get properties. What a writer is told instead, Spark writes in small letters."""
    for name, text in notes.items():
        spark.conf.set(_SESSION_PREFIX + name, text)
    try:
        yield
    finally:
        for name in notes:
            spark.conf.unset(_SESSION_PREFIX + name)


def _text(where: Mapping[str, Any]) -> str:
    """Return a table's name as a text of SQL."""
    return _literal(".".join(map(name_of, where["table"])))


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _new(prefix: str, there: Any, wanted: Any) -> list[tuple[str, Any]]:
    """Return the columns that are not there, by their paths."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    existing = {column.name: column for column in there}
    found = []
    for column in wanted:
        path = prefix + name_of(column.name)
        if column.name not in existing:
            found.append((path, column))
            continue
        old, new, within = existing[column.name].dataType, column.dataType, path
        while isinstance(new, ArrayType | MapType):
            within += ".element" if isinstance(new, ArrayType) else ".value"
            old, new = (old.elementType, new.elementType) if isinstance(new, ArrayType) else (old.valueType, new.valueType)
        if isinstance(new, StructType):
            found += _new(f"{within}.", old, new)
    return found
