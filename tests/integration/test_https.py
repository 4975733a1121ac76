"""A real worker with a Java keystore: https with client certificates beside http, and admin listeners of its own."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from kconnect.local.broker import Broker, free_port
from kconnect.testing.processes import WorkerProcess
from kconnect.tls import contexts
from kconnect.tls.settings import Settings

from ..conftest import QUICK
from ..tls.authority import KEY_PASSWORD, STORE_PASSWORD, Authority, java_key_store, java_trust_store, key_store, write


def test_a_worker_over_https(broker: Broker, tmp_path: Path) -> None:
    authority = Authority("Test CA")
    own, client = authority.issue("srv"), authority.issue("client", "client.test")
    ca = write(tmp_path / "ca.pem", authority.root.pem)
    port, secure, admin = free_port(), free_port(), free_port()
    prefix = "listeners.https.ssl."
    worker = WorkerProcess(
        tmp_path / "worker",
        broker.bootstrap_servers,
        "https",
        port,
        {
            **QUICK,
            "listeners": f"http://127.0.0.1:{port},https://127.0.0.1:{secure}",
            "rest.advertised.listener": "https",
            "admin.listeners": f"http://127.0.0.1:{admin}",
            prefix + "keystore.location": java_key_store(tmp_path / "srv.jks", key_store(tmp_path / "srv.p12", own)),
            prefix + "keystore.password": STORE_PASSWORD,
            prefix + "key.password": KEY_PASSWORD,
            prefix + "truststore.location": java_trust_store(tmp_path / "trust.jks", "JKS", ca),
            prefix + "truststore.password": STORE_PASSWORD,
            prefix + "client.auth": "required",
        },
    )
    trusts = {"ssl.truststore.location": ca}
    known = {**trusts, "ssl.keystore.key": client.key_pem, "ssl.keystore.certificate.chain": client.pem}
    url = f"https://127.0.0.1:{secure}"
    try:
        worker.start()
        with httpx.Client(verify=contexts.client(Settings(known)), timeout=60) as http:
            body = {"name": "x", "config": {"connector.class": "FileStreamSource", "topic": "t", "file": str(tmp_path / "in")}}
            made = http.post(f"{url}/connectors", json={**body, "initial_state": "STOPPED"})
            assert (made.status_code, made.headers["location"]) == (201, f"{url}/connectors/x")
            assert http.get(f"{url}/cluster").json()["answered_by"] == f"127.0.0.1:{secure}"
            assert http.get(f"{url}/admin/loggers").status_code == 404
            assert http.get(f"http://127.0.0.1:{admin}/admin/loggers").status_code == 200
        assert worker.client.connectors() == ["x"], "by http as well"
        with httpx.Client(verify=contexts.client(Settings(trusts))) as stranger, pytest.raises(httpx.HTTPError):
            stranger.get(f"{url}/connectors")
        assert worker.stop(150) == 0
    finally:
        worker.stop()
    written = worker.log.read_text()
    assert not [secret for secret in (STORE_PASSWORD, KEY_PASSWORD, "PRIVATE KEY") if secret in written]
