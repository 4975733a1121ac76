"""
A real Kafka broker and a real worker with Spark on this machine, for tests of plugins.

Only a few of an author's tests should use it: it takes ten seconds to start, needs Java 17, and fetches the broker's files
once. The tools in `kconnect.testing` itself need none of that. Read next: `processes.py`, `kconnect/local/broker.py`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from kconnect.errors import ConnectError
from kconnect.kafka.positions import Place
from kconnect.kafka.producer import TaskProducer
from kconnect.kafka.reader import BEGINNING, Message, Reader
from kconnect.local.broker import Broker
from kconnect.rest.client import ConnectClient
from kconnect.testing.processes import WorkerProcess

BROKER = "KCONNECT_TEST_BROKER"
"""This environment variable names a broker to use instead of starting one."""

_WRITE_S = 60.0

_QUICK = {
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "1500",
    "offset.flush.interval.ms": "500",
    "task.hosts": "1",
}


class LocalConnect:
    """
    A broker and a worker. They run until the end of a `with` block, or until `stop`.

        with LocalConnect(tmp_path, plugin_path=[plugins]) as connect:
            connect.run("orders", {"connector.class": "OrdersSourceConnector", "topic": "orders"})
            messages = connect.read("orders", 3)

    The worker has the plugins below the directories of `plugin_path`, and those that are installed in the same Python as
    kconnect. Its converters are JsonConverter without schemas. `properties` are added to the worker file. All files and logs
    are in `directory`. `bootstrap_servers` names brokers that already run, as the environment variable KCONNECT_TEST_BROKER
    does.
    """

    def __init__(
        self,
        directory: Path | str,
        plugin_path: Iterable[Path | str] = (),
        properties: Mapping[str, str] | None = None,
        bootstrap_servers: str | None = None,
    ) -> None:
        self.directory = Path(directory)
        self.bootstrap_servers = bootstrap_servers or os.environ.get(BROKER, "")
        converters: dict[str, str] = {}
        for which in ("key.converter", "value.converter"):
            converters |= {which: "org.apache.kafka.connect.json.JsonConverter", f"{which}.schemas.enable": "false"}
        self._properties = {**_QUICK, **converters, **(properties or {})}
        places = ",".join(str(Path(place).absolute()) for place in plugin_path)
        if places:
            self._properties["plugin.path"] = places
        self._worker: WorkerProcess | None = None
        self._stack = ExitStack()

    def __enter__(self) -> LocalConnect:
        return self.start()

    def __exit__(self, *raised: object) -> None:
        self.stop()

    @property
    def client(self) -> ConnectClient:
        """The worker's REST API."""
        return self._started.client

    @property
    def url(self) -> str:
        """The URL of the worker's REST API."""
        return self._started.url

    @property
    def log(self) -> Path:
        """The worker's log, which includes the logs of tasks and plugins."""
        return self._started.log

    def start(self) -> LocalConnect:
        """Start what is needed, and wait until the worker is healthy. Raises ConnectError, with the reason, if that fails."""
        with ExitStack() as stack:
            if not self.bootstrap_servers:
                broker = Broker(self.directory / "broker")
                stack.callback(broker.stop)
                self.bootstrap_servers = broker.start().bootstrap_servers
                stack.callback(setattr, self, "bootstrap_servers", "")
            # A broker that is there already may know an earlier test's topics.
            group = f"test-{os.getpid()}-{time.time_ns()}"
            worker = WorkerProcess(self.directory / "worker", self.bootstrap_servers, group, properties=self._properties)
            stack.callback(worker.stop)
            self._worker = worker.start()
            self._stack = stack.pop_all()
        return self

    def stop(self) -> None:
        """End everything that was started, in order."""
        self._worker = None
        self._stack.close()

    def run(self, name: str, config: Mapping[str, str], tasks: int | None = None, timeout: float = 240.0) -> dict[str, Any]:
        """
        Create or change a connector, wait until it and its tasks run, and return its status. The first connector also waits for
        Spark, which takes seconds, or minutes on a busy machine.

        Raises RestError if the config is refused. Raises WaitError, with the reason, if something fails or does not run in
        time.
        """
        self.client.put_config(name, dict(config))
        return dict(self.client.wait_for(name, "RUNNING", tasks, timeout, fail_fast=True))

    def write(self, topic: str, *values: Any, key: Any = None) -> None:
        """
        Write messages to a topic, which is created if necessary. Bytes and texts are written as they are, None as a tombstone,
        and everything else as JSON. Raises ConnectError if Kafka does not accept the messages.
        """
        client = {"bootstrap.servers": self.bootstrap_servers, "message.timeout.ms": int(_WRITE_S * 1000)}
        end = time.monotonic() + _WRITE_S
        producer = TaskProducer(client, lambda: time.monotonic() > end)
        sent = producer.send((topic, _bytes(value), _bytes(key), -1, None, None, 0, None) for value in values)
        if not sent or not producer.flush(_WRITE_S):
            raise ConnectError(f"The topic {topic} can't be written: no answer in {_WRITE_S:.0f} s")

    def read(self, topic: str, count: int, timeout: float = 120.0) -> list[Message]:
        """
        The first `count` committed messages of a topic. After `timeout` seconds, raises AssertionError with the last messages
        that came.
        """
        messages: list[Message] = []
        end = time.monotonic() + timeout
        with Reader({"bootstrap.servers": self.bootstrap_servers}) as reader:
            while len(messages) < count:
                # A topic that a connector is about to make.
                if not reader.positions and (numbers := reader.partitions(topic)):
                    reader.begin({Place(topic, number): BEGINNING for number in numbers})
                messages += reader.some(0.2)[: count - len(messages)]
                if len(messages) < count and time.monotonic() > end:
                    values = [message.value() for message in messages]
                    raise AssertionError(f"{topic} had {len(messages)} of {count} messages within {timeout:g} s: {values[-5:]}")
        return messages

    @property
    def _started(self) -> WorkerProcess:
        if self._worker is None:
            raise ConnectError("No worker runs: call start() first, or use LocalConnect in a `with` block")
        return self._worker


def _bytes(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode()
