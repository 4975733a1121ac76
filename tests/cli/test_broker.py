"""`kconnect broker` where none runs; `tests/integration/test_broker.py` starts one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_main import run


def test_status_of_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("broker", "status", "--data-dir", str(tmp_path)) == 3
    assert capsys.readouterr().out == "Not running\n"


def test_stopping_none_is_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("broker", "stop", "--data-dir", str(tmp_path)) == 0
    assert capsys.readouterr().out == "Not running\n"


def test_where_its_data_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kconnect.cli.machine.broker import _default_directory

    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert _default_directory() == Path("/home/me/.local/share/kconnect/broker")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert _default_directory() == Path("/data/kconnect/broker")


def test_no_port(tmp_path: Path) -> None:
    assert run("broker", "start", "--port", "0", "--data-dir", str(tmp_path)) == 2
