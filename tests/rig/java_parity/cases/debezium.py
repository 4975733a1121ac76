"""
Debezium's PostgreSQL source: a snapshot, then changes, through five chains at once, each with a slot of its own.

The database is made anew for each side, and so are its changes. Read next: `../normal.py`, for positions, ids and times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.rig.java_parity import normal
from tests.rig.java_parity.run import Case, Observed
from tests.rig.java_parity.side import Side

POSTGRES = "io.debezium:debezium-connector-postgres:3.6.1.Final"
DATABASE = "parity"
SOURCE = "io.debezium.connector.postgresql.PostgresConnector"

_TABLES = """
create type mood as enum ('sad', 'ok', 'happy');
create table orders (
    id bigint primary key, city text not null, state varchar(10) default 'new', price numeric(12, 2), amount numeric,
    weight double precision, small smallint, ratio real, express boolean, due date, at_time time, at timestamp,
    placed timestamptz, span interval, token uuid, document jsonb, raw bytea, tags text[], numbers int[], feeling mood,
    flags bit(3), address inet, fixed char(5)
);
create table lines (order_id bigint, line int, text text, primary key (order_id, line));
create table notes (text text, number int);
alter table notes replica identity full;
create table outbox (
    id uuid primary key, aggregatetype varchar(255) not null, aggregateid varchar(255) not null, type varchar(255) not null,
    payload jsonb, tracing text
);
"""

_BEFORE = """
insert into orders values
    (1, 'Göteborg', 'paid', 12.50, 123456789.123456789, 0.1, -7, 1.5, true, '2024-02-29', '23:59:59.123456',
     '2024-02-29 12:00:00.123456', '2024-02-29 12:00:00.123456+02', '1 year 2 months 3 days 04:05:06.7',
     'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"b": 1, "a": [1, 2, null]}', '\\xdeadbeef', '{a,"b c",null}', '{1,2,null}',
     'happy', b'101', '192.168.0.1/24', 'ab'),
    (2, '東京', default, null, null, 'NaN', null, null, null, null, null, null, null, null, null, null, null, null, null, null,
     null, null, null),
    (3, '', 'a "q"', -0.01, 1e-9, 'Infinity', 32767, -0.0, false, '1969-12-31', '00:00', '1969-12-31 23:59:59',
     '1969-12-31 23:59:59+00', '-1 day', 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '[]', '', '{}', '{}', 'sad',
     b'000', '::1', 'x');
insert into lines values (1, 1, 'one'), (1, 2, 'two'), (2, 1, null);
insert into notes values ('no key', 1), (null, null);
"""

_CHANGES = """
insert into orders (id, city, price) values (4, 'Évora', 99999999.99);
begin;
update orders set city = 'Malmö', price = price * 2, document = '{"c": {"d": "e"}}' where id = 1;
update orders set state = null where id = 2;
insert into lines values (4, 1, 'four'), (4, 2, 'fünf');
commit;
begin;
insert into orders (id, city) values (90, 'rolled back');
rollback;
update lines set text = 'changed' where order_id = 1;
update lines set line = 9 where order_id = 4 and line = 2;
delete from lines where order_id = 2;
insert into notes values ('more', 2);
update notes set number = 3 where number = 2;
delete from notes where number = 1;
alter table orders add column note text, add column count int not null default 5;
insert into orders (id, city, note, count) values (5, 'Aachen', 'noted', 6);
update orders set note = 'late' where id = 1;
alter table orders drop column feeling;
update orders set city = 'Bergen' where id = 3;
delete from orders where id = 2;
alter table orders rename column note to remark;
insert into orders (id, city, remark) values (6, 'Cádiz', 'renamed');
insert into outbox values
    ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a01', 'order', '1', 'created', '{"id": 1, "lines": [{"line": 1, "text": "one"}]}', null),
    ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a02', 'order', '2', 'created', '{"id": 2, "lines": []}', 'trace'),
    ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a03', 'customer', 'c-1', 'moved', null, null);
delete from outbox;
insert into orders (id, city) values (7, 'last');
insert into lines values (7, 1, 'last');
"""


def make_database(side: Side, *statements: str, name: str = DATABASE) -> None:
    side.postgres.execute(f"drop database if exists {name} with (force);\ncreate database {name};\n")
    side.postgres.execute("\n".join(statements), name)


def source(side: Side, prefix: str, **more: str) -> dict[str, str]:
    """Names of settings with `_` for a dot; what Debezium itself calls with `_` there is none."""
    server = side.postgres
    return {
        "connector.class": SOURCE,
        "tasks.max": "1",
        "database.hostname": server.host,
        "database.port": str(server.port),
        "database.user": server.user,
        "database.password": server.password,
        "database.dbname": DATABASE,
        "topic.prefix": prefix,
        "plugin.name": "pgoutput",
        "slot.name": prefix,
        "publication.name": prefix,
        "publication.autocreate.mode": "filtered",
        "table.include.list": "public.orders,public.lines",
        "key.converter": JSON,
        "value.converter": JSON,
        **{name.replace("_", "."): value for name, value in more.items()},
    }


JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
BARE = {"key_converter_schemas_enable": "false", "value_converter_schemas_enable": "false"}
UNWRAP = {"transforms_unwrap_type": "io.debezium.transforms.ExtractNewRecordState"}


def _chains(side: Side) -> dict[str, dict[str, str]]:
    return {
        # Debezium's own envelope, with schemas, in topics of three partitions.
        "plain": source(
            side,
            "plain",
            table_include_list="public.orders,public.lines,public.notes",
            topic_creation_default_partitions="3",
            topic_creation_default_replication_factor="1",
            topic_creation_default_cleanup_policy="compact",
            # Records without a key: no two sides choose the same partition for them.
            topic_creation_groups="loose",
            topic_creation_loose_include=r".*\.notes",
            topic_creation_loose_partitions="1",
            topic_creation_loose_cleanup_policy="delete",
        ),
        # Without schemas, with the transactions, and other ways to write times, decimals and bytes.
        "bare": source(
            side,
            "bare",
            **BARE,
            provide_transaction_metadata="true",
            decimal_handling_mode="string",
            time_precision_mode="connect",
            interval_handling_mode="string",
            binary_handling_mode="hex",
            tombstones_on_delete="false",
            include_unknown_datatypes="true",
        ),
        "flat": source(
            side,
            "flat",
            **UNWRAP,
            transforms="unwrap",
            transforms_unwrap_delete_tombstone_handling_mode="rewrite-with-tombstone",
            transforms_unwrap_add_fields="op,table,lsn,source.ts_ms",
            transforms_unwrap_add_headers="op,db,source.txId",
            transforms_unwrap_add_fields_prefix="__",
        ),
        # A key that is a text, topics by a pattern, and steps of Connect's own behind one of Debezium's.
        "texts": source(
            side,
            "texts",
            **UNWRAP,
            **BARE,
            table_include_list="public.orders",
            transforms="unwrap,key,route,cast,mark",
            transforms_unwrap_delete_tombstone_handling_mode="tombstone",
            transforms_key_type="org.apache.kafka.connect.transforms.ExtractField$Key",
            transforms_key_field="id",
            transforms_route_type="org.apache.kafka.connect.transforms.RegexRouter",
            transforms_route_regex=r"texts\.public\.(.*)",
            transforms_route_replacement="texts-$1",
            transforms_cast_type="org.apache.kafka.connect.transforms.Cast$Value",
            transforms_cast_spec="weight:string",
            transforms_cast_predicate="tombstone",
            transforms_cast_negate="true",
            transforms_mark_type="org.apache.kafka.connect.transforms.InsertHeader",
            transforms_mark_header="by",
            transforms_mark_value_literal="parity",
            predicates="tombstone",
            predicates_tombstone_type="org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
            key_converter=STRING,
        ),
        "outbox": source(
            side,
            "outbox",
            table_include_list="public.outbox",
            transforms="outbox",
            transforms_outbox_type="io.debezium.transforms.outbox.EventRouter",
            transforms_outbox_table_expand_json_payload="true",
            transforms_outbox_table_fields_additional_placement="type:header:eventType,tracing:envelope",
            transforms_outbox_route_topic_replacement="outbox.${routedByValue}",
            key_converter=STRING,
            value_converter_schemas_enable="false",
        ),
    }


_SNAPSHOT = {
    "plain": {"plain.public.orders": 3, "plain.public.lines": 3, "plain.public.notes": 2},
    "bare": {"bare.public.orders": 3, "bare.public.lines": 3},
    "flat": {"flat.public.orders": 3, "flat.public.lines": 3},
    "texts": {"texts-orders": 3},
    "outbox": {},
}
"""How many records there are before the first change; a topic's name says whose it is."""

_IN_THE_END = {
    "plain": {"plain.public.orders": 13, "plain.public.lines": 13, "plain.public.notes": 6},
    "bare": {"bare.public.orders": 12, "bare.public.lines": 11, "bare.transaction": 24},
    "flat": {"flat.public.orders": 13, "flat.public.lines": 13},
    "texts": {"texts-orders": 12},
    "outbox": {"outbox.order": 2, "outbox.customer": 1},
}


def _run(side: Side) -> Observed:
    make_database(side, _TABLES, _BEFORE)
    chains = _chains(side)
    side.start(chains)
    observed: Observed = {}
    for name, topics in _SNAPSHOT.items():
        side.wait_for(topics)
        observed[f"{name}, status"] = side.status(name)
    # The outbox has nothing to take from a table that is empty: the slot tells that it reads.
    side.wait(lambda: len(reading(side)) == len(chains), "all slots are read")
    side.postgres.execute(_CHANGES, DATABASE)
    for topics in _IN_THE_END.values():
        side.wait_for(topics)
    side.stop(*chains)
    for name, topics in _IN_THE_END.items():
        observed[f"{name}, topics used"] = sorted(side.client.topics(name))
        seen = {"offsets": side.offsets(name), "topics": side.topics(*topics), "records": side.records(*topics)}
        for title, data in same(side, seen).items():
            observed[f"{name}, {title}"] = data
    side.delete(*chains)
    drop_slots(side, chains)
    return observed


def reading(side: Side) -> list[tuple[str, ...]]:
    """The slots that a connector reads from."""
    return side.postgres.rows("select slot_name from pg_replication_slots where active")


def drop_slots(side: Side, names: Iterable[str]) -> None:
    side.wait(lambda: not reading(side), "nobody to read a slot")
    for name in names:
        side.postgres.execute(f"select pg_drop_replication_slot('{name}')")


def same(side: Side, seen: Mapping[str, Any]) -> dict[str, Any]:
    """What one connector has written and stored, with the rules for PostgreSQL's numbers, the clocks, and Debezium's run."""
    times = {rf"(__source_|__)?ts_{unit}": normal.time_since(side.began, unit) for unit in ("ms", "us", "ns")}
    rules = {**times, "ts_usec": normal.time_since(side.began, "us"), r"__debezium\.context\.runId": normal.run_id}
    positions = {r"(__)?lsn(_proc|_commit)?": r"^\d+$", "sequence": r"\d+", "(transaction_)?id": r"(?<=:)\d+$"}
    transactions = {r"(__source_)?txId|xmin": r"^\d+$", "id": r"^\d+(?=:)", "transaction_id": r"^\d+(?=:|$)"}
    made = normal.apply(rules, seen)
    for what, parts in (("lsn", positions), ("transaction", transactions)):
        made = normal.apply(normal.Ranks(what, parts, seen).rules, made)
    return dict(made)


def _validate(side: Side) -> Observed:
    full = source(side, "checked")
    made = {
        "nothing but the class": {"connector.class": SOURCE},
        "that works": {**full, "name": "checked"},
        "an unknown host": {**full, "name": "checked", "database.hostname": "no.such.host.invalid"},
        "wrong values": {
            **full,
            "name": "checked",
            "topic.prefix": "no good/prefix",
            "slot.name": "Not-A-Slot",
            "snapshot.mode": "never_heard_of",
            "decimal.handling.mode": "",
            "max.batch.size": "-1",
            "max.queue.size": "zz",
            "table.include.list": "(",
            "column.exclude.list": "a",
            "column.include.list": "b",
            "database.port": "70000",
            "heartbeat.interval.ms": "-5",
        },
    }
    observed: Observed = {f"validate, {title}": side.validated(config) for title, config in made.items()}
    observed["config of the plugin"] = side.plugin_config(SOURCE)
    for plugin in (
        "io.debezium.transforms.ExtractNewRecordState",
        "io.debezium.transforms.outbox.EventRouter",
        "io.debezium.transforms.ByLogicalTableRouter",
        "io.debezium.converters.CloudEventsConverter",
        "io.debezium.converters.BinaryDataConverter",
    ):
        observed[f"config of {plugin.rpartition('.')[2]}"] = side.plugin_config(plugin)
    observed["plugins"] = [row for row in side.client.plugins(connectors_only=False) if row["class"].startswith("io.debezium")]
    return observed


DEBEZIUM = (
    Case("debezium", (POSTGRES,), _run),
    Case("debezium-validate", (POSTGRES,), _validate),
)
