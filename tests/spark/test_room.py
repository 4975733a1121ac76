"""Processes of dedicated tasks: they begin within the memory that the machine has left, and not all at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kconnect.spark import hosts as spark_hosts
from kconnect.spark import room
from kconnect.spark.hosts import Hosts
from kconnect.spark.room import Room
from tests.support import wait_until

GIB = 2**30


def test_so_many_begin_as_there_is_memory_for() -> None:
    now, left = 0.0, GIB + 350 * 2**20
    room_left = Room(lambda: (10 * GIB, left), lambda: now)
    refusals = [room_left.take() for _ in range(5)]
    assert refusals[:3] == [None, None, None], "those that have begun have taken little yet"
    assert "tasks.max" in (refusals[3] or "") and refusals[4] == refusals[3]
    now = 60.0
    assert room_left.take() is None, "what they have taken is known by then"


def test_they_do_not_begin_all_at_once() -> None:
    now = 0.0
    room_left = Room(lambda: (1000 * GIB, 900 * GIB), lambda: now)
    refusals = [room_left.take() for _ in range(100)]
    assert refusals.count(None) == room._AT_ONCE
    assert refusals[-1] == "other dedicated tasks are starting"
    now = 11.0
    assert room_left.take() is None


def test_the_least_of_the_groups_around_a_process_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's group is the outermost that it sees; a service of systemd has one within."""
    own = tmp_path / "own"
    monkeypatch.setattr(room, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(room, "_OWN_GROUP", own)
    whole = room.machine()[0]
    service = tmp_path / "groups" / "system.slice" / "kconnect.service"
    service.mkdir(parents=True)

    def limit(group: Path, most: str) -> None:
        (group / "memory.max").write_text(f"{most}\n")
        (group / "memory.current").write_text("60\n")
        (group / "memory.stat").write_text("anon 40\ninactive_file 20\n")

    limit(service, "100")
    limit(service.parent, "max")
    own.write_text("9:memory:/elsewhere\n0::/system.slice/kconnect.service\n")
    assert room.machine() == (100, 60)
    limit(tmp_path / "groups", "90")
    assert room.machine() == (90, 50)
    for outside in ("0::/\n", "0::/../system.slice/kconnect.service\n", "9:memory:/x\n"):
        own.write_text(outside)
        assert room.machine() == (90, 50)
    (tmp_path / "groups" / "memory.max").unlink()
    assert room.machine()[0] == whole


def test_the_machine_s_memory() -> None:
    total, available = room.machine()
    assert 0 < available <= total


class Context:
    """Runs each job in the thread that submits it."""

    master = "local[2]"

    def setJobGroup(self, *_: Any, **__: Any) -> None: ...

    def parallelize(self, payloads: list[bytes], _: int) -> Any:
        class Job:
            def foreachPartition(self, run: Callable[[Iterator[bytes]], None]) -> None:
                run(iter(payloads))

        return Job()


def test_hosts_of_dedicated_tasks_wait_for_memory_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_hosts, "_ROOM_S", 0.01)
    available, running, over, said = 0, set[bytes](), threading.Event(), dict[int, str]()

    def run(payloads: Iterator[bytes]) -> None:
        running.update(payloads)
        over.wait(60)

    hosts = Hosts(Context(), run, said.__setitem__, Room(lambda: (10 * GIB, available)))  # type: ignore[arg-type]
    hosts.want({0: b"plain", 1: b"dedicated"}, {1})
    try:
        wait_until(lambda: running == {b"plain"} and 1 in said)
        assert "tasks.isolation=dedicated" in said[1] and 0 not in said
        available = 9 * GIB
        wait_until(lambda: running == {b"plain", b"dedicated"})
    finally:
        over.set()
        hosts.close(60)
