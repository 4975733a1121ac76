"""A connector's own offset topic, and the offsets that it is created with, over a cluster in memory (KIP-618, KIP-995)."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.core.herder import effects
from kconnect.core.herder.requests.configs import CreateConnector
from kconnect.core.herder.requests.connectors import ListConnectors
from kconnect.core.herder.requests.offsets import AlterOffsets, GetOffsets, ResetOffsets
from kconnect.core.herder.requests.states import StopConnector
from kconnect.core.state import records
from kconnect.core.state.offsets import OffsetState
from kconnect.core.state.records import Entry, LogRecord, TargetState, Topic, UnitId
from kconnect.errors import BadRequestError, ConnectError, NotFoundError, RequestTimeoutError
from tests.rig.histories.cluster import MemoryCluster, MemoryWorker

OWN = {"connector.class": "FileStreamSource", "tasks.max": "1", "offsets.storage.topic": "mine"}
SINK = {"connector.class": "FileStreamSink", "topics": "t"}
ALTER = AlterOffsets("x", (({"p": 1}, {"n": 7}), ({"p": 2}, None)))
RESET = ResetOffsets("x")
FIRST = (({"p": 1}, {"n": 7}),)


def fold(*pairs: tuple[bytes, bytes | None]) -> OffsetState:
    state = OffsetState()
    for key, value in pairs:
        state.apply(LogRecord(Topic.OFFSET, 0, 0, key, value))
    return state


def cluster_with(config: dict[str, str] | None, seed: int = 1) -> MemoryCluster:
    cluster = MemoryCluster(seed)
    cluster.add_worker("w0:1")
    cluster.settle()
    if config is not None:
        cluster.own_offsets["x"] = fold()
        cluster.call("w0:1", CreateConnector("x", config))
        cluster.settle()
        cluster.call("w0:1", StopConnector("x"))
        cluster.settle()
    return cluster


def store(cluster: MemoryCluster, key: bytes, value: bytes | None) -> None:
    cluster.log.append([Entry(Topic.OFFSET, key, value)])
    cluster.settle()


def written(cluster: MemoryCluster) -> list[tuple[bytes | None, bytes | None]]:
    return [(record.key, record.value) for record in cluster.log.topics[Topic.OFFSET]]


def seen(cluster: MemoryCluster) -> list[dict[str, Any]]:
    return cluster.call("w0:1", GetOffsets("x"))["offsets"]


def order(cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done from now on, where."""
    done: list[str] = []
    perform = MemoryWorker._perform

    def performed(self: MemoryWorker, effect: effects.Effect[Any]) -> None:
        if isinstance(effect, effects.WriteOwnOffsets):
            done.extend(f"own {entry.key.decode()}={(entry.value or b'-').decode()}" for entry in effect.entries)
        elif isinstance(effect, effects.Write):
            found = [entry for entry in effect.entries if entry.topic in (Topic.OFFSET, Topic.CONFIG)]
            done.extend(f"{entry.topic.value} {entry.key.decode()}={(entry.value or b'-').decode()}" for entry in found)
        elif isinstance(effect, effects.AskConnector | effects.Fence | effects.AlterGroup):
            done.append(type(effect).__name__)
        perform(self, effect)

    monkeypatch.setattr(MemoryWorker, "_perform", performed)
    return done


def test_the_own_topic_counts_and_the_rest_is_the_workers() -> None:
    cluster = cluster_with(OWN)
    store(cluster, b'["x",{"p":1}]', b'{"n":1}')
    store(cluster, b'["x",{"p":2}]', b'{"n":2}')
    store(cluster, b'["x",{"p":3}]', b'{"n":3}')
    cluster.own_offsets["x"] = fold((b'["x",{"p":2}]', b'{"n":20}'), (b'["x",{"p":3}]', None), (b'["y",{"p":1}]', b'{"n":9}'))
    assert seen(cluster) == [
        {"partition": {"p": 1}, "offset": {"n": 1}},
        {"partition": {"p": 2}, "offset": {"n": 20}},
        {"partition": {"p": 3}, "offset": {"n": 3}},
    ]


def test_an_own_topic_that_can_not_be_read() -> None:
    cluster = cluster_with(OWN)
    cluster.outside_answers[effects.ReadOwnOffsets] = ConnectError("no broker")
    for request, text in (
        (GetOffsets("x"), "Failed to retrieve offsets for source connector x: no broker"),
        (ALTER, "Failed to modify offsets for source connector x: no broker"),
        (RESET, "Failed to modify offsets for source connector x: no broker"),
    ):
        with pytest.raises(ConnectError) as refused:
            cluster.call("w0:1", request)
        assert str(refused.value) == text
    cluster.outside_answers[effects.ReadOwnOffsets] = RequestTimeoutError("30 s")
    with pytest.raises(ConnectError, match="Timed out while trying to read to the end of the offsets topic prior"):
        cluster.call("w0:1", RESET)
    assert (written(cluster), cluster.outside) == ([], [])


@pytest.mark.parametrize("seed", range(4))
def test_the_workers_topic_forgets_first_and_learns_last(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = cluster_with(OWN, seed)
    store(cluster, b'["x",{"p": 2}]', b'{"n":2}')
    cluster.own_offsets["x"] = fold((b'["x", {"p":1}]', b'{"n":1}'))
    done = order(cluster, monkeypatch)
    assert cluster.call("w0:1", ALTER)["message"] == "The offsets for this connector have been altered successfully"
    # Each to the key that is there already.
    assert done == [
        "AskConnector",
        'offset ["x",{"p": 2}]=-',
        'own ["x", {"p":1}]={"n":7}',
        'own ["x",{"p": 2}]=-',
        'offset ["x", {"p":1}]={"n":7}',
    ]
    assert seen(cluster) == [{"partition": {"p": 1}, "offset": {"n": 7}}]


def test_a_reset_deletes_what_either_topic_has(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = cluster_with(OWN)
    store(cluster, b'["x",{"p":2}]', b'{"n":2}')
    cluster.own_offsets["x"] = fold((b'["x",{"p":1}]', b'{"n":1}'))
    cluster.log.append([records.tasks_fencing("x", 1)])
    cluster.settle()
    done = order(cluster, monkeypatch)
    for _ in range(2):
        assert cluster.call("w0:1", RESET)["message"] == "The offsets for this connector have been reset successfully"
    assert done == [
        *("Fence", "AskConnector"),
        *('offset ["x",{"p":1}]=-', 'offset ["x",{"p":2}]=-', 'own ["x",{"p":1}]=-', 'own ["x",{"p":2}]=-'),
        *("Fence", "AskConnector"),
    ]
    assert seen(cluster) == []


def test_what_was_half_done_is_said() -> None:
    cluster = cluster_with(OWN)
    cluster.outside_answers[effects.WriteOwnOffsets] = ConnectError("no broker.")
    with pytest.raises(ConnectError) as refused:
        cluster.call("w0:1", ALTER)
    assert str(refused.value) == (
        "Failed to modify offsets for source connector x: no broker. The offsets are already reset in the worker's offset "
        "topic, but not in the connector's own. The request can be repeated safely."
    )
    assert written(cluster) == [(b'["x",{"p":2}]', None)]
    with pytest.raises(ConnectError) as refused:
        cluster.call("w0:1", AlterOffsets("x", FIRST))
    assert str(refused.value) == (
        "Failed to modify offsets for source connector x: no broker. The request can be repeated safely."
    )


def test_offsets_that_a_topic_does_not_take_are_the_requests_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = cluster_with(OWN)
    cluster.outside_answers[effects.WriteOwnOffsets] = BadRequestError("It is too large.")
    with pytest.raises(BadRequestError) as refused:
        cluster.call("w0:1", ALTER)
    assert str(refused.value) == (
        "Failed to modify offsets for source connector x: It is too large. The offsets are already reset in the worker's "
        "offset topic, but not in the connector's own."
    )
    cluster = cluster_with({"connector.class": "FileStreamSource"})

    def refuse(*_: object) -> None:
        raise BadRequestError("It is too large.")

    monkeypatch.setattr(cluster.log, "append_as", refuse)
    with pytest.raises(BadRequestError, match=r"^Failed to modify offsets for source connector x: It is too large\.$"):
        cluster.call("w0:1", ALTER)


@pytest.mark.parametrize(
    ("config", "exactly_once", "redirects", "asked"),
    [
        ({}, False, True, False),
        ({"producer.override.bootstrap.servers": "b:1"}, False, False, False),
        ({}, True, False, False),
        ({"producer.override.bootstrap.servers": "b:1"}, True, False, True),
        ({}, True, True, True),
    ],
)
def test_only_who_may_have_an_own_topic_is_asked_for_it(
    config: dict[str, str], exactly_once: bool, redirects: bool, asked: bool
) -> None:
    cluster = cluster_with({**OWN, "offsets.storage.topic": "", **config})
    cluster.own_offsets["x"] = fold((b'["x",{"p":1}]', b'{"n":1}'))
    herder = cluster.workers["w0:1"].herder
    object.__setattr__(herder.desk.identity, "exactly_once", exactly_once)
    object.__setattr__(herder.desk.identity, "redirects_producers", redirects)
    assert bool(seen(cluster)) == asked


# --- initial_offsets --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_source_is_created_with_its_offsets_and_forgets_others(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = cluster_with(None, seed)
    store(cluster, b'["x",{"p":2}]', b'{"n":2}')
    config = {name: value for name, value in OWN.items() if name != "offsets.storage.topic"}
    done = order(cluster, monkeypatch)
    made = cluster.call("w0:1", CreateConnector("x", config, None, FIRST))
    assert made.info["offsets_status"] == "The offsets for this connector have been altered successfully"
    assert made.created
    before = ["AskConnector", 'offset ["x",{"p":2}]=-', 'offset ["x",{"p":1}]={"n":7}', "config connector-x"]
    assert [each.partition('={"prop')[0] for each in done[:4]] == before
    assert seen(cluster) == [{"partition": {"p": 1}, "offset": {"n": 7}}]
    cluster.settle()
    assert UnitId("x", 0) in cluster.running()


def test_an_own_topic_has_them_before_the_connector_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = cluster_with(None)
    cluster.own_offsets["x"] = fold((b'["x",{"p":2}]', b'{"n":2}'))
    done = order(cluster, monkeypatch)
    made = cluster.call("w0:1", CreateConnector("x", OWN, "stopped", FIRST))
    assert "offsets_status" in made.info
    assert [each.split(" {")[0].split('={"prop')[0] for each in done[:7]] == [
        "AskConnector",
        'offset ["x",{"p":2}]=-',
        'own ["x",{"p":2}]=-',
        'own ["x",{"p":1}]={"n":7}',
        'offset ["x",{"p":1}]={"n":7}',
        'config target-state-x={"state":"PAUSED","state.v2":"STOPPED"}',
        "config connector-x",
    ]
    assert cluster.workers["w0:1"].herder.log.config.target_state("x") is TargetState.STOPPED


def test_a_sink_s_group_begins_there_and_nowhere_else() -> None:
    cluster = cluster_with(None)
    cluster.group_offsets = [("t", 0, 5), ("old", 1, 6)]
    offsets = (({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": "7"}),)
    made = cluster.call("w0:1", CreateConnector("x", SINK, None, offsets))
    assert "offsets_status" in made.info
    config = {**SINK, "name": "x"}
    assert cluster.outside == [
        effects.AskConnector("FileStreamSink", config, ((("t", 0), 7), (("old", 1), None))),
        effects.AlterGroup("x", config, {("t", 0): 7, ("old", 1): None}),  # type: ignore[dict-item]
    ]


@pytest.mark.parametrize(
    ("config", "offsets", "failing", "error", "text"),
    [
        (SINK, ((None, None),), None, BadRequestError, "cannot be null or missing"),
        (OWN, (({"p": [1]}, None),), None, BadRequestError, "field p contains ARRAY"),
        (OWN, FIRST, (effects.AskConnector, effects.RefusedError("no shard")), ConnectError, "no shard"),
        (OWN, FIRST, (effects.WriteOwnOffsets, ConnectError("no broker.")), ConnectError, "no broker"),
        (
            SINK,
            (({"kafka_topic": "t", "kafka_partition": 0}, None),),
            (effects.AlterGroup, effects.GroupInUseError("members")),
            ConnectError,
            "zombie sink tasks",
        ),
    ],
)
def test_there_is_no_connector_if_its_offsets_fail(
    config: dict[str, str],
    offsets: Any,
    failing: tuple[type[effects.Effect[Any]], Exception] | None,
    error: type[Exception],
    text: str,
) -> None:
    cluster = cluster_with(None)
    cluster.own_offsets["x"] = fold()
    if failing is not None:
        cluster.outside_answers[failing[0]] = failing[1]
    with pytest.raises(error, match=text):
        cluster.call("w0:1", CreateConnector("x", config, None, offsets))
    cluster.settle()
    assert cluster.call("w0:1", ListConnectors()) == []
    assert written(cluster) == []
    with pytest.raises(NotFoundError):
        cluster.call("w0:1", GetOffsets("x"))


# --- what is left of an earlier connector -----------------------------------------------------------------------------


def test_who_goes_on_where_another_was_is_told_so() -> None:
    cluster = cluster_with(None)
    for name, partition in (("x", 1), ("x", 2), ("z", 1)):
        store(cluster, records.offset_key(name, {"p": partition}), b'{"n":1}')
    cluster.group_offsets = [("t", 0, 5)]
    plain = {"connector.class": "FileStreamSource"}
    for name, config in (("x", plain), ("y", plain), ("s", SINK)):
        cluster.call("w0:1", CreateConnector(name, config))
    cluster.call("w0:1", CreateConnector("z", plain, None, FIRST))
    cluster.settle()
    told = [line for line in cluster.lines if "continues from the offsets of an earlier connector" in line]
    assert [(line.split()[1:4], line.partition("of this name: ")[2].partition(". To")[0]) for line in told] == [
        (["WARNING", "Connector", "x"], "its offset topic has offsets of 2 partition(s)"),
        (["WARNING", "Connector", "s"], "its consumer group has offsets of 1 partition(s)"),
    ]


def test_a_cluster_that_does_not_answer_keeps_nobody_from_being_created() -> None:
    cluster = cluster_with(None)
    cluster.outside_answers[effects.GroupOffsets] = ConnectError("no broker")
    cluster.call("w0:1", CreateConnector("s", SINK))
    cluster.settle()
    assert UnitId("s", 0) in cluster.running()
    assert not [line for line in cluster.lines if "WARNING" in line and " s " in line]
