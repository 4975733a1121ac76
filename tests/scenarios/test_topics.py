"""Topic usage (KIP-558) in a cluster in memory: what the leader tidies up, and what a reset writes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kconnect.core.herder.requests.configs import CreateConnector, DeleteConnector, PutConfig
from kconnect.core.herder.requests.states import RestartConnector
from kconnect.core.herder.requests.topics import GetTopics, ResetTopics
from kconnect.core.state import assignment_records, records
from kconnect.core.state.records import LogRecord, Topic
from kconnect.errors import ForbiddenError
from tests.rig.histories.cluster import MemoryCluster

FORMS = ("apache", "kip-558")


def cluster_with(config: dict[str, str], *topics: str) -> MemoryCluster:
    cluster = MemoryCluster(1)
    cluster.add_worker("a:1")
    cluster.settle()
    cluster.call("a:1", CreateConnector("x", config))
    cluster.settle()
    use(cluster, *topics)
    assert used(cluster) == sorted(topics)
    return cluster


def use(cluster: MemoryCluster, *topics: str) -> None:
    cluster.log.append(entry for topic in topics for entry in records.topic_use("x", topic, 0, 1000, FORMS))
    cluster.settle()


def used(cluster: MemoryCluster) -> list[str]:
    found = cluster.call("a:1", GetTopics("x"))
    return found["x"]["topics"]


def last(cluster: MemoryCluster, role: Topic) -> dict[str, LogRecord]:
    return {(record.key or b"").decode(): record for record in cluster.log.records if record.topic is role}


def sink(**config: str) -> dict[str, str]:
    return {"connector.class": "FileStreamSink", **config}


def test_a_sink_that_reads_less_than_before() -> None:
    cluster = cluster_with(sink(topics="a, b"), "a", "b")
    cluster.call("a:1", PutConfig("x", sink(topics="b,c")))
    cluster.settle()
    assert used(cluster) == ["b"]
    keys = last(cluster, Topic.STATUS)
    assert keys["topic-a:connector-x"].value is None
    assert keys["status-topic-a:connector-x"].value is None
    # A task of before that says so late changes nothing.
    use(cluster, "a")
    assert used(cluster) == ["b"]
    # What it reads again is told again.
    cluster.call("a:1", PutConfig("x", sink(topics="a")))
    use(cluster, "a")
    assert used(cluster) == ["a"]


def test_a_sink_s_pattern() -> None:
    cluster = cluster_with(sink(**{"topics.regex": "[ab].*"}), "a1", "b1")
    cluster.call("a:1", PutConfig("x", sink(**{"topics.regex": "b\\d"})))
    cluster.settle()
    assert used(cluster) == ["b1"]


def test_a_pattern_that_would_take_for_ever_holds_up_nobody() -> None:
    name = "a" * 60
    cluster = cluster_with(sink(**{"topics.regex": "a+"}), name)
    cluster.call("a:1", PutConfig("x", sink(**{"topics.regex": "(a|aa|a.?)+b"})))
    cluster.settle()
    # Nobody can say that it is not read.
    assert used(cluster) == [name]


def test_a_pattern_of_a_provider_s_is_known_to_the_tasks_only() -> None:
    cluster = cluster_with(sink(topics="a"), "a")
    cluster.call("a:1", PutConfig("x", sink(topics="${env:TOPICS}")))
    cluster.settle()
    assert used(cluster) == ["a"]


def test_a_source_keeps_its_topics() -> None:
    source = {"connector.class": "FileStreamSource", "topics": "a"}
    cluster = cluster_with(source, "a", "b")
    cluster.call("a:1", PutConfig("x", {**source, "topics": "c"}))
    cluster.call("a:1", RestartConnector("x", include_tasks=True))
    cluster.settle()
    assert used(cluster) == ["a", "b"]


def test_a_reset_forgets_both_forms_and_then_has_the_tasks_speak_again() -> None:
    cluster = cluster_with(sink(topics="a,b"), "a", "b")
    cluster.call("a:1", ResetTopics("x"))
    cluster.call("a:1", ResetTopics("x"))
    assert used(cluster) == []
    gone = [record.key for record in cluster.log.records if record.topic is Topic.STATUS and b"topic-" in (record.key or b"")]
    assert len(gone) == 2 * 2 * 2
    reset = last(cluster, Topic.ASSIGNMENT)["topics-x"]
    assert cluster.log.records.index(reset) > max(
        at for at, record in enumerate(cluster.log.records) if record.key == b"topic-a:connector-x"
    )
    host = next(iter(cluster.hosts.values()))
    cluster.settle()
    assert host.state.assignment.topic_resets["x"][0] == 2


def test_two_resets_that_share_a_number_are_two() -> None:
    """As two workers that are asked at once may write them: what tasks said after the first is forgotten once more."""
    cluster = cluster_with(sink(topics="a,b"), "a", "b")
    cluster.call("a:1", ResetTopics("x"))
    cluster.settle()
    known = next(iter(cluster.hosts.values())).state.assignment.topic_resets
    before = known["x"]
    cluster.log.append([assignment_records.topics_reset(assignment_records.TopicsReset("x", before[0]))])
    cluster.settle()
    assert known["x"][0] == before[0]
    assert known["x"] != before


def test_a_deleted_connector_s_topics_go_also_where_resets_are_not_allowed() -> None:
    cluster = cluster_with(sink(topics="a"), "a")
    cluster.call("a:1", ResetTopics("x"))
    use(cluster, "a")
    herder = cluster.workers["a:1"].herder
    herder.desk.identity = replace(herder.desk.identity, resets_topics=False)
    with pytest.raises(ForbiddenError, match=r"^Topic tracking reset is disabled$"):
        cluster.call("a:1", ResetTopics("x"))
    assert used(cluster) == ["a"]
    cluster.call("a:1", DeleteConnector("x"))
    cluster.settle()
    assert used(cluster) == []
    assert last(cluster, Topic.ASSIGNMENT)["topics-x"].value is None


@pytest.mark.parametrize("request_of", [CreateConnector, PutConfig])
def test_created_again_at_once_it_has_used_no_topic(request_of: type[CreateConnector] | type[PutConfig]) -> None:
    cluster = cluster_with(sink(topics="a,b"), "a", "b")
    cluster.call("a:1", DeleteConnector("x"))
    cluster.call("a:1", request_of("x", sink(topics="a,b")))
    assert used(cluster) == []
    cluster.settle()
    assert used(cluster) == []
    # A Kafka Connect that reads the same topic sees it, too.
    assert last(cluster, Topic.STATUS)["status-topic-a:connector-x"].value is None
    use(cluster, "a")
    assert used(cluster) == ["a"]
    # A new config is no new life.
    cluster.call("a:1", PutConfig("x", sink(topics="a,b", more="1")))
    assert used(cluster) == ["a"]


def test_a_reset_works_after_the_deletion() -> None:
    cluster = cluster_with(sink(topics="a"), "a")
    cluster.call("a:1", DeleteConnector("x"))
    cluster.call("a:1", ResetTopics("x"))
    cluster.call("a:1", ResetTopics("nobody"))
    cluster.settle()
    assert used(cluster) == []


def test_without_tracking_nobody_may_ask() -> None:
    cluster = cluster_with(sink(topics="a"), "a")
    herder = cluster.workers["a:1"].herder
    herder.desk.identity = replace(herder.desk.identity, tracks_topics=False)
    for request in (GetTopics("x"), ResetTopics("x")):
        with pytest.raises(ForbiddenError, match=r"^Topic tracking is disabled\.$"):
            cluster.call("a:1", request)
