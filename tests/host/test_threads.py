"""How many threads a host's process may have: a cluster that only a config names says how many brokers it has."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from kconnect.core.settings.worker import WorkerSettings
from kconnect.host.threads import Threads
from kconnect.spark import room
from tests.host.test_memory import FILE


@pytest.mark.parametrize(
    ("taken", "total", "left", "ends"),
    [
        (499, 600, 0, False),
        (3000, 32_768, 20_000, False),
        (24_600, 32_768, 8000, True),
        # Nothing is left, and this one has more than its share of it, of two hosts.
        (9000, 32_768, 500, True),
        (8000, 32_768, 500, False),
        (3700, 4915, 1000, True),
        (1300, 4915, 90, True),
        (1300, 4915, 100, False),
    ],
)
def test_a_host_ends_that_takes_the_threads_of_all_others(
    monkeypatch: pytest.MonkeyPatch, taken: int, total: int, left: int, ends: bool
) -> None:
    found = Threads(WorkerSettings.from_properties({**FILE, "task.hosts": "2"}, {}))
    monkeypatch.setattr(found, "_process", SimpleNamespace(num_threads=lambda: taken))
    monkeypatch.setattr(room, "threads", lambda: (total, left))
    reason = found.excess()
    assert (reason is not None) == ends
    if reason is not None:
        assert f"took {taken} threads" in reason and str(total) in reason


def test_what_there_is_is_the_machines_or_the_groups(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kernel = tmp_path / "kernel"
    kernel.mkdir()
    (kernel / "pid_max").write_text("32768\n")
    (kernel / "threads-max").write_text("100000\n")
    (tmp_path / "loadavg").write_text("0.1 0.2 0.3 2/700 4711\n")
    monkeypatch.setattr(room, "_KERNEL", kernel)
    monkeypatch.setattr(room, "_LOAD", tmp_path / "loadavg")
    monkeypatch.setattr(room, "_GROUPS", tmp_path)
    monkeypatch.setattr(room, "_OWN_GROUP", tmp_path / "cgroup")
    (tmp_path / "pids.max").write_text("max\n")
    assert room.threads() == (32_768, 32_068)
    (tmp_path / "pids.max").write_text("4915\n")
    (tmp_path / "pids.current").write_text("4900\n")
    assert room.threads() == (4915, 15)
    (kernel / "pid_max").unlink()
    assert room.threads() is None, "there is no such file on other systems"


@pytest.mark.skipif(not psutil.LINUX, reason="Only Linux says so")
def test_this_machine_says_how_many_there_are() -> None:
    found = room.threads()
    assert found is not None and 0 < found[1] <= found[0]
