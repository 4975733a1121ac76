"""
What all workers of a cluster count, asked of their `/metrics`: for `kconnect top` and `kconnect describe`.

Kafka Connect's own workers have no such resource: theirs are in JMX, which needs an exporter, so nothing is asked of them.
docs/metrics.md says what the numbers mean.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kconnect.cli import selection
from kconnect.errors import BadRequestError

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient

_PREFIX = "kafka_connect_"
_TASK = {
    "source_task_source_record_poll_rate": "in_per_s",
    "source_task_source_record_write_rate": "out_per_s",
    "sink_task_sink_record_read_rate": "in_per_s",
    "sink_task_sink_record_send_rate": "out_per_s",
    "source_task_source_record_poll_total": "in_total",
    "source_task_source_record_write_total": "out_total",
    "sink_task_sink_record_read_total": "in_total",
    "sink_task_sink_record_send_total": "out_total",
    "sink_task_sink_record_lag": "lag",
    "task_error_total_record_errors_total": "errors",
    "task_error_total_records_skipped_total": "skipped",
    "task_error_deadletterqueue_produce_requests_total": "dead_letters",
    "connector_task_last_progress_timestamp_seconds": "progress_at",
    "connector_task_cpu_seconds_total": "cpu_seconds",
    "connector_task_value_bytes_total": "bytes",
}
_HOST = {"task_host_memory_bytes": "memory_bytes", "task_host_cpu_seconds_total": "cpu_seconds"}
_SHOWN = {_PREFIX + name: key for name, key in {**_TASK, **_HOST}.items()}

NO_METRICS = (
    "The worker at {url} has no /metrics and no /cluster: it is not a kconnect worker. Kafka Connect has its metrics in JMX; "
    "`kconnect get connectors` shows what it reports over REST."
)


@dataclass(frozen=True)
class Scrape:
    """
    A scrape of the metrics. `tasks` by connector and task, of the numbers in `_TASK`'s values; a number that is not known is
    not there.

    Rates are means of the last 30 to 60 seconds, and totals begin at 0 with each start of a task.
    """

    at: float
    """Of a steady clock."""
    wall: float
    """Seconds since 1970."""
    cluster: Mapping[str, Any]
    tasks: Mapping[tuple[str, int], Mapping[str, float]]
    hosts: Mapping[str, Mapping[int, Mapping[str, float]]]
    silent: Mapping[str, str] = field(default_factory=dict)
    """Workers that did not answer, and why: their tasks have no numbers here."""


def scrape(client: ConnectClient) -> Scrape:
    """Ask all workers, up to eight at once. BadRequestError if the cluster is not kconnect's."""
    from kconnect.rest.client import RestError

    try:
        cluster = client.cluster()
    except RestError as error:
        if error.status in (404, 405):
            raise BadRequestError(NO_METRICS.format(url=client.url)) from error
        raise
    urls = {worker["worker_id"]: worker["url"] for worker in cluster["workers"] if worker["url"] is not None}
    tasks: dict[tuple[str, int], dict[str, float]] = {}
    hosts: dict[str, dict[int, dict[str, float]]] = {}
    silent: dict[str, str] = {}

    def ask(worker: str) -> str | None:
        try:
            # The one that was asked is reached as the user has it, whatever it advertises.
            return client.metrics(None if worker == cluster["answered_by"] else urls[worker])
        except RestError as error:
            silent[worker] = error.message
            return None

    answers = selection.of_each(urls, ask)
    for worker in urls:
        for key, labels, value in samples(answers[worker] or ""):
            if "host" in labels:
                hosts.setdefault(worker, {}).setdefault(int(labels["host"]), {})[key] = value
            else:
                tasks.setdefault((labels["connector"], int(labels["task"])), {})[key] = value
    return Scrape(time.monotonic(), time.time(), cluster, tasks, hosts, silent)


def samples(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """Yield the samples that are wanted here, without those that are not known."""
    from prometheus_client.parser import text_string_to_metric_families

    # Most lines are of other metrics, and reading one takes the parser a while.
    relevant = "".join(f"{line}\n" for line in text.split("\n") if line.partition("{")[0] in _SHOWN)
    for family in text_string_to_metric_families(relevant):
        for sample in family.samples:
            if sample.value == sample.value:
                yield _SHOWN[sample.name], sample.labels, sample.value
