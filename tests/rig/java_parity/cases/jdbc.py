"""
Debezium's JDBC sink: upserts, deletes, columns that come, keys of several kinds, and records that can't be used.

The records are made here, so that nothing depends on a source. Read next: `debezium.py`, whose database it uses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.rig.java_parity.cases.debezium import DATABASE, JSON, make_database
from tests.rig.java_parity.run import Case, Observed
from tests.rig.java_parity.side import Side

JDBC = "io.debezium:debezium-connector-jdbc:3.6.0.Final"
SINK = "io.debezium.connector.jdbc.JdbcSinkConnector"

_KEY = ("id", "int64", False, None)
_FIELDS = (
    _KEY,
    ("city", "string", True, None),
    ("price", "bytes", True, "org.apache.kafka.connect.data.Decimal"),
    ("weight", "double", True, None),
    ("ratio", "float", True, None),
    ("small", "int16", True, None),
    ("express", "boolean", True, None),
    ("due", "int32", True, "io.debezium.time.Date"),
    ("at", "int64", True, "io.debezium.time.MicroTimestamp"),
    ("placed", "string", True, "io.debezium.time.ZonedTimestamp"),
    ("token", "string", True, "io.debezium.data.Uuid"),
    ("document", "string", True, "io.debezium.data.Json"),
    ("raw", "bytes", True, None),
    ("day", "int32", True, "org.apache.kafka.connect.data.Date"),
    ("moment", "int64", True, "org.apache.kafka.connect.data.Timestamp"),
)
_ONE = (1, "Göteborg", "BOI=", 0.1, 1.5, -7, True, 19782, 1709200800123456, "2024-02-29T10:00:00.123456Z")
_ONE_MORE = ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", '{"b": 1}', "3q2+7w==", 19782, 1709200800123)


def _schema(fields: Iterable[tuple[str, str, bool, str | None]], name: str) -> dict[str, Any]:
    made = []
    for field, kind, optional, logical in fields:
        described: dict[str, Any] = {"field": field, "type": kind, "optional": optional}
        if logical is not None:
            described |= {"name": logical, "version": 1}
        if logical == "org.apache.kafka.connect.data.Decimal":
            described["parameters"] = {"scale": "2", "connect.decimal.precision": "12"}
        made.append(described)
    return {"type": "struct", "optional": False, "name": name, "fields": made}


def _row(values: Iterable[Any], more: tuple[tuple[str, str, bool, str | None], ...] = ()) -> bytes:
    fields = (*_FIELDS, *more)
    given = list(values)
    named = {field[0]: value for field, value in zip(fields, [*given, *[None] * (len(fields) - len(given))])}
    return json.dumps({"schema": _schema(fields, f"row{len(more)}"), "payload": named}).encode()


def _key(number: int) -> bytes:
    return json.dumps({"schema": _schema([_KEY], "key"), "payload": {"id": number}}).encode()


_NOTE = (("note", "string", True, None),)
_COUNT = (*_NOTE, ("count", "int32", True, None))

_BEFORE = (
    (_key(1), _row((*_ONE, *_ONE_MORE))),
    (_key(2), _row((2, "東京"))),
    (_key(3), _row((3, "a 'quoted' \"one\""))),
    (_key(1), _row((1, "Malmö", *_ONE[2:], *_ONE_MORE))),
    (_key(2), None),
    (_key(9), None),
)
_LATER = (
    ((_key(4), _row((4, "Évora", *[None] * 13, "noted"), _NOTE)),),
    ((_key(3), _row((3, "Bergen", *[None] * 13, "late", 7), _COUNT)),),
    ((_key(5), _row((5, "old schema"))), (_key(4), None), (_key(2), _row((2, "again", *_ONE[2:])))),
)
"""Batches: two schemas in one are too much for the sink."""


def _config(side: Side, table: str, topic: str = "rows", **more: str) -> dict[str, str]:
    server = side.postgres
    return {
        "connector.class": SINK,
        "tasks.max": "1",
        "topics": topic,
        "connection.url": server.jdbc_url(DATABASE),
        "connection.username": server.user,
        "connection.password": server.password,
        "collection.name.format": table,
        "key.converter": JSON,
        "value.converter": JSON,
        **{name.replace("_", "."): value for name, value in more.items()},
    }


def _sinks(side: Side) -> dict[str, dict[str, str]]:
    grows = {"schema_evolution": "basic"}
    upsert = {**grows, "insert_mode": "upsert", "primary_key_mode": "record_key"}
    return {
        "upserts": _config(side, "upserts", **upsert, delete_enabled="true"),
        "appends": _config(side, "appends", "appended", **grows, insert_mode="insert", primary_key_mode="kafka", **_LIVE),
        "by-value": _config(
            side,
            "by_value",
            **grows,
            **_LIVE,
            insert_mode="upsert",
            primary_key_mode="record_value",
            primary_key_fields="id,city",
            field_include_list="rows:id,rows:city,rows:price,rows:note",
        ),
        "slow": _config(side, "slow", **upsert, delete_enabled="true", batch_size="2", use_reduction_buffer="true"),
        "tolerant": _config(
            side,
            "tolerant",
            "damaged",
            **upsert,
            delete_enabled="true",
            errors_tolerance="all",
            errors_deadletterqueue_topic_name="dead",
            errors_deadletterqueue_topic_replication_factor="1",
            errors_deadletterqueue_context_headers_enable="true",
        ),
    }


_LIVE = {
    "transforms": "live",
    "transforms_live_type": "org.apache.kafka.connect.transforms.Filter",
    "transforms_live_predicate": "tombstone",
    "predicates": "tombstone",
    "predicates_tombstone_type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
}
"""Leaves tombstones out, for sinks that would fail on them."""

_DAMAGED = (
    (_key(1), _row((1, "good"))),
    (_key(2), b"no json {"),
    (b"no json", _row((3, "its key is none"))),
    (_key(4), json.dumps({"id": 4, "city": "without a schema"}).encode()),
    (_key(5), json.dumps({"schema": {"type": "no such type"}, "payload": 1}).encode()),
    (_key(6), _row((6, "last"))),
)


def _run(side: Side) -> Observed:
    make_database(side)
    side.make_topics(rows=1, appended=1, damaged=1, dead=1)
    for topic in ("rows", "appended"):
        side.send(topic, _BEFORE)
    side.send("damaged", _DAMAGED)
    sinks = _sinks(side)
    side.start(sinks)
    observed: Observed = {f"{name}, status": side.status(name) for name in sinks}
    rows, damaged = len(_BEFORE), len(_DAMAGED)
    for name in sinks:
        topic = sinks[name]["topics"]
        count = damaged if name == "tolerant" else rows
        # The sink itself says how far it is, and hears nothing of the two tombstones at the end that are left out for it.
        _wait_for_offset(side, name, topic, count - 2 if "transforms" in sinks[name] else count)
    observed |= {f"{name}, table before": _table(side, sinks[name]["collection.name.format"]) for name in sinks}
    for batch in _LATER:
        side.send("rows", batch)
        rows += len(batch)
        for name in sinks:
            if sinks[name]["topics"] == "rows":
                _wait_for_offset(side, name, "rows", rows)
    for name, config in sinks.items():
        observed[f"{name}, table"] = _table(side, config["collection.name.format"])
        observed[f"{name}, offsets"] = side.offsets(name)
        observed[f"{name}, topics used"] = sorted(side.client.topics(name))
    observed["dead letters"] = side.records("dead")
    side.stop(*sinks)
    observed["validate"] = side.validated({**sinks["upserts"], "name": "upserts"})
    observed["validate, nothing but the class"] = side.validated({"connector.class": SINK})
    observed["validate, wrong values"] = side.validated({**sinks["upserts"], "insert.mode": "x", "batch.size": "0"})
    observed["config of the plugin"] = side.plugin_config(SINK)
    side.delete(*sinks)
    return observed


def _wait_for_offset(side: Side, name: str, topic: str, offset: int) -> None:
    wanted = [{"partition": {"kafka_topic": topic, "kafka_partition": 0}, "offset": {"kafka_offset": offset}}]
    side.wait(lambda: side.offsets(name) == wanted, f"{name} to have put {offset} records of {topic}")


def _table(side: Side, name: str) -> dict[str, Any]:
    """Its columns, with their types and keys, and its rows in an order of their own."""
    columns = side.postgres.rows(
        "select column_name, data_type, is_nullable, column_default, character_maximum_length, numeric_precision, "
        f"numeric_scale, datetime_precision from information_schema.columns where table_name = '{name}' "
        "order by ordinal_position",
        DATABASE,
    )
    keys = side.postgres.rows(
        "select column_name, ordinal_position from information_schema.key_column_usage "
        f"where table_name = '{name}' order by ordinal_position",
        DATABASE,
    )
    names = ", ".join(f'"{column[0]}"' for column in columns)
    rows = side.postgres.rows(f"select {names} from {name}", DATABASE) if columns else []
    return {"columns": [list(each) for each in columns], "keys": [list(each) for each in keys], "rows": sorted(map(list, rows))}


JDBC_SINK = Case("jdbc-sink", (JDBC,), _run)
