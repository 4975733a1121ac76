"""
One of the two systems, Apache Kafka Connect or kconnect: a broker, a worker on it, and what a case sees of them.

The two run one after the other, on the same ports, with the same names and in the same directories, so that none of these has
to be made the same afterwards. Called by `run.py`; the cases in `cases/` work with a `Side`.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, NewTopic

from kconnect.core.settings.sink import SINK_CONFIG
from kconnect.core.settings.source import SOURCE_CONFIG
from kconnect.local.broker import Broker
from kconnect.rest.client import ConnectClient, RestError
from tests.rig.java_parity import normal
from tests.rig.parity import normal as rest
from tests.rig.systems import postgres_programs, recorder
from tests.rig.systems.mariadb import MariaDB
from tests.rig.systems.postgres import Postgres
from tests.support import wait_until

WAIT_S = 300.0
GROUP = "parity"
"""Of both sides' workers; their topics' names begin with it."""

Config = Mapping[str, str]


@dataclass
class Place:
    """
    What both sides have in common: databases and a second Kafka cluster, which start when they are first needed and end with
    `stack`, and a directory for files.
    """

    directory: Path
    stack: ExitStack

    @cached_property
    def postgres(self) -> Postgres:
        started = Postgres(postgres_programs.find_or_install(install=True)).start()
        self.stack.callback(started.stop)
        return started

    @cached_property
    def origin(self) -> Broker:
        started = Broker(self.directory / "origin").start()
        self.stack.callback(started.stop)
        return started

    @cached_property
    def mariadb(self) -> MariaDB:
        started = MariaDB()
        self.stack.callback(started.stop)
        return started.start()

    @property
    def files(self) -> Path:
        return self.directory / "files"

    def clear(self) -> None:
        shutil.rmtree(self.files, ignore_errors=True)
        self.files.mkdir()


@dataclass
class Side:
    """`is_ours` is for what only kconnect has been asked for; a case that did something else with it would compare nothing."""

    name: str
    client: ConnectClient
    bootstrap_servers: str
    place: Place
    began: float = field(default_factory=time.time)
    """When the case began, which the rules for times need."""
    made: list[str] = field(default_factory=list)
    """The connectors that it has started."""

    @property
    def postgres(self) -> Postgres:
        return self.place.postgres

    @property
    def files(self) -> Path:
        return self.place.files

    # -- topics -------------------------------------------------------------------------------------------------------

    def make_topics(self, **partitions: int) -> None:
        make_topics(self.bootstrap_servers, partitions)

    def send(self, topic: str, records: Iterable[tuple[bytes | None, bytes | None]], partition: int = 0) -> None:
        send(self.bootstrap_servers, topic, records, partition)

    def wait_for(self, expected: Mapping[str, int]) -> None:
        """Until each topic has that many records; more than these show when the topics are read."""
        there: dict[str, int] = {}

        def came() -> bool:
            there.update(counts(self.bootstrap_servers, expected))
            return all(there[topic] >= count for topic, count in expected.items())

        try:
            self.wait(came, "records")
        except AssertionError as error:
            raise AssertionError(f"{error}; wanted {dict(expected)}, there are {there}") from None

    def records(self, *topics: str, timestamps: bool = False) -> dict[str, dict[str, Any]]:
        """
        What a topic has, by its partitions, in order. Times that Kafka's client gives are replaced, if they are of the run,
        unless they are data here.
        """
        rule = None if timestamps else normal.time_since(self.began, "ms")
        return {topic: _records(self.bootstrap_servers, topic, rule) for topic in topics}

    def topics(self, *names: str) -> dict[str, dict[str, Any]]:
        """How many partitions each has, and what is set of it."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        there = admin.list_topics(timeout=20).topics
        resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in names]
        found = {}
        for resource, configs in admin.describe_configs(resources).items():
            entries = configs.result().values()
            own = {entry.name: entry.value for entry in entries if entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value}
            found[resource.name] = {"partitions": len(there[resource.name].partitions), **own}
        return found

    # -- connectors ---------------------------------------------------------------------------------------------------

    def start(self, connectors: Mapping[str, Config], tasks: int = 1) -> None:
        for name, config in connectors.items():
            self.client.put_config(name, config)
            self.made.append(name)
        for name in connectors:
            self.wait(partial(self._runs, name, tasks), f"{name} to run")

    def stop(self, *names: str) -> None:
        for name in names:
            self.client.stop(name)
        for name in names:
            self.client.wait_for(name, "STOPPED", tasks=0, timeout=WAIT_S)

    def delete(self, *names: str) -> None:
        for name in names:
            self.client.delete(name)

    def status(self, name: str) -> dict[str, Any]:
        """Of a connector that runs: `worker_id` is the same on both sides, as is the port."""
        return dict(self.client.status(name))

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """In an order of their own: neither side promises one."""
        return sorted(self.client.offsets(name), key=str)

    def validated(self, config: Config) -> dict[str, Any]:
        """All that `validate` answers, the fields by their names, with their order."""
        body = rest.validated(dict(self.client.validate(config["connector.class"], dict(config))))
        steps = [
            name.removesuffix(".type") for name, kind in config.items() if kind.startswith("org.apache.kafka.connect.transf")
        ]
        for entry in body["configs"].values():
            if isinstance(entry, dict):
                _same_key(entry["definition"], steps)
                if entry["value"] is not None:
                    # Connect lists a class once for each plugin that has it.
                    once = list(dict.fromkeys(entry["value"]["recommended_values"]))
                    entry["value"]["recommended_values"] = rest.of_both(once)
        return body

    def plugin_config(self, plugin: str, version: str | None = None) -> dict[str, Any]:
        made = rest.by_name(self.client.plugin_config(plugin, version), lambda entry: entry["name"])
        for entry in made.values():
            _same_key(entry, ())
        return made

    def internal(self) -> dict[str, Any]:
        """
        What the worker has written of the case's connectors: all that the config topic has of each key, and the keys of the
        offset topic as they are, byte for byte. What statuses and offsets say is asked over REST.
        """
        configs: dict[str, list[Any]] = {}
        for message in recorder.read(self.bootstrap_servers, f"{GROUP}-configs"):
            key = str(normal.parsed(message.key()))
            name = re.fullmatch(r"(?:connector|commit|task|target-state)-(.*?)(?:-\d+)?", key)
            if name and name[1] in self.made:
                configs.setdefault(key, []).append(normal.parsed(message.value()))
        keys = {bytes(message.key() or b"").decode() for message in recorder.read(self.bootstrap_servers, f"{GROUP}-offsets")}
        of_case = sorted(key for key in keys if any(key.startswith(f'["{name}",') for name in self.made))
        return {"config topic": configs, "keys of the offset topic": of_case}

    def _runs(self, name: str, tasks: int) -> bool:
        try:
            status = self.client.status(name)
        except RestError:
            return False
        return [part["state"] for part in (status["connector"], *status["tasks"])] == ["RUNNING"] * (1 + tasks)

    def _failed(self) -> dict[str, str]:
        """Traces, by connector."""
        try:
            told = self.client.connectors("status")
        except RestError:
            # In a rebalance Connect answers nothing.
            return {}
        parts = {name: [each["status"]["connector"], *each["status"]["tasks"]] for name, each in told.items()}
        return {name: part["trace"][:2000] for name, each in parts.items() for part in each if part["state"] == "FAILED"}

    def answered(self, ask: Callable[[], Any]) -> Any:
        """What it answers, or how it refuses."""
        try:
            return ask()
        except RestError as error:
            return {"status": error.status, "message": error.message}

    def wait(self, condition: Callable[[], Any], what: str) -> None:
        """AssertionError if that does not come, or a connector fails meanwhile."""
        looked = time.monotonic()

        def holds() -> Any:
            nonlocal looked
            if time.monotonic() - looked > _LOOK_S:
                looked = time.monotonic()
                if traces := self._failed():
                    raise AssertionError(f"{self.name}: while waiting for {what}, connectors failed: {traces}")
            return condition()

        wait_until(holds, WAIT_S, f"{self.name} did not come to: {what}")


_LOOK_S = 3.0

_FRAMEWORK = re.compile(
    "|".join(re.escape(name) for table in (SOURCE_CONFIG, SINK_CONFIG) for name in table.keys)
    + r"|transforms\..*\.(type|predicate|negate)|predicates\..*\.type|.*\.plugin\.version|(key|value|header)\.converter\..*"
    + r"|topic\.creation\..*"
)


def _same_key(definition: Any, steps: Iterable[str]) -> None:
    """Of Connect's own settings, and of its transforms' in `steps`, kconnect has words of its own; of a plugin's it has not."""
    if isinstance(definition, dict) and definition["documentation"]:
        name = definition["name"]
        if _FRAMEWORK.fullmatch(name) or any(name.startswith(f"{step}.") for step in steps):
            definition["documentation"] = rest.TEXT


# -- Kafka, of any cluster --------------------------------------------------------------------------------------------


def make_topics(bootstrap_servers: str, partitions: Mapping[str, int]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    for made in admin.create_topics([NewTopic(topic, count, 1) for topic, count in partitions.items()]).values():
        made.result()


def delete_topics(bootstrap_servers: str, pattern: Callable[[str], bool]) -> None:
    """Those whose names the pattern is true of, and wait until they are gone."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    names = [topic for topic in admin.list_topics(timeout=20).topics if pattern(topic)]
    for deleted in admin.delete_topics(names).values() if names else ():
        deleted.result()
    wait_until(lambda: not set(names) & set(admin.list_topics(timeout=20).topics), WAIT_S, "topics were not deleted")


def send(bootstrap_servers: str, topic: str, records: Iterable[tuple[bytes | None, bytes | None]], partition: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers})
    for key, value in records:
        producer.produce(topic, value, key, partition)
    assert producer.flush(60) == 0


def counts(bootstrap_servers: str, topics: Iterable[str]) -> dict[str, int]:
    """Records and markers; 0 of a topic that there is not."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "java-parity-look"})
    try:
        there = consumer.list_topics(timeout=20).topics
        found = {}
        for topic in topics:
            places = [TopicPartition(topic, number) for number in (there[topic].partitions if topic in there else ())]
            found[topic] = sum(high - low for low, high in (consumer.get_watermark_offsets(place, 20) for place in places))
        return found
    except KafkaException:
        # A leader that is about to be elected.
        return dict.fromkeys(topics, 0)
    finally:
        consumer.close()


def _records(bootstrap_servers: str, topic: str, timestamp: normal.Rule | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for message in recorder.read(bootstrap_servers, topic):
        found.setdefault(f"partition {message.partition()}", []).append(_record(message, timestamp))
    return dict(sorted(found.items()))


def _headers(message: Message) -> list[tuple[str, Any]]:
    found = message.headers() or []
    return list(found.items()) if isinstance(found, dict) else list(found)


def _record(message: Message, timestamp: normal.Rule | None) -> dict[str, Any]:
    _, ms = message.timestamp()
    return {
        "key": normal.with_order(normal.parsed(message.key())),
        "value": normal.with_order(normal.parsed(message.value())),
        "headers": [{name: normal.with_order(normal.parsed(value))} for name, value in _headers(message)],
        "timestamp": ms if timestamp is None else timestamp(ms),
    }
