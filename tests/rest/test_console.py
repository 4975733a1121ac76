"""The console's files and its logins: what a browser is given, and what it may do with a cookie."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from kconnect.rest import console
from kconnect.rest.app import RestSettings, build
from kconnect.rest.authentication import CONSOLE, Gate
from kconnect.rest.client import basic
from kconnect.rest.credentials import token_line
from kconnect.rest.credentials_file import CredentialsFile
from kconnect.rest.sessions import LIFETIME_S, Sessions
from tests.rig import console_examples

from .conftest import ADVERTISED, FILE_SOURCE, Http
from .herder import MemoryHerder
from .test_credentials import quick

ANN, EVE, TOKEN = "ann-canary-5b1f", "eve-canary-09de", "kc_canary_token_41aa"
COOKIE = "kconnect_session_8083"
OWN = {"Origin": "http://worker-1:8083"}
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
JAVA = "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"


@pytest.fixture
def guarded(herder: MemoryHerder, tmp_path: Path) -> Http:
    path = tmp_path / "users"
    path.write_text(quick("ann", "admin", ANN) + quick("eve", "read", EVE) + token_line("ci", "operate", TOKEN) + "\n")
    path.chmod(0o600)
    methods = ("basic", "token")
    return Http(build(herder, RestSettings(ADVERTISED, gate=Gate(CredentialsFile(str(path), methods), methods))))


def log_in(http: Http, **credentials: str) -> httpx.Response:
    return http("POST", "/console/login", json=credentials, headers=OWN)


def cookie(http: Http, **credentials: str) -> dict[str, str]:
    response = log_in(http, **credentials)
    assert response.status_code == 204
    return {"Cookie": f"{COOKIE}={response.cookies[COOKIE]}"}


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_browser_that_comes_to_the_worker_gets_the_console(http: Http) -> None:
    found = http("GET", "/", headers={"Accept": BROWSER})
    assert (found.status_code, found.headers["location"]) == (303, "console")
    page = http("GET", "/console", headers={"Accept": BROWSER})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"] == console.POLICY
    assert http("GET", "/console/").headers["location"] == "../console"


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", JAVA])
def test_everybody_else_gets_what_connect_says(http: Http, accept: str | None) -> None:
    found = http("GET", "/", headers={} if accept is None else {"Accept": accept})
    assert found.json().keys() == {"version", "commit", "kafka_cluster_id"}


def test_all_that_the_page_names_is_there_and_nothing_is_loaded_from_elsewhere(http: Http) -> None:
    named, seen = {"index.html"}, set[str]()
    while named - seen:
        name = (named - seen).pop()
        seen.add(name)
        # Imports for types stand in comments.
        text = re.sub(r"/\*\*.*?\*/", "", http("GET", f"/console/{name}").text, flags=re.S)
        named |= set(re.findall(r'(?:href|src)="console/([^"]+)"', text)) | set(
            re.findall(r'(?:from |import\()"\./([^"]+)"', text)
        )
        assert not re.findall(r"(?:href|src|url\()\W*(?:https?:)?//", text)
    assert seen == console.files().keys()


def test_its_examples_are_those_of_the_documentation() -> None:
    assert console_examples.FILE.read_text() == console_examples.text()


def test_it_is_light(http: Http) -> None:
    weight = sum(len(file.packed) for file in console.files().values())
    assert weight < 500 * 1024


@pytest.mark.parametrize("name", sorted(console.files()))
def test_a_file_is_sent_packed_and_only_when_it_is_new(http: Http, name: str) -> None:
    plain = http("GET", f"/console/{name}", headers={"Accept-Encoding": "identity"})
    packed = http("GET", f"/console/{name}", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert plain.content == packed.content == gzip.decompress(console.files()[name].packed)
    known = http("GET", f"/console/{name}", headers={"If-None-Match": plain.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")


@pytest.mark.parametrize(
    "name", ["nope.js", "__init__.py", "jsconfig.json", "uplot.d.ts", "uplot.LICENSE", "..%2fapp.py", "%2e%2e"]
)
def test_nothing_else_is_given(http: Http, name: str) -> None:
    assert http("GET", f"/console/{name}").status_code == 404


def test_without_a_console(herder: MemoryHerder) -> None:
    http = Http(build(herder, RestSettings(ADVERTISED, console=False)))
    assert http("GET", "/", headers={"Accept": BROWSER}).json()["version"]
    assert http("GET", "/console").status_code == http("GET", "/console/main.js").status_code == 404


# -- logins -----------------------------------------------------------------------------------------------------------


def test_where_no_login_is_needed(http: Http) -> None:
    assert http("GET", "/console/login").json() == {"needed": False, "methods": [], "user": None, "role": "admin"}
    assert log_in(http, user="x", password="y").status_code == 204


def test_a_login_is_in_a_cookie_that_no_script_reads(guarded: Http) -> None:
    assert guarded("GET", "/connectors").status_code == 401
    assert guarded("GET", "/console/login").json()["user"] is None
    response = log_in(guarded, user="ann", password=ANN)
    said = response.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/", f"Max-Age={LIFETIME_S}"} <= set(said.split("; "))
    assert "Secure" not in said
    assert ANN not in said
    own = {"Cookie": f"{COOKIE}={response.cookies[COOKIE]}"}
    assert guarded("GET", "/connectors", headers=own).json() == []
    known = {"needed": True, "methods": ["basic", "token"], "user": "ann", "role": "admin"}
    assert guarded("GET", "/console/login", headers=own).json() == known
    gone = guarded("DELETE", "/console/login", headers=own).headers["set-cookie"]
    assert gone.startswith(f'{COOKIE}=""')
    assert "Max-Age=0" in gone


def test_a_copy_of_a_cookie_is_good_for_nothing_once_its_user_has_logged_out(guarded: Http) -> None:
    first, second = (cookie(guarded, user="ann", password=ANN)["Cookie"] for _ in range(2))
    quoted = first.replace("=", '="', 1) + '"'
    assert guarded("DELETE", "/console/login", headers={"Cookie": first}).status_code == 204
    for kept in (first, quoted, f"a=b; {first}", first + "=="):
        assert guarded("GET", "/connectors", headers={"Cookie": kept}).status_code == 401, kept
    assert guarded("GET", "/connectors", headers={"Cookie": second}).status_code == 200
    # What this worker has not made is not remembered.
    assert guarded("DELETE", "/console/login", headers={"Cookie": f"{COOKIE}=x"}).status_code == 204


def test_a_token_is_as_good(guarded: Http) -> None:
    assert guarded("GET", "/console/login", headers=cookie(guarded, token=TOKEN)).json()["user"] == "ci"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"user": "ann", "password": EVE}, 401),
        ({"token": "nope"}, 401),
        ({"user": "nobody", "password": "x"}, 401),
        ({"user": "ann"}, 400),
        ({"user": "ann", "password": ANN, "token": TOKEN}, 400),
        ({"user": ["ann"], "password": ANN}, 400),
        ({"user": "ann", "password": "canary" * 1000}, 400),
        ([], 400),
    ],
)
def test_what_is_no_login_is_refused_and_not_repeated(guarded: Http, body: object, status: int) -> None:
    found = guarded("POST", "/console/login", json=body, headers=OWN)
    assert (found.status_code, "set-cookie" in found.headers) == (status, False)
    assert "canary" not in found.text


def test_the_consoles_requests_do_not_make_its_browser_ask_for_a_password(guarded: Http) -> None:
    assert guarded("GET", "/connectors").headers["www-authenticate"].startswith("Basic")
    found = guarded("GET", "/connectors", headers={CONSOLE: "1"})
    assert (found.status_code, found.headers["www-authenticate"]) == (401, 'Session realm="kconnect"')


def _cut(text: str) -> str:
    return text[:-4] + "AAA="


@pytest.mark.parametrize(
    "change", [_cut, lambda text: "", lambda text: "x" * 5000, lambda text: "é", lambda text: f'"{text[:9]}']
)
def test_a_cookie_that_is_not_ours_is_none(guarded: Http, change: Callable[[str], str]) -> None:
    value = cookie(guarded, user="ann", password=ANN)["Cookie"].removeprefix(f"{COOKIE}=")
    given = {"Cookie": f"{COOKIE}={change(value)}".encode()}
    assert guarded("GET", "/connectors", headers=given).status_code == 401


def test_a_cookie_is_good_for_its_time_and_its_worker(guarded: Http) -> None:
    scope = {
        "type": "http",
        "server": ("worker-1", 8083),
        "headers": [(b"cookie", f"{COOKIE}={Sessions(-1).cookie('Basic x')}".encode())],
    }
    assert Sessions().opened(scope) is scope
    brief = Sessions(-1)
    scope["headers"] = [(b"cookie", f"{COOKIE}={brief.cookie('Basic x')}".encode())]
    assert brief.opened(scope) is scope
    long = Sessions()
    scope["headers"] = [(b"cookie", f"a=b; {COOKIE}={long.cookie('Basic x')}".encode())]
    assert (b"authorization", b"Basic x") in long.opened(scope)["headers"]


def test_who_names_himself_is_not_whom_the_cookie_names(guarded: Http) -> None:
    own = {**cookie(guarded, user="ann", password=ANN), "Authorization": basic("eve", EVE)}
    assert guarded("GET", "/console/login", headers=own).json()["user"] == "eve"


PAGES: list[tuple[dict[str, str], int]] = [
    (OWN, 202),
    ({"Sec-Fetch-Site": "same-origin"}, 202),
    ({}, 403),
    ({"Origin": "http://evil"}, 403),
    ({"Origin": "http://worker-1:9999"}, 403),
    ({"Origin": "null"}, 403),
    ({"Sec-Fetch-Site": "same-site"}, 403),
    ({"Sec-Fetch-Site": "cross-site"}, 403),
    ({"Sec-Fetch-Site": "none"}, 403),
]


@pytest.mark.parametrize(("page", "status"), PAGES)
def test_only_the_workers_own_page_changes_something_by_the_cookie(
    guarded: Http, herder: MemoryHerder, page: dict[str, str], status: int
) -> None:
    guarded("POST", "/connectors", json={"name": "x", "config": FILE_SOURCE}, headers={"Authorization": basic("ann", ANN)})
    own = cookie(guarded, user="ann", password=ANN)
    assert guarded("PUT", "/connectors/x/pause", headers={**own, **page}).status_code == status
    assert herder.targets["x"].value == ("PAUSED" if status == 202 else "STARTED")
    # Whoever says who is calling needs no page.
    named = {"Authorization": basic("ann", ANN), **page}
    assert guarded("PUT", "/connectors/x/pause", headers=named).status_code == 202


@pytest.mark.parametrize("page", [{}, {"Origin": "http://evil"}, {"Sec-Fetch-Site": "cross-site"}])
def test_another_page_can_not_log_its_visitor_in(guarded: Http, page: dict[str, str]) -> None:
    found = guarded("POST", "/console/login", json={"user": "eve", "password": EVE}, headers=page)
    assert (found.status_code, "set-cookie" in found.headers) == (403, False)


def test_a_role_is_what_it_is_with_a_cookie_too(guarded: Http) -> None:
    own = {**cookie(guarded, user="eve", password=EVE), **OWN}
    assert guarded("GET", "/connectors", headers=own).status_code == 200
    assert guarded("PUT", "/connectors/x/pause", headers=own).status_code == 403
    assert guarded("DELETE", "/connectors/x", headers=own).status_code == 403
