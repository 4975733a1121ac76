"""The OpenSearch sink against OpenSearch: documents and their ids, versions, mappings, what is refused, and what is told."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
from collections.abc import Iterator
from typing import Any

import pytest

from kconnect.api import (
    INT64_SCHEMA,
    STRING_SCHEMA,
    TIMESTAMP_SCHEMA,
    ConnectError,
    Header,
    RetriableError,
    Schema,
    SinkRecord,
    Struct,
    schema,
)
from kconnect.connectors.search.connector import OpenSearchSinkConnector
from kconnect.testing import SinkRunner, check_plugin, config_errors
from tests.rig.systems.http_service import HttpService
from tests.rig.systems.opensearch import OpenSearch

UTC = datetime.timezone.utc
VALUE = schema.struct({"id": INT64_SCHEMA, "note": STRING_SCHEMA.optional_copy()})
TOLERANT = {"errors_tolerance": "all"}
_numbers = iter(range(1, 1_000_000))


@pytest.fixture
def topic() -> str:
    return f"Orders{next(_numbers)}"


@pytest.fixture
def server(opensearch: OpenSearch) -> OpenSearch:
    return opensearch


def sink(server: OpenSearch, topic: str, **more: str) -> SinkRunner:
    settings = {name.replace("_", "."): value for name, value in more.items()}
    config = {"topics": topic, "connection.url": server.url, "retry.backoff.ms": "1", **settings}
    return SinkRunner(OpenSearchSinkConnector, config)


def record(
    topic: str, offset: int, value: Any, own: Schema | None = None, key: Any = "k", partition: int = 0, **more: Any
) -> SinkRecord:
    return SinkRecord(topic, partition, None, key, own, value, offset, timestamp=1_774_785_600_250, **more)


def struct(topic: str, offset: int, note: str | None = "n", key: Any = None) -> SinkRecord:
    return record(topic, offset, Struct(VALUE, {"id": offset, "note": note}), VALUE, key=offset if key is None else key)


def test_keys_are_ids_and_the_last_record_of_a_key_stays(server: OpenSearch, topic: str) -> None:
    with sink(server, topic) as runner:
        runner.put([struct(topic, 0, "a", "x"), struct(topic, 1, "b", "y"), struct(topic, 2, "c", "x")])
        # Who begins anew changes nothing: versions are offsets.
        runner.put([struct(topic, 0, "a", "x")])
        runner.flush()
        assert runner.committed == {(topic, 0): 1}
    assert server.documents(topic.lower()) == {"x": {"id": 2, "note": "c"}, "y": {"id": 1, "note": "b"}}


def test_a_document_of_another_partition_is_no_success(
    server: OpenSearch, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    with sink(server, topic, **TOLERANT) as runner:
        runner.put([record(topic, 5000, {"v": "of 0"}, key="k"), record(topic, 20, {"v": "of 0"}, key="low")])
        moved = [
            record(topic, 3, {"v": "of 1"}, key="k", partition=1),
            record(topic, 90, {"v": "of 1"}, key="low", partition=1),
        ]
        runner.put([*moved, record(topic, 4, None, key="k", partition=1)])
        # One that comes again loses by right.
        runner.put([record(topic, 10, {"v": "again"}, key="k")])
        ((lost, error), (deletion, _)) = runner.reported
        assert (lost.original_offset, deletion.original_offset) == (3, 4)
        assert f"in version 5000, which is no offset of {topic}-1" in str(error)
        assert runner.superseded == 1
    (line,) = [each.getMessage() for each in caplog.records if "changed nothing" in each.getMessage()]
    assert f"one is {topic}-0@10, whose document has the version 5000" in line
    assert server.documents(topic.lower()) == {"k": {"v": "of 0"}, "low": {"v": "of 1"}}


def test_another_document_of_the_same_version_is_said(server: OpenSearch, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    """Two partitions have the same offsets; who comes second changes nothing."""
    with sink(server, topic, **TOLERANT) as runner:
        mine = record(topic, 7, {"v": "of 0", "at": 1.5}, key="k")
        runner.put([mine])
        runner.put([mine])
        assert runner.superseded == 0, "the same record again"
        runner.put([record(topic, 7, {"v": "of 1"}, key="k", partition=1)])
        assert runner.superseded == 1
    (line,) = [each.getMessage() for each in caplog.records if "changed nothing" in each.getMessage()]
    assert f"another document in the same version: 1; one is {topic}-1@7" in line
    assert server.documents(topic.lower()) == {"k": {"v": "of 0", "at": 1.5}}


def test_without_keys_ids_are_places(server: OpenSearch, topic: str) -> None:
    with sink(server, topic, key_ignore="true", batch_size="3") as runner:
        runner.put([record(topic, offset, {"n": offset}, key=None) for offset in range(10)])
        runner.put([record(topic, 9, {"n": 9}, key=None)])
    assert server.documents(topic.lower()) == {f"{topic}+0+{n}": {"n": n} for n in range(10)}
    with sink(server, topic, topic_key_ignore=f"other,{topic}") as runner:
        runner.put([record(topic, 10, {"n": 10}, key={"no": "id"})])
    assert len(server.documents(topic.lower())) == 11


def test_a_null_deletes_if_it_should(server: OpenSearch, topic: str) -> None:
    with sink(server, topic, behavior_on_null_values="delete") as runner:
        runner.put([struct(topic, 0, "a", "x"), struct(topic, 1, "b", "y"), record(topic, 2, None, key="x")])
        runner.put([record(topic, 3, None, key="never there")])
        # An older one that comes again does not bring it back.
        runner.put([struct(topic, 0, "a", "x")])
    assert server.documents(topic.lower()).keys() == {"y"}
    with sink(server, topic, behavior_on_null_values="ignore") as runner:
        runner.put([record(topic, 4, None, key=None), struct(topic, 5, "c", "z")])
    assert server.documents(topic.lower()).keys() == {"y", "z"}
    with (
        sink(server, topic) as runner,
        pytest.raises(ConnectError, match=r"offset 6 of Orders\d+-0 .* behavior.on.null.values"),
    ):
        runner.put([record(topic, 6, None)])


def test_a_null_names_no_index(server: OpenSearch, topic: str) -> None:
    named = {"index_name_field": "idx", "behavior_on_null_values": "delete"}
    with sink(server, topic, **named, **TOLERANT) as runner:
        runner.put([record(topic, 0, {"idx": f"n{topic}".lower(), "v": 1}), record(topic, 1, None)])
        ((bad, error),) = runner.reported
    assert bad.original_offset == 1
    assert "nothing says in which index its document is" in str(error)
    assert server.documents(f"n{topic}".lower()).keys() == {"k"}
    assert "error" in server.call("GET", f"/{topic.lower()}"), "no index was made for it"


def test_upserts_are_merged_in_their_order(server: OpenSearch, topic: str) -> None:
    with sink(server, topic, write_method="upsert") as runner:
        runner.put([record(topic, 0, {"a": 1, "b": 1}), record(topic, 1, {"b": 2}), record(topic, 2, {"c": 3})])
    assert server.documents(topic.lower()) == {"k": {"a": 1, "b": 2, "c": 3}}


def test_a_header_may_have_the_version(server: OpenSearch, topic: str) -> None:
    def versioned(offset: int, version: Any, note: str) -> SinkRecord:
        return record(topic, offset, {"note": note}, headers=(Header("v", version, INT64_SCHEMA),))

    with sink(server, topic, external_version_header="v", **TOLERANT) as runner:
        runner.put([versioned(0, 7, "seven"), versioned(1, 5, "five")])
        runner.put([versioned(2, "x", "none")])
        ((bad, error),) = runner.reported
    assert server.documents(topic.lower()) == {"k": {"note": "seven"}}
    assert bad.offset == 2 and "its header v is no version, but 'x'" in str(error)


def test_a_new_index_has_a_mapping_by_the_schema(server: OpenSearch, topic: str) -> None:
    own = schema.struct(
        {
            "at": TIMESTAMP_SCHEMA,
            "day": schema.DATE_SCHEMA,
            "price": schema.decimal_schema(2),
            "tags": schema.array(STRING_SCHEMA),
            "data": schema.BYTES_SCHEMA,
            "inner": VALUE,
        }
    )
    at = datetime.datetime(2026, 3, 29, 12, 0, 0, 250_000, UTC)
    values = {
        "at": at,
        "day": at.replace(hour=0, microsecond=0),
        "price": decimal.Decimal("1.10"),
        "tags": ["a"],
        "data": b"\x01",
    }
    with sink(server, topic) as runner:
        runner.put([record(topic, 0, Struct(own, {**values, "inner": Struct(VALUE, {"id": 1, "note": "n"})}), own)])
    (found,) = server.call("GET", f"/{topic.lower()}/_mapping").values()
    kinds = {name: each.get("type") for name, each in found["mappings"]["properties"].items()}
    assert kinds == {"at": "date", "day": "date", "price": "double", "tags": "text", "data": "binary", "inner": None}
    assert found["mappings"]["properties"]["inner"]["properties"]["id"] == {"type": "long"}
    (document,) = server.documents(topic.lower()).values()
    assert document["at"] == "2026-03-29T12:00:00.250Z" and document["inner"] == {"id": 1, "note": "n"}


def test_the_mapping_may_be_left_to_the_cluster(server: OpenSearch, topic: str) -> None:
    with sink(server, topic, schema_ignore="true") as runner:
        runner.put([struct(topic, 0)])
    (found,) = server.call("GET", f"/{topic.lower()}/_mapping").values()
    assert found["mappings"]["properties"]["id"] == {"type": "long"}


def test_a_document_that_is_refused_is_a_bad_record_and_no_other(server: OpenSearch, topic: str) -> None:
    def put(**more: str) -> SinkRunner:
        with sink(server, topic, **more) as runner:
            runner.put([record(topic, n, {"n": n if n != 2 else "no number"}, key=str(n)) for n in range(5)])
        return runner

    with sink(server, topic) as runner:
        runner.put([record(topic, 0, {"n": 1}, key="0")])
    ((bad, error),) = put(**TOLERANT).reported
    assert bad.offset == 2 and "mapper_parsing_exception" in str(error) and "no number" in str(error)
    assert server.documents(topic.lower()).keys() == {"0", "1", "3", "4"}
    with pytest.raises(ConnectError, match="the cluster refuses it"):
        put()
    for behavior in ("ignore", "warn"):
        assert put(behavior_on_malformed_documents=behavior).reported == []


@pytest.mark.parametrize(
    ("value", "key", "text"),
    [
        ({"a": 1}, None, "it has no key for an id: set key.ignore=true"),
        ({"a": 1}, {"id": 1}, "its key is no text or integer"),
        ({"a": 1}, "", "its key is empty"),
        ({"a": 1}, "x" * 513, "longer than the 512 bytes"),
        ({"a": 1}, "\ud800", "half a pair of surrogates"),
        ("text", "k", "a document is an object, but its value is str"),
        ({"a": "\ud800"}, "k", "The value has no JSON"),
    ],
)
def test_what_is_no_document_is_a_bad_record(server: OpenSearch, topic: str, value: Any, key: Any, text: str) -> None:
    records = [record(topic, 0, {"a": "fine"}, key="fine"), record(topic, 1, value, key=key)]
    with sink(server, topic, **TOLERANT) as runner:
        runner.put(records)
        ((bad, error),) = runner.reported
    assert bad.offset == 1 and text in str(error)
    assert server.documents(topic.lower()).keys() == {"fine"}
    with sink(server, topic, drop_invalid_message="true") as runner:
        runner.put(records)
        assert runner.reported == []


def test_an_index_may_be_named_by_a_field(server: OpenSearch, topic: str) -> None:
    named = topic.lower()
    with sink(server, topic, index_name_field="to", **TOLERANT) as runner:
        runner.put([record(topic, n, {"to": f"{topic}-{n % 2}"}, key=str(n)) for n in range(4)])
        runner.put([record(topic, 4, {"to": 5})])
        ((_, error),) = runner.reported
        runner.put([record(topic, 5, {"to": "no such, name"}), record(topic, 6, {"to": f"{topic}-0"}, key="6")])
        refused = str(runner.reported[-1][1])
    assert "no text in the field to" in str(error) and "can't be an index" in refused
    assert server.documents(f"{named}-0").keys() == {"0", "2", "6"}
    with sink(server, topic, index_name_format="my-${topic}") as runner:
        runner.put([struct(topic, 0)])
    assert len(server.documents(f"my-{named}")) == 1


def test_a_data_stream_has_times_and_each_record_once(server: OpenSearch, topic: str) -> None:
    stream = {"data_stream_type": "logs", "data_stream_namespace": "shop", "data_stream_timestamp_field": "at,made"}
    records = [record(topic, 0, {"made": 1_774_785_600_000}), record(topic, 1, {"n": 1}), struct(topic, 2)]
    with sink(server, topic, **stream) as runner:
        runner.put(records)
        runner.put(records)
    found = server.documents(f"logs-{topic.lower()}-shop")
    assert {id: each["@timestamp"] for id, each in found.items()} == {
        f"{topic}+0+0": "2026-03-29T12:00:00.000+00:00",
        f"{topic}+0+1": "2026-03-29T12:00:00.250+00:00",
        f"{topic}+0+2": "2026-03-29T12:00:00.250+00:00",
    }
    assert server.call("GET", f"/_data_stream/logs-{topic.lower()}-shop")["data_streams"][0]["generation"] == 1


def test_a_full_disk_is_waited_for(server: OpenSearch, topic: str) -> None:
    index = topic.lower()
    with sink(server, topic) as runner:
        runner.put([struct(topic, 0)])
        # What the cluster does to an index if its disk is full.
        block = {"index.blocks.read_only_allow_delete": True}
        server.call("PUT", f"/{index}/_settings", block)
        with pytest.raises(RetriableError, match="cluster_block_exception"):
            runner.put([struct(topic, 1)])
        server.call("PUT", f"/{index}/_settings", {"index.blocks.read_only_allow_delete": None})
        runner.put([struct(topic, 1)])
    assert len(server.documents(index)) == 2


def test_what_was_taken_is_not_sent_again(server: OpenSearch, topic: str) -> None:
    index = topic.lower()
    # By their topics: of an index that a record has chosen, a block is the record's fault.
    with sink(server, topic, batch_size="2") as runner:
        runner.put([record(f"{topic}-{name}", n, {"a": n}, key=str(n)) for n, name in enumerate("ab")])
        server.call("PUT", f"/{index}-b/_settings", {"index.blocks.write": True})
        records = [record(f"{topic}-{name}", n, {"a": n}, key=str(n)) for n, name in enumerate("aabab", 2)]
        with pytest.raises(RetriableError):
            runner.put(records)
        assert server.documents(f"{index}-a").keys() == {"0", "2", "3"}
        server.call("DELETE", f"/{index}-a/_doc/2")
        server.call("PUT", f"/{index}-b/_settings", {"index.blocks.write": None})
        runner.put(records)
    # Had it been sent again, it would be there again.
    assert server.documents(f"{index}-a").keys() == {"0", "3", "5"}
    assert server.documents(f"{index}-b").keys() == {"1", "4", "6"}


def test_a_document_that_is_too_large_is_found_by_halves(server: OpenSearch, topic: str) -> None:
    big = {"text": "x" * 101 * 1024 * 1024}
    with sink(server, topic, bulk_size_bytes=str(2**31 - 1), **TOLERANT) as runner:
        runner.put([record(topic, n, big if n == 1 else {"text": str(n)}, key=str(n)) for n in range(3)])
        ((bad, error),) = runner.reported
    assert bad.offset == 1 and "too large" in str(error)
    assert server.documents(topic.lower()).keys() == {"0", "2"}


@pytest.mark.process
@pytest.mark.long
def test_a_cluster_that_is_away_is_waited_for(topic: str) -> None:
    server = OpenSearch().start()
    try:
        with sink(server, topic, max_retries="1") as runner:
            runner.put([struct(topic, 0)])
            server.end()
            with pytest.raises(RetriableError, match=r"The cluster can't be used: .*refused"):
                runner.put([struct(topic, 1)])
            server.begin()
            runner.put([struct(topic, 1)])
            assert len(server.documents(topic.lower())) == 2
            server.end()
            with pytest.raises(RetriableError):
                runner.put([struct(topic, 2)])
            with pytest.raises(ConnectError, match=r"max.retries is 1"):
                runner.put([struct(topic, 2)])
    finally:
        server.stop()


@pytest.fixture
def service() -> Iterator[HttpService]:
    made = HttpService()
    yield made
    made.end()


@pytest.mark.parametrize(
    ("changes", "setting", "text"),
    [
        ({"connection.url": "search:9200"}, "connection.url", "begin with http://"),
        ({"connection.url": "http://127.0.0.1:1"}, "connection.url", "The cluster can't be used: "),
        ({"write.method": "replace"}, "write.method", "insert, upsert"),
        ({"write.method": "upsert", "data.stream.type": "logs"}, "write.method", "takes new documents only"),
        ({"behavior.on.null.values": "delete", "key.ignore": "true"}, "behavior.on.null.values", "if their ids are keys"),
        ({"write.method": "upsert", "external.version.header": "v"}, "external.version.header", "Versions need"),
        ({"auto.create": "false"}, "auto.create", "There is no index "),
        ({"auto.create": "false", "data.stream.type": "logs"}, "auto.create", "There is no data stream logs-"),
        (
            {"ssl.ca.location": "/no/such/file", "connection.url": "https://127.0.0.1:1"},
            "ssl.ca.location",
            "It can't be read: No such file",
        ),
        ({"elastic.https.ssl.truststore.location": "/t.jks"}, "elastic.https.ssl.truststore.location", "files in PEM"),
        ({"proxy.host": "p"}, "proxy.host", "without a proxy"),
    ],
)
def test_what_is_wrong_is_said_at_the_setting(server: OpenSearch, topic: str, changes: Any, setting: str, text: str) -> None:
    errors = config_errors(OpenSearchSinkConnector, {"topics": topic, "connection.url": server.url, **changes})
    assert errors.keys() == {setting}
    assert text in errors[setting][0]


def test_a_login_that_is_refused_is_told_without_it(service: HttpService, topic: str) -> None:
    service.wants = f"Basic {base64.b64encode(b'u:canary-secret').decode()}"
    base = {"topics": topic, "connection.url": service.url}
    errors = config_errors(OpenSearchSinkConnector, base)
    assert errors["connection.password"] == ["The cluster can't be used: it answers 401."]
    login = {"connection.username": "u", "connection.password": "canary-secret"}
    assert config_errors(OpenSearchSinkConnector, {**base, **login}) == {}
    assert "canary" not in json.dumps(errors)


def test_it_is_a_plugin_like_others(server: OpenSearch, topic: str) -> None:
    check_plugin(OpenSearchSinkConnector, {"topics": topic, "connection.url": server.url}, [struct(topic, 1), struct(topic, 2)])
