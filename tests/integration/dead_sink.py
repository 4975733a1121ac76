"""A sink with dead letters, for the tests of `kconnect dlq` and of the same by REST."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from kconnect.rest.client import ConnectClient, RestError
from tests.cli.calls import Called, call
from tests.integration import units
from tests.support import wait_until

LIMIT_S = 240.0
JSON = "org.apache.kafka.connect.json.JsonConverter"
TEXT = "org.apache.kafka.connect.storage.StringConverter"


class Sink:
    """A file sink of a worker, with a queue, and a topic of two partitions with two good and three bad records."""

    def __init__(self, client: ConnectClient, bootstrap: str, topic: str, directory: Path, headers: str = "true") -> None:
        self.client, self.bootstrap, self.topic, self.queue = client, bootstrap, topic, f"{topic}-dead"
        self.name, self.file = f"sink-{topic}", directory / "out.txt"
        self._headers = headers
        # Long ago, but not so long that brokers delete it.
        self.at = int(time.time() * 1000) - 3_600_000

    def start(self) -> None:
        units.create(self.bootstrap, self.topic, partitions=2)
        # A topic of the connector's name must not be taken for its queue.
        units.create(self.bootstrap, self.name)
        producer = ck.Producer({"bootstrap.servers": self.bootstrap})
        for number, value in enumerate((b"1", b"bad-a", b"2", b"bad-b", b"\xff\x00")):
            headers = [("trace", f"t{number}")]
            producer.produce(self.topic, value, f"k{number}", number % 2, timestamp=self.at + number, headers=[*headers])
        assert producer.flush(LIMIT_S) == 0
        config = {
            "connector.class": "FileStreamSink",
            "topics": self.topic,
            "file": str(self.file),
            "key.converter": TEXT,
            "value.converter": JSON,
            "value.converter.schemas.enable": "false",
            "header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter",
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": self.queue,
            "errors.deadletterqueue.topic.replication.factor": "1",
            "errors.deadletterqueue.context.headers.enable": self._headers,
        }
        self._persistently(lambda: self.client.put_config(self.name, config))
        wait_until(lambda: sum(end for _, end in self.ends(self.queue)) == 3, LIMIT_S)

    def mend(self) -> None:
        """It takes any text from now on, and no task is left that does not."""
        self._persistently(lambda: self.client.stop(self.name))
        self.client.wait_for(self.name, "STOPPED", tasks=0, timeout=LIMIT_S)
        self._persistently(lambda: self.client.patch_config(self.name, {"value.converter": TEXT}))
        self._persistently(lambda: self.client.resume(self.name))
        self.client.wait_for(self.name, "RUNNING", tasks=1, timeout=LIMIT_S)

    def delete(self) -> None:
        self._persistently(lambda: self.client.delete(self.name), gone=True)

    def ends(self, topic: str) -> list[tuple[int, int]]:
        consumer = ck.Consumer({"bootstrap.servers": self.bootstrap, "group.id": "ends"})
        try:
            found = consumer.list_topics(timeout=LIMIT_S).topics
            places = [] if topic not in found else sorted(found[topic].partitions)
            return [consumer.get_watermark_offsets(ck.TopicPartition(topic, place), timeout=LIMIT_S) for place in places]
        except ck.KafkaException:
            return []  # While a topic is made, its partitions have no leaders.
        finally:
            consumer.close()

    def limit_messages(self, size: int | None) -> None:
        """How many bytes a record of the topic may have, from when this returns; None: as many as anywhere."""
        how, text = (AlterConfigOpType.DELETE, None) if size is None else (AlterConfigOpType.SET, str(size))
        changed = ConfigEntry("max.message.bytes", text, incremental_operation=how)
        resource = ConfigResource(ResourceType.TOPIC, self.topic, incremental_configs=[changed])
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        admin.incremental_alter_configs([resource])[resource].result(LIMIT_S)
        wanted = 1_048_588 if size is None else size
        wait_until(
            lambda: admin.describe_configs([resource])[resource].result(LIMIT_S)["max.message.bytes"].value == str(wanted),
            LIMIT_S,
        )

    def lines(self) -> list[bytes]:
        return self.file.read_bytes().splitlines() if self.file.exists() else []

    def kconnect(self, *arguments: str) -> Called:
        return call("dlq", *arguments, "--url", self.client.url, "--bootstrap-server", self.bootstrap)

    def json(self, *arguments: str) -> list[dict[str, Any]]:
        done = self.kconnect(*arguments, "-o", "json")
        assert done.status == 0, done.err
        found: list[dict[str, Any]] = json.loads(done.out)
        return found

    @staticmethod
    def _persistently(ask: Callable[[], object], gone: bool = False) -> None:
        """Workers that are just rebalancing say 409. `gone`: what is not there any more has been deleted."""
        end = time.monotonic() + LIMIT_S
        while True:
            try:
                ask()
                return
            except RestError as error:
                if error.status == 404 and gone:
                    return
                if error.status not in (None, 409, 500, 503) or time.monotonic() > end:
                    raise
                time.sleep(0.3)
