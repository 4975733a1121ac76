"""Who may do what: the gate before every path, over the application and over real servers."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.routing import Route

from kconnect.core.settings.browsers import cors
from kconnect.core.state.records import SessionKey
from kconnect.rest import app as rest_app
from kconnect.rest import audit, authentication, loggers, signature, turns
from kconnect.rest.app import RestSettings, build, build_admin
from kconnect.rest.authentication import Gate
from kconnect.rest.client import ConnectClient, RestError, basic, bearer
from kconnect.rest.credentials import token_line
from kconnect.rest.credentials_file import CredentialsFile
from kconnect.rest.operation import Operation, Role
from kconnect.rest.server import Server
from tests.support import wait_until

from .conftest import ADVERTISED, FILE_SOURCE, Http, assert_error
from .herder import MemoryHerder
from .test_credentials import quick
from .test_credentials_file import Clock
from .test_forward import KEY, Follower

ANN, BOB, EVE = "ann-canary-5b1f", "bob-canary-77c0", "eve-canary-09de"
TOKEN = "kc_canary_token_41aa"
BODY = {"name": "x", "config": FILE_SOURCE}
WHO = {
    "ann": {"Authorization": basic("ann", ANN)},
    "bob": {"Authorization": basic("bob", BOB)},
    "eve": {"Authorization": basic("eve", EVE)},
    "ci": {"Authorization": bearer(TOKEN)},
}
ROLE = {"ann": Role.ADMIN, "bob": Role.OPERATE, "eve": Role.READ, "ci": Role.OPERATE}
BOTH = ("basic", "token")


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users"
    path.write_text(quick("ann", "admin", ANN) + quick("bob", "operate", BOB) + quick("eve", "read", EVE))
    with path.open("a") as file:
        file.write(token_line("ci", "operate", TOKEN) + "\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def clock() -> Clock:
    return Clock()


def gate(users: Path, methods: tuple[str, ...] = BOTH, clock: Callable[[], float] = time.monotonic) -> Gate:
    return Gate(CredentialsFile(str(users), methods, clock), methods, clock)


@pytest.fixture
def guarded(herder: MemoryHerder, users: Path, clock: Clock) -> Http:
    return Http(build(herder, RestSettings(ADVERTISED, gate=gate(users, clock=clock))))


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The passwords that were really hashed since."""
    seen: list[bytes] = []
    real = hashlib.scrypt

    def scrypt(password: bytes, **more: Any) -> bytes:
        seen.append(password)
        return real(password, **more)

    monkeypatch.setattr(hashlib, "scrypt", scrypt)
    return seen


def path_of(operation: Operation) -> str:
    path = operation.path
    for name in operation.path_parameters:
        path = path.replace(f"{{{name}}}", "0" if name == "task" else "x")
    return path


ALL = [*rest_app.OPERATIONS, *loggers.OPERATIONS]
CLOSED = [operation for operation in ALL if operation.role is not Role.ANYONE]


# -- what is closed ---------------------------------------------------------------------------------------------------


def test_every_route_is_closed_but_health_and_what_is_signed(guarded: Http) -> None:
    """Also one that somebody adds without thinking of roles."""
    open_to_all = set()
    for route in guarded.app.routes:  # type: ignore[attr-defined]
        assert isinstance(route, Route), route
        path = route.path.replace("{task}", "0").replace("{", "").replace("}", "")
        for method in ("GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "TRACE"):
            if guarded(method, path).status_code != 401:
                open_to_all.add((method, route.path))
    assert open_to_all <= {
        ("GET", "/health"),
        ("HEAD", "/health"),
        *(("GET", path) for path in ("/live", "/ready")),
        *(("HEAD", path) for path in ("/live", "/ready")),
        # Files that are the same for everybody, and the way in.
        *((method, path) for method in ("GET", "HEAD") for path in ("/console", "/console/{file}", "/console/login")),
        ("POST", "/console/login"),
        ("DELETE", "/console/login"),
        ("POST", "/connectors/{connector}/tasks"),
        ("PUT", "/connectors/{connector}/fence"),
    }
    assert ("GET", "/health") in open_to_all


@pytest.mark.parametrize("operation", CLOSED, ids=lambda each: f"{each.method} {each.path}")
def test_each_operation_asks_for_its_role(herder: MemoryHerder, guarded: Http, operation: Operation) -> None:
    refused = guarded(operation.method, path_of(operation))
    assert refused.status_code == 401
    for who, headers in WHO.items():
        response = guarded(operation.method, path_of(operation), headers=headers)
        if ROLE[who] >= operation.role:
            assert response.status_code not in (401, 403), (who, response.text)
        else:
            needed, own = operation.role.name.lower(), ROLE[who].name.lower()
            assert_error(response, 403, f"This request needs the role {needed}; user {who} has the role {own}.")
    if not herder.seen:
        assert (
            operation.path.startswith(("/admin", "/openapi", "/docs", "/metrics", "/kconnect/logs"))
            or operation.role is Role.ADMIN
        )


def test_what_is_refused_reaches_nobody(herder: MemoryHerder, guarded: Http) -> None:
    assert guarded("POST", "/connectors", json=BODY).status_code == 401
    assert guarded("POST", "/connectors", json=BODY, headers=WHO["bob"]).status_code == 403
    assert guarded("DELETE", "/connectors/x", headers=WHO["eve"]).status_code == 403
    assert not herder.seen
    assert guarded("POST", "/connectors", json=BODY, headers=WHO["ann"]).status_code == 201


def test_changing_what_a_connector_is_takes_an_admin() -> None:
    roles = {f"{each.method} {each.path}": each.role for each in ALL}
    for changing in ("POST /connectors", "PUT /connectors/{connector}/config", "DELETE /connectors/{connector}"):
        assert roles[changing] is Role.ADMIN
    # Its plugin code may carry the worker's secrets to wherever the config says.
    assert roles["PUT /connector-plugins/{plugin}/config/validate"] is Role.ADMIN
    # Who may look at configs and states may not look at the records themselves.
    assert roles["GET /kconnect/connectors/{connector}/dead-letters"] is Role.OPERATE
    assert roles["GET /kconnect/logs"] is Role.OPERATE
    assert roles["GET /kconnect/audit"] is Role.ADMIN
    for operation in ALL:
        if operation.method == "GET" and not operation.path.endswith(("/dead-letters", "/audit", "/logs")):
            assert operation.role <= Role.READ
        else:
            assert operation.role != Role.READ


def test_strangers_learn_nothing_of_paths_and_methods(guarded: Http) -> None:
    strangers = [guarded(method, path) for method, path in (("GET", "/nope"), ("PUT", "/connectors"), ("GET", "/connectors/x"))]
    assert {(each.status_code, each.content) for each in strangers} == {(401, strangers[0].content)}
    assert guarded("GET", "/nope", headers=WHO["eve"]).status_code == 404
    assert guarded("PUT", "/connectors", headers=WHO["eve"]).status_code == 405
    assert guarded("OPTIONS", "/connectors").status_code == 401
    assert guarded("OPTIONS", "/connectors", headers=WHO["eve"]).headers["allow"] == "GET,POST,HEAD,OPTIONS"


def test_a_browser_may_ask_what_it_may_ask(guarded: Http) -> None:
    preflight = {"Origin": "https://ui.example", "Access-Control-Request-Method": "PUT"}
    assert guarded("OPTIONS", "/connectors/x/pause", headers=preflight).status_code == 200
    assert guarded("PUT", "/connectors/x/pause", headers=preflight).status_code == 401


def test_a_page_of_an_allowed_origin_may_send_its_user(herder: MemoryHerder, users: Path) -> None:
    allowed = cors("https://ui.example", "GET,PUT")
    http = Http(build(herder, RestSettings(ADVERTISED, gate=gate(users), cors=allowed)))
    origin = {"Origin": "https://ui.example"}
    asked = {"Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "authorization"}
    preflight = http("OPTIONS", "/connectors/x/pause", headers={**origin, **asked})
    assert preflight.status_code == 200
    assert "authorization" in preflight.headers["access-control-allow-headers"].lower()
    refused = http("GET", "/", headers=origin)
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, "https://ui.example")
    assert http("GET", "/", headers={**origin, **WHO["eve"]}).status_code == 200


def test_head_asks_like_get(guarded: Http) -> None:
    stranger = guarded("HEAD", "/connectors")
    assert (stranger.status_code, stranger.content) == (401, b"")
    assert guarded("HEAD", "/connectors", headers=WHO["eve"]).status_code == 200


def test_health_minds_no_credentials(guarded: Http, hashed: list[bytes]) -> None:
    for headers in ({}, WHO["eve"], {"Authorization": basic("eve", "wrong")}):
        assert guarded("GET", "/health", headers=headers).status_code == 200
    assert not hashed


def test_admin_listeners_ask_too(herder: MemoryHerder, users: Path) -> None:
    admin = Http(build_admin(herder, RestSettings(ADVERTISED, gate=gate(users))))
    assert admin("GET", "/admin/loggers").status_code == 401
    assert admin("GET", "/admin/loggers", headers=WHO["eve"]).status_code == 200
    assert admin("PUT", "/admin/loggers/x", json={"level": "INFO"}, headers=WHO["bob"]).status_code == 403
    assert admin("GET", "/nope").status_code == 401


def test_without_a_gate_everybody_may(http: Http) -> None:
    assert http("POST", "/connectors", json=BODY, headers={"Authorization": "Basic nonsense"}).status_code == 201


# -- who it is --------------------------------------------------------------------------------------------------------

BAD = {
    "wrong password": basic("ann", "wrong"),
    "unknown user": basic("nobody", ANN),
    "another's password": basic("ann", BOB),
    "empty password": basic("ann", ""),
    "user of a token": basic("ci", TOKEN),
    "wrong token": bearer("kc_nope"),
    "no token": "Bearer",
    "password as token": bearer(ANN),
    "hash as token": bearer(hashlib.sha256(TOKEN.encode()).hexdigest()),
    "no base64": "Basic %%%",
    "no colon": "Basic YW5u",
    "no UTF-8": "Basic //86//8=",
    "another scheme": "Digest username=ann",
    "nothing": "",
    "the name of workers": basic("(worker)", ""),
}


@pytest.mark.parametrize("authorization", BAD.values(), ids=BAD.keys())
def test_wrong_credentials_all_get_the_same_answer(guarded: Http, authorization: str) -> None:
    response = guarded("GET", "/connectors", headers={"Authorization": authorization})
    text = "The user, password or token is wrong. Send a user name and password (Basic) or a token (Bearer)."
    assert_error(response, 401, text)


@pytest.mark.parametrize(
    ("methods", "challenges"),
    [
        (("basic",), ['Basic realm="kconnect", charset="UTF-8"']),
        (("token",), ['Bearer realm="kconnect"']),
        (BOTH, ['Basic realm="kconnect", charset="UTF-8"', 'Bearer realm="kconnect"']),
    ],
)
def test_the_challenge_names_what_is_on(
    herder: MemoryHerder, users: Path, methods: tuple[str, ...], challenges: list[str]
) -> None:
    http = Http(build(herder, RestSettings(ADVERTISED, gate=gate(users, methods))))
    response = http("GET", "/")
    assert response.headers.get_list("www-authenticate") == challenges
    assert response.json()["message"].startswith("This worker needs a login. Send ")
    assert (http("GET", "/", headers=WHO["ann"]).status_code == 200) == ("basic" in methods)
    assert (http("GET", "/", headers=WHO["ci"]).status_code == 200) == ("token" in methods)


def test_schemes_are_written_in_any_case(guarded: Http) -> None:
    for who in ("ann", "ci"):
        scheme, value = WHO[who]["Authorization"].split(" ")
        assert guarded("GET", "/", headers={"Authorization": f"{scheme.upper()} {value}"}).status_code == 200


def test_a_password_may_hold_anything(herder: MemoryHerder, tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text(quick("ann", "read", "a:ü:€ "))
    http = Http(build(herder, RestSettings(ADVERTISED, gate=gate(path))))
    assert http("GET", "/", headers={"Authorization": basic("ann", "a:ü:€ ")}).status_code == 200
    assert http("GET", "/", headers={"Authorization": basic("ann", "a")}).status_code == 401


def test_unknown_users_take_as_many_hashes_as_known_ones(guarded: Http, hashed: list[bytes]) -> None:
    counts = []
    for name in ("ann", "nobody", "ci"):
        guarded("GET", "/", headers={"Authorization": basic(name, "wrong")})
        counts.append(len(hashed))
        hashed.clear()
    assert counts == [1, 1, 1]


# -- what it costs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("authorization", [WHO["ann"]["Authorization"], basic("ann", "wrong")], ids=["right", "wrong"])
def test_the_same_password_is_hashed_once_a_minute(
    guarded: Http, clock: Clock, hashed: list[bytes], authorization: str
) -> None:
    status = [guarded("GET", "/", headers={"Authorization": authorization}).status_code for _ in range(5)]
    assert len(set(status)) == 1
    assert len(hashed) == 1
    clock.now = 61
    guarded("GET", "/", headers={"Authorization": authorization})
    assert len(hashed) == 2


def test_whoever_is_taken_out_of_the_file_is_out_at_once(guarded: Http, users: Path, clock: Clock) -> None:
    assert guarded("GET", "/", headers=WHO["ann"]).status_code == 200
    assert guarded("GET", "/", headers=WHO["ci"]).status_code == 200
    users.write_text(quick("eve", "operate", EVE))
    clock.now = 1
    assert guarded("GET", "/", headers=WHO["ann"]).status_code == 401
    assert guarded("GET", "/", headers=WHO["ci"]).status_code == 401
    assert guarded("PUT", "/connectors/x/pause", headers=WHO["eve"]).status_code == 404, "the new role counts"


def test_wrong_passwords_never_push_out_right_ones(guarded: Http, hashed: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authentication._Remembered, "_KEPT", 3)
    guarded("GET", "/", headers=WHO["ann"])
    for number in range(5):
        guarded("GET", "/", headers={"Authorization": basic("ann", str(number))})
    hashed.clear()
    assert guarded("GET", "/", headers=WHO["ann"]).status_code == 200
    assert not hashed
    guarded("GET", "/", headers={"Authorization": basic("ann", "0")})
    assert len(hashed) == 1, "of wrong ones the oldest was forgotten"


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Real servers; each gives its URL."""
    started: list[Server] = []

    def start(herder: Any, settings: RestSettings, access_log_file: Path | None = None) -> str:
        server = Server(build(herder, settings), ["http://127.0.0.1:0"], access_log_file)
        started.append(server)
        server.start()
        return f"http://127.0.0.1:{server.port}"

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Whether a wrong password is being hashed, in the one thread for it; and what it waits for."""
    busy, go, real = threading.Event(), threading.Event(), hashlib.scrypt

    def scrypt(password: bytes, **more: Any) -> bytes:
        if password.startswith(b"wrong"):
            busy.set()
            assert go.wait(120)
        return real(password, **more)

    monkeypatch.setattr(hashlib, "scrypt", scrypt)
    monkeypatch.setattr(turns, "_THREADS", 1)
    return busy, go


def test_a_flood_of_wrong_passwords_keeps_nobody_else_waiting(
    serve: Callable[..., str], herder: MemoryHerder, users: Path, monkeypatch: pytest.MonkeyPatch, held: Any
) -> None:
    busy, go = held
    # As if all had the same address and were of the same group of names.
    monkeypatch.setattr(authentication, "_BUCKETS", 1)
    url = serve(herder, RestSettings(ADVERTISED, gate=gate(users)))
    assert httpx.get(url, headers=WHO["ann"], timeout=60).status_code == 200
    assert httpx.get(url, headers={"Authorization": basic("ann", "no")}, timeout=60).status_code == 401

    def attack(number: int) -> int:
        return shared.get(url, headers={"Authorization": basic("ann", f"wrong{number}")}).status_code

    with httpx.Client(timeout=120) as shared, ThreadPoolExecutor(31) as pool:
        flood = [pool.submit(attack, number) for number in range(30)]
        assert busy.wait(60)
        # Neither the event loop nor those who came in before wait for a hash, nor do tokens.
        assert httpx.get(f"{url}/health", timeout=60).status_code == 200
        assert httpx.get(url, headers=WHO["ann"], timeout=60).status_code == 200
        assert httpx.get(url, headers=WHO["ci"], timeout=60).status_code == 200
        wait_until(lambda: sum(each.done() for each in flood) == 27, 60, "they wait")
        too_many = httpx.get(url, headers={"Authorization": basic("ann", "wrong too")}, timeout=60)
        right = pool.submit(httpx.get, url, headers=WHO["eve"], timeout=120)
        go.set()
    # One is hashed and two wait; no more of a name that has failed lately, which no other name waits for.
    assert sorted(each.result() for each in flood) == [401] * 3 + [429] * 27
    assert right.result().status_code == 200
    assert (too_many.status_code, too_many.headers["retry-after"]) == (429, "1")
    assert too_many.json()["message"] == "Too many logins at once from this address. Try again in a moment."


def test_a_flood_of_names_is_refused_rather_than_queued(
    serve: Callable[..., str], herder: MemoryHerder, users: Path, held: Any
) -> None:
    _, go = held
    url = serve(herder, RestSettings(ADVERTISED, gate=gate(users)))

    def attack(number: int) -> int:
        return shared.get(url, headers={"Authorization": basic(f"user{number}", "wrong")}).status_code

    with httpx.Client(timeout=120) as shared, ThreadPoolExecutor(60) as pool:
        flood = [pool.submit(attack, number) for number in range(60)]
        wait_until(lambda: sum(each.done() for each in flood) >= 60 - 17, 60, "they wait")
        go.set()
        assert {each.result() for each in flood} == {401, 429}
    wait_until(lambda: httpx.get(url, headers=WHO["eve"], timeout=60).status_code == 200, 60, "there is no room again")


def test_the_same_login_many_times_at_once_is_hashed_once(
    serve: Callable[..., str], herder: MemoryHerder, users: Path, hashed: list[bytes]
) -> None:
    url = serve(herder, RestSettings(ADVERTISED, gate=gate(users)))
    with httpx.Client(timeout=120) as client, ThreadPoolExecutor(8) as pool:
        status = list(pool.map(lambda _: client.get(url, headers=WHO["eve"]).status_code, range(16)))
    assert status == [200] * 16
    assert len(hashed) == 1


def test_a_refusal_does_not_wait_for_a_large_body(serve: Callable[..., str], herder: MemoryHerder, users: Path) -> None:
    url = serve(herder, RestSettings(ADVERTISED, gate=gate(users)))
    body = b"[" + b" " * 500_000 + b"]"
    for _ in range(3):
        refused = httpx.post(f"{url}/connectors", content=body, headers={"Content-Type": "application/json"}, timeout=60)
        assert (refused.status_code, refused.json()["error_code"]) == (401, 401)


# -- two workers ------------------------------------------------------------------------------------------------------


def test_a_forwarded_request_is_the_same_user_s_at_the_leader(serve: Callable[..., str], users: Path, tmp_path: Path) -> None:
    leader, logs = MemoryHerder(), {name: tmp_path / name for name in ("leader", "follower")}
    files = {name: audit.open_file(str(path)) for name, path in logs.items()}
    leader_url = serve(leader, RestSettings("http://127.0.0.1:0/", gate=gate(users), audit_file=files["leader"]))
    url = serve(Follower(f"{leader_url}/"), RestSettings("http://127.0.0.1:0/", gate=gate(users), audit_file=files["follower"]))
    made = httpx.post(f"{url}/connectors", json=BODY, headers=WHO["ann"], timeout=60)
    assert (made.status_code, list(leader.configs)) == (201, ["x"])
    assert httpx.put(f"{url}/connectors/x/stop", headers=WHO["ci"], timeout=60).status_code == 204
    refused = httpx.delete(f"{url}/connectors/x", headers=WHO["ci"], timeout=60)
    assert refused.status_code == 403, "it does not get as far as the leader"
    follower_lines, leader_lines = (logs[name].read_text().splitlines() for name in ("follower", "leader"))
    here = f'forwarded_to="{leader_url}/"'
    assert [without_time(each) for each in follower_lines] == [
        f'user=ann role=admin from=127.0.0.1 request="POST /connectors" connector="x" status=201 {here}',
        f'user=ci role=operate from=127.0.0.1 request="PUT /connectors/x/stop" connector="x" status=204 {here}',
        'user=ci role=operate from=127.0.0.1 request="DELETE /connectors/x" connector="x" status=403',
    ]
    assert [without_time(each) for each in leader_lines] == [
        'user=ann role=admin from=127.0.0.1 request="POST /connectors?forward=true" connector="x" status=201 forwarded=true',
        'user=ci role=operate from=127.0.0.1 request="PUT /connectors/x/stop?forward=true" connector="x" status=204 '
        "forwarded=true",
    ]


def test_a_leader_that_knows_other_users_says_so(serve: Callable[..., str], users: Path, tmp_path: Path) -> None:
    others = tmp_path / "others"
    others.write_text(quick("zoe", "admin", "z"))
    leader_url = serve(MemoryHerder(), RestSettings("http://127.0.0.1:0/", gate=gate(others)))
    url = serve(Follower(f"{leader_url}/"), RestSettings("http://127.0.0.1:0/", gate=gate(users)))
    refused = httpx.put(f"{url}/connectors/x/stop", headers=WHO["ann"], timeout=60)
    assert refused.status_code == 401
    assert len(refused.headers.get_list("www-authenticate")) == 2


def test_workers_need_no_user_but_their_signature(serve: Callable[..., str], users: Path, tmp_path: Path) -> None:
    log = tmp_path / "audit"
    herder = Follower("http://127.0.0.1:9/", times=0)
    url = serve(herder, RestSettings(ADVERTISED, gate=gate(users), audit_file=audit.open_file(str(log))))
    body, json_type = b"[]", {"Content-Type": "application/json"}
    assert httpx.post(f"{url}/connectors/x/tasks", content=body, headers={**json_type, **WHO["ann"]}).status_code == 400
    request = ("HmacSHA256", "worker-1:8083", "POST", "/connectors/x/tasks", body)
    stranger = signature.sign(SessionKey("b3RoZXI=", "HmacSHA256", 0), *request)
    assert httpx.post(f"{url}/connectors/x/tasks", content=body, headers={**json_type, **stranger}).status_code == 403
    signed = signature.sign(KEY, *request)
    assert httpx.post(f"{url}/connectors/x/tasks", content=body, headers={**json_type, **signed}).status_code == 204
    users_and_statuses = [(each.split()[1], each.rpartition(" ")[2]) for each in log.read_text().splitlines()]
    # Strangers write nothing into it, unless they go as far as to forge.
    assert users_and_statuses == [("user=-", "status=403"), ("user=(worker)", "status=204")]


# -- the client -------------------------------------------------------------------------------------------------------


def test_the_client_says_who_it_is(serve: Callable[..., str], herder: MemoryHerder, users: Path) -> None:
    url = serve(herder, RestSettings(ADVERTISED, gate=gate(users)))
    for who in ("ann", "ci"):
        with ConnectClient(url, authorization=WHO[who]["Authorization"]) as client:
            assert client.connectors() == []
    with ConnectClient(url) as client, pytest.raises(RestError, match="This worker needs a login") as caught:
        client.connectors()
    assert (caught.value.status, caught.value.exit_code) == (401, 8)
    refused = pytest.raises(RestError, match="This request needs the role operate; user eve has the role read")
    with ConnectClient(url, authorization=WHO["eve"]["Authorization"]) as client, refused as caught:
        client.pause("x")
    assert (caught.value.status, caught.value.exit_code) == (403, 8)


# -- what an operator is told -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listener", "open_", "in_clear"),
    [
        ("http://:8083", True, True),
        ("http://0.0.0.0:8083", True, True),
        ("HTTP://worker-1:8083", True, True),
        ("http://10.0.0.1:8083", True, True),
        ("https://:8443", True, False),
        ("http://[::]:8083", True, True),
        ("http://localhost:8083", False, False),
        ("http://127.0.0.1:8083", False, False),
        ("http://127.9.9.9:8083", False, False),
        ("http://[::1]:8083", False, False),
    ],
)
def test_listeners_that_others_reach_are_warned_of(listener: str, open_: bool, in_clear: bool) -> None:
    off = authentication.warnings([listener, "http://127.0.0.1:0"], authentication=False)
    on = authentication.warnings([listener, "http://127.0.0.1:0"], authentication=True)
    assert (len(off), len(on)) == (open_, in_clear)
    assert all(listener in text and "rest.authentication.file" in text for text in off)
    assert all(listener in text and "unencrypted" in text for text in on)


# -- no secret in any text --------------------------------------------------------------------------------------------


def test_no_password_and_no_token_is_written_anywhere(
    serve: Callable[..., str],
    herder: MemoryHerder,
    users: Path,
    clock: Clock,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    # The client is this test's own, and logs what it sends.
    for chatty in ("httpx", "httpcore"):
        caplog.set_level(logging.CRITICAL, chatty)
    caplog.set_level(logging.DEBUG)
    audit_log, access_log = tmp_path / "audit", tmp_path / "access"
    gated = RestSettings(ADVERTISED, gate=gate(users, clock=clock), audit_file=audit.open_file(str(audit_log)))
    url = serve(herder, gated, access_log)
    secrets = [ANN, BOB, EVE, TOKEN, "wrong-canary-1e9", "name-canary-66b"]
    secrets += [headers["Authorization"].split()[1] for headers in WHO.values()]
    wrong = [{"Authorization": basic(*pair)} for pair in (("ann", "wrong-canary-1e9"), ("name-canary-66b", ""))]
    answers = []
    with httpx.Client(base_url=url) as client:
        for headers in (*WHO.values(), *wrong):
            for method, path in (("GET", "/"), ("POST", "/connectors"), ("PUT", "/connectors/x/stop"), ("GET", "/nope")):
                body = BODY if method == "POST" else None
                answers.append(client.request(method, path, headers=headers, json=body))
        herder.fail_next = RuntimeError("unexpected")
        answers.append(client.put("/connectors/x/stop", headers=WHO["ann"]))
        users.write_text(f"ann:admin:{ANN}")
        clock.now = 2
        answers.append(client.get("/", headers=WHO["ci"]))
    written = "\n".join(
        [
            audit_log.read_text(),
            access_log.read_text(),
            caplog.text,
            *(each.text + str(each.headers) for each in answers),
        ]
    )
    assert "user=ann" in written, "the control: users are written down"
    assert "tried=ann" in written
    assert "line 1: its secret begins neither" in written
    assert "RuntimeError" in written
    assert " - bob [" in access_log.read_text()
    assert [secret for secret in secrets if secret in written] == []


def without_time(line: str) -> str:
    time_text, _, rest = line.partition(" ")
    assert time_text.endswith("Z")
    return rest


def test_the_gate_is_asked_from_several_loops(users: Path) -> None:
    """Listeners may each have a thread with a loop of its own."""
    shared = gate(users)
    apps = [Http(build(MemoryHerder(), RestSettings(ADVERTISED, gate=shared))) for _ in range(2)]
    with ThreadPoolExecutor(4) as pool:
        status = list(pool.map(lambda n: apps[n % 2]("GET", "/", headers=WHO[("ann", "eve")[n % 2]]).status_code, range(12)))
    assert status == [200] * 12
