"""The bytes of the metrics topic."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from kconnect.core.metrics import report
from kconnect.core.metrics.published import Published
from kconnect.core.metrics.report import HostReport, Report, Starts, UnitReport, Usage
from kconnect.core.state.records import UnitId
from kconnect.core.task.meters import About

UNIT = UnitReport(
    "w:8083",
    1,
    "life",
    UnitId("my-source", 3),
    About({"task-class": "T"}, {"a": ("Filter", "1.10")}, {"p": ("HasHeaderKey", "")}),
    {"source-record-poll-total": 5.0, "batch-size-avg": None},
    "put(): RetriableError: busy",
)
HOST = HostReport("w:8083", 1, "life", "worker's life", Starts(3, 2, 1), Starts(5, 5, 0))
PUBLISHED = (Published("debezium_metrics", (("plugin", "postgres"),), {"Lag": 5.0, "Behind": None}), Published("x", (), {}))
MEASURED = replace(HOST, usage=Usage(60_000_000, 2**28, 1.25))


@pytest.mark.parametrize(
    "given",
    [
        UNIT,
        HOST,
        MEASURED,
        replace(HOST, usage=Usage(60_000_000, None, 0.0)),
        replace(UNIT, published=PUBLISHED),
        replace(MEASURED, published=PUBLISHED),
    ],
)
def test_what_is_written_is_what_is_read(given: Report) -> None:
    assert report.decode(report.encode(given)[1]) == given


def test_keys_name_worker_and_unit() -> None:
    assert (report.encode(UNIT)[0], report.encode(HOST)[0]) == (b"unit-w:8083-my-source-3", b"host-w:8083-1")


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"{",
        b"[]",
        b"7",
        b'{"format":1}',
        b'{"format":"1","worker":"w"}',
        b'{"format":1,"worker":"w","host":0,"incarnation":"i","unit":["a"],"about":[{},{},{}],"values":{}}',
        b'{"format":1,"worker":"w","host":0,"incarnation":"i","unit":["a",0],"about":[{},{},{}],"values":{"x":"many"}}',
        b'{"format":1,"worker":"w","host":0,"incarnation":"i","unit":["a",0],"about":[1],"values":{}}',
    ],
)
def test_what_can_not_be_used_is_skipped(value: bytes | None) -> None:
    assert report.decode(value) is None


def test_a_newer_format_is_skipped() -> None:
    body = orjson.loads(report.encode(UNIT)[1])
    assert report.decode(orjson.dumps({**body, "format": report.FORMAT + 1})) is None
    assert report.decode(orjson.dumps({**body, "more": 1})) == UNIT


def test_what_an_older_host_does_not_say_is_not_known() -> None:
    body = orjson.loads(report.encode(MEASURED)[1])
    assert body.pop("usage") == [60_000_000, 2**28, 1.25]
    assert report.decode(orjson.dumps(body)) == HOST
    assert report.decode(orjson.dumps({**body, "usage": [1]})) is None
    body = orjson.loads(report.encode(UNIT)[1])
    body["about"][1:] = [{"a": "Filter"}, {"p": "HasHeaderKey"}]
    unversioned = About(UNIT.about.texts, {"a": ("Filter", "")}, {"p": ("HasHeaderKey", "")})
    assert report.decode(orjson.dumps(body)) == replace(UNIT, about=unversioned)
