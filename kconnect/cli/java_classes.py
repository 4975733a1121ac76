"""
Java connectors that people know by their classes: what to type to have one, and which of kconnect's own does the same.

Asked by `refusals.py` for a class that the worker has not. Coordinates are those under which a project publishes in Maven
Central; others have archives only. docs/java-connectors.md tells of versions that were tried.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_DEBEZIUM = "3.6.1.Final"


class Project(NamedTuple):
    """
    A project whose classes have this prefix. `coordinates` end with the version that was tried, or with the word VERSION; None:
    it offers an archive.
    """

    prefix: str
    vendor: str
    coordinates: str | None = None


PROJECTS = (
    *(
        Project(f"io.debezium.connector.{package}.", "Debezium", f"io.debezium:debezium-connector-{artefact}:{version}")
        for package, artefact, version in (
            ("postgresql", "postgres", _DEBEZIUM),
            *((each, each, _DEBEZIUM) for each in ("mysql", "mongodb", "sqlserver", "oracle", "db2", "spanner")),
            *((each, each, "3.5.0.Final") for each in ("mariadb", "vitess", "informix")),
            ("db2as400", "ibmi", "3.5.0.Final"),
            ("jdbc", "jdbc", "3.6.0.Final"),
        )
    ),
    Project("io.debezium.transforms.Filter", "Debezium", "io.debezium:debezium-scripting:3.5.0.Final"),
    Project("io.debezium.transforms.ContentBasedRouter", "Debezium", "io.debezium:debezium-scripting:3.5.0.Final"),
    # The other transforms and the converters of values come with each of its connectors.
    Project("io.debezium.transforms.", "Debezium", f"io.debezium:debezium-connector-postgres:{_DEBEZIUM}"),
    Project("io.debezium.", "Debezium"),
    Project("com.mongodb.kafka.", "MongoDB", "org.mongodb.kafka:mongo-kafka-connect:2.0.1"),
    Project("com.snowflake.kafka.", "Snowflake", "com.snowflake:snowflake-kafka-connector:VERSION"),
    Project("com.google.pubsub.kafka.", "Google", "com.google.cloud:pubsub-group-kafka-connector:VERSION"),
    Project("com.datastax.oss.", "DataStax"),
    Project("org.apache.kafka.connect.mirror.", "Apache Kafka", "org.apache.kafka:connect-mirror:4.3.1"),
    Project("org.apache.kafka.connect.file.", "Apache Kafka", "org.apache.kafka:connect-file:4.3.1"),
    Project("org.apache.iceberg.", "Apache Iceberg", "org.apache.iceberg:iceberg-kafka-connect:VERSION"),
    Project("org.apache.camel.", "Apache Camel", "org.apache.camel.kafkaconnector:camel-NAME-kafka-connector:VERSION"),
    Project("io.confluent.", "Confluent"),
    Project("io.aiven.", "Aiven"),
    Project("com.clickhouse.", "ClickHouse"),
    Project("com.wepay.", "WePay"),
    Project("com.couchbase.", "Couchbase"),
    Project("com.github.jcustenborder.", "Jeremy Custenborder"),
    Project("io.lenses.", "Lenses"),
    Project("com.datamountaineer.", "Lenses"),
    Project("io.tabular.", "Tabular"),
    Project("org.neo4j.", "Neo4j"),
    Project("org.opensearch.", "OpenSearch"),
    Project("com.redis.", "Redis"),
    Project("streams.kafka.connect.", "Neo4j"),
    Project("com.splunk.kafka.", "Splunk"),
    Project("com.datadoghq.", "Datadog"),
    Project("com.microsoft.azure.", "Microsoft"),
    Project("com.azure.cosmos.", "Microsoft"),
    Project("com.amazonaws.", "Amazon"),
    Project("com.ibm.", "IBM"),
    Project("com.databricks.", "Databricks"),
    Project("com.starrocks.", "StarRocks"),
    Project("com.scylladb.", "ScyllaDB"),
    Project("io.questdb.", "QuestDB"),
    Project("com.singlestore.", "SingleStore"),
    Project("com.arangodb.", "ArangoDB"),
    Project("org.apache.hudi.", "Apache Hudi"),
    Project("io.apicurio.", "Apicurio"),
    Project("at.grahsl.", "Hans-Peter Grahsl"),
    Project("com.github.mmolimar.", "Mario Molina"),
)

_BY_ALIAS = {
    full_name.rpartition(".")[2].removesuffix("Connector"): full_name
    for full_name in (
        "io.debezium.connector.postgresql.PostgresConnector",
        "io.debezium.connector.mysql.MySqlConnector",
        "io.debezium.connector.mariadb.MariaDbConnector",
        "io.debezium.connector.mongodb.MongoDbConnector",
        "io.debezium.connector.sqlserver.SqlServerConnector",
        "io.debezium.connector.oracle.OracleConnector",
        "io.debezium.connector.jdbc.JdbcSinkConnector",
        "io.confluent.connect.jdbc.JdbcSourceConnector",
        "io.confluent.connect.s3.S3SinkConnector",
        "io.confluent.connect.s3.source.S3SourceConnector",
        "io.confluent.connect.gcs.GcsSinkConnector",
        "io.confluent.connect.hdfs.HdfsSinkConnector",
        "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",
        "com.wepay.kafka.connect.bigquery.BigQuerySinkConnector",
        "com.snowflake.kafka.connector.SnowflakeSinkConnector",
        "com.mongodb.kafka.connect.MongoSinkConnector",
        "com.mongodb.kafka.connect.MongoSourceConnector",
        "com.clickhouse.kafka.connect.ClickHouseSinkConnector",
        "com.redis.kafka.connect.RedisSinkConnector",
        "com.splunk.kafka.connect.SplunkSinkConnector",
        "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "org.apache.kafka.connect.mirror.MirrorCheckpointConnector",
        "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector",
    )
}
"""What configs call a class for short, without the ending. Of several projects' classes the one that is easiest to install."""

_OWN = (
    (re.compile(r"jdbc.*source", re.IGNORECASE), "SqlSource", "sql-source"),
    (re.compile(r"jdbc", re.IGNORECASE), "SqlSink", "sql"),
    (re.compile(r"(s3|gcs|azure|hdfs|storage).*source", re.IGNORECASE), "ObjectStoreSource", "objects-source"),
    (re.compile(r"(s3|gcs|azureblob|azuredatalake|hdfs\d?)sink", re.IGNORECASE), "ObjectStoreSink", "objects"),
    (re.compile(r"elasticsearch|opensearch", re.IGNORECASE), "OpenSearchSink", "search"),
    (re.compile(r"iceberg", re.IGNORECASE), "IcebergSink", "iceberg"),
    (re.compile(r"delta(lake)?.*sink", re.IGNORECASE), "DeltaSink", "delta"),
    (re.compile(r"http.*source", re.IGNORECASE), "HttpSource", "http"),
    (re.compile(r"http", re.IGNORECASE), "HttpSink", "http"),
    (re.compile(r"datagen", re.IGNORECASE), "DatagenSource", "datagen"),
)
"""By the class's own name: what does the same job, and its page."""


def remedy(name: str) -> str | None:
    """Return what to do about a class of this name that is not there; None for one that nobody knows."""
    name = name if "." in name else _BY_ALIAS.get(name.removesuffix("Connector"), name)
    project = next((candidate for candidate in PROJECTS if name.startswith(candidate.prefix)), None)
    if project is None:
        return None
    # With a path: pip would look for a bare word in PyPI, where anybody may publish something of that name.
    what = f"`kconnect plugin install {project.coordinates or './ARCHIVE.zip'} --plugin-path DIRECTORY`"
    where = "" if project.coordinates else f", with the .zip or .tar.gz that {project.vendor} offers,"
    replacement = next(((ours, page) for pattern, ours, page in _OWN if pattern.search(name.rpartition(".")[2])), None)
    instead = (
        "" if replacement is None else f". Without Java {replacement[0]} does that job (docs/connectors/{replacement[1]}.md)"
    )
    return (
        f"{name} of {project.vendor} is not installed on the worker: {what}{where} installs it, on every worker "
        f"(docs/java-connectors.md){instead}"
    )
