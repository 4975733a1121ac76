"""
Tables of Apache Iceberg, in a catalog of Spark's.

Spark puts an append on top of whatever is there, so a commit that somebody made twice would double rows. Here each is made on a
branch of what the table was known to be, and the table is moved forward to it: the catalog refuses that once anybody else has
committed. The ledger is a property of the snapshot. Read next: `delta.py`, for what is the same.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterable, Mapping
from itertools import starmap
from typing import Any

from kconnect.connectors.spark.session.delta import merge_of, name_of
from kconnect.connectors.spark.session.tables import By, ConflictError, Ledger, LostError, State, empty, java_name, parsed

_PREFIX = "snapshot-property."
_SESSION_PREFIX = "spark.sql.iceberg." + _PREFIX
_MAIN, _BRANCH, _NOTES = "main", "kconnect_", "kconnect."
_OLD_S = 3600.0
"""A branch that was made earlier is nobody's: a commit takes seconds."""
_BRANCHES = re.compile(_BRANCH + r"(\d{1,12})_[0-9a-f]{32}")
_UNITS = {"year": "years", "month": "months", "day": "days", "hour": "hours"}


class Iceberg:
    def __init__(self) -> None:
        self._swept: set[str] = set()
        """The tables that were looked at for branches that others have left."""

    def look(self, spark: Any, where: Mapping[str, Any], connector: str) -> State | None:
        table = _loaded(spark, where)
        if table is None:
            return None
        snapshot, ledger = table.currentSnapshot(), None
        version = "" if snapshot is None else str(snapshot.snapshotId())
        while snapshot is not None and ledger is None:
            ledger = parsed(snapshot.summary().get(_property(connector)), connector)
            parent = snapshot.parentId()
            snapshot = None if parent is None else table.snapshot(parent)
        if ledger is None and table.properties().get(_mark(connector)) is not None:
            raise LostError(connector, "its snapshots with that are gone, or it was rolled back to before them")
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

        def write(branch: str) -> None:
            rows.writeTo(branch).option(_PREFIX + _property(ledger.connector), ledger.text()).append()

        self._on_branch(spark, where, state, write)

    def merge(self, spark: Any, where: Mapping[str, Any], rows: Any, by: By, state: State, ledger: Ledger) -> None:
        names = [name for name in rows.columns if name != by.mark]

        def write(branch: str) -> None:
            setting = _SESSION_PREFIX + _property(ledger.connector)
            spark.conf.set(setting, ledger.text())
            try:
                spark.sql(merge_of(branch, names, by), source=rows)
            finally:
                spark.conf.unset(setting)

        self._on_branch(spark, where, state, write)

    def replace(self, spark: Any, where: Mapping[str, Any], rows: Any, state: State, ledger: Ledger) -> None:
        from pyspark.sql.functions import lit

        def write(branch: str) -> None:
            rows.writeTo(branch).option(_PREFIX + _property(ledger.connector), ledger.text()).overwrite(lit(True))

        self._on_branch(spark, where, state, write)

    def compact(self, spark: Any, where: Mapping[str, Any]) -> None:
        table = ".".join(map(name_of, where["table"])).replace("'", "\\'")
        try:
            spark.sql(
                f"CALL {name_of(where['catalog'])}.system.rewrite_data_files(table => '{table}', options => "
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
        kept = _kept(table)
        if state.ledger.number:
            kept[_property(ledger.connector)] = ledger.text()

        def write(branch: str) -> None:
            writer = empty(spark, state.schema).writeTo(branch)
            for name, text in kept.items():
                writer = writer.option(_PREFIX + name, text)
            writer.append()

        if kept and state.version:
            self._on_branch(spark, where, state, write)

    def expire(self, spark: Any, where: Mapping[str, Any], keep_ms: int) -> None:
        table = _loaded(spark, where)
        if table is not None:
            table.expireSnapshots().expireOlderThan(int(time.time() * 1000) - keep_ms).commit()

    def _sweep(self, table: Any) -> None:
        """Take away the branches of applications that have ended while they committed: they keep snapshots for ever."""
        identity = str(table.uuid())
        if identity in self._swept:
            return
        self._swept.add(identity)
        for name in leftovers([str(name) for name in table.refs()], time.time()):
            table.manageSnapshots().removeBranch(name).commit()
            table.refresh()

    def _on_branch(self, spark: Any, where: Mapping[str, Any], state: State, write: Any) -> None:
        """Write to a branch of the table as it was looked at, and move the table there, if nobody has moved it."""
        table = _loaded(spark, where)
        if table is None:
            raise ConflictError("it was dropped")
        branch = f"{_BRANCH}{int(time.time())}_{uuid.uuid4().hex}"
        if not state.version:
            # What has no snapshot has nothing that a branch could begin at.
            table.newAppend().commit()
            raise ConflictError("it was empty")
        self._sweep(table)
        table.manageSnapshots().createBranch(branch, int(state.version)).commit()
        try:
            write(f"{_name(where)}.branch_{branch}")
            table.refresh()
            table.manageSnapshots().fastForwardBranch(_MAIN, branch).commit()
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


def _kept(table: Any) -> dict[str, str]:
    """Return what connectors have noted in the snapshots of a table, the newest of each note."""
    kept: dict[str, str] = {}
    snapshot = table.currentSnapshot()
    while snapshot is not None:
        summary = snapshot.summary()
        for name in summary:
            if str(name).startswith(_NOTES):
                kept.setdefault(str(name), str(summary[name]))
        parent = snapshot.parentId()
        snapshot = None if parent is None else table.snapshot(parent)
    return kept


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
    try:
        table = spark._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, _name(where))
    except Exception as error:
        if "NoSuchTable" in java_name(error) or "NoSuchNamespace" in java_name(error):
            return None
        raise
    return table


def _prepare(spark: Any, where: Mapping[str, Any]) -> None:
    """Tell a session of the catalog: it is made when it is first asked for."""
    for name, value in where["properties"].items():
        spark.conf.set(f"spark.sql.catalog.{where['catalog']}{name}", value)


def _name(where: Mapping[str, Any]) -> str:
    return ".".join(map(name_of, (where["catalog"], *where["table"])))


def _property(connector: str) -> str:
    return f"kconnect.ledger.{connector}"


def _mark(connector: str) -> str:
    """Return the property of a table that the connector has written to."""
    return f"kconnect.writer.{connector}"


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
