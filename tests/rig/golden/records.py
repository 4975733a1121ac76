"""Records of golden cases: built for transforms and predicates, and compared with what came out."""

from __future__ import annotations

from typing import Any

from kconnect.api import Header, SinkRecord, SourceRecord, TimestampType
from kconnect.data.schema import SchemaAndValue
from tests.rig.golden import envelopes
from tests.rig.golden.errors import Case, Difference, Unreadable, only, same

_PARTS = ("topic", "partition", "timestamp", "key", "value", "headers")


def build(kind: str, body: Case) -> SourceRecord | SinkRecord:
    headers = []
    for header in body["headers"]:
        only(header, "name", "value")
        schema, content = envelopes.value_of(header["value"])
        headers.append(Header(header["name"], content, schema))
    topic, partition, timestamp = body["topic"], body["partition"], body["timestamp"]
    key, value = envelopes.value_of(body["key"]), envelopes.value_of(body["value"])
    if kind == "source":
        only(body, *_PARTS)
        return SourceRecord({"p": 1}, {"o": 1}, topic, partition, *key, *value, timestamp, headers)
    if kind != "sink":
        raise Unreadable(f"no such kind: {kind}")
    only(body, *_PARTS, "offset")
    of_time = TimestampType.NO_TIMESTAMP_TYPE if timestamp is None else TimestampType.CREATE_TIME
    return SinkRecord(topic, partition, *key, *value, body["offset"], timestamp, of_time, headers)


def check(found: Any, wanted: Case | None) -> None:
    """`wanted` None: the record was dropped."""
    if found is None or wanted is None:
        if found is not wanted:
            raise Difference("no record" if wanted is None else "a record", "no record" if found is None else found)
        return
    for part in ("topic", "partition", "timestamp"):
        same(getattr(found, part), wanted[part], part)
    if isinstance(found, SinkRecord):
        only(wanted, *_PARTS, "offset", "original")
        same(found.offset, wanted["offset"], "offset")
        original = (found.original_topic, found.original_partition, found.original_offset)
        same(dict(zip(("topic", "partition", "offset"), original)), wanted["original"], "original")
    else:
        only(wanted, *_PARTS)
        same((found.source_partition, found.source_offset), ({"p": 1}, {"o": 1}), "source partition and offset")
    envelopes.check(SchemaAndValue(found.key_schema, found.key), wanted["key"], "key")
    envelopes.check(SchemaAndValue(found.value_schema, found.value), wanted["value"], "value")
    headers = list(found.headers)
    same([header.key for header in headers], [header["name"] for header in wanted["headers"]], "names of headers")
    for header, expected in zip(headers, wanted["headers"]):
        only(expected, "name", "value")
        envelopes.check(SchemaAndValue(header.schema, header.value), expected["value"], f"header {header.key}")
