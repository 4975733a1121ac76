"""Configs of the connectors that people know, as they are usually written: with another class they work, or a name is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from kconnect.api import Connector
from kconnect.connectors.datagen.connector import DatagenSourceConnector
from kconnect.connectors.http.sink import HttpSinkConnector
from kconnect.connectors.iceberg.connector import IcebergSinkConnector
from kconnect.connectors.objects.connector import ObjectStoreSinkConnector
from kconnect.connectors.objects.source import ObjectStoreSourceConnector
from kconnect.connectors.search.connector import OpenSearchSinkConnector
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.connectors.sql.source import SqlSourceConnector
from kconnect.testing import config_errors
from tests.rig.systems.http_service import HttpService
from tests.rig.systems.opensearch import OpenSearch
from tests.rig.systems.s3 import ACCESS_KEY, SECRET_KEY, S3Server
from tests.support import starts


@pytest.fixture(scope="module")
@starts("process")
def s3() -> Iterator[str]:
    server = S3Server().start()
    server.bucket("my-bucket")
    yield server.url
    server.stop()


@pytest.fixture
def database(tmp_path: Path) -> str:
    engine = sa.create_engine(f"sqlite:///{tmp_path}/d.db")
    with engine.begin() as connection:
        connection.execute(sa.text("create table orders (id integer primary key, modified timestamp not null)"))
    engine.dispose()
    return f"jdbc:sqlite:{tmp_path}/d.db"


@pytest.fixture
def service() -> Iterator[str]:
    made = HttpService()
    yield made.url
    made.end()


def refused(connector: type[Connector], config: dict[str, str], setting: str = "") -> None:
    """By that setting only, and with a sentence that names it or a setting for it; without one the config is taken."""
    errors: dict[str, Any] = config_errors(connector, {"name": "c", "tasks.max": "1", **config})
    assert list(errors) == ([setting] if setting else []), errors


def test_of_a_jdbc_sink(database: str) -> None:
    config = {
        "topics": "orders",
        "connection.url": database,
        "connection.user": "u",
        "dialect.name": "SqliteDatabaseDialect",
        "insert.mode": "upsert",
        "batch.size": "3000",
        "table.name.format": "${topic}",
        "pk.mode": "record_key",
        "pk.fields": "id",
        "auto.create": "true",
        "auto.evolve": "true",
        "delete.enabled": "true",
        "max.retries": "10",
        "retry.backoff.ms": "3000",
        "db.timezone": "UTC",
        "quote.sql.identifiers": "always",
    }
    refused(SqlSinkConnector, config)
    refused(SqlSinkConnector, {**config, "connection.url": "jdbc:oracle:thin:@//h:1521/x"}, "connection.url")


def test_of_a_jdbc_source(database: str) -> None:
    config = {
        "connection.url": database,
        "mode": "timestamp+incrementing",
        "incrementing.column.name": "id",
        "timestamp.column.name": "modified",
        "timestamp.delay.interval.ms": "1000",
        "table.whitelist": "orders",
        "topic.prefix": "sqlite-",
        "poll.interval.ms": "5000",
        "batch.max.rows": "100",
        "table.types": "TABLE",
        "numeric.mapping": "best_fit",
        "validate.non.null": "true",
        "db.timezone": "UTC",
    }
    refused(SqlSourceConnector, config)
    refused(SqlSourceConnector, {**config, "query.suffix": "LIMIT 10"}, "query.suffix")


@pytest.mark.process
def test_of_an_s3_sink_and_source(s3: str) -> None:
    store = {
        "s3.region": "us-west-2",
        "s3.bucket.name": "my-bucket",
        "store.url": s3,
        "aws.access.key.id": ACCESS_KEY,
        "aws.secret.access.key": SECRET_KEY,
    }
    config = {
        **store,
        "topics": "orders",
        "flush.size": "3",
        "s3.part.size": "5242880",
        "storage.class": "io.confluent.connect.s3.storage.S3Storage",
        "format.class": "io.confluent.connect.s3.format.avro.AvroFormat",
        "partitioner.class": "io.confluent.connect.storage.partitioner.TimeBasedPartitioner",
        "partition.duration.ms": "3600000",
        "path.format": "'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH",
        "locale": "en-US",
        "timezone": "UTC",
        "timestamp.extractor": "Record",
        "schema.compatibility": "NONE",
    }
    refused(ObjectStoreSinkConnector, config)
    refused(ObjectStoreSinkConnector, {**config, "s3.ssea.name": "aws:kms"}, "s3.ssea.name")
    refused(ObjectStoreSinkConnector, {**config, "store.kafka.keys": "true"}, "store.kafka.keys")
    refused(ObjectStoreSinkConnector, {**config, "store.kafka.keys": "false"})
    back = {**store, "format.class": "io.confluent.connect.s3.format.avro.AvroFormat", "mode": "RESTORE_BACKUP"}
    refused(ObjectStoreSourceConnector, {**back, "topics.dir": "topics", "s3.poll.interval.ms": "60000"})


@pytest.mark.process
def test_of_an_elasticsearch_sink(opensearch: OpenSearch) -> None:
    config = {
        "topics": "orders",
        "connection.url": opensearch.url,
        "key.ignore": "true",
        "schema.ignore": "true",
        "type.name": "_doc",
        "batch.size": "2000",
        "linger.ms": "1",
        "max.in.flight.requests": "5",
        "behavior.on.malformed.documents": "warn",
        "behavior.on.null.values": "ignore",
        "write.method": "insert",
    }
    refused(OpenSearchSinkConnector, config)
    refused(OpenSearchSinkConnector, {**config, "proxy.host": "p"}, "proxy.host")


def test_of_an_http_sink(service: str) -> None:
    config = {
        "topics": "orders",
        "http.api.url": f"{service}/api/messages",
        "request.method": "POST",
        "headers": "Content-Type: application/json|X-Shop: 1",
        "header.separator": "|",
        "request.body.format": "json",
        "batch.max.size": "10",
        "batch.prefix": "[",
        "batch.suffix": "]",
        "batch.separator": ",",
        "auth.type": "BASIC",
        "connection.user": "admin",
        "connection.password": "password",
        "behavior.on.null.values": "ignore",
        "behavior.on.error": "fail",
        "max.retries": "10",
        "retry.backoff.ms": "3000",
    }
    refused(HttpSinkConnector, config)
    refused(HttpSinkConnector, {**config, "regex.patterns": "x"}, "regex.patterns")


def test_of_an_iceberg_sink(tmp_path: Path) -> None:
    config = {
        "topics": "events",
        "iceberg.tables": "default.events",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.catalog.type": "jdbc",
        "iceberg.catalog.uri": f"jdbc:sqlite:{tmp_path}/c.db",
        "iceberg.catalog.warehouse": f"file://{tmp_path}",
        "iceberg.catalog.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "iceberg.control.commit.interval-ms": "60000",
        "iceberg.control.topic": "control-iceberg",
    }
    refused(IcebergSinkConnector, config)
    refused(IcebergSinkConnector, {**config, "iceberg.tables.cdc-field": "op"}, "iceberg.tables.cdc-field")


def test_of_a_datagen_source() -> None:
    config = {"kafka.topic": "pageviews", "quickstart": "pageviews", "max.interval": "100", "iterations": "10000000"}
    refused(DatagenSourceConnector, config)
    refused(DatagenSourceConnector, {**config, "quickstart": "nothing"}, "quickstart")
