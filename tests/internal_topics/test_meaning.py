"""What each kind of record is said to mean; the config, status and offset records are those that Connect 4.3.1 wrote."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.core.state import assignment_records as ours
from kconnect.core.state import records
from kconnect.core.state.records import Topic, UnitId
from kconnect.internal_topics.contents import Stored
from kconnect.internal_topics.masking import Mask
from kconnect.internal_topics.meaning import meaning, time_text
from tests.internal_topics.logs import Log


def told(topic: Topic, key: str | bytes | None, value: Any, show: bool = False) -> tuple[str, str | None, str]:
    (record,) = Log().put(topic, key, value).records
    found = meaning(record, Mask.of([record], show))
    return found.kind, found.connector, found.text


def test_secrets_are_hidden_in_what_is_deleted_too() -> None:
    key = '["src",{"file":"a","password":"canary-7"}]'
    assert "canary" not in told(Topic.OFFSET, key, {"pos": 1})[2]
    assert told(Topic.OFFSET, key, None)[2] == 'offset of src for {"file":"a","password":"[hidden]"} deleted'


KEY = b'{"key":"c2VjcmV0","algorithm":"HmacSHA256","creation-timestamp":1795235898081}'
RUNNING = b'{"state":"RUNNING","trace":null,"worker_id":"127.0.0.1:28081","generation":4,"version":"4.3.1"}'
FAILED = b'{"state":"FAILED","trace":"a.b.Error: no file\\n\\tat c.d","worker_id":"h:1","generation":6,"version":null}'
USED = b'{"topic":{"name":"t1","connector":"my src","task":0,"discoverTimestamp":1795235898081}}'


@pytest.mark.parametrize(
    ("key", "value", "kind", "connector", "text"),
    [
        (
            "connector-my src",
            b'{"properties":{"connector.class":"a.b.FileSource","tasks.max":"2","x":null}}',
            *("connector", "my src", "connector config of my src: 3 settings, FileSource, tasks.max 2"),
        ),
        ("connector-x", None, "connector", "x", "connector x deleted"),
        (
            "task-my-src-10",
            b'{"properties":{"a":"b"}}',
            *("task", "my-src", "config of task 10 of my-src: 1 setting; in effect once committed"),
        ),
        ("commit-my src", b'{"tasks":1}', "commit", "my src", "commit of 1 task of my src"),
        ("commit-snk", b'{"tasks":0}', "commit", "snk", "commit of no tasks of snk"),
        (
            "target-state-snk",
            b'{"state":"PAUSED","state.v2":"STOPPED"}',
            *("target-state", "snk", "target state STOPPED of snk (workers older than 3.5 read PAUSED)"),
        ),
        ("target-state-snk", b'{"state":"STARTED","state.v2":"STARTED"}', "target-state", "snk", "target state STARTED of snk"),
        (
            "target-state-snk",
            b'{"state":"PAUSED"}',
            *("target-state", "snk", "target state PAUSED of snk (in the format of workers older than 3.5)"),
        ),
        ("target-state-my src", None, "target-state", "my src", "target state of my src removed"),
        (
            "restart-connector-my src",
            b'{"include-tasks":true,"only-failed":true}',
            *("restart", "my src", "restart of my src requested: its failed parts, with its tasks"),
        ),
        (
            "tasks-fencing-x",
            b'{"task-count":3}',
            *("fencing", "x", "3 tasks of x may have transactional producers (exactly-once)"),
        ),
        (
            "session-key",
            KEY,
            "session-key",
            None,
            "session key for HmacSHA256, created 2026-11-21 04:38:18.081; the key is not shown",
        ),
        (
            "logger-cluster-org.a",
            b'{"level":"debug"}',
            *("logger", None, "level debug of the logger org.a, for the workers that were running"),
        ),
        ("what-is-this", b"{}", "broken", None, "broken, unknown kind of key: what-is-this"),
        ("commit-x", b'{"tasks":"1"}', "broken", None, "broken, `tasks` is not an integer: commit-x"),
        ("target-state-x", b'{"state":"HIBERNATING"}', "broken", None, "broken, unknown target state: target-state-x"),
        ("task-x-0", None, "broken", None, "broken, a tombstone has no meaning here: task-x-0"),
        (None, b"{}", "broken", None, "broken, no key: (no key)"),
        (b"\xff\xfe", b"{}", "broken", None, "broken, key is not UTF-8: \\xff\\xfe"),
    ],
)
def test_records_of_the_config_topic(key: Any, value: Any, kind: str, connector: str | None, text: str) -> None:
    assert told(Topic.CONFIG, key, value) == (kind, connector, text)


@pytest.mark.parametrize(
    ("key", "value", "kind", "text"),
    [
        (
            "status-task-my src-0",
            RUNNING,
            *("status", "task 0 of my src is RUNNING on 127.0.0.1:28081, generation 4, version 4.3.1"),
        ),
        ("status-connector-my src", FAILED, "status", "connector my src is FAILED on h:1, generation 6: a.b.Error: no file"),
        ("status-connector-my src", None, "status", "status of connector my src removed"),
        ("status-topic-t1:connector-my src", USED, "topic-use", "task 0 of my src uses the topic t1"),
        (
            "topic-t1:connector-my src",
            b'{"topic":{"name":"t1","connector":"my src","task":0,"timestamp":1795235898}}',
            *("topic-use", "task 0 of my src uses the topic t1 (in the format of KIP-558's text)"),
        ),
        ("status-topic-t1:connector-my src", None, "topic-use", "use of the topic t1 by my src removed"),
    ],
)
def test_records_of_the_status_topic(key: str, value: Any, kind: str, text: str) -> None:
    assert told(Topic.STATUS, key, value) == (kind, "my src", text)


def test_records_of_the_offset_topic() -> None:
    key = b'["my src",{"filename":"/data/in.txt"}]'
    where = '{"filename":"/data/in.txt"}'
    assert told(Topic.OFFSET, key, b'{"position":6}') == (
        *("offset", "my src"),
        f'offset of my src for {where}: {{"position":6}}',
    )
    assert told(Topic.OFFSET, key, None) == ("offset", "my src", f"offset of my src for {where} deleted")
    assert told(Topic.OFFSET, b'["my src",null]', None)[2] == "offset of my src for null deleted"
    assert told(Topic.OFFSET, b"plain", b"1") == ("broken", None, "broken, not JSON: plain")


UNITS = frozenset((UnitId("x"), UnitId("x", 0), UnitId("x", 1)))


@pytest.mark.parametrize(
    ("entry", "kind", "text"),
    [
        (
            ours.leader(ours.Leader("n1:1", "http://n1:1/", 7, 3)),
            *("leader", "worker n1:1 leads, at http://n1:1/: generation 7, term 3"),
        ),
        (
            ours.assignment(ours.Assignment("n1:1", UNITS, 7, 20)),
            *("assignment", "worker n1:1 is assigned 1 connector, 2 tasks: x, x-0, x-1 (generation 7, configs up to 20)"),
        ),
        (ours.assignment(ours.Assignment("n1:1", None)), "assignment", "assignment of worker n1:1 removed"),
        (
            ours.placement(ours.Placement("n1:1", {1: {UnitId("x"): 0}}, 7, 2, "i", leaving=True)),
            *("placement", "worker n1:1 places host 1: 1 connector, 0 tasks: x (generation 7, revision 2) and is leaving"),
        ),
        (ours.placement(ours.Placement("n1:1", None)), "placement", "placement of worker n1:1 removed"),
        (
            ours.held(ours.Held("n1:1", 2, UNITS, 7, 2, "i", "w", ("node", 42, 1.0), 1, {UnitId("x", 0): ours.Wait(1, 1)})),
            "held",
            "host 2 of worker n1:1 holds 1 connector, 2 tasks: x, x-0, x-1 (generation 7, revision 2), pid 42 on node; "
            "waiting: x-0",
        ),
        (ours.held(ours.Held("n1:1", 2, None)), "held", "host 2 of worker n1:1 holds nothing any more"),
        (
            ours.generated_tasks(ours.GeneratedTasks("x", ({"a": "b"},), 9)),
            *("generated-tasks", "x generated 1 task config from the configs up to 9"),
        ),
        (ours.generated_tasks(ours.GeneratedTasks("x", None)), "generated-tasks", "generated task configs of x removed"),
        (
            ours.fencing_failed(ours.FencingFailed("x", "no right\nat all", 3)),
            *("fencing-failed", "fencing of x failed: no right"),
        ),
        (ours.fencing_failed(ours.FencingFailed("x", None)), "fencing-failed", "failed fencing of x settled"),
        (
            ours.topics_reset(ours.TopicsReset("x", 2)),
            *("topics-reset", "topics used by x were reset (reset 2)"),
        ),
        (ours.topics_reset(ours.TopicsReset("x", None)), "topics-reset", "count of the topic resets of x removed"),
    ],
)
def test_records_of_the_assignment_topic(entry: records.Entry, kind: str, text: str) -> None:
    found = told(Topic.ASSIGNMENT, entry.key, entry.value)
    assert (found[0], found[2]) == (kind, text)


def test_a_record_of_a_newer_kconnect() -> None:
    said = told(Topic.ASSIGNMENT, "leader", {"format": 2})
    assert said == ("newer", None, "leader: written by a newer kconnect, in format 2; this one knows format 1")


class TestSecrets:
    LOG = (
        Log()
        .connector("x", 1, **{"db.password": "hunter2222", "url": "jdbc:x://u:pa55word@h/", "ref.password": "${file:/a:b}"})
        .status("status-connector-x", {"state": "FAILED", "trace": "bad hunter2222", "worker_id": "h:1", "generation": 1})
        .offset("x", {"url": "jdbc:x://u:pa55word@h/"}, {"api.token": "zzzzzz", "at": 1})
        .config("session-key", KEY)
        .config("connector-y", b'{"properties":"hunter3333"}')
    )

    def texts(self, show: bool) -> str:
        mask = Mask.of(self.LOG.records, show)
        return "\n".join(f"{found.text} {found.value}" for found in (meaning(record, mask) for record in self.LOG.records))

    def test_are_hidden_wherever_they_stand(self) -> None:
        said = self.texts(show=False)
        for secret in ("hunter2222", "pa55word", "zzzzzz", "c2VjcmV0", "hunter3333"):
            assert secret not in said
        assert "${file:/a:b}" in said, "a reference is no secret"
        assert "bad [hidden]" in said

    def test_are_shown_if_asked_for_but_for_session_keys(self) -> None:
        said = self.texts(show=True)
        for secret in ("hunter2222", "pa55word", "zzzzzz", "hunter3333"):
            assert secret in said
        assert "c2VjcmV0" not in said

    def test_a_short_one_is_hidden_in_its_setting(self) -> None:
        record = Log().config("connector-x", {"properties": {"db.password": "a"}}).records[0]
        assert meaning(record, Mask.of([record])).value == {"properties": {"db.password": "[hidden]"}}


@pytest.mark.parametrize(
    ("at_ms", "text"),
    [(-1, "-"), (0, "1970-01-01 00:00:00.000"), (1795235898081, "2026-11-21 04:38:18.081"), (2**62, f"{2**62} ms")],
)
def test_times(at_ms: int, text: str) -> None:
    assert time_text(at_ms) == text


def test_a_meaning_is_one_line() -> None:
    record = Stored(Topic.CONFIG, 0, 0, b"connector-a\nb", None)
    assert meaning(record, Mask()).text == "connector a b deleted"


def test_records_of_the_topic_of_schemas() -> None:
    shape = {"fields": [["a", "text"], ["b", {"element": {"fields": [["c", "mixed"]]}}]]}
    (record,) = Log().inferred("my snk", "orders", shape, task=3).records
    found = meaning(record, Mask.of([record]))
    said = "task 3 of my snk has inferred the schema of the values of orders: 3 fields, version 2"
    assert (found.kind, found.connector, found.text) == ("schema", "my snk", said)
    key = '["my snk","value","orders",3]'
    assert told(Topic.SCHEMAS, key, None)[2] == "schema of the values of orders that task 3 of my snk inferred removed"
    assert told(Topic.SCHEMAS, "orders", {})[2] == "broken, not JSON: orders"
    assert told(Topic.SCHEMAS, '["a","value","t"]', {})[2] == 'broken, unknown kind of key: ["a","value","t"]'
    assert told(Topic.SCHEMAS, key, {"shape": {"fields": 1}})[2] == f"broken, `shape` is no inferred schema: {key}"
