"""What a worker's settings make of REST, without a cluster behind it: who may come in, and what is written down."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConfigError, ConnectError
from kconnect.local.broker import free_port
from kconnect.processes.levels import PythonLoggers
from kconnect.worker.rest import Rest
from tests.rest.herder import MemoryHerder
from tests.rest.test_credentials import quick

MINIMAL = {
    "bootstrap.servers": "localhost:9092",
    "group.id": "g",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
    "key.converter": "x",
    "value.converter": "x",
}


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users"
    path.write_text(quick("ann", "admin", "a") + quick("eve", "read", "e"))
    path.chmod(0o600)
    return path


@pytest.fixture
def serve() -> Iterator[Callable[..., Rest]]:
    started: list[Rest] = []

    def start(**changed: str) -> Rest:
        texts = {**MINIMAL, **{name.replace("_", "."): value for name, value in changed.items()}}
        started.append(Rest(WorkerSettings.from_properties(texts, {})))
        started[-1].open()
        started[-1].start(MemoryHerder(), PythonLoggers())
        return started[-1]

    yield start
    for rest in started:
        rest.stop()


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_every_listener_asks_and_every_change_is_written_down(
    serve: Callable[..., Rest], users: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    main, admin, log = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}", tmp_path / "audit.log"
    serve(listeners=main, admin_listeners=admin, rest_authentication_file=str(users), audit_log_file=str(log))
    assert httpx.get(f"{main}/", timeout=60).status_code == 401
    assert httpx.get(f"{main}/", auth=("eve", "e"), timeout=60).status_code == 200
    assert httpx.put(f"{main}/connectors/x/pause", auth=("eve", "e"), timeout=60).status_code == 403
    assert httpx.get(f"{admin}/admin/loggers", timeout=60).status_code == 401
    assert httpx.put(f"{admin}/admin/loggers/x.y", json={"level": "INFO"}, auth=("ann", "a"), timeout=60).status_code == 200
    first, second = log.read_text().splitlines()
    assert first.endswith('user=eve role=read from=127.0.0.1 request="PUT /connectors/x/pause" connector="x" status=403')
    assert second.endswith('user=ann role=admin from=127.0.0.1 request="PUT /admin/loggers/x.y" connector=- status=200')
    assert warned(caplog) == []


def test_it_is_off_by_default_with_a_warning_where_others_reach_it(
    serve: Callable[..., Rest], caplog: pytest.LogCaptureFixture
) -> None:
    port, admin = free_port(), free_port()
    serve(listeners=f"http://127.0.0.1:{port}", admin_listeners=f"http://0.0.0.0:{admin}")
    assert httpx.get(f"http://127.0.0.1:{port}/", timeout=60).status_code == 200
    [said] = warned(caplog)
    assert said.startswith(f"http://0.0.0.0:{admin} can be reached from other machines without a login")


def test_the_methods_are_the_setting_s(serve: Callable[..., Rest], users: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(ConfigError, match=r"rest\.authentication\.file: .* no line for token"):
        serve(listeners=url, rest_authentication_file=str(users), rest_authentication_methods="token")
    serve(listeners=url, rest_authentication_file=str(users), rest_authentication_methods="basic")
    assert httpx.get(url, timeout=60).headers.get_list("www-authenticate") == ['Basic realm="kconnect", charset="UTF-8"']


def test_a_worker_without_its_files_does_not_start(serve: Callable[..., Rest], tmp_path: Path) -> None:
    url, missing = f"http://127.0.0.1:{free_port()}", str(tmp_path / "missing" / "file")
    with pytest.raises(ConfigError, match=r"configuration rest\.authentication\.file: This file can't be used"):
        serve(listeners=url, rest_authentication_file=missing)
    with pytest.raises(ConnectError, match=r"'audit\.log\.file'"):
        serve(listeners=url, audit_log_file=missing)


def test_browsers_are_served_under_the_worker_s_own_names_and_those_of_the_setting(serve: Callable[..., Rest]) -> None:
    rest = serve(
        listeners="http://127.0.0.1:0", rest_advertised_host_name="advertised.example", rest_hosts_allowed="proxy.example"
    )
    names = {"advertised.example": 200, "proxy.example": 200, socket.gethostname(): 200, "localhost": 200, "other.example": 403}
    for name, status in names.items():
        headers = {"User-Agent": "Mozilla/5.0", "Host": f"{name}:8083"}
        assert httpx.get(f"http://127.0.0.1:{rest.port}/", headers=headers, timeout=60).status_code == status, name
