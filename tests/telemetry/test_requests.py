"""A request's spans: around REST, and through a herder that is real, to the records that it has written and the start."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx
import pytest
from opentelemetry import trace

from kconnect.core.herder import effects
from kconnect.core.state.records import Entry, LogRecord, TargetState, Topic, UnitId
from kconnect.errors import BadRequestError
from kconnect.rest.app import RestSettings, build
from kconnect.rest.forward import Forwarder
from kconnect.rest.notes import noted
from kconnect.rest.server import Server
from kconnect.telemetry import contexts
from kconnect.telemetry.requests import RequestTraces
from kconnect.telemetry.starts import StartTraces
from tests.rest.conftest import FILE_SOURCE
from tests.rest.herder import MemoryHerder
from tests.rest.test_forward import Follower
from tests.support import wait_until
from tests.telemetry.doubles import Spans, ids, parent

CALLERS = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def asked(
    traces: RequestTraces, method: str = "PUT", headers: dict[str, str] | None = None, status: int = 200, **notes: Any
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        noted(scope).update(notes)
        traces.asked(7)
        await send({"type": "http.response.start", "status": status, "headers": []})

    async def nothing(*_: Any) -> Any:
        return {}

    pairs = [(name.encode(), text.encode()) for name, text in (headers or {}).items()]
    scope = {"type": "http", "method": method, "scheme": "http", "headers": pairs}

    async def call() -> None:
        await traces.around(app, noted)(scope, nothing, nothing)

    asyncio.run(call())


def test_a_change_is_a_span_with_its_route_and_connector() -> None:
    spans = Spans()
    asked(RequestTraces(spans.tracer), route="/connectors/{connector}/config", connector="orders")
    span = spans.one("PUT /connectors/{connector}/config")
    assert dict(span.attributes or {}) == {
        **{"http.request.method": "PUT", "url.scheme": "http", "http.route": "/connectors/{connector}/config"},
        **{"kconnect.connector": "orders", "http.response.status_code": 200},
    }
    assert parent(span) is None


def test_who_only_looks_is_not_traced_unless_he_traces_himself() -> None:
    spans = Spans()
    traces = RequestTraces(spans.tracer)
    asked(traces, "GET", route="/connectors")
    asked(traces, "GET", {"traceparent": "00-nonsense"}, route="/connectors")
    assert spans.ended() == []
    asked(traces, "GET", {"traceparent": CALLERS}, route="/connectors")
    span = spans.one("GET /connectors")
    assert (ids(span)[0], parent(span)) == tuple(CALLERS.split("-")[1:3])


def test_a_caller_that_does_not_record_has_nothing_recorded() -> None:
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased

    spans = Spans(ParentBased(ALWAYS_ON))
    asked(RequestTraces(spans.tracer), headers={"traceparent": CALLERS[:-1] + "0"}, route="/connectors")
    assert spans.ended() == []


@pytest.mark.parametrize("status", [401, 403])
def test_strangers_who_are_refused_have_nothing_recorded(status: int) -> None:
    spans = Spans()
    asked(RequestTraces(spans.tracer), headers={"traceparent": CALLERS}, status=status, route="/connectors", needs_login=True)
    assert spans.ended() == []
    asked(RequestTraces(spans.tracer), status=403, route="/connectors", user="ann")
    assert len(spans.ended()) == 1


def test_what_a_request_writes_carries_the_context_of_its_write() -> None:
    spans = Spans()
    traces = RequestTraces(spans.tracer)
    asked(traces, route="/connectors")
    entries = (Entry(Topic.CONFIG, b"connector-orders", b"{}"), Entry(Topic.ASSIGNMENT, b"x", b"{}"))
    of_nobody = effects.Write(entries, id=1, ticket=8)
    assert traces.begun(of_nobody) is of_nobody
    written = traces.begun(effects.Write(entries, True, id=2, ticket=7))
    traces.ended(2, None)
    span = spans.one("write")
    flags = format(span.context.trace_flags, "02x")
    assert [entry.trace for entry in written.entries] == [f"00-{'-'.join(ids(span))}-{flags}".encode(), None]
    assert [entry[:3] for entry in written.entries] == [entry[:3] for entry in entries]
    assert parent(span) == ids(spans.one("PUT /connectors"))[1]
    traces.begun(effects.DescribePlugin("X", id=3, ticket=7))
    traces.ended(3, BadRequestError("canary-1"))
    failed = spans.one("describe plugin")
    assert (failed.attributes or {})["error.type"] == "BadRequestError"
    assert "canary" not in failed.to_json()
    traces.settled(7)
    late = effects.Write(entries, id=4, ticket=7)
    assert traces.begun(late) is late


def test_a_request_that_is_sent_on_is_one_trace_of_both_workers() -> None:
    spans = Spans()
    traces = RequestTraces(spans.tracer)
    servers: list[Server] = []

    def served(herder: MemoryHerder) -> str:
        app = build(herder, RestSettings("http://127.0.0.1:0/"), None, Forwarder(trace=traces.context))
        servers.append(Server(traces.around(app, noted), ["http://127.0.0.1:0"]))
        servers[-1].start()
        return f"http://127.0.0.1:{servers[-1].port}/"

    try:
        leader = served(MemoryHerder())
        follower = served(Follower(leader))
        answer = httpx.put(
            f"{follower}connectors/orders/config", json=FILE_SOURCE, headers={"traceparent": CALLERS}, timeout=60
        )
        assert answer.status_code == 201
        wait_until(lambda: len(spans.ended()) == 2)
    finally:
        for server in servers:
            server.stop()
    [first] = [span for span in spans.ended() if parent(span) == CALLERS.split("-")[2]]
    [second] = [span for span in spans.ended() if span is not first]
    assert {span.name for span in (first, second)} == {"PUT /connectors/{connector}/config"}
    assert parent(second) == ids(first)[1]
    assert (first.attributes or {})["kconnect.forwarded_to"] == leader


def record(key: str, context: str | None, at_ms: float | None = None, value: bytes | None = b"{}") -> LogRecord:
    at = time.time() * 1000 if at_ms is None else at_ms
    return LogRecord(Topic.CONFIG, 0, 0, key.encode(), value, int(at), None if context is None else context.encode())


def test_a_start_belongs_to_the_request_that_has_caused_it() -> None:
    spans = Spans()
    traces = StartTraces(spans.tracer)
    traces.read(record("connector-orders", CALLERS))
    traces.read(record("connector-other", None))
    start = traces.begin(UnitId("orders", 2))
    start.enter()
    inside = contexts.span_context(trace.set_span_in_context(trace.get_current_span()))
    start.end(True)
    span = spans.one("start task")
    assert (ids(span)[0], parent(span)) == tuple(CALLERS.split("-")[1:3])
    assert dict(span.attributes or {}) == {"kconnect.connector": "orders", "kconnect.task": 2}
    assert inside == span.context
    assert not trace.get_current_span().get_span_context().is_valid
    traces.begin(UnitId("other")).end(False)
    assert parent(spans.one("start connector")) is None


def test_a_pause_and_a_resume_belong_to_their_requests_unless_these_are_old() -> None:
    spans = Spans()
    traces = StartTraces(spans.tracer)
    traces.set_target(UnitId("orders", 2), TargetState.PAUSED)
    traces.read(record("target-state-orders", CALLERS, time.time() * 1000 - 3_600_000))
    traces.set_target(UnitId("orders", 2), TargetState.PAUSED)
    assert spans.ended() == []
    traces.read(record("target-state-orders", CALLERS))
    traces.set_target(UnitId("orders", 2), TargetState.PAUSED)
    span = spans.one("set target state")
    assert (ids(span)[0], parent(span)) == tuple(CALLERS.split("-")[1:3])
    assert (span.attributes or {})["kconnect.target_state"] == "PAUSED"


def test_an_old_request_is_linked_only() -> None:
    spans = Spans()
    traces = StartTraces(spans.tracer)
    traces.read(record("target-state-orders", CALLERS, time.time() * 1000 - 3_600_000))
    traces.begin(UnitId("orders", 0)).end(None)
    span = spans.one("start task")
    assert parent(span) is None
    assert [format(link.context.trace_id, "032x") for link in span.links] == [CALLERS.split("-")[1]]


@pytest.mark.parametrize("header", ["", "x", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "00-zz", "\xff" * 55])
def test_what_is_no_context_is_none(header: str) -> None:
    spans = Spans()
    traces = StartTraces(spans.tracer)
    traces.read(record("connector-orders", header))
    traces.begin(UnitId("orders", 0)).end(True)
    assert (parent(spans.one("start task")), spans.one("start task").links) == (None, ())


def test_a_connector_that_is_changed_without_a_trace_or_deleted_is_no_longer_that_requests() -> None:
    spans = Spans()
    traces = StartTraces(spans.tracer)
    for later in (record("connector-orders", None), record("connector-orders", None, value=None)):
        traces.read(record("connector-orders", CALLERS))
        traces.read(later)
        traces.begin(UnitId("orders", 0)).end(True)
    assert [parent(span) for span in spans.ended()] == [None, None]
