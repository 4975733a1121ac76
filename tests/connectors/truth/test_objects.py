"""
The object store sink and source in random histories: kinds of records, folders, tasks that are killed between and within puts,
stores that fail, partitions that move. Each record is in one file, once, where it belongs, or reported; and files that were
written come back as the same records, each once.
"""

from __future__ import annotations

import datetime
import decimal
import itertools
import json
import math
import re
import tempfile
import zoneinfo
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, note
from hypothesis import strategies as st
from obstore.exceptions import GenericError

from kconnect.api import (
    OPTIONAL_FLOAT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    RetriableError,
    SinkRecord,
    SourceRecord,
    Struct,
    TopicPartition,
    schema,
)
from kconnect.connectors.objects.connector import ObjectStoreSinkConnector
from kconnect.connectors.objects.source import ObjectStoreSourceConnector
from kconnect.testing import SinkRunner, SourceRunner
from tests.connectors.objects.test_sink import of_s3, read, server
from tests.connectors.truth.budget import histories
from tests.connectors.truth.engine import Engine, KilledError, Step
from tests.connectors.truth.outages import link_to, mend
from tests.rig.systems.proxy import Link, Proxy
from tests.rig.systems.s3 import S3Server

__all__ = ["server"]

ROW = schema.struct({"n": STRING_SCHEMA, "p": OPTIONAL_STRING_SCHEMA, "f": OPTIONAL_FLOAT64_SCHEMA}, name="Row")
MORE = schema.struct({"n": STRING_SCHEMA, "p": OPTIONAL_STRING_SCHEMA, "more": OPTIONAL_INT32_SCHEMA}, name="More")
INNER = schema.struct({"x": OPTIONAL_INT32_SCHEMA}, name="Inner").replace(optional=True)
TWICE = schema.struct({"n": STRING_SCHEMA, "p": OPTIONAL_STRING_SCHEMA, "before": INNER, "after": INNER}, name="Envelope")
HUNDREDS = schema.struct({"n": STRING_SCHEMA, "p": OPTIONAL_STRING_SCHEMA, "d": schema.decimal_schema(-2)}, name="Hundreds")
BEGIN, MINUTE = 1_792_889_400_000, 60_000
"""Ten minutes before summer time ends in Berlin."""
ZONES = ("UTC", "Europe/Berlin", "Australia/Lord_Howe")
KINDS = (
    "row",
    "row",
    "more",
    "map",
    "tombstone",
    "nowhere",
    "timeless",
    "odd folder",
    "infinite",
    "number",
    "twice",
    "hundreds",
)


class Form(NamedTuple):
    """What a sink's config says of files."""

    format: str
    partitioner: str
    records: int
    rotates: bool
    most_files: int
    ignores_nulls: bool
    gzip: bool
    delimiter: str = "+"
    zone: str = "UTC"


forms = st.builds(
    Form,
    st.sampled_from(("JsonFormat", "JsonFormat", "AvroFormat", "ParquetFormat", "CsvFormat")),
    st.sampled_from(("DefaultPartitioner", "FieldPartitioner", "DailyPartitioner", "HourlyPartitioner")),
    st.sampled_from((1, 3, 7)),
    st.booleans(),
    st.sampled_from((2, 1000)),
    st.booleans(),
    st.booleans(),
    st.sampled_from(("+", "-")),
    st.sampled_from(ZONES),
)
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        st.tuples(st.just("produce"), st.integers(0, 2), st.lists(st.sampled_from(KINDS), min_size=1, max_size=25)),
        st.tuples(st.just("put"), st.integers(0, 1), st.sampled_from((1, 5, 500))),
        st.tuples(st.sampled_from(("commit", "go_back", "kill", "restart", "abandon")), st.integers(0, 1)),
        st.tuples(st.sampled_from(("kill before a file", "kill behind a file", "fail")), st.integers(0, 1), st.integers(1, 3)),
        st.tuples(st.just("move"), st.integers(0, 2), st.integers(0, 1)),
        st.tuples(st.just("outage"), st.integers(0, 1), st.integers(1, 4)),
        st.tuples(st.sampled_from(("stir",))),
    ),
    min_size=3,
    max_size=20,
)
reads: st.SearchStrategy[list[Step]] = st.lists(st.sampled_from((("poll",), ("poll",), ("lose",), ("kill",), ("restart",))))


class Play:
    """`store` is what a config has for a store, `files` what there is in it; by default these are of a folder."""

    def __init__(
        self,
        folder: Path,
        form: Form,
        store: dict[str, str] | None = None,
        files: Callable[[], dict[str, bytes]] | None = None,
        link: Proxy | None = None,
    ) -> None:
        self.folder, self.form, self.link = folder, form, link
        self.store = store or {"store": f"file://{folder}/store"}
        self.files = files or self._of_folder
        self.spool = folder / "spool"
        self.spool.mkdir()
        places = [TopicPartition("t", number) for number in range(3)]
        self.engine = Engine(self._start, places, tasks=2)
        self._serial = itertools.count()

    @property
    def config(self) -> dict[str, str]:
        form = self.form
        compression = {"s3.compression.type": "gzip"} if form.gzip and form.format in ("JsonFormat", "CsvFormat") else {}
        return {
            **self.store,
            "format.class": form.format,
            "partitioner.class": form.partitioner,
            "partition.field.name": "p",
            "timestamp.extractor": "Record",
            "timezone": form.zone,
            "flush.size": str(form.records),
            "rotate.interval.ms": str(5 * MINUTE if form.rotates else -1),
            "files.max.open": str(form.most_files),
            "behavior.on.null.values": "ignore" if form.ignores_nulls else "fail",
            "spool.dir": str(self.spool),
            "file.delim": form.delimiter,
            **compression,
        }

    def _start(self, number: int) -> SinkRunner:
        more = {"name": "o", "topics": "t", "tasks.max": "2", "errors.tolerance": "all", "retry.backoff.ms": "0"}
        return SinkRunner(ObjectStoreSinkConnector, {**self.config, **more}, number)

    def _make(self, kind: str) -> Callable[[TopicPartition, int], SinkRecord]:
        serial = next(self._serial)

        def make(place: TopicPartition, offset: int) -> SinkRecord:
            name, p = f"{place.partition}-{offset}", f"p{serial % 3}"
            value: Any = Struct(ROW, {"n": name, "p": p, "f": 1.5})
            if kind == "more":
                value = Struct(MORE, {"n": name, "p": p, "more": serial})
            elif kind == "map":
                value = {"n": name, "p": p, "more": [serial]}
            elif kind == "tombstone":
                value = None
            elif kind == "nowhere":
                value = Struct(ROW, {"n": name, "p": None, "f": None})
            elif kind == "odd folder":
                value = Struct(ROW, {"n": name, "p": "../a b/ü=%", "f": 0.1})
            elif kind == "infinite":
                value = Struct(ROW, {"n": name, "p": p, "f": math.inf})
            elif kind == "number":
                value = serial
            elif kind == "twice":
                value = Struct(TWICE, {"n": name, "p": p, "before": None, "after": Struct(INNER, {"x": 1})})
            elif kind == "hundreds":
                value = Struct(HUNDREDS, {"n": name, "p": p, "d": decimal.Decimal("1E+2")})
            own = value.schema if isinstance(value, Struct) else None
            # Times go on, with a step back now and then.
            moment = None if kind == "timeless" else BEGIN + (serial - 3 * (serial % 5 == 0)) * MINUTE
            return SinkRecord("t", place.partition, None, None, own, value, offset, timestamp=moment)

        return make

    def _of_folder(self) -> dict[str, bytes]:
        root = self.folder / "store"
        return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}

    def play(self, step: Step) -> None:
        name, *arguments = step
        engine = self.engine
        if name == "produce":
            for kind in arguments[1]:
                engine.produce(self._make(kind), engine.places[arguments[0]])
        elif name == "move":
            engine.move(engine.places[arguments[0]], arguments[1])
        elif name in ("put", "commit", "go_back", "kill", "restart", "abandon", "stir"):
            getattr(engine, name)(*arguments)
        elif name == "outage":
            if (link := self.link) is not None:
                link.set(Link.CUT)
                engine.put_through(arguments[0], arguments[1], lambda: mend(link))
        else:
            self._with_store(name, *arguments)

    def _with_store(self, trouble: str, number: int, at: int) -> None:
        """The store, or the process, has trouble with a file of the next put."""
        store: Any = self.engine.tasks[number].task._store  # type: ignore[attr-defined]
        real, count = store.put, itertools.count(1)

        def put(name: str, path: Path) -> None:
            here = next(count) == at
            if here and trouble == "kill before a file":
                raise KilledError
            if here and trouble == "fail":
                raise GenericError("the store is busy")
            real(name, path)
            if here and trouble == "kill behind a file":
                raise KilledError

        store.put = put
        try:
            self.engine.put(number)
        finally:
            store.put = real

    # What is there at the end.

    def check(self) -> None:
        self.engine.finish()
        assert not self.engine.failures, self.engine.failures[0]
        found: dict[Any, list[tuple[str, Any]]] = {}
        for name, data in self.files().items():
            rows = read(name, data)
            assert rows, f"{name} is empty"
            for row in rows:
                found.setdefault(row["n"] if isinstance(row, dict) else row, []).append((name, row))
        for record in self.engine.records():
            place = TopicPartition("t", record.original_partition)
            where = f"{record.original_partition}-{record.original_offset}"
            there = found.pop(record.value if isinstance(record.value, int) else where, [])
            assert len(there) <= 1, f"{where} is in {[name for name, _ in there]}"
            if isinstance(record.value, Struct) and record.value.schema is HUNDREDS and self.engine.is_reported(record):
                assert not there, f"{where} is refused, and written"
                continue  # Files have no such type; JSON has.
            if self._is_bad(record):
                assert self.engine.is_reported(record), f"{where} is bad, and not reported"
                assert not there, f"{where} is bad, and written"
                continue
            assert not self.engine.is_reported(record), (
                f"{where} is reported: {self.engine.reported[place, record.original_offset]}"
            )
            if record.value is None:
                continue
            is_safe = record.original_offset < self.engine.committed[place]
            assert there or not is_safe, f"{where} is lost, and committed: {self.engine.committed[place]}"
            for name, row in there:
                self._check_place(record, name)
                self._check_row(record.value, row)
        assert not found, f"nobody has sent {found}"
        assert not list(self.spool.rglob("*-*")) or self.engine.tasks, "local files"

    def _is_bad(self, record: SinkRecord) -> bool:
        form, value = self.form, record.value
        if value is None:
            return not form.ignores_nulls
        if not isinstance(value, Struct) and form.format != "JsonFormat":
            return True
        p = value.get("p") if isinstance(value, dict | Struct) else None
        if form.partitioner == "FieldPartitioner" and p is None:
            return True
        if form.partitioner in ("DailyPartitioner", "HourlyPartitioner") and record.timestamp is None:
            return True
        return isinstance(value, Struct) and value.schema is ROW and value["f"] == math.inf and form.format == "JsonFormat"

    def _check_place(self, record: SinkRecord, name: str) -> None:
        folder, _, file = name.rpartition("/")
        topic, partition, offset = file.partition(".")[0].split(self.form.delimiter)
        assert (topic, int(partition)) == ("t", record.original_partition)
        assert int(offset) <= record.original_offset < int(offset) + 1000
        if self.form.partitioner == "DefaultPartitioner":
            assert folder == f"topics/t/partition={partition}"
        elif self.form.partitioner == "FieldPartitioner":
            # As Hive and Spark read it: each escaped byte is a character.
            plain = re.sub("%([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), folder)
            assert plain == f"topics/t/p={record.value['p']}"
        else:
            assert record.timestamp is not None
            there = datetime.datetime.fromtimestamp(record.timestamp / 1000, zoneinfo.ZoneInfo(self.form.zone))
            parts = "/hour=%H" if self.form.partitioner == "HourlyPartitioner" else ""
            assert folder == there.strftime(f"topics/t/year=%Y/month=%m/day=%d{parts}")

    def _check_row(self, value: Any, row: Any) -> None:
        plain = _plain(value)
        if self.form.format == "CsvFormat":
            if "after" in plain:
                row, plain = {**row, "after": json.loads(row["after"]), "before": row["before"] or None}, plain
                assert row == plain
                return
            plain = {name: "" if each is None else str(each) for name, each in plain.items()}
            row = {name: {"Infinity": "inf", "1E+2": "100"}.get(each, each) for name, each in row.items()}
        assert row == plain, f"{row} is written of {plain}"

    def check_that_it_comes_back(self, how: list[Step]) -> None:
        """By the source: the same values, each once, in the order of a partition where there is one folder."""
        if self.form.format == "CsvFormat":
            return
        config = {**self.config, "name": "r", "mode": "RESTORE_BACKUP", "s3.poll.interval.ms": "1", "batch.max.rows": "2"}
        known = {*self.store, "format.class", "name", "mode", "s3.poll.interval.ms", "file.delim", "spool.dir"}
        with SourceRunner(ObjectStoreSourceConnector, {key: config[key] for key in known & config.keys()}) as source:
            taken: list[SourceRecord] = []
            for (name,) in how:
                if name == "poll":
                    taken += self._polled(source)
                elif name == "lose":
                    source.poll(acknowledge=False)
                    source.restart(crash=True)
                else:
                    source.restart(crash=name == "kill")
            idle = 0
            while idle < 8:
                records = self._polled(source)
                taken += records
                idle = 0 if records else idle + 1
        values = [json.dumps(_plain(record.value), sort_keys=True, default=int) for record in taken]
        rows = [row for name, data in self.files().items() for row in read(name, data)]
        assert sorted(values) == sorted(json.dumps(row, sort_keys=True, default=int) for row in rows)
        assert {(record.topic, record.partition) for record in taken} <= {("t", number) for number in range(3)}

    @staticmethod
    def _polled(source: SourceRunner) -> list[SourceRecord]:
        try:
            return source.poll()
        except RetriableError:
            return []


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return {field.name: _plain(each) for field, each in zip(value.schema.fields, value.values)}
    # A number is one, whatever its digits.
    return int(value) if isinstance(value, decimal.Decimal) else value


@histories(15)
@given(form=forms, history=steps, how=reads)
@example(
    form=Form("JsonFormat", "HourlyPartitioner", 7, True, 1000, True, False, zone="Europe/Berlin"),
    history=[("produce", 0, ["row"] * 25), ("put", 0, 5), ("kill", 0), ("produce", 0, ["row"] * 50), ("put", 0, 500)],
    how=[("poll",)],
)
@example(
    form=Form("JsonFormat", "DefaultPartitioner", 3, False, 1000, True, False),
    history=[("produce", 0, ["row"] * 5), ("kill behind a file", 0, 1)],
    how=[("poll",), ("lose",)],
)
@example(
    form=Form("JsonFormat", "DefaultPartitioner", 3, False, 2, False, False),
    history=[("produce", 0, ["row"] * 3), ("put", 0, 1), ("abandon", 0), ("produce", 0, ["row"]), ("stir",), ("stir",)],
    how=[],
)
@example(
    form=Form("JsonFormat", "DefaultPartitioner", 1, False, 2, False, False),
    history=[("produce", 0, ["row", "row", "row"]), ("put", 0, 1), ("fail", 0, 2)],
    how=[],
)
def test_each_record_is_in_one_file(form: Form, history: list[Step], how: list[Step]) -> None:
    note(f"form={form!r}, history={history!r}, how={how!r}")
    with tempfile.TemporaryDirectory(prefix="kconnect-truth-") as folder:
        play = Play(Path(folder), form)
        try:
            for step in history:
                play.play(step)
            play.check()
            play.check_that_it_comes_back(how)
        finally:
            play.engine.close()


_buckets = (f"truth{number}" for number in itertools.count(1))


@pytest.mark.long
@histories(10)
@given(form=forms, history=steps, how=reads)
def test_each_record_is_in_one_file_of_s3(server: S3Server, form: Form, history: list[Step], how: list[Step]) -> None:
    note(f"form={form!r}, history={history!r}, how={how!r}")
    bucket = server.bucket(next(_buckets))
    with tempfile.TemporaryDirectory(prefix="kconnect-truth-") as folder, link_to(server.port, history) as link:
        store = of_s3(server, bucket)
        if link is not None:
            store["store.url"] = f"http://127.0.0.1:{link.port}"
        play = Play(Path(folder), form, store, lambda: server.files(bucket), link)
        try:
            for step in history:
                play.play(step)
            play.check()
            play.check_that_it_comes_back(how)
        finally:
            play.engine.close()
