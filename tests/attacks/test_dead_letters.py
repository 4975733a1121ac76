"""Attacks by whoever may write records, to a topic that a sink reads or to its queue, on what an administrator replays."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest

from kconnect.rest.client import ConnectClient, RestError
from kconnect.testing.processes import WorkerProcess
from tests.integration import units
from tests.integration.dead_sink import LIMIT_S, Sink
from tests.support import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

CONFIGS, STATUSES = "shared-configs", "shared-status"
EVIL = {"connector.class": "FileStreamSource", "file": "/etc/passwd", "topic": "stolen"}
FORGED_CONFIG = json.dumps({"properties": EVIL}).encode()


@pytest.fixture(scope="module")
def sink(worker: WorkerProcess, bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sink]:
    """The sink that is attacked, whose letters have context headers."""
    with ConnectClient(worker.client.url) as client:
        attacked = Sink(client, bootstrap, f"attacked-{time.time_ns()}", tmp_path_factory.mktemp("attacked"))
        attacked.start()
        yield attacked
        attacked.delete()


@pytest.fixture
def silent_sink(worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], tmp_path: Path) -> Iterator[Sink]:
    """A sink whose letters have no context headers, as by default."""
    with ConnectClient(worker.client.url) as client:
        attacked = Sink(client, bootstrap, unique("silent"), tmp_path, headers="false")
        attacked.start()
        yield attacked
        attacked.delete()


def produce(sink: Sink, topic: str, key: str, value: bytes, headers: dict[str, str]) -> None:
    producer = ck.Producer({"bootstrap.servers": sink.bootstrap})
    producer.produce(topic, value, key, 0, headers={name: text.encode() for name, text in headers.items()})
    assert producer.flush(LIMIT_S) == 0


def names(connector: str, topic: str, partition: int = 0, offset: int = 0) -> dict[str, str]:
    place = {"topic": topic, "partition": str(partition), "offset": str(offset), "connector.name": connector}
    return {f"__connect.errors.{name}": text for name, text in {**place, "exception.message": "harmless"}.items()}


def letter_of(sink: Sink, key: str) -> Any:
    # Each look is a process, so the queue is read first.
    wait_until(lambda: any(m.key() == key.encode() for m in units.read_all(sink.bootstrap, sink.queue)), LIMIT_S)
    return next(letter for letter in sink.client.dead_letters(sink.name)["letters"] if letter["key"] == key)


def size(sink: Sink, topic: str) -> int:
    return sum(end for _, end in sink.ends(topic))


def replay(sink: Sink, letter: Any, **more: object) -> Any:
    """Replay it dry and then for real: what is shown before must be what happens."""
    place = [{"partition": letter["partition"], "offset": letter["offset"]}]
    before = sink.client.replay_dead_letters(sink.name, place, dry_run=True, **more)["letters"]
    after = sink.client.replay_dead_letters(sink.name, place, **more)["letters"]
    assert before == after
    return after[0]


@pytest.mark.parametrize("which", [pytest.param("sink", marks=pytest.mark.long), "silent_sink"])
def test_a_record_says_that_it_came_from_the_config_topic(request: pytest.FixtureRequest, which: str) -> None:
    """Who may write to a data topic gives a bad record headers of a report: its replay must not write to the config topic."""
    sink: Sink = request.getfixturevalue(which)
    configs = size(sink, CONFIGS)
    produce(sink, sink.topic, "connector-evil", b"!" + FORGED_CONFIG, names("evil", CONFIGS))
    letter = letter_of(sink, "connector-evil")
    assert letter["topic"] in (None, sink.topic) and letter["message"] != "harmless"
    assert {"name": "__connect.errors.topic", "value": CONFIGS} in letter["headers"], "kept, but not believed"
    for through_chain in (False, True):
        assert replay(sink, letter, through_chain=through_chain, again=True)["to"] in (None, sink.topic)
    assert size(sink, CONFIGS) == configs
    assert "evil" not in sink.client.connectors()


@pytest.mark.parametrize(
    "topic",
    [CONFIGS, "somebody-elses", *(pytest.param(name, marks=pytest.mark.long) for name in (STATUSES, "__consumer_offsets"))],
)
def test_a_letter_in_the_queue_says_where_it_came_from(sink: Sink, topic: str) -> None:
    """Who may write to the queue forges a whole letter: it must not be written to a topic that the sink does not read."""
    if topic == "somebody-elses":
        topic = f"{sink.topic}-other"
        units.create(sink.bootstrap, topic)
    before = size(sink, topic)
    key = f"target-state-{topic}"
    produce(sink, sink.queue, key, b'{"state":"STOPPED"}', names(sink.name, topic))
    letter = letter_of(sink, key)
    assert letter["origin"] == "claimed"
    decided = replay(sink, letter)
    assert decided["to"] is None and topic in decided["left"]
    if topic not in ("__consumer_offsets",):
        assert size(sink, topic) == before


def test_a_letter_in_the_queue_names_a_record_that_is_another_one(sink: Sink) -> None:
    """Who may write to the queue names a true place with other content: it must not be written to the sink's topic."""
    before = size(sink, sink.topic)
    produce(sink, sink.queue, "forged", b"forged", names(sink.name, sink.topic, 1, 0))
    letter = letter_of(sink, "forged")
    assert letter["origin"] == "false"
    assert "is another one" in replay(sink, letter)["left"]
    # Offsets that no partition has, and numbers that are none, are claims; nothing is read for them, and nothing breaks.
    for number, offset in enumerate(("9" * 18, "9" * 5000, "-2", "٣")):
        forged = {**names(sink.name, sink.topic, 1), "__connect.errors.offset": offset, "__kconnect.dlq.replays": offset}
        produce(sink, sink.queue, f"claimed-{number}", b"forged", forged)
    letter_of(sink, "claimed-3")
    letters = {letter["key"]: letter["origin"] for letter in sink.client.dead_letters(sink.name)["letters"]}
    assert {letters[f"claimed-{number}"] for number in range(4)} == {"claimed"}
    assert size(sink, sink.topic) == before


@pytest.mark.long
def test_a_letter_in_the_queue_names_another_connector(sink: Sink) -> None:
    """Who may write to the queue names a connector that does not report to it: neither its chain nor its topics are used."""
    produce(sink, sink.queue, "another", b"1", names("somebody", sink.topic))
    letter = letter_of(sink, "another")
    for through_chain in (False, True):
        assert "has another queue now" in replay(sink, letter, through_chain=through_chain)["left"]


@pytest.mark.long
def test_a_sink_s_letter_says_that_it_is_a_source_s(sink: Sink) -> None:
    """Who may write to the queue says that a letter is a source's, whose topic the chain decides: it must not be one."""
    value = json.dumps({"schema": None, "payload": {"properties": EVIL}}).encode()
    forged = {**names(sink.name, CONFIGS), "__connect.errors.source.offset": "{}", "__connect.errors.source.partition": "{}"}
    configs = size(sink, CONFIGS)
    produce(sink, sink.queue, "connector-source", value, forged)
    letter = letter_of(sink, "connector-source")
    assert replay(sink, letter, through_chain=True)["to"] is None
    assert size(sink, CONFIGS) == configs


def test_nobody_replays_into_internal_topics(sink: Sink, worker: WorkerProcess) -> None:
    """An administrator is talked into a `to_topic` that is internal: refused, and what is written is in the audit log."""
    letter = sink.client.dead_letters(sink.name)["letters"][0]
    place = [{"partition": letter["partition"], "offset": letter["offset"]}]
    for topic in (CONFIGS, "shared-offsets", STATUSES, "shared-configs-assignments", "__transaction_state"):
        with pytest.raises(RestError, match=r"connector\.internal\.topics\.allowed=true") as refused:
            sink.client.replay_dead_letters(sink.name, place, to_topic=topic)
        assert refused.value.status == 400
    other = f"{sink.topic}-retry"
    units.create(sink.bootstrap, other)
    assert sink.client.replay_dead_letters(sink.name, place, to_topic=other)["replayed"] == 1
    log = worker.log.read_text()
    assert f'connector="{sink.name}" status=200 targets="{other}"' in log
    assert f'request="GET /kconnect/connectors/{sink.name}/dead-letters' in log, "who looks at letters is written down"


def test_a_queue_that_is_internal_shows_nothing(worker: WorkerProcess, unique: Callable[[str], str]) -> None:
    """An administrator names the config topic as a queue, and reads the session key as a letter: refused."""
    name = unique("queue")
    config = {
        "connector.class": "FileStreamSink",
        "topics": name,
        "file": "/dev/null",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": CONFIGS,
    }
    with pytest.raises(RestError, match="is an internal topic of this Connect cluster"):
        worker.client.create(name, config, initial_state="STOPPED")
    assert name not in worker.client.connectors()
