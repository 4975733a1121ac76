"""
The OpenSearch sink in random histories on OpenSearch: kinds of records, deletions, tasks that are killed or given up for dead.
The index has of each key what its last good record says, and bad records are reported.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from kconnect.api import FLOAT64_SCHEMA, INT64_SCHEMA, STRING_SCHEMA, SinkRecord, Struct, TopicPartition, schema
from kconnect.connectors.search.connector import OpenSearchSinkConnector
from kconnect.testing import SinkRunner
from tests.connectors.truth.budget import histories
from tests.connectors.truth.engine import Engine, Step
from tests.connectors.truth.outages import link_to, mend
from tests.rig.systems.opensearch import OpenSearch
from tests.rig.systems.proxy import Link, Proxy

pytestmark = pytest.mark.long

KEYS = 4
ROW = schema.struct({"n": INT64_SCHEMA, "f": FLOAT64_SCHEMA, "s": STRING_SCHEMA})
KINDS = ("row", "row", "map", "tombstone", "text", "infinite", "another type", "keyless")
BAD = ("text", "infinite", "another type", "keyless")
MODES = ("keys", "places", "updates")
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        st.tuples(st.just("produce"), st.integers(0, 2), st.lists(st.sampled_from(KINDS), min_size=1, max_size=20)),
        st.tuples(st.just("put"), st.integers(0, 1), st.sampled_from((1, 5, 500))),
        st.tuples(st.sampled_from(("commit", "go_back", "kill", "restart", "abandon")), st.integers(0, 1)),
        st.tuples(st.just("move"), st.integers(0, 2), st.integers(0, 1)),
        st.tuples(st.just("outage"), st.integers(0, 1), st.integers(1, 4)),
        st.tuples(st.sampled_from(("stir",))),
    ),
    min_size=3,
    max_size=20,
)
_numbers = itertools.count(1)


class Play:
    def __init__(self, server: OpenSearch, mode: str, link: Proxy | None = None) -> None:
        self.server, self.mode, self.link = server, mode, link
        self.url = server.url if link is None else f"http://127.0.0.1:{link.port}"
        self.topic = f"truth{next(_numbers)}"
        self.engine = Engine(self._start, [TopicPartition(self.topic, number) for number in range(3)], tasks=2)
        self._serial = itertools.count()
        # The index has its mapping from the first record, whatever comes next.
        self.engine.produce(self._make("row"), self.engine.places[0])
        self.engine.put(0)

    def _start(self, number: int) -> SinkRunner:
        config = {
            "name": f"c-{self.topic}",
            "topics": self.topic,
            "tasks.max": "2",
            "connection.url": self.url,
            "retry.backoff.ms": "1",
            "errors.tolerance": "all",
            "batch.size": "7",
            "behavior.on.null.values": "fail" if self.mode == "places" else "delete",
            "behavior.on.malformed.documents": "fail",
            "key.ignore": str(self.mode == "places").lower(),
            "write.method": "upsert" if self.mode == "updates" else "insert",
        }
        return SinkRunner(OpenSearchSinkConnector, config, number)

    def _make(self, kind: str) -> Callable[[TopicPartition, int], SinkRecord]:
        serial = next(self._serial)

        def make(place: TopicPartition, offset: int) -> SinkRecord:
            key = None if kind == "keyless" else f"{place.partition}-{serial % KEYS}"
            value: Any = {
                "row": Struct(ROW, {"n": serial, "f": 0.5, "s": f"s{serial}"}),
                "map": {"n": serial, "s": f"s{serial}"},
                "tombstone": None,
                "text": "text",
                "infinite": Struct(ROW, {"n": serial, "f": math.nan, "s": "s"}),
                "another type": {"n": "no number", "s": "s"},
                "keyless": {"n": serial},
            }[kind]
            own = value.schema if isinstance(value, Struct) else None
            return SinkRecord(self.topic, place.partition, None, key, own, value, offset, timestamp=1)

        return make

    def play(self, step: Step) -> None:
        name, *arguments = step
        if name == "produce":
            for kind in arguments[1]:
                self.engine.produce(self._make(kind), self.engine.places[arguments[0]])
        elif name == "move":
            self.engine.move(self.engine.places[arguments[0]], arguments[1])
        elif name in ("abandon", "stir") and self.mode == "updates":
            return  # Updates have no versions.
        elif name == "outage":
            if (link := self.link) is not None:
                link.set(Link.CUT)
                self.engine.put_through(arguments[0], arguments[1], lambda: mend(link))
        else:
            getattr(self.engine, name)(*arguments)

    def check(self) -> None:
        engine = self.engine
        engine.finish()
        assert not engine.failures, engine.failures[0]
        wanted: dict[str, dict[str, Any]] = {}
        for record in engine.records():
            place = TopicPartition(self.topic, record.original_partition), record.original_offset
            if self._is_bad(record):
                assert engine.is_reported(record), f"{place} is bad, and not reported"
                continue
            assert not engine.is_reported(record), f"{place} is reported: {engine.reported[place]}"
            id = f"{self.topic}+{record.original_partition}+{record.original_offset}" if self.mode == "places" else record.key
            if record.value is None:
                wanted.pop(id, None)
            else:
                value = record.value
                plain = dict(zip([f.name for f in value.schema.fields], value.values)) if isinstance(value, Struct) else value
                wanted[id] = {**wanted.get(id, {}), **plain} if self.mode == "updates" else plain
        assert self.server.documents(self.topic) == wanted

    def _is_bad(self, record: SinkRecord) -> bool:
        value = record.value
        if value is None:
            return self.mode == "places"
        if isinstance(value, str) or (record.key is None and self.mode != "places"):
            return True
        return value["n"] == "no number" or (isinstance(value, Struct) and math.isnan(value["f"]))


@histories(25)
@given(mode=st.sampled_from(MODES), history=steps)
def test_the_index_has_what_the_records_say(opensearch: OpenSearch, mode: str, history: list[Step]) -> None:
    note(f"mode={mode!r}, history={history!r}")
    with link_to(int(opensearch.url.rpartition(":")[2]), history) as link:
        play = Play(opensearch, mode, link)
        try:
            for step in history:
                play.play(step)
            play.check()
        finally:
            play.engine.close()
