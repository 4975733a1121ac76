"""The class archive of Spark's JVM: `kconnect/spark/class_archive.py`."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import psutil
import pytest

from kconnect.jvm import java
from kconnect.spark import class_archive
from kconnect.testing.processes import WorkerProcess
from tests.support import wait_until


def test_without_an_archive_there_is_no_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    assert class_archive.options() == ""


def test_another_java_has_another_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    assert class_archive.is_there(), "without a Java there is nothing to make"
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.touch()
    first = class_archive.path()
    assert first is not None and tmp_path in first.parents
    program.unlink()
    (tmp_path / "another").touch()
    program.symlink_to(tmp_path / "another")
    assert class_archive.path() != first


@pytest.mark.process
def test_java_starts_in_silence_with_an_archive_that_it_can_not_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    path = class_archive.path()
    assert path is not None
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not of this Java" * 100_000)
    options = class_archive.options().split()
    assert any(str(path) in option for option in options)
    done = subprocess.run([java.find(), *options, "-Xinternalversion"], capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1


def test_a_worker_s_jvm_uses_it(worker: WorkerProcess) -> None:
    path = class_archive.path()
    assert path is not None and path.exists(), "scripts/setup makes it"

    def mapped() -> bool:
        for each in psutil.Process(worker.pid).children(recursive=True):
            # One may end while it is looked at.
            with contextlib.suppress(psutil.NoSuchProcess, OSError):
                if each.name() == "java" and str(path) in Path(f"/proc/{each.pid}/maps").read_text():
                    return True
        return False

    wait_until(mapped, 240)
