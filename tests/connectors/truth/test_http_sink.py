"""
The HTTP sink in random histories, against a service with moods: each record is taken, in its order, or reported; none twice
unless nobody could know that it was taken; and one that the service refuses spoils none of its request.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from typing import Any

from hypothesis import example, given, note
from hypothesis import strategies as st

from kconnect.api import FLOAT64_SCHEMA, STRING_SCHEMA, SinkRecord, Struct, TopicPartition, schema
from kconnect.connectors.http.sink import HttpSinkConnector
from kconnect.testing import SinkRunner
from tests.connectors.truth.budget import histories
from tests.connectors.truth.engine import Engine, Step
from tests.connectors.truth.moody_service import AUTHORITY, PASSING, TAKING, MoodyService
from tests.connectors.truth.outages import link_to, mend
from tests.rig.systems.proxy import Link, Proxy

RETRIES = 25
ROW = schema.struct({"n": STRING_SCHEMA, "p": STRING_SCHEMA, "f": FLOAT64_SCHEMA})
KINDS = ("row", "row", "map", "refused", "infinite", "tombstone", "half a pair", "dots", "accent")
DOTS = ("..", ".", "%2e%2e", "..;a", "\uff0e\uff0e", " .. ", "%252E%252E", "a/../..", "")
"""What a record may name that some server takes for another folder."""
moods = st.lists(st.sampled_from((*TAKING, *PASSING, "elsewhere")), max_size=12)
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        st.tuples(st.just("produce"), st.integers(0, 2), st.lists(st.sampled_from(KINDS), min_size=1, max_size=15)),
        st.tuples(st.just("moods"), moods),
        st.tuples(st.just("burst"), st.integers(20, 60)),
        st.tuples(st.just("outage"), st.integers(0, 1), st.integers(1, 60)),
        st.tuples(st.just("put"), st.integers(0, 1), st.sampled_from((1, 5, 500))),
        st.tuples(st.sampled_from(("commit", "go_back", "kill", "restart")), st.integers(0, 1)),
        st.tuples(st.just("move"), st.integers(0, 2), st.integers(0, 1)),
    ),
    min_size=3,
    max_size=20,
)


class Play:
    """With a `link`, the tasks reach the service over it. A task that is `hurried` has little time for a put."""

    def __init__(self, service: MoodyService, size: int, templated: bool, hurried: bool, link: Proxy | None) -> None:
        self.size, self.templated, self.hurried, self.link = size, templated, hurried, link
        self.service = service
        self.url = service.url if link is None else f"http://127.0.0.1:{link.port}"
        self.trouble = 0
        """How many tries, at most, the service is away or broken."""
        self.service.takes = lambda body: b"refused" not in body
        self.engine = Engine(self._start, [TopicPartition("t", number) for number in range(3)], tasks=2)
        # Each put that gives way has sent something, or counts for the task's own patience.
        self.engine.tries = 1000
        self._serial = itertools.count()

    def _start(self, number: int) -> SinkRunner:
        config = {
            "name": "h",
            "topics": "t",
            "tasks.max": "2",
            "http.api.url": f"{self.url}/x" + ("/${p}" if self.templated else ""),
            "headers": "X-P:${p}" if self.templated else "",
            "batch.max.size": str(self.size),
            "errors.tolerance": "all",
            "retry.backoff.ms": "0",
            "max.retries": str(RETRIES),
            **({"consumer.override.max.poll.interval.ms": "60"} if self.hurried else {}),
            "behavior.on.null.values": "fail",
            "ssl.ca.location": AUTHORITY,
        }
        return SinkRunner(HttpSinkConnector, config, number)

    def _make(self, kind: str) -> Callable[[TopicPartition, int], SinkRecord]:
        def make(place: TopicPartition, offset: int) -> SinkRecord:
            name = f"{place.partition}-{offset}"
            value: Any = {
                "map": {"n": name, "p": "a", "f": None},
                "refused": {"n": name, "p": "b", "f": "refused"},
                "infinite": Struct(ROW, {"n": name, "p": "a", "f": math.nan}),
                "tombstone": None,
                "half a pair": {"n": name, "p": "a", "f": "\ud800"},
                "dots": {"n": name, "p": DOTS[offset % len(DOTS)], "f": 1},
                "accent": {"n": name, "p": "Zo\u00eb", "f": 1},
            }.get(kind, Struct(ROW, {"n": name, "p": "a", "f": 0.5}))
            return SinkRecord("t", place.partition, None, None, ROW if isinstance(value, Struct) else None, value, offset)

        return make

    def play(self, step: Step) -> None:
        name, *arguments = step
        engine = self.engine
        if name == "produce":
            for kind in arguments[1]:
                engine.produce(self._make(kind), engine.places[arguments[0]])
        elif name == "moods":
            self.service.moods.extend(arguments[0])
        elif name == "burst":
            self.service.moods.extend(["broken"] * arguments[0])
            self.trouble += arguments[0]
        elif name == "outage":
            self._outage(*arguments)
        elif name == "move":
            engine.move(engine.places[arguments[0]], arguments[1])
        else:
            getattr(engine, name)(*arguments)

    def _outage(self, number: int, tries: int) -> None:
        """The service can't be reached by so many tries of a put, or until the task gives it up."""
        if self.link is None:
            return
        link = self.link
        link.set(Link.CUT)
        self.engine.put_through(number, tries, lambda: mend(link))
        self.trouble += tries

    def check(self) -> None:
        engine = self.engine
        engine.finish()
        assert self.trouble + len(PASSING) > RETRIES or not engine.failures, engine.failures[0]
        taken: dict[str, list[Any]] = {}
        order: dict[str, list[int]] = {}
        for body in self.service.taken:
            document = json.loads(body)
            for value in document if self.size > 1 else [document]:
                partition, _, offset = value["n"].partition("-")
                if value["n"] not in taken:
                    order.setdefault(partition, []).append(int(offset))
                taken.setdefault(value["n"], []).append(value["f"])
        # Requests that met a mood in which nobody says whether they were taken, or one that is none of theirs.
        unsure = [body for mood, _, body in self.service.asked if mood in ("gone after", "half an answer")]
        elsewhere = [body for mood, _, body in self.service.asked if mood == "elsewhere"]
        for record in engine.records():
            name = f"{record.original_partition}-{record.original_offset}"
            place = TopicPartition("t", record.original_partition), record.original_offset
            there = taken.pop(name, [])
            if self._is_bad(record.value):
                assert engine.is_reported(record), f"{name} is bad, and not reported"
                assert not there, f"{name} is bad, and sent"
                continue
            mark = f'"{name}"'.encode()
            if engine.is_reported(record):
                assert any(mark in body for body in elsewhere), f"{name} is reported: {engine.reported[place]}"
            else:
                assert there, f"{name} is lost"
            if place not in engine.again:
                most = 1 + sum(mark in body for body in unsure)
                assert len(there) <= most, f"{name} was sent {len(there)} times"
            expected = record.value["f"]
            assert all(value == expected for value in there), f"{name} is {there}, but was {expected}"
        assert not taken, f"nobody has sent {taken}"
        paths = {path for _, path, _ in self.service.asked}
        assert paths <= {"/x", "/x/a", "/x/b"}, f"{paths} were asked"
        for partition, offsets in order.items():
            if not elsewhere:
                assert offsets == sorted(offsets), f"partition {partition} came as {offsets}"

    def _is_bad(self, value: Any) -> bool:
        if value is None:
            return True
        # A part of the path, and of a header.
        if self.templated and value["p"] in (*DOTS, "Zo\u00eb"):
            return True
        return value["f"] in ("refused", "\ud800") or (isinstance(value["f"], float) and math.isnan(value["f"]))


@histories(20)
@given(size=st.sampled_from((1, 3)), templated=st.booleans(), hurried=st.booleans(), history=steps)
@example(size=3, templated=False, hurried=True, history=[("produce", 0, ["row", "refused", "row"] * 4), ("outage", 0, 30)])
@example(size=1, templated=True, hurried=False, history=[("produce", 0, ["dots", "row", "accent"] * 6)])
@example(
    size=3,
    templated=False,
    hurried=False,
    history=[("produce", 0, ["row"] * 4), ("moods", ["gone after", "busy"]), ("put", 0, 500), ("kill", 0)],
)
def test_each_record_is_taken_or_reported(size: int, templated: bool, hurried: bool, history: list[Step]) -> None:
    note(f"size={size!r}, templated={templated!r}, hurried={hurried!r}, history={history!r}")
    service = MoodyService()
    try:
        with link_to(service.port, history) as link:
            play = Play(service, size, templated, hurried, link)
            try:
                for step in history:
                    play.play(step)
                play.check()
            finally:
                play.engine.close()
    finally:
        service.end()
