"""Attacks that try to take REST away from others: by long polls, by reads, by requests that take a process each."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest

from kconnect.testing.processes import WorkerProcess
from tests.support import wait_until

pytestmark = pytest.mark.integration

MANY = 4500
LIMIT_S = 25.0
"""Less than a long poll lasts, so that none can have ended by itself."""
PREVIEW = {
    "config": {"connector.class": "FileStreamSink", "topics": "t", "name": "preview"},
    "records": [{"topic": "t", "value": "v"}],
}


@contextmanager
def flood(port: int, connections: int, path: str) -> Iterator[None]:
    """Have another process ask without end; it must have been answered before the end, or it would have attacked nobody."""
    command = [sys.executable, "-m", "tests.attacks.flood", str(port), str(connections), path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "sent\n"
            yield
            answers, _ = process.communicate(timeout=120)
            assert sum(json.loads(answers).values()) > 0
        finally:
            process.kill()


def probe(url: str) -> None:
    """Ask as a liveness probe does, and as an operator; both must be answered while the others' long polls wait."""
    began = time.monotonic()
    assert httpx.get(f"{url}health", timeout=LIMIT_S).status_code == 200
    config = {"connector.class": "FileStreamSource", "topic": "t"}
    answer = httpx.put(f"{url}connectors/no%20such%20file/config", json={**config, "tasks.max": "no"}, timeout=LIMIT_S)
    assert answer.status_code == 400, "the config was looked at"
    assert time.monotonic() - began < LIMIT_S


@pytest.mark.long
@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 2 * MANY, reason="a process may not open enough files")
def test_thousands_of_long_polls_keep_nobody_out(worker: WorkerProcess) -> None:
    """A reader keeps thousands of long polls under way; `/health` and a change must be answered all the same."""
    at = httpx.get(f"{worker.url}kconnect/overview", timeout=60).json()["at"]
    with flood(worker.port, MANY, f"/kconnect/overview?since={at}&wait=30000"):
        for _ in range(3):
            probe(worker.url)


@pytest.mark.long
def test_checks_of_topics_keep_no_preview_out(worker: WorkerProcess) -> None:
    """A reader asks for checks of the internal topics in six loops; every preview of an administrator must be answered."""
    with flood(worker.port, 6, "/kconnect/topics"):
        for _ in range(5):
            answer = httpx.post(f"{worker.url}kconnect/preview", json=PREVIEW, timeout=90)
            assert answer.status_code == 200, answer.text


@pytest.mark.long
def test_dead_letters_keep_no_other_user_s_out(worker: WorkerProcess, unique: Callable[[str], str]) -> None:
    """A user reads dead letters in six loops; another one's dead letters must be read, too, when their turn comes."""
    name = unique("letters")
    worker.client.create(
        name,
        {
            "connector.class": "FileStreamSink",
            "topics": name,
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": f"{name}-dlq",
            "errors.deadletterqueue.topic.replication.factor": "1",
        },
    )
    try:
        path = f"connectors/{name}/dead-letters"
        wait_until(lambda: httpx.get(f"{worker.url}kconnect/{path}", timeout=90).status_code == 200)
        other = httpx.HTTPTransport(local_address="127.0.0.2")
        with flood(worker.port, 6, f"/kconnect/{path}"), httpx.Client(transport=other, timeout=90) as client:
            for _ in range(3):
                answer = client.get(f"{worker.url}kconnect/{path}")
                assert answer.status_code == 200, answer.text
    finally:
        worker.client.delete(name)
