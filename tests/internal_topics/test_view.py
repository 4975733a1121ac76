"""What a worker reads out of compacted topics, and the order in which records are told."""

from __future__ import annotations

import dataclasses

from kconnect.core.state.config import ConfigState
from kconnect.core.state.records import Topic
from kconnect.internal_topics import view
from kconnect.internal_topics.contents import compacted, in_time
from kconnect.internal_topics.masking import Mask
from tests.internal_topics.logs import Log
from tests.internal_topics.test_checking import healthy


def test_compaction_keeps_the_last_of_each_key_in_each_partition() -> None:
    log = Log().config("a", {"n": 1}).config("b", {"n": 2}).config("a", {"n": 3}).config("c", {"n": 4}).config("c", None)
    log.put(Topic.STATUS, "a", {"n": 5}, partition=0).put(Topic.STATUS, "a", {"n": 6}, partition=1)
    assert [(record.role, record.key, record.offset) for record in compacted(log.records)] == [
        (Topic.CONFIG, b"b", 1),
        (Topic.CONFIG, b"a", 2),
        (Topic.STATUS, b"a", 0),
        (Topic.STATUS, b"a", 0),
    ]


def test_records_are_told_by_their_times_but_never_against_their_offsets() -> None:
    log = Log().config("a", 1).status("s", 1).config("b", 1)
    first, other, second = log.records
    assert list(in_time([first, second, other])) == [first, other, second]
    late = dataclasses.replace(first, timestamp_ms=second.timestamp_ms + 1)
    assert list(in_time([late, second, other])) == [other, late, second]


def test_a_connector_as_a_worker_reads_it() -> None:
    log = healthy().config("tasks-fencing-src", {"task-count": 2}).config("logger-cluster-a", {"level": "INFO"})
    contents = log.contents()
    found = view.summary(contents, Mask(), lambda name: True)
    src = found["connectors"]["src"]
    assert (src["target_state"], src["tasks"], src["fencing"], src["topics"]) == ("STARTED", 2, 2, ["t"])
    assert src["config"] == {"name": "src", "connector.class": "FileStreamSource"}
    assert src["task_configs"] == {"0": {"task": "0"}, "1": {"task": "1"}}
    assert src["offsets"] == [{"partition": {"file": "a"}, "offset": {"position": 1}}]
    assert list(src["status"]) == ["src", "src-0", "src-1"]
    assert src["status"]["src-1"] == {"state": "RUNNING", "worker_id": "n1:8083", "generation": 4, "version": None}
    assert found["connectors"]["snk"]["target_state"] == "STOPPED"
    assert found["topics"]["config"] == {"name": "connect-config", "partitions": 1, "records": 9, "left_after_compaction": 9}
    assert "workers" not in found


def test_it_is_what_the_workers_own_fold_says_of_the_compacted_topic() -> None:
    log = healthy().connector("x", 3).connector("x", 2).config("task-src-1", {"properties": {"late": "1"}})
    contents = log.contents()
    fold = ConfigState()
    for record in compacted(contents.of(Topic.CONFIG)):
        fold.apply(record.log)
    found = view.summary(contents, Mask(), lambda name: True)["connectors"]
    assert found.keys() == fold.connectors.keys()
    assert fold.connectors["src"].inconsistent
    assert found["src"]["tasks"] == "incomplete"
    assert found["x"]["tasks"] == len(fold.task_ids("x")) == 2


def test_only_what_is_wanted_and_what_is_left_of_others() -> None:
    log = healthy().running("old", 0).offset("old", {"f": 1}, {"p": 1}).config("target-state-old", {"state": "PAUSED"})
    found = view.summary(log.contents(), Mask(), lambda name: name != "src")
    assert list(found["connectors"]) == ["snk"]
    assert found["gone"] == {"old": ["status", "status of task 0", "target state", "offsets"]}
