"""Attacks on the OpenSearch sink by who may write one record to a data topic, and by the cluster."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kconnect.api import ConnectError, Header, RetriableError, SinkRecord
from kconnect.connectors.search.connector import OpenSearchSinkConnector
from kconnect.testing import SinkRunner
from tests.attacks import hostile
from tests.attacks.hostile import Asked, Hostile, Reply
from tests.support import wait_until

CANARY = "canary-7741-secret"


class Cluster:
    """A service that takes all documents, but refuses a whole request if one of them is broken, as OpenSearch does."""

    def __init__(self, service: Hostile) -> None:
        self.service = service
        self.heads: list[dict[str, Any]] = []
        service.default = self.answer

    def answer(self, asked: Asked) -> Reply:
        if asked.path.startswith("/_bulk"):
            heads = [json.loads(line)["index"] for line in asked.body.splitlines()[::2]]
            if any("broken" in head["_id"] for head in heads):
                return hostile.given({"error": {"type": "parse", "reason": "broken"}, "status": 400}, 400)(asked)
            self.heads += heads
            return hostile.given({"errors": False})(asked)
        return hostile.given({"version": {"number": "2.11.0", "distribution": "opensearch"}})(asked)

    @property
    def indexes(self) -> set[str]:
        return {head["_index"] for head in self.heads}

    @property
    def asked(self) -> set[str]:
        return {each.path.partition("?")[0] for each in self.service.asked}


@pytest.fixture
def service() -> Iterator[Hostile]:
    with Hostile() as made:
        yield made


@pytest.fixture
def cluster(service: Hostile) -> Cluster:
    return Cluster(service)


def sink(service: Hostile, **more: str) -> SinkRunner:
    config = {"topics": "t", "connection.url": service.url, "errors.tolerance": "all", "max.retries": "0"}
    return SinkRunner(OpenSearchSinkConnector, config | {name.replace("_", "."): value for name, value in more.items()})


def record(offset: int, value: Any, key: Any = None, topic: str = "t") -> SinkRecord:
    made = SinkRecord("t", 0, None, f"k{offset}" if key is None else key, None, value, offset)
    return made.new_record(topic=topic)


BAD = (
    *(
        "..",
        ".",
        "_all",
        "*",
        "a*",
        "-a",
        "+a",
        "_a",
        "a,b",
        "<logstash-{now/d}>",
        "a/b",
        "a b",
        "a\nb",
        "a#b",
        "a:b",
        "x" * 256,
    ),
    *(".opendistro_security", ".kibana", "a?b", 'a"b', "a\\b", "a|b", "\u00e9" * 200),
)


@pytest.mark.parametrize("name", BAD, ids=ascii)
def test_a_field_names_one_index_or_none(service: Hostile, cluster: Cluster, name: str) -> None:
    """Who may write to the topic names an index that is several, or the cluster's own: nobody is asked for it."""
    with sink(service, index_name_field="i") as runner:
        runner.put([record(0, {"i": "a"}), record(1, {"i": name}), record(2, {"i": "b"})])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert cluster.indexes == {"a", "b"}
    assert cluster.asked <= {"/", "/a", "/b", "/_bulk"}


@pytest.mark.parametrize("topic", BAD, ids=ascii)
def test_a_topic_names_one_index_or_none(service: Hostile, cluster: Cluster, topic: str) -> None:
    """Who may write to the topic chooses the topic by a transform: of another name than an index's nobody is asked for it."""
    with sink(service) as runner:
        runner.put([record(0, {"a": 1}), record(1, {"a": 1}, topic=topic), record(2, {"a": 1})])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert cluster.indexes == {"t"}


@pytest.mark.parametrize("version", [-1, 1 << 63, 1 << 200, "x", None, "9" * 5000, "1e5"], ids=lambda each: str(each)[:20])
def test_a_version_that_is_none_is_one_records_fault(service: Hostile, cluster: Cluster, version: Any) -> None:
    """Who may write to the topic sends a version that the cluster refuses with all that is in the request."""
    values = (1, version, 3)
    some = [record(at, {"a": 1}).new_record(headers=[Header("v", value)]) for at, value in enumerate(values)]
    with sink(service, external_version_header="v") as runner:
        runner.put(some)
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert [head["version"] for head in cluster.heads] == [1, 3]


def test_a_request_that_one_record_spoils_is_made_without_it(service: Hostile, cluster: Cluster) -> None:
    """Who may write to the topic sends what makes the cluster refuse the request as a whole: the others are written."""
    with sink(service) as runner:
        runner.put([record(number, {"a": 1}, "broken" if number == 5 else f"k{number}") for number in range(9)])
        assert [each.original_offset for each, _ in runner.reported] == [5]
    assert len(cluster.heads) == 8


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


ODD = ({"a": "\ud800"}, {"a": _deep(3000)}, {"a": 1 << 200}, "text", {"a": object()})


@pytest.mark.parametrize("value", ODD, ids=["half", "deep", "huge", "text", "other"])
def test_a_document_that_can_not_be_made_is_one_records_fault(service: Hostile, cluster: Cluster, value: Any) -> None:
    """Who may write to the topic sends a value of which there is no document: the others are written."""
    with sink(service) as runner:
        runner.put([record(0, {"a": 1}), record(1, value), record(2, {"a": 1})])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert len(cluster.heads) == 2


def test_a_mapping_that_the_cluster_refuses_is_one_records_fault(service: Hostile, cluster: Cluster) -> None:
    """Who may write to the topic names an index that the cluster does not make: the others are written."""
    plain = cluster.answer

    def answer(asked: Asked) -> Reply:
        if asked.path == "/bad":
            return Reply(404) if asked.method == "HEAD" else hostile.given({"error": {"type": "x", "reason": "no"}}, 400)(asked)
        return plain(asked)

    service.default = answer
    with sink(service) as runner:
        runner.put([record(0, {"a": 1}), record(1, {"a": 1}, topic="bad"), record(2, {"a": 1})])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert len(cluster.heads) == 2


# The cluster.


def _failed(service: Hostile, answer: hostile.Answer, match: str, **more: str) -> str:
    with sink(service, **more) as runner:
        service.paths["/_bulk"] = answer
        with pytest.raises(ConnectError, match=match) as raised:
            runner.put([record(0, {"a": 1})])
    return str(raised.value)


def test_an_answer_has_a_size(service: Hostile, cluster: Cluster) -> None:
    """The cluster answers without an end, or with a bomb: the task fails, and names the limit."""
    _failed(service, service.endless(), r"response\.max\.bytes is 1000000", response_max_bytes="1000000")
    data = gzip.compress(b'{"a":"' + b"a" * 50_000_000)
    _failed(
        service,
        lambda asked: Reply(headers={"Content-Encoding": "gzip"}, body=data),
        r"response\.max\.bytes is 1000000",
        response_max_bytes="1000000",
    )


def test_an_answer_that_drips_is_late(service: Hostile, cluster: Cluster) -> None:
    """The cluster answers a byte at a time, each in time: the limit is of the whole answer."""
    _failed(service, service.dripping(pause_s=0.1), r"read\.timeout\.ms", read_timeout_ms="600")


@pytest.mark.parametrize(
    "document",
    [{"errors": True}, {"errors": True, "items": []}, {"errors": True, "items": [{"index": 5}]}, [1], 5],
    ids=str,
)
def test_an_answer_that_is_none_loses_no_record(service: Hostile, cluster: Cluster, document: Any) -> None:
    """The cluster answers for fewer documents than there were, or with anything else: no record counts as written."""
    _failed(service, hostile.given(document), "answer")


def test_a_refusal_is_shown_in_one_short_line_without_the_password(service: Hostile, cluster: Cluster) -> None:
    """The cluster quotes the login, and says more than anybody can read, in causes without an end."""
    error: dict[str, Any] = {"type": "x", "reason": f"{CANARY}\n\x1b[2J" + "y" * 100_000}
    for _ in range(200):
        error = {"type": "x", "reason": f"no {CANARY}", "caused_by": error}
    answer = hostile.given({"errors": True, "items": [{"index": {"status": 400, "error": error}}]})
    with sink(service, connection_username="me", connection_password=CANARY) as runner:
        service.paths["/_bulk"] = answer
        runner.put([record(0, {"a": 1})])
        ((_, problem),) = runner.reported
    assert "[hidden]" in str(problem)
    assert CANARY not in str(problem)
    assert str(problem).isprintable()
    assert len(str(problem)) < 2000


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"errors":true,"items":[{"index":{"status":1e400}}]}',
        b'{"errors":true,"items":' + b"9" * 100_000 + b"}",
        b"no JSON\n\x1b[2J" + b"y" * 100_000,
    ],
    ids=["deep", "infinite", "a long number", "no JSON"],
)
def test_an_answer_that_makes_no_sense_is_one_to_be_asked_for_again(service: Hostile, cluster: Cluster, body: bytes) -> None:
    """The cluster answers what Python can't read: it is asked again, and is quoted in one short line."""
    with sink(service, max_retries="1", retry_backoff_ms="0") as runner:
        service.paths["/_bulk"] = lambda asked: Reply(200, {"Content-Type": "application/json"}, body)
        with pytest.raises(RetriableError) as raised:
            runner.put([record(0, {"a": 1})])
    assert len(str(raised.value)) < 1000
    assert str(raised.value).isprintable()


def test_a_task_that_waits_for_the_cluster_can_be_stopped(service: Hostile, cluster: Cluster) -> None:
    """The cluster never answers: the task is stopped all the same, within the time that hosts wait for one."""
    ended = threading.Event()
    with sink(service, read_timeout_ms="600000", max_retries="5") as runner:
        service.paths["/_bulk"] = service.silent()

        def put() -> None:
            with pytest.raises(RetriableError):
                runner.put([record(0, {"a": 1})])
            ended.set()

        threading.Thread(target=put, daemon=True).start()
        wait_until(lambda: any(each.path.startswith("/_bulk") for each in service.asked))
        runner.task.interrupt()
        assert ended.wait(60)


def test_nobody_asks_forever(service: Hostile, cluster: Cluster) -> None:
    """The control: a cluster that is busy is asked again."""
    with sink(service, max_retries="5") as runner:
        service.paths["/_bulk"] = hostile.given({"error": {"type": "busy", "reason": "later"}}, 429)
        with pytest.raises(RetriableError):
            runner.put([record(0, {"a": 1})])


def test_an_index_that_a_topic_names_and_that_is_not_there_is_its_records_fault(service: Hostile, cluster: Cluster) -> None:
    """Who may write to the topic chooses the topic by a transform, and so an index that there is not: the task failed."""
    service.paths["/none"] = hostile.refusing(404)
    with sink(service, auto_create="false") as runner:
        runner.put([record(0, {"a": 1}), record(1, {"a": 1}, topic="none"), record(2, {"a": 1})])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert cluster.indexes == {"t"}


BLOCKS = {
    "read-only": ("index [old] blocked by: [FORBIDDEN/5/index read-only (api)];", 403),
    "no writes": ("index [old] blocked by: [FORBIDDEN/8/index write (api)];", 403),
}


@pytest.mark.parametrize("block", BLOCKS)
def test_an_index_that_takes_nothing_any_more_is_the_fault_of_who_has_chosen_it(
    service: Hostile, cluster: Cluster, block: str
) -> None:
    """Who may write to the topic names an old index, which is read only: the task failed of it after some time, for good."""
    plain = cluster.answer
    reason, status = BLOCKS[block]

    def answer(asked: Asked) -> Reply:
        if not asked.path.startswith("/_bulk"):
            return plain(asked)
        heads = [json.loads(line)["index"] for line in asked.body.splitlines()[::2]]
        error = {"type": "cluster_block_exception", "reason": reason}
        cluster.heads += [head for head in heads if head["_index"] != "old"]
        items = [{"status": status, "error": error} if head["_index"] == "old" else {"status": 201} for head in heads]
        return hostile.given({"errors": True, "items": [{"index": item} for item in items]})(asked)

    service.default = answer
    with sink(service) as runner:
        runner.put([record(0, {"a": 1}), record(1, {"a": 1}, topic="old"), record(2, {"a": 1})])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert len(cluster.heads) == 2
    with sink(service, topics="old", max_retries="3") as runner, pytest.raises(RetriableError):
        # The control: the config names it, and somebody may open it again.
        runner.put([SinkRecord("old", 0, None, "k", None, {"a": 1}, 0)])


@pytest.mark.parametrize(("status", "others"), [(500, True), (500, False), (503, True)])
def test_a_document_that_the_cluster_breaks_at_is_one_records_fault(service: Hostile, status: int, others: bool) -> None:
    """Who may write to the topic sends what a pipeline's script breaks at, with status 500 however often: the task ended."""

    def answer(asked: hostile.Asked) -> hostile.Reply:
        if not asked.path.startswith("/_bulk"):
            return hostile.given({"version": {"number": "2.11.0", "distribution": "opensearch"}})(asked)
        ids = [next(iter(json.loads(line).values()))["_id"] for line in asked.body.splitlines()[::2]]
        error = {"status": status, "error": {"type": "null_pointer_exception", "reason": "boom"}}
        items = [{"index": error if one == "k1" else {"status": 201}} for one in ids]
        return hostile.given({"errors": "k1" in ids, "items": items})(asked)

    service.default = answer
    records = [record(offset, {"a": 1}) for offset in ((0, 1, 2) if others else (1,))]
    with sink(service, max_retries="2", retry_backoff_ms="1") as runner:
        ends = None
        for _ in range(4):
            try:
                runner.put(records)
                break
            except RetriableError:
                continue
            except ConnectError as error:
                ends = error
                break
        if status == 500 and others:
            assert [bad.original_offset for bad, _ in runner.reported] == [1]
        else:
            # The control: of one that takes nothing else, or says that it is busy, nobody knows.
            assert "max.retries is 2" in str(ends)
            assert runner.reported == []
