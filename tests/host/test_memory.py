"""What a host's process may take. What changes its own limits runs in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConfigError
from kconnect.host.memory import Memory
from kconnect.spark import room

GIB = 2**30
FILE = {
    "bootstrap.servers": "localhost:9092",
    "group.id": "g",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
}


def settings(**more: str) -> WorkerSettings:
    return WorkerSettings.from_properties({**FILE, **{name.replace("_", "."): value for name, value in more.items()}}, {})


def test_what_is_used_is_what_the_system_says() -> None:
    usage = Memory(settings()).usage()
    assert usage.memory == pytest.approx(psutil.Process().memory_info().rss, rel=0.1)
    assert usage.memory_max is None
    assert usage.cpu > 0


def test_a_limit_that_is_kept_and_one_that_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Memory(settings(task_host_memory_max_bytes=str(100 * GIB))).excess() is None
    over = Memory(settings(task_host_memory_max_bytes=str(2**27)))
    monkeypatch.setattr(over, "_process", SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=2**27 + 1)))
    assert over.excess() == "took 128 MiB of memory, and task.host.memory.max.bytes is 134217728"


@pytest.mark.parametrize(
    ("taken", "leaps"),
    [
        # So much a look, of which there is one in each second.
        ([100, 110, 120, 900], True),
        ([100, *range(100, 900, 5)], False),
        ([900, 100, 120, 900], True),
        ([900] * 40, False),
        ([100, *[900] * 40], False),  # long ago
    ],
)
def test_what_is_taken_at_once_is_told_from_what_grows(monkeypatch: pytest.MonkeyPatch, taken: list[int], leaps: bool) -> None:
    found = Memory(settings(task_host_memory_max_bytes="1000000000"))
    now = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))
    for millions in taken:
        resident = SimpleNamespace(rss=millions * 1_000_000)
        monkeypatch.setattr(found, "_process", SimpleNamespace(memory_info=lambda resident=resident: resident))
        found.excess()
    assert found.has_leapt == leaps


@pytest.mark.parametrize(
    ("limit", "hosts", "taken", "available", "ends"),
    [
        (None, 2, 5 * GIB, 1 * GIB, True),
        (None, 2, 5 * GIB, 3 * GIB, False),  # nobody is in need of it
        (None, 2, 3 * GIB, 1 * GIB, False),  # it is others who take too much
        (None, 8, 3 * GIB, 1 * GIB, True),
        (None, 1000, 2**27, 1, False),  # a host that does nothing
        ("-1", 2, 15 * GIB, 1, False),
    ],
)
def test_without_a_limit_a_host_ends_that_leaves_the_machine_without_memory(
    monkeypatch: pytest.MonkeyPatch, limit: str | None, hosts: int, taken: int, available: int, ends: bool
) -> None:
    more = {} if limit is None else {"task_host_memory_max_bytes": limit}
    found = Memory(settings(task_hosts=str(hosts), **more))
    monkeypatch.setattr(found, "_process", SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=taken)))
    monkeypatch.setattr(room, "machine", lambda: (16 * GIB, available))
    reason = found.excess()
    assert (reason is not None) == ends
    if reason is not None:
        assert f"only {available // 2**20} MiB of the machine's 16384 MiB were left" in reason
        assert "task.host.memory.max.bytes" in reason


@pytest.mark.parametrize(
    ("limit", "total", "taken", "ends"),
    [
        (None, 16 * GIB, 12 * GIB + 1, True),
        (None, 16 * GIB, 12 * GIB, False),
        (None, 2**29, 2**29, False),  # a host with a JVM needs that
        ("-1", 16 * GIB, 15 * GIB, False),
    ],
)
def test_without_a_limit_a_host_takes_three_quarters_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, limit: str | None, total: int, taken: int, ends: bool
) -> None:
    found = Memory(settings(**({} if limit is None else {"task_host_memory_max_bytes": limit})))
    monkeypatch.setattr(found, "_process", SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=taken)))
    monkeypatch.setattr(room, "machine", lambda: (total, total // 2))
    reason = found.excess()
    assert (reason is not None) == ends
    if reason is not None:
        assert "a host may take 75% of the machine's 16384 MiB" in reason
        assert "task.host.memory.max.bytes" in reason


def test_a_container_has_what_its_group_may_take(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(room, "_GROUPS", tmp_path)
    monkeypatch.setattr(room, "_OWN_GROUP", tmp_path / "cgroup")
    whole = room.machine()
    (tmp_path / "memory.max").write_text("max\n")
    assert room.machine()[0] == whole[0]
    (tmp_path / "memory.max").write_text(f"{2**20}\n")
    (tmp_path / "memory.current").write_text(f"{2**20 - 4096}\n")
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 8192\nactive_file 7\n")
    assert room.machine() == (2**20, 4096 + 8192)
    # One of a service within it, which may take less.
    (tmp_path / "cgroup").write_text("0::/system.slice/kconnect.service\n")
    service = tmp_path / "system.slice" / "kconnect.service"
    service.mkdir(parents=True)
    (service / "memory.max").write_text(f"{2**19}\n")
    (service / "memory.current").write_text("0\n")
    (service / "memory.stat").write_text("")
    assert room.machine() == (2**19, 4096 + 8192)


@pytest.mark.parametrize("value", ["0", "1000000", "-2"])
def test_a_limit_that_no_host_could_keep_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match="Must be at least 134217728, of which a host itself needs some 100 MB, or -1 for"):
        settings(task_host_memory_max_bytes=value)


@pytest.mark.process
def test_a_dedicated_task_that_takes_too_much_at_once_gets_an_error_that_can_be_told() -> None:
    script = """
        import sys
        from tests.host.test_memory import settings
        from kconnect.host.memory import Memory
        memory = Memory(settings(), 128 * 2**20)
        assert memory.usage().memory_max == 128 * 2**20
        kept = []
        try:
            while True:
                kept.append(bytearray(2**20))
        except MemoryError as error:
            told = memory.explain(error)
            more = bytearray(2**24)
        print(len(kept), told)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120, check=True
    )
    count, told = run.stdout.strip().split(" ", 1)
    assert 100 < int(count) < 500
    assert told == "The task got no more memory: tasks.memory.max is 134217728"


@pytest.mark.process
def test_a_task_that_wants_too_much_at_once_fails_of_the_setting_and_its_host_can_go_on() -> None:
    script = """
        from kconnect.core.state.records import TargetState
        from kconnect.core.cluster.phases import UnitSpec
        from kconnect.host.memory import Memory
        from kconnect.units.unit import Unit
        from tests.integration.units import MemoryHost
        class Host(MemoryHost):
            def __init__(self):
                super().__init__("127.0.0.1:1")
                self.memory = Memory(self.settings, 128 * 2**20)
                self.traces = []
            def explain(self, spec, error):
                return self.memory.explain(error)
            def status(self, spec, state, trace=None, version=None):
                self.traces.append((state.value, trace))
        class Hog(Unit):
            def run(self):
                kept = []
                while True:
                    kept.append(bytes(1000))
        host = Host()
        hog = Hog(UnitSpec("hog", 0, {}, {}, 1, 1), host, TargetState.STARTED)
        hog.start()
        assert hog.join(60)
        more = bytearray(2**23)
        [(state, trace)] = host.traces
        print(state, trace.splitlines()[0])
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120)
    name = "org.apache.kafka.connect.errors.ConnectException"
    assert run.stdout == f"FAILED {name}: The task got no more memory: tasks.memory.max is 134217728\n", run.stderr


def test_without_a_limit_of_ours_an_error_is_none_of_it() -> None:
    assert Memory(settings()).explain(MemoryError()) is None
