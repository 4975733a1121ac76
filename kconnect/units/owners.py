"""
Whose thread is whose: each thread of a task host that a unit's code has started is known as that unit's.

A unit's own thread says so with `run` (`unit.py`). `follow` makes every `threading.Thread` inherit its starter's unit, and with
it the names that the log gives its lines. Who asks: `host/stops.py` for what is left of a unit, `host/blackbox.py` for whom a
crash is to be blamed on, `host/guard.py` for who calls. Threads that C code or `_thread.start_new_thread` starts are out of
reach.
"""

from __future__ import annotations

import itertools
import os
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import PurePath
from types import FrameType, FunctionType
from typing import TYPE_CHECKING

from kconnect.jvm.threads import MOST as MOST_THREADS
from kconnect.plugins import realms
from kconnect.processes import logs

if TYPE_CHECKING:
    from kconnect.units.unit import Unit

_PLUGINS = tuple(f"kconnect.{name}" for name in ("connectors", "converters", "jvm", "predicates", "providers", "transforms"))
"""Whoever is in `jvm` is in Java, most likely,"""
_JVM = tuple(f"kconnect.jvm.{name}" for name in ("jars", "logs", "machine", "shim"))
"""but for these, with which the JVM itself is started."""
_NOBODYS = (
    "confluent_kafka",
    "jpype",
    "kconnect.api",
    "kconnect.core.task",
    "kconnect.data",
    "kconnect.errors",
    "kconnect.java",
    "kconnect.units.owners",
)
"""What both the engine and plugins call, and what calls plugins back."""
_STDLIB = tuple({f"{os.path.realpath(sysconfig.get_path(name))}{os.sep}" for name in ("stdlib", "platstdlib")})
_PACKAGES = {"site-packages", "dist-packages"}
_PACKAGE = f"{os.path.dirname(os.path.dirname(os.path.realpath(__file__)))}{os.sep}"


class TooManyThreadsError(RuntimeError):
    """A unit's code has started threads without end."""


@dataclass(frozen=True, slots=True, eq=False)
class Owned:
    """A thread. `number` is another one for each unit, and for those of its threads that plugin code has started."""

    unit: Unit
    thread: threading.Thread
    by_plugin: bool
    """Started by plugin code, which is to end it; else by the engine, for the unit."""
    number: int


_owned: dict[int, Owned] = {}
_counts: dict[Unit, int] = {}
_numbers: dict[tuple[Unit, bool], int] = {}
_lock = threading.Lock()
_next_number = itertools.count(1)
_plain_start = threading.Thread.start


def _nobody(owned: Owned) -> None:
    """Do nothing."""


_note: Callable[[Owned], None] = _nobody


def follow(note: Callable[[Owned], None]) -> None:
    """
    Let threads inherit the unit of whoever starts them, from now on. `note` is called, in the thread itself, with the first
    thread of each number.
    """
    global _note
    _note = note
    threading.Thread.start = _start  # type: ignore[method-assign]


def run(unit: Unit, work: Callable[[], object], by_plugin: bool = False) -> None:
    """Do it in the calling thread, which belongs to the unit meanwhile, and so do those that it starts."""
    ident = threading.get_ident()
    with _lock:
        number = _numbers.get((unit, by_plugin))
        is_first = number is None
        if number is None:
            number = _numbers[unit, by_plugin] = next(_next_number)
        owned = _owned[ident] = Owned(unit, threading.current_thread(), by_plugin, number)
        _counts[unit] = _counts.get(unit, 0) + 1
    if is_first:
        _note(owned)
    logs.bind(unit.spec.connector, unit.spec.task)
    try:
        _marked(number)(work)
    finally:
        with _lock:
            del _owned[ident]
            _counts[unit] -= 1
            if not _counts[unit]:
                del _counts[unit]
                for is_plugins in (True, False):
                    _numbers.pop((unit, is_plugins), None)


def _call(work: Callable[[], object]) -> None:
    work()


MARK = "<thread of unit %d>"


def _marked(number: int) -> Callable[[Callable[[], object]], None]:
    """
    `_call` as if it stood in a file of that name: where a thread stands when its process crashes then tells whose it is. The
    interpreter writes down the crashing thread only, without its ident, or the first hundred, of which it need not be one.
    """
    return FunctionType(_call.__code__.replace(co_filename=MARK % number), globals())


def current() -> Unit | None:
    """Return the unit whose code the calling thread runs."""
    owned = _owned.get(threading.get_ident())
    return None if owned is None else owned.unit


def thread(unit: Unit, work: Callable[[], object], name: str) -> threading.Thread:
    """A daemon thread, not started yet, that calls plugin code for a unit. From any thread."""
    new_thread = threading.Thread(target=work, name=name, daemon=True)
    _adopt(new_thread, unit, by_plugin=False)
    return new_thread


def all_threads() -> dict[Unit, list[threading.Thread]]:
    """Return the threads of all units."""
    found: dict[Unit, list[threading.Thread]] = {}
    for owned in list(_owned.values()):
        found.setdefault(owned.unit, []).append(owned.thread)
    return found


def threads(unit: Unit) -> list[Owned]:
    """Return the unit's threads that are alive, besides its own."""
    # Asked for each unit that has ended, when it is hundreds that end at once.
    if unit not in _counts:
        return []
    return [owned for owned in list(_owned.values()) if owned.unit is unit and owned.thread is not unit.thread]


def _start(self: threading.Thread) -> None:
    unit = current()
    if unit is not None and not hasattr(self, "_kconnect_unit"):
        if _counts.get(unit, 0) > MOST_THREADS:
            error = TooManyThreadsError(
                f"{unit.spec.unit} has more than {MOST_THREADS} live threads, and can't start another one: make each thread "
                "end, and wait for it in stop()"
            )
            unit.fail_from_outside(error)
            raise error
        by_engine = of_module(sys._getframe(1).f_globals.get("__name__")) is False
        _adopt(self, unit, by_plugin=not by_engine)
    _plain_start(self)


def _adopt(thread: threading.Thread, unit: Unit, by_plugin: bool) -> None:
    plain = thread.run
    thread._kconnect_unit = unit  # type: ignore[attr-defined]

    def owned_run() -> None:
        # The thread would hold itself otherwise, and what it has, until somebody looks for garbage.
        del thread.run, thread._kconnect_unit  # type: ignore[attr-defined]
        run(unit, plain, by_plugin)

    thread.run = owned_run  # type: ignore[method-assign]


# --- where a thread stands ---


def in_plugin_code(frame: FrameType | None) -> bool | None:
    """Whether a thread is within a plugin's code; False: within the engine's; None: neither is to be seen."""
    while frame is not None:
        is_plugins = of_module(frame.f_globals.get("__name__"))
        if is_plugins is not None:
            return is_plugins
        frame = frame.f_back
    return None


def place(error: BaseException, modules: Collection[str]) -> str | None:
    """
    `orders/sink.py:41`: the last line of a plugin's code on the way of an error, or of what caused it; None for our own errors.
    What is in `modules`, of the connector's own package, is preferred to a library that it calls.
    """
    chain: list[BaseException] = []
    now: BaseException | None = error
    while now is not None and not any(now is link for link in chain):
        chain.append(now)
        now = now.__cause__ or (None if now.__suppress_context__ else now.__context__)
    for link in reversed(chain):
        frames = [
            (str(frame.f_globals.get("__name__")), PurePath(frame.f_code.co_filename), line)
            for frame, line in traceback.walk_tb(link.__traceback__)
        ]
        of_plugins = [
            entry
            for entry in frames
            if entry[1].suffix == ".py" and of_module(entry[0]) and not _within(entry[0], ("kconnect",))
        ]
        of_unit = [entry for entry in of_plugins if entry[0].partition(".")[0] in modules]
        # What is beside kconnect otherwise is most likely what our own plugins call.
        for name, file, line in (of_unit or [entry for entry in of_plugins if not _PACKAGES & {*entry[1].parts}])[-1:]:
            depth = realms.plain_name(name).count(".") + (2 if file.stem == "__init__" else 1)
            return f"{'/'.join(file.parts[-depth:])}:{line}"
    return None


def of_module(name: object) -> bool | None:
    """Whether a module is a plugin's, or what a plugin uses; None for what everybody uses."""
    if not isinstance(name, str):
        return True
    if _within(name, _PLUGINS):
        return not _within(name, _JVM)
    if _within(name, _NOBODYS) or name.partition(".")[0] in sys.stdlib_module_names:
        return None
    return not _within(name, ("kconnect", "pyspark"))


def of_file(path: str) -> bool | None:
    """The same by the name of a module's file, which is all that a dead process has left."""
    if path.startswith(("<frozen", MARK.partition("%")[0])):
        return None
    path = os.path.realpath(path)
    if path.startswith(_PACKAGE):
        return of_module(f"kconnect.{path[len(_PACKAGE) :].removesuffix('.py').replace(os.sep, '.')}")
    for place in _PACKAGES:
        if (start := path.rfind(f"{os.sep}{place}{os.sep}")) >= 0:
            top = path[start + len(place) + 2 :].split(os.sep)[0]
            return None if top in _NOBODYS else top not in ("pyspark", "kconnect")
    return None if path.startswith(_STDLIB) else True


def _within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)
