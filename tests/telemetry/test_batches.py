"""The spans of batches, around pumps that are real; the links and headers of records."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.sampling import TraceIdRatioBased

from kconnect.core.state.records import UnitId
from kconnect.core.task.chain import Outgoing
from kconnect.core.task.converted import Converted
from kconnect.telemetry.batches import BatchTraces, TaskTraces
from tests.telemetry.doubles import Spans, ids, parent

ONE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTHER = "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"
UNIT = UnitId("orders", 3)


def traces(spans: Spans, into_records: bool = False) -> TaskTraces:
    return BatchTraces(spans.tracer, into_records).of_task(UNIT)


def message(value: bytes, headers: list[tuple[str, bytes | None]] | None = None) -> Outgoing:
    return ("t", value, None, -1, None, None, 0, headers)


def polled(of: TaskTraces, parts: Sequence[Sequence[Outgoing]], failure: Exception | None = None) -> list[Outgoing]:
    """Have a batch of these parts go through, as a pump has it, and return what would be sent."""
    sent: list[Outgoing] = []
    convert = of.converting(lambda messages: Converted(messages, {"t"}, ()))

    def step(records: Any, now: float) -> None:
        for part in parts:
            sent.extend(convert(part).messages)
        if failure is not None:
            raise failure

    records = of.polling(lambda: [message for part in parts for message in part])()
    of.of_source(step)(records, 0.0)
    return sent


def tree(spans: Spans, root: str) -> tuple[ReadableSpan, list[str]]:
    """The root, and the names below it, in the order of their beginnings."""
    top = spans.one(root)
    below = [span for span in spans.ended() if parent(span) == ids(top)[1]]
    assert {ids(span)[0] for span in spans.ended()} == {ids(top)[0]}
    return top, [span.name for span in sorted(below, key=lambda span: (span.start_time or 0, span.end_time or 0))]


def test_a_source_polls_converts_and_produces() -> None:
    spans = Spans()
    plain = [message(b"canary-1"), message(b"canary-2")]
    assert polled(traces(spans), [plain]) == plain
    top, names = tree(spans, "source batch")
    assert names == ["poll", "convert", "produce"]
    assert dict(top.attributes or {}) == {
        **{"kconnect.connector": "orders", "kconnect.task": 3, "messaging.batch.message_count": 2},
    }
    assert (spans.one("produce").attributes or {})["messaging.batch.message_count"] == 2
    assert "canary" not in "".join(span.to_json() for span in spans.ended())


def test_parts_of_a_batch_are_converted_and_produced_in_turn() -> None:
    spans = Spans()
    polled(traces(spans), [[message(b"1")], [message(b"2")]])
    assert tree(spans, "source batch")[1] == ["poll", "convert", "produce", "convert", "produce"]


def test_a_failure_is_shown_by_its_class() -> None:
    spans = Spans()
    with pytest.raises(ValueError, match="canary"):
        polled(traces(spans), [[message(b"1")]], ValueError("canary-1"))
    for name in ("source batch", "produce"):
        assert (spans.one(name).attributes or {})["error.type"] == "ValueError"
    assert "canary" not in "".join(span.to_json() for span in spans.ended())
    assert not trace.get_current_span().get_span_context().is_valid


def test_a_poll_that_gives_nothing_is_none() -> None:
    spans = Spans()
    polled(traces(spans), [])
    assert spans.ended() == []


def test_a_batch_that_is_not_taken_has_no_span_and_no_headers() -> None:
    spans = Spans(TraceIdRatioBased(0.0))
    plain = [message(b"1")]
    assert polled(traces(spans, into_records=True), [plain])[0] is plain[0]
    assert spans.ended() == []


def test_messages_get_the_context_of_their_produce_unless_they_have_one() -> None:
    spans = Spans()
    had = [("a", b"1"), ("traceparent", ONE.encode())]
    shared: list[tuple[str, bytes | None]] = [("a", b"1")]
    sent = polled(traces(spans, into_records=True), [[message(b"1"), message(b"2", [*had]), message(b"3", shared)]])
    produce = spans.one("produce")
    ours = ("traceparent", f"00-{'-'.join(ids(produce))}-{produce.context.trace_flags:02x}".encode())
    assert [each[7] for each in sent] == [[ours], had, [("a", b"1"), ours]]
    assert shared == [("a", b"1")]
    assert [each[:7] for each in sent] == [message(value)[:7] for value in (b"1", b"2", b"3")]
    assert [format(link.context.trace_id, "032x") for link in spans.one("source batch").links] == [ONE.split("-")[1]]


def consumed(of: TaskTraces, headers: Sequence[Any]) -> list[Any]:
    messages = [SimpleNamespace(headers=lambda pairs=pairs: pairs) for pairs in headers]
    taken: list[Any] = []

    class Intake:
        def __call__(self, messages: Sequence[Any]) -> list[Any]:
            return list(messages)

        def place(self, record: Any) -> str:
            return "here"

    intake = of.taking(Intake())
    assert intake.place(None) == "here"
    of.of_sink(lambda messages, now: taken.extend(intake(messages)))(messages, 0.0)
    return taken


def test_a_sink_converts_and_puts_and_is_linked_with_its_records() -> None:
    spans = Spans()
    headers = [None, [("traceparent", ONE.encode())], [("traceparent", OTHER.encode()), ("x", b"canary-1")]]
    # What whoever may write to the topic may have written there.
    strange: list[Any] = [[("traceparent", None)], [("traceparent", b"\xff" * 55)], [("traceparent", b"0" * 1000)]]
    assert len(consumed(traces(spans), [*headers, *strange, *headers])) == 9
    top, names = tree(spans, "sink batch")
    assert names == ["convert", "put"]
    assert [format(link.context.trace_id, "032x") for link in top.links] == [text.split("-")[1] for text in (ONE, OTHER)]
    assert "canary" not in top.to_json()


def test_links_are_limited() -> None:
    spans = Spans()
    many = [[("traceparent", f"00-{number:032x}-b7ad6b7169203331-01".encode())] for number in range(1, 200)]
    consumed(traces(spans), many)
    assert len(spans.one("sink batch").links) == 32
