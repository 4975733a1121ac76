"""General rules of the API: paths, methods, media types, limits, the root and health."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

import kconnect
from kconnect.core.herder.requests.worker import Root
from kconnect.errors import ConnectError
from kconnect.rest.app import RestSettings, build, build_admin
from tests.rig.histories.cluster import MemoryCluster

from .conftest import ADVERTISED, FILE_SOURCE, Http, assert_error, assert_framework_error
from .herder import MemoryHerder

JSON = {"content-type": "application/json"}
NOT_FOUND = (404, "HTTP 404 Not Found")
READS = [
    "/",
    "/health",
    "/connectors",
    "/connectors/src",
    "/connectors/src/config",
    "/connectors/src/status",
    "/connectors/src/tasks",
    "/connectors/src/tasks/0/status",
    "/connectors/src/topics",
    "/connectors/src/offsets",
    "/connector-plugins",
    "/connector-plugins/FileStreamSource/config",
    "/admin/loggers",
    "/admin/loggers/root",
]


def test_root(http: Http) -> None:
    response = http("GET", "/")
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json().keys() == {"version", "commit", "kafka_cluster_id"}
    assert response.headers["x-kconnect-version"] == kconnect.__version__


def test_clients_go_by_the_version_of_the_connect_whose_api_this_is() -> None:
    cluster = MemoryCluster()
    cluster.add_worker("worker-1:8083")
    assert cluster.call("worker-1:8083", Root())["version"] == kconnect.CONNECT_VERSION == "4.3.1"


# -- paths and methods ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/nope"),
        ("GET", "/connectors/src/nope"),
        ("GET", "/connectors//status"),
        ("GET", "/connectors/src/tasks-config"),
        ("OPTIONS", "/nope"),
    ],
)
def test_unknown_path(http: Http, method: str, path: str) -> None:
    http.create("src")
    assert_framework_error(http(method, path), *NOT_FOUND)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/connectors/src/tasks/zero/status"),
        ("GET", "/connectors/src/tasks/1.0/status"),
        ("GET", "/connectors/src/tasks/99999999999/status"),
        ("POST", "/connectors/src/tasks/zero/restart"),
        ("POST", "/connectors/src/tasks/%D9%A0/restart"),
    ],
)
def test_a_task_that_is_no_number(http: Http, method: str, path: str) -> None:
    """The path is known here, so Connect's answer has a Content-Type."""
    http.create("src")
    response = http(method, path)
    assert (response.status_code, response.json()["message"]) == NOT_FOUND
    assert response.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/connectors"),
        ("PUT", "/connectors/src"),
        ("GET", "/connectors/src/pause"),
        ("POST", "/connectors/src/pause"),
        ("GET", "/connectors/src/restart"),
        ("HEAD", "/connectors/src/restart"),
        ("POST", "/connector-plugins"),
        ("GET", "/connector-plugins/X/config/validate"),
    ],
)
def test_wrong_method(http: Http, method: str, path: str) -> None:
    response = http(method, path)
    assert response.status_code == 405
    assert method not in response.headers["allow"]
    if method != "HEAD":
        assert_framework_error(response, 405, "HTTP 405 Method Not Allowed")


@pytest.mark.parametrize("path", READS)
def test_head_goes_wherever_get_goes(http: Http, path: str) -> None:
    http.create("src")
    get, head = http("GET", path), http("HEAD", path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == "application/json"
    assert head.headers["content-length"] == str(len(get.content))


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", {"GET", "HEAD", "OPTIONS"}),
        ("/connectors", {"GET", "HEAD", "POST", "OPTIONS"}),
        ("/connectors/any", {"GET", "HEAD", "DELETE", "OPTIONS"}),
        ("/connectors/any/config", {"GET", "HEAD", "PUT", "PATCH", "OPTIONS"}),
        ("/connectors/any/stop", {"PUT", "OPTIONS"}),
    ],
)
def test_options(http: Http, path: str, allowed: set[str]) -> None:
    response = http("OPTIONS", path)
    assert response.status_code == 200
    assert set(response.headers["allow"].split(",")) == allowed
    assert response.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("path", READS[1:])
def test_slash_at_the_end(http: Http, path: str) -> None:
    http.create("src")
    assert http("GET", path + "/").json() == http("GET", path).json()


@pytest.mark.parametrize("path", ["/connectors%2F", "/no%2Fpath", "/connectors%2Fsrc", "/connectors/src%2fstatus/"])
def test_an_encoded_slash_is_none_of_the_path_s_own(http: Http, path: str) -> None:
    http.create("src")
    assert http("GET", path).status_code == 404


@pytest.mark.parametrize(
    ("name", "encoded"),
    [
        ("my src", "my%20src"),
        ("a+b", "a+b"),
        ("50%", "50%25"),
        ("a/b", "a%2Fb"),
        ("/", "%2f"),
        ("a/../b/", "a%2F..%2fb%2F"),
        ("Zürich?", "Z%C3%BCrich%3F"),
    ],
)
def test_names_are_percent_decoded(http: Http, name: str, encoded: str) -> None:
    http.create(name)
    assert http("GET", f"/connectors/{encoded}").json()["name"] == name
    assert http("PUT", f"/connectors/{encoded}/pause").status_code == 202


# -- media types ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/connectors"), ("PUT", "/connectors/src/config"), ("PATCH", "/connectors/src/config")],
)
def test_body_that_is_not_called_json(http: Http, method: str, path: str, content_type: str | None) -> None:
    headers = {} if content_type is None else {"content-type": content_type}
    response = http(method, path, content=b"{}", headers=headers)
    assert_framework_error(response, 415, "HTTP 415 Unsupported Media Type")


@pytest.mark.parametrize("content_type", ["application/json; charset=utf-8", "Application/JSON"])
def test_json_by_other_spellings(http: Http, content_type: str) -> None:
    body = b'{"name":"src","config":{}}'
    assert http("POST", "/connectors", content=body, headers={"content-type": content_type}).status_code == 201


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/json"])
@pytest.mark.parametrize(
    ("method", "action", "status"),
    [("PUT", "pause", 202), ("PUT", "resume", 202), ("PUT", "stop", 204), ("POST", "restart", 204)],
)
def test_no_body_needs_no_type(http: Http, method: str, action: str, status: int, content_type: str | None) -> None:
    http.create("src")
    headers = {} if content_type is None else {"content-type": content_type}
    assert http(method, f"/connectors/src/{action}", headers=headers).status_code == status


@pytest.mark.parametrize("accept", ["text/plain", "text/html, application/xml", "application/json;q=0", "application/*;q=0.0"])
def test_answer_that_is_not_wanted(http: Http, accept: str) -> None:
    assert_framework_error(http("GET", "/connectors", headers={"accept": accept}), 406, "HTTP 406 Not Acceptable")


@pytest.mark.parametrize(
    "accept", ["", "*/*", "application/json", "application/*;q=0.1", "text/html, application/json;q=0.9", "*; q=.2"]
)
def test_answer_that_is_wanted(http: Http, accept: str) -> None:
    assert http("GET", "/connectors", headers={"accept": accept}).json() == []


def test_order_of_framework_checks(http: Http) -> None:
    """Path, method, content type, accept: as in JAX-RS."""
    wrong = {"content": b"x", "headers": {"accept": "text/plain", "content-type": "text/plain"}}
    assert http("PUT", "/nope", **wrong).status_code == 404
    assert http("PUT", "/connectors", **wrong).status_code == 405
    assert http("POST", "/connectors", **wrong).status_code == 415
    assert http("POST", "/connectors", content=b"x", headers={**JSON, "accept": "text/plain"}).status_code == 406


# -- limits and health ------------------------------------------------------------------------------------------------


def test_request_that_takes_too_long_is_cancelled(herder: MemoryHerder) -> None:
    http = Http(build(herder, RestSettings(ADVERTISED, request_timeout=0.02)))
    herder.hold = True
    assert_error(http("GET", "/connectors"), 500, "Request timed out")
    assert [future.cancelled() for future in herder.held] == [True]


def test_request_that_the_herder_drops(herder: MemoryHerder) -> None:
    class Dropping(MemoryHerder):
        def submit(self, request):  # type: ignore[no-untyped-def]
            future = super().submit(request)
            future.cancel()
            return future

    dropping = Dropping()
    dropping.hold = True
    http = Http(build(dropping, RestSettings(ADVERTISED)))
    assert_error(http("GET", "/connectors"), 500, "Request interrupted")


def test_healthy(http: Http) -> None:
    response = http("GET", "/health")
    message = "Worker has completed startup and is ready to handle requests."
    assert (response.status_code, response.json()) == (200, {"status": "healthy", "message": message})


def test_health_while_starting(http: Http, herder: MemoryHerder) -> None:
    herder.starting = True
    response = http("GET", "/health")
    message = "Worker is still starting up."
    assert (response.status_code, response.json()) == (503, {"status": "starting", "message": message})


def test_live_asks_nobody_and_ready_says_what_it_waits_for(http: Http, herder: MemoryHerder) -> None:
    herder.starting = True
    before = len(herder.seen)
    assert (http("GET", "/live").status_code, http("GET", "/live").json()) == (200, {"status": "live"})
    assert len(herder.seen) == before
    message = "Spark and the worker's first task host are not up yet."
    response = http("GET", "/ready")
    assert (response.status_code, response.json()) == (503, {"status": "not ready", "message": message})
    herder.starting = False
    assert (http("GET", "/ready").status_code, http("GET", "/ready").json()) == (200, {"status": "ready"})
    assert http("HEAD", "/ready").status_code == 200


def test_a_worker_whose_herder_does_not_answer_is_not_ready_but_lives(herder: MemoryHerder) -> None:
    http = Http(build(herder, RestSettings(ADVERTISED, health_timeout=0.02)))
    herder.hold = True
    assert (http("GET", "/ready").status_code, http("GET", "/live").status_code) == (503, 200)
    herder.hold = False
    assert http("GET", "/ready").status_code == 200
    # From then on that is for `/health` to tell.
    herder.hold = True
    assert (http("GET", "/ready").status_code, http("GET", "/health").status_code) == (200, 500)


def test_health_has_a_limit_of_its_own(herder: MemoryHerder) -> None:
    http = Http(build(herder, RestSettings(ADVERTISED, health_timeout=0.02)))
    herder.hold = True
    response = http("GET", "/health")
    message = "Worker was unable to handle this request and may be unable to handle other requests."
    assert (response.status_code, response.json()) == (500, {"status": "unhealthy", "message": message})


def test_health_says_that_kafka_is_lost(http: Http, herder: MemoryHerder) -> None:
    herder.fail_next = ConnectError("Kafka has not answered the worker for 20 s.")
    response = http("GET", "/health")
    message = "Worker was unable to handle this request and may be unable to handle other requests."
    message += " Kafka has not answered the worker for 20 s."
    assert (response.status_code, response.json()) == (500, {"status": "unhealthy", "message": message})


def test_what_ails_it_is_logged_once(http: Http, herder: MemoryHerder, caplog: pytest.LogCaptureFixture) -> None:
    for seconds in (6, 7, 8):
        herder.fail_next = ConnectError(f"For {seconds} s 3 tasks not running: host 2 is silent.")
        http("GET", "/health")
    herder.fail_next = ConnectError("For 9 s 3 tasks not running: Kafka is away.")
    http("GET", "/health")
    for _ in range(2):
        http("GET", "/health")
    herder.fail_next = ConnectError("For 6 s 3 tasks not running: Kafka is away.")
    http("GET", "/health")
    lines = [entry.getMessage() for entry in caplog.records if entry.name == "kconnect.rest"]
    assert [line.partition(": ")[2] for line in lines if "unhealthy" in line] == [
        "For 6 s 3 tasks not running: host 2 is silent.",
        "For 9 s 3 tasks not running: Kafka is away.",
        "For 6 s 3 tasks not running: Kafka is away.",
    ]
    http("GET", "/health")


# -- where /admin is served -------------------------------------------------------------------------------------------


def test_admin_can_be_kept_off_the_regular_listeners(herder: MemoryHerder) -> None:
    http = Http(build(herder, RestSettings(ADVERTISED, admin=False)))
    assert_framework_error(http("GET", "/admin/loggers"), *NOT_FOUND)
    assert http("GET", "/connectors").status_code == 200


def test_admin_listeners_serve_nothing_else(herder: MemoryHerder) -> None:
    http = Http(build_admin(herder, RestSettings(ADVERTISED)))
    assert http("GET", "/admin/loggers").status_code == 200
    assert_framework_error(http("GET", "/connectors"), *NOT_FOUND)


def test_location_with_a_port_that_is_not_known_before(herder: MemoryHerder) -> None:
    http = Http(build(herder, RestSettings("http://localhost:0/")))
    response: httpx.Response = http("POST", "/connectors", json={"name": "src", "config": FILE_SOURCE})
    assert response.headers["location"] == "http://localhost:8083/connectors/src"


# -- bodies that are too large ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [[b"[" + b" " * 99 + b"]"], [b" " * 50, b" " * 50, b"{}"]])
def test_body_that_is_too_large(herder: MemoryHerder, parts: list[bytes]) -> None:
    http = Http(build(herder, RestSettings(ADVERTISED, max_body_bytes=100)))
    message = "The request's body is larger than 100 bytes, the most that this worker accepts."
    assert_error(http("PUT", "/connectors/src/config", content=_sent(parts), headers=JSON), 413, message)
    assert herder.seen == []


def test_body_that_just_fits(herder: MemoryHerder) -> None:
    http = Http(build(herder, RestSettings(ADVERTISED, max_body_bytes=100)))
    assert http("PUT", "/connectors/src/config", content=_sent([b"{", b" " * 98, b"}"]), headers=JSON).status_code == 201


async def _sent(parts: list[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
