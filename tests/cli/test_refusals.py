"""What is said of a class that the worker lacks: `kconnect/cli/refusals.py`."""

from __future__ import annotations

import pytest

from kconnect.cli import refusals

INSTALLED = [
    "kconnect.connectors.sql.connector.SqlSinkConnector",
    "kconnect.connectors.sql.source.SqlSourceConnector",
    "kconnect.connectors.iceberg.connector.IcebergSinkConnector",
    "kconnect.connectors.http.sink.HttpSinkConnector",
    "org.apache.kafka.connect.file.FileStreamSourceConnector",
    "org.apache.kafka.connect.file.FileStreamSinkConnector",
    "org.apache.kafka.connect.transforms.ReplaceField$Value",
    "io.confluent.connect.avro.AvroConverter",
    "io.debezium.connector.postgresql.PostgresConnector",
    "io.debezium.connector.jdbc.JdbcSinkConnector",
]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("io.debezium.connector.postgresql.PostgressConnector", "io.debezium.connector.postgresql.PostgresConnector"),
        ("io.debezium.connector.postgres.PostgresConnector", "io.debezium.connector.postgresql.PostgresConnector"),
        ("org.apache.kafka.connect.file.FileStreamSource", "org.apache.kafka.connect.file.FileStreamSourceConnector"),
        ("FileStreamSorce", "org.apache.kafka.connect.file.FileStreamSourceConnector"),
        ("FileStreamSinkConector", "org.apache.kafka.connect.file.FileStreamSinkConnector"),
        ("sqlsource", "kconnect.connectors.sql.source.SqlSourceConnector"),
        ("HttpsSink", "kconnect.connectors.http.sink.HttpSinkConnector"),
        ("ReplaceFeild$Value", "org.apache.kafka.connect.transforms.ReplaceField$Value"),
        ("io.debezium.connector.mysql.MySqlConnector", None),
        ("com.redis.kafka.connect.RedisSinkConnector", None),
        ("streams.kafka.connect.sink.Neo4jSinkConnector", None),
        ("io.tabular.iceberg.connect.IcebergSinkConnector", None),
        ("io.apicurio.registry.utils.converter.AvroConverter", None),
        ("io.confluent.connect.protobuf.ProtobufConverter", None),
        ("S3SinkConnector", None),
        ("MySqlConnector", None),
        ("JdbcSourceConnector", None),
    ],
)
def test_only_a_class_that_is_meant_is_proposed(name: str, meant: str | None) -> None:
    assert refusals._nearest(name, INSTALLED) == meant


def test_a_missing_class_is_named_with_its_setting() -> None:
    name = "io.debezium.transforms.Filter"
    line = f"Invalid value {name} for configuration transforms.a.type: Class {name} could not be found."
    assert refusals._with_remedy(line, lambda: INSTALLED).startswith(f"transforms.a.type: {name} of Debezium is not installed")
