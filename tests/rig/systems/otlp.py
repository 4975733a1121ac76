"""
A receiver of OTLP over HTTP, for tests: a real server that decodes what comes with OpenTelemetry's own classes, and can be made
to behave badly.
"""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_REQUESTS: dict[str, Any] = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
    "/v1/logs": ExportLogsServiceRequest,
}


@dataclass(frozen=True)
class Span:
    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, Any]
    resource: dict[str, Any]
    links: list[tuple[str, str]]
    start: int
    end: int
    status: int


@dataclass(frozen=True)
class Line:
    text: str
    severity: str
    trace: str
    span: str
    attributes: dict[str, Any]
    resource: dict[str, Any]


@dataclass
class Received:
    spans: list[Span] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    metrics: dict[str, dict[frozenset[tuple[str, Any]], float]] = field(default_factory=dict)
    """The last of each name, by attributes."""
    kinds: dict[str, str] = field(default_factory=dict)
    """`sum` or `gauge`, by name."""
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)


class Receiver:
    """
    A server on a free port. `behaviour`: `good`, `error` (500), `endless` (500 with a body without an end), `hang`, or a URL to
    redirect to.
    """

    def __init__(self, behaviour: str = "good") -> None:
        self.behaviour = behaviour
        self.received = Received()
        self.asked = 0
        self.sent = 0
        """Bytes of endless bodies."""
        self.closing = threading.Event()
        self._lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                receiver._answer(self)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Receiver:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, http: BaseHTTPRequestHandler) -> None:
        body = http.rfile.read(int(http.headers["content-length"]))
        with self._lock:
            self.asked += 1
        if self.behaviour == "hang":
            self.closing.wait()
            return
        if self.behaviour == "endless":
            http.send_response(500)
            http.end_headers()
            end = time.monotonic() + 60
            try:
                while not self.closing.is_set() and time.monotonic() < end:
                    self.sent += http.wfile.write(b"x" * 65536)
            except OSError:
                pass
            http.close_connection = True
            return
        if self.behaviour == "good":
            if http.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            with self._lock:
                self._take(http.path, dict(http.headers), body)
        if self.behaviour.startswith("http"):
            http.send_response(307)
            http.send_header("location", f"{self.behaviour}{http.path}")
        else:
            http.send_response(200 if self.behaviour == "good" else 500)
        http.send_header("content-type", "application/x-protobuf")
        http.send_header("content-length", "0")
        http.end_headers()

    def _take(self, path: str, headers: dict[str, str], body: bytes) -> None:
        received, request = self.received, _REQUESTS[path].FromString(body)
        received.headers.append({name.lower(): value for name, value in headers.items()})
        received.bodies.append(body)
        if path == "/v1/traces":
            received.spans += _spans(request)
        elif path == "/v1/logs":
            received.lines += _lines(request)
        else:
            for name, kind, points in _metrics(request):
                received.metrics[name], received.kinds[name] = points, kind


def _spans(request: Any) -> Iterator[Span]:
    for resource in request.resource_spans:
        about = _attributes(resource.resource.attributes)
        for scope in resource.scope_spans:
            for span in scope.spans:
                links = [(link.trace_id.hex(), link.span_id.hex()) for link in span.links]
                ids = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
                times = span.start_time_unix_nano, span.end_time_unix_nano
                yield Span(span.name, *ids, _attributes(span.attributes), about, links, *times, span.status.code)


def _lines(request: Any) -> Iterator[Line]:
    for resource in request.resource_logs:
        about = _attributes(resource.resource.attributes)
        for scope in resource.scope_logs:
            for line in scope.log_records:
                ids = line.trace_id.hex(), line.span_id.hex()
                yield Line(line.body.string_value, line.severity_text, *ids, _attributes(line.attributes), about)


def _metrics(request: Any) -> Iterator[tuple[str, str, dict[frozenset[tuple[str, Any]], float]]]:
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                points = getattr(metric, kind).data_points
                yield (
                    metric.name,
                    kind,
                    {
                        frozenset(_attributes(point.attributes).items()): getattr(point, point.WhichOneof("value"))
                        for point in points
                    },
                )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return None if kind is None else getattr(value, kind)
