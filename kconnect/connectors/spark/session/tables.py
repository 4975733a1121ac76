"""
What the application does with a table: looks at it, and writes rows to it together with offsets, or not at all.

A write says from which offsets of Kafka its rows begin. If the table has others by then, somebody else has written, and nothing
is. All offsets of a connector are one text, the ledger, which is a part of each commit; the format of the table compares its
number (`delta.py`, `iceberg.py`). Afterwards the table is read again: what it says then is what counts. Called by `main.py`.
"""

from __future__ import annotations

import contextlib
import json
import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from kconnect.connectors.spark.session import columns
from kconnect.connectors.spark.session.copies import TOPIC, Files, makes_itself

_NOBODY = ""
"""No connector has this name."""
_TRIES = 5
_LONGEST = 2000
_DEEPEST = 20
_OF_ROWS = ("22", "23")
"""The classes of SQL's states that are the data's: values that do not fit, and constraints that they break."""
_WRONG = frozenset(
    (
        *("java.lang.IllegalArgumentException", "java.lang.NumberFormatException", "java.lang.ArithmeticException"),
        *("java.lang.NullPointerException", "java.lang.ClassCastException", "java.lang.IndexOutOfBoundsException"),
        *("java.time.DateTimeException", "java.time.format.DateTimeParseException"),
    )
)
"""What is raised for a value that a format has not, and for mistakes of programs; nothing that passes."""
_KEPT = 10_000


class ConflictError(Exception):
    """Others have committed to the table since it was looked at, so that nothing was."""


class LostError(Exception):
    """Nobody knows any more up to which offsets a table has records. `number` is the least that the next ledger may have."""

    def __init__(self, connector: str, why: str, number: int = 0) -> None:
        self.number = number
        super().__init__(
            f"nobody knows any more up to which offsets the connector {connector} has written: {why}. Set the offset of each "
            "partition, as in: kconnect offsets set"
        )


@dataclass(frozen=True)
class Ledger:
    """What a table says of a connector: a number that rises with each of its commits, and the offsets behind its rows."""

    connector: str
    number: int = 0
    offsets: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By topic and partition, a number as a text."""
    ids: Mapping[str, str] = field(default_factory=dict)
    """The ids of topics, as far as they are known."""

    def text(self) -> str:
        """Return it as JSON, in which no `$` stands as such: Spark puts values of its environment for ${…} into settings."""
        content = {"kconnect": self.connector, "number": self.number, "offsets": self.offsets, "ids": self.ids}
        return json.dumps(content).replace("$", "\\u0024")

    def offset(self, topic: str, partition: int) -> int | None:
        return self.offsets.get(topic, {}).get(str(partition))

    def moved(self, ends: list[list[Any]], ids: Mapping[str, str]) -> Ledger:
        """Return the ledger of the next commit. An end that is null is forgotten."""
        offsets = {topic: dict(partitions) for topic, partitions in self.offsets.items()}
        for topic, partition, end in ends:
            of_topic = offsets.setdefault(topic, {})
            if end is None:
                of_topic.pop(str(partition), None)
            else:
                of_topic[str(partition)] = end
        # An id that is not known takes that of an older topic's offset away.
        known = {topic: topic_id for topic, topic_id in self.ids.items() if topic not in {end[0] for end in ends}}
        return Ledger(self.connector, self.number + 1, offsets, {**known, **ids})


def parsed(text: str | None, connector: str) -> Ledger | None:
    """Return the ledger that a text is; None if it is none of this connector."""
    try:
        data = json.loads(text or "")
        if data["kconnect"] != connector:
            return None
        offsets = {
            str(topic): {str(int(partition)): int(offset) for partition, offset in partitions.items()}
            for topic, partitions in data["offsets"].items()
        }
        ids = {str(topic): str(topic_id) for topic, topic_id in data["ids"].items()}
        return Ledger(connector, int(data["number"]), offsets, ids)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


@dataclass(frozen=True)
class State:
    """A table as it is now: `schema` is Spark's, `version` what changes with each commit, `columns` those of its partitions."""

    identity: str
    version: str
    schema: Any
    columns: list[str]
    ledger: Ledger


class Inside:
    """Up to which version of each table all files are known to be in its folder."""

    def __init__(self) -> None:
        self._versions: dict[str, str] = {}

    def has(self, identity: str, version: str) -> bool:
        return self._versions.get(identity) == version

    def note(self, identity: str, version: str) -> None:
        if len(self._versions) >= _KEPT:
            self._versions.clear()
        self._versions[identity] = version


class By(NamedTuple):
    """
    How rows find those that they replace: by the columns `ids`. The column `mark` says whether they delete them. They do
    neither to one that has more in the column `order`, if there is one; where `mark` is null, they replace any.
    """

    ids: list[str]
    mark: str
    order: str


class Format(Protocol):
    """What differs between formats. `where` says where a table is, in the words of its format."""

    def look(self, spark: Any, where: Mapping[str, Any], connector: str) -> State | None:
        """Return a table as it is now; None if there is none."""
        ...

    def create(self, spark: Any, where: Mapping[str, Any], schema: Any, partitions: list[list[str]]) -> None:
        """Make a table, unless somebody else has. Each of `partitions` is a column and a transform of Iceberg."""
        ...

    def widen(self, spark: Any, where: Mapping[str, Any], schema: Any) -> None:
        """Add the columns that the table has not, at any depth."""
        ...

    def append(self, spark: Any, where: Mapping[str, Any], rows: Any, state: State, ledger: Ledger) -> None:
        """Commit rows with a ledger. ConflictError if that of another commit is there."""
        ...

    def merge(self, spark: Any, where: Mapping[str, Any], rows: Any, by: By, state: State, ledger: Ledger) -> None:
        """Replace rows with the same ids, insert the others, delete those that are marked. As `append`."""
        ...

    def replace(self, spark: Any, where: Mapping[str, Any], rows: Any, state: State, ledger: Ledger) -> None:
        """Put rows in the place of all that there are. As `append`."""
        ...

    def check_folders(self, where: Mapping[str, Any], state: State) -> None:
        """Raise ElsewhereError if a link in a table's folder leads rows to elsewhere."""
        ...

    def rows(self, spark: Any, where: Mapping[str, Any]) -> Any:
        """Return the rows of a table."""
        ...

    def compact(self, spark: Any, where: Mapping[str, Any]) -> None:
        """Put small files together, and rows that were deleted or replaced out of them, by commits that change no row."""
        ...

    def settle(self, spark: Any, where: Mapping[str, Any], state: State, ledger: Ledger) -> None:
        """Commit a ledger without rows, so that it is in none of the commits that `expire` forgets. As `append`."""
        ...

    def expire(self, spark: Any, where: Mapping[str, Any], keep_ms: int) -> None:
        """Forget commits, and remove files, that are older."""
        ...


class Tables:
    def __init__(self, formats: Mapping[str, Format]) -> None:
        self._formats = formats
        self._locks: weakref.WeakValueDictionary[str, threading.Lock] = weakref.WeakValueDictionary()
        """The locks of tables that are being written to. Nobody keeps the others."""
        self._finding = threading.Lock()

    def look(self, spark: Any, head: dict[str, Any], rows: bytearray) -> tuple[dict[str, Any], bytes]:
        state = self._formats[head["format"]].look(spark, head["where"], head["connector"])
        return _answer("there", state)

    def write(self, spark: Any, head: dict[str, Any], rows: Any) -> tuple[dict[str, Any], bytes]:
        """
        Commit rows, unless the table has other offsets than they begin at, is another one, or has not the columns that they
        were made for: then `outcome` is `stale`.
        """
        request_rows = _Rows(rows)
        with self._lock(head):
            for _ in range(_TRIES):
                try:
                    return self._write(spark, head, request_rows)
                except ConflictError:
                    continue
        raise ConflictError("others commit to it all the time")

    def copy(self, spark: Any, head: dict[str, Any], rows: Any) -> tuple[dict[str, Any], bytes]:
        """
        Commit the rows of staged files, once, as the copy of a `place`: `outcome` is `later` if the table has one of a greater
        place, `occupied` if rows were to be added to others, and otherwise as by `write`. If it `tries` only, it commits
        nothing, and says `fits` where it would.
        """
        import pyarrow as pa

        files = Files(head, pa.ipc.read_schema(pa.py_buffer(bytes(rows))))
        with self._lock(head):
            for _ in range(_TRIES):
                try:
                    return self._copy(spark, head, files)
                except ConflictError:
                    continue
        raise ConflictError("others commit to it all the time")

    def _copy(self, spark: Any, head: dict[str, Any], files: Files) -> tuple[dict[str, Any], bytes]:
        form, where, place = self._formats[head["format"]], head["where"], head["place"]
        state = self._looked(form, spark, head)
        before = None if state is None else state.ledger.offset(TOPIC, 0)
        if before is not None and before >= place:
            return _answer("committed" if before == place else "later", state)
        if state is not None:
            if head["mark"] is None and form.rows(spark, where).limit(1).count():
                now = self._looked(form, spark, head)
                if now is None or now.version != state.version:
                    raise ConflictError("the rows may be those of the same copy, which somebody else has just committed")
                return _answer("occupied", state)
            try:
                form.look(spark, where, _NOBODY if head["tries"] else head["connector"])
            except LostError:
                # What others have forgotten is of an older copy.
                form.append(spark, where, None, state, state.ledger.moved([], {}))
        if head["tries"]:
            return _answer("fits" if self._fits(head, files, state) else "stale", state)
        known = {"begins": [[TOPIC, 0, before]], "ends": [[TOPIC, 0, place]], "topic_ids": {}}
        answer = self._write(spark, {**head, **known}, files)
        if answer[0]["outcome"] == "stale":
            now = self._looked(form, spark, head)
            if now is not None and now.ledger.offset(TOPIC, 0) != before:
                raise ConflictError("somebody else has just committed a copy")
        return answer

    def set_offsets(self, spark: Any, head: dict[str, Any], rows: bytearray) -> tuple[dict[str, Any], bytes]:
        """Set offsets by a commit without rows, whatever there is."""
        form = self._formats[head["format"]]
        with self._lock(head):
            for _ in range(_TRIES):
                state = self._looked(form, spark, head)
                if state is None:
                    return _answer("there", None)
                try:
                    form.append(spark, head["where"], None, state, state.ledger.moved(head["ends"], {}))
                except ConflictError:
                    continue
                return _answer("there", form.look(spark, head["where"], head["connector"]))
        raise ConflictError("others commit to it all the time")

    def _looked(self, form: Format, spark: Any, head: dict[str, Any]) -> State | None:
        """Return a table of which nobody may know the offsets any more: they are about to be set."""
        try:
            return form.look(spark, head["where"], head["connector"])
        except LostError as error:
            state = form.look(spark, head["where"], _NOBODY)
            return None if state is None else replace(state, ledger=Ledger(head["connector"], error.number))

    def maintain(self, spark: Any, head: dict[str, Any], rows: bytearray) -> tuple[dict[str, Any], bytes]:
        """
        Put small files together, and remove what is older than `keep_ms`. Other commits are made meanwhile.
        ConflictError if one of them comes between: what was begun does no harm.
        """
        form, where, connector = self._formats[head["format"]], head["where"], head["connector"]
        if form.look(spark, where, connector) is None:
            return _answer("there", None)
        form.compact(spark, where)
        with self._lock(head):
            state = form.look(spark, where, connector)
            if state is None:
                return _answer("there", None)
            form.settle(spark, where, state, state.ledger.moved([], {}))
            form.expire(spark, where, head["keep_ms"])
            return _answer("maintained", form.look(spark, where, connector))

    def _lock(self, head: dict[str, Any]) -> threading.Lock:
        with self._finding:
            return self._locks.setdefault(json.dumps([head["format"], head["where"]], sort_keys=True), threading.Lock())

    def _fits(self, head: dict[str, Any], files: Files, state: State | None) -> bool:
        """Return whether a table can have the columns of files."""
        if state is None:
            return bool(head["creates"])
        union = columns.union(state.schema, [field for field in columns.of_arrow(files.schema) if field.name != head["mark"]])
        return union is not None and (union == state.schema or head["widens"])

    def _write(self, spark: Any, head: dict[str, Any], rows: _Rows | Files) -> tuple[dict[str, Any], bytes]:
        form, where, connector = self._formats[head["format"]], head["where"], head["connector"]
        wanted, mark = columns.of_arrow(rows.schema), head["mark"]
        fields = [field for field in wanted if field.name != mark]
        state = form.look(spark, where, connector)
        if state is None and head["identity"] is None and head["creates"]:
            form.create(spark, where, columns.struct([columns.optional(field) for field in fields]), head["partitions"])
            state = form.look(spark, where, connector)
        if state is None or (head["identity"] is not None and state.identity != head["identity"]):
            return _answer("stale", state)
        if any(state.ledger.offset(topic, partition) != begin for topic, partition, begin in head["begins"]):
            return _answer("stale", state)
        union = columns.union(state.schema, fields)
        if union is None:
            return _answer("stale", state)
        if union != state.schema:
            if not head["widens"]:
                return _answer("stale", state)
            form.widen(spark, where, union)
            state = form.look(spark, where, connector)
            if state is None or columns.union(state.schema, fields) != state.schema:
                return _answer("stale", state)
        ledger = state.ledger.moved(head["ends"], head["topic_ids"])
        form.check_folders(where, state)
        if head["empties"]:
            form.replace(spark, where, rows.frame(spark, wanted, state.schema), state, ledger)
        elif rows.is_empty:
            form.append(spark, where, None, state, ledger)
        elif mark is None:
            form.append(spark, where, rows.frame(spark, wanted, state.schema), state, ledger)
        else:
            by = By(head["ids"], mark, head["order"])
            form.merge(spark, where, rows.frame(spark, wanted, state.schema), by, state, ledger)
        now = form.look(spark, where, connector)
        if now is not None and now.ledger == state.ledger and (mark is not None or head["empties"]):
            # What changes nothing is no commit.
            form.append(spark, where, None, now, ledger)
            now = form.look(spark, where, connector)
        if now is None or now.ledger != ledger:
            raise ConflictError("somebody else has committed")
        return _answer("committed", now)


class _Rows:
    """The rows of a request."""

    def __init__(self, table: Any) -> None:
        # In one piece: PySpark 4.1 loses the rows behind a piece without rows, and says nothing.
        self._table = table.combine_chunks()
        self.schema, self.is_empty = table.schema, not len(table)

    def frame(self, spark: Any, wanted: Any, there: Any) -> Any:
        """Return the rows for a table with the columns `there`."""
        table = _without_generated(self._table, there)
        return spark.createDataFrame(table, schema=columns.of_arrow(table.schema))


def _without_generated(rows: Any, schema: Any) -> Any:
    """Return rows without the columns that a table makes itself, where they have nothing there: a null would be a value."""
    made = [
        column.name
        for column in schema
        if makes_itself(column) and column.name in rows.column_names and rows.column(column.name).null_count == len(rows)
    ]
    return rows.drop_columns(made) if made else rows


def _answer(outcome: str, state: State | None) -> tuple[dict[str, Any], bytes]:
    if state is None:
        return {"outcome": outcome, "table": None}, b""
    from pyspark.sql.pandas.types import to_arrow_schema

    table = {
        "identity": state.identity,
        "columns": state.columns,
        "offsets": state.ledger.offsets,
        "ids": state.ledger.ids,
    }
    return {"outcome": outcome, "table": table}, to_arrow_schema(state.schema).serialize().to_pybytes()


class ElsewhereError(Exception):
    """A table's own metadata name files that are not in its folder: whoever may write into that may have written them."""


def java_name(error: BaseException) -> str:
    """Return the class of the Java exception behind an error; an empty text if there is none."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    return "" if java is None else str(java.getClass().getName())


def told(error: BaseException) -> dict[str, Any]:
    """Return an error as an answer: its text in one line, and what becomes of it."""
    name = java_name(error)
    java = getattr(error, "java_exception", None)
    text = str(java.toString() if java is not None else error) or type(error).__name__
    # What a constraint says of a row that breaks it are the row's values.
    text = text.partition("JVM stacktrace:")[0].partition("violated by row with values")[0]
    lines = " ".join(text.split())
    causes = _causes(java or getattr(error, "_origin", None))
    blames = any(state.startswith(_OF_ROWS) for _, state in causes)
    # A task of Spark's that ends so does it again: for a row that it can't write, or for each.
    perhaps = isinstance(error, ValueError) or any(cause in _WRONG for cause, _ in causes[1:])
    forbids = "AccessControl" in name or "AccessDenied" in text or "Permission denied" in text
    ours = isinstance(error, KeyError | TypeError | LostError | ElsewhereError)
    fails = ours or blames or "AnalysisException" in name or "ParseException" in name
    return {
        "error": lines[:_LONGEST],
        "passes": not forbids and not fails,
        "forbids": forbids,
        "blames": blames,
        "perhaps": perhaps,
    }


def _causes(java: Any) -> list[tuple[str, str]]:
    """Return the classes of an exception of Java and of its causes, each with its state of SQL, or an empty text."""
    causes = []
    for _ in range(_DEEPEST):
        if java is None:
            break
        state = ""
        # Those that are no error of Spark's have none, which py4j says by its own error.
        with contextlib.suppress(Exception):
            state = str(java.getSqlState())
        causes.append((str(java.getClass().getName()), state))
        java = java.getCause()
    return causes
