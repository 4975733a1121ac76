"""
The file connectors in random histories. The source: a file that grows by pieces of lines, with each kind of end, is cut or
replaced, and tasks that are killed; each line once, in its order. The sink: each record a line, at least once.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from hypothesis import example, given, note
from hypothesis import strategies as st

from kconnect.api import INT32_SCHEMA, SinkRecord, Struct, TopicPartition, schema
from kconnect.connectors.file_sink import FileStreamSinkConnector
from kconnect.connectors.file_source import FileStreamSourceConnector, FileStreamSourceTask
from kconnect.testing import SinkRunner, SourceRunner
from tests.connectors.truth.budget import histories
from tests.connectors.truth.engine import Engine, Step

texts = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=6)
pieces = st.lists(st.tuples(texts, st.sampled_from(("\n", "\n", "\r\n", "\r", ""))), min_size=1, max_size=6)
source_steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        st.tuples(st.just("write"), pieces),
        st.tuples(st.sampled_from(("poll", "lose")), st.integers(1, 3)),
        st.tuples(st.sampled_from(("kill", "restart", "replace", "cut"))),
    ),
    min_size=3,
    max_size=20,
)


def lines_of(text: str) -> list[str]:
    """What Java's readers make of a text; what has no end is no line yet, and neither is one behind a CR that may get an LF."""
    whole = text[: max(text.rfind("\n"), text[:-1].rfind("\r")) + 1]
    return whole.replace("\r\n", "\n").replace("\r", "\n").split("\n")[:-1]


class SourcePlay:
    def __init__(self, folder: Path, size: int) -> None:
        self.file = folder / "lines.txt"
        self.file.touch()
        config = {"name": "f", "file": str(self.file), "topic": "t", "batch.size": str(size)}
        self.source = SourceRunner(FileStreamSourceConnector, config)
        self.start()
        self.text = ""
        self.taken: list[str] = []
        self.expected: list[str] = []
        """Of files that are no more."""

    def start(self, **how: bool) -> None:
        if self.source.runs:
            self.source.restart(**how)
        else:
            self.source.start()
        # A wait would be over at once.
        cast(FileStreamSourceTask, self.source.task)._stopped.wait = lambda timeout=None: False  # type: ignore[method-assign]

    def play(self, step: Step) -> None:
        name, *arguments = step
        if name == "write":
            added = "".join(text + end for text, end in arguments[0])
            self.text += added
            with open(self.file, "ab") as file:
                file.write(added.encode())
        elif name == "poll":
            self.poll(arguments[0])
        elif name == "lose":
            for _ in range(arguments[0]):
                self.source.poll(acknowledge=False)
            self.start(crash=True)
        elif name in ("kill", "restart"):
            self.start(crash=name == "kill")
        else:
            self.drain()
            # Another file is noticed by what it is, or by its length: the same bytes in the same file are the same file.
            if name == "replace":
                self.file.rename(self.file.with_suffix(".old"))
            self.file.write_bytes(b"")
            self.expected, self.text = self.expected + lines_of(self.text), ""
            self.poll(3)
            # Its offset is a position only: who is killed before the new file's first line takes it for that of the old one.
            self.play(("write", [("anew", "\n")]))
            self.drain()

    def poll(self, count: int) -> None:
        for _ in range(count):
            self.taken += [record.value for record in self.source.poll()]

    def drain(self) -> None:
        idle = 0
        while idle < 3:
            before = len(self.taken)
            self.poll(1)
            idle = 0 if len(self.taken) > before else idle + 1

    def check(self) -> None:
        self.drain()
        assert self.taken == self.expected + lines_of(self.text)


@histories(60)
@given(size=st.sampled_from((1, 2, 100)), history=source_steps)
@example(size=2, history=[("write", [("a", "\r")]), ("poll", 1), ("write", [("", "\n"), ("é", "\n"), ("b", "")]), ("lose", 1)])
def test_each_line_is_read_once(size: int, history: list[Step]) -> None:
    note(f"size={size!r}, history={history!r}")
    with tempfile.TemporaryDirectory(prefix="kconnect-truth-") as folder:
        play = SourcePlay(Path(folder), size)
        try:
            for step in history:
                play.play(step)
            play.check()
        finally:
            play.source.stop()


# The sink.

ROW = schema.struct({"a": INT32_SCHEMA})
KINDS = ("text", "struct", "map", "null", "too deep")
sink_steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        st.tuples(st.just("produce"), st.integers(0, 2), st.lists(st.sampled_from(KINDS), min_size=1, max_size=15)),
        st.tuples(st.just("put"), st.integers(0, 1), st.sampled_from((1, 500))),
        st.tuples(st.sampled_from(("commit", "go_back", "kill", "restart", "abandon")), st.integers(0, 1)),
        st.tuples(st.just("move"), st.integers(0, 2), st.integers(0, 1)),
        st.tuples(st.sampled_from(("stir",))),
    ),
    min_size=3,
    max_size=20,
)


def deep() -> Any:
    found: Any = 1
    for _ in range(5000):
        found = [found]
    return found


class SinkPlay:
    def __init__(self, file: Path) -> None:
        self.file = file
        self.engine = Engine(self._start, [TopicPartition("t", number) for number in range(3)], tasks=2)
        self._serial = itertools.count()
        self.lines: dict[tuple[int, int], str | None] = {}
        """The line of each record, by its partition and offset; None for a bad one."""

    def _start(self, number: int) -> SinkRunner:
        config = {"name": "f", "topics": "t", "tasks.max": "2", "file": str(self.file), "errors.tolerance": "all"}
        return SinkRunner(FileStreamSinkConnector, config, number)

    def _make(self, kind: str) -> Callable[[TopicPartition, int], SinkRecord]:
        serial = next(self._serial)

        def make(place: TopicPartition, offset: int) -> SinkRecord:
            found: dict[str, tuple[Any, str | None]] = {
                "text": (f"line {serial}", f"line {serial}"),
                "struct": (Struct(ROW, {"a": serial}), f"Struct{{a={serial}}}"),
                "map": ({"a": serial}, f"{{a={serial}}}"),
                "null": (None, "null"),
                "too deep": (deep(), None),
            }
            value, line = found[kind]
            self.lines[place.partition, offset] = line
            return SinkRecord("t", place.partition, None, None, ROW if kind == "struct" else None, value, offset)

        return make

    def play(self, step: Step) -> None:
        name, *arguments = step
        if name == "produce":
            for kind in arguments[1]:
                self.engine.produce(self._make(kind), self.engine.places[arguments[0]])
        elif name == "move":
            self.engine.move(self.engine.places[arguments[0]], arguments[1])
        else:
            getattr(self.engine, name)(*arguments)

    def check(self) -> None:
        self.engine.finish()
        assert not self.engine.failures, self.engine.failures[0]
        there = self.file.read_text("utf-8").split("\n")
        assert there.pop() == "", "half a line"
        for record in self.engine.records():
            line = self.lines[record.original_partition, record.original_offset]
            place = TopicPartition("t", record.original_partition), record.original_offset
            if line is None:
                assert self.engine.is_reported(record), f"{place} is bad, and not reported"
                continue
            assert not self.engine.is_reported(record), f"{place} is reported"
            assert line in there, f"{line!r} is lost"
            if place not in self.engine.again and line != "null" and not self.engine._zombies:
                assert there.count(line) == 1, f"{line!r} is there {there.count(line)} times"
        sent = set(self.lines.values())
        assert all(line in sent for line in there), "nobody has sent that"


@histories(15)
@given(history=sink_steps)
def test_each_record_is_a_line(history: list[Step]) -> None:
    note(f"history={history!r}")
    with tempfile.TemporaryDirectory(prefix="kconnect-truth-") as folder:
        play = SinkPlay(Path(folder) / "out.txt")
        try:
            for step in history:
                play.play(step)
            play.check()
        finally:
            play.engine.close()
