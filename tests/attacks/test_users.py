"""Attacks by users who were removed from `rest.authentication.file`, against a real HTTP server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from kconnect.core.settings.worker import WorkerSettings
from kconnect.processes.levels import PythonLoggers
from kconnect.worker.rest import Rest
from tests.rest.herder import MemoryHerder
from tests.rest.test_credentials import quick
from tests.support import wait_until
from tests.worker.test_access import MINIMAL

ANN, EVE = quick("ann", "admin", "a"), quick("eve", "admin", "e")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the file more often than each second: `tests/rest/test_credentials_file.py` tests the real times."""
    monkeypatch.setattr("kconnect.rest.credentials_file._CHECK_S", 0.1)
    monkeypatch.setattr("kconnect.rest.credentials_file._AWAY_S", 0.5)


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users"
    path.write_text(ANN + EVE)
    path.chmod(0o600)
    return path


@pytest.fixture
def url(users: Path) -> Iterator[str]:
    texts = {**MINIMAL, "listeners": "http://127.0.0.1:0", "rest.authentication.file": str(users)}
    rest = Rest(WorkerSettings.from_properties(texts, {}))
    rest.open()
    rest.start(MemoryHerder(), PythonLoggers())
    yield f"http://127.0.0.1:{rest.port}"
    rest.stop()


@pytest.fixture
def eve(url: str) -> Iterator[Callable[[], set[int]]]:
    """Ask with Eve's password and with her browser's cookie; return the statuses of the answers."""
    login = {"user": "eve", "password": "e"}
    with httpx.Client(base_url=url, timeout=60) as client, httpx.Client(base_url=url, timeout=60) as browser:
        assert browser.post("/console/login", json=login, headers={"Origin": url}).status_code == 204

        def ask() -> set[int]:
            own = client.get("/connectors", auth=("eve", "e")).status_code
            return {own, browser.get("/connectors").status_code}

        assert ask() == {200}, "the control: Eve may come in as long as the file names her"
        yield ask


def archive_mapping(path: Path, text: str) -> None:
    """Write the file so that its size, its times and its inode stay."""
    before = path.stat()
    with open(path, "r+b") as file:
        file.write(text.encode().ljust(before.st_size, b"\n"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("", 401),
        ("# nobody\n", 401),
        (ANN, 200),
        (ANN + "bob:admin:no-hash\n", 200),
        ("\udcff\udcfe\n" + ANN, 200),
        (ANN + EVE.replace(":admin:", ":admn:"), 200),
        (ANN + EVE + EVE, 200),
    ],
    ids=["emptied", "comment", "removed", "another-line-broken", "not-utf-8", "own-line-broken", "twice"],
)
def test_a_removed_user_is_out(url: str, users: Path, eve: Callable[[], set[int]], text: str, others: int) -> None:
    """A removed administrator with a password and a cookie asks again, and must get 401, whatever the file looks like."""
    users.write_bytes(text.encode("utf-8", "surrogateescape"))
    wait_until(lambda: eve() == {401})
    assert httpx.get(f"{url}/connectors", auth=("ann", "a"), timeout=60).status_code == others
    message = httpx.get(f"{url}/health", timeout=60).json()["message"]
    assert ("Nobody can log in" in message) is (others == 401)


@pytest.mark.parametrize("text", [ANN, "# nobody\n"], ids=["removed", "comment"])
def test_an_edit_that_keeps_size_and_times_counts(users: Path, eve: Callable[[], set[int]], text: str) -> None:
    """A removed administrator whose removal kept the file's size and times asks again, and must get 401."""
    archive_mapping(users, text)
    wait_until(lambda: eve() == {401})


def test_a_deleted_file_locks_everybody_out(
    url: str, users: Path, eve: Callable[[], set[int]], caplog: pytest.LogCaptureFixture
) -> None:
    """An administrator whose file was deleted asks again, and must get 401 after some seconds; `/health` says why."""
    users.unlink()
    wait_until(lambda: eve() == {401})
    health = httpx.get(f"{url}/health", timeout=60)
    assert (health.status_code, health.json()["status"]) == (200, "healthy")
    assert "Nobody can log in: the file in rest.authentication.file can't be read" in health.json()["message"]
    assert "Nobody can log in to REST" in caplog.text
    users.write_text(ANN)
    wait_until(lambda: httpx.get(f"{url}/connectors", auth=("ann", "a"), timeout=60).status_code == 200)
    assert eve() == {401}


HIDDEN = ["# \u2028", "# \x85", "# \x0b", "# \x0c", "# \x1c", " # ", "\t#"]


@pytest.mark.parametrize("before", HIDDEN)
def test_what_is_commented_out_stays_out(users: Path, eve: Callable[[], set[int]], before: str) -> None:
    """Eve's line is commented out, with an unseen letter that some take for the end of a line; she must be out."""
    users.write_text(ANN + before + EVE, "utf-8")
    wait_until(lambda: eve() == {401})


@pytest.mark.parametrize("line", ["eve\t:admin:x", " eve :admin:x", "eve\r:admin:x"])
def test_a_broken_line_names_its_user_with_blanks_too(users: Path, eve: Callable[[], set[int]], line: str) -> None:
    """Eve's line is broken by a blank, and an older one is left; she must be out."""
    users.write_text(ANN + EVE + line + "\n")
    wait_until(lambda: eve() == {401})
