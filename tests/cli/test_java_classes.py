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


def test_what_nobody_knows_has_no_remedy() -> None:
    assert java_classes.remedy("com.acme.Xyz") is None


def test_versions_are_those_that_the_page_has_and_each_page_is_there() -> None:
    page = (DOCS / "java-connectors.md").read_text("utf-8")
    for project in java_classes.PROJECTS:
        version = (project.coordinates or "VERSION").rpartition(":")[2]
        assert version == "VERSION" or version in page, project
    assert all((DOCS / "connectors" / f"{page}.md").is_file() for _, _, page in java_classes._OWN)
