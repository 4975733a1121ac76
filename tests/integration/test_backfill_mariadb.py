"""
The backfill of MariaDB by itself, with a server and a broker: what its records are, what survives which loss, and the handover.

Each type, default and key comes as Debezium wrote it: `tests/connectors/backfill/mariadb/debezium.json` has what it made of
`types.sql`. What Debezium makes of the whole: `test_backfill.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest

from kconnect.api import ConnectError, RetriableError, SourceRecord
from kconnect.connectors.backfill.mariadb import settings
from kconnect.connectors.backfill.mariadb.keys import quoted
from kconnect.connectors.backfill.mariadb.progress import beginning_partition
from kconnect.connectors.backfill.mariadb.source import MariaDbBackfillConnector
from kconnect.local.broker import Broker
from kconnect.testing import SourceRunner
from tests.connectors.backfill.test_types import converted
from tests.rig.systems.mariadb import MariaDB
from tests.support import starts, wait_until

pytestmark = [pytest.mark.integration]

TYPES = Path(__file__).parent.parent / "connectors" / "backfill" / "mariadb"
OTHERS = {
    # Of times of milliseconds, Debezium takes those before 1582 for ones by the calendar of Caesar.
    ("types.alltypes", 3, "dt3"): -12219724800000,
    ("types.alltypes", 5, "dt1"): -12219724800000,
}
"""The values that differ on purpose, by table, id and column; docs/connectors/backfill.md lists their kinds."""
COUNT = 1000
ROWS = "create table t (id int primary key, note varchar(200)); insert into t select seq, repeat('x', 200) from seq_1_to_1000;"

Make = Callable[..., dict[str, str]]


def golden() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((TYPES / "debezium.json").read_text("utf-8"))
    return read


@pytest.fixture(scope="module")
@starts("process")
def server() -> Iterator[MariaDB]:
    started = MariaDB()
    try:
        yield started.start()
    finally:
        started.stop()


_numbers = iter(range(1, 1_000_000))


@pytest.fixture
def database(server: MariaDB, broker: Broker) -> Iterator[Make]:
    """Make a database by some statements, and give the config that reads it."""
    made: list[str] = []

    def make(statements: str, name: str = "") -> dict[str, str]:
        name = name or f"backfill{next(_numbers)}"
        made.append(name)
        server.execute(f"create database {name} character set utf8mb4; use {name}; {statements}")
        return {
            "name": name,
            "tasks.max": "1",
            "database.hostname": server.host,
            "database.port": str(server.port),
            "database.user": server.user,
            "database.password": server.password,
            "database.include.list": name,
            "topic.prefix": "maria",
            "schema.history.internal.kafka.topic": f"{name}-history",
            "schema.history.internal.kafka.bootstrap.servers": broker.bootstrap_servers,
            "backfill.debezium.version": "3.5.0.Final",
        }

    yield make
    # A task that a test has crash leaves its session, with a lock on the table: its process would have ended.
    end_sessions(server)
    for name in made:
        server.execute(f"set lock_wait_timeout = 120; drop database if exists {name}")


def small(config: dict[str, str], **more: str) -> dict[str, str]:
    """Ranges of a few rows, of which a few are read at once."""
    return {**config, "backfill.range.rows": "100", "backfill.batch.rows": "50", **more}


def inside(source: SourceRunner) -> Any:
    """The task, as far as nobody else needs to see into it."""
    return source.task


def rest(source: SourceRunner) -> list[SourceRecord]:
    """What comes until the task has nothing more to read."""
    records: list[SourceRecord] = []
    while inside(source)._ranges:
        records += source.poll()
    return records


def some(source: SourceRunner) -> list[SourceRecord]:
    """The next records that there are."""
    records: list[SourceRecord] = []
    while not records:
        records = source.poll()
    return records


def one_range(source: SourceRunner) -> list[SourceRecord]:
    records = some(source)
    while inside(source)._is_open:
        records += source.poll()
    return records


def ids(records: list[SourceRecord]) -> list[int]:
    return [record.value["after"]["id"] for record in records]


def crash(source: SourceRunner) -> None:
    """Begin anew as after a `kill -9`, which ends the threads of the connector, too: one that goes on would warn for ever."""
    connector: Any = source.connector
    source.restart(crash=True)
    connector._stopped.set()


def end_sessions(server: MariaDB) -> None:
    for (number,) in server.rows("select id from information_schema.processlist where id <> connection_id() and db is null"):
        server.end_session(number)


def handed_over(source: SourceRunner) -> dict[str, Any]:
    """Wait until the connector has noticed the end, and return what it notes."""
    wait_until(lambda: source.reconfigurations or source.error, 60, "it does not see the end")
    assert source.error is None, source.error
    source.restart()
    source.poll()
    return next(offset for partition, offset in source.offsets if partition == {"backfill": "done"})


def history(broker: Broker, topic: str) -> list[dict[str, Any]]:
    consumer = ck.Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": topic, "enable.auto.commit": False})
    try:
        place = ck.TopicPartition(topic, 0, 0)
        end = consumer.get_watermark_offsets(place, timeout=60)[1]
        consumer.assign([place])
        found: list[ck.Message] = []
        while len(found) < end:
            found += [message for message in consumer.consume(100, 1) if message.error() is None]
        return [json.loads(message.value() or b"") for message in found]
    finally:
        consumer.close()


def test_schemas_keys_and_values_are_debeziums(database: Make) -> None:
    config = database((TYPES / "types.sql").read_text("utf-8"), "types")
    wanted = golden()
    with SourceRunner(MariaDbBackfillConnector, config) as source:
        records = rest(source)
    by_table: dict[str, list[SourceRecord]] = {}
    for record in records:
        by_table.setdefault(record.topic.removeprefix("maria."), []).append(record)
    assert set(by_table) == set(wanted)
    for name, table in wanted.items():
        assert len(by_table[name]) == len(table["rows"])
        for record, row in zip(by_table[name], table["rows"]):
            key, value = converted(record, is_key=True), converted(record, is_key=False)
            assert value is not None
            fields = {field["field"]: field for field in value["schema"]["fields"]}
            assert fields["after"]["fields"] == fields["before"]["fields"] == table["columns"], name
            others = [
                {part: of for part, of in field.items() if part != "fields" or field["field"] not in ("before", "after")}
                for field in value["schema"]["fields"]
            ]
            assert {**value["schema"], "fields": others} == table["envelope"]
            assert (key and key["schema"], key and key["payload"]) == (table["key"], row["key"])
            after, payload = value["payload"]["after"], value["payload"]
            for column, wanted_value in row["after"].items():
                if column not in MADE_ANEW:
                    other = OTHERS.get((name, after.get("id"), column), wanted_value)
                    # As texts, for NaN and -0.0.
                    assert json.dumps(after[column]) == json.dumps(other), (name, after.get("id"), column)
            assert (payload["op"], payload["before"], payload["transaction"]) == ("r", None, None)
            assert payload["source"]["connector"] == "mariadb"
            assert [header.value for header in record.headers][:3] == ["maria", "0", "mariadb"]


MADE_ANEW = ("h7", "n", "i2", "k3", "k4", "k7", "l")
"""Columns whose defaults are the time, or another identity each time."""


@pytest.mark.parametrize(
    ("modes", "default", "rows"),
    [
        (("string", "long"), ["1.20", "3.140", 2**63 - 1, 7], ["100000000000000000", "-0.01", "1.500", -1]),
        (("double", "long"), [1.2, 3.14, 2**63 - 1, 7], [1e17, -0.01, 1.5, -1]),
        (("precise", "precise"), [b"x", b"\x0cD", 2**64 - 1, 7], [10**17, b"\xff", b"\x05\xdc", 2**64 - 1]),
    ],
)
def test_numbers_are_what_debezium_makes_of_them_in_other_modes(
    database: Make, modes: tuple[str, str], default: list[Any], rows: list[Any]
) -> None:
    """Written down from Debezium 3.5.0."""
    config = database(
        """create table t (id int primary key, n decimal(20,0), s decimal(5,2) not null default 1.2,
                           z decimal(8,3) zerofill default 3.14, u bigint unsigned not null default 18446744073709551615,
                           uk bigint unsigned default 7);
           insert into t values (1, 100000000000000000, -0.01, 1.5, 18446744073709551615, 1)"""
    )
    decimals, unsigned = modes
    more = {"decimal.handling.mode": decimals, "bigint.unsigned.handling.mode": unsigned}
    with SourceRunner(MariaDbBackfillConnector, {**config, **more}) as source:
        [record] = rest(source)
    row = record.value["after"]

    def plain(value: Any, wanted: Any) -> Any:
        if isinstance(wanted, bytes):
            unscaled = int(value.scaleb(-value.as_tuple().exponent))
            return unscaled.to_bytes(len(wanted), "big", signed=True)
        return value

    defaults = [row.schema.field(name).schema.default for name in ("s", "z", "u", "uk")]
    assert [plain(*pair) for pair in zip(defaults, default)] == default
    assert [plain(row[name], wanted) for name, wanted in zip(("n", "s", "z", "u"), rows)] == rows
    assert [type(value) for value in defaults[:2]] == [type(row["s"]), type(row["z"])]


def test_all_rows_come_once_and_the_stream_begins_before_them(server: MariaDB, broker: Broker, database: Make) -> None:
    config = small(database(ROWS + "create table other (a text); create view v as select * from t; create sequence q;"))
    with SourceRunner(MariaDbBackfillConnector, {**config, "table.include.list": f"{config['name']}.t"}) as source:
        assert source.poll() == [], "a row comes before the beginning is in Kafka"
        records = rest(source)
        assert len({str(offset.get("rows")) for _, offset in source.offsets}) > 1, "there is one range only"
        assert sorted(ids(records)) == list(range(1, COUNT + 1))
        end = handed_over(source)
    at = records[0].value["source"]
    begin = json.loads(end[settings.DEBEZIUM])
    assert begin["partition"] == {"server": "maria"}
    assert (begin["offset"]["file"], begin["offset"]["pos"]) == (at["file"], at["pos"])
    [[gtids]] = server.rows(f"select binlog_gtid_pos('{at['file']}', {at['pos']})")
    assert begin["offset"]["gtids"] == gtids != ""
    # The history has that place, and all tables of the server, but no views and sequences.
    noted = history(broker, config["schema.history.internal.kafka.topic"])
    assert {tuple(record["position"].items()) for record in noted} == {(*begin["offset"].items(), ("snapshot", "INITIAL"))}
    texts = [record["ddl"] for record in noted if record["databaseName"] == config["name"]]
    assert [text.partition("\n")[0] for text in texts] == [
        f"DROP TABLE IF EXISTS `{config['name']}`.`other`",
        f"DROP TABLE IF EXISTS `{config['name']}`.`t`",
        f"DROP DATABASE IF EXISTS `{config['name']}`",
        f"CREATE DATABASE `{config['name']}` CHARSET utf8mb4 COLLATE utf8mb4_general_ci",
        f"USE `{config['name']}`",
        "CREATE TABLE `other` (",
        "CREATE TABLE `t` (",
    ]


@pytest.mark.parametrize("which", ["tables", "databases"])
def test_the_history_has_only_what_is_captured_if_debezium_is_told_so(broker: Broker, database: Make, which: str) -> None:
    database("create table elsewhere (id int)")
    config = database("create table t (id int primary key); create table other (id int)")
    more = {f"schema.history.internal.store.only.captured.{which}.ddl": "true"}
    with SourceRunner(MariaDbBackfillConnector, {**config, **more, "table.include.list": f"{config['name']}.t"}) as source:
        rest(source)
    texts = [record["ddl"] for record in history(broker, config["schema.history.internal.kafka.topic"])]
    created = [text.partition(" (")[0] for text in texts if text.startswith("CREATE TABLE")]
    assert created == ["CREATE TABLE `t`"] if which == "tables" else ["CREATE TABLE `other`", "CREATE TABLE `t`"]


KEYS = {
    "text": ("k varchar(40) character set latin1 collate latin1_swedish_ci", "concat(char(65 + seq % 26), 'é', seq)"),
    "bytes": ("k varbinary(20)", "unhex(sha1(seq))"),
    "unsigned": ("k bigint unsigned", "18446744073709551615 - seq * seq"),
    "decimal": ("k decimal(30,10)", "(cast(seq as signed) - 500) / 7"),
    "moment": ("k datetime(6)", "'2000-01-01' + interval seq * 12345 microsecond"),
    "timestamp": ("k timestamp(3) default 0", "from_unixtime(1000000000 + seq / 10)"),
    "time": ("k time(3)", "sec_to_time(cast(seq as signed) - 500)"),
    "uuid": ("k uuid", "uuid()"),
    "unicode": ("k varchar(40) character set utf8mb4 collate utf8mb4_unicode_ci", "concat('😀', seq, '東')"),
}


@pytest.mark.parametrize("kind", KEYS)
def test_a_task_goes_on_behind_its_last_key_whatever_that_is(server: MariaDB, database: Make, kind: str) -> None:
    column, value = KEYS[kind]
    config = database(
        f"create table t ({column}, e enum('z', 'a', 'm'), id int, primary key (k, e));"
        f"insert into t select {value}, 1 + seq % 3, seq from seq_1_to_1000;"
    )
    with SourceRunner(MariaDbBackfillConnector, small(config)) as source:
        first = some(source) + some(source) + some(source)
        # What it has in hand is never sent: its process ends.
        assert source.poll(acknowledge=False)
        crash(source)
        second = some(source)
        # And now its session ends without a word.
        end_sessions(server)
        with pytest.raises(RetriableError):
            source.poll()
        third = rest(source)
        assert len({partition["pages"] for partition, _ in source.offsets if "pages" in partition}) > 2, "it was not divided"
    assert sorted(ids(first) + ids(second) + ids(third)) == list(range(1, COUNT + 1))


@pytest.mark.parametrize("key", [None, "k bit(40)", "k enum('b', 'a')"])
def test_a_table_that_has_no_order_is_begun_anew(database: Make, key: str | None) -> None:
    # By numbers that labels and bits are compared by, no index can be read from one of them on.
    more = f", {key}, primary key (k, id)" if key else ""
    config = database(
        f"create table t (id int, note text{more}); insert into t (id, note{', k' if key else ''}) "
        f"select seq, 'x'{', 1' if key else ''} from seq_1_to_1000"
    )
    with SourceRunner(MariaDbBackfillConnector, small(config)) as source:
        first = some(source) + some(source)
        crash(source)
        second = rest(source)
        end = [offset for _, offset in source.offsets if "sees" in offset]
    assert 0 < len(first) < COUNT and (first[0].key is None) == (key is None)
    assert sorted(ids(second)) == list(range(1, COUNT + 1))
    assert [(offset["rows"], offset["done"]) for offset in end] == [(COUNT, True)]


def test_whoever_comes_later_reads_newer_rows_and_the_stream_has_the_changes(server: MariaDB, database: Make) -> None:
    config = small(database(ROWS))
    with SourceRunner(MariaDbBackfillConnector, config) as source:
        first = one_range(source)
        server.execute(
            f"use {config['name']}; delete from t where id > 990; insert into t values (2000, 'new');"
            "update t set note = 'new' where id = 1"
        )
        end_sessions(server)
        with pytest.raises(RetriableError):
            source.poll()
        second = rest(source)
        end = handed_over(source)
    assert sorted(ids(first + second)) == [*range(1, 991), 2000]
    places = {(record.value["source"]["file"], record.value["source"]["pos"]) for record in first + second}
    begin = json.loads(end[settings.DEBEZIUM])["offset"]
    assert places == {(begin["file"], begin["pos"])}
    events = server.execute(f"show binlog events in '{begin['file']}' from {begin['pos']}")
    assert "Delete_rows" in events and "Write_rows" in events and "Update_rows" in events


@pytest.mark.parametrize(
    "change",
    [
        "add column more int default 5 first",
        "drop column note",
        "modify note text",
        "rename column note to other",
        "engine=innodb",
    ],
)
def test_a_table_that_is_altered_meanwhile_is_read_as_it_is_then(server: MariaDB, database: Make, change: str) -> None:
    config = small(database(ROWS))
    with SourceRunner(MariaDbBackfillConnector, config) as source:
        first = one_range(source)
        server.execute(
            f"set lock_wait_timeout = 30; use {config['name']}; alter table t {change}; delete from t where id = 999"
        )
        second = rest(source)
    assert sorted({*ids(first + second), 999}) == list(range(1, COUNT + 1))
    [wanted] = server.rows(
        "select group_concat(column_name order by ordinal_position) from information_schema.columns "
        f"where table_schema = '{config['name']}' and table_name = 't'"
    )
    assert [field.name for field in second[-1].value["after"].schema.fields] == wanted[0].split(",")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("drop table t", "was dropped or renamed since the copy began"),
        ("alter table t rename to gone", "was dropped or renamed since the copy began"),
        ("alter table t drop primary key, add primary key (note, id)", "The key of .*t was altered"),
        ("alter table t modify id varchar(20)", "The key of .*t was altered"),
    ],
)
def test_a_table_that_became_another_one_is_told(server: MariaDB, database: Make, change: str, text: str) -> None:
    config = small(database(ROWS))
    with SourceRunner(MariaDbBackfillConnector, config) as source:
        one_range(source)
        server.execute(f"use {config['name']}; {change}")
        with pytest.raises(ConnectError, match=f"{text}.*cancel the backfill and begin it anew"):
            rest(source)


@pytest.mark.parametrize(
    ("change", "is_told"),
    [("varchar(20) collate utf8mb4_bin", True), ("varchar(20) character set latin1", True), ("varchar(40)", False)],
)
def test_a_key_whose_order_is_another_one_is_told(server: MariaDB, database: Make, change: str, is_told: bool) -> None:
    config = small(
        database(
            "create table t (id varchar(20) primary key, note text) character set utf8mb4 collate utf8mb4_general_ci;"
            "insert into t select concat('k', seq), 'x' from seq_1_to_1000"
        )
    )
    with SourceRunner(MariaDbBackfillConnector, config) as source:
        first = one_range(source)
        server.execute(f"use {config['name']}; alter table t modify id {change}")
        if is_told:
            with pytest.raises(ConnectError, match=r"The key of .*t was altered since the copy began"):
                rest(source)
        else:
            assert len({*ids(first), *ids(rest(source))}) == COUNT


def test_who_waits_for_the_rate_holds_no_lock(server: MariaDB, database: Make) -> None:
    config = small(database(ROWS), **{"backfill.rows.per.second": "1", "backfill.range.rows": "100000"})
    with SourceRunner(MariaDbBackfillConnector, config) as source:
        records = some(source)
        assert inside(source)._is_open
        # The control: as long as the range is open, nobody alters the table.
        with pytest.raises(Exception, match=r"(?i)lock wait timeout"):
            server.execute(f"set lock_wait_timeout = 1; alter table {config['name']}.t add column more int")
        source.poll()
        server.execute(f"set lock_wait_timeout = 10; alter table {config['name']}.t add column more int")
        assert not inside(source)._is_open
        # Who ends the session of one that waits has it go on later, too.
        inside(source)._is_open = True
        end_sessions(server)
        with pytest.raises(RetriableError):
            source.poll()
        inside(source)._config = {**inside(source)._config, "backfill.rows.per.second": 0}
        inside(source)._next_at = 0.0
        assert ids(records + rest(source)) == list(range(1, COUNT + 1))


def test_a_connector_that_is_restarted_goes_on_with_what_was_begun(server: MariaDB, database: Make) -> None:
    config = small(database(ROWS))
    with SourceRunner(MariaDbBackfillConnector, config) as source:
        first = one_range(source)
        before = source.task_configs[0][settings.SNAPSHOT]
        server.execute(f"delete from {config['name']}.t where id % 2 = 0")
        crash(source)
        assert source.task_configs[0][settings.SNAPSHOT] == before
        second = rest(source)
    assert not {*ids(first)} & {*ids(second)}
    assert {*ids(first), *ids(second)} >= set(range(1, COUNT + 1, 2))


def test_what_a_task_has_noted_counts_more_than_what_a_connector_remembers(server: MariaDB, database: Make) -> None:
    """A task of before, which nobody has stopped yet, has noted its beginning after the connector was started anew."""
    config = small(database(ROWS))
    with SourceRunner(MariaDbBackfillConnector, config) as source:
        old = source.task_configs[0]
        source.poll(acknowledge=False)
        server.execute(f"delete from {config['name']}.t where id = 1")
        crash(source)
        new = source.task_configs[0]
        assert old[settings.SNAPSHOT] != new[settings.SNAPSHOT]
        task = MariaDbBackfillConnector().task_class()()
        task.initialize(inside(source).context)
        task.start(old)
        [noted] = task.poll() or []
        task.stop()
        source.stop()
        assert noted.source_offset is not None and noted.source_partition is not None
        stored = [(noted.source_partition, noted.source_offset)]
    with SourceRunner(MariaDbBackfillConnector, config, offsets=stored) as source:
        assert json.loads(source.task_configs[0][settings.SNAPSHOT]) == json.loads(old[settings.SNAPSHOT])
        # With the config of the other one a task reads nothing.
        inside(source)._beginning = inside(source)._beginning.__class__.of_offset(
            {**noted.source_offset, **json.loads(new[settings.SNAPSHOT])}
        )
        assert source.poll() == [] and source.awaited is not None


def test_a_log_that_was_not_kept_is_told(server: MariaDB, database: Make) -> None:
    config = small(database(ROWS))
    with SourceRunner(MariaDbBackfillConnector, config) as source:
        one_range(source)
        server.execute("flush binary logs; flush binary logs")

        def purged() -> bool:
            # A file stays as long as the server would need it after a crash.
            last = server.rows("show binary logs")[-1][0]
            server.execute(f"purge binary logs to '{last}'")
            return len(server.rows("show binary logs")) == 1

        wait_until(purged, 60, "the server keeps its log")
        connector: Any = source.connector
        # It has looked already, and would look again in half a minute.
        connector._look_at_log = 0.0
        wait_until(lambda: source.error, 60, "it does not look at the log")
        assert "has not kept its binary log from" in str(source.error)
        stored: Any = list(source.offsets)
    with pytest.raises(ConnectError, match="Cancel the backfill, and begin it anew"):
        SourceRunner(MariaDbBackfillConnector, config, offsets=stored).start()
    assert MariaDbBackfillConnector().alter_offsets(config, [(beginning_partition(), None)])


@pytest.mark.parametrize(("name", "value"), [("binlog_format", "MIXED"), ("binlog_row_image", "MINIMAL")])
def test_a_server_that_logs_less_is_told(server: MariaDB, database: Make, name: str, value: str) -> None:
    config = database(ROWS)
    [(_, before)] = server.rows(f"show global variables like '{name}'")
    server.execute(f"set global {name} = '{value}'")
    try:
        with pytest.raises(ConnectError, match=f"The server has {name} = {value}"):
            SourceRunner(MariaDbBackfillConnector, config).start()
    finally:
        server.execute(f"set global {name} = '{before}'")


def test_names_are_taken_as_they_are(server: MariaDB, broker: Broker, database: Make) -> None:
    odd = "a`b%s {x} \\ ;--\n'\"(,"
    name = quoted(odd)
    config = small(
        database(
            f"create table {name} ({name} int primary key comment 'x`', {quoted('%')} varchar(9) default '),`',"
            f"{quoted('{}')} bit(3));"
            f"insert into {name} select seq, seq, 5 from seq_1_to_1000"
        )
    )
    with SourceRunner(MariaDbBackfillConnector, config) as source:
        records = rest(source)
    assert {record.topic for record in records} == {f"maria.{config['name']}.a_b_s__x_____--_____"}
    assert sorted(record.value["after"][odd] for record in records) == list(range(1, COUNT + 1))
    assert {record.value["after"]["{}"] for record in records} == {b"\x05"}
    texts = [record["ddl"] for record in history(broker, config["schema.history.internal.kafka.topic"])]
    assert f"DROP TABLE IF EXISTS `{config['name']}`.{name}" in texts


def test_tables_and_columns_are_chosen_as_by_debezium(database: Make) -> None:
    make = "create table {0} (id int primary key, secret text); insert into {0} values (1, 's');"
    config = database(make.format("orders") + make.format("Orders2") + make.format("other"))
    name = config["name"]
    chosen = {"table.include.list": f"{name.upper()}.ORDERS\\d?", "column.exclude.list": ".*secret"}
    with SourceRunner(MariaDbBackfillConnector, {**config, **chosen}) as source:
        records = rest(source)
    assert sorted(record.topic for record in records) == [f"maria.{name}.Orders2", f"maria.{name}.orders"]
    assert {field.name for record in records for field in record.value["after"].schema.fields} == {"id"}


@pytest.mark.parametrize(
    ("statements", "more", "text"),
    [
        ("create table p (id int primary key) engine=myisam", {}, "has the engine myisam, and only tables of InnoDB"),
        ("create table p (id int primary key, a inet6)", {}, r"p\.a: The type inet6 is not understood"),
        ("create table p (id int)", {"table.include.list": "none"}, "no table that the config names"),
        ("create table p (id int)", {"database.password": "wrong"}, "Access denied"),
        ("create table p (id int)", {"database.hostname": "a,b"}, "several hosts"),
        ("create table p (id int)", {"database.hostname": "/run/mysqld.sock"}, "It is a path"),
        ("create table p (id int)", {"database.ssl.mode": "trust"}, "(?i)ssl"),
        ("create table p (id int)", {"database.ssl.mode": "verify-ca", "backfill.ssl.ca": "/etc/hostname"}, "PEM"),
    ],
)
def test_what_can_not_be_read_is_told(database: Make, statements: str, more: dict[str, str], text: str) -> None:
    config = {**database(statements), **more}
    with pytest.raises(ConnectError, match=text):
        SourceRunner(MariaDbBackfillConnector, config).start()
