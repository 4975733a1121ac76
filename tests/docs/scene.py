"""
What a reader of pages has before him: an empty home, a cluster where pages say, and what else a page presupposes.

Made by `test_typing.py` for each of `readings.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient

from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.cli import examples
from tests.cli.terminal import Terminal
from tests.docs.pages import Reader
from tests.docs.steps import Step
from tests.support import stop, wait_until

FILE_SOURCE, FILE_SINK = "FileStreamSource", "FileStreamSink"
JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false"}

RESTORED = "restored-"
"""Internal topics of a backup that was brought back begin so."""

_LIMIT_S = 240.0
_TOPICS = ("audit", "dead", "eu-orders", "hosts", "lines", "orders", "orders-dead", "services", "topic")
_ANSWER = "y\n"
PASSWORD = "a long password"
_STATUSES = {
    # Whether something differs.
    "kconnect diff": (0, 2),
    "kconnect apply -f orders.yaml --dry-run": (0, 2),
    # Whether something is wrong, on a cluster of one broker.
    "kconnect topics check": (0, 1),
    "kconnect doctor": (0, 1),
    # A record that can't be read stays in the topic.
    "kconnect preview": (0, 1),
    "kconnect dlq replay": (0, 1),
    # No broker without an authorizer has rights to list.
    "kafka-acls.sh": (0, 1),
}
_UNTIL_CTRL_C = ("kconnect top", "kconnect logs orders -f")


class Scene:
    """
    A reader in an empty home. `address` has, for each address or place that pages show, the one that is meant here.

    Close it at the end: connectors and topics that there are then are deleted.
    """

    def __init__(self, worker: WorkerProcess, bootstrap: str, home: Path) -> None:
        self.worker, self.client, self.bootstrap, self.home = worker, worker.client, bootstrap, home
        home.mkdir()
        self.worker_file = self.file("worker.properties", self.settings_of(worker).read_text("utf-8"))
        # An answer that is no success ends the command, and nothing but answers is shown.
        self.file(".curlrc", "fail-with-body\nsilent\nshow-error\n")
        self._environment = {
            "HOME": str(home),
            "KCONNECT_CONFIG": str(home / "contexts"),
            "KCONNECT_URL": worker.url,
            "EDITOR": "true",
            "PATH": f"{Path(sys.executable).parent}:{home}/bin:{os.environ['PATH']}",
        }
        self.reader = Reader(home, _LIMIT_S, **self._environment)
        host = worker.url.removeprefix("http://").rstrip("/")
        self.addresses = {
            ".venv/bin/kconnect": "kconnect",
            ". .venv/bin/activate\n": "",
            "localhost:8083": host,
            "localhost:9092": bootstrap,
            "connect-cluster": "shared",
            "connect-configs": "shared-configs",
            "/tmp/lines.txt": str(home / "lines.txt"),
            "/opt/plugins": str(home / "plugins"),
            "/etc/kconnect": str(home),
            "/var/log/kconnect": str(home),
            "$C": f"curl -s -H 'Content-Type: application/json' http://{host}",
            "$B": f"--bootstrap-server {bootstrap}",
        }

    @staticmethod
    def settings_of(worker: WorkerProcess) -> Path:
        """Return the path of a worker's file."""
        return worker.directory / f"worker-{worker.port}.properties"

    def type(self, step: Step) -> str:
        """Type a command. AssertionError if its exit status is not what the page leads one to expect."""
        command = step.command
        for shown, meant in self.addresses.items():
            command = command.replace(shown, meant)
        statuses = next((these for begin, these in _STATUSES.items() if command.startswith(begin)), (0,))
        if command in _UNTIL_CTRL_C:
            return self._watch(command)
        if command.startswith("head "):
            # The lines arrive when they do.
            file = Path(command.split()[1])
            self.wait(lambda: file.exists() and file.stat().st_size > 0)
        if "kconnect user " in command or command.startswith("curl -u"):
            return self.reader.run(command, piped=f"{PASSWORD}\n", statuses=statuses)
        return self.reader.run(command, _ANSWER, statuses=statuses)

    def _watch(self, command: str) -> str:
        """Type a command that goes on until Ctrl-C, and end it once it shows something about the connector."""
        (words,) = examples.calls(command)
        terminal = Terminal(*words, env=self._environment)
        terminal.expect("orders")
        terminal.interrupt()
        assert terminal.end() == 130, terminal.shown
        return terminal.shown

    # --- what is there before ---

    def file(self, name: str, text: str = "") -> Path:
        path = self.home / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def create(self, name: str, class_name: str, /, state: str | None = None, **config: str) -> None:
        self.client.create(name, {"connector.class": class_name, **config}, state)

    def write(self, topic: str, *values: Any) -> None:
        producer = ck.Producer({"bootstrap.servers": self.bootstrap})
        for value in values:
            producer.produce(topic, value if isinstance(value, str) else json.dumps(value))
        assert producer.flush(_LIMIT_S) == 0

    def count(self, topic: str) -> int:
        """Return how many records a topic has, of which nothing was deleted."""
        consumer = ck.Consumer({"bootstrap.servers": self.bootstrap, "group.id": "readers"})
        try:
            partitions = consumer.list_topics(timeout=_LIMIT_S).topics.get(topic)
            places = [] if partitions is None else [ck.TopicPartition(topic, number) for number in partitions.partitions]
            return sum(consumer.get_watermark_offsets(place, timeout=_LIMIT_S)[1] for place in places)
        except ck.KafkaException:
            return 0  # While a topic is made, its partitions have no leaders.
        finally:
            consumer.close()

    def stop(self, name: str) -> None:
        stop(self.client, name)

    def wait(self, condition: Callable[[], Any]) -> None:
        wait_until(condition, _LIMIT_S)

    def close(self) -> None:
        for name in self.client.connectors():
            with contextlib.suppress(RestError):
                stop(self.client, name)
                self.client.reset_offsets(name)
            with contextlib.suppress(RestError):
                self.client.delete(name)
        self.client.set_logger("root", "INFO")
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        topics = admin.list_topics(timeout=_LIMIT_S).topics
        known = [topic for topic in topics if topic in _TOPICS or topic.startswith(RESTORED)]
        if known:
            for deleted in admin.delete_topics(known).values():
                deleted.result(_LIMIT_S)
        self.wait(lambda: not set(known) & set(admin.list_topics(timeout=_LIMIT_S).topics))
