"""Attacks on the HTTP connectors: by who may write one record to a data topic, and by the service that is asked."""

from __future__ import annotations

import base64
import contextlib
import gc
import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import confluent_kafka as ck
import httpx
import pytest

from kconnect.api import ConnectError, DataError, RetriableError, SinkRecord
from kconnect.connectors.addresses import is_public
from kconnect.connectors.http import answers as http_answers
from kconnect.connectors.http import requests, settings, source_settings, templates
from kconnect.connectors.http import sink as sink_module
from kconnect.connectors.http.answers import Answers
from kconnect.connectors.http.dialer import Dialer
from kconnect.connectors.http.requests import Request
from kconnect.connectors.http.service import Service
from kconnect.connectors.http.sink import HttpSinkConnector
from kconnect.connectors.http.source import HttpSourceConnector
from kconnect.connectors.libraries import UNSAFE
from kconnect.testing import SinkRunner, SourceRunner, config_errors
from tests.attacks import hostile
from tests.attacks.hostile import Hostile
from tests.support import wait_until

TOLERANT = {"errors.tolerance": "all"}
CANARY = "canary-7741-secret"


@pytest.fixture
def service() -> Iterator[Hostile]:
    with Hostile() as made:
        yield made


@pytest.fixture
def other() -> Iterator[Hostile]:
    with Hostile() as made:
        yield made


def sink(url: str, **more: str) -> SinkRunner:
    config = {"topics": "t", "http.api.url": url, "max.retries": "3", **TOLERANT}
    return SinkRunner(HttpSinkConnector, config | {name.replace("_", "."): value for name, value in more.items()})


def source(url: str, **more: str) -> SourceRunner:
    config = {"kafka.topic": "t", "http.api.url": url, "request.interval.ms": "0", "max.retries": "0"}
    return SourceRunner(HttpSourceConnector, config | {name.replace("_", "."): value for name, value in more.items()})


def record(offset: int, key: Any, value: Any = None) -> SinkRecord:
    return SinkRecord("t", 0, None, key, None, value, offset)


# Where a record goes.

DOTS = (
    *(".", "..", "%2e", "%2E%2e", ".%2E", "%252e%252e", "..;a=b", ".;", " ..", "..\t", "../x", "x/..", "x\\..\\..", "..%00"),
    *("\u2024", "\uff0e\uff0e", ".\u200b.", "%c0%ae%c0%ae", "%u002e%u002e", "\u2025"),
)
EMPTY = ("", " ", "/", "//", "%2f", "\\", ";a=b", "\u200b", "\0")


@pytest.mark.parametrize("key", [*DOTS, *EMPTY], ids=ascii)
def test_a_key_deletes_its_own_document_or_nothing(service: Hostile, key: str) -> None:
    """Who may write to the topic sends a tombstone whose key names the folder or the one above, which must not be deleted."""
    url = f"{service.url}/v1/users/${{key}}"
    with sink(url, behavior_on_null_values="delete") as runner:
        runner.put([record(0, "a"), record(1, key), record(2, "b")])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert service.lines() == ["DELETE /v1/users/a", "DELETE /v1/users/b"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/u/${a}${b}", {"a": ".", "b": "."}),
        ("/u/.${a}", {"a": "."}),
        ("/u/%2e${a}", {"a": "."}),
        ("/u/${a}/x", {"a": ".."}),
        ("/u/${a}.${b}/x?c=${c}", {"a": "", "b": "", "c": "1"}),
        ("/u/${value}", ".."),
        ("/${a}?b=1", {"a": ""}),
    ],
)
def test_pieces_that_make_a_dot_segment_together_are_refused(service: Hostile, path: str, value: Any) -> None:
    """Who may write to the topic splits a dot segment over two fields, and the request must not be made."""
    with sink(service.url + path) as runner:
        runner.put([record(0, "k", value)])
        assert len(runner.reported) == 1
    assert service.lines() == []


@pytest.mark.parametrize(
    "key", ["@evil.example", "x@evil.example:1/", "#", "?x=1", "a/b", "\r\nHost: evil", "x:y", "//evil.example/"]
)
def test_a_key_never_leads_to_another_host(service: Hostile, key: str) -> None:
    """Who may write to the topic puts a host, a query or a line break into a key, which stays a segment of the path."""
    with sink(f"{service.url}/v1/${{key}}/end") as runner:
        runner.put([record(0, key, "x")])
    for line in service.lines():
        assert line.startswith("POST /v1/")
        assert line.endswith("/end")
        assert line.count("/") == 3


@pytest.mark.parametrize(
    "url", ["http://${key}/x", "http://a.${key}/x", "http://a:${key}/x", "${key}", "http://${key}@a/x", "http://a${key}/x"]
)
def test_a_config_lets_no_record_choose_the_host(url: str) -> None:
    """An administrator is talked into a config whose host is a record's, which must be refused with the setting's name."""
    assert "http.api.url" in config_errors(HttpSinkConnector, {"topics": "t", "http.api.url": url})


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding", "Connection", "Proxy-Authorization"])
def test_a_config_lets_no_record_frame_a_request(service: Hostile, name: str) -> None:
    """A header that says where a request ends, or whom it is for, must not be filled in by a record."""
    config = {"topics": "t", "http.api.url": service.url, "headers": f"{name}: ${{key}}"}
    assert "headers" in config_errors(HttpSinkConnector, config)


@pytest.mark.parametrize("value", ["Zoë", "a\r\nX-Admin: 1", "\ud800", "x" * 20_000, "\0", "名"], ids=ascii)
def test_a_header_that_a_record_spoils_is_that_records_fault(service: Hostile, value: str) -> None:
    """Who may write to the topic sends a field that no header can have: its record is a dead letter, and the others go."""
    with sink(service.url, headers="X-User: ${u}") as runner:
        runner.put([record(0, "k", {"u": "a"}), record(1, "k", {"u": value}), record(2, "k", {"u": " b "})])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    assert [each.headers["x-user"] for each in service.asked if each.method == "POST"] == ["a", "b"]


def test_a_template_makes_no_more_of_a_record_than_memory_has_room_for(
    service: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may create connectors names a record's value in a template thousands of times: no memory is left in the host."""
    monkeypatch.setattr(templates, "LONGEST", 1000)
    monkeypatch.setattr(requests, "_LARGEST", 1500)
    with sink(service.url, request_body_template="${value}" * 50, request_body_format="string", batch_max_size="10") as runner:
        runner.put([record(0, "k", "x" * 10), record(1, "k", "x" * 30), *(record(at, "k", "x" * 19) for at in range(2, 7))])
        assert [each.original_offset for each, _ in runner.reported] == [1]
    # They share requests as far as there is room.
    assert [len(each.body) for each in service.asked if each.method == "POST"] == [500, 1901, 1901, 950]


def test_a_record_that_is_refused_among_many_keeps_no_put_for_long(service: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may write a record has it refused: of a slow service, the others of its request took longer than a group waits."""
    monkeypatch.setattr(sink_module, "_LONGEST_PUT_S", 0.3)

    def slow(asked: hostile.Asked) -> hostile.Reply:
        time.sleep(0.1)
        return hostile.Reply(400 if b"bad" in asked.body else 200)

    some = [record(number, "k", {"n": "bad" if number == 3 else number}) for number in range(10)]
    with sink(service.url, batch_max_size="10") as runner:
        service.default = slow
        for _ in range(10):
            asked = len(service.asked)
            with contextlib.suppress(RetriableError):
                runner.put(some)
                break
            assert len(service.asked) - asked <= 6
        assert [each.original_offset for each, _ in runner.reported] == [3]
    taken = [json.loads(each.body) for each in service.asked if each.method == "POST" and b"bad" not in each.body]
    assert [row["n"] for rows in taken for row in rows] == [0, 1, 2, *range(4, 10)]


def test_an_answer_has_no_more_records_than_memory_has_room_for(service: Hostile) -> None:
    """A service packs millions of tiny records into an answer of a few kilobytes: the task fails, and names the setting."""
    service.paths["/x"] = hostile.given([0] * 101)
    with source(f"{service.url}/x", http_response_max_records="101") as runner:
        assert len(runner.poll()) == 101
    with (
        source(f"{service.url}/x", http_response_max_records="100") as runner,
        pytest.raises(DataError, match=r"has 101 records, and http\.response\.max\.records is 100"),
    ):
        runner.poll()


TWICE = ("[@,@]", "{a: @, b: @}", "to_string(@)", "join('-', [to_string(@), to_string(@)])", "map(&[@,@], @)")
GROWING = {step: " | ".join([step] * 40) for step in TWICE} | {"join": "join(a, b)", "deep": "[" * 5000 + "]" * 5000}


@pytest.mark.parametrize("path", GROWING.values(), ids=GROWING)
def test_a_path_makes_no_more_of_an_answer_than_memory_has_room_for(path: str) -> None:
    """Whoever may create connectors doubles an answer of ten bytes forty times, and ends the host with all that runs in it."""
    config = {"kafka.topic": "t", "http.api.url": "http://127.0.0.1:1/", "records.path": path}
    assert "records.path" in config_errors(HttpSourceConnector, config)


@pytest.mark.parametrize(
    "path",
    [
        "items[*].{" + ", ".join(f"f{number}: data.a{number}" for number in range(300)) + "}",
        "items[?state=='open'][].{id: id, at: join('T', [day, time]), whole: @, user: user}",
        "sort_by(items[], &updated)[-10:].data | [0]",
        "not_null(items, data.items, `[]`)",
    ],
    ids=["fields", "parts", "order", "either"],
)
def test_a_path_that_picks_and_renames_is_taken(path: str) -> None:
    assert source_settings.compiled("records.path", path) is not None


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", ["\ud800", {"a": "\ud800"}, _deep(5000), 1 << 200, {"\ud800": 1}], ids=lambda each: type(each).__name__
)
@pytest.mark.parametrize("body", [{}, {"request_body_format": "string"}, {"request_body_template": "${value}"}])
def test_a_body_that_can_not_be_made_is_that_records_fault(service: Hostile, value: Any, body: dict[str, str]) -> None:
    """Who may write to the topic sends a value that no library writes: the sink must go on with the records beside it."""
    with sink(service.url, **body) as runner:
        runner.put([record(0, "k", "a"), record(1, "k", value), record(2, "k", "b")])
        # A huge number, or a deep list, is a text as well as any other.
        assert {each.original_offset for each, _ in runner.reported} <= {1}
    assert len(service.lines()) >= 2


# Where a service leads to.


def _leading_to(address: str, mode: str) -> tuple[hostile.Answer, dict[str, str]]:
    if mode == "link":
        return hostile.given([{"id": 1}], Link=f'<{address}>; rel="next"'), {"page_mode": "link"}
    document = {"rows": [{"id": 1}], "next": address}
    return hostile.given(document), {"page_mode": "cursor", "page_cursor_path": "next", "records_path": "rows || @"}


@pytest.mark.parametrize("mode", ["link", "cursor"])
def test_another_origin_is_asked_only_if_the_config_names_it(service: Hostile, other: Hostile, mode: str) -> None:
    """The service names a next page on a server inside: by default it is not asked, and where it is, it gets no login."""
    service.default, more = _leading_to(f"{other.url}/internal/meta", mode)
    other.default = hostile.given([{"id": 2}])
    login = {"headers": f"Authorization: Bearer {CANARY}|X-Key: {CANARY}|Accept: application/json"}
    # With both settings open it is asked, as a stranger would ask it.
    open_ = {"page_other_origins": other.url, "page_other_origins_internal": "true"}
    with source(service.url, **more, **login, **open_) as runner:
        assert [each.value["id"] for each in runner.read(2)][:2] == [1, 2]
    assert other.lines()[0] == "GET /internal/meta"
    assert not any(CANARY in str(each.headers) or "cookie" in each.headers for each in other.asked)
    assert any(CANARY in str(each.headers) for each in service.asked)
    asked = len(other.asked)
    # Named, but inside.
    with source(service.url, **more, **login, page_other_origins=other.url) as runner:
        runner.read(1)
        with pytest.raises(ConnectError, match=r"page\.other\.origins\.internal"):
            runner.read(1)
    # Not named.
    with source(service.url, **more, **login) as runner:
        runner.read(1)
        with pytest.raises(ConnectError, match=r"page\.other\.origins"):
            runner.read(1)
    assert len(other.asked) == asked


def test_a_token_goes_to_the_own_origin_only(service: Hostile, other: Hostile) -> None:
    """The service names a next page elsewhere: the token that was fetched must not go there."""
    service.paths["/token"] = hostile.given({"access_token": CANARY, "expires_in": 3600})
    service.default, more = _leading_to(f"{other.url}/steal", "link")
    oauth = {
        "auth_type": "OAUTH2",
        "oauth2_token_url": f"{service.url}/token",
        "oauth2_client_id": "me",
        "oauth2_client_secret": "s3cr3t-55",
    }
    other.default = hostile.given([{"id": 2}])
    with source(service.url, **more, **oauth, page_other_origins=other.url, page_other_origins_internal="true") as runner:
        runner.read(2)
    assert any(each.headers.get("authorization") == f"Bearer {CANARY}" for each in service.asked)
    assert other.asked
    assert all("authorization" not in each.headers for each in other.asked)


def test_another_origin_gets_no_request_with_a_body(service: Hostile, other: Hostile) -> None:
    """The service names a next page elsewhere while requests have bodies, which may hold a key: it gets none of them."""
    service.default, more = _leading_to(f"{other.url}/steal", "link")
    post = {"request_method": "POST", "request_body_template": f'{{"key": "{CANARY}"}}'}
    open_ = {"page_other_origins": other.url, "page_other_origins_internal": "true"}
    with source(service.url, **more, **post, **open_) as runner:
        runner.read(1)
        with pytest.raises(ConnectError, match="only GET requests"):
            runner.read(1)
    assert other.asked == []


def test_another_origin_is_not_asked_by_a_proxy_unknown_where(service: Hostile, other: Hostile) -> None:
    """The service names a next page elsewhere, which a proxy would resolve by itself: it is asked only if that is allowed."""
    service.default, more = _leading_to("http://pages.example/x", "link")
    allowed = {"page_other_origins": "http://pages.example", "http_proxy_url": other.url}
    # The proxy answers for the service, too.
    elsewhere = hostile.given([{"id": 2}])
    other.default = lambda asked: (elsewhere if "pages.example" in asked.path else service.default)(asked)
    with source(service.url, **more, **allowed) as runner:
        runner.read(1)
        with pytest.raises(ConnectError, match=r"page\.other\.origins\.internal"):
            runner.read(1)
    assert not any("pages.example" in each.path for each in other.asked)
    with source(service.url, **more, **allowed, page_other_origins_internal="true") as runner:
        assert [each.value["id"] for each in runner.read(2)][:2] == [1, 2]


def test_a_page_elsewhere_names_the_next_one_beside_itself(service: Hostile, other: Hostile) -> None:
    """A page of another server names the next one by a path: that is on that server, and gets no login either."""
    service.default, more = _leading_to(f"{other.url}/a", "link")
    other.paths["/a"] = hostile.given([{"id": 2}], Link='</b>; rel="next"')
    other.paths["/b"] = hostile.given([{"id": 3}])
    open_ = {"page_other_origins": other.url, "page_other_origins_internal": "true", "headers": f"X-Key: {CANARY}"}
    with source(service.url, **more, **open_) as runner:
        assert [each.value["id"] for each in runner.read(3)][:3] == [1, 2, 3]
    assert not any(CANARY in str(each.headers) for each in other.asked)


ODD_PAGES = (f"http://me:{CANARY}@HOST/x", "//HOST/x", "file:///etc/passwd", "http://[", "javascript:1", "ftp://a/")


@pytest.mark.parametrize("address", ODD_PAGES)
def test_a_next_page_is_an_address_of_the_service(service: Hostile, other: Hostile, address: str) -> None:
    """The service names a next page in an odd way: nothing but an address of HTTP on its own server is asked."""
    service.default, more = _leading_to(address.replace("HOST", f"127.0.0.1:{other.port}"), "cursor")
    with source(service.url, **more) as runner:
        runner.read(1)
        with pytest.raises(ConnectError):
            runner.read(1)
    assert other.asked == []


@pytest.mark.parametrize("setting", ["http_api_url", "oauth2_token_url"])
def test_redirects_lead_nowhere(service: Hostile, other: Hostile, setting: str) -> None:
    """The service, or that of tokens, redirects to a server inside, which must not be asked."""
    service.paths["/moved"] = hostile.refusing(307, Location=f"{other.url}/inside")
    token = {"auth_type": "OAUTH2", "oauth2_client_id": "me", "oauth2_client_secret": "s3cr3t-55"}
    more = {"oauth2_token_url": f"{service.url}/moved", **token} if setting == "oauth2_token_url" else {}
    url = service.url if more else f"{service.url}/moved"
    runner = source(url) if not more else None
    if runner is not None:
        with runner, pytest.raises(ConnectError, match="307"):
            runner.read(1)
    else:
        with pytest.raises(ConnectError, match="307"):
            source(url, **more)
    assert other.asked == []


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "100.100.100.200"),
        *("168.63.129.16", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.0.192", "198.18.0.1", "203.0.113.1"),
        *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::", "::127.0.0.1"),
        "not an address",
    ],
)
def test_addresses_inside_are_known_in_all_spellings(address: str) -> None:
    """Who decides what a name resolves to gives an address inside, in another spelling, and it must not be dialled."""
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_addresses_of_the_internet_are_dialled(address: str) -> None:
    """The control: what is no address inside may be dialled."""
    assert is_public(address)


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f.0.0.1", "017700000001", "[::ffff:7f00:1]"])
def test_names_of_addresses_inside_are_resolved_before_they_are_dialled(service: Hostile, host: str) -> None:
    """The service names this machine in an odd spelling of an origin that the config allows: nothing is dialled."""
    dialer = Dialer(is_public)
    with httpx.Client(trust_env=False) as client:
        dialer.attach(client)
        dialer.begin(10)
        with pytest.raises(httpx.ConnectError):
            client.get(f"http://{host}:{service.port}/")
    assert dialer.refused
    assert service.asked == []


def test_the_address_that_was_checked_is_the_one_that_is_dialled(
    service: Hostile, other: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who owns the name of an allowed origin answers with another address at the second question: there is no second one."""
    asked = []

    def rebinding(host: str, port: int, *args: Any, **kwargs: Any) -> list[Any]:
        asked.append(host)
        port = service.port if len(asked) == 1 else other.port
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    dialer = Dialer(lambda address: True)
    with httpx.Client(trust_env=False) as client:
        dialer.attach(client)
        dialer.begin(10)
        client.get("http://pages.example/")
    assert asked == ["pages.example"]
    assert service.asked[0].headers["host"] == "pages.example"
    assert other.asked == []


# How much, and how long.


def _failed(url: str, match: str, **more: str) -> float:
    """How long the source took to fail on what a service answers, with a reason that names a setting."""
    began = time.monotonic()
    with source(url, **more) as runner, pytest.raises(ConnectError, match=match):
        runner.read(1)
    return time.monotonic() - began


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_a_packed_answer_takes_no_more_memory_than_the_limit_allows(service: Hostile, rounds: int) -> None:
    """The service answers with a small bomb, packed once or more often: the task fails, and keeps its memory."""
    service.default = hostile.bomb(64 * 1024 * 1024, rounds)
    gc.collect()
    tracemalloc.start()
    try:
        _failed(service.url, r"http\.response\.max\.bytes is 1000000|is packed as", http_response_max_bytes="1000000")
        assert tracemalloc.get_traced_memory()[1] < 16 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_an_answer_without_an_end_is_cut_off(service: Hostile) -> None:
    """The service answers without an end, in chunks: the task fails and names the limit, however high its time limit is."""
    service.default = service.endless()
    _failed(service.url, r"http\.response\.max\.bytes is 5000000", http_response_max_bytes="5000000")


@pytest.mark.parametrize(("unit", "is_whole"), [("bytes 0-9/500", False), ("0-9/*", True), ("items 0-9/500", True)])
def test_a_part_of_the_bytes_is_no_answer(service: Hostile, unit: str, is_whole: bool) -> None:
    """The service answers with a part that reads like the whole. One that counts in records has its own parts: a control."""
    service.default = lambda asked: hostile.Reply(206, {"Content-Range": unit}, b"[1, 2]")
    if is_whole:
        with source(service.url) as runner:
            assert [each.value for each in runner.poll()] == [1, 2]
        with source(service.url, headers="Range: bytes=0-9") as runner:
            assert len(runner.poll()) == 2
    else:
        _failed(service.url, "with a part of the bytes only")


def test_an_answer_that_drips_is_late(service: Hostile) -> None:
    """The service answers a byte at a time, each in time: the limit is of the whole answer."""
    service.default = service.dripping(pause_s=0.1)
    _failed(service.url, r"does not answer in time \(http\.request\.timeout\.ms\)", http_request_timeout_ms="700")


def test_the_head_of_an_answer_that_drips_is_late(service: Hostile) -> None:
    """The service sends the head of its answer a byte at a time, which must not last for ever."""
    listener = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        connection, _ = listener.accept()
        with connection:
            for byte in b"HTTP/1.1 200 OK\r\nX: " + b"a" * 10_000:
                try:
                    connection.send(bytes([byte]))
                except OSError:
                    return
                if service.over.wait(0.1):
                    return

    threading.Thread(target=drip, daemon=True).start()
    with listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = source_settings.CONFIG.parse({"http.api.url": address, "kafka.topic": "t", "http.request.timeout.ms": "700"})
        made = Service(config, {})
        answer = made.send(Request([], "GET", address, {}, None))
        made.close()
    assert answer.passing
    assert "http.request.timeout.ms" in answer.problem


def test_a_task_that_waits_for_an_answer_can_be_stopped(service: Hostile) -> None:
    """The service drips for as long as its time limit lets it: the source is stopped all the same, at once."""
    service.paths["/slow"] = service.dripping(pause_s=0.1)
    with source(f"{service.url}/slow", http_request_timeout_ms="600000") as runner:
        polling = threading.Thread(target=lambda: _quietly(runner), daemon=True)
        polling.start()
        wait_until(lambda: any(each.method == "GET" for each in service.asked))
        runner.task.stop()
        polling.join(30)
        assert not polling.is_alive()


def test_a_sink_that_waits_for_an_answer_can_be_stopped(service: Hostile) -> None:
    """The service never answers a sink's request: the task stops within the time that hosts wait for one."""
    service.paths["/slow"] = service.silent()
    ended = threading.Event()
    with sink(f"{service.url}/${{topic}}", http_request_timeout_ms="600000") as runner:
        slow = SinkRecord("slow", 0, None, "k", None, "v", 0)

        def put() -> None:
            with pytest.raises(RetriableError):
                runner.put([slow])
            ended.set()

        threading.Thread(target=put, daemon=True).start()
        wait_until(lambda: any(each.method == "POST" for each in service.asked))
        runner.task.interrupt()
        assert ended.wait(30)


def _quietly(runner: SourceRunner) -> None:
    try:
        runner.poll()
    except Exception:  # noqa: BLE001 - whatever it raises, it has ended
        return


@pytest.mark.parametrize(
    "text",
    [
        "9" * 400,
        "999999999",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        f"Fri, 31 Dec {10**20} 23:59:59 GMT",
        "-5",
        "1e9",
        "\u0663",
        "x",
        "nan",
    ],
    ids=lambda text: text[:20],
)
def test_a_service_makes_nobody_sleep_for_years(service: Hostile, text: str) -> None:
    """The service asks to come back in years: the task waits for as long as a setting allows, and says so."""
    service.default = hostile.refusing(503, Retry_After=text.encode().decode("latin-1"))
    with sink(service.url, retry_wait_max_ms="5000") as runner:
        with pytest.raises(RetriableError) as raised:
            runner.put([record(0, "k", "v")])
        assert runner.timeout_ms is not None
        assert runner.timeout_ms <= 5000
    if text.startswith("9"):
        assert "retry.wait.max.ms" in str(raised.value)


@pytest.mark.parametrize(
    "answer",
    [
        hostile.Reply(headers={"Content-Encoding": "gzip"}, body=b"no gzip"),
        hostile.Reply(headers={"Content-Encoding": "gzip"}, body=b"\x1f\x8b\x08\0\0\0\0\0\0\3\xab"),
        hostile.Reply(headers={"Content-Encoding": "br"}, body=b"\x0b\x02\x80[]\x03"),
        hostile.Reply(headers={"Content-Encoding": "deflate"}, body=b"\xff\xff"),
        hostile.Reply(body=b"<html>"),
        hostile.Reply(headers={"Content-Length": "100"}, body=b"[1"),
    ],
    ids=["no gzip", "half a gzip", "another", "no deflate", "no JSON", "too short"],
)
def test_an_answer_that_can_not_be_read_is_asked_for_again(service: Hostile, answer: hostile.Reply) -> None:
    """The service answers once with what can't be read: the task asks again, and does not fail."""
    answers = [answer]
    service.default = lambda asked: answers.pop() if answers and asked.method != "HEAD" else hostile.Reply(body=b'[{"id": 1}]')
    with source(service.url, max_retries="3", retry_backoff_ms="0", http_request_timeout_ms="2000") as runner:
        with pytest.raises(RetriableError):
            runner.poll()
        assert [each.value for each in runner.read(1)] == [{"id": 1}]


LETTERS = {
    "half a pair": (rb'[{"t": "half \ud83d"}, {"t": "\ud83d\ude00 \\ud83d"}]', ["half \ufffd", "\U0001f600 \\ud83d"]),
    "no UTF-8": (b'[{"t": "caf\xe9"}, {"t": "b"}]', ["caf\ufffd", "b"]),
    "a mark before it": (b'\xef\xbb\xbf[{"t": "a"}, {"t": "b"}]', ["a", "b"]),
}


@pytest.mark.parametrize(("answer", "texts"), LETTERS.values(), ids=LETTERS.keys())
def test_a_letter_that_is_none_ends_no_source(service: Hostile, answer: bytes, texts: list[str]) -> None:
    """Who may write a text to the service cuts it in the middle of a letter: the source ended, with all records of the page."""
    service.default = lambda asked: hostile.Reply(body=answer)
    with source(service.url) as runner:
        assert [each.value["t"] for each in runner.read(2)] == texts


@pytest.mark.parametrize(
    "answer", [b'[{"t": "\\ud83d", "n": 1e999}]', b'["\\ud83d", NaN]', b'["\\ud83d"', b'["\\ud83d", %s]' % (b"9" * 30)]
)
def test_an_answer_that_is_no_json_beside_such_a_letter_is_none(service: Hostile, answer: bytes) -> None:
    service.default = lambda asked: hostile.Reply(body=answer)
    _failed(service.url, "is not JSON|has no place in INT64")


@pytest.mark.parametrize(
    "text",
    ["[" * 300 + "]" * 300, '["]",' * 300 + "1" + "]" * 300, '{"a":' * 300 + "1" + "}" * 300],
    ids=["lists", "texts", "objects"],
)
def test_an_answer_is_not_nested_without_an_end(service: Hostile, text: str) -> None:
    """The service nests lists and objects deeper than what the converters behind the source can walk down."""
    service.default = lambda asked: hostile.Reply(body=text.encode())
    _failed(service.url, r"http\.response\.max\.depth")


@pytest.mark.parametrize("text", ['["' + "[{" * 300 + '"]', "[[1],[2]," + ",".join(["[[]]"] * 1000) + "]", '["\\"[[[[", 1]'])
def test_an_answer_that_only_looks_nested_is_read(service: Hostile, text: str) -> None:
    """The control: brackets in texts, and many lists side by side, are not deep."""
    service.default = lambda asked: hostile.Reply(body=text.encode())
    with source(service.url, http_response_max_depth="5") as runner:
        assert runner.read(1)


@pytest.mark.parametrize("expires", [float("1e300"), -1, "never", None, [], 10**18, True], ids=str)
def test_a_token_whose_end_makes_no_sense_is_used_all_the_same(service: Hostile, expires: Any) -> None:
    """The service of tokens gives an end that is no time: the sink goes on, and does not ask for a token again and again."""
    service.paths["/token"] = hostile.given({"access_token": CANARY, "expires_in": expires})
    oauth = {"oauth2_token_url": f"{service.url}/token", "oauth2_client_id": "me", "oauth2_client_secret": "s3cr3t-55"}
    with sink(service.url, auth_type="OAUTH2", **oauth) as runner:
        runner.put([record(offset, "k", "v") for offset in range(5)])
    # One of them is the validation's.
    assert service.lines().count("POST /token") <= 2
    assert service.lines().count("POST /") == 5


@pytest.mark.parametrize("token", ["a\r\nX-Admin: 1", "ü", "", {"a": 1}, 5, "x" * 100_000], ids=lambda each: ascii(each)[:20])
def test_a_token_is_a_text_that_a_header_can_have(service: Hostile, token: Any) -> None:
    """The service of tokens gives one that would be more than a header's value: the config is refused, with the reason."""
    service.paths["/token"] = hostile.given({"access_token": token})
    oauth = {"oauth2.token.url": f"{service.url}/token", "oauth2.client.id": "me", "oauth2.client.secret": "s3cr3t-55"}
    config = {"topics": "t", "http.api.url": service.url, "auth.type": "OAUTH2", **oauth}
    (problem,) = config_errors(HttpSinkConnector, config).values()
    assert "oauth2.token.property" in str(problem)


# What a service says again.

LOGINS: dict[str, dict[str, str]] = {
    "basic": {"auth_type": "BASIC", "connection_user": "me", "connection_password": CANARY},
    "header": {"headers": f"Authorization: Bearer {CANARY}"},
    "key": {"headers": f"X-Api-Key: {CANARY}"},
    "filled": {"headers": f"X-Api-Key: {CANARY}-${{key}}"},
}


@pytest.mark.parametrize("login", LOGINS)
def test_a_service_that_echoes_tells_nobody_what_was_sent(service: Hostile, login: str) -> None:
    """The service quotes the request in its refusal: no dead letter has the password, the header or its base64."""
    service.default = lambda asked: hostile.Reply() if asked.method == "HEAD" else hostile.echoing()(asked)
    with sink(service.url, **LOGINS[login]) as runner:
        runner.put([record(0, "k", "v")])
        ((_, error),) = runner.reported
    assert "[hidden]" in str(error)
    assert CANARY not in str(error)
    assert base64.b64encode(f"me:{CANARY}".encode()).decode()[4:] not in str(error)


def test_a_service_that_echoes_tells_nobody_the_token(service: Hostile) -> None:
    """The service quotes the token that another one gave: it is in no status, with each request that is made again."""
    service.paths["/token"] = hostile.given({"access_token": CANARY, "expires_in": 3600})
    service.default = lambda asked: hostile.Reply() if asked.method == "HEAD" else hostile.echoing(503)(asked)
    oauth = {"oauth2_token_url": f"{service.url}/token", "oauth2_client_id": "me", "oauth2_client_secret": "s3cr3t-55"}
    with sink(service.url, auth_type="OAUTH2", **oauth) as runner:
        with pytest.raises(RetriableError) as raised:
            runner.put([record(0, "k", "v")])
        assert "Bearer [hidden]" in str(raised.value)
        assert CANARY not in str(raised.value)


def test_a_refusal_is_shown_in_one_short_line(service: Hostile) -> None:
    """The service answers with pages of text and control characters, which must not make lines of a log."""
    text = "\x1b[2J no\r\n2026-01-01 INFO forged\n" + "x" * 1_000_000
    service.default = lambda asked: hostile.Reply() if asked.method == "HEAD" else hostile.refusing(400, text)(asked)
    with sink(service.url) as runner:
        runner.put([record(0, "k", "v")])
        ((_, error),) = runner.reported
    assert str(error).isprintable()
    assert len(str(error)) < 500


def test_an_answer_that_no_topic_takes_ends_no_sink() -> None:
    """The service answers with more than a message of Kafka may have: the sink goes on, and keeps that there was an answer."""
    # Nobody answers there: what the producer says of a message's size it says before.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        brokers = f"127.0.0.1:{silent.getsockname()[1]}"
        reporter = {"reporter.result.topic.name": "r", "reporter.bootstrap.servers": brokers}
        config = {"http.api.url": "http://127.0.0.1:1", **reporter}
        answers = Answers(settings.CONFIG.parse(config), config)
        for body, key in ((b"a" * 5_000_000, "k"), (b"a", "k" * 5_000_000)):
            answers.keep(Request([record(0, key, "v")], "POST", "http://127.0.0.1:1", {}, None), 200, body)
        assert len(answers._producer) == 2
        answers._producer.purge()
        del answers
        gc.collect()


@pytest.mark.parametrize("mode", ["cursor", "link", "since"])
def test_what_a_service_makes_an_offset_of_is_short(service: Hostile, mode: str) -> None:
    """The service gives a cursor of a megabyte, which would be in every offset: no offset has it."""
    long = "x" * 1_000_000
    if mode == "since":
        service.default, more = hostile.given([{"id": long}]), {"since_path": "id"}
    else:
        service.default, more = hostile.given({"next": long, "rows": [1]}), {"page_mode": "cursor", "page_cursor_path": "next"}
    url = f"{service.url}/x?after=${{cursor}}" if mode == "cursor" else service.url
    with source(url, **more) as runner, pytest.raises(DataError, match="characters"):
        runner.read(2)


def test_cookies_do_not_pile_up(service: Hostile) -> None:
    """The service sets another cookie with each answer, of which only so many are kept."""
    count = iter(range(1_000_000))
    service.default = lambda asked: hostile.Reply(headers={"Set-Cookie": f"c{next(count)}={'x' * 100}"})
    with sink(service.url) as runner:
        runner.put([record(offset, "k", "v") for offset in range(300)])
    assert max(len(each.headers.get("cookie", "")) for each in service.asked) < 110 * 110


def asked(address: str, **worker: str) -> str:
    """Have a service of this address asked. Return what is wrong with it."""
    config = source_settings.CONFIG.parse({settings.URL: f"http://{address}/", source_settings.TOPIC: "t"})
    service = Service(config, worker)
    try:
        return service.send(Request([], "GET", f"http://{address}/", {}, None)).problem
    finally:
        service.close()


@pytest.mark.parametrize("address", ["169.254.169.254", "2852039166", "[::ffff:169.254.169.254]", "[fe80::1]", "168.63.129.16"])
def test_no_config_asks_a_metadata_service(address: str) -> None:
    """Whoever may create connectors has the machine's token from its cloud become a record: nothing is dialled."""
    assert "its own login from its cloud" in asked(address)


def test_the_workers_file_allows_metadata_services() -> None:
    """The control. Without a scope the address can't be dialled, so that nobody is asked."""
    assert "its own login from its cloud" not in asked("[fe80::1]", **{UNSAFE: "other, cloud.metadata"})


class _Refuses:
    """A producer whose topic takes answers of ten bytes; a request with a longer one is refused as a whole."""

    def __init__(self) -> None:
        self.written: list[tuple[bytes, set[str]]] = []
        self._queue: list[tuple[Any, ...]] = []

    def produce(self, topic: str, body: bytes, key: Any, headers: dict[str, Any], on_delivery: Any) -> None:
        self._queue.append((body, key, headers, on_delivery))

    def poll(self, timeout: float) -> None: ...

    def flush(self, timeout: float) -> int:
        queue, self._queue = self._queue, []
        is_refused = any(len(body) > 10 for body, *_ in queue)
        for body, key, headers, heard in queue:
            message = ck.Message(topic="r", value=body, key=key, headers=[(name, b"x") for name in headers])
            heard(ck.KafkaError(ck.KafkaError.MSG_SIZE_TOO_LARGE) if is_refused else None, message)
            if not is_refused:
                self.written.append((body, set(headers)))
        return 0


@pytest.mark.parametrize("most", [64 * 1024**2, 0], ids=["kept", "no room"])
def test_an_answer_that_the_topic_does_not_take_makes_no_request_again(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """
    The service answers with more than the topic takes, though the producer does: the offsets were not committed, so the
    service was sent the same records for ever.
    """
    monkeypatch.setattr(http_answers, "_MOST", most)
    config = {"http.api.url": "http://h", "reporter.result.topic.name": "r", "reporter.bootstrap.servers": "127.0.0.1:1"}
    answers = Answers(settings.CONFIG.parse(config), config)
    answers._producer = producer = _Refuses()  # type: ignore[assignment]
    for body in (b"good", b"a" * 100, b"fine"):
        answers.keep(Request([record(0, "k", "v")], "POST", "http://h", {}, None), 200, body)
    answers.flush()
    omitted = [body for body, names in producer.written if "http_body_omitted" in names]
    assert sorted(body for body, _ in producer.written) == ([b"", b"fine", b"good"] if most else [b"", b"", b""])
    assert omitted == ([b""] if most else [b""] * 3)
    answers.flush()
