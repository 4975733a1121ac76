"""`format("kconnect")` with a real broker and Spark: batches, streams, transactions, bad records, a registry, a connector."""

from __future__ import annotations

import contextlib
import datetime
import json
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

import kconnect.pyspark
from kconnect.converters.avro import AvroConverter
from kconnect.data import schema as schemas
from kconnect.data.schema import Schema, SchemaType, Struct
from kconnect.pyspark import KconnectDataSource
from kconnect.rest.client import ConnectClient, RestError
from kconnect.testing.processes import WorkerProcess
from tests.converters.test_schema_registry import Server
from tests.spark.sessions import patiently, produce, read, session, topic
from tests.support import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

UTC = datetime.timezone.utc
ABOUT = "_partition int, _offset long, _timestamp timestamp, _deleted boolean"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def spark(folder: Path) -> Iterator[SparkSession]:
    with session(folder) as started:
        yield started


def ids(frame: DataFrame) -> list[Any]:
    return sorted((row["id"] for row in patiently(frame.select("id").collect)), key=lambda value: (value is None, value))


def drain(frame: DataFrame, folder: Path) -> list[int]:
    """Run a stream once over all there is, and return the sizes of its batches."""
    writer = frame.writeStream.format("parquet").option("path", str(folder / "out"))
    sizes: list[int] = []

    def run() -> None:
        query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            sizes.extend(size for size in (progress["numInputRows"] for progress in query.recentProgress) if size)

    patiently(run)
    return sizes


def test_a_batch_has_typed_rows_and_what_spark_needs_to_know_of_them(
    spark: SparkSession, bootstrap: str, unique: Callable[[str], str]
) -> None:
    name = topic(bootstrap, unique("batch"))
    produce(
        bootstrap, name, [{"id": number, "at": {"x": number / 2}, "tags": ["a"]} for number in range(100)], 0, timestamp=1000
    )
    produce(bootstrap, name, [None], 1, key=b'{"id": 7}', headers=[("h", b"x")], timestamp=5000)
    frame = read(spark, bootstrap, {"topics": name, "includeHeaders": "true"})
    assert frame.schema.simpleString() == (
        "struct<id:bigint,at:struct<x:double>,tags:array<string>,_partition:int,_offset:bigint,_timestamp:timestamp,"
        "_headers:array<struct<key:string,value:binary>>,_deleted:boolean>"
    )
    rows = patiently(frame.orderBy("_partition", "_offset").collect)
    assert [row["id"] for row in rows] == [*range(100), 7]
    assert [row["_offset"] for row in rows] == [*range(100), 0]
    assert [row["_deleted"] for row in rows] == [False] * 100 + [True]
    assert rows[-1]["_headers"] == [("h", bytearray(b"x"))]
    assert (rows[3]["at"]["x"], rows[3]["tags"], rows[-1]["at"]) == (1.5, ["a"], None)
    ranged = {
        "topics": name,
        "startingOffsets": json.dumps({name: {"0": 10, "1": -1}}),
        "endingOffsets": json.dumps({name: {"0": 15}}),
    }
    assert ids(read(spark, bootstrap, {**ranged, "maxRecordsPerPartition": "2"}, f"id long, {ABOUT}")) == list(range(10, 15))
    timed = {"topics": name, "startingTimestamp": "1970-01-01T00:00:02Z"}
    assert ids(read(spark, bootstrap, timed, f"id long, {ABOUT}")) == [7]


@pytest.mark.long
def test_filters_make_the_plan_smaller(spark: SparkSession, bootstrap: str, unique: Callable[[str], str]) -> None:
    name = topic(bootstrap, unique("filters"))
    for second in range(20):
        produce(bootstrap, name, [{"id": second}], 0, timestamp=second * 1000 + 1)
    produce(bootstrap, name, [{"id": 100}], 1, timestamp=1)
    frame = read(spark, bootstrap, {"topics": name}, f"id long, {ABOUT}")
    found = frame.filter("_partition = 0 and _offset >= 5 and _offset < 8")
    assert ids(found) == [5, 6, 7]
    assert found.rdd.getNumPartitions() == 1
    since = frame.filter(frame["_timestamp"] >= datetime.datetime(1970, 1, 1, 0, 0, 15, tzinfo=UTC))
    assert ids(since) == [15, 16, 17, 18, 19]
    assert since.rdd.getNumPartitions() == 1
    # Kafka takes such times, as numbers, for its end, and refuses others.
    for year in (1969, 1900):
        assert frame.filter(f"_timestamp > timestamp'{year}-12-31 23:59:59.999'").count() == 21


def test_lines_of_a_topic_of_which_nobody_says_what_it_is_are_texts(
    spark: SparkSession, bootstrap: str, unique: Callable[[str], str]
) -> None:
    name = topic(bootstrap, unique("lines"), 1)
    produce(bootstrap, name, [b"tcpmux 1/tcp", b"5", b"# end"])
    rows = patiently(read(spark, bootstrap, {"topics": name}).orderBy("_offset").collect)
    assert [row["value"] for row in rows] == ["tcpmux 1/tcp", "5", "# end"]


def test_several_topics_are_one_frame(spark: SparkSession, bootstrap: str, unique: Callable[[str], str]) -> None:
    prefix = unique("union")
    one, two = topic(bootstrap, f"{prefix}.one", 1), topic(bootstrap, f"{prefix}.two", 1)
    produce(bootstrap, one, [{"id": 1, "a": "x"}])
    produce(bootstrap, two, [{"id": 2.5, "b": True}])
    rows = patiently(read(spark, bootstrap, {"topics.pattern": rf"{prefix}\..*"}).orderBy("_topic").collect)
    assert [(row["_topic"], row["id"], row["a"], row["b"]) for row in rows] == [(one, 1.0, "x", None), (two, 2.5, None, True)]


@pytest.mark.long
def test_transactions_are_read_once_they_are_committed(
    spark: SparkSession, bootstrap: str, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name = topic(bootstrap, unique("transactions"), 1)
    producer = ck.Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    producer.init_transactions(60)

    def write(number: int) -> None:
        producer.begin_transaction()
        producer.produce(name, json.dumps({"id": number}))
        producer.flush(60)

    write(1)
    producer.commit_transaction(60)
    write(2)
    producer.abort_transaction(60)
    options, schema = {"topics": name, "kafka.bootstrap.servers": bootstrap}, f"id long, {ABOUT}"
    stream = spark.readStream.format("kconnect").options(**options).schema(schema).load()
    assert ids(read(spark, bootstrap, options)) == [1]
    assert drain(stream, tmp_path) == [1]
    write(3)
    assert ids(read(spark, bootstrap, options, schema)) == [1]
    assert drain(stream, tmp_path) == []
    producer.commit_transaction(60)
    write(4)
    producer.abort_transaction(60)
    assert drain(stream, tmp_path) == [1]
    assert drain(stream, tmp_path) == []
    assert ids(spark.read.parquet(str(tmp_path / "out"))) == [1, 3]


@pytest.mark.long
def test_a_stream_goes_on_where_it_was_and_takes_what_has_come_since(
    spark: SparkSession, bootstrap: str, unique: Callable[[str], str], tmp_path: Path
) -> None:
    prefix = unique("stream")
    name = topic(bootstrap, f"{prefix}.one", 2)
    produce(bootstrap, name, [{"id": number} for number in range(100)])
    options = {"topics.pattern": rf"{prefix}\..*", "kafka.bootstrap.servers": bootstrap, "maxOffsetsPerTrigger": "30"}
    stream = spark.readStream.format("kconnect").options(**options).load()
    sizes = drain(stream, tmp_path)
    assert sum(sizes) == 100
    assert max(sizes) <= 30
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_partitions([NewPartitions(name, 3)])[name].result()
    more = topic(bootstrap, f"{prefix}.two", 1)
    wait_until(lambda: len(admin.list_topics().topics[name].partitions) == 3)
    produce(bootstrap, name, [{"id": 100}], 2)
    produce(bootstrap, more, [{"id": 101, "new": 1}])
    assert sum(drain(stream, tmp_path)) == 2
    assert ids(spark.read.parquet(str(tmp_path / "out"))) == list(range(102))


@pytest.mark.long
def test_what_retention_took_fails_the_stream_unless_that_is_wanted(
    spark: SparkSession, bootstrap: str, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name = topic(bootstrap, unique("loss"), 1)
    produce(bootstrap, name, [{"id": number} for number in range(5)])
    options = {"topics": name, "kafka.bootstrap.servers": bootstrap}
    reader = spark.readStream.format("kconnect").options(**options).schema(f"id long, {ABOUT}")
    assert drain(reader.load(), tmp_path) == [5]
    produce(bootstrap, name, [{"id": number} for number in range(5, 10)])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    place = ck.TopicPartition(name, 0, 8)
    admin.delete_records([place])[place].result()
    with pytest.raises(PySparkException, match="failOnDataLoss=false"):
        drain(reader.load(), tmp_path)
    assert drain(reader.option("failOnDataLoss", "false").load(), tmp_path) == [2]
    assert ids(spark.read.parquet(str(tmp_path / "out"))) == [0, 1, 2, 3, 4, 8, 9]


def test_bad_records_go_by_the_mode(spark: SparkSession, bootstrap: str, unique: Callable[[str], str]) -> None:
    name = topic(bootstrap, unique("bad"), 1)
    produce(bootstrap, name, [{"id": 1}, b"{", {"id": "two"}, {"id": 3}])
    schema = f"id long, {ABOUT}"
    with pytest.raises(PySparkException, match=r"offset 1 of .* mode=drop"):
        patiently(read(spark, bootstrap, {"topics": name}, schema).collect)
    assert ids(read(spark, bootstrap, {"topics": name, "mode": "DROPMALFORMED"}, schema)) == [1, 3]
    kept = read(
        spark, bootstrap, {"topics": name, "mode": "keep"}, f"{schema}, _bad struct<error: string, key: binary, value: binary>"
    )
    rows = patiently(kept.orderBy("_offset").collect)
    assert [row["_bad"] and bytes(row["_bad"]["value"]) for row in rows] == [None, b"{", b'{"id": "two"}', None]
    counted = Observation()
    good = kconnect.pyspark.drop_bad(kept, counted)
    assert good.columns == ["id", "_partition", "_offset", "_timestamp", "_deleted"]
    assert ids(good) == [1, 3]
    assert counted.get["dropped"] == 2
    assert "is no JSON" in counted.get["error"] or "its column is int64" in counted.get["error"]


@pytest.mark.long
def test_a_stream_shows_how_many_bad_records_it_has_left_out(
    spark: SparkSession, bootstrap: str, unique: Callable[[str], str], tmp_path: Path
) -> None:
    name = topic(bootstrap, unique("counted"), 1)
    produce(bootstrap, name, [{"id": 1}, b"{", {"id": 3}])
    options = {"topics": name, "kafka.bootstrap.servers": bootstrap, "mode": "keep"}
    good = kconnect.pyspark.drop_bad(spark.readStream.format("kconnect").options(**options).load())
    progress: list[Any] = []

    def run() -> None:
        writer = good.writeStream.format("parquet").option("path", str(tmp_path / "out"))
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()
        progress.extend(query.recentProgress)

    patiently(run)
    observed = [each.observedMetrics["bad_records"]["dropped"] for each in progress if each.numInputRows]
    assert observed == [1]
    assert ids(spark.read.parquet(str(tmp_path / "out"))) == [1, 3]


def test_a_schema_with_columns_that_can_not_be_read_is_refused_before_the_read(
    spark: SparkSession, bootstrap: str, unique: Callable[[str], str]
) -> None:
    name = topic(bootstrap, unique("given"), 1)
    with pytest.raises(PySparkException, match="column _timestamp that can't be read: it is a timestamp"):
        patiently(read(spark, bootstrap, {"topics": name}, "id long, _timestamp string").collect)
    with pytest.raises(PySparkException, match="Leave out NOT NULL"):
        patiently(read(spark, bootstrap, {"topics": name}, "id long not null").collect)


def test_a_registry_says_the_types(spark: SparkSession, bootstrap: str, unique: Callable[[str], str]) -> None:
    name, empty = topic(bootstrap, unique("avro"), 1), topic(bootstrap, unique("avro-empty"), 1)
    registry = Server()
    registry.start()
    try:
        converter = AvroConverter()
        converter.configure({"schema.registry.url": registry.url}, False)
        text = Schema(SchemaType.STRING, optional=True)
        one = schemas.struct({"id": Schema(SchemaType.INT32), "at": schemas.TIMESTAMP_SCHEMA})
        two = schemas.struct({"id": Schema(SchemaType.INT32), "at": schemas.TIMESTAMP_SCHEMA, "name": text})
        moment = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        produce(bootstrap, name, [converter.from_connect_data(name, one, Struct(one, {"id": 1, "at": moment}))])
        produce(bootstrap, name, [converter.from_connect_data(name, two, Struct(two, {"id": 2, "at": moment, "name": "x"}))])
        converter.from_connect_data(empty, two, Struct(two, {"id": 2, "at": moment, "name": "x"}))
        options = {
            "value.converter": "io.confluent.connect.avro.AvroConverter",
            "value.converter.schema.registry.url": registry.url,
        }
        frame = read(spark, bootstrap, {"topics": name, **options})
        assert frame.schema.simpleString().startswith("struct<id:int,at:timestamp,name:string,_partition")
        rows = patiently(frame.orderBy("id").collect)
        assert [(row["id"], row["at"].replace(tzinfo=UTC), row["name"]) for row in rows] == [
            (1, moment, None),
            (2, moment, "x"),
        ]
        nothing = read(spark, bootstrap, {"topics": empty, **options})
        assert nothing.columns[:3] == ["id", "at", "name"]
        assert patiently(nothing.collect) == []
    finally:
        registry.stop()


@pytest.mark.long
def test_a_notebook_creates_its_connector_and_finds_it_again(
    spark: SparkSession,
    bootstrap: str,
    worker: WorkerProcess,
    unique: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name, file = unique("shop"), tmp_path / "lines.txt"
    file.write_text("one\ntwo\n")
    config = {
        "connector.class": "FileStreamSource",
        "file": str(file),
        "topic": f"{name}-lines",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "true",
    }
    options = {"connector": name, "connector.config": json.dumps(config), "rest.url": worker.url}
    try:
        for _ in range(2):
            rows = patiently(read(spark, bootstrap, options).orderBy("_offset").collect)
            assert [(row["value"], row["_topic"]) for row in rows] == [("one", f"{name}-lines"), ("two", f"{name}-lines")]
        # Without a config, it is found by its name.
        assert read(spark, bootstrap, {"connector": name, "rest.url": worker.url}).count() == 2
        other = {**options, "connector.config": json.dumps({**config, "batch.size": "7"})}
        with pytest.raises(PySparkException, match=r"differs in batch\.size"):
            read(spark, bootstrap, other)
        assert read(spark, bootstrap, {**other, "connector.update": "true"}).count() == 2
        with ConnectClient(worker.url) as client:
            assert client.get_config(name)["batch.size"] == "7"
        with pytest.raises(PySparkException, match="There is no connector"):
            read(spark, bootstrap, {"connector": f"{name}-other", "rest.url": worker.url})
        # A stream reads on when its connector has forgotten its topics, is stopped or deleted.
        monkeypatch.setattr("kconnect.pyspark.frame._OF_CONNECTOR_S", -1.0)
        named = {"connector": name, "rest.url": worker.url, "kafka.bootstrap.servers": bootstrap}
        kind = StructType([StructField("value", StringType())])
        stream = KconnectDataSource(named).streamReader(kind)
        end = {f"{name}-lines": {"0": 2}}
        assert stream.latestOffset({}) == end  # type: ignore[call-arg]
        with ConnectClient(worker.url) as client:
            client.stop(name)
            client.wait_for(name, "STOPPED")
            updated = {**other, "connector.update": "true", "connector.config": json.dumps({**config, "batch.size": "8"})}
            assert read(spark, bootstrap, updated).count() == 2
            client.reset_topics(name)
            assert client.topics(name) == []
            assert KconnectDataSource(named).streamReader(kind).latestOffset(end) == end  # type: ignore[call-arg]
            client.delete(name)
        assert stream.latestOffset(end) == end  # type: ignore[call-arg]
    finally:
        with ConnectClient(worker.url) as client, contextlib.suppress(RestError):
            client.delete(name)


def test_no_secret_is_in_a_plan_the_event_log_or_the_ui(
    spark: SparkSession,
    folder: Path,
    bootstrap: str,
    unique: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name, needle, literal = topic(bootstrap, unique("secret"), 1), "needle-4f1c", "needle-literal"
    produce(bootstrap, name, [{"id": 1}])
    logins, passwords = tmp_path / "logins.properties", tmp_path / "passwords.properties"
    logins.write_text(f"kafka.sasl.password={needle}-credentials\n")
    passwords.write_text(f"pw={needle}-file\n")
    # Settings that are secrets by their names, and that do no harm to a client without a login.
    options = {"topics": name, "credentials.file": str(logins), "kafka.ssl.key.password": f"${{file:{passwords}:pw}}"}
    frame = read(spark, bootstrap, options)
    assert ids(frame) == [1]
    stream = spark.readStream.format("kconnect").options(**{"kafka.bootstrap.servers": bootstrap, **options}).load()
    assert drain(stream, tmp_path) == [1]
    with pytest.raises(PySparkException) as caught:
        read(spark, bootstrap, {"topics": name, "kafka.sasl.password": literal})
    assert literal not in str(caught.value)
    plans = str(frame._jdf.queryExecution().toString()) + frame._jdf.queryExecution().logical().treeString()
    application = spark.sparkContext.applicationId
    url = f"{spark.sparkContext.uiWebUrl}/api/v1/applications/{application}/sql?details=true&planDescription=true"
    with urllib.request.urlopen(url) as answer:
        shown = answer.read().decode()
    assert "kconnect" in shown
    logs = "".join(path.read_text("utf-8", "replace") for path in (folder / "events").rglob("*") if path.is_file())
    assert "kconnect" in logs
    for place, text in (("plans", plans), ("UI", shown), ("event log", logs)):
        assert needle not in text, place
    # What Spark keeps of a stream is read by others, too.
    kept = "".join(path.read_text("utf-8", "replace") for path in (tmp_path / "checkpoint").rglob("*") if path.is_file())
    assert needle not in kept
