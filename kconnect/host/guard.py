"""
What all units of a host's process share, and none may change or end: the process itself, and the modules that everybody needs.

`Guard` is made by `containment.py`, after everything that the engine itself changes. A unit's code that calls `os._exit`, or
sets `builtins.open`, gets an error there and then, and its unit fails with it; the others notice nothing. What is changed in
another way (in a module's `__dict__`, or a class) is found by `look` within a second, and put back. It guards against slips,
not against malice: whoever may install plugins may do what the worker may.
"""

from __future__ import annotations

import builtins
import faulthandler
import functools
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from kconnect.host.output import Output
from kconnect.units import owners
from kconnect.units.unit import Unit

log = logging.getLogger(__name__)

_MODULES: tuple[ModuleType, ...] = (builtins, os, sys, time, threading, socket, json, logging, signal)
_CLASSES: tuple[type, ...] = (
    threading.Thread,
    threading.Condition,
    threading.Event,
    socket.socket,
    json.JSONEncoder,
    json.JSONDecoder,
    logging.Logger,
    logging.Handler,
    logging.StreamHandler,
    logging.Formatter,
)
_HOOKS = frozenset({"excepthook", "unraisablehook", "displayhook", "breakpointhook", "last_exc", "last_type", "last_value"})
"""What is there to be set."""
_STREAMS = frozenset({"stdout", "stderr"})
_ALSO = frozenset({"__import__", "__build_class__", "_exit", "modules", "meta_path", "path_hooks"})


class SharedProcessError(BaseException):
    """
    A unit's code has tried what would hurt all that runs in its host's process. No `Exception`: code that goes on after
    whatever goes wrong must not go on after `os._exit`.
    """


class Guard:
    """The guard of this process, from its construction on."""

    def __init__(self, output: Output | None) -> None:
        self._pid = os.getpid()
        self._output = output
        self._classes = {kind: type(kind) for kind in _MODULES}
        self._calls: list[tuple[ModuleType, str, Any]] = []
        self._refuse_calls()
        places: tuple[ModuleType | type, ...] = (*_MODULES, *_CLASSES)
        self._known = {place: _members(place) for place in places}
        self._handlers = list(logging.root.handlers)
        self._streams = {name: getattr(sys, name) for name in _STREAMS}
        for module in _MODULES:
            module.__class__ = self._guarded(module)

    def close(self) -> None:
        """Restore everything as it was before; for tests."""
        for module, kind in self._classes.items():
            module.__class__ = kind
        for module, name, plain in self._calls:
            setattr(module, name, plain)

    def look(self, units: Iterable[Unit]) -> None:
        """Now and then, from the host's loop: put back what was changed."""
        # First, for all else is said there.
        if logging.root.handlers != self._handlers:
            logging.root.handlers[:] = self._handlers
            log.warning("A unit changed the log's handlers, which all units of this host share; they have been restored")
        if logging.root.manager.disable:
            logging.disable(logging.NOTSET)
            log.warning("A unit switched off the log, which all units of this host share; it has been switched on again")
        for name, logger in list(logging.root.manager.loggerDict.items()):
            # What the engine says passes through these, in its own threads, which nothing of a plugin's may hold up.
            if not name.startswith("kconnect.") or not isinstance(logger, logging.Logger):
                continue
            foreign = [part for part in (*logger.handlers, *logger.filters) if not _is_ours(part)]
            if foreign or logger.disabled:
                logger.disabled = False
                logger.handlers[:] = filter(_is_ours, logger.handlers)
                logger.filters[:] = filter(_is_ours, logger.filters)
                log.warning("A unit changed the logger %s; it has been restored", name)
        for place, values_before in self._known.items():
            now = vars(place)
            for name, value in values_before.items():
                if now.get(name) is not value:
                    self._put_back(place, name, value, now.get(name), units)
        for name, stream in self._streams.items():
            if getattr(sys, name) is not stream:
                self._put_back(sys, name, stream, getattr(sys, name), units)

    def _put_back(self, place: Any, name: str, value: Any, replacement: Any, units: Iterable[Unit]) -> None:
        type.__setattr__(place, name, value) if isinstance(place, type) else vars(place).__setitem__(name, value)
        module = getattr(replacement, "__module__", None) or type(replacement).__module__
        what = f"{place.__name__}.{name} was replaced by an object of the module {module}"
        suspects = [unit for unit in units if str(module).partition(".")[0] in unit.modules]
        if len({unit.spec.connector for unit in suspects}) == 1:
            for unit in suspects:
                unit.fail_from_outside(SharedProcessError(f"{what}: all units of this host use it, so it has been restored"))
        else:
            log.warning("%s; it has been restored", what)

    def _concerns(self) -> Unit | None:
        """The unit whose code calls, in this process and in none that was forked from it."""
        return owners.current() if os.getpid() == self._pid else None

    def _fail(self, unit: Unit, what: str) -> SharedProcessError:
        error = SharedProcessError(f"{what}, which all units of its host's process share. So this unit has failed instead")
        unit.fail_from_outside(error)
        return error

    def _guarded(self, module: ModuleType) -> type[ModuleType]:
        values_before, guard = self._known[module], self

        class Guarded(type(module)):  # type: ignore[misc]
            def __setattr__(self, name: str, value: Any) -> None:
                unit = guard._concerns() if name in values_before or (self is sys and name in _STREAMS) else None
                if unit is None or value is values_before.get(name, guard):
                    super().__setattr__(name, value)
                elif self is sys and name in _STREAMS and guard._output is not None:
                    getattr(guard._output, name).redirect(value)
                else:
                    raise guard._fail(unit, f"{unit.spec.unit} was about to replace {self.__name__}.{name}")

            def __delattr__(self, name: str) -> None:
                unit = guard._concerns() if name in values_before else None
                if unit is not None:
                    raise guard._fail(unit, f"{unit.spec.unit} was about to delete {self.__name__}.{name}")
                super().__delattr__(name)

        return Guarded

    def _refuse_calls(self) -> None:
        own_processes = {self._pid, os.getppid(), 0, -1, -os.getpgrp()}

        def anything(*_: Any, **__: Any) -> bool:
            return True

        def signals_us(pid: int, number: int) -> bool:
            return number != 0 and pid in own_processes

        def signals_our_group(group: int, number: int) -> bool:
            return number != 0 and group in (0, os.getpgrp())

        refused: list[tuple[ModuleType, str, Callable[..., bool]]] = [
            *((os, name, anything) for name in ("_exit", "abort", "execv", "execve")),
            (os, "kill", signals_us),
            (os, "killpg", signals_our_group),
            *((signal, name, anything) for name in ("raise_signal", "pthread_kill", "alarm", "setitimer")),
            *((faulthandler, name, anything) for name in ("enable", "disable", "cancel_dump_traceback_later")),
            (faulthandler, "dump_traceback_later", anything),
        ]
        for module, name, applies in refused:
            plain = getattr(module, name, None)
            if plain is not None:
                self._calls.append((module, name, plain))
                setattr(module, name, self._refusing(module, name, plain, applies))

    def _refusing(self, module: ModuleType, name: str, plain: Any, applies: Callable[..., bool]) -> Any:
        @functools.wraps(plain)
        def refusing(*args: Any, **named: Any) -> Any:
            unit = self._concerns()
            if unit is not None and applies(*args, **named):
                shown = ", ".join(map(repr, args))[:200]
                raise self._fail(unit, f"{unit.spec.unit} was about to call {module.__name__}.{name}({shown})")
            return plain(*args, **named)

        return refusing


def _is_ours(part: object) -> bool:
    """Whether a handler or filter is the engine's own."""
    module = getattr(part, "__module__", None) or type(part).__module__
    return owners.of_module(module) is False


def _members(place: ModuleType | type) -> dict[str, Any]:
    """Return the members of a module or class that are watched: those that can be called, and a few that all imports need."""
    members = {}
    for name, value in vars(place).items():
        if name in _HOOKS or name in _STREAMS:
            continue
        public = not name.startswith("_") or isinstance(place, type)
        if (public and (callable(value) or isinstance(value, ModuleType))) or name in _ALSO:
            members[name] = value
    return members
