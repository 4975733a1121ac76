"""Under which names a worker without a login answers browsers."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconnect.rest.app import RestSettings, build, build_admin
from kconnect.rest.authentication import Gate
from kconnect.rest.credentials_file import CredentialsFile
from kconnect.rest.host_names import HostNames

from .conftest import ADVERTISED, Http
from .herder import MemoryHerder
from .test_credentials import BOTH, quick

EVIL = "evil.example"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0"
BROWSERS: dict[str, dict[str, str]] = {
    "user-agent": {"User-Agent": FIREFOX},
    "origin": {"Origin": f"http://{EVIL}"},
    "cookie": {"Cookie": "a=b"},
    "fetch-metadata": {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
    "client-hints": {"Sec-CH-UA-Mobile": "?0"},
    "disguised": {"User-Agent": "curl/8.5.0", "Accept-Language": "en-US,en;q=0.5"},
    "disguised-as-node": {"User-Agent": "node", "Accept-Language": "*"},
}
OTHERS: dict[str, dict[str, str]] = {
    "curl": {"User-Agent": "curl/8.5.0", "Accept": "*/*"},
    "python": {"User-Agent": "python-requests/2.32", "Accept-Encoding": "gzip, deflate"},
    "java": {"User-Agent": "Java/17.0.9", "Accept": "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"},
    "go": {"User-Agent": "Go-http-client/1.1"},
    "worker": {"User-Agent": "kafka-connect", "Accept": "application/json"},
    "node": {"User-Agent": "node", "Accept-Language": "*", "Sec-Fetch-Mode": "cors"},
    "none": {"User-Agent": ""},
}


@pytest.mark.parametrize("sent", BROWSERS.values(), ids=BROWSERS)
def test_a_browser_is_not_served_under_a_foreign_name(http: Http, herder: MemoryHerder, sent: dict[str, str]) -> None:
    for method, path in (("GET", "/"), ("PUT", "/connectors/x/config"), ("GET", "/console"), ("GET", "/nope"), ("DELETE", "/")):
        answer = http(method, path, headers={"Host": f"{EVIL}:8083", **sent}, json={} if method == "PUT" else None)
        assert answer.status_code == 403, (method, path)
        assert "rest.hosts.allowed" in answer.json()["message"]
        assert EVIL in answer.json()["message"]
    assert not herder.seen
    assert http("GET", "/", headers=sent).status_code == 200, "the control: its own name"


@pytest.mark.parametrize("sent", OTHERS.values(), ids=OTHERS)
def test_programs_are_served_under_any_name(http: Http, sent: dict[str, str]) -> None:
    assert http("GET", "/", headers={"Host": "connect.default.svc:8083", **sent}).status_code == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("worker-1:8083", 200),
        ("WORKER-1", 200),
        ("worker-1.:8083", 200),
        ("localhost:8083", 200),
        ("127.0.0.1:1", 200),
        ("10.1.2.3", 200),
        ("[::1]:8083", 200),
        ("::1", 403),
        ("[fe80::1]", 200),
        ("proxy.example", 200),
        ("a.b.corp.example:80", 200),
        ("corp.example", 403),
        ("evilcorp.example", 403),
        ("worker-1.evil.example", 403),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("127.0.0.1:80@evil.example", 403),
        ("evil.example:80:127.0.0.1", 403),
        ("1e100.net", 403),
        ("worker-1, evil.example", 403),
    ],
)
def test_names(herder: MemoryHerder, host: str, status: int) -> None:
    names = HostNames(["worker-1", "proxy.example", "*.corp.example", ""])
    http = Http(build(herder, RestSettings(ADVERTISED, host_names=names)))
    assert http("GET", "/", headers={"User-Agent": FIREFOX, "Host": host}).status_code == status


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"Host": "worker-1", "X-Forwarded-Host": EVIL}, 403),
        ({"Host": "worker-1", "X-Forwarded-Host": f"localhost, {EVIL}"}, 403),
        ({"Host": EVIL, "X-Forwarded-Host": "localhost"}, 403),
        ({"Host": "worker-1", "Forwarded": f'for=10.0.0.1;host="{EVIL}:80", for=10.0.0.2;host=localhost'}, 403),
        ({"Host": EVIL, "Forwarded": "host=localhost"}, 403),
        ({"Host": "worker-1", "X-Forwarded-Host": "localhost"}, 200),
        ({"Host": "worker-1", "Forwarded": "for=10.0.0.1;proto=http"}, 200),
    ],
)
def test_what_proxies_say_refuses_and_never_allows(http: Http, sent: dict[str, str], status: int) -> None:
    assert http("GET", "/", headers={"User-Agent": FIREFOX, **sent}).status_code == status


def test_every_name_may_be_allowed(herder: MemoryHerder) -> None:
    http = Http(build(herder, RestSettings(ADVERTISED, host_names=HostNames(["*"]))))
    assert http("GET", "/", headers={"User-Agent": FIREFOX, "Host": EVIL}).status_code == 200


def test_the_listeners_of_administrators_are_as_careful(herder: MemoryHerder) -> None:
    http = Http(build_admin(herder, RestSettings(ADVERTISED)))
    sent = {"User-Agent": FIREFOX, "Host": EVIL}
    assert http("PUT", "/admin/loggers/x", json={"level": "INFO"}, headers=sent).status_code == 403
    assert http("GET", "/admin/loggers").status_code == 200


def test_probes_are_answered_under_any_name(http: Http) -> None:
    assert http("GET", "/health", headers={"User-Agent": FIREFOX, "Host": EVIL}).status_code == 200


def test_with_a_login_any_name_will_do(herder: MemoryHerder, tmp_path: Path) -> None:
    """A browser has neither a cookie nor a password for a name that is somebody else's."""
    users = tmp_path / "users"
    users.write_text(quick("ann", "admin", "a"))
    gate = Gate(CredentialsFile(str(users), BOTH), BOTH)
    http = Http(build(herder, RestSettings(ADVERTISED, gate=gate)))
    sent = {"User-Agent": FIREFOX, "Host": EVIL}
    assert http("GET", "/connectors", headers=sent).status_code == 401
    assert http("GET", "/connectors", headers=sent, auth=("ann", "a")).status_code == 200


def test_a_refused_change_is_in_the_audit_log(http: Http, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "kconnect.audit")
    http("DELETE", "/connectors/x", headers={"User-Agent": FIREFOX, "Host": EVIL})
    assert 'request="DELETE /connectors/x" connector="x" status=403' in caplog.text
