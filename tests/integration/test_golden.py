"""
Random records, schemas, values and settings, given to ours and to Connect's own classes: both do the same. And what Connect's
classes answer here to the cases of the golden files is what the files say. What REST answers they read, too.

Needs a JDK, and the jars of Connect, which it fetches; without them it fails and says so. `KCONNECT_FRESH_CASES` sets how many
cases there are, `KCONNECT_FRESH_SEED` repeats those of a run; without one they are new with `KCONNECT_EXPLORE` only.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from kconnect.rest.app import RestSettings, build
from tests.golden import envelopes
from tests.rest.cluster import ClusterHerder
from tests.rest.conftest import ADVERTISED, Http
from tests.rig.golden import fresh, oracle, run
from tests.rig.golden.errors import TEXTS_OF_THE_JVM
from tests.support import seed

# As long as the oracle may take, in a JVM of its own.
pytestmark = [pytest.mark.process, pytest.mark.timeout(900)]

COUNT = int(os.environ.get("KCONNECT_FRESH_CASES") or 200)
SEED = seed("KCONNECT_FRESH_SEED")


@pytest.mark.long
def test_fresh_cases(tmp_path: Path) -> None:
    said: list[str] = [f"seed {SEED}; those that differ are in {tmp_path}"]
    results = fresh.check(SEED, COUNT, tmp_path)
    all_passed = run.report(results, said.append, differences=5)
    assert all_passed, "\n".join(said)
    assert sum(result.passed for result in results) == COUNT


# What a case has only once it is answered. Of plugins' versions the program knows nothing, nor of topic creation.
ANSWERS = {
    "transforms": ("out", "error", "validation"),
    "predicates": ("result", "error", "validation"),
    "chains": ("outs",),
    "converters": ("error", "out", "bytes_base64"),
    "converter_sequences": ("results",),
    "header_converters": ("error", "out", "bytes_base64", "java_null"),
    "values": ("schema_type", "schema_name", "schema", "value_json", "types", "to_string", "java_null", "error"),
    "values_convert": ("out", "error"),
    "projector": ("out", "error"),
    "validate": ("valid", "error"),
    "java_regex": ("full_match", "groups", "result", "error"),
    "simple_date_format": ("millis", "text", "parsed_chars", "error"),
}


def test_what_asks_connect_understands_the_format() -> None:
    known = [(name, case) for name in ANSWERS for case in envelopes.load(f"{name}.jsonl")]
    known = [(name, case) for name, case in known if case.get("kind") != "topic_creation"]
    asked = []
    for name, case in known:
        given = "bytes_base64" if case.get("direction", "").startswith("to") else "text" if case.get("kind") == "parse" else ""
        given = "millis" if case.get("kind") == "format" else given
        asked.append((name, {key: value for key, value in case.items() if key not in ANSWERS[name] or key == given}))
    for (name, case), answered in zip(known, oracle.ask(asked)):
        for key in ANSWERS[name]:
            assert told(answered.get(key)) == told(case.get(key)), (case["id"], key)


def told(part: Any) -> Any:
    """What is compared of an answer: not the JVM's own words, nor bytes once more as a text, nor phases, which some lack."""
    if isinstance(part, dict):
        is_error = {"class", "message"} <= part.keys()
        left_out = {"phase"} if is_error else {"text"}
        if is_error and part["class"] in TEXTS_OF_THE_JVM:
            left_out.add("message")
        return {key: told(value) for key, value in part.items() if key not in left_out}
    return list(map(told, part)) if isinstance(part, list) else part


ENTITIES = "org.apache.kafka.connect.runtime.rest.entities."
FILE_SOURCE = {"connector.class": "FileStreamSource", "file": "in.txt", "topic": "t", "tasks.max": "2"}
CHAIN = {
    **{"transforms": "c", "transforms.c.type": "org.apache.kafka.connect.transforms.Cast$Value", "transforms.c.spec": "int8"},
    **{"transforms.c.predicate": "p", "predicates": "p", "predicates.p.type": "RecordIsTombstone"},
    **{"value.converter": "org.apache.kafka.connect.json.JsonConverter", "producer.override.linger.ms": "x"},
    **{"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"},
}
ANSWERS_OF_REST = (
    ("GET", "/", None, "*ServerInfo"),
    ("GET", "/health", None, "*WorkerStatus"),
    ("POST", "/connectors", {"name": "a", "config": FILE_SOURCE, "initial_state": "STOPPED"}, "*ConnectorInfo"),
    ("POST", "/connectors", {"name": "b", "config": {**FILE_SOURCE, "tasks.isolation": "dedicated"}}, "*ConnectorInfo"),
    ("POST", "/connectors", {"name": "b", "config": FILE_SOURCE}, "*ErrorMessage"),
    ("PUT", "/connectors/b/config", {**FILE_SOURCE, "tasks.max": "1"}, "*ConnectorInfo"),
    ("PATCH", "/connectors/b/config", {"tasks.max": "2"}, "*ConnectorInfo"),
    ("GET", "/connectors", None, "java.util.List<java.lang.String>"),
    ("GET", "/connectors?expand=info", None, "java.util.Map<java.lang.String,java.util.Map<java.lang.String,*ConnectorInfo>>"),
    (
        "GET",
        "/connectors?expand=status",
        None,
        "java.util.Map<java.lang.String,java.util.Map<java.lang.String,*ConnectorStateInfo>>",
    ),
    ("GET", "/connectors/b", None, "*ConnectorInfo"),
    ("GET", "/connectors/b/config", None, "java.util.Map<java.lang.String,java.lang.String>"),
    ("GET", "/connectors/b/status", None, "*ConnectorStateInfo"),
    ("GET", "/connectors/b/tasks", None, "java.util.List<*TaskInfo>"),
    ("GET", "/connectors/b/tasks/0/status", None, "*ConnectorStateInfo$TaskState"),
    ("POST", "/connectors/b/restart?includeTasks=true", None, "*ConnectorStateInfo"),
    ("GET", "/connectors/b/topics", None, "java.util.Map<java.lang.String,java.util.Map<java.lang.String,java.lang.Object>>"),
    ("GET", "/connectors/a/offsets", None, "*ConnectorOffsets"),
    (
        "PATCH",
        "/connectors/a/offsets",
        {"offsets": [{"partition": {"filename": "in.txt"}, "offset": {"position": 1}}]},
        "*Message",
    ),
    ("GET", "/connectors/a/offsets", None, "*ConnectorOffsets"),
    ("DELETE", "/connectors/a/offsets", None, "*Message"),
    ("GET", "/connector-plugins?connectorsOnly=false", None, "java.util.List<*PluginInfo>"),
    ("GET", "/connector-plugins/FileStreamSource/config", None, "java.util.List<*ConfigKeyInfo>"),
    ("GET", "/connector-plugins/JsonConverter/config", None, "java.util.List<*ConfigKeyInfo>"),
    ("PUT", "/connector-plugins/FileStreamSource/config/validate", {"name": "v", **FILE_SOURCE, **CHAIN}, "*ConfigInfos"),
    ("GET", "/admin/loggers", None, "java.util.Map<java.lang.String,*LoggerLevel>"),
    ("GET", "/admin/loggers/root", None, "*LoggerLevel"),
    ("GET", "/nowhere", None, "*ErrorMessage"),
)
"""A request a line, and the class by which Connect's own clients read the answer; * is the package of these."""


def test_connect_s_own_classes_read_every_answer_strictly_and_write_the_same() -> None:
    """A field that Connect has not would make them fail; what one of theirs needs would be missing in what they write."""
    sandbox = Sandbox(Registry.scan(None))
    try:
        herder = ClusterHerder(sandbox)
        http, cases = Http(build(herder, RestSettings(ADVERTISED))), []
        for method, path, body, entity in ANSWERS_OF_REST:
            herder.cluster.settle()
            response = http(method, path, **({} if body is None else {"json": body}))
            given = {"id": f"{method} {path}", "class": entity.replace("*", ENTITIES), "body": response.json()}
            cases.append(("entities", given))
    finally:
        sandbox.close()
    for answered in oracle.ask(cases):
        assert answered.get("out") == answered["body"], answered
