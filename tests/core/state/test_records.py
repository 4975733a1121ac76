"""The bytes of the internal topics, against records that Kafka Connect 4.3.1 wrote or read."""

from __future__ import annotations

import pytest

from kconnect.core.state import assignment_records as ours
from kconnect.core.state import records
from kconnect.core.state.assignment_records import (
    Assignment,
    Blame,
    FencingFailed,
    GeneratedTasks,
    Held,
    HostSpec,
    Leader,
    Placement,
    Wait,
)
from kconnect.core.state.records import (
    Broken,
    Entry,
    LogRecord,
    State,
    TargetState,
    TargetStateChange,
    Topic,
    TopicUse,
    UnitId,
    UnitStatus,
)


def read(topic: Topic, key: bytes | None, value: bytes | None) -> LogRecord:
    return LogRecord(topic, 0, 0, key, value)


def again(entry: Entry) -> LogRecord:
    return read(entry.topic, entry.key, entry.value)


class TestConfigTopic:
    def test_stop_is_written_so_that_old_workers_see_paused(self) -> None:
        entry = records.target_state("snk", TargetState.STOPPED)
        assert entry.key == b"target-state-snk"
        assert entry.value == b'{"state":"PAUSED","state.v2":"STOPPED"}'

    @pytest.mark.parametrize(
        ("value", "state"),
        [
            (b'{"state":"PAUSED"}', TargetState.PAUSED),
            (b'{"state":"PAUSED","state.v2":"STOPPED"}', TargetState.STOPPED),
            (b'{"state":"PAUSED","state.v2":"PAUSED"}', TargetState.PAUSED),
            (b'{"state":"STOPPED"}', TargetState.STOPPED),
            (b'{"state":"PAUSED","state.v2":7}', TargetState.PAUSED),
            (b'{"state.v2":"STOPPED"}', TargetState.STOPPED),
        ],
    )
    def test_target_states_as_connect_4_reads_them(self, value: bytes, state: TargetState) -> None:
        decoded = records.decode_config(read(Topic.CONFIG, b"target-state-c", value))
        assert decoded == TargetStateChange("c", state)

    @pytest.mark.parametrize(
        "value", [b'{"state":"PAUSED","state.v2":"HIBERNATING"}', b'{"state":"HIBERNATING"}', b"not json", b"[]"]
    )
    def test_target_states_that_connect_4_ignores(self, value: bytes) -> None:
        assert isinstance(records.decode_config(read(Topic.CONFIG, b"target-state-c", value)), Broken)

    def test_task_sets_end_with_their_commit(self) -> None:
        entries = records.task_configs("my src", [{"file": "a"}, {"file": "b"}])
        assert [entry.key for entry in entries] == [b"task-my src-0", b"task-my src-1", b"commit-my src"]
        assert entries[0].value == b'{"properties":{"file":"a"}}'
        assert entries[2].value == b'{"tasks":2}'

    def test_the_task_number_follows_the_last_dash(self) -> None:
        decoded = records.decode_config(read(Topic.CONFIG, b"task-a-1-2", b'{"properties":{}}'))
        assert decoded == records.TaskConfig("a-1", 2, {})

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            (None, b"{}"),
            (b"", b"{}"),
            (b"\xff\xfe", b"{}"),
            (b"what-is-this", b"{}"),
            (b"connector-bad", b"{}"),
            (b"connector-bad", b'{"properties":{"a":{}}}'),
            (b"task-c-0", None),
            (b"task-c", b'{"properties":{}}'),
            (b"commit-c", b'{"tasks":"1"}'),
            (b"commit-c", b'{"tasks":true}'),
            (b"session-key", None),
            (b"session-key", b'{"key":1}'),
        ],
    )
    def test_unknown_keys_and_broken_values_are_broken_and_never_quoted(self, key: bytes | None, value: bytes | None) -> None:
        decoded = records.decode_config(read(Topic.CONFIG, key, value))
        assert isinstance(decoded, Broken)
        assert '"a"' not in decoded.reason

    def test_a_session_key_never_shows_in_its_text(self) -> None:
        value = b'{"key":"c2VjcmV0","algorithm":"HmacSHA256","creation-timestamp":1}'
        decoded = records.decode_config(read(Topic.CONFIG, b"session-key", value))
        assert isinstance(decoded, records.SessionKey)
        assert "c2VjcmV0" not in repr(decoded)


class TestStatusTopic:
    def test_a_status_is_written_in_connects_field_order(self) -> None:
        entry = records.status(UnitId("my src", 0), UnitStatus(State.RUNNING, "h:1", 4, None, "4.3.1"))
        assert entry.key == b"status-task-my src-0"
        assert entry.value == (b'{"state":"RUNNING","trace":null,"worker_id":"h:1","generation":4,"version":"4.3.1"}')

    def test_statuses_without_version_come_from_older_workers(self) -> None:
        value = b'{"state":"RUNNING","trace":null,"worker_id":"h:1","generation":4}'
        decoded = records.decode_status(read(Topic.STATUS, b"status-connector-c", value))
        assert decoded == records.StatusChange(UnitId("c"), UnitStatus(State.RUNNING, "h:1", 4))

    def test_topic_use_has_two_forms(self) -> None:
        kip, apache = records.topic_use("c:x", "t", 0, 1795235898081, ["kip-558", "apache"])
        assert kip.key == b"topic-t:connector-c:x"
        assert apache.key == b"status-topic-t:connector-c:x"
        assert apache.value == (b'{"topic":{"name":"t","connector":"c:x","task":0,"discoverTimestamp":1795235898081}}')
        assert records.decode_status(again(kip)) == TopicUse("c:x", "t", 0, "kip-558")
        assert records.decode_status(again(apache)) == TopicUse("c:x", "t", 0, "apache")


class TestAssignmentTopic:
    @pytest.mark.parametrize(
        "entry, value",
        [
            (ours.leader(Leader("h:1", "http://h:1/", 3)), Leader("h:1", "http://h:1/", 3)),
            *(
                (make(value), value)  # type: ignore[operator]
                for make, value in [
                    (ours.assignment, Assignment("h:1", frozenset({UnitId("a"), UnitId("a", 3)}), 4, 17)),
                    (ours.assignment, Assignment("h:1", None)),
                    (ours.placement, Placement("h:1", {0: {UnitId("a", 1): 2}, 1: {}}, 4, 5, "0001-x")),
                    (ours.placement, Placement("h:1", {4: {}}, specs={4: HostSpec(("/p/a-1", "/p/b-2"), group=3)})),
                    (ours.placement, Placement("h:1", {4: {}}, version="0.1.0")),
                    (ours.placement, Placement("h:1", {4: {}}, specs={4: HostSpec((), UnitId("a", 1), 2**26)})),
                    (ours.held, Held("h:1", 0, frozenset({UnitId("a", 3)}), stuck=frozenset({UnitId("a", 3)}))),
                    (ours.held, Held("h:1", 0, frozenset({UnitId("a")}), blamed={UnitId("a"): Blame(7, 1, "SIGSEGV")})),
                    (ours.held, Held("h:1", 0, frozenset({UnitId("a")}), suspected=frozenset({UnitId("a", 3)}))),
                    (ours.held, Held("h-x:1", 12, frozenset({UnitId("a")}), 4, 5, "i", "w", ("node", 7, 1.5), 3)),
                    (ours.held, Held("h:1", 0, None)),
                    (ours.held, Held("h:1", 0, frozenset({UnitId("a", 3)}), waiting={UnitId("a", 3): Wait(41, 2)})),
                    (ours.fencing_failed, FencingFailed("a-b", "no", 41, {("h-x:1", 12): ("i", 3)})),
                    (ours.fencing_failed, FencingFailed("a-b", None)),
                    (ours.generated_tasks, GeneratedTasks("a-b", ({"x": "1"},), 9)),
                ]
            ),
        ],
    )
    def test_what_is_written_is_read_back(self, entry: Entry, value: object) -> None:
        assert ours.decode_assignment(again(entry)) == value

    def test_a_newer_format_is_told_from_a_broken_record(self) -> None:
        decoded = ours.decode_assignment(read(Topic.ASSIGNMENT, b"leader", b'{"format":99}'))
        assert decoded == ours.NewerFormat("leader", 99)

    @pytest.mark.parametrize(
        ("key", "body"),
        [
            (b"placement-w", b'"hosts":{"0":{"c":[1]}},"generation":1,"revision":1,"incarnation":"i"'),
            (b"placement-w", b'"hosts":{},"generation":1,"revision":1,"incarnation":"i","specs":{"0":{"unit":["c"]}}'),
            (b"placement-w", b'"hosts":{},"generation":1,"revision":1,"incarnation":"i","specs":[7]'),
            (b"held-w-0", b'"waiting":{"c":[1]}'),
            (b"held-w-0", b'"stuck":["c"]'),
            (b"held-w-0", b'"suspected":["c"]'),
            (b"held-w-0", b'"blamed":{"c":{"0":[7,1]}}'),
            (b"held-w-0", b'"waiting":{"c":{"0":7}}'),
            (b"fencing-c", b'"error":"e","tasks_offset":1,"hosts":{"w-0":["i"]}'),
        ],
    )
    def test_what_is_of_another_shape_is_broken_and_stops_no_reader(self, key: bytes, body: bytes) -> None:
        if key == b"held-w-0":
            body += b',"units":{},"generation":1,"revision":1,"incarnation":"i","worker_incarnation":"i","sequence":1'
        decoded = ours.decode_assignment(read(Topic.ASSIGNMENT, key, b'{"format":1,' + body + b"}"))
        assert isinstance(decoded, Broken)

    def test_a_placement_of_before_there_were_specs_has_plain_hosts(self) -> None:
        value = b'{"format":1,"hosts":{"0":{"c":{"0":7}}},"generation":1,"revision":2,"incarnation":"i","leaving":false}'
        decoded = ours.decode_assignment(read(Topic.ASSIGNMENT, b"placement-w", value))
        assert decoded == Placement("w", {0: {UnitId("c", 0): 7}}, 1, 2, "i")
        assert isinstance(decoded, Placement) and decoded.spec(0) == ours.PLAIN

    def test_unknown_fields_are_ignored(self) -> None:
        value = b'{"format":1,"worker":"w","url":"u","generation":1,"new":{}}'
        assert ours.decode_assignment(read(Topic.ASSIGNMENT, b"leader", value)) == Leader("w", "u", 1)


class TestOffsetTopic:
    def test_the_key_is_kept_as_it_was_read(self) -> None:
        key = b'["my src",{"b":1, "a":"x"}]'
        decoded = records.decode_offset(read(Topic.OFFSET, key, b'{"position":6}'))
        assert decoded == records.SourceOffset("my src", {"b": 1, "a": "x"}, {"position": 6}, key)

    def test_new_keys_are_compact_json(self) -> None:
        assert records.offset_key("my src", {"filename": "/data/in.txt"}) == b'["my src",{"filename":"/data/in.txt"}]'

    @pytest.mark.parametrize("key", [None, b"x", b'"x"', b'["a"]', b"[1,{}]", b'["a",1]'])
    def test_other_keys_are_broken(self, key: bytes | None) -> None:
        assert isinstance(records.decode_offset(read(Topic.OFFSET, key, b"{}")), Broken)
