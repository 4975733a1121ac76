"""Failed logins of reads: they are in the audit log, and nobody can fill a disk with them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from kconnect.rest import audit
from kconnect.rest.app import RestSettings, build
from kconnect.rest.authentication import Gate
from kconnect.rest.credentials_file import CredentialsFile
from kconnect.rest.failed_logins import FailedLogins
from kconnect.rest.server import Server
from tests.support import wait_until

from .conftest import ADVERTISED
from .herder import MemoryHerder
from .test_credentials import BOTH, quick


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


@pytest.fixture
def url(herder: MemoryHerder, tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr("kconnect.rest.audit.FailedLogins", partial(FailedLogins, 2.0))
    users = tmp_path / "users"
    users.write_text(quick("ann", "admin", "a"))
    users.chmod(0o600)
    gate = Gate(CredentialsFile(str(users), BOTH), BOTH)
    settings = RestSettings(ADVERTISED, gate=gate, audit_file=audit.open_file(str(log)))
    server = Server(build(herder, settings), ["http://127.0.0.1:0"])
    server.start()
    yield f"http://127.0.0.1:{server.port}"
    server.stop()


def test_a_wrong_password_of_a_read_is_written_down_with_how_often(url: str, log: Path) -> None:
    with httpx.Client(base_url=url, timeout=60) as client:
        client.get("/connectors")
        assert log.read_text() == "", "who tries nothing fails at nothing"
        for _ in range(50):
            assert client.get("/connectors", auth=("ann", "wrong-canary")).status_code == 401

    def told() -> int:
        """How many failures the lines tell of: on a slow machine they are in several windows."""
        repeated = [int(line.partition("repeated=")[2] or 0) for line in log.read_text().splitlines()]
        return len(repeated) + sum(repeated) - sum(map(bool, repeated))

    wait_until(lambda: told() == 50)
    lines = log.read_text().splitlines()
    assert 'request="GET /connectors" connector=- status=401 tried=ann' in lines[0]
    assert len(lines) < 50
    assert "wrong-canary" not in log.read_text()


def test_a_token_and_an_unknown_user_are_tried_too(url: str, log: Path) -> None:
    httpx.get(f"{url}/nope", headers={"Authorization": "Bearer canary"}, timeout=60)
    assert 'request="GET /nope" connector=- status=401' in log.read_text()
    assert "canary" not in log.read_text()
    assert "tried=" not in log.read_text()


def test_a_change_has_its_own_line_as_before(url: str, log: Path) -> None:
    for _ in range(3):
        httpx.delete(f"{url}/connectors/x", auth=("ann", "wrong"), timeout=60)
    assert len(log.read_text().splitlines()) == 3


def test_however_many_addresses_there_are_lines_are_few() -> None:
    lines: list[int] = []

    async def run() -> None:
        failed = FailedLogins(window_s=0.2)
        for number in range(10_000):
            failed.failed("-", f"2001:db8::{number:x}", lines.append)
        assert len(lines) == 101
        while failed._windows:
            await asyncio.sleep(0.01)

    asyncio.run(run())
    assert lines[-1] == 10_000 - 101
    assert len(lines) == 102
