"""
Batches of real tasks that are traced, of both languages and both ways of delivery, on a real broker; the host is one in memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opentelemetry.trace import format_trace_id

from kconnect.telemetry.batches import BatchTraces
from tests.jvm.java import JavaPlugins
from tests.rig.java_plugin import write_plugin
from tests.telemetry.doubles import Spans, ids, parent

from .test_opentelemetry import context_of
from .units import MemoryHost, Numbers, Plugins, Shelf, create, end, read_all, sink_of, source_of, until

pytestmark = pytest.mark.integration

PLUGINS = Plugins(Numbers=source_of(Numbers), Shelf=sink_of(Shelf))
WAY = {"source batch": ["poll", "convert", "produce"], "sink batch": ["convert", "put"]}


def host(bootstrap: str, plugins: Any, spans: Spans, **settings: str) -> MemoryHost:
    made = MemoryHost(bootstrap, plugins, **settings)
    made.traces = BatchTraces(spans.tracer, into_records=True)
    return made


def look_at(spans: Spans, root: str) -> None:
    """Every batch went all of its way, in spans of one trace."""
    tops = [span for span in spans.ended() if span.name == root]
    assert tops
    for top in tops:
        below = [span for span in spans.ended() if parent(span) == ids(top)[1]]
        assert [span.name for span in sorted(below, key=lambda span: span.start_time or 0)] == WAY[root]
        assert {ids(span)[0] for span in below} == {ids(top)[0]}
        assert top.status.is_unset


@pytest.mark.long
@pytest.mark.parametrize("exactly_once", ["disabled", "enabled"])
@pytest.mark.parametrize("language", ["Python", "Java"])
def test_sources_and_sinks(bootstrap: str, topic: str, tmp_path: Path, language: str, exactly_once: str) -> None:
    plugins = JavaPlugins(write_plugin(tmp_path)) if language == "Java" else PLUGINS
    spans = Spans()
    create(bootstrap, topic)
    sources = host(bootstrap, plugins, spans, exactly_once_source_support=exactly_once)
    config = {"connector.class": "Numbers", "topic": topic, "number": "0", "batch": "10", "limit": "40"}
    source = sources.unit(config)
    until(lambda: len(read_all(bootstrap, topic)) >= 40)
    end(source)
    assert sources.states == ["RUNNING", "UNASSIGNED"]
    look_at(spans, "source batch")
    messages = read_all(bootstrap, topic)
    contexts = {context_of(message) for message in messages}
    produced = {ids(span) for span in spans.ended() if span.name == "produce"}
    assert contexts == produced
    assert len(contexts) >= 4
    taken = Spans()
    sinks = host(bootstrap, plugins, taken)
    name = "Recording" if language == "Java" else "Shelf"
    sink = sinks.unit({"connector.class": name, "topics": topic, "file": str(tmp_path / "out"), "name": f"sink-{topic}"})

    def put() -> int:
        batches = [span for span in taken.ended() if span.name == "sink batch"]
        return sum(int(str((span.attributes or {})["messaging.batch.message_count"])) for span in batches)

    until(lambda: put() >= 40)
    end(sink)
    look_at(taken, "sink batch")
    linked = {
        format_trace_id(link.context.trace_id) for span in taken.ended() if span.name == "sink batch" for link in span.links
    }
    assert linked == {trace for trace, _ in produced}
