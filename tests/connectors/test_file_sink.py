"""FileStreamSink on real files."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kconnect.api.record import SinkRecord
from kconnect.connectors import file_sink
from kconnect.connectors.file_sink import FileStreamSinkConnector, FileStreamSinkTask
from kconnect.data.schema import FLOAT32_SCHEMA, INT32_SCHEMA, OPTIONAL_STRING_SCHEMA, Struct, struct
from kconnect.errors import ConnectError
from kconnect.testing import SinkRunner


def records(*values: Any) -> list[SinkRecord]:
    return [SinkRecord("t", 0, None, None, None, value, offset) for offset, value in enumerate(values)]


def task(path: Path) -> FileStreamSinkTask:
    made = FileStreamSinkTask()
    made.start({"file": str(path)})
    return made


def test_a_line_a_record_as_java_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "f"
    sink = task(path)
    point = struct({"x": INT32_SCHEMA, "y": OPTIONAL_STRING_SCHEMA})
    sink.put(records("text", None, True, 1.0, {"a": 1}, [1, None], Struct(point, {"x": 3})))
    sink.flush({})
    assert path.read_text().splitlines() == ["text", "null", "true", "1.0", "{a=1}", "[1, null]", "Struct{x=3}"]


def test_a_batch_has_the_same_lines(tmp_path: Path) -> None:
    config = {"file": str(tmp_path / "f"), "topics": "t"}
    with SinkRunner(FileStreamSinkConnector, config) as sink:
        for values in ([{"a": n, "b": "x"} for n in range(12)], [str(n) for n in range(12)]):
            sink.put(records(*values))
    lines = [*[f"{{a={n}, b=x}}" for n in range(12)], *map(str, range(12))]
    assert (tmp_path / "f").read_text().splitlines() == lines


def test_a_narrow_float_has_no_more_digits_than_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "f"
    task(path).put([SinkRecord("t", 0, None, None, FLOAT32_SCHEMA, 1.100000023841858, 0)])
    assert path.read_text() == "1.1\n"


def test_the_file_is_utf8_whatever_the_text_is(tmp_path: Path) -> None:
    path = tmp_path / "f"
    task(path).put(records("é€😀", "\ud800"))
    assert path.read_text("utf-8") == "é€😀\n?\n"


def test_without_a_file_it_writes_to_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    sink = FileStreamSinkTask()
    sink.start({})
    sink.put(records("a", "b"))
    sink.flush({})
    sink.stop()
    assert capfdbinary.readouterr().out == b"a\nb\n"


def test_each_task_gets_the_same_config() -> None:
    connector = FileStreamSinkConnector()
    connector.start({"file": "f"})
    assert connector.task_configs(2) == [{"file": "f"}, {"file": "f"}]
    assert connector.alter_offsets({"file": "f"}, {})


def test_it_appends(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("before\n")
    sink = task(path)
    sink.put(records("after"))
    sink.put([])
    sink.stop()
    assert path.read_text() == "before\nafter\n"


def test_a_line_that_was_torn_by_a_crash_is_ended_first(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("whole\nto")
    sink = task(path)
    sink.put(records("torn", "next"))
    assert path.read_text() == "whole\nto\ntorn\nnext\n"


def test_half_a_line_that_another_task_is_writing_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_text("whole\nha")

    def other_task_goes_on(seconds: float) -> None:
        with path.open("a") as other:
            other.write("lf\n" if path.read_text().endswith("ha") else "")

    monkeypatch.setattr(file_sink, "time", SimpleNamespace(sleep=other_task_goes_on))
    task(path).put(records("mine"))
    assert path.read_text() == "whole\nhalf\nmine\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_is_named() -> None:
    with pytest.raises(ConnectError, match="The setting `file` names /dev/full, which can't be written: No space left"):
        task(Path("/dev/full")).put(records("a"))


@contextlib.contextmanager
def room_for(size: int) -> Iterator[None]:
    """Files of this process may grow to so many bytes, which fails as a full disk does: a part is written first."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_what_a_full_disk_took_of_a_batch_is_cut_off_again(tmp_path: Path) -> None:
    path = tmp_path / "f"
    sink = task(path)
    sink.put(records("before"))
    with room_for(20), pytest.raises(ConnectError, match="can't be written"):
        sink.put(records("first", "second", "third"))
    assert path.read_text() == "before\n"
    sink.put(records("first", "second", "third"))
    assert path.read_text() == "before\nfirst\nsecond\nthird\n"


def test_a_file_that_another_task_has_too_is_not_cut(tmp_path: Path) -> None:
    path = tmp_path / "f"
    sink, other = task(path), task(path)
    with room_for(10), pytest.raises(ConnectError, match="can't be written"):
        sink.put(records("first", "second"))
    assert path.read_text() == "first\nseco"
    other.stop()
    with room_for(15), pytest.raises(ConnectError, match="can't be written"):
        sink.put(records("second"))
    assert path.read_text() == "first\nseco", "the other one is gone"


@pytest.mark.parametrize("name", ["/dev/null", "/dev/stderr"])
def test_devices_can_be_written(name: str) -> None:
    task(Path(name)).put(records("a"))


def test_a_directory_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match="The setting `file` names"):
        task(tmp_path / "no" / "f")


def test_a_pipe_that_nobody_reads_holds_up_no_task(tmp_path: Path) -> None:
    """Who may write where the file is has a pipe in its place: the task hung in start, and could not be stopped."""
    path = tmp_path / "out.txt"
    os.mkfifo(path)
    runner = SinkRunner(FileStreamSinkConnector, {"topics": "orders", "file": str(path)})
    with pytest.raises(ConnectError, match="can't be written: No such device or address"), runner:
        pass
    # The control: one that is read has the lines.
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with runner:
        runner.put([SinkRecord("orders", 0, None, None, None, "a", 0)])
        assert os.read(reader, 10) == b"a\n"
    os.close(reader)
