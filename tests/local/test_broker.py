"""What can be said about a broker without starting one; `tests/integration/test_broker.py` has the rest."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from kconnect.errors import ConnectError
from kconnect.local import broker
from kconnect.local.broker import Broker


def test_a_directory_where_none_was_started(tmp_path: Path) -> None:
    found = Broker(tmp_path / "never")
    assert not found.running()
    found.stop()
    with pytest.raises(ConnectError, match=r"^No broker was started in .*/never$"):
        _ = found.bootstrap_servers
    assert not (tmp_path / "never").exists()


def test_another_process_with_its_number_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "broker.json").write_text(json.dumps({"pid": os.getpid(), "port": 1, "controller": 2, "cluster_id": "x"}))
    found = Broker(tmp_path)
    assert not found.running()
    found.kill()  # Would end this test run.


@pytest.mark.parametrize("text", ["", '{"pid": 1', '{"port": 1}'], ids=["empty", "cut off", "no pid"])
def test_a_broken_state_file_means_not_running(tmp_path: Path, text: str) -> None:
    (tmp_path / "broker.json").write_text(text)
    assert not Broker(tmp_path).running()


def test_a_free_port_is_given_once() -> None:
    ports = [broker.free_port() for _ in range(300)]
    assert len(set(ports)) == 300


def test_free_ports_are_none_that_clients_get() -> None:
    port = broker.free_port()
    assert 15_000 <= port < 32_000
    with socket.socket() as server:
        server.bind(("127.0.0.1", port))
        server.listen()
        with pytest.raises(ConnectError, match=f"^Port {port} is taken by another program: stop it, or choose another port"):
            broker.require_free(port)
    broker.require_free(port)


def test_a_port_taken_on_every_address_is_taken() -> None:
    with socket.socket() as server:
        server.bind(("0.0.0.0", 0))
        server.listen()
        with pytest.raises(ConnectError, match="is taken"):
            broker.require_free(server.getsockname()[1])
