"""The HTTP source's progress: what is newer, what is told from its like, and rounds that would have no end."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import httpx
import orjson
import pytest

from kconnect.api import ConnectError, DataError
from kconnect.connectors.http import links, source_settings
from kconnect.connectors.http.pages import Pages
from kconnect.connectors.http.progress import compared, is_doubtful
from kconnect.connectors.http.service import Response
from kconnect.testing import SourceRunner
from tests.rig.systems.http_service import HttpService, Taken

from .test_http_source import ids, query, source

ASCENDING: list[list[Any]] = [
    ["2024-01-01", "2024-01-01T00:00:00.000000001Z", "2024-01-01T10:00:00Z", "2024-01-01T10:00:00.5Z", "2024-01-01T10:00:01Z"],
    ["2024-01-01T12:00:00+02:00", "2024-01-01T10:00:00.1Z", "2024-01-01T09:00:00-05:00", "2024-01-02 00:00"],
    ["2023-12-31T23:59:59,9999999Z", "2024-01-01t00:00:00z", "20240-1", "9999"][:2],
    ["-2", "9", "10", "10.5", "0011", "100000000000000000000000000001", "100000000000000000000000000002"],
    [-1, 0, 0.5, 9, 10, 2**70],
    ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "01BX5ZZKBKACTAV9WEVGEMMVRZ", "a", "b"],
    ["20240101T100000Z", "20240101T100000.5Z", "2024/01/01 10:00:01", " 2024-01-01T10:00:02Z "],
    ["2024-01-01T12:00:00+02:00[Europe/Helsinki]", "2024-01-01 10:00:01 UTC", "2024-01-01T09:00:02-01:00[Atlantic/Azores]"],
    [
        "Fri, 29 Dec 2023 23:59:59 GMT",
        "Mon, 01 Jan 2024 12:00:00 +0200",
        "Mon Jan 01 10:00:01 +0000 2024",
        "Mon Jan  1 10:00:02 2024",
        "Monday, 01-Jan-2024 10:00:03 GMT",
        "2024-01-01T10:00:04Z",
        "5 Feb 2024 10:00",
    ],
]


@pytest.mark.parametrize(
    "values",
    ASCENDING,
    ids=["times", "zones", "odd times", "digits", "numbers", "texts", "short", "named", "in words"],
)
def test_what_is_newer(values: list[Any]) -> None:
    for (at, one), (place, other) in itertools.product(enumerate(values), repeat=2):
        assert compared(one, other) == (at < place, at == place), (one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("2024-01-01T10:00:00Z", "2024-01-01T11:00:00+01:00"), ("1.0", "1"), (1, 1.0), ("2024-01-01", "2024-01-01T00:00Z")],
)
def test_what_is_equally_new(one: Any, other: Any) -> None:
    assert compared(one, other) == (False, True)


@pytest.mark.parametrize(("one", "other"), [("5", 5), ("2024-01-01", "yesterday"), ("a", "2024-01-01T00:00:00Z"), (1.5, "1.5")])
def test_what_can_not_be_compared(one: Any, other: Any) -> None:
    with pytest.raises(DataError, match=r"since\.path finds .*, which can't be compared with .* before it"):
        compared(one, other)


@pytest.mark.parametrize(
    "text",
    [
        *("03/05/2024 10:00", "05.03.2024", "05-03-2024", "Mar 5, 2024", "Tue Mar 5 10:00 PST 2024", "5 March 24"),
        *("2024-01-01 10:00:00 CET", "2024-01-01 09:00 PM", "2024-01-01 9:00:00 a.m.", "2024-01-01 10:00:00 America/New_York"),
    ],
)
def test_dates_without_an_order(text: str) -> None:
    with pytest.raises(DataError, match="ISO 8601"):
        compared(text, text)


@pytest.mark.parametrize(
    ("at", "other", "doubtful"),
    [
        ("item-10", "item-9", True),
        ("1.10.0", "1.9.0", True),
        ("10", "a", True),
        ("v10", "v2", True),
        ("item-8", "item-9", False),
        ("9", "10", False),
        ("507f1f77bcf86cd799439011", "607f1f77bcf86cd799439011", False),
        ("2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00Z", False),
        ("aaaa", "b", False),
        ("mayor 10", "mayor 9", True),
        (1, 2, False),
    ],
)
def test_who_counts_would_see_it_otherwise(at: Any, other: Any, doubtful: bool) -> None:
    assert is_doubtful(at, other) is doubtful


@pytest.mark.parametrize(
    ("cursor", "text"), [("a b", "a b"), (2**53 + 1, "9007199254740993"), (["a", 1], '["a",1]'), (True, "true")], ids=repr
)
def test_a_cursor_is_a_text_or_json(cursor: Any, text: str) -> None:
    given = {"page.mode": "cursor", "page.cursor.path": "next", "http.api.url": "http://x/y?c=${cursor}"}
    pages = Pages(source_settings.CONFIG.parse({"name": "h", "kafka.topic": "t", **given}))
    answer = Response(200, orjson.dumps({"next": cursor}), None, httpx.URL("http://x/y"))
    _, after, is_last = pages.read(pages.first(), answer)
    assert (after.cursor, is_last) == (text, False)


def test_records_that_are_the_same_in_all_are_several(service: HttpService) -> None:
    items = [{"id": 1, "at": "2024-01-01"}]
    service.items = lambda taken: ({}, items)
    with source(service, "/items", since_path="at") as runner:
        assert polled(runner) == [1]
        items += [{"at": "2024-01-01", "id": 1}] * 2
        assert polled(runner) == [1, 1]


def test_a_record_is_not_passed_over_in_silence(service: HttpService, caplog: pytest.LogCaptureFixture) -> None:
    service.items = lambda taken: ({}, [{"id": "item-9"}, {"id": "item-10"}])
    with source(service, "/items", since_path="id") as runner:
        assert [record.value["id"] for _ in range(3) for record in runner.poll()] == ["item-9", "item-10"]
    assert caplog.text.count('since.path is "item-10", letter by letter less than "item-9"') == 1


def test_a_path_that_finds_nothing_says_so(service: HttpService, caplog: pytest.LogCaptureFixture) -> None:
    service.items = lambda taken: ({}, {"error": "no such tenant"})
    with source(service, "/items", records_path="data") as runner:
        assert [runner.poll() for _ in range(3)] == [[], [], []]
    assert caplog.text.count("records.path finds nothing") == 1


@pytest.mark.parametrize(
    "header",
    [
        '</n>; rel="next"',
        "</n>;rel=next",
        '</n>; rel="prev next"',
        '</n>; rel="next last"',
        '</n>; Rel="NEXT"',
        '</p>; rel="prev",</n>; rel="next"',
        '</p?a=1,2>; rel=prev, </n> ; rel = "next"',
        '</p>; title="a, <x>; rel=next"; rel="prev", </n>; title="b"; crossorigin; rel="next"',
        '</n>; rel="next"; rel="prev"',
        'nothing, </n>; rel="next"',
    ],
)
def test_where_the_next_page_is(header: str) -> None:
    assert links.following([header]) == "/n"
    assert links.following(['</o>; rel="last"', header]) == "/n"


@pytest.mark.parametrize(
    "header", ["", "<", "</n>", '</n>; rel="prev"; rel="next"', '</n>; rel="nextpage"', "<" * 20_000, "<a>;b=" + " " * 20_000]
)
def test_that_there_is_no_next_page(header: str) -> None:
    assert links.following([header]) is None


@pytest.fixture
def service() -> Iterator[HttpService]:
    made = HttpService()
    yield made
    made.end()


def polled(runner: SourceRunner, times: int = 4) -> list[int]:
    return [id for _ in range(times) for id in ids(runner.poll())]


def test_many_that_are_equally_new_come_once_each(service: HttpService) -> None:
    items = [{"id": number, "at": "2024-01-01T00:00:00Z"} for number in range(700)]
    service.items = lambda taken: ({}, items)
    with source(service, "/items?since=${since}", since_path="at") as runner:
        assert sorted(polled(runner)) == list(range(700))
        items.append({"id": 700, "at": "2024-01-01T01:00:00+01:00"})
        assert polled(runner) == [700]
    with (
        source(service, "/items?since=${since}", since_path="at", since_max_equal_records="699") as runner,
        pytest.raises(
            ConnectError, match=r"more than 699 records of which since\.path is .* since\.max\.equal\.records is 699"
        ),
    ):
        runner.poll()


@pytest.mark.parametrize("pages", [1, 2, 3])
def test_a_page_that_leads_back_ends_the_round(service: HttpService, pages: int, caplog: pytest.LogCaptureFixture) -> None:
    asked: list[str] = []

    def handle(taken: Taken) -> tuple[dict[str, str], Any]:
        asked.append(query(taken)["c"])
        at = int(asked[-1] or 0)
        return {}, {"items": [{"id": at}], "next": str(at + 1 if at < pages else 1)}

    service.items = handle
    with source(
        service,
        "/items?c=${cursor}",
        records_path="items",
        page_mode="cursor",
        page_cursor_path="next",
        request_interval_ms="600000",
    ) as runner:
        assert polled(runner, pages + 4) == list(range(pages + 1))
    assert len([text for text in caplog.messages if "the round ends here" in text]) == 1


@pytest.mark.parametrize("content", [b"", b" \n"])
def test_an_answer_without_a_body_is_nothing_new(content: bytes) -> None:
    pages = Pages(source_settings.CONFIG.parse({"name": "h", "kafka.topic": "t", "http.api.url": "http://x/y"}))
    answer = Response(204, content, None, httpx.URL("http://x/y"))
    assert pages.read(pages.first(), answer) == ([], pages.first(), True)
