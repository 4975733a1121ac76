"""Files that are pipes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kconnect.cli import files
from kconnect.cli.offsets import snapshot

WRITES = """
import sys
with open(sys.argv[1], "w") as pipe:
    sys.stdin.readline()
    pipe.write("name: é")
"""


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_a_pipe_that_nobody_writes_into_is_told(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "WRITER_S", 0.2)
    with pytest.raises(files.InputError, match=r"pipe is a pipe, and no process has opened it for writing within 0\.2 s"):
        files.text_of(pipe)


@pytest.mark.process
def test_a_pipe_is_read_whenever_its_writer_writes(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITES, str(pipe)], stdin=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None
        # Opened by both, and empty for longer than a pipe may be without a writer.
        with open(pipe) as other:
            monkeypatch.setattr(files, "WRITER_S", 0.05)
            reader = Reader(pipe)
            reader.start()
            reader.join(1)
            assert reader.is_alive()
            writer.stdin.write("\n")
            writer.stdin.flush()
            reader.join(60)
            found = reader.found or other.read()
    assert found == "name: é"


class Reader(threading.Thread):
    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self.path, self.found = path, ""

    def run(self) -> None:
        self.found = files.text_of(self.path)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_standard_input_is_utf_8_whatever_the_locale_says(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def given(content: bytes) -> str:
        stream = io.TextIOWrapper(io.BytesIO(content), encoding, errors="surrogateescape")
        monkeypatch.setattr(sys, "stdin", stream)
        return files.standard_input()

    assert given("name: é".encode()) == "name: é"
    with pytest.raises(files.InputError, match=r"^standard input: this is not UTF-8 \(invalid start byte at byte 6\)$"):
        given(b"name: \x94")


def test_a_text_that_is_nested_too_deeply_is_not_told_in_python_s_words() -> None:
    with pytest.raises(files.InputError, match="its values are nested too deeply"):
        snapshot.parse("[" * 100_000, "x.json")
