"""The HTTP source against a service in this process: pages of each kind, what is new, and where it goes on."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest

from kconnect.api import ConnectError, DataError, RetriableError, SourceRecord
from kconnect.connectors.http.source import HttpSourceConnector
from kconnect.testing import SourceRunner, check_plugin, config_errors
from tests.rig.systems.http_service import HttpService, Taken

COUNT = 23


@pytest.fixture
def service() -> Iterator[HttpService]:
    made = HttpService()
    yield made
    made.end()


def source(service: HttpService, address: str = "/items", **more: str) -> SourceRunner:
    settings = {name.replace("_", "."): value for name, value in more.items()}
    config = {"kafka.topic": "t", "http.api.url": f"{service.url}{address}", "request.interval.ms": "0", **settings}
    return SourceRunner(HttpSourceConnector, config)


def query(request: Taken) -> dict[str, str]:
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(request.path).query, keep_blank_values=True))


def ids(records: list[SourceRecord]) -> list[int]:
    return [each.value["id"] for each in records]


def items(count: int = COUNT) -> list[dict[str, Any]]:
    return [{"id": number} for number in range(count)]


def by_offset(request: Taken) -> tuple[dict[str, str], Any]:
    asked = query(request)
    first, size = int(asked["from"]), int(asked["size"])
    return {}, {"data": {"rows": items()[first : first + size]}}


def by_number(request: Taken) -> tuple[dict[str, str], Any]:
    page = int(query(request)["page"]) - 1
    return {}, {"data": {"rows": items()[page * 5 : page * 5 + 5]}}


def by_cursor(request: Taken) -> tuple[dict[str, str], Any]:
    first = int(query(request)["after"] or 0)
    following = str(first + 7) if first + 7 < COUNT else None
    return {}, {"data": {"rows": items()[first : first + 7]}, "next": {"cursor": following}}


def by_address(request: Taken) -> tuple[dict[str, str], Any]:
    first = int(query(request).get("p", 0))
    following = f"/items?p={first + 7}" if first + 7 < COUNT else None
    return {}, {"data": {"rows": items()[first : first + 7]}, "next": {"cursor": following}}


def by_link(request: Taken) -> tuple[dict[str, str], Any]:
    first = int(query(request).get("p", 0))
    link = {"Link": f'</items?p={first + 7}>; rel="next", </items>; rel="first"'} if first + 7 < COUNT else {}
    return link, {"data": {"rows": items()[first : first + 7]}}


MODES: dict[str, Any] = {
    "offset": (by_offset, "/items?from=${offset}&size=${size}", {"page_mode": "offset", "page_size": "10"}),
    "page": (by_number, "/items?page=${page}", {"page_mode": "page", "page_size": "5"}),
    "cursor": (by_cursor, "/items?after=${cursor}", {"page_mode": "cursor", "page_cursor_path": "next.cursor"}),
    "address": (by_address, "/items", {"page_mode": "cursor", "page_cursor_path": "next.cursor"}),
    "link": (by_link, "/items", {"page_mode": "link"}),
}


@pytest.mark.parametrize("mode", MODES)
def test_all_pages_come_round_after_round(service: HttpService, mode: str) -> None:
    service.items, address, config = MODES[mode]
    with source(service, address, records_path="data.rows", **config) as runner:
        found = ids(runner.read(2 * COUNT))
    assert found[: 2 * COUNT] == [*range(COUNT), *range(COUNT)]


@pytest.mark.parametrize("mode", MODES)
def test_it_goes_on_with_the_page_that_was_not_yet_written(service: HttpService, mode: str) -> None:
    service.items, address, config = MODES[mode]
    with source(service, address, records_path="data.rows", **config) as runner:
        found = ids(runner.read(12))
        whole = len(found)
        runner.restart()
        found += ids(runner.read(COUNT - whole))
    assert found[:COUNT] == list(range(COUNT))


def test_what_is_new_comes_once_though_the_service_gives_it_again(service: HttpService) -> None:
    there: list[dict[str, Any]] = [{"id": 1, "at": "2026-01-01"}, {"id": 2, "at": "2026-01-02"}]
    asked: list[str] = []

    def new(request: Taken) -> tuple[dict[str, str], Any]:
        since = query(request).get("since", "")
        asked.append(since)
        return {}, [each for each in there if each["at"] >= since]

    service.items = new
    with source(service, "/items?since=${since}", since_path="at", since_first="2025-01-01") as runner:
        assert ids(runner.read(2)) == [1, 2]
        assert runner.poll() == []
        # One more of the same moment, and a newer one.
        there.append({"id": 3, "at": "2026-01-02"})
        assert ids(runner.read(1)) == [3]
        runner.restart()
        assert runner.poll() == []
        there.append({"id": 4, "at": "2026-01-03"})
        assert ids(runner.read(1)) == [4]
        assert runner.poll() == []
    assert asked[0] == "2025-01-01"
    assert asked[-1] == "2026-01-03"


def test_a_service_that_gives_everything_gives_only_what_is_new(service: HttpService) -> None:
    there = [{"id": 3}, {"id": 1}, {"id": 2}]
    service.items = lambda request: ({}, list(there))
    with source(service, since_path="id") as runner:
        assert ids(runner.read(3)) == [3, 1, 2]
        there.append({"id": 7})
        assert ids(runner.read(1)) == [7]
        assert runner.poll() == []


def test_new_ones_in_pages(service: HttpService) -> None:
    there = [{"id": number, "v": number // 2} for number in range(10)]

    def pages(request: Taken) -> tuple[dict[str, str], Any]:
        asked = query(request)
        some = [each for each in there if each["v"] >= int(asked["since"] or 0)]
        return {}, some[int(asked["from"]) : int(asked["from"]) + 4]

    service.items = pages
    config = {"page_mode": "offset", "page_size": "4", "since_path": "v"}
    with source(service, "/items?since=${since}&from=${offset}", **config) as runner:
        assert ids(runner.read(10)) == list(range(10))
        there += [{"id": number, "v": number // 2} for number in range(10, 17)]
        there.append({"id": 99, "v": 4})
        assert sorted(ids(runner.read(8))) == [*range(10, 17), 99]
        assert runner.poll() == []


def test_key_and_timestamp(service: HttpService) -> None:
    service.items = lambda request: (
        {},
        [{"id": "a", "meta": {"at": "1970-01-01T00:00:01Z"}}, {"id": "b", "meta": {"at": 2500}}],
    )
    with source(service, key_path="id", timestamp_path="meta.at") as runner:
        first, second, *_ = runner.read(2)
    assert [(first.key, first.timestamp), (second.key, second.timestamp)] == [("a", 1000), ("b", 2500)]
    assert first.topic == "t"


def test_a_request_with_a_body(service: HttpService) -> None:
    seen: list[Any] = []

    def take(request: Taken) -> tuple[dict[str, str], Any]:
        seen.append(json.loads(request.body))
        return {}, {"id": 1}

    service.items = take
    config = {"request_method": "POST", "request_body_template": '{"from": ${since}, "n": ${size}}', "since_first": "x"}
    with source(service, since_path="id", **config) as runner:
        runner.read(1)
        runner.poll()
    assert seen[:2] == [{"from": "x", "n": 100}, {"from": 1, "n": 100}]


def test_what_may_pass_is_asked_again(service: HttpService) -> None:
    service.items = lambda request: ({}, items(2))
    with source(service, retry_backoff_ms="0") as runner:
        service.answers.append((503, {}, "busy"))
        with pytest.raises(RetriableError, match="answers 503"):
            runner.poll()
        assert ids(runner.read(2))[:2] == [0, 1]
        service.answers.append((404, {}, "gone"))
        with pytest.raises(ConnectError, match=r"answers 404 Not Found: gone\. Check http\.api\.url"):
            runner.poll()


@pytest.mark.parametrize(
    ("answer", "config", "text"),
    [
        ([{"id": None}], {"since_path": "id"}, "no text and no number in a record, but null"),
        ([{"id": 1}, {"id": "x"}], {"since_path": "id"}, "can't be compared"),
        ([{"id": 1}], {"timestamp_path": "id2"}, "neither a time, nor a number"),
    ],
)
def test_answers_that_do_not_fit(service: HttpService, answer: Any, config: dict[str, str], text: str) -> None:
    service.items = lambda request: ({}, answer)
    with source(service, **config) as runner, pytest.raises(DataError, match=text):
        runner.poll()


@pytest.mark.parametrize(
    ("config", "setting", "text"),
    [
        ({"records.path": "a["}, "records.path", "no JMESPath"),
        ({"page.mode": "cursor"}, "page.cursor.path", "page.mode is cursor"),
        ({"page.mode": "all"}, "page.mode", "none, cursor"),
        ({"kafka.topic": ""}, "kafka.topic", "non-empty"),
        ({"http.api.url": "http://127.0.0.1:1/"}, "http.api.url", "can't be reached"),
    ],
)
def test_what_is_wrong_is_said_at_the_setting(service: HttpService, config: dict[str, str], setting: str, text: str) -> None:
    errors = config_errors(HttpSourceConnector, {"kafka.topic": "t", "http.api.url": service.url, **config})
    assert list(errors) == [setting]
    assert text in errors[setting][0]


def test_offsets_can_be_altered() -> None:
    connector = HttpSourceConnector()
    assert connector.alter_offsets({}, [({"url": "x"}, {"since": "2026-01-01"}), ({"url": "x"}, None)])
    for partition, offset in (({"file": "x"}, {"since": 1}), ({"url": "x"}, {"position": 1}), ({"url": "x"}, {"page": "one"})):
        with pytest.raises(ConnectError):
            connector.alter_offsets({}, [(partition, offset)])


def test_the_plugin_keeps_to_the_rules(service: HttpService) -> None:
    service.items = lambda request: ({}, items(3))
    check_plugin(HttpSourceConnector, {"kafka.topic": "t", "http.api.url": f"{service.url}/items", "request.interval.ms": "10"})
