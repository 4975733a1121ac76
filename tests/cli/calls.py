"""Calls `kconnect` in this process, as a script would: no terminal, nothing of the environment of who runs the tests."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any
from unittest import mock

from kconnect.cli import main as cli
from kconnect.rest.app import RestSettings, build
from kconnect.rest.server import Server

_OURS = ("KCONNECT_", "KAFKA_CONNECT_", "CONNECT_")


@dataclass(frozen=True)
class Called:
    """How a command ended, and what it said."""

    status: int
    out: str
    err: str


class _Typed(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def call(
    *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None, typed: bool = False, shown: bool = False
) -> Called:
    """
    Not from several threads at once: a process has one standard output. `typed`: standard input says that it is a terminal,
    `shown`: standard output does.
    """
    out, err, given = _text(kind=_kind(shown)), _text(), _text(stdin, _kind(typed))
    with _environment(env or {}), mock.patch.object(sys, "stdin", given), redirect_stdout(out), redirect_stderr(err):
        try:
            cli.main(list(arguments))
        except SystemExit as ended:
            status = int(ended.code or 0)
        else:
            raise AssertionError("a command ends with its exit status")
    return Called(status, _read(out), _read(err))


@contextmanager
def serving(herder: Any, settings: RestSettings | None = None) -> Iterator[str]:
    """The URL at which a herder's REST API answers in the block."""
    server = Server(build(herder, settings or RestSettings("http://worker-1:8083/")), ["http://127.0.0.1:0"])
    server.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.stop()


def complete(words: str, **environment: str) -> list[str]:
    """What comes next in bash, where the last word is the one that is begun."""
    asked = {"_KCONNECT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    called = call(env={**asked, **environment})
    assert called.err == ""
    return [line.partition(",")[2] for line in called.out.splitlines() if line]


@contextmanager
def _environment(given: Mapping[str, str]) -> Iterator[None]:
    # `tests/conftest.py` says where no contexts are.
    own = {name: text for name, text in os.environ.items() if not name.startswith(_OURS) or name == "KCONNECT_CONFIG"}
    with mock.patch.dict(os.environ, {**own, **given}, clear=True):
        yield


def _kind(terminal: bool) -> type[io.TextIOWrapper]:
    return _Typed if terminal else io.TextIOWrapper


def _text(content: str = "", kind: type[io.TextIOWrapper] = io.TextIOWrapper) -> io.TextIOWrapper:
    # With bytes below, as the real ones have: some output is written as bytes.
    return kind(io.BytesIO(content.encode()), encoding="utf-8", newline="\n", write_through=True)


def _read(stream: io.TextIOWrapper) -> str:
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined]
