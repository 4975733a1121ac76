"""The HTTP sink against a service in this process: what it sends, what it does about answers, and what it says is wrong."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from kconnect.api import (
    INT32_SCHEMA,
    STRING_SCHEMA,
    TIMESTAMP_SCHEMA,
    ConnectError,
    RetriableError,
    Schema,
    SinkRecord,
    Struct,
    schema,
)
from kconnect.connectors.groups import Origins
from kconnect.connectors.http import service as service_module
from kconnect.connectors.http.service import Service
from kconnect.connectors.http.sink import HttpSinkConnector
from kconnect.testing import SinkRunner, check_plugin, config_errors
from tests.rig.systems.http_service import CLIENT, SECRET, HttpService

TOLERANT = {"errors.tolerance": "all"}
VALUE = schema.struct({"id": INT32_SCHEMA, "name": STRING_SCHEMA})


@pytest.fixture
def service() -> Iterator[HttpService]:
    made = HttpService()
    yield made
    made.end()


def record(offset: int, value: Any, own: Schema | None = None, key: Any = None, partition: int = 0) -> SinkRecord:
    return SinkRecord("orders", partition, None, key, own, value, offset, timestamp=5)


def records(*values: Any) -> list[SinkRecord]:
    return [record(offset, value) for offset, value in enumerate(values)]


def sink(service: HttpService, **more: str) -> SinkRunner:
    settings = {name.replace("_", "."): value for name, value in more.items()}
    return SinkRunner(HttpSinkConnector, {"topics": "orders", "http.api.url": service.url, **settings})


def bodies(service: HttpService) -> list[bytes]:
    return [each.body for each in service.taken]


def test_a_request_a_record(service: HttpService) -> None:
    with sink(service) as runner:
        runner.put([record(0, Struct(VALUE, {"id": 1, "name": "é"}), VALUE), record(1, {"id": 2})])
        runner.flush()
        assert runner.committed == {("orders", 0): 2}
    assert [json.loads(each) for each in bodies(service)] == [{"id": 1, "name": "é"}, {"id": 2}]
    assert {each.method for each in service.taken} == {"POST"}
    assert service.taken[0].headers["content-type"] == "application/json"


def test_values_of_all_types_are_json(service: HttpService) -> None:
    utc = datetime.timezone.utc
    own = schema.struct(
        {
            "price": schema.decimal_schema(2),
            "day": schema.DATE_SCHEMA,
            "time": schema.TIME_SCHEMA,
            "at": TIMESTAMP_SCHEMA.optional_copy(),
            "data": schema.BYTES_SCHEMA,
            "days": schema.array(schema.DATE_SCHEMA),
            "inner": schema.struct({"at": TIMESTAMP_SCHEMA}).optional_copy(),
            "none": schema.OPTIONAL_INT32_SCHEMA,
        }
    )
    day = datetime.datetime(999, 1, 2, tzinfo=utc)
    inner = own.fields[6].schema
    value = Struct(
        own,
        {
            "price": decimal.Decimal("12345678901234567890.10"),
            "day": day,
            "time": datetime.datetime(1970, 1, 1, 3, 4, 5, 6000, tzinfo=utc),
            "at": datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=utc),
            "data": b"xy",
            "days": [day],
            "inner": Struct(inner, {"at": datetime.datetime(2026, 1, 2, tzinfo=utc)}),
        },
    )
    with sink(service) as runner:
        runner.put([record(0, value, own)])
    assert bodies(service) == [
        b'{"price":12345678901234567890.10,"day":"0999-01-02","time":"03:04:05.006","at":"2026-01-02T03:04:05.000Z",'
        b'"data":"eHk=","days":["0999-01-02"],"inner":{"at":"2026-01-02T00:00:00.000Z"},"none":null}'
    ]


def test_several_records_a_request(service: HttpService) -> None:
    with sink(service, batch_max_size="2") as runner:
        runner.put(records({"n": 0}, {"n": 1}, {"n": 2}))
    assert bodies(service) == [b'[{"n":0},{"n":1}]', b'[{"n":2}]']


def test_texts_with_what_is_around_and_between_them(service: HttpService) -> None:
    around = {"batch_prefix": "<", "batch_suffix": ">", "batch_separator": "\\n"}
    with sink(service, batch_max_size="9", request_body_format="string", **around) as runner:
        runner.put(records("a", b"b", 3))
    assert bodies(service) == [b"<a\\nb\\n3>"]
    assert service.taken[0].headers["content-type"] == "text/plain; charset=utf-8"


def test_templates_in_address_headers_and_body(service: HttpService) -> None:
    config = {
        "http_api_url": f"{service.url}/${{topic}}/${{key}}?city=${{address.city}}",
        "headers": "X-Id: ${id}|Content-Type: text/x",
        "request_body_template": '{"n": ${id}, "at": [${topic}, ${partition}, ${offset}], "all": ${value}, "c": ${key}}',
        "request_method": "put",
    }
    with sink(service, **config) as runner:
        runner.put([record(3, {"id": 7, "address": {"city": "a/b é"}}, key="k 1")])
    (found,) = service.taken
    assert (found.method, found.path) == ("PUT", "/orders/k%201?city=a%2Fb%20%C3%A9")
    assert (found.headers["x-id"], found.headers["content-type"]) == ("7", "text/x")
    assert json.loads(found.body) == {
        "n": 7,
        "at": ["orders", 0, 3],
        "all": {"id": 7, "address": {"city": "a/b é"}},
        "c": "k 1",
    }


def test_records_of_one_request_have_one_address(service: HttpService) -> None:
    with sink(service, http_api_url=f"{service.url}/${{kind}}", batch_max_size="10") as runner:
        runner.put(records(*[{"kind": kind, "n": n} for n, kind in enumerate("aabba")]))
    assert [(each.path, len(json.loads(each.body))) for each in service.taken] == [("/a", 2), ("/b", 2), ("/a", 1)]


def test_times_in_addresses_and_headers_have_all_of_their_digits(service: HttpService) -> None:
    own = schema.struct({"day": schema.DATE_SCHEMA, "time": schema.TIME_SCHEMA, "at": TIMESTAMP_SCHEMA})
    at = datetime.datetime(1969, 12, 31, 23, 59, 59, 1000, datetime.timezone.utc)
    value = Struct(
        own, {"day": at.replace(hour=0, minute=0, second=0, microsecond=0), "time": at.replace(1970, 1, 1), "at": at}
    )
    more = {"http_api_url": f"{service.url}/${{day}}?t=${{time}}", "headers": "X-At:${at}", "request_body_format": "string"}
    with sink(service, request_body_template="${at}", **more) as runner:
        runner.put([record(0, value, own)])
    (taken,) = service.taken
    assert taken.path == "/1969-12-31?t=23%3A59%3A59.001"
    assert (taken.headers["x-at"], taken.body) == ("1969-12-31T23:59:59.001Z", b"1969-12-31T23:59:59.001Z")


def test_null_is_no_address(service: HttpService) -> None:
    url = f"{service.url}/${{id}}?more=${{more}}"
    with sink(service, http_api_url=url, request_method="PUT", **{"errors.tolerance": "all"}) as runner:
        runner.put(records({"id": None, "more": 1}, {"id": 1, "more": None}))
        assert [str(error) for _, error in runner.reported] == ["${id} is null, and can't be a part of the path"]
    assert [each.path for each in service.taken] == ["/1?more=null"]
    with sink(service, http_api_url=f"{service.url}/${{key}}", behavior_on_null_values="delete", **TOLERANT) as runner:
        runner.put([record(0, None)])
        assert len(runner.reported) == 1
    assert len(service.taken) == 1


@pytest.mark.parametrize(("nulls", "requests"), [("ignore", []), ("delete", [("DELETE", "/k1"), ("DELETE", "/k2")])])
def test_records_without_a_value(service: HttpService, nulls: str, requests: list[Any]) -> None:
    with sink(service, behavior_on_null_values=nulls, http_api_url=f"{service.url}/${{key}}", batch_max_size="5") as runner:
        runner.put([record(0, None, key="k1"), record(1, None, key="k2")])
        runner.flush()
        assert runner.committed == {("orders", 0): 2}
    assert [(each.method, each.path) for each in service.taken] == requests


def test_a_record_without_a_value_may_be_bad(service: HttpService) -> None:
    with sink(service, behavior_on_null_values="fail") as runner, pytest.raises(ConnectError, match="has no value"):
        runner.put([record(0, None)])


def test_what_may_pass_is_tried_again_and_nothing_before_it(service: HttpService) -> None:
    service.answers.extend([(200, {}, ""), (503, {"Retry-After": "7"}, "busy")])
    with sink(service, retry_backoff_ms="100") as runner:
        some = records({"n": 0}, {"n": 1}, {"n": 2})
        with pytest.raises(RetriableError, match="answers 503 Service Unavailable: busy"):
            runner.put(some)
        assert runner.timeout_ms == 7000
        runner.put(some)
    assert bodies(service) == [b'{"n":0}', b'{"n":1}', b'{"n":2}']


@pytest.mark.parametrize("most", [1, 4, 100])
def test_a_batch_of_columns_is_sent_without_its_records(
    service: HttpService, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    asked: list[int] = []
    own: Any = vars(Origins)["records"].fget
    monkeypatch.setattr(Origins, "records", property(lambda self: asked.append(len(self)) or own(self)))
    with sink(service, batch_max_size=str(most), errors_tolerance="all") as runner:
        runner.put(records(*({"n": number} for number in range(30))))
        assert not asked
        runner.flush()
        assert runner.committed == {("orders", 0): 30}
        # One is refused: it is looked for among its request's alone.
        service.refuses = b"41"
        runner.put([record(offset, {"n": offset}) for offset in range(30, 60)])
        assert [bad.original_offset for bad, _ in runner.reported] == [41]
        runner.flush()
        assert runner.committed == {("orders", 0): 60}
        # The service is busy in the midst of it.
        service.answers.extend([(200, {}, ""), (503, {}, "busy")][most == 100 :])
        some = [record(offset, {"n": offset}) for offset in range(60, 90)]
        with pytest.raises(RetriableError):
            runner.put(some)
        runner.put(some)
    sent = [json.loads(body) for body in bodies(service)]
    taken = [each["n"] for body in sent for each in ([body] if most == 1 else body)]
    assert [number for number in range(90) if number not in taken] == [41]
    assert [number for number in taken if number >= 60 + most] == list(range(60 + most, 90))


def test_the_records_of_a_topic_that_is_made_anew_are_sent(service: HttpService) -> None:
    with sink(service) as runner:
        runner.put(records({"n": 0}, {"n": 1}, {"n": 2}))
        # Its offsets begin at 0 again.
        runner.put(records({"n": 10}, {"n": 11}))
    assert bodies(service) == [b'{"n":%d}' % number for number in (0, 1, 2, 10, 11)]


def test_it_fails_when_there_were_too_many_tries(service: HttpService) -> None:
    service.end()
    with sink_without_validation(service, max_retries="2", retry_backoff_ms="0") as runner:
        for _ in range(2):
            with pytest.raises(RetriableError, match="can't be reached"):
                runner.put(records({"n": 0}))
        with pytest.raises(ConnectError, match=r"max\.retries is 2") as raised:
            runner.put(records({"n": 0}))
        assert not isinstance(raised.value, RetriableError)
    service.begin()


def sink_without_validation(service: HttpService, **more: str) -> SinkRunner:
    """An address with a part of the record is not asked while the config is checked."""
    return sink(service, http_api_url=f"{service.url}/${{topic}}", **more)


def test_the_service_ends_and_comes_back(service: HttpService) -> None:
    with sink(service) as runner:
        runner.put(records({"n": 0}))
        service.end()
        again = [record(1, {"n": 1}), record(2, {"n": 2})]
        with pytest.raises(RetriableError):
            runner.put(again)
        service.begin()
        runner.put(again)
    assert bodies(service) == [b'{"n":0}', b'{"n":1}', b'{"n":2}']


def test_one_bad_record_of_a_request_is_found(service: HttpService) -> None:
    service.refuses = b'"n":2'
    with sink(service, batch_max_size="10", **{name.replace(".", "_"): value for name, value in TOLERANT.items()}) as runner:
        runner.put(records(*[{"n": n} for n in range(5)]))
        runner.flush()
        assert runner.committed == {("orders", 0): 5}
        ((bad, error),) = runner.reported
    assert bad.original_offset == 2
    assert "answers 400 Bad Request: one of them is bad" in str(error)
    assert bodies(service) == [b'[{"n":0}]', b'[{"n":1}]', b'[{"n":3}]', b'[{"n":4}]']


@pytest.mark.parametrize("behavior", ["log", "ignore"])
def test_bad_records_may_be_passed_over(service: HttpService, behavior: str, caplog: pytest.LogCaptureFixture) -> None:
    service.refuses = b"1"
    with sink(service, behavior_on_error=behavior) as runner:
        runner.put(records({"n": 0}, {"n": 1}, {"n": 2}))
    assert bodies(service) == [b'{"n":0}', b'{"n":2}']
    assert ("Passed over orders-0@1" in caplog.text) is (behavior == "log")


def test_without_a_queue_a_bad_record_fails_the_task(service: HttpService) -> None:
    service.refuses = b"1"
    with sink(service) as runner, pytest.raises(ConnectError, match=r"record at offset 1 of orders-0 can't be written: .* 400"):
        runner.put(records({"n": 0}, {"n": 1}))


def test_a_record_without_the_field_of_the_address_is_bad(service: HttpService) -> None:
    config = {"http_api_url": f"{service.url}/${{id}}", "errors_tolerance": "all"}
    with sink(service, **config) as runner:
        runner.put(records({"id": 1}, {"di": 2}, {"id": 3}))
        assert [str(error) for _, error in runner.reported] == [
            "${id} stands for nothing: the record's value has no such field"
        ]
    assert [each.path for each in service.taken] == ["/1", "/3"]


def test_basic(service: HttpService) -> None:
    service.wants = "Basic " + base64.b64encode(b"u:canary-p").decode()
    with sink(service, auth_type="BASIC", connection_user="u", connection_password="canary-p") as runner:
        runner.put(records(1))
    assert len(service.taken) == 1


@pytest.mark.parametrize("mode", ["header", "url"])
def test_oauth_gets_a_token_and_another_one_when_it_is_refused(service: HttpService, mode: str) -> None:
    service.token = "none yet"
    with sink(service, **oauth(service), oauth2_client_auth_mode=mode) as runner:
        before = service.tokens_given
        runner.put(records(1, 2))
        assert service.tokens_given == before + 1
        service.token = "was taken back"
        runner.put([record(2, 3)])
        assert service.tokens_given == before + 2
    assert bodies(service) == [b"1", b"2", b"3"]


def oauth(service: HttpService) -> dict[str, str]:
    return {
        "auth_type": "OAUTH2",
        "oauth2_token_url": f"{service.url}/token",
        "oauth2_client_id": CLIENT,
        "oauth2_client_secret": SECRET,
    }


def test_no_more_requests_than_the_rate(service: HttpService, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with sink(service, requests_per_second="0.1") as runner:
        waits: Any = runner.task
        monkeypatch.setattr(waits._stopped, "wait", lambda seconds: now.__setitem__(0, now[0] + seconds))
        with pytest.raises(RetriableError, match=r"requests\.per\.second"):
            runner.put(records(*range(10)))
        assert len(service.taken) == 3
        assert now[0] == pytest.approx(120)
        assert runner.timeout_ms == 10_000
        now[0] += 10
        with pytest.raises(RetriableError):
            runner.put(records(*range(10)))
        assert bodies(service) == [b"0", b"1", b"2", b"3", b"4", b"5"]


@pytest.mark.parametrize(("polls", "longest"), [({}, 20.0), ({"consumer_override_max_poll_interval_ms": "15000"}, 5.0)])
def test_a_put_to_a_slow_service_gives_way_and_goes_on_where_it_was(
    service: HttpService, monkeypatch: pytest.MonkeyPatch, polls: dict[str, str], longest: float
) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    send = Service.send

    def slowly(*arguments: Any, **more: Any) -> Any:
        now[0] += 2
        return send(*arguments, **more)

    monkeypatch.setattr(Service, "send", slowly)
    with sink(service, **polls) as runner:
        puts = 0
        while len(service.taken) < 30:
            puts, began = puts + 1, now[0]
            try:
                runner.put(records(*range(30)))
            except RetriableError as error:
                assert "the others are sent next" in str(error)
                assert runner.timeout_ms == 0
            assert now[0] - began <= longest + 2
    assert puts == (3 if longest == 20 else 10)
    assert bodies(service) == [str(number).encode() for number in range(30)]


@pytest.mark.parametrize(
    ("config", "setting", "text"),
    [
        ({"http.api.url": "ftp://x/"}, "http.api.url", "must begin with http:// or https://"),
        ({"http.api.url": "http://127.0.0.1:1/"}, "http.api.url", "http://127.0.0.1:1/ can't be reached"),
        ({"request.method": "FETCH"}, "request.method", "POST, PUT"),
        ({"headers": "no colon"}, "headers", "name:value"),
        ({"retry.on.status.codes": "5xx"}, "retry.on.status.codes", "408,429,500-"),
        ({"auth.type": "BASIC"}, "connection.user", "auth.type is BASIC"),
        ({"auth.type": "OAUTH2", "oauth2.client.id": "c", "oauth2.client.secret": "s"}, "oauth2.token.url", "is missing"),
        ({"batch.max.size": "0"}, "batch.max.size", "at least 1"),
        ({"regex.patterns": "a~b"}, "regex.patterns", "not understood: a transform"),
        ({"ssl.ca.location": "/nowhere"}, "ssl.ca.location", "No such file"),
    ],
)
def test_what_is_wrong_is_said_at_the_setting(service: HttpService, config: dict[str, str], setting: str, text: str) -> None:
    errors = config_errors(HttpSinkConnector, {"topics": "t", "http.api.url": service.url, **config})
    assert list(errors) == [setting]
    assert text in errors[setting][0]


def test_who_is_refused_is_told_so_and_no_secret(service: HttpService) -> None:
    service.wants = "Basic other"
    config = {"topics": "t", "http.api.url": f"{service.url}/in?key=canary-q", "auth.type": "BASIC", "connection.user": "u"}
    errors = config_errors(HttpSinkConnector, {**config, "connection.password": "canary-p"})
    assert list(errors) == ["auth.type"]
    assert "answers 401" in errors["auth.type"][0]
    secret = {name.replace("_", "."): value for name, value in oauth(service).items()} | {"oauth2.client.secret": "canary-no"}
    refused = config_errors(HttpSinkConnector, {**config, **secret})
    assert "gives no token, but answers 401" in refused["oauth2.client.secret"][0]
    assert "canary" not in str(errors) + str(refused)


def test_an_address_in_a_message_has_no_secrets() -> None:
    assert service_module.shown("https://u:canary@example.com:8443/a/b?k=canary#f") == "https://example.com:8443/a/b"


@pytest.mark.parametrize(("text", "seconds"), [("5", 5), ("", 0), ("soon", 0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0)])
def test_retry_after(text: str, seconds: float) -> None:
    response = httpx.Response(503, headers={"Retry-After": text})
    assert service_module._after(response) == seconds


def test_the_plugin_keeps_to_the_rules(service: HttpService, tmp_path: Path) -> None:
    config = {
        "topics": "t",
        "http.api.url": service.url,
        "headers": "a:b",
        "connection.password": "x",
        "oauth2.client.secret": "y",
    }
    check_plugin(HttpSinkConnector, config, records({"a": 1}, "b"))
