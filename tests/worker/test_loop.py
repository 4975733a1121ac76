"""The herder's loop: slow answers of one kind keep nobody else waiting."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kconnect.core.cluster.silence import Host, Silence
from kconnect.core.herder import effects, events
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.identity import Identity
from kconnect.core.herder.log import Log
from kconnect.core.herder.performing import Lane, performs
from kconnect.core.herder.requests.configs import DeleteConnector, ValidateConfig
from kconnect.core.herder.requests.dead_letters import DeadLetters
from kconnect.core.herder.requests.offsets import GetOffsets
from kconnect.core.herder.requests.own import GetOwn, ListOwn
from kconnect.core.herder.requests.plugins import ReloadPlugins
from kconnect.core.herder.requests.preview import PreviewChain
from kconnect.core.herder.requests.worker import GetSessionKeys, Health, IsMember
from kconnect.core.state import assignment_records, records
from kconnect.errors import ConnectError
from kconnect.worker.loop import Loop
from tests.rig.histories.cluster import MemoryCluster
from tests.rig.histories.memory import MemoryLog
from tests.support import wait_until

WAIT_S = 120


class SlowClusters:
    """The world, of which connectors' own clusters don't answer before `go_on`."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.asked = threading.Semaphore(0)
        self.asked_about: list[str] = []
        self.members_asked = threading.Event()
        self.ends_asked = 0
        self.fault: Exception | None = None
        self.fenced = threading.Event()

    def members(self) -> tuple[dict[str, str], str | None, str | None]:
        self.members_asked.set()
        return {}, None, None

    @performs(effects.DescribePlugin, Lane.PLUGIN)
    def describe(self, effect: effects.DescribePlugin) -> dict[str, Any]:
        return {"class": effect.plugin, "type": "source" if "Source" in effect.plugin else "sink", "version": "1"}

    @performs(effects.GroupOffsets, Lane.CLIENT)
    def group_offsets(self, effect: effects.GroupOffsets) -> list[tuple[str, int, int]]:
        self.asked_about.append(effect.connector)
        self.asked.release()
        assert self.go_on.wait(WAIT_S)
        return []

    @performs(effects.ShowGroupOffsets, Lane.LOOK)
    def show_group_offsets(self, effect: effects.ShowGroupOffsets) -> list[tuple[str, int, int]]:
        return self.group_offsets(effect)

    @performs(effects.FindEnds, Lane.ASK)
    def find_ends(self, effect: effects.FindEnds) -> effects.Offsets:
        self.ends_asked += 1
        self.asked.release()
        assert self.go_on.wait(WAIT_S)
        if self.fault is not None:
            raise self.fault
        return {}

    @performs(effects.Fence, Lane.FENCE)
    def fence(self, effect: effects.Fence) -> None:
        self.fenced.set()

    def is_dead(self, held: assignment_records.Held) -> bool:
        return False

    def silences(self) -> dict[Host, Silence]:
        return {}


@pytest.fixture
def world() -> Iterator[SlowClusters]:
    world = SlowClusters()
    yield world
    world.go_on.set()


def test_clusters_that_do_not_answer_keep_nobody_from_the_group_s_members(world: SlowClusters) -> None:
    log = MemoryLog()
    log.append([records.connector_config("x", {"connector.class": "FileStreamSink", "name": "x"})])
    herder = MemoryCluster().add_worker("w:1").herder
    loop = Loop(herder, world)
    loop.start()
    try:
        loop.post(events.Read(tuple(log.records), log.ends()))
        loop.post(events.CaughtUp())
        waiting = [loop.submit(GetOffsets("x")) for _ in range(12)]
        assert all(world.asked.acquire(timeout=WAIT_S) for _ in range(2))
        world.members_asked.clear()
        assert world.members_asked.wait(WAIT_S), "the members are asked every three seconds"
        world.go_on.set()
        assert [future.result(WAIT_S) for future in waiting] == [{"offsets": []}] * 12
    finally:
        loop.stop()


@pytest.mark.parametrize("fault", [None, ConnectError("no broker")])
def test_one_look_at_a_topic_s_end_is_for_all_who_wait_for_it(world: SlowClusters, fault: Exception | None) -> None:
    """Readers ask for a source's offsets as often as they like: each look would take a thread, and two clients of Kafka."""
    log = MemoryLog()
    log.append([records.connector_config("x", {"connector.class": "FileStreamSource", "name": "x"})])
    world.fault = fault
    loop = Loop(MemoryCluster().add_worker("w:1").herder, world)
    loop.start()
    try:
        loop.post(events.Read(tuple(log.records), log.ends()))
        loop.post(events.CaughtUp())
        waiting = [loop.submit(GetOffsets("x"))]
        assert world.asked.acquire(timeout=WAIT_S)
        waiting += [loop.submit(GetOffsets("x")) for _ in range(50)]
        loop.submit(Health()).result(WAIT_S)
        world.go_on.set()
        for future in waiting:
            if fault is None:
                assert future.result(WAIT_S) == {"offsets": []}
            else:
                with pytest.raises(ConnectError, match="Failed to retrieve offsets for source connector x: no broker"):
                    future.result(WAIT_S)
        # Who asked while the first one looked may not be told what that one found.
        assert world.ends_asked == 2
    finally:
        loop.stop()


class Slow:
    """A herder that answers nothing before `go_on`, and tells what it was asked for, in that order."""

    desk = Desk(Identity("w:1", "http://w:1/", "1", "test", "memory"), Log())

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.is_busy, self.go_on, self.all_came = threading.Event(), threading.Event(), threading.Event()

    def handle(self, event: events.Event, now: int) -> list[effects.Effect[Any]]:
        if isinstance(event, events.Requested):
            self.is_busy.set()
            assert self.go_on.wait(WAIT_S)
            self.asked.append(event.request)
            if len(self.asked) == 58:
                self.all_came.set()
        return []


def test_neither_health_nor_a_change_waits_for_many_reads(world: SlowClusters) -> None:
    herder = Slow()
    loop = Loop(herder, world)  # type: ignore[arg-type]
    loop.start()
    try:
        for _ in range(50):
            loop.submit(ListOwn())
        assert herder.is_busy.wait(WAIT_S)
        first = [
            Health(),
            DeleteConnector("x"),
            GetSessionKeys(),
            IsMember("http://w:2/"),
            ValidateConfig("x", {}),
            ReloadPlugins(),
        ]
        first += [PreviewChain({}, None, {}), DeadLetters("x", {})]
        for request in first:
            loop.submit(request)
        herder.go_on.set()
        assert herder.all_came.wait(WAIT_S)
        assert herder.asked[1:9] == first
    finally:
        herder.go_on.set()
        loop.stop()


def test_nobody_looks_for_who_no_longer_waits(world: SlowClusters) -> None:
    herder = Slow()
    loop = Loop(herder, world)  # type: ignore[arg-type]
    loop.start()
    try:
        waiting = [loop.submit(GetOwn(str(number))) for number in range(3)]
        assert herder.is_busy.wait(WAIT_S)
        assert waiting[1].cancel()
        herder.go_on.set()
        loop.submit(GetOwn("last"))
        wait_until(lambda: GetOwn("last") in herder.asked)
        assert herder.asked == [GetOwn("0"), GetOwn("2"), GetOwn("last")]
    finally:
        herder.go_on.set()
        loop.stop()


class Scripted:
    """A herder that has so much to ask at once."""

    desk = Desk(Identity("w:1", "http://w:1/", "1", "test", "memory"), Log())

    def __init__(self, *wanted: effects.Effect[Any]) -> None:
        self._wanted = list(wanted)

    def handle(self, event: events.Event, now: int) -> list[effects.Effect[Any]]:
        wanted, self._wanted = self._wanted, []
        return wanted


def test_clusters_that_do_not_answer_keep_no_tasks_from_being_fenced(world: SlowClusters) -> None:
    requests = [effects.GroupOffsets("x", {}, id=number) for number in range(1, 100)]
    loop = Loop(Scripted(*requests, effects.Fence("y", {}, 3, id=100)), world)  # type: ignore[arg-type]
    loop.start()
    try:
        assert world.asked.acquire(timeout=WAIT_S)
        assert world.fenced.wait(WAIT_S)
        assert not world.go_on.is_set()
    finally:
        world.go_on.set()
        loop.stop()


def test_a_connector_s_brokers_that_do_not_answer_keep_nobody_from_another_s_offsets(world: SlowClusters) -> None:
    own = {"consumer.override.bootstrap.servers": "silent:9092"}
    looks = [effects.ShowGroupOffsets(f"x{number}", own, id=number) for number in range(1, 100)]
    loop = Loop(Scripted(*looks, effects.ShowGroupOffsets("y", {}, id=100)), world)  # type: ignore[arg-type]
    loop.start()
    try:
        wait_until(lambda: "y" in world.asked_about)
        assert len(world.asked_about) < 10
        assert not world.go_on.is_set()
    finally:
        world.go_on.set()
        loop.stop()


def test_no_brokers_are_asked_for_who_no_longer_waits(world: SlowClusters) -> None:
    world.go_on.set()
    gone = [effects.ShowGroupOffsets("x", {}, id=number, ticket=number) for number in range(1, 50)]
    loop = Loop(Scripted(*gone, effects.ShowGroupOffsets("x", {}, id=50)), world)  # type: ignore[arg-type]
    loop.start()
    try:
        assert world.asked.acquire(timeout=WAIT_S)
        assert world.asked_about == ["x"]
        assert not world.asked.acquire(timeout=0.1)
    finally:
        loop.stop()
