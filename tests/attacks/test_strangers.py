"""Attacks by strangers and by web pages on a worker with users, over real sockets: what they fill, hold, break and cause."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from kconnect.core.settings.worker import WorkerSettings
from kconnect.processes.levels import PythonLoggers
from kconnect.worker.rest import Rest
from tests.rest.herder import MemoryHerder
from tests.rest.test_credentials import quick
from tests.support import wait_until
from tests.worker.test_access import MINIMAL

pytestmark = pytest.mark.process

MIB = 2**20
SIGNED = "X-Connect-Authorization: AAAA\r\nX-Connect-Request-Signature-Algorithm: HmacSHA256\r\n"
CONFIG = {"connector.class": "FileStreamSource", "topic": "t"}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


@pytest.fixture
def port(tmp_path: Path, log: Path, request: pytest.FixtureRequest) -> Iterator[int]:
    """Serve REST with one user, an administrator, or without users where the test says so."""
    texts = {**MINIMAL, "listeners": "http://127.0.0.1:0", "audit.log.file": str(log)}
    if getattr(request, "param", True):
        users = tmp_path / "users"
        # Notepad begins a file so.
        users.write_text("\ufeff" + quick("ann", "admin", "a"), "utf-8")
        users.chmod(0o600)
        texts["rest.authentication.file"] = str(users)
    rest = Rest(WorkerSettings.from_properties(texts, {}))
    rest.open()
    rest.start(MemoryHerder(), PythonLoggers())
    yield rest.port
    rest.stop()


ANYBODYS: dict[str, tuple[str, str, Any]] = {
    "no login": ("DELETE", "/connectors/x", {}),
    "a wrong password": ("DELETE", "/connectors/x", {"auth": ("ann", "wrong")}),
    "a wrong login": ("POST", "/console/login", {"json": {"token": "wrong"}}),
    "no login at all": ("POST", "/console/login", {"json": {}}),
    "a signature": ("PUT", "/connectors/x/fence", {"headers": dict(line.split(": ") for line in SIGNED.split("\r\n") if line)}),
}


@pytest.mark.parametrize("how", ANYBODYS)
def test_refused_changes_fill_no_disk(port: int, log: Path, how: str) -> None:
    """A stranger sends changes without end; the audit log must say so, and how many there were, in a few lines."""
    method, path, request = ANYBODYS[how]
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        for _ in range(60):
            assert client.request(method, path, **request).status_code >= 400
    lines = log.read_text().splitlines()
    assert 1 <= len(lines) <= 20
    assert all(f'request="{method} {path}"' in line for line in lines)
    done = httpx.delete(f"http://127.0.0.1:{port}/connectors/x", auth=("ann", "a"), timeout=60)
    assert done.status_code == 404
    assert 'user=ann role=admin from=127.0.0.1 request="DELETE /connectors/x"' in log.read_text().splitlines()[-1]


@pytest.mark.parametrize("port", [False], indirect=True)
def test_who_needs_no_login_has_each_line(port: int, log: Path) -> None:
    """The control: where there is no login nobody is a stranger, and each change that fails has its line."""
    for _ in range(15):
        assert httpx.delete(f"http://127.0.0.1:{port}/connectors/x", timeout=60).status_code == 404
    assert len(log.read_text().splitlines()) == 15


@pytest.mark.parametrize(("target", "headers"), [("POST /console/login", ""), ("POST /connectors/x/tasks", SIGNED)])
def test_bodies_of_strangers_keep_no_config_out(port: int, target: str, headers: str) -> None:
    """A stranger holds large bodies that never end; an administrator's config of a megabyte must be read all the same."""
    head = f"{target} HTTP/1.1\r\nHost: x\r\n{headers}Content-Type: application/json\r\nContent-Length: {16 * MIB}\r\n\r\n"
    with ExitStack() as stack:
        held = []
        for number in range(6):
            place = (f"127.0.0.{number + 2}", 0)
            held.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), 60, source_address=place)))
            with suppress(ConnectionError):
                held[-1].sendall(head.encode() + bytes(16 * MIB - 1))
        # Two are refused in any case: by then the others hold what they may.
        wait_until(lambda: len(select.select(held, [], [], 0)[0]) >= 2)
        config = {**CONFIG, "label.large": "x" * 900_000}
        url = f"http://127.0.0.1:{port}/connectors/large/config"
        answer = httpx.put(url, json=config, auth=("ann", "a"), timeout=60)
    assert answer.status_code == 201, answer.text


def test_cookies_of_other_ports_log_nobody_out(port: int) -> None:
    """A program on another port of the host sets cookies of any form and under any name; a session must go on."""
    url = f"http://127.0.0.1:{port}"
    answer = httpx.post(f"{url}/console/login", json={"user": "ann", "password": "a"}, headers={"Origin": url}, timeout=60)
    own = answer.headers["set-cookie"].partition(";")[0]
    name = own.partition("=")[0]
    others = ['a={"b": 1}', "\u00e4=\u00f6", "=", ";;", 'c="unclosed', f"{name}=rubbish", f"{name}=", "d e=f g", f"x{name}=y"]
    for cookie in [own, *(f"{other}; {own}" for other in others), *(f"{own}; {other}" for other in others)]:
        answer = httpx.get(f"{url}/connectors", headers=[(b"Cookie", cookie.encode())], timeout=60)
        assert answer.status_code == 200, cookie
    forged = httpx.get(f"{url}/connectors", headers={"Cookie": own[:-4]}, timeout=60)
    assert forged.status_code == 401


SITES = [
    ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"}, 403),
    ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Dest": "iframe"}, 403),
    ({"Origin": "http://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Sec-Fetch-Site": "same-origin"}, 200),
    ({"Sec-Fetch-Site": "none", "Sec-Fetch-Dest": "document"}, 200),
    ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"}, 200),
    ({}, 200),
]


@pytest.mark.parametrize("port", [False], indirect=True)
@pytest.mark.parametrize(("headers", "status"), SITES)
def test_a_foreign_page_starts_no_processes(port: int, headers: dict[str, str], status: int) -> None:
    """A page of another site has its visitor ask for what takes a process, or shows records; it must be refused."""
    url = f"http://127.0.0.1:{port}/kconnect"
    agent = {"User-Agent": "Mozilla/5.0", **headers}
    assert (httpx.get(f"{url}/topics", headers=agent, timeout=60).status_code == 403) == (status == 403)
    assert (httpx.get(f"{url}/connectors/x/dead-letters", headers=agent, timeout=60).status_code == 403) == (status == 403)
    assert httpx.get(f"http://127.0.0.1:{port}/connectors", headers=agent, timeout=60).status_code == 200


OURS = [
    "localhost",
    "LOCALHOST:1",
    "localhost.",
    "127.0.0.1:8083",
    "[::1]",
    "[::1]:8083",
    "0.0.0.0",
    "10.42.0.7:8083",
    "[::ffff:1.2.3.4]",
]
"""Names that browsers may use: a page of these is of this machine, or of whoever has the address."""
OTHERS = [
    "",
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "2130706433",
    "0177.0.0.1",
    "0x7f.1",
    "localhost,evil",
]
PROGRAMS = [
    "curl/8",
    "python-requests/2",
    "kube-probe/1.30",
    "Prometheus/3",
    "Java/17",
    "Vert.x-WebClient/4",
    "kcctl",
    "Go-http-client/1.1",
]
POWERSHELL = "Mozilla/5.0 (Windows NT 10.0; Microsoft Windows 10.0.19045; en-US) PowerShell/7.4.0"


@pytest.mark.parametrize("port", [False], indirect=True)
def test_spellings_of_host(port: int) -> None:
    """A page whose name was rebound tries spellings of the host; only names of the worker's and addresses must be served."""
    page = {"User-Agent": "Mozilla/5.0", "Accept-Language": "en"}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        for host in [*OURS, *OTHERS]:
            status = client.get("/connectors", headers={**page, "Host": host}).status_code
            assert status == (200 if host in OURS else 403), host
            disguised = {**page, "Host": host, "User-Agent": POWERSHELL}
            assert client.get("/connectors", headers=disguised).status_code == status, host
        for agent in [*PROGRAMS, POWERSHELL]:
            assert client.get("/connectors", headers={"User-Agent": agent, "Host": "connect.svc:8083"}).status_code == 200, (
                agent
            )


RAW = [
    (b"GET /connectors HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nUser-Agent: Mozilla/5.0\r\n\r\n", 400),
    (b"GET http://evil.example/connectors HTTP/1.1\r\nHost: localhost\r\nUser-Agent: Mozilla/5.0\r\n\r\n", 403),
    (b"GET http://evil.example@localhost/connectors HTTP/1.1\r\nHost: localhost\r\nUser-Agent: Mozilla/5.0\r\n\r\n", 403),
    (b"GET /connectors HTTP/1.0\r\nUser-Agent: Mozilla/5.0\r\n\r\n", 403),
    (b"GET /connectors HTTP/1.0\r\nUser-Agent: curl/8\r\n\r\n", 200),
    (
        b"GET /connectors HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Host: localhost, evil\r\nUser-Agent: Mozilla/5.0\r\n\r\n",
        403,
    ),
    (b"GET /connectors HTTP/1.1\r\nHost: localhost\r\nForwarded: for=x;host=evil\r\nUser-Agent: Mozilla/5.0\r\n\r\n", 403),
    (b"GET /console/main.js HTTP/1.1\r\nHost: evil\r\nUser-Agent: Mozilla/5.0\r\n\r\n", 403),
    (b"OPTIONS /connectors HTTP/1.1\r\nHost: evil\r\nUser-Agent: Mozilla/5.0\r\n\r\n", 403),
    (b"HEAD /kconnect/topics HTTP/1.1\r\nHost: evil\r\nUser-Agent: Mozilla/5.0\r\n\r\n", 403),
    (b"GET /kconnect/overview?since=x&wait=-1 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    (b"GET /kconnect/overview?since=x&wait=999999999999999999999 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    (b"GET /health HTTP/1.1\r\nHost: evil\r\nUser-Agent: Mozilla/5.0\r\n\r\n", 200),
    (b"GET /connectors HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
    (b"PUT /connectors/a/config HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
]


@pytest.mark.parametrize("port", [False], indirect=True)
@pytest.mark.parametrize(("sent", "status"), RAW)
def test_odd_requests(port: int, sent: bytes, status: int) -> None:
    """A page or a stranger sends what one reader takes for this and another for that; it must be refused, or read one way."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(sent)
        answer = connection.recv(65_536)
    assert int(answer.split()[1]) == status
    if status != 400:
        assert b"no-store" in answer or b"no-cache" in answer
        assert b"nosniff" in answer


PATHS = [
    ("/connectors", 200),
    ("/connectors/", 200),
    ("/connectors%0A", 404),
    ("/admin/loggers%0a", 404),
    ("//connectors", 404),
]


@pytest.mark.parametrize("port", [False], indirect=True)
def test_a_path_has_one_spelling(port: int) -> None:
    """A stranger spells a path that a proxy before the worker keeps to itself in another way; it must be none of its paths."""
    for path, status in [*PATHS, ("/connectors/x/../y", 404), ("/./connectors", 404), ("/%2e/connectors", 404)]:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert int(connection.recv(65_536).split()[1]) == status, path


@pytest.mark.long
@pytest.mark.parametrize("port", [False], indirect=True)
def test_pipelined_requests_keep_nobody_out(port: int) -> None:
    """A stranger sends thousands of requests on one connection, and reads no answer; others must be answered."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.setblocking(False)
        sent = 0
        data = b"PUT /connectors/x/pause HTTP/1.1\r\nHost: x\r\n\r\n" * 2000

        def send() -> bool:
            nonlocal sent
            try:
                sent += connection.send(data)
            except (BlockingIOError, ConnectionError):
                # It is not read any more, or the client was cut off.
                return True
            return sent > 64 * MIB

        wait_until(send)
        assert sent < 64 * MIB, "what is not answered yet is not read for ever"
        assert httpx.get(f"http://127.0.0.1:{port}/health", timeout=60).status_code in (200, 503)
