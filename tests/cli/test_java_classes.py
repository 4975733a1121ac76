"""What is said of Java connectors that are not installed: `kconnect/cli/java_classes.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconnect.cli import java_classes

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("io.confluent.connect.jdbc.JdbcSinkConnector", "SqlSink"),
        ("io.debezium.connector.jdbc.JdbcSinkConnector", "SqlSink"),
        ("io.aiven.connect.jdbc.JdbcSourceConnector", "SqlSource"),
        ("io.confluent.connect.s3.S3SinkConnector", "ObjectStoreSink"),
        ("io.confluent.connect.s3.source.S3SourceConnector", "ObjectStoreSource"),
        ("io.confluent.connect.hdfs3.Hdfs3SinkConnector", "ObjectStoreSink"),
        ("io.aiven.kafka.connect.gcs.GcsSinkConnector", "ObjectStoreSink"),
        ("io.confluent.connect.elasticsearch.ElasticsearchSinkConnector", "OpenSearchSink"),
        ("io.aiven.kafka.connect.http.HttpSinkConnector", "HttpSink"),
        ("org.apache.iceberg.connect.IcebergSinkConnector", "IcebergSink"),
        ("io.confluent.kafka.connect.datagen.DatagenConnector", "DatagenSource"),
        ("io.debezium.connector.mysql.MySqlConnector", None),
        ("com.mongodb.kafka.connect.MongoSinkConnector", None),
    ],
)
def test_who_has_it_is_named_with_what_does_the_same(name: str, own: str | None) -> None:
    said = java_classes.remedy(name) or ""
    assert "`kconnect plugin install " in said
    assert (f"Without Java {own} does that job" in said) if own else "Without Java" not in said


@pytest.mark.parametrize(
    ("name", "coordinates"),
    [
        ("PostgresConnector", "io.debezium:debezium-connector-postgres:"),
        ("MySql", "io.debezium:debezium-connector-mysql:"),
        ("JdbcSinkConnector", "io.debezium:debezium-connector-jdbc:"),
        ("MirrorSourceConnector", "org.apache.kafka:connect-mirror:"),
        ("io.debezium.connector.mariadb.MariaDbConnector", "io.debezium:debezium-connector-mariadb:3.5.0.Final "),
        ("io.debezium.connector.db2as400.As400RpcConnector", "io.debezium:debezium-connector-ibmi:"),
        ("io.debezium.transforms.ExtractNewRecordState", "io.debezium:debezium-connector-postgres:"),
        ("io.debezium.transforms.Filter", "io.debezium:debezium-scripting:"),
        ("com.redis.kafka.connect.RedisSinkConnector", "./ARCHIVE.zip "),
    ],
)
def test_a_class_is_known_by_its_short_name_and_as_a_transform(name: str, coordinates: str) -> None:
    assert f"`kconnect plugin install {coordinates}" in (java_classes.remedy(name) or "")


def test_no_remedy_has_pip_look_for_a_bare_word() -> None:
    """Whatever PyPI has of the name would be installed: there is a package `Archive`."""
    for project in java_classes.PROJECTS:
        requirement = (java_classes.remedy(f"{project.prefix}Xyz") or "").partition("plugin install ")[2].partition(" ")[0]
        assert requirement.startswith("./") or requirement.count(":") == 2, project


def test_what_nobody_knows_has_no_remedy() -> None:
    assert java_classes.remedy("com.acme.Xyz") is None


def test_versions_are_those_that_the_page_has_and_each_page_is_there() -> None:
    page = (DOCS / "java-connectors.md").read_text("utf-8")
    for project in java_classes.PROJECTS:
        version = (project.coordinates or "VERSION").rpartition(":")[2]
        assert version == "VERSION" or version in page, project
    assert all((DOCS / "connectors" / f"{page}.md").is_file() for _, _, page in java_classes._OWN)
