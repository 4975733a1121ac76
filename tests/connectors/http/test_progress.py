"""The HTTP source's progress: what is newer, what is told from its like, and rounds that would have no end."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from kconnect.api import ConnectError, DataError
from kconnect.connectors.http import source_settings
from kconnect.connectors.http.pages import Pages
from kconnect.connectors.http.progress import compared
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
]


@pytest.mark.parametrize("values", ASCENDING, ids=["times", "zones", "odd times", "numbers in texts", "numbers", "texts"])
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
    answer = Response(204, content, {}, httpx.URL("http://x/y"))
    assert pages.read(pages.first(), answer) == ([], pages.first(), True)
