"""Connectors move from Apache Kafka Connect to kconnect and back under constant writes; every line is compared."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.cli.killing import Fate, Proxy
from tests.support import wait_until

# Two workers start for it, and a command that was killed is waited for.
pytestmark = pytest.mark.timeout(1200)

_FILE = "org.apache.kafka.connect.file.FileStream"
_TEXT = {f"{part}.converter": "org.apache.kafka.connect.storage.StringConverter" for part in ("key", "value")}


class Feed:
    """Writes numbered lines into a file all the time, each in one piece; a context."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[str] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        with self.path.open("ab", buffering=0) as file:
            while not self._end.wait(0.01):
                line = f"line {len(self.lines)}"
                file.write(f"{line}\n".encode())
                self.lines.append(line)

    def __enter__(self) -> Feed:
        self.path.touch()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join()


class Flow:
    """A source and a sink between two files, and the command that moves both."""

    def __init__(self, old: str, new: str, directory: Path, name: str) -> None:
        self.old, self.new = old, new
        self.feed = Feed(directory / "in.txt")
        self.out = directory / "out.txt"
        self.source, self.sink, self.topic = f"{name}-source", f"{name}-sink", f"{name}-topic"
        self._journal = directory / "journal.json"

    def create(self, worker: WorkerProcess) -> None:
        source = {"connector.class": f"{_FILE}SourceConnector", "file": str(self.feed.path), "topic": self.topic}
        sink = {"connector.class": f"{_FILE}SinkConnector", "file": str(self.out), "topics": self.topic}
        begins = {"consumer.override.auto.offset.reset": "earliest"}
        worker.client.create(self.source, {**source, **_TEXT, "tasks.max": 1})
        worker.client.create(self.sink, {**sink, **_TEXT, **begins, "tasks.max": 1})

    def arrived(self) -> list[str]:
        return self.out.read_text().splitlines() if self.out.exists() else []

    def goes_on(self) -> None:
        """What is written from now on arrives."""
        wanted = len(self.feed.lines) + 20
        wait_until(lambda: len(self.arrived()) >= wanted, 240, f"line {wanted} did not arrive")

    def migrate(self, *arguments: str) -> subprocess.Popen[str]:
        own = ("--from", self.old, "--to", self.new, "--state", str(self._journal), "--yes", self.source, self.sink)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KCONNECT_")}
        return subprocess.Popen(
            [sys.executable, "-m", "kconnect", "migrate", *own, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def migrated(self, *arguments: str) -> None:
        command = self.migrate(*arguments)
        told = command.communicate(timeout=400)[0]
        assert command.returncode == 0, told


@pytest.fixture
def flow(
    broker: Broker, peer: WorkerProcess, worker: WorkerProcess, tmp_path: Path, unique: Callable[[str], str]
) -> Iterator[tuple[Flow, Fate]]:
    fate = Fate()
    with Proxy(peer.url, fate) as old, Proxy(worker.url, fate) as new:
        flow = Flow(old.url, new.url, tmp_path, unique("migrated"))
        # A client that has asked for a topic that is not there goes on saying so for a while: so it is made first.
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        admin.create_topics([NewTopic(flow.topic, 1, 1)])[flow.topic].result(60)
        with flow.feed:
            flow.create(peer)
            # The control: it flows before anything moves.
            flow.goes_on()
            yield flow, fate
        for each in (peer, worker):
            for name in (flow.source, flow.sink):
                if name in each.client.connectors():
                    each.client.delete(name)


@pytest.mark.long
def test_there_and_back_without_a_line_lost_or_repeated(
    flow: tuple[Flow, Fate], peer: WorkerProcess, worker: WorkerProcess
) -> None:
    moving, fate = flow
    # There, ended by SIGKILL: behind the stop, before it is made there, behind its offsets, behind its start, and at the sink.
    for number, answered in ((1, True), (2, False), (3, True), (2, True), (3, False)):
        fate.arm(number, answered)
        command = moving.migrate()
        fate.aim(command.pid)
        told = command.communicate(timeout=400)[0]
        assert command.returncode == -signal.SIGKILL, told
    fate.arm(0, False)
    moving.migrated()
    assert worker.client.status(moving.sink)["connector"]["state"] == "RUNNING"
    assert peer.client.status(moving.sink)["connector"]["state"] == "STOPPED"
    moving.goes_on()
    # And back in one piece.
    moving.migrated("--back")
    assert worker.client.status(moving.source)["connector"]["state"] == "STOPPED"
    moving.goes_on()
    moving.feed.__exit__()
    wait_until(lambda: len(moving.arrived()) >= len(moving.feed.lines), 240, "not every line arrived")
    assert moving.arrived() == moving.feed.lines
