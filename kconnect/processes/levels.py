"""
The levels of Python's loggers under the names that Connect's API uses (KIP-495).

`rest/loggers.py` serves them. structlog loggers that go through `logging` obey them too, and so do those of Java plugins, which
have Python loggers of the same names (`jvm/logs.py`). Nothing is persisted: a restarted worker has the levels of its
configuration again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Protocol, TypedDict

from kconnect.jvm import logs as java
from kconnect.processes import java_loggers

ROOT = "root"

LEVELS = {"OFF": 100, "FATAL": 50, "ERROR": 40, "WARN": 30, "INFO": 20, "DEBUG": 10, "TRACE": 5, "ALL": 1}


class LoggerLevel(TypedDict):
    """`last_modified` is in ms since 1970, None for a level that nobody changed over REST."""

    level: str
    last_modified: int | None


class Loggers(Protocol):
    """The interface of the logging system to `/admin/loggers`. Names of levels are those of LEVELS, in capitals."""

    def levels(self) -> dict[str, LoggerLevel]:
        """All known loggers; the root one is named `root`."""
        ...

    def level(self, name: str) -> LoggerLevel | None:
        """A Java name may stand for one of ours, here and below; NotFoundError for one that stands for none."""
        ...

    def set_level(self, name: str, level: str) -> list[str]:
        """Set a namespace and all that begins with it; gives the names whose level changed. `root` means all."""
        ...


class PythonLoggers:
    """`Loggers` over the `logging` module."""

    def __init__(self, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._now_ms = now_ms
        self._modified: dict[str, int] = {}

    def levels(self) -> dict[str, LoggerLevel]:
        shown = {name: logger for name, logger in _known().items() if not java_loggers.is_foreign(name)}
        return {name: self._describe(name, logger) for name, logger in shown.items()}

    def level(self, name: str) -> LoggerLevel | None:
        own_name = _names(name)[0]
        logger = _known().get(own_name)
        if logger is None and own_name != name:
            # Clients look before they set: one of ours is there, even if nothing has logged by it yet.
            logger = logging.getLogger(own_name)
        return None if logger is None else self._describe(own_name, logger)

    def set_level(self, name: str, level: str) -> list[str]:
        number = LEVELS[level]
        try:
            _set_foreign(name, number)
            return self._set_ours(_names(name), number)
        finally:
            java.follow()

    def _set_ours(self, names: tuple[str, ...], number: int) -> list[str]:
        if names != (ROOT,):
            for name in names:
                logging.getLogger(name)  # makes it known, as Connect does
        loggers = _known()
        # Read all before setting any: a child without a level of its own follows its parent.
        before = {name: logger.getEffectiveLevel() for name, logger in loggers.items()}
        changed = [name for name in loggers if names == (ROOT,) or name.startswith(names)]
        changed = [name for name in changed if before[name] != number]
        for name in changed:
            loggers[name].setLevel(number)
            self._modified[name] = self._now_ms()
        return [name for name in changed if not java_loggers.is_foreign(name)]

    def _describe(self, name: str, logger: logging.Logger) -> LoggerLevel:
        return {"level": _text(logger.getEffectiveLevel()), "last_modified": self._modified.get(name)}


def _names(name: str) -> tuple[str, ...]:
    return (ROOT,) if name.lower() == ROOT else java_loggers.ours(name)


def _set_foreign(name: str, number: int) -> None:
    """Set the level of the loggers with Java's own names. `_set_ours` sets those of ours that such a name stands for."""
    if java_loggers.is_foreign(name):
        logging.getLogger(name)
        for logger_name, logger in _known().items():
            if logger_name.startswith(name):
                logger.setLevel(number)


def _known() -> dict[str, logging.Logger]:
    loggers = {
        name: logger for name, logger in sorted(logging.root.manager.loggerDict.items()) if isinstance(logger, logging.Logger)
    }
    return {**loggers, ROOT: logging.root}


def _text(level: int) -> str:
    """The nearest name: a level between two of Connect's lets through what the upper one does."""
    return next((name for name, number in reversed(LEVELS.items()) if number >= level), "OFF")
