"""
The SDK of OpenTelemetry as one process uses it: its providers, with exporters that no collector can harm us by.

Made by `switch.py`. A collector that is away, slow or hostile costs telemetry, and nothing else: queues are bounded and their
threads end with the process, an answer is not read further than its head says it is short, no redirect is followed, and who
stops waits for `_CLOSE_S` at most. Read next: `lines.py`, `numbers.py`, `requests.py`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import requests
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased, Sampler, TraceIdRatioBased
from opentelemetry.trace import Tracer
from opentelemetry.util.types import AnyValue

from kconnect import __version__
from kconnect.core.metrics.families import Snapshot
from kconnect.core.settings.opentelemetry import HEADERS, headers
from kconnect.core.settings.worker import WorkerSettings
from kconnect.processes import logs
from kconnect.telemetry import lines
from kconnect.telemetry.batches import BatchTraces
from kconnect.telemetry.requests import RequestTraces
from kconnect.telemetry.starts import StartTraces

log = logging.getLogger(__name__)

SCOPE = "kconnect"
_CLOSE_S = 2.0
_ANSWER = 64 << 10
"""Bytes of an answer that are read, so that the connection can be used again."""


class Telemetry:
    """What a process sends with. A signal that the settings leave out is None."""

    def __init__(self, settings: WorkerSettings, process: str) -> None:
        for part in _secret_parts(settings):
            logs.hide_secrets({HEADERS: part})
        self._settings = settings
        self.process = process
        self.resource = _resource(settings, process)
        self._closers: list[Callable[[], object]] = []
        self._pid = os.getpid()
        signals = settings.opentelemetry_signals
        self.requests: Tracer | None = None
        """The tracer of what requests bring about."""
        self.batches: Tracer | None = None
        """The tracer of batches, of which it takes some."""
        lines.quieten()
        if "traces" in signals:
            processor = BatchSpanProcessor(OTLPSpanExporter(**self._exporter("traces")))
            self.requests = self._tracer(processor, ParentBased(ALWAYS_ON))
            self.batches = self._tracer(processor, TraceIdRatioBased(settings.opentelemetry_traces_sample_ratio))
            self._closers.append(processor.shutdown)
        if "logs" in signals:
            records = BatchLogRecordProcessor(OTLPLogExporter(**self._exporter("logs")))
            logger_provider = LoggerProvider(self.resource, shutdown_on_exit=False)
            logger_provider.add_log_record_processor(records)
            handler = lines.Lines(logger_provider.get_logger(SCOPE, __version__))
            logging.getLogger().addHandler(handler)
            self._closers += [records.shutdown]
            self._handler: logging.Handler | None = handler
        else:
            self._handler = None

    def request_traces(self) -> RequestTraces | None:
        return None if self.requests is None else RequestTraces(self.requests)

    def start_traces(self) -> StartTraces | None:
        return None if self.requests is None else StartTraces(self.requests)

    def batch_traces(self) -> BatchTraces | None:
        settings = self._settings
        return None if self.batches is None else BatchTraces(self.batches, settings.opentelemetry_record_headers)

    def send_metrics(self, read: Callable[[], Snapshot]) -> None:
        """Send what `read` returns at the interval of the settings, if metrics are wanted."""
        if "metrics" not in self._settings.opentelemetry_signals:
            return
        from kconnect.telemetry.numbers import Reader

        try:
            exporter = OTLPMetricExporter(**self._exporter("metrics"))
            reader = Reader(exporter, self._settings.opentelemetry_metrics_interval_ms, self.resource, read)
        except Exception as error:  # noqa: BLE001 - as in `switch.begin`: a worker without telemetry is better than none
            log.warning("This process sends no metrics, as OpenTelemetry's SDK can't be used: %s", error)
            return
        self._closers.append(lambda: reader.shutdown(_CLOSE_S * 1000))

    def close(self) -> None:
        """Send what is left, for a moment. All at once: each may wait for a collector that does not answer."""
        if os.getpid() != self._pid:
            return
        if self._handler is not None:
            logging.getLogger().removeHandler(self._handler)
        end = time.monotonic() + _CLOSE_S
        threads = [threading.Thread(target=close, name="OtelClose", daemon=True) for close in self._closers]
        self._closers = []
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _tracer(self, processor: BatchSpanProcessor, sampler: Sampler) -> Tracer:
        provider = TracerProvider(sampler, self.resource, shutdown_on_exit=False)
        provider.add_span_processor(processor)
        return provider.get_tracer(SCOPE, __version__)

    def _exporter(self, signal: str) -> dict[str, Any]:
        # Named here, so that the SDK does not look for an endpoint in the environment: only the worker file says where to.
        return {
            "endpoint": f"{self._settings.opentelemetry_endpoint.rstrip('/')}/v1/{signal}",
            "headers": headers(self._settings.opentelemetry_headers),
            "session": _Session(),
        }


class _Session(requests.Session):
    """A session that reads no long answer, and logs in with nothing but the headers of the settings."""

    def __init__(self) -> None:
        super().__init__()
        # Else `requests` would put a login of ~/.netrc in the place of the header.
        self.auth = lambda request: request

    def request(self, *args: Any, **kwargs: Any) -> requests.Response:
        response = super().request(*args, **{**kwargs, "stream": True, "allow_redirects": False})
        length = response.headers.get("content-length", "")
        if length.isascii() and length.isdigit() and len(length) < 10 and int(length) <= _ANSWER:
            # The status is known: what becomes of the rest changes nothing.
            with contextlib.suppress(Exception):
                response.raw.read(int(length), decode_content=False)
        response.close()
        return response


def _resource(settings: WorkerSettings, process: str) -> Resource:
    """
    Return what all telemetry of the process says of it. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` may name the service
    otherwise and say more; what the worker itself knows goes before.
    """
    own: dict[str, AnyValue] = {
        "service.namespace": settings.group_id,
        "service.instance.id": f"{settings.worker_id}/{process}",
        "service.version": __version__,
        "process.pid": os.getpid(),
        "kconnect.worker": settings.worker_id,
        "kconnect.process": process,
    }
    sdk = Resource({"telemetry.sdk.language": "python", "telemetry.sdk.name": "opentelemetry", "service.name": "kconnect"})
    return sdk.merge(OTELResourceDetector().detect()).merge(Resource(own))


def _secret_parts(settings: WorkerSettings) -> list[str]:
    """Return what no log may show of the headers: each value, and the token of `Bearer TOKEN`."""
    values = headers(settings.opentelemetry_headers).values()
    return [part for value in values for part in {value, value.rpartition(" ")[2]}]
