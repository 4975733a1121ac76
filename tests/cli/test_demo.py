"""What `kconnect demo` says around the data that it moves; that it moves them is for `scripts/demo --once`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from kconnect.cli.machine import demo
from kconnect.cli.main import cli
from tests.cli import examples
from tests.cli.calls import call


@pytest.mark.parametrize("command", [*demo._NEXT, *(f"{each} --url http://x:1" for each in demo._MEANWHILE)])
def test_what_it_says_to_try_can_be_typed(command: str) -> None:
    examples.check(cli, shlex.split(command)[1:])


def test_kconnect_is_named_by_its_place_where_no_path_leads_to_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv/bin/python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert demo.typed("kconnect help") == ".venv/bin/kconnect help"


def test_once_needs_a_file() -> None:
    called = call("demo", "--once")
    assert called.status == 2 and "--once needs --file, the file to move" in called.err


def test_the_last_whole_records_are_shown_and_write_nothing_to_the_terminal_s_own(tmp_path: Path) -> None:
    target = tmp_path / "sink.txt"
    assert demo._newest(target) == []
    target.write_bytes(b"x" * 10_000 + b"\n" + b"".join(b"%d\n" % number for number in range(8)) + b"begun")
    found = demo._newest(target)
    assert found == [b"3", b"4", b"5", b"6", b"7"]
    assert demo._records([b"\x1b[2Ja", b"\xff"]).plain == "  \\x1b[2Ja\n  \ufffd"
