"""The engine of `kconnect preview`: what it shows is what a task does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kconnect.api import ConfigDef, ConfigError, ConnectError, Predicate, SinkRecord, SourceRecord, Transformation
from kconnect.errors import RetriableError
from kconnect.plugins.registry import Registry
from kconnect.preview import preview
from kconnect.preview.envelopes import to_record
from kconnect.preview.preview import Preview
from tests.golden import envelopes as golden
from tests.preview.test_envelopes import as_java_has_it
from tests.transforms.test_golden import PLUGINS, chain_config

SETTINGS = preview.worker_settings({}, {})
CASES = [case for case in golden.load("transforms.jsonl") if not case["error"] or case["error"]["phase"] == "apply"]
ZEROS = {"cast-value-source-table-float-1", "cast-value-source-table-double-10"}
"""Given -0.0, which the program that made the files read as 0.0. A preview takes what it is given."""


def test_every_golden_transform() -> None:
    for case in CASES:
        if case["id"] in ZEROS:
            continue
        chain = Preview(chain_config([case]), case["kind"], SETTINGS, PLUGINS)
        record: Any = preview.read(case["in"], case["kind"])
        outcome = json.loads(json.dumps(chain.record(record).as_json()))
        (step,) = outcome["steps"]
        assert unordered(step["record"]) == unordered(case["out"]), case["id"]
        # What comes out of a transform, the converter may refuse.
        assert (case["error"] is not None) is (outcome["error"] is not None and outcome["error"]["alias"] == "t0"), case["id"]


def unordered(part: Any) -> Any:
    """The pairs of maps have no order."""
    if isinstance(part, dict):
        return {name: unordered(each) for name, each in as_java_has_it(part).items()}
    if isinstance(part, list) and part and all(isinstance(pair, list) and len(pair) == 2 for pair in part):
        return sorted(map(unordered, part), key=repr)
    return list(map(unordered, part)) if isinstance(part, list) else part


class Plugins(Registry):
    """The built-in plugins, and a test's own."""

    def __init__(self, **own: type[Any]) -> None:
        super().__init__(PLUGINS.plugins)
        self._own = own

    def find(self, name: str, kind: str, version: str | None = None, beside: str | None = None) -> Any:
        return None if name in self._own else super().find(name, kind, version, beside)

    def load(self, name: str, kind: str, version: str | None = None, beside: str | None = None) -> type[Any]:
        return self._own[name] if name in self._own else super().load(name, kind, version, beside)


class Own(Transformation[Any]):
    def configure(self, configs: Any) -> None: ...

    def config(self) -> ConfigDef:
        return ConfigDef()

    def apply(self, record: Any) -> Any:
        return record


class Always(Predicate):
    tests = 0

    def configure(self, configs: Any) -> None: ...

    def config(self) -> ConfigDef:
        return ConfigDef()

    def test(self, record: Any) -> bool:
        type(self).tests += 1
        return True


CONFIG = {
    **{"transforms": "own", "transforms.own.type": "Own", "transforms.own.predicate": "p"},
    **{"predicates": "p", "predicates.p.type": "Always"},
}
RECORD = SourceRecord(None, None, "t", value={"a": 1})


def chain(transform: type[Any], predicate: type[Any] = Always, /, **config: str) -> Preview:
    return Preview({**CONFIG, **config}, "source", SETTINGS, Plugins(Own=transform, Always=predicate))


def test_a_predicate_is_asked_once_a_record() -> None:
    class Counting(Always):
        tests = 0

    made = chain(Own, Counting)
    assert [made.record(RECORD).error for _ in range(3)] == [None] * 3
    assert Counting.tests == 3


def test_the_form_for_batches_is_used_and_what_it_fails_on_is_tried_alone() -> None:
    calls = []

    class Batches(Own):
        def apply_all(self, records: Any) -> Any:
            calls.append("all")
            raise ConnectError("no")

        def apply(self, record: Any) -> Any:
            calls.append("one")
            return record.new_record(topic="u")

    outcome = chain(Batches).record(RECORD)
    assert calls == ["all", "one"]
    assert outcome.out is not None
    assert outcome.out["topic"] == "u"
    assert outcome.steps[0].applied


def test_a_predicate_that_fails() -> None:
    class Failing(Always):
        def test(self, record: Any) -> bool:
            raise KeyError("x")

    outcome = chain(Own, Failing).record(RECORD)
    (step,) = outcome.steps
    assert (step.applied, step.predicate and step.predicate.result, step.record) == (False, None, None)
    assert outcome.error is not None
    assert (outcome.error.stage, outcome.error.alias, outcome.error.class_name) == ("TRANSFORMATION", "own", "KeyError")


def test_what_a_step_changes_in_place_is_not_in_the_record_before_it() -> None:
    class Rude(Own):
        def apply(self, record: Any) -> Any:
            record.value["a"] += 1
            return record

    outcome = chain(Rude).record(SourceRecord(None, None, "t", value={"a": 1}))
    assert outcome.record["value"]["payload"] == {"a": 1}
    assert outcome.out is not None
    assert outcome.out["value"]["payload"] == {"a": 2}


def test_a_transform_that_gives_no_record() -> None:
    class Wrong(Own):
        def apply(self, record: Any) -> Any:
            return "text"

    error = chain(Wrong).record(RECORD).error
    assert error is not None
    assert error.message == "The transform own gave a str, where a record or None may be given"


def test_nothing_is_tried_again() -> None:
    calls = []

    class Busy(Own):
        def apply(self, record: Any) -> Any:
            calls.append(record)
            raise RetriableError("later")

    outcome = chain(Busy, **{"errors.retry.timeout": "-1"}).record(RECORD)
    assert len(calls) == 1
    assert outcome.error is not None
    assert outcome.error.class_name.endswith("RetriableException")


def test_a_message_reads_as_the_consumers_would() -> None:
    body = {"topic": "t", "partition": 3, "offset": 9, "timestamp": 5, "key_text": '"k"', "value_bytes": "MQ=="}
    config = {"key.converter": "JsonConverter", "key.converter.schemas.enable": "false", "value.converter": "StringConverter"}
    message = preview.read(body, "sink")
    assert isinstance(message, preview.Message)
    outcome = Preview(config, "sink", SETTINGS, PLUGINS).message(message)
    wanted = SinkRecord("t", 3, None, "k", None, "1", 9)
    assert outcome.out is not None
    assert outcome.out["key"] == to_record(wanted)["key"]
    assert outcome.out["value"]["payload"] == "1"
    assert [outcome.out[name] for name in ("partition", "offset", "timestamp")] == [3, 9, 5]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"topic": "t", "key_text": "a", "key_bytes": "YQ=="}, "`key_text` and `key_bytes` are two forms of one thing"),
        ({"topic": "t", "key_bytes": "#"}, "`key_bytes` must be base64"),
        ({"topic": "t", "key_text": "a", "value": 1}, "a record of bytes has a `topic`, and no `key`, `value` or `headers`"),
        ({"key_text": "a"}, "a record of bytes has a `topic`"),
        ({"topic": "t", "key_text": "a", "offset": "1"}, "`offset` must be a whole number or null, not a text"),
    ],
    ids=str,
)
def test_bytes_that_are_none(body: dict[str, Any], said: str) -> None:
    with pytest.raises(ConnectError) as raised:
        preview.read(body, "sink")
    assert said in str(raised.value)


def test_references_of_the_chain_are_resolved_and_others_are_not_asked_for(tmp_path: Path) -> None:
    (tmp_path / "it").write_text("canary-8d")
    worker = {"config.providers": "dir", "config.providers.dir.class": "DirectoryConfigProvider"}
    config = {
        "connector.class": "Nowhere",
        "db.password": "${vault:a:b}",
        "transforms": "hoist",
        "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
        "transforms.hoist.field": f"${{dir:{tmp_path}:it}}",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    chain = Preview(config, "source", preview.worker_settings(worker, {}), Registry.scan([]))
    outcome = chain.record(SourceRecord({}, {}, "t", value="x"))
    assert outcome.value == b'{"canary-8d":"x"}'
    chain.close()
    with pytest.raises(ConfigError, match=r"\$\{dir:.*:it\} can't be resolved: there is no provider dir.*-w"):
        Preview(config, "source", preview.worker_settings({}, {}), Registry.scan([]))
