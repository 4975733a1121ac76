"""FileStreamSource on real files: what is emitted, at which positions, and what happens when the file changes."""

from __future__ import annotations

import itertools
import os
import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconnect.api.record import SourceRecord
from kconnect.connectors import file_source
from kconnect.connectors.file_source import FileStreamSourceConnector, FileStreamSourceTask
from kconnect.errors import ConnectError


class Context:
    """A task's context with one stored offset, or none."""

    def __init__(self, position: int | None = None) -> None:
        self._position = position
        self.offsets = self
        self.awaited: str | None = None

    def waits_for(self, what: str | None) -> None:
        self.awaited = what

    def configs(self) -> dict[str, str]:
        return {}

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return None if self._position is None else {"position": self._position}

    def offsets_of(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        return [self.offset(partition) for partition in partitions]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """An idle poll waits for a second, which is right for a task and too long for these tests."""
    monkeypatch.setattr(file_source, "_IDLE_S", 0.0)


def task(path: Path, position: int | None = None, /, **config: str) -> FileStreamSourceTask:
    made = FileStreamSourceTask()
    made.initialize(Context(position))  # type: ignore[arg-type]
    made.start({"file": str(path), "topic": "t", **config})
    return made


def drain(source: FileStreamSourceTask) -> list[SourceRecord]:
    """All records until nothing comes any more; twice, as the first empty poll may only have noticed a change."""
    found: list[SourceRecord] = []
    empty = 0
    while empty < 3:
        records = source.poll()
        empty = 0 if records else empty + 1
        found += records or []
    return found


def values(records: list[SourceRecord]) -> list[str]:
    return [record.value for record in records]


def positions(records: list[SourceRecord]) -> list[int]:
    return [record.source_offset["position"] for record in records if record.source_offset is not None]


def test_lines_with_their_positions(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"one\ntwo\r\nthree\rfour")
    records = drain(task(path))
    assert values(records) == ["one", "two", "three"]
    assert positions(records) == [4, 9, 15]
    assert records[0].source_partition == {"filename": str(path)}
    assert records[0].topic == "t"
    assert records[0].key is None


def test_positions_count_bytes_not_characters(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("é\n€\n", "utf-8")
    assert positions(drain(task(path))) == [3, 7]


def test_a_poll_gives_no_more_than_a_batch(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("\n" * 25)
    source = task(path, **{"batch.size": "10"})
    assert [len(source.poll() or []) for _ in range(3)] == [10, 10, 5]


def test_a_growing_file_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("a\nb")
    source = task(path)
    assert values(drain(source)) == ["a"]
    with path.open("a") as file:
        file.write("c\nd\n")
    records = drain(source)
    assert values(records) == ["bc", "d"]
    assert positions(records) == [5, 7]


def test_a_carriage_return_at_the_end_waits_for_what_follows(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a\r")
    source = task(path)
    assert drain(source) == []
    with path.open("ab") as file:
        file.write(b"\nb\n")
    assert values(drain(source)) == ["a", "b"]


def test_a_missing_file_is_waited_for_with_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "f"
    source = task(path)
    assert drain(source) == []
    assert len([record for record in caplog.records if "does not exist" in record.message]) == 1
    context: Any = source.context
    assert context.awaited == f"the file {path}, which does not exist"
    path.write_text("a\n")
    assert values(drain(source)) == ["a"]
    assert context.awaited is None


def test_a_truncated_file_is_read_from_its_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "f"
    path.write_text("long line\n")
    source = task(path)
    drain(source)
    path.write_text("new\n")
    records = drain(source)
    assert values(records) == ["new"]
    assert positions(records) == [4]
    assert any("was truncated" in record.message for record in caplog.records)


def test_a_file_that_was_truncated_and_has_grown_again_is_read_from_its_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "f"
    path.write_text("a\nb\nc\n")
    source = task(path)
    drain(source)
    path.write_text("x\ny\nz\nmore than before\n")
    assert values(drain(source)) == ["x", "y", "z", "more than before"]
    assert "was truncated, and has grown again: reading it from its start" in caplog.text
    with open(path, "a") as file:
        file.write("on\n")
    assert values(drain(source)) == ["on"]


def test_half_a_line_that_nobody_ends_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, other = tmp_path / "f", tmp_path / "g"
    path.write_text("a\nhalf")
    source = task(path)
    drain(source)
    other.write_text("new\n")
    os.replace(other, path)
    assert values(drain(source)) == ["new"]
    assert "The last 4 bytes of what" in caplog.text and "from position 2 on, were no whole line" in caplog.text


def test_a_replaced_file_is_read_from_its_start(tmp_path: Path) -> None:
    path, other = tmp_path / "f", tmp_path / "g"
    path.write_text("a\n")
    source = task(path)
    drain(source)
    other.write_text("longer than before\n")
    os.replace(other, path)
    assert values(drain(source)) == ["longer than before"]


def test_a_stored_position_past_the_end_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("a\n")
    assert values(drain(task(path, 100))) == ["a"]


@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=5), max_size=20), st.data()
)
def test_from_any_stored_position_the_rest_comes_exactly(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("p") / "f"
    ends = [data.draw(st.sampled_from(["\n", "\r\n"])) for _ in lines]
    path.write_bytes("".join(line + end for line, end in zip(lines, ends)).encode())
    whole = drain(task(path))
    assert values(whole) == lines
    for index, position in enumerate(positions(whole)):
        assert values(drain(task(path, position))) == lines[index + 1 :]


def test_without_a_file_it_says_what_to_do(tmp_path: Path) -> None:
    made = FileStreamSourceTask()
    made.initialize(Context())  # type: ignore[arg-type]
    with pytest.raises(ConnectError, match="The setting `file` is missing"):
        made.start({"topic": "t"})


def test_a_directory_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=f"The setting `file` names {tmp_path}, which can't be read: Is a directory"):
        task(tmp_path).poll()


def test_a_batch_of_none_gets_on_nevertheless(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("a\nb\n")
    assert values(drain(task(path, **{"batch.size": "0"}))) == ["a", "b"]


def test_a_line_of_many_blocks_comes_in_one_poll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_source, "_BLOCK", 10)
    path = tmp_path / "f"
    path.write_bytes(b"x" * 1004 + b"\r" + b"y" * 4 + b"\r\nz\n")
    source = task(path)
    assert values(source.poll() or []) == ["x" * 1004]
    records = drain(source)
    assert (values(records), positions(records)) == (["y" * 4, "z"], [1011, 1013])


def test_the_last_lines_before_a_replacement_are_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, moved = tmp_path / "f", tmp_path / "f.1"
    path.write_text("a\n")
    source = task(path)
    assert values(source.poll() or []) == ["a"]
    look = source._what_changed

    def rotate_first(file: IO[bytes]) -> str:
        # Between the end that was read and the look at the directory.
        if not moved.exists():
            with path.open("a") as writer:
                writer.write("last\n")
            path.rename(moved)
            path.write_text("new\n")
        return look(file)

    monkeypatch.setattr(source, "_what_changed", rotate_first)
    assert values(drain(source)) == ["last", "new"]


def test_a_removed_file_is_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "f"
    path.write_text("a\n")
    source = task(path)
    drain(source)
    path.unlink()
    assert drain(source) == []
    assert [record.message.split(" ", 1)[0] for record in caplog.records if record.levelname == "WARNING"] == [str(path), "The"]
    path.write_text("b\n")
    assert values(drain(source)) == ["b"]


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ConnectError, match="is not a regular file"):
        task(path).poll()


def test_a_stored_offset_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=r"has no valid position: -1\. Reset this connector's offsets"):
        task(tmp_path / "f", -1)


def test_what_is_not_utf8_is_replaced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a\xffb\n\xe2\x82\n")
    records = drain(task(path))
    assert values(records) == ["a\ufffdb", "\ufffd"]
    assert positions(records) == [4, 7]
    assert caplog.text.count("has bytes that are no UTF-8, in or behind the line at position 0") == 1


@given(st.binary(max_size=40), st.data())
def test_any_bytes_in_any_pieces_give_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("p") / "f"
    path.write_bytes(b"")
    source = task(path)
    found: list[SourceRecord] = []
    rest = content
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        with path.open("ab") as file:
            file.write(rest[:size])
        rest = rest[size:]
        found += drain(source)
    whole = drain(task(path))
    assert values(found) == values(whole)
    assert positions(found) == positions(whole)


@given(st.binary(max_size=60) | st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", b"\xe2"])).map(b"".join))
def test_lines_are_what_java_takes_for_lines(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("p") / "f"
    path.write_bytes(content)
    lines = re.findall(rb"([^\r\n]*)(\r\n|\n|\r(?!\Z))", content)
    found = drain(task(path))
    assert values(found) == [line.decode("utf-8", "replace") for line, _ in lines]
    assert positions(found) == list(itertools.accumulate(len(line + end) for line, end in lines))


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", "é".encode()]), max_size=20))
def test_from_any_position_the_rest_comes_whatever_ends_the_lines(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("p") / "f"
    path.write_bytes(b"".join(pieces))
    whole = drain(task(path))
    for index, position in enumerate(positions(whole)):
        rest = drain(task(path, position))
        assert (values(rest), positions(rest)) == (values(whole)[index + 1 :], positions(whole)[index + 1 :])


def test_stop_ends_a_waiting_poll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_source, "_IDLE_S", 60.0)
    source = task(tmp_path / "missing")
    waiting = threading.Thread(target=source.poll)
    waiting.start()
    source.stop()
    waiting.join(30)
    assert not waiting.is_alive()


def test_a_file_that_has_grown_is_looked_at_again_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_source, "_IDLE_S", 1.0)
    waits: list[float] = []

    class Stopped(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waits.append(timeout or 0.0)
            return False

    path = tmp_path / "f"
    path.write_text("a\n")
    source = task(path)
    source._stopped = Stopped()
    assert values(source.poll() or []) == ["a"]
    for _ in range(12):
        assert source.poll() is None
    assert waits[0] == file_source._SOON_S
    assert waits == sorted(waits)
    assert waits[-1] == 1.0


def test_one_task_whatever_is_allowed() -> None:
    connector = FileStreamSourceConnector()
    connector.start({"file": "f", "topic": "t"})
    assert connector.task_configs(7) == [{"file": "f", "topic": "t"}]


@pytest.mark.parametrize(
    ("partition", "offset", "message"),
    [
        ({"x": 1}, {"position": 1}, "Partition objects should contain the key 'filename'"),
        (None, {"position": 1}, "Partition objects cannot be null"),
        ({"filename": "f"}, {}, "Offset objects should either be null or contain the key 'position'"),
        ({"filename": "f"}, {"position": True}, "expected to be a Long value"),
        ({"filename": "f"}, {"position": "1"}, "expected to be a Long value"),
        ({"filename": "f"}, {"position": -1}, "should be a non-negative value"),
    ],
)
def test_offsets_that_make_no_sense_are_refused(partition: dict[str, Any] | None, offset: dict[str, Any], message: str) -> None:
    with pytest.raises(ConnectError, match=message):
        FileStreamSourceConnector().alter_offsets({"file": "f"}, [(partition, offset)])


def test_offsets_that_make_sense_are_accepted() -> None:
    pairs: list[tuple[Any, Any]] = [({"filename": "f"}, {"position": 3}), ({"filename": "g"}, {"position": 0})]
    # Anything can be reset, also what this connector could not have stored.
    pairs += [({"filename": "f"}, None), ({"x": 1}, None), (None, None)]
    assert FileStreamSourceConnector().alter_offsets({"file": "f"}, pairs)
