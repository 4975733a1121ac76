"""
What plugin code may do wrong, each as one function, and the journal that says where and when it was done.

Everything that would have no end has one here, for the machine's sake: who is not stopped before shows up in the table.
"""

from __future__ import annotations

import builtins
import ctypes
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import meddling

_HOME = Path(__file__).parent / "home"
_LOCK = threading.Lock()

_HOG_BYTES = 1 << 30
_HOG_STEP = 16 << 20
_THREADS = 2_000
_LINES = 100_000
_GIL_S = 150

_kept: list[bytearray] = []
"""What the memory hog has taken."""
true_open = builtins.open


def strike(place: str, kind: str, given: Sequence[Any] = (), context: Any = None) -> None:
    """
    Do what `kind` says, after it was noted, within a call that was given this, with the plugin's context. It may be called
    again and again, and from any thread.
    """
    _note(place, kind)
    KINDS[kind](*((given, context) if kind in meddling.KINDS else ()))


def _note(place: str, kind: str) -> None:
    """Where and when, with the process's and the thread's number: later it can be asked whether they still live."""
    line = {"place": place, "kind": kind, "pid": os.getpid(), "tid": threading.get_native_id(), "at": time.time()}
    _HOME.mkdir(exist_ok=True)
    with _LOCK, true_open(_HOME / "journal.jsonl", "a", encoding="utf-8") as journal:
        journal.write(json.dumps(line) + "\n")


def _hang() -> None:
    threading.Event().wait()


def _slow() -> None:
    time.sleep(1)


def _exception() -> None:
    raise RuntimeError("struck: an exception")


def _exit() -> None:
    os._exit(3)


def _segv() -> None:
    ctypes.string_at(0)


def _kill() -> None:
    ctypes.CDLL(None).kill(os.getpid(), int(signal.SIGKILL))


def _hog() -> None:
    while len(_kept) * _HOG_STEP < _HOG_BYTES:
        taken = bytearray(_HOG_STEP)
        taken[:: os.sysconf("SC_PAGE_SIZE")] = b"x" * len(taken[:: os.sysconf("SC_PAGE_SIZE")])
        _kept.append(taken)
        time.sleep(0.05)
    _note("unhindered", "hog")
    _hang()


def _threads() -> None:
    for _ in range(_THREADS):
        threading.Thread(target=_leaked, daemon=True).start()
        time.sleep(0.005)
    _note("unhindered", "threads")
    _hang()


def _leaked() -> None:
    _hang()


def _flood() -> None:
    for number in range(_LINES):
        print(f"struck: a flood from {__name__}, line {number} {'.' * 80}")  # noqa: T201 - that is the fault


def _sys_exit() -> None:
    sys.exit("struck: sys.exit")


def _signal() -> None:
    signal.signal(signal.SIGTERM, lambda *_: None)


def _broken_open(*_: object, **__: object) -> object:
    raise OSError("struck: open() is another one now")


def _builtins() -> None:
    builtins.open = _broken_open  # type: ignore[assignment]


def _gil() -> None:
    # PyDLL calls without releasing the lock that all Python threads of the process need.
    ctypes.PyDLL(None).sleep(_GIL_S)


KINDS: dict[str, Callable[..., None]] = {
    "hang": _hang,
    "slow": _slow,
    "exception": _exception,
    "os._exit": _exit,
    "SIGSEGV": _segv,
    "SIGKILL": _kill,
    "memory": _hog,
    "threads": _threads,
    "stdout": _flood,
    "sys.exit": _sys_exit,
    "signal": _signal,
    "builtins": _builtins,
    "GIL": _gil,
    **meddling.KINDS,
}


def in_sandbox() -> bool:
    """Whether this is where configs are validated: its processes have a mark in their environment."""
    return "KCONNECT_SANDBOX" in os.environ


def is_patched() -> bool:
    """Whether `open` is another one than when this module was imported."""
    return builtins.open is not true_open
