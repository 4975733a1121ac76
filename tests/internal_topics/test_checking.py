"""`kconnect topics check`: a healthy cluster's topics have no findings, and each thing that is wrong with them has its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pytest

from kconnect.core.state import assignment_records as ours
from kconnect.core.state.records import Topic, UnitId
from kconnect.internal_topics import checking
from kconnect.internal_topics.contents import Contents, Stored, compacted
from kconnect.internal_topics.findings import Finding, Severity, listed
from kconnect.kafka.partitioner import partition_of
from tests.internal_topics.logs import NOW_MS, Log

ALL = tuple(Topic)
CONNECTS = (Topic.CONFIG, Topic.OFFSET, Topic.STATUS)


def healthy() -> Log:
    """A cluster with a source and a stopped sink, as workers leave it."""
    log = Log().config("session-key", {"key": "c2VjcmV0", "algorithm": "HmacSHA256", "creation-timestamp": NOW_MS - 1000})
    log.connector("src", 2).running("src", 0, 1).offset("src", {"file": "a"}, {"position": 1})
    log.status("status-topic-t:connector-src", {"topic": {"name": "t", "connector": "src", "task": 0, "discoverTimestamp": 1}})
    log.config("target-state-snk", {"state": "PAUSED", "state.v2": "STOPPED"})
    log.config("connector-snk", {"properties": {"connector.class": "FileStreamSink", "name": "snk", "topics": "t"}})
    return log.running("snk", state="STOPPED")


def check(log: Log, roles: Sequence[Topic] = CONNECTS, exactly_once: bool = False) -> list[Finding]:
    return checking.check(log.contents(roles), NOW_MS, exactly_once)


def kinds(found: Iterable[Finding]) -> list[tuple[str, str]]:
    return [(each.severity.value, each.kind) for each in found]


def test_a_healthy_cluster_has_no_findings() -> None:
    assert check(healthy()) == []


def test_nor_has_what_compaction_leaves_of_it() -> None:
    contents = healthy().contents()
    contents.records = compacted(contents.records)
    assert checking.check(contents, NOW_MS) == []


def test_nor_has_a_connector_that_came_and_went() -> None:
    log = healthy().config("connector-x", {"properties": {"connector.class": "A"}}).running("x")
    log.config("connector-x", None).config("target-state-x", None).status("status-connector-x", None)
    assert check(log) == []


RECORDS: list[tuple[str, Callable[[Log], object], str, str, str]] = [
    (
        "a commit that says more tasks than were written",
        lambda log: (
            log.config("connector-x", {"properties": {"connector.class": "A"}})
            .config("task-x-0", {"properties": {}})
            .config("task-x-2", {"properties": {}})
            .config("commit-x", {"tasks": 3})
        ),
        *("error", "commit-incomplete", "The commit of x is for 3 tasks, but the config of task 1 is missing"),
    ),
    (
        "task configs without a commit",
        lambda log: log.config("task-src-0", {"properties": {"new": "1"}}),
        *("warning", "tasks-uncommitted", "Task configs of src have no commit after them"),
    ),
    (
        "STOPPED without an empty commit",
        lambda log: log.config("target-state-src", {"state": "PAUSED", "state.v2": "STOPPED"}),
        *("error", "stopped-with-tasks", "src is STOPPED and still has tasks"),
    ),
    (
        "two states that differ",
        lambda log: log.config("target-state-src", {"state": "STARTED", "state.v2": "PAUSED"}),
        *("warning", "states-differ", "is PAUSED for workers since 3.5 and STARTED for older ones"),
    ),
    (
        "an unknown target state",
        lambda log: log.config("target-state-src", {"state": "HIBERNATING"}),
        *("error", "broken", "Workers ignore the record target-state-src (offset 7): unknown target state"),
    ),
    (
        "broken JSON",
        lambda log: log.config("connector-x", b"{"),
        *("error", "broken", "connector-x (offset 7): not JSON"),
    ),
    (
        "an unknown status",
        lambda log: log.status("status-connector-src", {"state": "DREAMING", "worker_id": "w", "generation": 1}),
        *("error", "broken", "status-connector-src (partition 2, offset 2): unknown state"),
    ),
    (
        "a kind of record that nobody knows",
        lambda log: log.config("what-is-this", {}),
        *("warning", "unknown-key", "what-is-this (offset 7): unknown kind of key"),
    ),
    (
        "a config without a class",
        lambda log: log.config("connector-x", {"properties": {"name": "x"}}).config("commit-x", {"tasks": 0}),
        *("error", "no-class", "The config of x has no connector.class"),
    ),
    (
        "a config of another name",
        lambda log: log.config("connector-x", {"properties": {"name": "y", "connector.class": "A"}}).config(
            "commit-x", {"tasks": 0}
        ),
        *("warning", "other-name", "The config of x has a name that is"),
    ),
    (
        "a target state of a connector that is gone",
        lambda log: log.config("target-state-old", {"state": "PAUSED", "state.v2": "PAUSED"}),
        *("warning", "gone-target-state", "a target state of old, which is gone"),
    ),
    (
        "statuses of a connector that is gone",
        lambda log: log.running("old", 0),
        *("warning", "gone-status", "There are statuses of old, which is gone"),
    ),
    (
        "topics used by a connector that is gone",
        lambda log: log.status("status-topic-t:connector-old", {"topic": {"name": "t", "connector": "old", "task": 0}}),
        *("warning", "gone-topic-use", "There are records of topics that old used, which is gone"),
    ),
    (
        "offsets of a connector that is gone",
        lambda log: log.offset("old", {"file": "b"}, {"position": 1}),
        *("note", "gone-offsets", "There are offsets of old, which is gone"),
    ),
    (
        "task configs of a connector that is gone",
        lambda log: log.connector("old").config("connector-old", None),
        *("note", "gone-tasks", "Task configs or commits of old, which is gone"),
    ),
    (
        "a status of a task too many",
        lambda log: log.running("src", 2),
        *("warning", "surplus-status", "the status of a task that the connector does not have: src-2"),
    ),
    (
        "a config that is newer than its tasks",
        lambda log: log.config("connector-src", {"properties": {"connector.class": "B", "name": "src"}}),
        *("note", "tasks-outdated", "The config of src has changed since its tasks were made"),
    ),
    (
        "tasks that were never made",
        lambda log: log.config("connector-x", {"properties": {"connector.class": "A"}}),
        *("note", "tasks-never-made", "No task configs were ever written for x"),
    ),
    (
        "an offset with more than plain values",
        lambda log: log.offset("src", {"file": "b"}, {"a": [1]}),
        *("error", "offset-value", "An offset of src holds more than plain values, in a"),
    ),
    (
        "an offset under two keys",
        lambda log: log.offset("src", {"a": 1, "b": 2}, {"p": 1}).offset("src", {"b": 2, "a": 1}, {"p": 2}),
        *("warning", "offset-keys-differ", "is stored under 2 keys that differ only in the order of their fields"),
    ),
    (
        "a topic's use whose value says another",
        lambda log: log.status("status-topic-u:connector-src", {"topic": {"name": "v", "connector": "src", "task": 0}}),
        *("warning", "topic-use-differs", "src uses u, and the value that src uses v"),
    ),
    (
        "a session key that is none",
        lambda log: log.config("session-key", {"key": "!", "algorithm": "HmacSHA256", "creation-timestamp": NOW_MS}),
        *("error", "session-key", "The session key is not base64"),
    ),
    (
        "an old session key",
        lambda log: log.config("session-key", {"key": "YQ==", "algorithm": "HmacSHA256", "creation-timestamp": NOW_MS - 10**8}),
        *("note", "session-key-old", "The session key is 27 hours old, and there has been no leader since"),
    ),
    (
        "a session key of the future",
        lambda log: log.config("session-key", {"key": "YQ==", "algorithm": "HmacSHA256", "creation-timestamp": NOW_MS + 10**8}),
        *("warning", "session-key-future", "a time in the future: the clocks of workers differ"),
    ),
]


@pytest.mark.parametrize(
    ("break_it", "severity", "kind", "text"), [case[1:] for case in RECORDS], ids=[case[0] for case in RECORDS]
)
def test_records(break_it: Callable[[Log], object], severity: str, kind: str, text: str) -> None:
    log = healthy()
    break_it(log)
    found = check(log)
    assert (severity, kind) in kinds(found), [each.text for each in found]
    assert text in next(each.text for each in found if each.kind == kind)
    others = {each.kind for each in found} - {kind}
    # What compaction makes of it may be a finding of its own; nothing else is.
    assert others <= {"tasks-lost-by-compaction", "tasks-never-made", "tasks-outdated"}, others


def test_what_compaction_will_make_unreadable_is_told_before() -> None:
    log = healthy().config("connector-src", {"properties": {"connector.class": "B", "name": "src"}})
    assert ("note", "tasks-lost-by-compaction") in kinds(check(log))
    log.config("task-src-0", {"properties": {}}).config("task-src-1", {"properties": {}}).config("commit-src", {"tasks": 2})
    assert check(log) == []


def test_a_broken_record_that_was_written_anew_is_none() -> None:
    log = healthy().config("connector-snk", b"{")
    assert ("error", "broken") in kinds(check(log))
    log.config("connector-snk", {"properties": {"connector.class": "FileStreamSink", "name": "snk", "topics": "t"}})
    assert check(log) == []


def test_exactly_once_sources_need_their_fencings() -> None:
    log = healthy().connector("other", 1)
    assert check(log) == []
    assert kinds(check(log, exactly_once=True)) == [("warning", "fencing-missing")]
    log.config("tasks-fencing-src", {"task-count": 2})
    found = check(log)
    assert kinds(found) == [("warning", "fencing-missing")], "that one was recorded says what the workers do"
    assert found[0].names == ["other"], "a sink has none, and src has it now"
    log.config("tasks-fencing-other", {"task-count": 1})
    log.config("task-other-0", {"properties": {}}).config("commit-other", {"tasks": 1})
    assert kinds(check(log)) == [("note", "fencing-pending")]


class TestPlaces:
    def test_a_key_on_another_partition_than_java_puts_it(self) -> None:
        log, key = healthy(), "status-connector-src"
        proper = partition_of(key.encode(), 3)
        record = next(each for each in log.records if each.key == key.encode())
        log.records.remove(record)
        log.put(Topic.STATUS, key, record.value, partition=(proper or 0) + 1 if proper != 2 else 0)
        assert kinds(check(log)) == [("warning", "key-on-other-partition")]
        log.put(Topic.STATUS, key, record.value)
        assert kinds(check(log)) == [("error", "key-on-several-partitions")]

    def test_keys_of_java_are_where_they_should_be(self) -> None:
        # What Kafka's own client (4.3.1) gave for these.
        assert partition_of(b"status-connector-src", 5) == 2
        assert partition_of(b"status-task-src-0", 5) == 1
        assert partition_of(None, 5) is None


SETTINGS: list[tuple[str, Callable[[Log], object], list[tuple[str, str]]]] = [
    ("policy", lambda log: log.settings[Topic.STATUS].update({"cleanup.policy": "delete"}), [("error", "cleanup-policy")]),
    (
        "both-policies",
        lambda log: log.settings[Topic.OFFSET].update({"cleanup.policy": "compact,delete"}),
        [("error", "cleanup-policy")],
    ),
    ("two-partitions", lambda log: log.partitions.update({Topic.CONFIG: 2}), [("error", "partitions")]),
    (
        "tombstones",
        lambda log: log.settings[Topic.CONFIG].update({"delete.retention.ms": "100"}),
        [("warning", "delete-retention")],
    ),
    ("insync", lambda log: log.settings[Topic.CONFIG].update({"min.insync.replicas": "2"}), [("error", "min-insync")]),
    (
        "unclean",
        lambda log: log.settings[Topic.CONFIG].update({"unclean.leader.election.enable": "true"}),
        [("warning", "unclean-election")],
    ),
    ("one-copy", lambda log: setattr(log, "brokers", 3), [("warning", "copies")] * 3),
    ("small", lambda log: log.settings[Topic.CONFIG].update({"max.message.bytes": "100"}), [("error", "max-message-bytes")]),
    ("nearly", lambda log: log.settings[Topic.CONFIG].update({"max.message.bytes": "200"}), [("warning", "max-message-bytes")]),
]


@pytest.mark.parametrize(("break_it", "found"), [case[1:] for case in SETTINGS], ids=[case[0] for case in SETTINGS])
def test_settings(break_it: Callable[[Log], object], found: list[tuple[str, str]]) -> None:
    log = healthy()
    break_it(log)
    said = check(log)
    assert [each for each in kinds(said) if each[1] != "key-on-other-partition"] == found
    assert all(each.remedy for each in said)


def test_copies_that_are_not_all_in_sync_and_none_to_spare() -> None:
    log = healthy()
    log.brokers, log.replicas = 3, dict.fromkeys(Topic, 3)
    assert set(kinds(check(log))) == {("note", "min-insync")}
    for each in log.settings.values():
        each["min.insync.replicas"] = "3"
    assert set(kinds(check(log))) == {("warning", "min-insync")}
    for each in log.settings.values():
        each["min.insync.replicas"] = "2"
    assert check(log) == []
    contents = log.contents()
    facts = contents.topics[Topic.CONFIG]
    contents.topics[Topic.CONFIG] = type(facts)(**{**vars(facts), "in_sync": (2,), "open_at": (0,)})
    assert kinds(checking.check(contents, NOW_MS)) == [("warning", "under-replicated"), ("warning", "open-transaction")]


def test_topics_that_are_missing_or_can_not_be_described() -> None:
    contents = healthy().contents()
    facts = contents.topics[Topic.CONFIG]
    contents.topics[Topic.CONFIG] = type(facts)(**{**vars(facts), "settings": None})
    contents.missing = {Topic.STATUS: "s", Topic.ASSIGNMENT: "a"}
    assert sorted(kinds(checking.check(contents, NOW_MS))) == [("warning", "settings-unknown"), ("warning", "topic-missing")]


class TestAssignments:
    UNITS = frozenset((UnitId("src"), UnitId("src", 0)))

    def log(self, config_offset: int = 7) -> Log:
        log = healthy()
        log.members = ("http://n1:8083/",)
        log.entry(ours.leader(ours.Leader("n1:8083", "http://n1:8083/", 7, 3)))
        log.entry(ours.assignment(ours.Assignment("n1:8083", self.UNITS, 7, config_offset)))
        log.entry(ours.held(ours.Held("n1:8083", 0, self.UNITS, 7)))
        return log

    def test_of_a_cluster_that_runs_are_fine(self) -> None:
        assert check(self.log(), ALL) == []

    def test_of_another_config_topic(self) -> None:
        found = check(self.log(config_offset=8), ALL)
        assert kinds(found) == [("error", "assignment-ahead")]
        assert "delete connect-assignment" in found[0].remedy

    def test_of_workers_that_left(self) -> None:
        log = self.log().entry(ours.assignment(ours.Assignment("n2:8083", frozenset(), 7, 7)))
        assert kinds(check(log, ALL)) == [("note", "workers-gone")]
        log.members = None
        assert check(log, ALL) == [], "nobody said which group that is"

    def test_held_twice_and_of_connectors_that_are_gone(self) -> None:
        log = self.log().entry(ours.held(ours.Held("n1:8083", 1, frozenset((UnitId("src"), UnitId("old"))), 7)))
        assert kinds(check(log, ALL)) == [("warning", "held-twice"), ("note", "held-gone")]

    def test_of_a_newer_kconnect(self) -> None:
        log = self.log().put(Topic.ASSIGNMENT, "leader", {"format": 2})
        assert kinds(check(log, ALL)) == [("error", "newer-format")]


class TestSchemas:
    SHAPE = {"fields": [["a", "text"]]}

    def test_of_a_sink_that_is_there(self) -> None:
        log = healthy().inferred("snk", "t", self.SHAPE).inferred("snk", "t", self.SHAPE, task=1)
        assert check(log, ALL) == []

    def test_of_one_that_is_gone_until_they_are_forgotten(self) -> None:
        log = healthy().inferred("old", "t", self.SHAPE)
        found = check(log, ALL)
        assert kinds(found) == [("note", "gone-schemas")] and "inferred schemas of old, which is gone" in found[0].text
        assert check(log.put(Topic.SCHEMAS, '["old","value","t",0]', None), ALL) == []

    def test_that_nobody_can_read(self) -> None:
        found = check(healthy().inferred("snk", "t", "number"), ALL)
        assert kinds(found) == [("error", "broken")] and "--forget" in found[0].remedy

    def test_of_a_topic_that_is_none(self) -> None:
        assert checking.looks_foreign(healthy().put(Topic.SCHEMAS, "order-1", {}).contents(ALL)) == [Topic.SCHEMAS]


def test_statuses_of_a_group_without_workers() -> None:
    log = healthy()
    log.members = ()
    assert kinds(check(log)) == [("note", "no-workers")]


def test_a_session_key_that_a_living_leader_does_not_replace() -> None:
    log = healthy().config("session-key", {"key": "YQ==", "algorithm": "HmacSHA256", "creation-timestamp": NOW_MS - 10**8})
    log.members = ("http://n1:8083/",)
    assert kinds(check(log)) == [("warning", "session-key-old")]


def test_the_worst_comes_first() -> None:
    log = healthy().running("old").config("connector-x", b"{").offset("old", {"f": 1}, {"p": 1})
    assert [each.severity for each in check(log)] == [Severity.ERROR, Severity.WARNING, Severity.NOTE]


def test_long_lists_are_cut() -> None:
    assert listed(range(7)) == "0, 1, 2, 3, 4 and 2 more"


class TestForeign:
    def test_a_topic_of_something_else_is_known(self) -> None:
        records = [Stored(Topic.CONFIG, 0, n, b"order-1", b"{}") for n in range(3)]
        contents = healthy().contents()
        contents.records = records
        assert checking.looks_foreign(contents) == [Topic.CONFIG]

    def test_an_empty_one_and_one_with_some_broken_records_are_none(self) -> None:
        assert checking.looks_foreign(Contents({}, [])) == []
        assert checking.looks_foreign(healthy().config("order-1", {}).contents()) == []


def test_an_offset_that_nobody_can_read_is_to_be_set_again() -> None:
    (found,) = check(healthy().put(Topic.OFFSET, '["src",{"file":"b"}]', b"{"))
    assert (found.severity, found.kind) == (Severity.ERROR, "broken")
    assert found.remedy == "A source starts without this offset: reset it and set it again with `kconnect offsets`."


def test_task_configs_that_nobody_can_read_are_written_again_by_a_restart() -> None:
    (found,) = check(healthy().put(Topic.ASSIGNMENT, "tasks-my src", b"{"), ALL)
    assert (found.severity, found.kind) == (Severity.ERROR, "broken")
    assert found.remedy == "Restart the connector, which writes it again: `kconnect restart 'my src'`."
