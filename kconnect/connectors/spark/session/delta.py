"""
Tables of Delta Lake, each in a folder.

The ledger's number is the version of a transaction of the connector's: Delta lets nobody commit one that is not new. It raises
no error for that, though, and writes nothing; so `tables.py` reads the table again. The ledger itself is the commit's
`userMetadata`, which the log keeps with the commit. Read next: `iceberg.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import uuid
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from kconnect import normal_forms
from kconnect.connectors.spark.session.columns import empty
from kconnect.connectors.spark.session.copies import name_of
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

_APPLICATION, _VERSION, _METADATA = (
    "spark.databricks.delta.write.txnAppId",
    "spark.databricks.delta.write.txnVersion",
    "spark.databricks.delta.commitInfo.userMetadata",
)
_CONFLICTS = ("Concurrent", "MetadataChangedException", "ProtocolChangedException", "DeltaAlreadyExists", "CommitFailed")
_LOG = "_delta_log"
_HINT, _LONGEST_HINT = "_last_checkpoint", 16 << 20
_CHECKPOINT = re.compile(r"\d+[.]checkpoint([.]parquet|[.][A-Za-z0-9-]+[.](json|parquet)|[.]\d+[.]\d+[.]parquet)")
_NAME = "[A-Za-z0-9_=-][A-Za-z0-9._=-]*"
"""Of a part of a checkpoint, or of one: no path, and no address."""
_SIDECAR = "sidecar struct<path string>"
_LAST_CHECKPOINTS = 20
"""Of those that were there before a table was first looked at. Delta takes the last one that it can read."""
_DEEPEST = 6
"""So many parts a table's name may have more than another's that is looked for in its folder."""
UPWARDS = "(^|/)[.][.](/|$)"
"""A path that leaves a folder again."""
_ODD_NAMES = (r"^[A-Za-z][A-Za-z0-9+.-]*:", "(^|/)[.]{0,2}(/|$)", r"[\x00-\x1f\x7f\\]", r"^\s|\s$")
"""What may be taken for a file elsewhere: an address, another part than a name, what URLs leave out or take for a slash."""
_CHECKED = "spark.databricks.delta.retentionDurationCheck.enabled"
_KEPT = 10_000


class Delta:
    def __init__(self, links: list[str] | None = None) -> None:
        self._links = links
        self._checkpoints: dict[str, frozenset[str]] = {}
        """By table: the checkpoints whose parts are known to be in its log."""
        self._ledgers: dict[tuple[str, str, int], Ledger] = {}
        """By the table's identity, the connector and the number: which text belongs to a version is found once."""
        self._inside = Inside()

    def look(self, spark: Any, where: Mapping[str, Any], connector: str) -> State | None:
        from pyspark.sql.types import StructType, _parse_datatype_json_string

        self._check_log(spark, where["url"])
        snapshot = _snapshot(spark, where)
        if snapshot.version() < 0:
            return None
        metadata = snapshot.metadata()
        columns = metadata.partitionColumns()
        identity = str(metadata.id())
        committed = snapshot.transactions().get(_application(connector))
        number = int(committed.get()) if committed.isDefined() else 0
        schema = _parse_datatype_json_string(snapshot.schema().json())
        assert isinstance(schema, StructType)
        ledger = self._ledger(spark, where, identity, connector, number)
        names = [str(columns.apply(at)) for at in range(columns.size())]
        return State(identity, str(snapshot.version()), schema, names, ledger)

    def _ledger(self, spark: Any, where: Mapping[str, Any], identity: str, connector: str, number: int) -> Ledger:
        if number == 0:
            return Ledger(connector)
        key = (identity, connector, number)
        ledger = self._ledgers.get(key)
        if ledger is None:
            ledger = self._found(spark, where, connector, number)
            if len(self._ledgers) >= _KEPT:
                self._ledgers.clear()
            self._ledgers[key] = ledger
        return ledger

    def _found(self, spark: Any, where: Mapping[str, Any], connector: str, number: int) -> Ledger:
        for limit in (" LIMIT 20", ""):
            for row in spark.sql(f"DESCRIBE HISTORY {_quoted(where)}{limit}").select("userMetadata").collect():
                ledger = parsed(row[0], connector)
                if ledger is not None and ledger.number == number:
                    return ledger
        why = "others alone have committed for longer than delta.logRetentionDuration"
        raise LostError(connector, why, number)

    def create(self, spark: Any, where: Mapping[str, Any], schema: Any, partitions: list[list[str]]) -> None:
        _check_place(spark, where["url"])
        writer = empty(spark, schema).write.format("delta").mode("ignore")
        if partitions:
            writer = writer.partitionBy(*(column for column, _ in partitions))
        _conflicting(writer.save, where["url"])

    def widen(self, spark: Any, where: Mapping[str, Any], schema: Any) -> None:
        writer = empty(spark, schema).write.format("delta").mode("append").option("mergeSchema", "true")
        _conflicting(writer.save, where["url"])

    def append(self, spark: Any, where: Mapping[str, Any], rows: Any, state: State, ledger: Ledger) -> None:
        rows = empty(spark, state.schema) if rows is None else rows
        writer = rows.write.format("delta").mode("append")
        _noted(spark, ledger, writer.save, where["url"])

    def merge(self, spark: Any, where: Mapping[str, Any], rows: Any, by: By, state: State, ledger: Ledger) -> None:
        self._check_inside(spark, where, state)
        names = [name for name in rows.columns if name != by.mark]
        with viewed(rows) as source:
            _noted(spark, ledger, spark.sql, merge_of(_quoted(where), source, names, by))
        # If it is the next version, what was looked at, and this one's own files, are all that there are.
        self._inside.note(state.identity, str(int(state.version) + 1))

    def replace(self, spark: Any, where: Mapping[str, Any], rows: Any, state: State, ledger: Ledger) -> None:
        _noted(spark, ledger, rows.write.format("delta").mode("overwrite").save, where["url"])

    def check_folders(self, where: Mapping[str, Any], state: State) -> None:
        check_links(where["url"], len(state.columns), self._links)

    def _check_log(self, spark: Any, url: str) -> None:
        """
        Raise ElsewhereError for a table whose log has checkpoints with parts elsewhere. Delta reads these when it first opens
        a table, so this comes before it.
        """
        hadoop = spark._jvm.org.apache.hadoop.fs
        log = hadoop.Path(f"{url}/{_LOG}")
        files = log.getFileSystem(spark._jsc.hadoopConfiguration())
        statuses = files.globStatus(hadoop.Path(log, "*.checkpoint*"))
        count = 0 if statuses is None else len(statuses)
        # One text: there may be very many, and each question takes its time.
        names = (
            [path.rpartition("/")[2] for path in _text(spark, hadoop.FileUtil.stat2Paths(statuses)).split(", ")]
            if count
            else []
        )
        odd = [name for name in names if _CHECKPOINT.fullmatch(name) is None and not name.endswith((".tmp", ".crc"))]
        if len(names) != count or odd:
            raise ElsewhereError("its log has a checkpoint with a name that none has")
        _check_hint(spark, files, hadoop.Path(log, _HINT))
        fresh = sorted(set(names) - self._checkpoints.get(url, frozenset()), reverse=True)
        # Those in several parts name none. Of the others of the older kind the last ones are read, if at all.
        with_parts = [name for name in fresh if len(name.split(".")) == 4]
        plain = [name for name in fresh if len(name.split(".")) == 3][:_LAST_CHECKPOINTS]
        for kind in ("json", "parquet"):
            paths = [f"{url}/{_LOG}/{name}" for name in (*with_parts, *plain) if name.endswith(f".{kind}")]
            if paths and _names_others(spark.read.schema(_SIDECAR).format(kind).load(paths)):
                raise ElsewhereError("a checkpoint of its log names files that are not in its folder")
        if names:
            if len(self._checkpoints) >= _KEPT:
                self._checkpoints.clear()
            self._checkpoints[url] = frozenset(names)

    def rows(self, spark: Any, where: Mapping[str, Any]) -> Any:
        return spark.read.format("delta").load(where["url"])

    def compact(self, spark: Any, where: Mapping[str, Any]) -> None:
        state = self.look(spark, where, "")
        if state is not None:
            self._check_inside(spark, where, state)
        check_folder(where["url"])
        _conflicting(spark.sql, f"OPTIMIZE {_quoted(where)}")

    def _check_inside(self, spark: Any, where: Mapping[str, Any], state: State) -> None:
        """Raise ElsewhereError for a table whose log names files elsewhere: what reads them would copy their rows into it."""
        if self._inside.has(state.identity, state.version):
            return
        from pyspark.sql import DataFrame

        files = _snapshot(spark, where).allFiles().toDF()
        if int(DataFrame(files, spark).where(_leads_out()).limit(1).count()):
            raise ElsewhereError("its log names files that are not in its folder")
        self._inside.note(state.identity, state.version)

    def settle(self, spark: Any, where: Mapping[str, Any], state: State, ledger: Ledger) -> None:
        """Do nothing but for a connector that has written: the log keeps the others' for longer than this one's."""
        if state.ledger.number:
            self.append(spark, where, None, state, ledger)

    def expire(self, spark: Any, where: Mapping[str, Any], keep_ms: int) -> None:
        check_folder(where["url"])
        _check_inner(spark, where["url"])
        # It is the config's word how long that is: Delta itself would refuse less than a week.
        spark.conf.set(_CHECKED, "false")
        try:
            spark.sql(f"VACUUM {_quoted(where)} RETAIN {keep_ms / 3_600_000} HOURS")
        finally:
            spark.conf.unset(_CHECKED)


def merge_of(table: str, source: str, names: list[str], by: By) -> str:
    """Return the statement that brings the rows of a view into a table."""
    mark = name_of(by.mark)
    same = " AND ".join(f"t.{name_of(name)} = s.{name_of(name)}" for name in by.ids)
    sets = ", ".join(f"t.{name_of(name)} = s.{name_of(name)}" for name in names)
    columns, values = ", ".join(map(name_of, names)), ", ".join(f"s.{name_of(name)}" for name in names)
    order = name_of(by.order)
    newer = f" AND (s.{mark} IS NULL OR NOT COALESCE(t.{order} > s.{order}, FALSE))" if by.order else ""
    return (
        f"MERGE INTO {table} AS t USING {source} AS s ON {same} "
        f"WHEN MATCHED AND COALESCE(s.{mark}, FALSE){newer} THEN DELETE WHEN MATCHED{newer} THEN UPDATE SET {sets} "
        f"WHEN NOT MATCHED AND NOT COALESCE(s.{mark}, FALSE) THEN INSERT ({columns}) VALUES ({values})"
    )


def _leads_out() -> Any:
    """
    Whether a row of a log's files names one elsewhere. A path is an address's, so Delta decodes it; the name of a deletion
    vector is made of 20 characters, behind letters and digits for a folder if there are any.
    """
    from pyspark.sql import functions as sql

    path, vector = sql.col("path"), sql.col("deletionVector")
    decoded = sql.try_url_decode(sql.replace(path, sql.lit("+"), sql.lit("%2B")))
    odd = decoded.isNull() | (vector["storageType"] == "p")
    for name in (path, decoded):
        for pattern in _ODD_NAMES:
            odd |= name.rlike(pattern)
    folder = sql.expr("substring(deletionVector.pathOrInlineDv, 1, length(deletionVector.pathOrInlineDv) - 20)")
    odd |= (vector["storageType"] == "u") & folder.rlike("[^A-Za-z0-9]")
    return sql.coalesce(odd, sql.lit(False))


@contextlib.contextmanager
def viewed(rows: Any) -> Iterator[str]:
    """Give the name of a view of rows. PySpark would take what is in braces in a statement for values of its own."""
    name = f"kconnect_{uuid.uuid4().hex}"
    rows.createTempView(name)
    try:
        yield name
    finally:
        rows.sparkSession.catalog.dropTempView(name)


def _snapshot(spark: Any, where: Mapping[str, Any]) -> Any:
    jvm = spark._jvm
    none = jvm.scala.Option.empty()
    return jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, where["url"]).update(False, none, none)


def _check_place(spark: Any, url: str) -> None:
    """Raise ElsewhereError for a new table that would be within another one: to that one its files would be old ones."""
    path = spark._jvm.org.apache.hadoop.fs.Path(url)
    files = path.getFileSystem(spark._jsc.hadoopConfiguration())
    parent = path.getParent()
    while parent is not None:
        if files.exists(spark._jvm.org.apache.hadoop.fs.Path(parent, _LOG)):
            raise ElsewhereError(f"it would be within the table at {parent}")
        parent = parent.getParent()


def _check_inner(spark: Any, url: str) -> None:
    """Raise ElsewhereError for a table in a store with another one in its folder, as `check_folder` does."""
    for depth in range(1, _DEEPEST):
        path = spark._jvm.org.apache.hadoop.fs.Path("/".join((url, *["*"] * depth, _LOG)))
        statuses = path.getFileSystem(spark._jsc.hadoopConfiguration()).globStatus(path)
        if statuses is not None and len(statuses):
            raise ElsewhereError(f"there is another table at {statuses[0].getPath().getParent()}")


def check_folder(url: str) -> None:
    """
    Raise ElsewhereError for a table in a folder of this machine with links, or other tables, in it: what is removed as old may
    be anything then.
    """
    if not url.startswith("file:"):
        return
    top = unquote(normal_forms.split(url).path)
    for folder, folders, files in os.walk(top):
        if any(os.path.islink(os.path.join(folder, name)) for name in (*folders, *files)):
            raise ElsewhereError(f"there is a link in {folder}")
        if _LOG in folders and folder != top:
            raise ElsewhereError(f"there is another table at {folder}")


def check_links(url: str, depth: int, followed: list[str] | None) -> None:
    """
    Raise ElsewhereError for a table in a folder of this machine if a link in it, or so many folders deep, leads out of it: to
    where rows would be written. `followed` are the folders that links may lead to, none for all; None if they may not.
    """
    if not url.startswith("file:"):
        return
    top = os.path.realpath(unquote(normal_forms.split(url).path))
    roots = [top, *(followed or [])]
    folders = [top]
    for _ in range(depth + 1):
        entries: list[os.DirEntry[str]] = []
        for folder in folders:
            with contextlib.suppress(FileNotFoundError):
                entries += os.scandir(folder)
        for entry in entries:
            if entry.is_symlink() and followed != [] and not _is_in(roots, os.path.realpath(entry.path)):
                raise ElsewhereError(
                    f"there is a link in {os.path.dirname(entry.path)} that leads out of the table's folder; the worker's "
                    "connector.files.links.follow allows that"
                )
        folders = [entry.path for entry in entries if entry.name != _LOG and entry.is_dir()]


def _is_in(folders: list[str], path: str) -> bool:
    return any(os.path.commonpath((folder, path)) == folder for folder in folders)


def _check_hint(spark: Any, files: Any, path: Any) -> None:
    """Raise ElsewhereError if what says which checkpoint is the last one names parts that are not in the log."""
    if not files.exists(path):
        return
    size = int(files.getFileStatus(path).getLen())
    if size > _LONGEST_HINT:
        raise ElsewhereError(f"its {_HINT} has {size} bytes, as none has")
    stream = files.open(path)
    try:
        text = str(spark._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
    finally:
        stream.close()
    try:
        hint = json.loads(text)
    except ValueError:
        # It may just be written.
        raise RuntimeError(f"its {_HINT} can't be read") from None
    checkpoint = hint.get("v2Checkpoint") if isinstance(hint, dict) else None
    parts = [checkpoint, *(checkpoint.get("sidecarFiles") or ())] if isinstance(checkpoint, dict) else []
    if not all(isinstance(part, dict) and re.fullmatch(_NAME, str(part.get("path"))) for part in parts):
        raise ElsewhereError(f"its {_HINT} names files that are not in its folder")


def _text(spark: Any, values: Any) -> str:
    return str(spark._jvm.scala.collection.immutable.ArraySeq.unsafeWrapArray(values).mkString(", "))


def _names_others(rows: Any) -> bool:
    """Whether checkpoints name parts by more than a name."""
    from pyspark.sql import functions

    path = functions.col("sidecar.path")
    return bool(rows.where(path.isNotNull() & ~path.rlike(rf"\A{_NAME}\z")).limit(1).count())


def _quoted(where: Mapping[str, Any]) -> str:
    return f"delta.{name_of(where['url'])}"


def _application(connector: str) -> str:
    """Return the name of its transactions, without a `$`, see `Ledger.text`."""
    return f"kconnect/{connector.replace('%', '%25').replace('$', '%24')}"


def _noted(spark: Any, ledger: Ledger, call: Any, *arguments: Any) -> None:
    """Make a commit with a ledger: what it is, the session says, which is this thread's own."""
    conf = spark.conf
    conf.set(_APPLICATION, _application(ledger.connector))
    conf.set(_VERSION, str(ledger.number))
    conf.set(_METADATA, ledger.text())
    try:
        _conflicting(call, *arguments)
    finally:
        for name in (_APPLICATION, _VERSION, _METADATA):
            conf.unset(name)


def _conflicting(call: Any, *arguments: Any) -> None:
    try:
        call(*arguments)
    except Exception as error:
        if any(name in java_name(error) for name in _CONFLICTS):
            raise ConflictError(str(error)) from None
        raise
