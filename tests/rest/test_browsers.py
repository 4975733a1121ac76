"""CORS and configured headers, as browsers meet them."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime

import httpx
import pytest

from kconnect.core.settings.browsers import cors, header_rules
from kconnect.rest.app import RestSettings, build, build_admin
from kconnect.rest.host_names import HostNames

from .conftest import ADVERTISED, Http
from .herder import MemoryHerder

ONE = "https://one.example"


def app(herder: MemoryHerder, origins: str = "", methods: str = "", headers: str = "", admin: bool = False) -> Http:
    settings = RestSettings(
        ADVERTISED,
        cors=cors(origins, methods),
        response_headers=header_rules("x", headers),
        host_names=HostNames(["worker-1", "connect.example"]),
    )
    return Http(build_admin(herder, settings) if admin else build(herder, settings))


def preflight(http: Http, origin: str, method: str, path: str = "/connectors", **headers: str) -> httpx.Response:
    asked = {"Origin": origin, "Access-Control-Request-Method": method, **headers}
    return http("OPTIONS", path, headers=asked)


def allowed(response: httpx.Response) -> str | None:
    return response.headers.get("access-control-allow-origin")


def test_without_the_setting_no_origin_is_allowed(herder: MemoryHerder) -> None:
    http = app(herder)
    assert allowed(http("GET", "/connectors", headers={"Origin": ONE})) is None
    assert allowed(preflight(http, ONE, "GET")) is None


def test_a_preflight_names_what_is_allowed(herder: MemoryHerder) -> None:
    http = app(herder, f"{ONE},https://two.example", "GET,PUT")
    answer = preflight(http, ONE, "PUT", **{"Access-Control-Request-Headers": "content-type"})
    assert (answer.status_code, allowed(answer)) == (200, ONE)
    assert answer.headers["access-control-allow-methods"] == "GET, PUT"
    assert {"Content-Type", "Authorization"} <= set(answer.headers["access-control-allow-headers"].split(", "))
    assert answer.headers["access-control-max-age"] == "60"
    assert "Origin" in answer.headers["vary"]
    assert preflight(http, ONE, "DELETE").status_code == 400
    assert allowed(preflight(http, "https://evil.example", "PUT")) is None
    assert not herder.seen, "a preflight is no request"


def test_answers_name_the_origin(herder: MemoryHerder) -> None:
    http = app(herder, f"{ONE},https://two.example")
    for origin, named in ((ONE, ONE), ("https://evil.example", None), (f"{ONE}.evil", None), ("https://oneXexample", None)):
        answer = http("GET", "/connectors", headers={"Origin": origin})
        assert (answer.status_code, allowed(answer)) == (200, named)
        assert answer.headers["vary"] == "Origin"
    assert allowed(http("GET", "/connectors/nope", headers={"Origin": ONE})) == ONE, "errors too"


def test_every_origin_and_patterns(herder: MemoryHerder) -> None:
    assert allowed(app(herder, "*")("GET", "/", headers={"Origin": ONE})) == "*"
    http = app(herder, r"https://.*\.example\.com")
    for origin, named in (("https://a.example.com", True), ("https://a.example.com.evil", False)):
        assert (allowed(http("GET", "/", headers={"Origin": origin})) == origin) is named


def test_no_origin_keeps_a_pattern_busy(herder: MemoryHerder) -> None:
    """Who reaches a listener says what its origin is: it would stop the worker if the pattern tries many ways to split it."""
    http = app(herder, r"https://([a-z]+[.]?)+[.]example")
    assert allowed(http("GET", "/", headers={"Origin": "https://a.b.example"})) == "https://a.b.example"
    for origin in ("https://" + "a" * 60 + "!", "https://" + "a." * 4000 + "example"):
        assert allowed(http("GET", "/", headers={"Origin": origin})) is None


RESTART = "/connectors/x/restart"
ANY = "https://connect.example"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 204),
        ({"Origin": ONE}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://[bad"}, 403),
        ({"Origin": ONE, "Content-Type": "text/plain"}, 403),
        ({"Origin": ONE, "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://worker-1:8083"}, 204),
        ({"Origin": "http://worker-1:8084"}, 403),
        # Proxies: one that leaves the host, one that says what it was, and one of which only the browser knows.
        ({"Origin": ANY, "Host": "connect.example"}, 204),
        ({"Origin": ANY, "X-Forwarded-Host": "connect.example"}, 204),
        ({"Origin": ANY, "Sec-Fetch-Site": "same-origin"}, 204),
        # Browsers ask before they send this.
        ({"Origin": ONE, "Content-Type": "application/json"}, 204),
    ],
)
def test_a_page_of_another_origin_restarts_nothing(herder: MemoryHerder, headers: dict[str, str], status: int) -> None:
    http = app(herder)
    http.create("x")
    herder.seen.clear()
    answer = http("POST", RESTART, headers=headers)
    assert answer.status_code == status, answer.text
    assert bool(herder.seen) is (status == 204)


def test_pages_of_allowed_origins_restart(herder: MemoryHerder) -> None:
    app(herder).create("x")
    assert app(herder, ONE)("POST", RESTART, headers={"Origin": ONE}).status_code == 204
    assert app(herder, "*")("POST", RESTART, headers={"Origin": ONE}).status_code == 204
    patterns = app(herder, r"https://.*\.example")
    assert patterns("POST", RESTART, headers={"Origin": ONE}).status_code == 204
    refused = patterns("POST", RESTART, headers={"Origin": f"{ONE}.evil"})
    assert refused.status_code == 403
    assert "Pages of https://one.example.evil may not send requests" in refused.json()["message"]
    assert "access.control.allow.origin" in refused.json()["message"]


def test_headers_are_on_every_answer(herder: MemoryHerder) -> None:
    http = app(herder, ONE, "", 'add X-A:1, add X-A:2, set X-B:1, set x-b:2, "set X-C:a, b", setDate Expires: 60000')
    before = time.time()
    answers = [http("GET", "/connectors"), http("GET", "/nope"), preflight(http, ONE, "GET")]
    for answer in answers:
        assert answer.headers.get_list("x-a") == ["1", "2"]
        assert (answer.headers.get_list("x-b"), answer.headers["x-c"]) == (["2"], "a, b")
        expires = parsedate_to_datetime(answer.headers["expires"]).timestamp()
        assert before + 59 <= expires <= time.time() + 60


def test_the_application_s_own_headers_count(herder: MemoryHerder) -> None:
    http = app(herder, headers="set Content-Type:text/x, add Content-Type:text/y")
    assert http("GET", "/connectors").headers.get_list("content-type") == ["application/json"]
    assert http("GET", "/nope").headers.get_list("content-type") == ["text/x", "text/y"], "which has none of its own"


@pytest.mark.parametrize("admin", [False, True])
def test_admin_listeners_have_neither(herder: MemoryHerder, admin: bool) -> None:
    http = app(herder, "*", "", "set X-A:1", admin)
    answer = http("GET", "/admin/loggers/root", headers={"Origin": ONE})
    assert answer.status_code == 200
    assert ("x-a" in answer.headers, allowed(answer) == "*") == (not admin, not admin)


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/"), ("GET", "/nope"), ("PUT", "/"), ("GET", "/metrics"), ("GET", "/docs")]
)
def test_no_answer_is_kept_in_a_cache_or_taken_for_something_else(herder: MemoryHerder, method: str, path: str) -> None:
    for http in (app(herder), app(herder, admin=True)):
        answer = http(method, path)
        assert answer.headers.get_list("cache-control") == ["no-store"]
        assert answer.headers.get_list("x-content-type-options") == ["nosniff"]


def test_files_of_the_console_are_asked_for_again_and_not_taken_for_something_else(herder: MemoryHerder) -> None:
    answer = app(herder)("GET", "/console/main.js")
    assert answer.headers.get_list("cache-control") == ["no-cache"]
    assert answer.headers.get_list("x-content-type-options") == ["nosniff"]


def test_the_worker_file_s_headers_count(herder: MemoryHerder) -> None:
    http = app(herder, headers='"set Cache-Control: no-cache, private"')
    assert http("GET", "/").headers.get_list("cache-control") == ["no-cache, private"]
