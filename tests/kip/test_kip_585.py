"""KIP-585's own examples, as connector configs on a real worker, real Spark and real Kafka."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.support import wait_until

Names = Callable[[str], str]
TRANSFORMS = "org.apache.kafka.connect.transforms."
MATCHES = "org.apache.kafka.connect.predicates.TopicNameMatch"
"""The class as the text's examples name it; Connect's own name has another package, and an `es` at its end."""


class Sink:
    """A file sink of several topics, whose lines are the values that reach it: numbers, or the maps they came in."""

    def __init__(self, worker: WorkerProcess, broker: Broker, name: str, directory: Path) -> None:
        self.worker, self.broker, self.name = worker, broker, name
        self.file = directory / "out.txt"

    def write(self, topic: str, value: bytes, headers: list[tuple[str, bytes]] | None = None) -> None:
        servers = {"bootstrap.servers": self.broker.bootstrap_servers}
        AdminClient({**servers}).create_topics([NewTopic(topic, 1, 1)])
        producer = ck.Producer({**servers, "allow.auto.create.topics": True})
        producer.produce(topic, value, headers=[*(headers or [])])
        assert producer.flush(60) == 0

    def start(self, topics: list[str], **settings: str) -> None:
        self.worker.client.create(
            self.name,
            {
                "connector.class": "FileStreamSink",
                "file": str(self.file),
                "topics": ",".join(topics),
                "value.converter": "org.apache.kafka.connect.json.JsonConverter",
                "value.converter.schemas.enable": "false",
                **settings,
            },
        )

    def lines(self) -> list[str]:
        return sorted(self.file.read_text().splitlines()) if self.file.exists() else []

    def wait_for(self, lines: list[str], read: dict[str, int]) -> None:
        """Until the file has these lines, and everything was read: what is not in it was dropped."""

        def committed() -> dict[str, int]:
            offsets = self.worker.client.offsets(self.name)
            return {each["partition"]["kafka_topic"]: each["offset"]["kafka_offset"] for each in offsets}

        wait_until(lambda: self.lines() == sorted(lines), 240)
        wait_until(lambda: committed() == read, 120)
        assert self.lines() == sorted(lines)
        self.worker.client.delete(self.name)


@pytest.fixture
def sink(worker: WorkerProcess, broker: Broker, unique: Names, tmp_path: Path) -> Sink:
    return Sink(worker, broker, unique("kip-585"), tmp_path)


def extract(**more: str) -> dict[str, str]:
    """The example's transform, on the value, for a file sink shows no keys."""
    settings = {"type": f"{TRANSFORMS}ExtractField$Value", "field": "c1", **more}
    return {f"transforms.t2.{name}": value for name, value in settings.items()}


def test_a_transform_for_topics_of_a_certain_name(sink: Sink, unique: Names) -> None:
    mine, other = f"my-prefix-{unique('a')}", unique("other")
    for topic in (mine, other):
        sink.write(topic, b'{"c1": 1}')
    predicate = {"predicates": "has-my-prefix", "predicates.has-my-prefix.type": MATCHES}
    predicate["predicates.has-my-prefix.pattern"] = "my-prefix-.*"
    sink.start([mine, other], transforms="t2", **predicate, **extract(predicate="has-my-prefix"))
    sink.wait_for(["1", "{c1=1}"], {mine: 1, other: 1})


def test_the_same_negated(sink: Sink, unique: Names) -> None:
    mine, other = f"my-prefix-{unique('a')}", unique("other")
    sink.write(mine, b'{"c1": 1}')
    sink.write(other, b'{"c1": 2}')
    predicate = {"predicates": "has-my-prefix", "predicates.has-my-prefix.type": MATCHES}
    predicate["predicates.has-my-prefix.pattern"] = "my-prefix-.*"
    sink.start([mine, other], transforms="t2", **predicate, **extract(predicate="has-my-prefix", negate="true"))
    sink.wait_for(["{c1=1}", "2"], {mine: 1, other: 1})


def test_a_filter_of_topics(sink: Sink, unique: Names) -> None:
    foo, bar, kept = unique("foo"), unique("bar"), unique("food")
    for number, topic in enumerate((foo, bar, kept)):
        sink.write(topic, str(number).encode())
    sink.start(
        [foo, bar, kept],
        transforms="filter",
        predicates="foo-or-bar",
        **{
            "transforms.filter.type": f"{TRANSFORMS}Filter",
            "transforms.filter.predicate": "foo-or-bar",
            "predicates.foo-or-bar.type": MATCHES,
            "predicates.foo-or-bar.pattern": f"{foo}|{bar}",
        },
    )
    sink.wait_for(["2"], {foo: 1, bar: 1, kept: 1})


def test_one_predicate_for_one_set_of_transforms_and_its_negation_for_another(sink: Sink, unique: Names) -> None:
    topic = unique("marked")
    for number, headers in ((1, [("marked", b"1")]), (2, []), (3, [("marked", b"0"), ("other", b"1")])):
        sink.write(topic, f'{{"c1": {number}}}'.encode(), headers)
    sink.start(
        [topic],
        transforms="t2,whole",
        predicates="marked",
        **extract(predicate="marked"),
        **{
            "transforms.whole.type": f"{TRANSFORMS}HoistField$Value",
            "transforms.whole.field": "unmarked",
            "transforms.whole.predicate": "marked",
            "transforms.whole.negate": "true",
            "predicates.marked.type": "HasHeaderKey",
            "predicates.marked.name": "marked",
        },
    )
    sink.wait_for(["1", "3", "{unmarked={c1=2}}"], {topic: 3})


def test_tombstones_are_filtered_on_their_way_to_kafka(
    worker: WorkerProcess, broker: Broker, unique: Names, tmp_path: Path
) -> None:
    """A source, for which a filtered record's offset counts as well."""
    name, topic = unique("kip-585"), unique("topic")
    (tmp_path / "in").write_text("1\n2\n3\n")
    worker.client.create(
        name,
        {
            "connector.class": "FileStreamSource",
            "file": str(tmp_path / "in"),
            "topic": topic,
            "transforms": "nothing,drop",
            "predicates": "gone",
            "transforms.nothing.type": f"{TRANSFORMS}ReplaceField$Value",
            "transforms.nothing.exclude": "x",
            "transforms.nothing.predicate": "gone",
            "transforms.drop.type": "Filter",
            "transforms.drop.predicate": "gone",
            "transforms.drop.negate": "true",
            "predicates.gone.type": "RecordIsTombstone",
        },
    )
    done = [{"partition": {"filename": str(tmp_path / "in")}, "offset": {"position": 6}}]
    wait_until(lambda: worker.client.offsets(name) == done, 240)
    worker.client.delete(name)
    known = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=60).topics
    assert topic not in known, "no record was left for it"


@pytest.mark.parametrize(
    ("settings", "setting", "said"),
    [
        ({"transforms.t2.predicate": "missing"}, "transforms.t2.predicate", "missing"),
        ({"transforms.t2.predicate": ""}, "transforms.t2.predicate", "there is no predicate of that alias"),
        (
            {
                "predicates": "p",
                "predicates.p.type": "RecordIsTombstone",
                "transforms.t2.predicate": "p",
                "transforms.t2.negate": "perhaps",
            },
            "transforms.t2.negate",
            "perhaps",
        ),
        ({"transforms.t2.negate": "true"}, "transforms.t2.type", "there is no config 'transforms.t2.predicate'"),
        (
            {"predicates": "p", "predicates.p.type": MATCHES, "predicates.p.pattern": "[", "transforms.t2.predicate": "p"},
            "predicates.p.pattern",
            "[",
        ),
    ],
)
def test_what_validation_refuses(
    worker: WorkerProcess, unique: Names, tmp_path: Path, settings: dict[str, str], setting: str, said: str
) -> None:
    config = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in"), "topic": "t", "transforms": "t2"}
    config |= {**extract(), **settings, "name": unique("refused")}
    rows: Any = worker.client.validate("FileStreamSource", config)["configs"]
    errors = {row["value"]["name"]: row["value"]["errors"] for row in rows if row["value"]["errors"]}
    assert setting in errors, errors
    assert said in " ".join(errors[setting])
    with pytest.raises(RestError) as refused:
        worker.client.create(config["name"], config)
    assert refused.value.status == 400
