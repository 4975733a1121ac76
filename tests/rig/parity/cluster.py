"""
One of the two clusters that are compared: its worker, its topics, its files, and how a step of the script is sent to it.

What differs between the clusters only by their names is made the same by `normal.py`. Called by `run.py`.
"""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.testing.processes import WorkerProcess
from tests.rig.parity.step import NO_BODY, Step

LINES = ("one", "two", "three")
SETTLE_S = 240.0
"""How long a state is waited for. One that is not reached is compared as it is, which shows the difference."""

_HEADERS = ("Content-Type", "Location", "Allow")


@dataclass(frozen=True)
class Answer:
    """`body` is JSON data where it can be read as such, else its text; None if there is none."""

    status: int
    headers: dict[str, str]
    body: Any
    settled: bool = True


@dataclass
class Cluster:
    """`name` is the prefix of all of its names: group, internal topics, connectors, data topics."""

    name: str
    worker: WorkerProcess
    bootstrap_servers: str
    directory: Path
    answers: list[Answer] = field(default_factory=list)
    seconds: float = 0.0
    """That all requests took, with the waiting."""

    def prepare(self) -> None:
        """Files to read, and a topic for sinks."""
        (self.directory / "lines.txt").write_text("".join(f"{line}\n" for line in LINES), "utf-8")
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        topics = [NewTopic(f"{self.name}-{topic}", 1, 1) for topic in ("in", "lines")]
        for made in admin.create_topics(topics).values():
            made.result()
        producer = Producer({"bootstrap.servers": self.bootstrap_servers})
        for line in LINES:
            producer.produce(f"{self.name}-in", line.encode())
        producer.flush()

    def run(self, steps: list[Step]) -> None:
        began = time.monotonic()
        self.answers = [self.send(step) for step in steps]
        self.seconds = time.monotonic() - began

    def send(self, step: Step) -> Answer:
        end = time.monotonic() + SETTLE_S
        while True:
            answer = self._request(step)
            if not _rebalances(answer) and (step.until is None or step.until(answer.status, answer.body)):
                return answer
            if time.monotonic() >= end:
                return Answer(answer.status, answer.headers, answer.body, settled=False)
            time.sleep(0.05)

    def _request(self, step: Step) -> Answer:
        # Not httpx: it would put paths in order before it sends them.
        connection = http.client.HTTPConnection("127.0.0.1", self.worker.port, timeout=95)
        headers = {name: self._own(value) for name, value in step.headers.items()}
        body: bytes | None = None
        if step.body is not NO_BODY:
            raw = step.body if isinstance(step.body, bytes) else json.dumps(step.body).encode()
            body = self._own(raw.decode("latin-1")).encode("latin-1")
            headers.setdefault("Content-Type", "application/json")
        try:
            connection.request(step.method, self._own(step.path), body, headers)
            response = connection.getresponse()
            return _answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def _own(self, text: str) -> str:
        return text.replace("$N", self.name).replace("$DIR", str(self.directory))


def _rebalances(answer: Answer) -> bool:
    """Connect refuses even reads for a moment, which docs/compatibility.md tells of: it is asked again, as users do."""
    return answer.status in (409, 500) and isinstance(answer.body, dict) and answer.body.get("message") in _NOT_NOW


_NOT_NOW = (
    "Request cannot be completed because a rebalance is expected",
    "Cannot complete request momentarily due to stale configuration (typically caused by a concurrent config change)",
)


def _answer(status: int, headers: http.client.HTTPMessage, content: bytes) -> Answer:
    kept = {name: headers[name] for name in _HEADERS if headers[name] is not None}
    if not content:
        return Answer(status, kept, None)
    try:
        return Answer(status, kept, json.loads(content))
    except ValueError:
        return Answer(status, kept, content.decode("utf-8", "replace"))
