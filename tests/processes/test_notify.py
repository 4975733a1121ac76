"""What systemd is told of a process that it has started."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kconnect.processes.notify import Manager


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(str(tmp_path / "notify"))
        channel.settimeout(10)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield channel


def test_news_are_told_once(systemd: socket.socket) -> None:
    manager = Manager()
    assert manager.is_there
    for news in ({"STATUS": "waits"}, {"STATUS": "waits"}, {"READY": "1", "STATUS": ""}):
        manager.tell(**news)
    assert [systemd.recv(1000) for _ in range(2)] == [b"STATUS=waits", b"READY=1\nSTATUS="]
    systemd.setblocking(False)
    with pytest.raises(BlockingIOError):
        systemd.recv(1000)


def test_children_do_not_speak_for_the_process(systemd: socket.socket) -> None:
    Manager()
    assert "NOTIFY_SOCKET" not in os.environ


def test_a_socket_may_be_in_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(f"\0kconnect-{os.getpid()}")
        channel.settimeout(10)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@kconnect-{os.getpid()}")
        Manager().tell(READY="1")
        assert channel.recv(1000) == b"READY=1"


def test_without_a_manager_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    manager = Manager()
    assert not manager.is_there
    manager.tell(READY="1")


def test_a_manager_that_is_gone_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    Manager().tell(READY="1")
    assert "can't be told 'READY=1'" in caplog.text
