"""`kconnect preview` and `kconnect test` with chains that have parts in Java."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kconnect.api.record import Header, SourceRecord
from kconnect.data.schema import STRING_SCHEMA
from kconnect.plugins.registry import Registry
from kconnect.preview import preview
from kconnect.preview.preview import Message, Preview

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]

CHAIN = {
    "connector.class": "rig.NumbersSource",
    "topic": "t",
    "transforms": "loud,hoist",
    "transforms.loud.type": "rig.Shout",
    "transforms.loud.predicate": "short",
    "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
    "transforms.hoist.field": "text",
    "predicates": "short",
    "predicates.short.type": "rig.IsShort",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "header.converter": "rig.Dashes",
}


def chain(java_plugin: Path, kind: str = "source", **changes: str) -> Preview:
    plugins = Registry.scan([str(java_plugin.parent)])
    config = {name: text for name, text in {**CHAIN, **changes}.items() if text}
    assert preview.kind_of(CHAIN, plugins) == "source"
    return Preview(config, kind, preview.worker_settings({}, {}), plugins)


def text(value: str) -> SourceRecord:
    return SourceRecord(None, None, "t", value_schema=STRING_SCHEMA, value=value, headers=[Header("h", "head", STRING_SCHEMA)])


def test_each_step_is_seen(java_plugin: Path) -> None:
    outcome = chain(java_plugin).record(text("abc"))
    loud, hoist = outcome.steps
    assert loud.predicate is not None and (loud.predicate.result, loud.applied) == (True, True)
    assert loud.record is not None and loud.record["value"]["payload"] == "ABC!"
    assert hoist.predicate is None and outcome.value == b'{"text":"ABC!"}'
    assert outcome.headers == (("h", b"-head-"),)


def test_a_step_whose_predicate_does_not_hold_is_not_taken(java_plugin: Path) -> None:
    made = chain(java_plugin)
    for value, taken in (("much too long for it", False), ("abc", True), ("much too long for it", False)):
        outcome = made.record(text(value))
        (loud, _) = outcome.steps
        assert loud.predicate is not None and (loud.predicate.result, loud.applied) == (taken, taken)
    assert outcome.value == b'{"text":"much too long for it"}'


def test_what_fails_in_java_is_told_with_its_step(java_plugin: Path) -> None:
    outcome = chain(java_plugin).record(text("bad"))
    assert outcome.out is None and outcome.error is not None
    assert (outcome.error.stage, outcome.error.alias) == ("TRANSFORMATION", "loud")
    assert outcome.error.class_name == "org.apache.kafka.connect.errors.DataException"
    assert outcome.error.message == "it does not shout bad"


def test_a_sink_s_messages_are_read_by_java(java_plugin: Path) -> None:
    class WithHeaders(Message):
        def headers(self) -> list[tuple[str, bytes | None]]:
            return [("h", b"-head-")]

    changes = {"connector.class": "rig.RecordingSink", "topic": "", "topics": "t", "file": "f", "transforms": "loud"}
    changes |= {"value.converter": "rig.Brackets", "value.converter.schemas.enable": ""}
    made = chain(java_plugin, "sink", **changes)
    outcome = made.message(WithHeaders({"topic": "t"}, None, b"[abc]"))
    assert outcome.out is not None and outcome.out["value"]["payload"] == "ABC!"
    assert outcome.out["headers"][0]["value"]["payload"] == "head"
    failed = made.message(Message({"topic": "t"}, None, b"abc"))
    assert failed.error is not None and failed.error.stage == "VALUE_CONVERTER"


@pytest.mark.long
def test_the_commands(java_plugin: Path, tmp_path: Path) -> None:
    """In processes of their own, which end though a JVM runs in them."""
    (tmp_path / "worker.properties").write_text(f"plugin.path={java_plugin.parent}\n")
    (tmp_path / "c.json").write_text(json.dumps(CHAIN))
    (tmp_path / "records").write_text(json.dumps({"topic": "t", "value": "abc"}))
    shown = run(tmp_path, "preview", "-f", "c.json", "--input", "records", "-w", "worker.properties", "-o", "json")
    outcome = json.loads(shown)
    assert outcome["steps"][0]["predicate"]["result"] is True
    assert base64.b64decode(outcome["value_bytes"]) == b'{"text":"ABC!"}'
    case = {"name": "a", "in": {"topic": "t", "value": "abc"}, "expect": {"value_json": {"text": "ABC!"}}}
    (tmp_path / "cases.yaml").write_text(json.dumps({"config": "c.json", "cases": [case]}))
    assert run(tmp_path, "test", "cases.yaml", "-w", "worker.properties").endswith("1 case: 1 passed, 0 failed\n")


def run(directory: Path, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "kconnect", *arguments], cwd=directory, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
