"""The servers of one worker, from its file: regular and admin listeners, each with TLS of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest

from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConfigError, ConnectError
from kconnect.local.broker import free_port
from kconnect.processes.levels import PythonLoggers
from kconnect.tls import contexts
from kconnect.tls.settings import Settings
from kconnect.worker.rest import Rest

from ..core.settings.test_browsers import MINIMAL
from ..rest.herder import MemoryHerder
from ..tls.authority import Authority

MAIN, ADMIN = Authority("Main CA"), Authority("Admin CA")


def stores(of: Authority, prefix: str) -> dict[str, str]:
    own = of.issue("srv")
    texts = {"keystore.key": own.key_pem, "keystore.certificate.chain": own.pem, "truststore.certificates": of.root.pem}
    return {f"{prefix}ssl.{name}": text for name, text in texts.items()}


@pytest.fixture
def start() -> Iterator[Callable[..., Rest]]:
    started: list[Rest] = []

    def start(**properties: str) -> Rest:
        given = {name.replace("_", "."): text for name, text in properties.items()}
        rest = Rest(WorkerSettings.from_properties({**MINIMAL, **given}, {}))
        started.append(rest)
        rest.open()
        rest.start(MemoryHerder(), PythonLoggers())
        return rest

    yield start
    for rest in started:
        rest.stop()


def status(url: str, trusts: Authority = MAIN) -> int:
    verify = contexts.client(Settings({"ssl.truststore.certificates": trusts.root.pem}))
    return httpx.get(url, verify=verify, timeout=60).status_code


def test_admin_on_the_regular_listeners(start: Callable[..., Rest]) -> None:
    main = f"http://127.0.0.1:{free_port()}"
    start(listeners=main)
    assert (status(f"{main}/"), status(f"{main}/admin/loggers")) == (200, 200)


def test_no_admin_at_all(start: Callable[..., Rest]) -> None:
    main = f"http://127.0.0.1:{free_port()}"
    start(listeners=main, admin_listeners="")
    assert (status(f"{main}/"), status(f"{main}/admin/loggers")) == (200, 404)


def test_admin_on_listeners_of_its_own(start: Callable[..., Rest]) -> None:
    main, admin = f"https://127.0.0.1:{free_port()}", f"https://127.0.0.1:{free_port()}"
    own = {**stores(MAIN, ""), **stores(ADMIN, "admin.listeners.https.")}
    start(listeners=main, admin_listeners=admin, **own)
    assert (status(f"{main}/"), status(f"{main}/admin/loggers")) == (200, 404)
    assert (status(f"{admin}/connectors", ADMIN), status(f"{admin}/admin/loggers", ADMIN)) == (404, 200)
    with pytest.raises(httpx.ConnectError):
        status(f"{admin}/admin/loggers", MAIN)


def test_a_taken_admin_port_is_told_by_its_setting(start: Callable[..., Rest]) -> None:
    admin = free_port()
    start(listeners=f"http://127.0.0.1:{admin}")
    with pytest.raises(ConnectError, match=rf"Port {admin} is in use .* 'admin.listeners' a free port"):
        start(listeners=f"http://127.0.0.1:{free_port()}", admin_listeners=f"http://127.0.0.1:{admin}")


def test_https_without_a_keystore_is_refused(start: Callable[..., Rest]) -> None:
    with pytest.raises(ConfigError, match=r"admin\.listeners\.https\.ssl\.keystore\.location: An https listener needs"):
        start(
            listeners=f"http://127.0.0.1:{free_port()}",
            admin_listeners=f"https://127.0.0.1:{free_port()}",
            **{"admin.listeners.https.ssl.client.auth": "none"},
        )


def test_settings_for_kafka_alone_are_not_read(start: Callable[..., Rest]) -> None:
    main = f"http://127.0.0.1:{free_port()}"
    start(listeners=main, **{"ssl.truststore.location": "/nowhere", "ssl.keystore.type": "X"})
    assert status(f"{main}/") == 200
