"""Inferred schemas in a task: what is kept before records go on, what a restart meets, and tasks that differ."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kconnect.api.record import TopicPartition
from kconnect.converters.json import JsonConverter
from kconnect.core.settings import references
from kconnect.core.state.schema_records import Key
from kconnect.data.schema import Struct
from kconnect.errors import ConnectError
from kconnect.kafka.inferred import fold, folded, shown
from kconnect.kafka.schema_topic import Said
from kconnect.units.inferring import InferringIntake, Store


class Message:
    def __init__(self, value: Any, key: Any = None, topic: str = "t") -> None:
        self._value, self._key, self._topic = value, key, topic

    def value(self) -> bytes | None:
        return None if self._value is None else json.dumps(self._value).encode()

    def key(self) -> bytes | None:
        return None if self._key is None else json.dumps(self._key).encode()

    def topic(self) -> str:
        return self._topic


class Topic:
    """The topic of schemas, in memory. `before` is called once, before the next write."""

    def __init__(self) -> None:
        self.said: dict[Key, Any] = {}
        self.writes = 0
        self.before: Any = None

    def read(self) -> Mapping[Key, Any]:
        return dict(self.said)

    def write(self, values: Mapping[Key, Any]) -> None:
        if self.before is not None:
            before, self.before = self.before, None
            before()
        self.writes += 1
        for key, value in values.items():
            self.said.pop(key, None)
            self.said[key] = json.loads(json.dumps(value))


class Task:
    """One task's intake, which gives what its converters make of the values."""

    def __init__(self, topic: Topic, number: int = 0, parts: Sequence[str] = ("value",)) -> None:
        self.topic, self.converters = topic, {}
        for part in parts:
            made = JsonConverter()
            made.configure({"schemas.enable": "false", "schemas.infer": "true"}, part == "key")
            self.converters[part] = made
        inferring = {part: made.inferring for part, made in self.converters.items() if made.inferring is not None}
        self.intake = InferringIntake(self, inferring, Store(topic.read, topic.write), "c", number, lambda: 1.0)

    def __call__(self, messages: Sequence[Any]) -> list[Any]:
        # No record goes on before its schema is kept.
        known = folded(self.topic.read())
        found = []
        for message in messages:
            for part, converter in self.converters.items():
                text = message.value() if part == "value" else message.key()
                schema, value = converter.to_connect_data(message.topic(), text)
                if schema is not None:
                    assert schema.version == known[part, message.topic()].version
                found.append(
                    {field.name: value[field.name] for field in value.schema.fields} if isinstance(value, Struct) else value
                )
        return found

    def place(self, record: Any) -> TopicPartition:
        return TopicPartition("t", 0)

    def put(self, *values: Any) -> list[Any]:
        found: Any = self.intake([Message(value) for value in values])
        return list(found)


def test_what_is_new_is_kept_once() -> None:
    topic = Topic()
    task = Task(topic)
    task.put({"a": 1}, {"a": 2})
    task.put({"a": 3})
    assert topic.writes == 1
    task.put({"a": 3, "b": "x"})
    assert topic.writes == 2
    assert folded(topic.read())["value", "t"].version == 2
    assert topic.said[Key("c", "value", "t", 0)]["at"] == 1000


def test_a_restart_meets_what_was_inferred() -> None:
    topic = Topic()
    Task(topic).put({"a": 1}, {"b": 0.5})
    # Alone, this record would make a text of it.
    task = Task(topic)
    assert task.put({"a": 7}) == [{"a": 7, "b": None}]
    assert topic.writes == 1


def test_tasks_take_over_what_others_know() -> None:
    topic = Topic()
    first, second = Task(topic), Task(topic, 1)
    first.put({"a": 1})
    second.put({"b": "x"})
    assert [list(Task(topic, number).put({"a": 1})[0]) for number in (0, 1)] == [["a", "b"]] * 2
    first.put({"c": True})
    assert list(first.put({"a": 1})[0]) == ["a", "b", "c"]
    assert folded(topic.read())["value", "t"].version == 3


def test_of_two_tasks_that_differ_the_first_holds() -> None:
    topic = Topic()
    first, second = Task(topic), Task(topic, 1)
    topic.before = lambda: first.put({"a": "x", "c": 1})
    # Both have read nothing before they write.
    with pytest.raises(ConnectError, match="the field 'a' is of the type integer, but the schema that was inferred has text"):
        second.put({"a": 1, "b": 2})
    assert second.put({"a": "y", "b": 2}) == [{"a": "y", "c": None, "b": 2}]
    assert list(folded(topic.read())["value", "t"].shape.fields) == ["a", "c", "b"]


@pytest.mark.parametrize(
    ("winner", "loser"),
    [([5], ["evil"]), (["x"], [7]), ([1, "mixed"], [2]), ([{"deep": 1}], [{"deep": "evil"}]), ([[1]], [["x"]])],
)
def test_what_has_lost_does_not_hold_once_the_winner_says_more(winner: list[Any], loser: list[Any]) -> None:
    """What a task says again stands last in the topic: a record read by another task turned a settled field's type."""
    topic = Topic()
    first, second = Task(topic), Task(topic, 1)
    topic.before = lambda: first.put(*({"x": value, "id": 1} for value in winner))
    with contextlib.suppress(ConnectError):
        second.put(*({"x": value} for value in loser))
    settled = folded(topic.read())["value", "t"].shape.fields
    first.put({"id": 2, "more": True})
    now = folded(topic.read())["value", "t"].shape.fields
    assert dict(settled) == {name: shape for name, shape in now.items() if name != "more"} and "more" in now
    assert Task(topic).put({"x": winner[0], "id": 3})


def test_a_task_that_ended_between_saying_and_reading_says_again_what_holds() -> None:
    topic = Topic()
    Task(topic).put({"x": 5})
    topic.write({Key("c", "value", "t", 1): {"version": 1, "shape": {"fields": [["x", "text"], ["y", "text"]]}}})
    assert fold(topic.read()).lost == {Key("c", "value", "t", 1)}
    assert Task(topic, 1).put({"x": 6}) == [{"x": 6, "y": None}]
    assert not fold(topic.read()).lost


def test_tombstones_keys_and_topics() -> None:
    topic = Topic()
    task = Task(topic, parts=("key", "value"))
    task.intake([Message({"a": 1}, {"id": 1}), Message(None, {"id": 2}), Message({"b": 1}, None, "u")])
    assert sorted((key.part, key.topic) for key in topic.said) == [("key", "t"), ("value", "t"), ("value", "u")]


def test_nothing_goes_on_that_could_not_be_kept() -> None:
    topic = Topic()

    def fails() -> None:
        raise ConnectError("Kafka is away")

    topic.before = fails
    task = Task(topic)
    with pytest.raises(ConnectError, match="Kafka is away"):
        task.put({"a": 1})
    assert Task(topic).put({"a": 1}) == [{"a": 1}]


def test_what_makes_no_sense_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    topic = Topic()
    topic.said = {
        Key("c", "value", "t", 0): {"version": 3, "shape": {"fields": [["a", "integer"]]}},
        Key("c", "value", "t", 1): {"version": "x", "shape": "integer"},
        Key("c", "value", "t", 2): [],
        Key("c", "value", "t", 3): {"version": 4, "shape": {"fields": [["a", "text"], ["b", "text"]]}},
    }
    known = folded(topic.read())["value", "t"].shape.fields
    assert {name: shape.kind.value for name, shape in known.items()} == {"a": "integer", "b": "text"}
    assert Task(topic).put({"a": 1}) == [{"a": 1, "b": None}]
    assert "is passed over" in caplog.text


def test_what_was_inferred_is_shown_and_can_be_pinned() -> None:
    topic = Topic()
    Task(topic).put({"id": 1, "lines": [{"price": 0.5}], "of": None, "tags": [], "any": [1, "x"]})
    (found,) = shown(topic.read())
    assert {each["field"]: each["type"] for each in found["fields"]} == {
        "id": "integer",
        "lines[].price": "double",
        "of": "null",
        "tags": "null",
        "any[]": "mixed text",
    }
    assert (found["topic"], found["part"], found["version"], found["at"]) == ("t", "value", 1, 1000)
    pinned = JsonConverter()
    pinned.configure({"schemas.enable": "false", "schemas.infer": "true", "schema.content": found["content"]})
    value = pinned.to_connect_data("t", b'{"id": 7, "lines": [{"price": 2}]}').value
    assert (value["id"], value["lines"][0]["price"], value["any"]) == (7, 2.0, None)


def test_the_schemas_of_a_thousand_topics_are_not_in_memory_at_once() -> None:
    """A reader asks for them: a worker had 600 MB of a thousand topics with a thousand fields each."""
    keys = [Key("c", "value", topic, 0) for topic in ("t", "u", "t2")]
    said = Parsed({key: json.dumps({"version": 1, "shape": {"fields": [["a", "integer"]]}}).encode() for key in keys})
    schemas = shown(said)
    assert (next(schemas)["topic"], said.parsed) == ("t", ["t"])
    assert [each["topic"] for each in schemas] == ["t2", "u"]


class Parsed(Said):
    """What is said, with the topics whose statements were parsed."""

    def __init__(self, values: Mapping[Key, bytes]) -> None:
        super().__init__(values)
        self.parsed: list[str] = []

    def __getitem__(self, key: Key) -> Any:
        self.parsed.append(key.topic)
        return super().__getitem__(key)


def test_no_name_of_a_field_is_a_reference_in_a_config_that_pins_it() -> None:
    """Who writes records names fields: a secret of the worker's would become the name of a column."""
    topic = Topic()
    name = "${file:/etc/secrets:password}"
    Task(topic).put({name: 1})
    (found,) = shown(topic.read())
    assert not references.find(found["content"]) and found["fields"][0]["field"] == name
    pinned = JsonConverter()
    pinned.configure({"schemas.enable": "false", "schemas.infer": "true", "schema.content": found["content"]})
    assert pinned.to_connect_data("t", json.dumps({name: 7}).encode()).value[name] == 7
