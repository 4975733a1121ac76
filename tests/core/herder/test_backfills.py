"""A backfill over a cluster in memory: begun, counted, handed over and given up, also by whoever asks twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kconnect.core.herder import backfills, effects
from kconnect.core.herder.desk import ForwardError
from kconnect.core.herder.request import Request
from kconnect.core.herder.requests.backfill import (
    CancelBackfill,
    FinishBackfill,
    GetBackfill,
    GetReread,
    Reread,
    StartBackfill,
    StopReread,
)
from kconnect.core.herder.requests.configs import CreateConnector, PutConfig
from kconnect.core.herder.requests.offsets import AlterOffsets, GetOffsets
from kconnect.core.herder.requests.states import SetTargetState, StopConnector
from kconnect.core.herder.requests.tasks import PutTaskConfigs
from kconnect.core.metrics.published import Published
from kconnect.core.metrics.report import UnitReport
from kconnect.core.state import records
from kconnect.core.state.records import State, TargetState, Topic, UnitId, UnitStatus
from kconnect.errors import BadRequestError, ConflictError, ConnectError, NotFoundError
from tests.rig.histories.cluster import MemoryCluster

LSN, SEES = 100, "7:7:"
RANGES = {"tables": [["public", "t", 5, 10, 2, 100]], "place": 0, "of": 1}
TOLD = {"backfill.snapshot": json.dumps({"lsn": LSN, "sees": SEES}), "backfill.ranges": json.dumps(RANGES)}
BEGIN: dict[str, dict[str, Any]] = {"partition": {"server": "p"}, "offset": {"lsn": LSN, "snapshot_completed": True}}
READER = "cdc-backfill"
CONFIG = {"connector.class": backfills.DEBEZIUM, "tasks.max": "1", "topic.prefix": "p", "transforms": "x"}
PLUGINS = [{"class": backfills.DEBEZIUM, "version": "3.5.0.Final"}, {"class": backfills.DEBEZIUM, "version": "3.6.1.Final"}]


@pytest.fixture
def cluster() -> MemoryCluster:
    made = MemoryCluster(1)
    for name in ("a:1", "b:1"):
        made.add_worker(name)
        made.settle()
    made.outside_answers[effects.ListPlugins] = PLUGINS
    call(made, CreateConnector("cdc", CONFIG, "STOPPED"))
    made.settle()
    return made


def call(cluster: MemoryCluster, request: Request[Any]) -> Any:
    assert cluster.group.owner is not None
    return cluster.call(cluster.group.owner, request)


def store(cluster: MemoryCluster, name: str, partition: dict[str, Any], offset: dict[str, Any] | None) -> None:
    key = json.dumps([name, partition], separators=(",", ":")).encode()
    cluster.log.append([records.Entry(Topic.OFFSET, key, None if offset is None else json.dumps(offset).encode())])


def of_range(pages: str, lsn: int = LSN, file: int = 5) -> dict[str, Any]:
    return {"lsn": lsn, "schema": "public", "table": "t", "file": file, "pages": pages}


def read(cluster: MemoryCluster, pages: str, rows: int, done: bool = False, sees: str = SEES, **where: int) -> None:
    more = {"done": True} if done else {}
    store(cluster, READER, of_range(pages, **where), {"sees": sees, "rows": rows, **more})


def begun(cluster: MemoryCluster) -> None:
    call(cluster, StartBackfill("cdc", 4))
    cluster.settle()
    put(cluster, TOLD)


def put(cluster: MemoryCluster, config: dict[str, str]) -> None:
    """Have the reading connector make a task with this config, as a host does once it has the snapshot."""
    call(cluster, PutTaskConfigs(READER, (config,)))
    cluster.settle()


def all_read(cluster: MemoryCluster) -> None:
    begun(cluster)
    read(cluster, "0-10", 40, done=True)
    read(cluster, "10-", 60, done=True)
    store(cluster, READER, {"backfill": "done"}, {"lsn": LSN, "debezium": json.dumps(BEGIN)})


def test_the_reading_connector_has_the_config_but_for_what_is_its_own(cluster: MemoryCluster) -> None:
    follower = next(name for name in cluster.workers if name != cluster.group.owner)
    with pytest.raises(ForwardError):
        cluster.call(follower, StartBackfill("cdc", 4))
    answer = call(cluster, StartBackfill("cdc", 4, {"backfill.rows.per.second": "5"}))
    assert (answer["backfill"], answer["done"], answer["ranges"]) == (READER, False, 0)
    made = cluster.workers[follower].herder.log.config.connectors[READER].properties
    assert made == {
        "name": READER,
        "connector.class": "Backfill",
        "tasks.max": "4",
        "topic.prefix": "p",
        "transforms": "x",
        "backfill.debezium.version": "3.6.1.Final",
        "backfill.rows.per.second": "5",
    }


def test_the_settings_of_a_sink_stand_behind_into(cluster: MemoryCluster) -> None:
    call(cluster, CreateConnector("lake", {"connector.class": "SparkSinkConnector", "topics": "t", "tasks.max": "3"}))
    call(cluster, StartBackfill("cdc", 4, {"into.topics": "u"}, "lake"))
    made = cluster.workers["a:1"].herder.log.config.connectors[READER].properties
    assert {name: value for name, value in made.items() if "into" in name} == {
        "backfill.into": "lake",
        "into.connector.class": "SparkSink",
        "into.topics": "u",
    }


def test_one_that_was_stopped_goes_on_with_the_settings_that_it_has(cluster: MemoryCluster) -> None:
    begun(cluster)
    call(cluster, StopConnector(READER))
    call(cluster, StartBackfill("cdc", 9))
    config = cluster.workers["a:1"].herder.log.config
    assert config.target_state(READER) is TargetState.STARTED
    assert config.connectors[READER].properties["tasks.max"] == "4"


def test_rows_and_ranges_of_this_backfill_are_counted(cluster: MemoryCluster) -> None:
    begun(cluster)
    read(cluster, "0-10", 40, done=True)
    read(cluster, "10-", 5)
    # Of another slot, of another file, by an older snapshot.
    read(cluster, "0-10", 1000, done=True, lsn=7)
    read(cluster, "0-10", 1000, done=True, file=4)
    found = call(cluster, GetBackfill("cdc"))
    assert [found[key] for key in ("ranges", "ranges_done", "rows", "rows_in_all", "why")] == [2, 1, 45, 100, None]
    assert (found["rows_per_s"], found["rest_s"], set(found["held"].values())) == (None, None, {None})
    read(cluster, "0-10", 40, done=True, sees="1:1:")
    assert call(cluster, GetBackfill("cdc"))["ranges_done"] == 0


def test_the_rate_and_what_the_database_holds_back_are_those_that_the_tasks_tell(cluster: MemoryCluster) -> None:
    begun(cluster)
    read(cluster, "0-10", 40)
    unit = UnitId(READER, 0)
    ((worker, number),) = cluster.running()[unit]
    incarnation = cluster.hosts[worker, number].incarnation
    told = {"backfill_snapshot_seconds": 61.0, "backfill_snapshot_transactions": 7.0, "backfill_log_held_bytes": 2.0**20}
    published = (Published("kafka_connect_plugins", (), told),)
    values: dict[str, float | None] = {"source-record-poll-rate": 30.0}
    cluster.reports = [UnitReport(worker, number, incarnation, unit, values=values, published=published)]
    found = call(cluster, GetBackfill("cdc"))
    assert (found["rows_per_s"], found["rest_s"]) == (30.0, 2)
    assert found["held"] == {"snapshot_s": 61.0, "transactions": 7.0, "log_bytes": 2.0**20}


def test_tables_that_are_left_out_are_told_until_it_goes(cluster: MemoryCluster) -> None:
    begun(cluster)
    assert call(cluster, GetBackfill("cdc"))["left_out"] == []
    texts = ["public.p is UNLOGGED", "public.q has partitions"]
    put(cluster, {**TOLD, "backfill.snapshot": json.dumps({"lsn": LSN, "sees": SEES, "left_out": texts})})
    assert call(cluster, GetBackfill("cdc"))["left_out"] == texts
    done = {"lsn": LSN, "debezium": json.dumps(BEGIN)}
    store(cluster, READER, {"backfill": "done"}, {**done, "left_out": json.dumps(texts)})
    put(cluster, {})
    assert call(cluster, GetBackfill("cdc"))["left_out"] == texts
    # Whoever may alter offsets may have written anything.
    for forged in ("{", "[1]", "{}", 5, ["x"]):
        store(cluster, READER, {"backfill": "done"}, {**done, "left_out": forged})
        assert call(cluster, GetBackfill("cdc"))["left_out"] == []


def test_once_all_is_read_that_is_said_whatever_tasks_are_left(cluster: MemoryCluster) -> None:
    all_read(cluster)
    put(cluster, {})
    found = call(cluster, GetBackfill("cdc"))
    assert (found["done"], found["begin"], found["rows"], found["rest_s"]) == (True, BEGIN, 100, None)


def test_a_failure_is_told_by_the_first_line_of_its_trace(cluster: MemoryCluster) -> None:
    begun(cluster)
    failed = UnitStatus(State.FAILED, "a:1", 9, "no room\n\tat x")
    cluster.log.append([records.status(UnitId(READER, 0), failed)])
    cluster.settle()
    assert call(cluster, GetBackfill("cdc"))["why"] == "no room"


def test_debezium_goes_on_from_the_copy_and_the_backfill_goes(cluster: MemoryCluster) -> None:
    all_read(cluster)
    assert call(cluster, FinishBackfill("cdc"))["rows"] == 100
    log = cluster.workers[cluster.group.owner or ""].herder.log
    assert call(cluster, GetOffsets("cdc"))["offsets"] == [BEGIN]
    assert (log.config.target_state("cdc"), READER in log.config.connectors) == (TargetState.STARTED, False)
    # Another one must not take itself for done.
    assert log.offsets.of(READER) == []
    with pytest.raises(NotFoundError, match="kconnect backfill start cdc"):
        call(cluster, FinishBackfill("cdc"))


@pytest.mark.parametrize("step", range(4))
def test_whoever_was_interrupted_asks_again(cluster: MemoryCluster, step: int) -> None:
    all_read(cluster)
    steps = [
        AlterOffsets("cdc", ((BEGIN["partition"], BEGIN["offset"]),)),
        SetTargetState("cdc", TargetState.STARTED),
        StopConnector(READER),
    ]
    for each in steps[:step]:
        call(cluster, each)
        cluster.settle()
    if step == 3:
        # The offsets are gone too; and Debezium has gone on meanwhile.
        for partition in (of_range("0-10"), of_range("10-"), {"backfill": "done"}):
            store(cluster, READER, partition, None)
        store(cluster, "cdc", {"server": "p"}, {"lsn": LSN + 50})
    call(cluster, FinishBackfill("cdc"))
    log = cluster.workers[cluster.group.owner or ""].herder.log
    assert (log.config.target_state("cdc"), READER in log.config.connectors) == (TargetState.STARTED, False)
    assert call(cluster, GetOffsets("cdc"))["offsets"][0]["offset"]["lsn"] == (LSN + 50 if step == 3 else LSN)


def test_what_can_not_be_handed_over_is_left_as_it_is(cluster: MemoryCluster) -> None:
    begun(cluster)
    with pytest.raises(ConflictError, match="not done: 0 of 2 ranges"):
        call(cluster, FinishBackfill("cdc"))
    # Debezium may have offsets of its own by a mistake: a backfill that has just begun is not deleted for that.
    store(cluster, "cdc", {"server": "p"}, {"lsn": 1})
    with pytest.raises(ConflictError, match="not done"):
        call(cluster, FinishBackfill("cdc"))
    store(cluster, READER, {"backfill": "done"}, {"lsn": LSN, "debezium": json.dumps(BEGIN)})
    with pytest.raises(ConflictError, match="offsets of its own, from before the copy"):
        call(cluster, FinishBackfill("cdc"))
    log = cluster.workers[cluster.group.owner or ""].herder.log
    assert (log.config.target_state("cdc"), READER in log.config.connectors) == (TargetState.STOPPED, True)


def test_one_that_is_given_up_is_gone_with_its_offsets(cluster: MemoryCluster) -> None:
    begun(cluster)
    read(cluster, "0-10", 40)
    call(cluster, CancelBackfill("cdc"))
    log = cluster.workers[cluster.group.owner or ""].herder.log
    assert READER not in log.config.connectors
    # The connector was asked, which drops its slot, and that for Debezium, which has not begun.
    asked = [each for each in cluster.outside if isinstance(each, effects.AskConnector)]
    assert [each.offsets for each in asked] == [((of_range("0-10"), None),)]
    assert asked[0].config["backfill.given.up"] == "true"
    with pytest.raises(NotFoundError, match="There is no backfill of cdc"):
        call(cluster, CancelBackfill("cdc"))


def test_what_can_not_be_begun_is_told(cluster: MemoryCluster) -> None:
    with pytest.raises(NotFoundError, match="Connector nope not found"):
        call(cluster, StartBackfill("nope", 1))
    call(cluster, CreateConnector("other", {"connector.class": "FileStreamSource"}, "STOPPED"))
    with pytest.raises(BadRequestError, match="other is a FileStreamSource"):
        call(cluster, StartBackfill("other", 1))
    with pytest.raises(BadRequestError, match="other is a FileStreamSource: a copy goes into topics, or"):
        call(cluster, StartBackfill("cdc", 1, {}, "other"))
    with pytest.raises(NotFoundError, match="Connector nope not found"):
        call(cluster, StartBackfill("cdc", 1, {}, "nope"))
    store(cluster, "cdc", {"server": "p"}, {"lsn": 1})
    with pytest.raises(BadRequestError, match="has offsets already"):
        call(cluster, StartBackfill("cdc", 1))
    call(cluster, SetTargetState("cdc", TargetState.PAUSED))
    with pytest.raises(BadRequestError, match="must be STOPPED"):
        call(cluster, StartBackfill("cdc", 1))
    call(cluster, StopConnector("cdc"))
    store(cluster, "cdc", {"server": "p"}, None)
    cluster.outside_answers[effects.ListPlugins] = []
    with pytest.raises(NotFoundError, match="kconnect plugin install"):
        call(cluster, StartBackfill("cdc", 1))
    call(cluster, CreateConnector(READER, {"connector.class": "FileStreamSink", "topics": "t"}))
    requests: list[Request[Any]] = [StartBackfill("cdc", 1), GetBackfill("cdc"), FinishBackfill("cdc"), CancelBackfill("cdc")]
    for request in requests:
        with pytest.raises(BadRequestError, match="cdc-backfill is no backfill of cdc, but a FileStreamSink"):
            call(cluster, request)
    assert READER in cluster.workers["a:1"].herder.log.config.connectors


def test_a_slot_that_can_not_be_dropped_keeps_the_backfill(cluster: MemoryCluster) -> None:
    begun(cluster)
    read(cluster, "0-10", 40)
    cluster.outside_answers[effects.AskConnector] = ConnectError("the slot is in use")
    with pytest.raises(ConnectError, match="the slot is in use"):
        call(cluster, CancelBackfill("cdc"))
    assert READER in cluster.workers["a:1"].herder.log.config.connectors


SIGNALS = {
    **CONFIG,
    "signal.enabled.channels": "source, kafka",
    "signal.kafka.topic": "p-signals",
    "signal.kafka.bootstrap.servers": "kafka:9092",
    "signal.data.collection": "public.marks",
}


def with_signals(cluster: MemoryCluster, **other: str) -> None:
    call(cluster, PutConfig("cdc", {**SIGNALS, **{name.replace("_", "."): text for name, text in other.items()}}))
    call(cluster, SetTargetState("cdc", TargetState.STARTED))
    cluster.settle()


def sent(cluster: MemoryCluster) -> list[effects.Signal]:
    return [each for each in cluster.outside if isinstance(each, effects.Signal)]


def test_tables_are_read_again_by_a_signal_of_debezium_s(cluster: MemoryCluster) -> None:
    with_signals(cluster)
    assert call(cluster, Reread("cdc", ("public.t", "public.u"), "id > 1"))["tables"] == ["public.t", "public.u"]
    call(cluster, StopReread("cdc"))
    first, last = sent(cluster)
    assert (first.servers, first.topic, first.key) == ("kafka:9092", "p-signals", b"p")
    signal = json.loads(first.value)
    assert (signal["type"], signal["data"]["type"]) == ("execute-snapshot", "INCREMENTAL")
    assert signal["data"]["data-collections"] == [r"public\.t", r"public\.u"]
    conditions = signal["data"]["additional-conditions"]
    assert [(each["data-collection"], each["filter"]) for each in conditions] == [
        (r"public\.t", "id > 1"),
        (r"public\.u", "id > 1"),
    ]
    assert json.loads(last.value)["type"] == "stop-snapshot"


def test_what_is_still_to_be_read_again_is_in_debezium_s_offsets(cluster: MemoryCluster) -> None:
    with_signals(cluster)
    assert call(cluster, GetReread("cdc"))["tables"] == []
    reading = '[{"incremental_snapshot_collections_id": "public.t"}, {"incremental_snapshot_collections_id": "public.u"}]'
    store(cluster, "cdc", {"server": "p"}, {"lsn": 1, "incremental_snapshot_collections": reading})
    assert call(cluster, GetReread("cdc"))["tables"] == ["public.t", "public.u"]
    for odd in ("no JSON", "{}", "[1]", 7):
        store(cluster, "cdc", {"server": "p"}, {"lsn": 1, "incremental_snapshot_collections": odd})
        assert call(cluster, GetReread("cdc"))["tables"] == []


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"signal_enabled_channels": "source"}, "set signal.enabled.channels=source,kafka$"),
        ({"signal_kafka_topic": ""}, "set signal.kafka.topic=p-signals$"),
        ({"signal_kafka_bootstrap_servers": ""}, "set signal.kafka.bootstrap.servers to the brokers of this cluster$"),
        ({"signal_data_collection": ""}, "set signal.data.collection to a table"),
        ({"read_only": "true"}, "set read.only=false: without marks"),
        ({"signal_kafka_topic": "${env:T}"}, "signal.kafka.topic of cdc is ..env:T.: to send it a signal"),
    ],
)
def test_a_connector_that_takes_no_signals_is_told_what_it_lacks(
    cluster: MemoryCluster, other: dict[str, str], text: str
) -> None:
    with_signals(cluster, **other)
    with pytest.raises(BadRequestError, match=text):
        call(cluster, Reread("cdc", ("public.t",)))
    assert sent(cluster) == []


def test_whole_tables_have_no_condition(cluster: MemoryCluster) -> None:
    with_signals(cluster)
    call(cluster, Reread("cdc", ("public.t",)))
    assert "additional-conditions" not in json.loads(sent(cluster)[0].value)["data"]


def test_a_connector_that_does_not_run_hears_nothing(cluster: MemoryCluster) -> None:
    with_signals(cluster)
    call(cluster, StopConnector("cdc"))
    cluster.settle()
    with pytest.raises(ConflictError, match="kconnect resume cdc"):
        call(cluster, StopReread("cdc"))
    with pytest.raises(BadRequestError, match="other is a FileStreamSource"):
        call(cluster, CreateConnector("other", {"connector.class": "FileStreamSource"}, "STOPPED"))
        call(cluster, Reread("other", ("public.t",)))
    with pytest.raises(NotFoundError):
        call(cluster, GetReread("nope"))


def test_mariadbs_tables_are_read_by_a_connector_of_their_own(cluster: MemoryCluster) -> None:
    maria = {**CONFIG, "connector.class": backfills.DEBEZIUM_MARIADB}
    cluster.outside_answers[effects.ListPlugins] = [*PLUGINS, {"class": backfills.DEBEZIUM_MARIADB, "version": "3.5.0.Final"}]
    call(cluster, CreateConnector("maria", maria, "STOPPED"))
    cluster.settle()
    call(cluster, CreateConnector("lake", {"connector.class": "SparkSinkConnector", "topics": "t"}))
    call(cluster, StartBackfill("maria", 2, into="lake"))
    worker = cluster.workers[cluster.group.owner or ""]
    made = worker.herder.log.config.connectors["maria-backfill"].properties
    assert made["connector.class"] == "MariaDbBackfill"
    assert (made["backfill.into"], made["into.topics"]) == ("lake", "t")
    assert made["backfill.debezium.version"] == "3.5.0.Final"
    with pytest.raises(BadRequestError, match=f"a backfill is for {backfills.DEBEZIUM}$"):
        call(cluster, Reread("maria", ("shop.t",), None))


@pytest.mark.parametrize(
    ("offset", "is_before"),
    [
        ({"file": "log.000009", "pos": 400}, True),
        ({"file": "log.000010", "pos": 399}, True),
        ({"file": "log.000010", "pos": 400}, False),
        ({"file": "log.1000000", "pos": 4}, False),
        ({}, True),
    ],
)
def test_an_offset_in_mariadbs_log_is_before_another(offset: dict[str, Any], is_before: bool) -> None:
    assert backfills.is_before(offset, {"file": "log.000010", "pos": 400, "gtids": "0-1-7"}) is is_before


def test_a_slot_that_debezium_may_read_is_left_to_it(cluster: MemoryCluster) -> None:
    all_read(cluster)
    store(cluster, "cdc", BEGIN["partition"], BEGIN["offset"])
    call(cluster, CancelBackfill("cdc"))
    (asked,) = [each for each in cluster.outside if isinstance(each, effects.AskConnector)]
    assert "backfill.given.up" not in asked.config


def test_a_handover_that_was_interrupted_is_ended_and_not_begun_anew(cluster: MemoryCluster) -> None:
    all_read(cluster)
    call(cluster, AlterOffsets("cdc", ((BEGIN["partition"], BEGIN["offset"]),)))
    call(cluster, SetTargetState("cdc", TargetState.STARTED))
    call(cluster, StopConnector(READER))
    for partition in (of_range("0-10"), of_range("10-"), {"backfill": "done"}):
        store(cluster, READER, partition, None)
    with pytest.raises(BadRequestError, match="must be STOPPED"):
        call(cluster, StartBackfill("cdc", 1))
    call(cluster, StopConnector("cdc"))
    with pytest.raises(BadRequestError, match="kconnect backfill finish cdc"):
        call(cluster, StartBackfill("cdc", 1))
    assert cluster.workers["a:1"].herder.log.config.target_state(READER) is TargetState.STOPPED


def test_what_was_copied_must_be_what_debezium_goes_on_with(cluster: MemoryCluster) -> None:
    all_read(cluster)
    call(cluster, PutConfig("cdc", {**CONFIG, "table.include.list": "public.t,public.u"}))
    with pytest.raises(ConflictError, match=r"differ in table\.include\.list"):
        call(cluster, FinishBackfill("cdc"))
    # Who has a new password meanwhile, or topics that are made otherwise, has copied the same.
    others = {"database.password": "new", "database.sslmode": "require", "topic.creation.default.partitions": "6"}
    call(cluster, PutConfig("cdc", {**CONFIG, **others, "tasks.max": "1", "poll.interval.ms": "7"}))
    assert call(cluster, FinishBackfill("cdc"))["done"]


@pytest.mark.parametrize("offset", [{"lsn": "text"}, {"lsn": None}, {}, {"lsn": 3}])
def test_odd_offsets_of_debezium_s_are_older_ones(cluster: MemoryCluster, offset: dict[str, Any]) -> None:
    all_read(cluster)
    store(cluster, "cdc", {"server": "p"}, offset)
    with pytest.raises(ConflictError, match="kconnect offsets reset"):
        call(cluster, FinishBackfill("cdc"))


def test_the_version_is_one_that_the_config_allows(cluster: MemoryCluster) -> None:
    cluster.outside_answers[effects.ListPlugins] = [*PLUGINS, {"class": backfills.DEBEZIUM, "version": "3.7.0.Final"}]
    call(cluster, PutConfig("cdc", {**CONFIG, "connector.plugin.version": "[3.5,3.7)"}))
    call(cluster, StartBackfill("cdc", 1))
    made = cluster.workers["a:1"].herder.log.config.connectors[READER].properties
    assert made["backfill.debezium.version"] == "3.6.1.Final"


@pytest.mark.parametrize(
    ("partition", "offset"),
    [
        ({"lsn": LSN, "schema": "public", "table": "t", "file": 5, "pages": "0-10"}, {"rows": "x", "done": True, "sees": SEES}),
        ({"lsn": LSN, "schema": [1], "table": {}, "file": [], "pages": "9" * 5000 + "-"}, {"rows": [1]}),
        ({"backfill": "done", "lsn": LSN}, {"rows": {}, "debezium": "[" * 100_000}),
    ],
)
def test_odd_offsets_of_a_backfill_are_told_of(cluster: MemoryCluster, partition: Any, offset: Any) -> None:
    """Who may write to the topic of offsets writes what is none: how far a backfill is can be asked for all the same."""
    begun(cluster)
    store(cluster, READER, partition, offset)
    assert call(cluster, GetBackfill("cdc"))["rows"] == 0
    store(cluster, "cdc", {"server": "p"}, {"incremental_snapshot_collections": "[" * 100_000})
    assert call(cluster, GetReread("cdc"))["tables"] == []
