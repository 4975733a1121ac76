"""
The SQL sink in random histories: kinds of records, inserts, upserts and deletions, tables that change, tasks and connections
that are killed in the midst, servers that are away, partitions that move. At the end the table has what the records say, bad
ones are reported.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any, cast

import pytest
import sqlalchemy as sa
from hypothesis import example, given, note
from hypothesis import strategies as st

from kconnect.api import (
    INT32_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    SinkRecord,
    Struct,
    TopicPartition,
    schema,
)
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.connectors.sql.task import SqlSinkTask
from kconnect.testing import SinkRunner
from tests.connectors.sql.conftest import EVERY
from tests.connectors.sql.databases import Database
from tests.connectors.truth.budget import histories
from tests.connectors.truth.engine import Engine, KilledError, Step
from tests.connectors.truth.outages import link_to, mend
from tests.rig.systems.proxy import Link, Proxy

KEYS, LONGEST, FORBIDDEN = 4, 8, 13
"""How many keys there are; the characters of `s` at first; what the table's check refuses in `a`."""
ROW = schema.struct({"id": INT32_SCHEMA, "a": OPTIONAL_INT64_SCHEMA, "s": OPTIONAL_STRING_SCHEMA})
OTHER = schema.struct({"s": OPTIONAL_STRING_SCHEMA, "id": INT32_SCHEMA, "a": OPTIONAL_INT64_SCHEMA})
MORE = schema.struct({"id": INT32_SCHEMA, "a": OPTIONAL_INT32_SCHEMA, "b": OPTIONAL_STRING_SCHEMA})
NUMBERLESS = schema.struct({"id": OPTIONAL_INT32_SCHEMA, "a": OPTIONAL_INT64_SCHEMA})
KEY = schema.struct({"id": INT32_SCHEMA})

KINDS = ("row", "other order", "more", "map", "fewer", "tombstone", "forbidden", "long", "large", "keyless", "text", "stranger")
"""What a record is; from "forbidden" on it is a bad one."""
BAD = KINDS[KINDS.index("forbidden") :]
SHAPES = ("plain", "plain", "generated", "triggers", "Myisam", "Aria")
"""Of the table; engines of MariaDB's are those without transactions."""
MODES = ("exactly once", "insert", "kafka", "upsert value", "upsert unique", "upsert key", "deletes", "update")

kinds = st.lists(st.sampled_from(KINDS), min_size=1, max_size=14) | st.tuples(
    st.sampled_from(("row", "map")), st.integers(8, 40), st.sampled_from(KINDS), st.integers(0, 7)
).map(lambda drawn: [drawn[0]] * drawn[3] + [drawn[2]] + [drawn[0]] * drawn[1])
"""Some of all kinds, or an odd one among many that are alike: these come as columns."""
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        st.tuples(st.just("produce"), st.integers(0, 2), kinds),
        st.tuples(st.just("put"), st.integers(0, 1), st.sampled_from((1, 5, 500))),
        st.tuples(st.sampled_from(("commit", "go_back", "kill", "restart", "abandon")), st.integers(0, 1)),
        st.tuples(st.sampled_from(("kill within", "break within", "stop within")), st.integers(0, 1), st.integers(1, 12)),
        st.tuples(st.just("outage"), st.integers(0, 1), st.integers(1, 12), st.integers(0, 4)),
        st.tuples(st.just("lock"), st.integers(0, 1), st.integers(1, 3)),
        st.tuples(st.just("move"), st.integers(0, 2), st.integers(0, 1)),
        st.tuples(st.sampled_from(("stir", "widen", "add a column"))),
    ),
    min_size=3,
    max_size=25,
)
_numbers = itertools.count(1)


class Play:
    """One history: a table, two tasks, three partitions; with a `link`, the tasks reach the server over it."""

    def __init__(self, database: Database, mode: str, shape: str = "plain", link: Proxy | None = None) -> None:
        self.database, self.mode, self._link = database, mode, link
        self.shape = shape if database.backend == "mariadb" or not shape.istitle() else "plain"
        self.table = f"truth{next(_numbers)}"
        self.keyed = mode not in ("exactly once", "insert", "kafka")
        text = f"varchar({LONGEST})"
        check = f"check (a <> {FORBIDDEN})"
        key = "primary key" if self.keyed else "not null"
        offsets = "" if self.keyed else "place varchar(20) not null, "
        a = "integer" if database.backend != "sqlite" else "integer check (a < 2147483648)"
        s = text if database.backend != "sqlite" else f"{text} check (length(s) <= {LONGEST})"
        if mode == "kafka":
            names = ("topic varchar(50)", "partition integer", "offset bigint")
            offsets += "".join(f"__connect_{name}, " for name in names)
            check += f", primary key ({', '.join(f'__connect_{name.split()[0]}' for name in names)})"
        if mode == "upsert unique":
            # MariaDB's upserts are about each unique index.
            check += ", unique (s)"
        more = "g integer generated always as (id * 2) stored, " if self.shape == "generated" else ""
        engine = f" engine={self.shape}" if self.shape.istitle() else ""
        database.execute(f"create table {self.table} ({offsets}id integer {key}, a {a}, s {s}, {more}{check}){engine}")
        if self.shape == "triggers":
            self._make_triggers()
        if mode == "update":
            database.execute(*(f"insert into {self.table} (id) values ({id})" for id in range(3 * KEYS)))
        self.longest = LONGEST
        places = [TopicPartition(self.table, number) for number in range(3)]
        self.engine = Engine(self._start, places, tasks=2)
        self._serial = itertools.count()

    def _make_triggers(self) -> None:
        """What comes into the table, and what of it changes, is noted in another one."""
        noted, row = f"{self.table}_noted", "insert into {0} values (new.id, new.a);"
        self.database.execute(f"create table {noted} (id integer, a integer)")
        if self.database.backend == "postgresql":
            body = f"begin {row.format(noted)} return new; end"
            self.database.execute(
                f"create function {noted}() returns trigger language plpgsql as $${body}$$".replace(":", "\\:"),
                f"create trigger noted after insert or update on {self.table} for each row execute function {noted}()",
            )
            return
        for when in ("insert", "update"):
            body = f"begin {row.format(noted)} end" if self.database.backend == "sqlite" else row.format(noted).rstrip(";")
            self.database.execute(f"create trigger {noted}_{when} after {when} on {self.table} for each row {body}")

    def _start(self, number: int) -> SinkRunner:
        exact = self.mode in ("exactly once", "deletes")
        config = {
            "name": f"c-{self.table}",
            "tasks.max": "2",
            "topics": self.table,
            **self.database.config,
            "auto.evolve": "true",
            "errors.tolerance": "all",
            "retry.backoff.ms": "0",
            "connection.backoff.ms": "0",
            "max.retries": "8",
            **({"offsets.table": f"offsets_{self.table}"} if exact else {}),
        }
        if self._link is not None:
            url, port = config["connection.url"], self._link.target_port
            config["connection.url"] = url.replace(f":{port}/", f":{self._link.port}/")
        if self.database.backend == "sqlite":
            config["connection.url"] = str(self.database.engine.url) + "?timeout=0.01"
        if self.keyed:
            pk = "record_value" if self.mode in ("upsert value", "upsert unique", "update") else "record_key"
            config |= {"pk.mode": pk, "pk.fields": "id", "insert.mode": "update" if self.mode == "update" else "upsert"}
        if self.mode == "kafka":
            config |= {"pk.mode": "kafka", "insert.mode": "upsert"}
        if self.mode == "deletes":
            config["delete.enabled"] = "true"
        return SinkRunner(SqlSinkConnector, config, number)

    # Records.

    def _make(self, kind: str) -> Callable[[TopicPartition, int], SinkRecord]:
        serial = next(self._serial)

        def make(place: TopicPartition, offset: int) -> SinkRecord:
            # Keys are divided among partitions, as Kafka does.
            id = place.partition + 3 * (serial % KEYS) if self.keyed else serial
            value = self._value(kind, id, serial, {} if self.keyed else {"place": f"{place.partition}-{offset}"})
            own = value.schema if isinstance(value, Struct) else None
            key: Any = Struct(KEY, {"id": id})
            if kind == "keyless" and self.mode in ("upsert key", "deletes"):
                key = None
            return SinkRecord(self.table, place.partition, None if key is None else KEY, key, own, value, offset)

        return make

    def _value(self, kind: str, id: int, serial: int, more: dict[str, str]) -> Any:
        s, a = f"v{serial}", serial + 100
        own = {"row": ROW, "other order": OTHER, "more": MORE, "keyless": NUMBERLESS}.get(kind, ROW)
        fields: dict[str, Any] = {"id": id, "a": a, "s": s, "b": f"b{serial}"}
        if kind == "tombstone":
            return None
        if kind == "text":
            return "text"
        if kind in ("map", "fewer", "stranger"):
            plain = {"map": {"id": id, "a": a, "s": s}, "fewer": {"id": id, "s": s}}.get(kind, {"id": id, "none": serial})
            return {**more, **plain}
        odd: dict[str, dict[str, Any]] = {
            "forbidden": {"a": FORBIDDEN},
            "long": {"s": "x" * (self.longest + 1)},
            "large": {"a": 2**40},
            "keyless": {"id": None},
        }
        fields |= odd.get(kind, {})
        if more:
            own = schema.struct({**{each.name: each.schema for each in own.fields}, "place": OPTIONAL_STRING_SCHEMA})
        return Struct(own, {each.name: (fields | more)[each.name] for each in own.fields})

    # Steps.

    def play(self, step: Step) -> None:
        name, *arguments = step
        engine = self.engine
        if name == "produce":
            number, made = arguments
            for kind in made:
                engine.produce(self._make(kind), engine.places[number])
        elif name in ("put", "commit", "go_back", "kill", "restart"):
            getattr(engine, name)(*arguments)
        elif name == "abandon":
            if self.mode in ("exactly once", "deletes", "kafka"):
                engine.abandon(*arguments)
        elif name == "move":
            engine.move(engine.places[arguments[0]], arguments[1])
        elif name == "stir":
            engine.stir()
        elif name == "widen":
            self._widen()
        elif name == "add a column":
            if "extra" not in self._columns():
                self.database.execute(f"alter table {self.table} add column extra integer default 5")
        else:
            # A trouble needs a put that meets it.
            for place in engine.places:
                if engine.owner[place] == arguments[0]:
                    engine.produce(self._make("row"), place)
            if name == "outage":
                self._outage(*arguments)
            elif name == "lock":
                self._lock(*arguments)
            else:
                self._within(name.split()[0], *arguments)

    def _outage(self, number: int, statement: int, more: int) -> None:
        """The server is away from a statement of the next put on, and for some more puts."""
        link, runner = self._link, self.engine.tasks[number]
        engine = cast(SqlSinkTask, runner.task)._engine
        if link is None or engine is None:
            return
        count = itertools.count(1)

        def before(*_: Any) -> None:
            if next(count) == statement:
                link.set(Link.CUT)

        sa.event.listen(engine, "before_cursor_execute", before)
        self.engine.put_through(number, 1 + more, lambda: mend(link))
        sa.event.remove(engine, "before_cursor_execute", before)

    def _lock(self, number: int, tries: int) -> None:
        """Somebody else has the table until the next put has given way so often; the server lets nobody wait for long."""
        engine = cast(SqlSinkTask, self.engine.tasks[number].task)._engine
        assert engine is not None
        lock, impatience = {
            "postgresql": (f"lock table {self.table} in exclusive mode", "set lock_timeout = '20ms'"),
            "mariadb": (f"lock tables {self.table} write", "set lock_wait_timeout = 0"),
            "sqlite": ("begin immediate", "select 1"),
        }[self.database.backend]

        def begun(connection: sa.Connection) -> None:
            with contextlib.closing(connection.connection.cursor()) as cursor:
                cursor.execute(impatience)

        def free() -> None:
            other.rollback()
            if self.database.backend == "mariadb":
                other.exec_driver_sql("unlock tables")

        sa.event.listen(engine, "begin", begun)
        level = {"isolation_level": "AUTOCOMMIT"} if self.database.backend == "sqlite" else {}
        with self.database.engine.execution_options(**level).connect() as other:
            other.exec_driver_sql(lock)
            self.engine.put_through(number, tries, free)
        sa.event.remove(engine, "begin", begun)

    def _within(self, how: str, number: int, statement: int) -> None:
        """A statement of the next put finds the process or the connection at its end, or the task told to stop."""
        task = cast(SqlSinkTask, self.engine.tasks[number].task)
        engine = task._engine
        assert engine is not None
        count = itertools.count(1)

        def before(connection: Any, cursor: Any, *_: Any) -> None:
            if next(count) != statement:
                return
            if how == "kill":
                raise KilledError
            if how == "stop":
                task.interrupt()
            else:
                self._break(cursor.connection)

        sa.event.listen(engine, "before_cursor_execute", before)
        try:
            self.engine.put(number)
        finally:
            sa.event.remove(engine, "before_cursor_execute", before)
        if how == "stop":
            self.engine.restart(number)

    def _break(self, driver: Any) -> None:
        """End the connection, as the server does."""
        if self.database.backend == "postgresql":
            self.database.execute(f"select pg_terminate_backend({driver.info.backend_pid}, 5000)")
        elif self.database.backend == "mariadb":
            with contextlib.suppress(sa.exc.OperationalError):  # It may be gone already.
                self.database.execute(f"kill {driver.thread_id()}")
        else:
            driver.interrupt()

    def _columns(self) -> list[str]:
        return [each["name"] for each in sa.inspect(self.database.engine).get_columns(self.table)]

    def _widen(self) -> None:
        if self.database.backend == "sqlite" or self.longest > LONGEST:
            return
        self.longest = 2 * LONGEST
        alter = (
            f"alter s type varchar({self.longest})"
            if self.database.backend == "postgresql"
            else f"modify s varchar({self.longest})"
        )
        self.database.execute(f"alter table {self.table} {alter}")
        for runner in self.engine.tasks:
            cast(SqlSinkTask, runner.task)._look_again_at = 0.0

    # What is there at the end.

    def check(self) -> None:
        self.engine.finish()
        assert not self.engine.failures, self.engine.failures[0]
        rows = self._rows()
        if self.shape == "generated":
            assert all(row["g"] == 2 * row["id"] for row in rows)
        if self.shape == "triggers":
            noted = set(self.database.rows(f"select id, a from {self.table}_noted"))
            assert {(row["id"], row["a"]) for row in rows if row["a"] is not None} <= noted
        if self.keyed:
            self._check_keyed({row["id"]: row for row in rows})
        else:
            self._check_inserted(rows)

    def _rows(self) -> list[dict[str, Any]]:
        with self.database.engine.connect() as connection:
            return [dict(row) for row in connection.execute(sa.text(f"select * from {self.table}")).mappings()]

    def _check_inserted(self, rows: list[dict[str, Any]]) -> None:
        found: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            found.setdefault(row["place"], []).append(row)
        for record in self.engine.records():
            where = f"{record.original_partition}-{record.original_offset}"
            there = found.pop(where, [])
            if self._may_be_both(record):
                assert there or self.engine.is_reported(record), f"{where} is lost"
                continue
            if self._is_bad(record):
                assert self.engine.is_reported(record), f"{where} is bad, and not reported"
                assert not there, f"{where} is bad, and written"
                continue
            assert not self.engine.is_reported(record), f"{where} is reported: {self._reason(record)}"
            assert there, f"{where} is lost"
            place = (TopicPartition(record.original_topic, record.original_partition), record.original_offset)
            exact = self.mode == "kafka" or (self.mode == "exactly once" and not self.shape.istitle())
            exact |= place not in self.engine.again
            assert len(there) == 1 or not exact, f"{where} is there {len(there)} times"
            for row in there:
                self._check_row(record, row)
        assert not found, f"nobody has sent {sorted(found)}"

    def _check_keyed(self, rows: dict[int, dict[str, Any]]) -> None:
        # An update finds rows for all keys.
        unsure: set[int] = set()
        wanted: dict[int, dict[str, Any]] = {id: {} for id in range(3 * KEYS) if self.mode == "update"}
        records = self.engine.records()
        for at, record in enumerate(records):
            where = f"{record.original_partition}-{record.original_offset}"
            id = record.key["id"] if record.key is not None else None
            if id is not None and self._may_be_both(record):
                unsure.add(id)
                continue
            if self._is_bad(record):
                # Of a key's records the last one of a put is tried.
                later = [each for each in records[at + 1 :] if each.key is not None and each.key["id"] == id]
                assert self.engine.is_reported(record) or later, f"{where} is bad, and not reported"
                continue
            assert not self.engine.is_reported(record), f"{where} is reported: {self._reason(record)}"
            assert id is not None
            if record.value is None:
                wanted.pop(id, None)
            else:
                wanted[id] = {**wanted.get(id, {}), **_fields(record.value)}
        for id in unsure:
            rows.pop(id, None)
            wanted.pop(id, None)
        assert rows.keys() == wanted.keys(), f"keys {sorted(rows)}, but the records say {sorted(wanted)}"
        for id, fields in wanted.items():
            for name, value in fields.items():
                assert rows[id][name] == value, f"{name} of {id} is {rows[id][name]!r}, but the records say {value!r}"

    def _check_row(self, record: SinkRecord, row: dict[str, Any]) -> None:
        for name, value in _fields(record.value).items():
            assert row[name] == value, f"{name} is {row[name]!r}, but the record says {value!r}"

    def _is_bad(self, record: SinkRecord) -> bool:
        value = record.value
        if value is None:
            return self.mode != "deletes"
        if isinstance(value, str) or (self.keyed and record.key is None):
            return True
        fields = _fields(value)
        if fields.get("id") is None or "none" in fields:
            return True
        return fields.get("a") in (FORBIDDEN, 2**40) or self._is_long(fields)

    def _may_be_both(self, record: SinkRecord) -> bool:
        """Whether a record may have been refused, and taken when it came again, since a column was widened in between."""
        fields = {} if record.value is None or isinstance(record.value, str) else _fields(record.value)
        return LONGEST < len(fields.get("s") or "") <= self.longest and fields.get("id") is not None

    def _is_long(self, fields: dict[str, Any]) -> bool:
        return len(fields.get("s") or "") > self.longest

    def _reason(self, record: SinkRecord) -> str:
        return self.engine.reported[TopicPartition(record.original_topic, record.original_partition), record.original_offset]


def _fields(value: Any) -> dict[str, Any]:
    return dict(zip([field.name for field in value.schema.fields], value.values)) if isinstance(value, Struct) else dict(value)


@pytest.mark.parametrize("database", EVERY, indirect=True)
@histories(4)
@given(mode=st.sampled_from(MODES), shape=st.sampled_from(SHAPES), history=steps)
@example(
    mode="upsert unique",
    shape="triggers",
    history=[("produce", 0, ["row"] * 9), ("put", 0, 4), ("outage", 0, 3, 2), ("put", 0, 500)],
)
@example(
    mode="deletes",
    shape="generated",
    history=[("produce", 0, ["row", "map", "tombstone", "row"]), ("put", 0, 500), ("kill", 0)],
)
def test_the_table_has_what_the_records_say(database: Database, mode: str, shape: str, history: list[Step]) -> None:
    note(f"mode={mode!r}, shape={shape!r}, history={history!r}")
    with link_to(database.engine.url.port, history) as link:
        play = Play(database, mode, shape, link)
        try:
            for step in history:
                play.play(step)
            play.check()
        finally:
            play.engine.close()
