"""What connectors' own brokers are asked, and by whom: those that only a config names could end the process that asks them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import confluent_kafka as ck
import orjson
import pytest

from kconnect.api.record import TopicPartition
from kconnect.core.herder.effects import GroupInUseError
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state import records
from kconnect.errors import ConfigError, ConnectError
from kconnect.kafka import own_offsets
from kconnect.worker import brokers
from kconnect.worker.brokers import Brokers
from kconnect.worker.errands import Errands

LIMIT_S = 60.0


@pytest.fixture
def address() -> Iterator[str]:
    """A broker in memory, librdkafka's own, with a topic of three records."""
    holder = ck.Producer({"test.mock.num.brokers": 1, "log_level": 0, "partitioner": "murmur2_random"})
    known = next(iter(holder.list_topics(timeout=LIMIT_S).brokers.values()))
    holder.list_topics("t", timeout=LIMIT_S)
    for number in range(3):
        holder.produce("t", key=json.dumps(["c", {"file": number}]), value='{"at": 1}')
    holder.flush(LIMIT_S)
    yield f"{known.host}:{known.port}"
    del holder


def made(address: str) -> Brokers:
    names = ("group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic")
    converters = dict.fromkeys(("key.converter", "value.converter"), "org.apache.kafka.connect.storage.StringConverter")
    properties = {**dict.fromkeys(names, "x"), **converters, "bootstrap.servers": address}
    settings = WorkerSettings.from_properties(properties, {})
    return Brokers(settings, Errands(settings))


def named(address: str) -> dict[str, str]:
    """The overrides of a config that names brokers."""
    return {f"{client}.override.bootstrap.servers": address for client in ("consumer", "producer", "admin")}


@pytest.mark.process
def test_brokers_that_only_a_config_names_are_asked_by_another_process(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Whoever may create connectors names brokers whose answers end the process of librdkafka's client: a reader's look at a
    sink's offsets ended the worker, with all that it runs.
    """
    here = made(address).moves("c", {}, ["t"], "earliest", 0)
    assert {(each["topic"], each["then"]) for each in here} == {("t", 0)}

    def die(*arguments: Any) -> None:
        raise AssertionError("the worker asks them itself")

    monkeypatch.setattr(brokers, "_ASKED", dict.fromkeys(brokers._ASKED, die))
    with pytest.raises(AssertionError):
        made(address).moves("c", {}, ["t"], "earliest", 0)
    apart = made("127.0.0.1:1")
    assert apart.moves("c", named(address), ["t"], "earliest", 0) == here
    assert apart.group_offsets("c", named(address)) == []
    apart.fence("c", named(address), ["x-0"])
    with pytest.raises(ConnectError, match="None of its topics is there"):
        apart.moves("c", named(address), ["other"], "earliest", 0)


@pytest.mark.parametrize(
    "name",
    [
        *("bootstrap.servers", "metadata.broker.list", "security.protocol", "sasl.jaas.config", "sasl.mechanism"),
        *("ssl.ca.location", "ssl.keystore.key", "ssl.keystore.location", "ssl.truststore.location", "ssl.key.password"),
        # Only librdkafka has these: Java's clients are no list of what they may do.
        *("ssl.key.pem", "ssl.keystore.location", "https.ca.location", "debug", "sasl.kerberos.keytab"),
    ],
)
@pytest.mark.parametrize("kind", ["producer", "consumer", "admin"])
def test_a_client_that_a_config_has_connect_in_its_own_way_is_made_in_another_process(
    kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key whose password takes librdkafka hours to try, or a pipe as a certificate, stopped all that the worker does."""
    asked = made("127.0.0.1:1")
    requests: list[Any] = []
    monkeypatch.setattr(asked._errands, "ask_brokers", lambda request: requests.append(request) or {"answer": None})

    def die(*arguments: Any) -> None:
        raise AssertionError("the worker makes it itself")

    monkeypatch.setattr(brokers, "_ASKED", dict.fromkeys(brokers._ASKED, die))
    config = {f"{kind}.override.{name}": "x"}
    asked.fence("c", config, ["x-0"])
    asked.alter_group("c", config, {TopicPartition("t", 0): 1})
    assert [request["what"] for request in requests] == ["fence", "alter_group"]
    # What only tunes a client costs no process, for a console asks for the offsets of many.
    with pytest.raises(AssertionError):
        asked.group_offsets("c", {"consumer.override.max.poll.records": "1", "producer.override.linger.ms": "5"})


@pytest.mark.process
def test_a_group_is_changed_by_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = made("127.0.0.1:1")
    with pytest.raises(ConfigError, match=r"ssl\.ca\.location: The file can't be read: It is no file"):
        asked.alter_group("c", {"admin.override.ssl.ca.location": "/dev/zero"}, {TopicPartition("t", 0): 1})
    monkeypatch.setattr(asked._errands, "ask_brokers", lambda request: {"answer": "it has members"})
    with pytest.raises(GroupInUseError, match="it has members"):
        asked.alter_group("c", {"admin.override.ssl.ca.location": "x"}, None)


def work_here(request: Mapping[str, Any]) -> Any:
    """What the other process does."""
    return orjson.loads(orjson.dumps(brokers._work(request, None)))


def test_a_topic_of_offsets_that_a_config_names_is_read_by_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may write to it has Kafka's client unpack gigabytes: a look at the offsets took the worker's memory for it."""
    asked = made("127.0.0.1:1")
    requests: list[Any] = []
    monkeypatch.setattr(asked._errands, "ask_brokers", lambda request: requests.append(request) or {"answer": []})
    monkeypatch.setattr(own_offsets, "read", lambda *arguments: pytest.fail("the worker reads it itself"))
    for prepare in (False, True):
        state = asked.own_offsets("c", {"offsets.storage.topic": "t"}, prepare)
        assert state is not None and not state.of("c")
    assert [request["what"] for request in requests] == ["own_offsets"] * 2


def test_offsets_come_as_they_are_stored(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The broker in memory can't be asked for it.
    monkeypatch.setattr(own_offsets, "_exists", lambda own: True)
    monkeypatch.setattr(
        Errands, "ask_brokers", lambda self, request: work_here({"worker": dict(self._settings.raw), **request})
    )
    config = {"offsets.storage.topic": "t"}
    state = made(address).own_offsets("c", config, prepare=False)
    assert state is not None
    assert [(each.partition, each.offset) for each in state.of("c")] == [({"file": number}, {"at": 1}) for number in range(3)]
    known = [each.key for each in state.of("c")]
    changed = [records.source_offset(known[1], None), records.source_offset(known[2], {"at": 2})]
    made(address).write_own_offsets("c", config, changed)
    state = made(address).own_offsets("c", config, prepare=False)
    assert state is not None
    assert [each.offset for each in state.of("c")] == [{"at": 1}, {"at": 2}]
    assert made(address).own_offsets("c", {}, prepare=False) is None
    # What others have there is of no interest, however much it is.
    state = made(address).own_offsets("other", config, prepare=False)
    assert state is not None and not state.of("c")
