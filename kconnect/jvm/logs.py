"""
What Java logs becomes lines of our log: under the Java logger's name, with its level, its trace, and the unit that it is of.

`machine.py` calls `begin` once its JVM runs, and `adopt` on each thread that calls a plugin; `processes/levels.py` calls
`follow` when a level has changed. The shim is slf4j's binding (`shim/Loggers.java`) and the handler of java.util.logging's root
logger: they decide by level without asking Python, and put lines where a thread of ours takes them (`shim/Lines.java`). So Java
never waits for the interpreter because of a line, and Java's locks are not held while anybody waits for it.

A line is its unit's if the thread that logged it was started by a thread of that unit, however indirectly. It is told as
nobody's if the thread comes from elsewhere: from C code, or without what threads inherit. Where units share a pool of Java's
threads, such as a static one of a plugin's class, each line goes to the unit whose call made the pool start that thread.

Not covered: log4j 1 and 2, Logback and other systems that a plugin brings along and does not bridge to slf4j; what is written
to System.out and System.err (`host/output.py` does that); what a plugin does to java.util.logging's configuration itself.
"""

from __future__ import annotations

import _thread
import atexit
import contextvars
import copy
import logging
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import structlog

log = logging.getLogger(__name__)

QUIET = (
    # All settings of each converter, connector, task and client that is made, on a line each: REST shows them, too, and among
    # them may be secrets that no declaration says to be such.
    "org.apache.kafka.common.config.AbstractConfig",
    # Each class loader and each plugin that was found: GET /connector-plugins.
    "org.apache.kafka.connect.runtime.isolation",
)
"""Loggers that tell at INFO what is of no interest to those who run a worker, unless somebody sets their levels."""

_REST = 3
"""How many times as long as it has worked the thread that takes lines rests: a flood leaves the interpreter to others."""
_LONGEST_REST_S = 1.0
_LEVEL, _LENGTH = struct.Struct(">i"), struct.Struct(">i")


class Line(NamedTuple):
    """`unit` as `_unit` gives it. `level` 0: only so many lines of that unit, which were not kept."""

    level: int
    unit: str
    logger: str
    message: str
    trace: str


class _Java(NamedTuple):
    """Classes of the shim."""

    lines: Any
    loggers: Any
    whose: Any
    strings: Any
    ints: Any


_java: _Java | None = None
_turn = threading.Lock()
"""Held while lines are taken and written, so that they keep their order."""
_following = threading.Lock()
_ending, _ended = threading.Event(), threading.Event()
_known = threading.local()
_blank = logging.LogRecord("", 0, "", 0, "", (), None)


def begin() -> None:
    """Right after the JVM was started, before any class of Connect is loaded."""
    global _java
    # Apart from here this module does without, for it is imported where there is no JVM.
    import jpype

    for name in QUIET:
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)
    shim = jpype.JPackage("kconnect").shim
    _java = _Java(shim.Lines, shim.Loggers, shim.Whose, jpype.JString[:], jpype.JInt[:])
    shim.JulHandler.begin()
    follow()
    # Not by `threading`: the thread would be of the unit whose thread this is (`units/owners.py`), and so would what is logged.
    _thread.start_new_thread(_take_all, ())
    atexit.register(_end)


def follow() -> None:
    """Have Java's loggers take the levels of Python's. Nothing to do without a JVM; `begin` does it, too."""
    if _java is None:
        return
    # Otherwise what one thread has read before a change could arrive after what another has read behind it.
    with _following:
        loggers = list(logging.root.manager.loggerDict.items())
        levels = {
            name: logger.level
            for name, logger in loggers
            if isinstance(logger, logging.Logger) and logger.level != logging.NOTSET
        }
        levels[""] = logging.root.getEffectiveLevel()
        _java.loggers.follow(_java.strings(list(levels)), _java.ints(list(levels.values())))


def adopt() -> None:
    """
    Attribute what Java logs in this thread, and in those that it starts from there, to the unit that this thread is bound to.
    """
    unit = _unit()
    if _java is not None and getattr(_known, "unit", "") != unit:
        _java.whose.set(unit)
        _known.unit = unit


def flush(limit_s: float) -> None:
    """Write what Java has logged so far, unless the log can't be written for so long."""
    if _java is not None and _turn.acquire(timeout=limit_s):
        try:
            # The lines are not those of this thread.
            contextvars.Context().run(_write, _java)
        finally:
            _turn.release()


def name_of(connector: str, task: int | None = None) -> str:
    """Return the name of a unit, as Java knows it (`shim/Whose.java`)."""
    return f"{connector}\0{'' if task is None else task}"


@contextmanager
def lines_of(unit: str) -> Iterator[None]:
    """Lines within it are of the unit of that name in Java."""
    connector, _, task = unit.rpartition("\0")
    fields: dict[str, Any] = {"connector": connector} if connector else {}
    if task:
        fields["task"] = int(task)
    with structlog.contextvars.bound_contextvars(**fields):
        yield


def _unit() -> str:
    """The names that `processes/logs.py` gives the lines of this thread; empty if it has none."""
    bound = structlog.contextvars.get_contextvars()
    return name_of(bound["connector"], bound.get("task")) if "connector" in bound else ""


def _take_all() -> None:
    java = _java
    assert java is not None
    while java.lines.awaitLine():
        begun = time.monotonic()
        try:
            with _turn:
                _write(java)
        except Exception:
            log.exception("Lines that Java has logged are lost")
        _ending.wait(min(_LONGEST_REST_S, _REST * (time.monotonic() - begun)))
    _ended.set()


def _end() -> None:
    """The interpreter ends: a thread that comes back from Java then would take the whole process down."""
    flush(_LONGEST_REST_S)
    _ending.set()
    if _java is not None:
        _java.lines.close()
        _ended.wait(_LONGEST_REST_S)


def _write(java: _Java) -> None:
    for line in _lines(memoryview(java.lines.take()).tobytes()):
        # Where the log has a Python error's trace, too.
        trace = {"exception": line.trace} if line.trace else {}
        with lines_of(line.unit), structlog.contextvars.bound_contextvars(**trace):
            _say(line if line.level else _missing(line))


def _missing(line: Line) -> Line:
    text = f"{line.message} lines that Java logged are not here: they came faster than lines can be written"
    return line._replace(logger=__name__, level=logging.WARNING, message=text)


def _say(line: Line) -> None:
    # A record made anew asks `threading` for this thread, which from then on is among those that a plugin seems to have left.
    record = copy.copy(_blank)
    record.name, record.msg, record.created = line.logger, line.message, time.time()
    record.levelno, record.levelname = line.level, logging.getLevelName(line.level)
    if line.trace:
        # For formatters other than ours.
        record.exc_text = line.trace
    # Whether the line is wanted has been decided.
    logging.getLogger(line.logger).handle(record)


def _lines(data: bytes) -> Iterator[Line]:
    at = 0
    while at < len(data):
        (level,) = _LEVEL.unpack_from(data, at)
        at += _LEVEL.size
        texts = []
        for _ in range(4):
            (length,) = _LENGTH.unpack_from(data, at)
            at += _LENGTH.size
            texts.append(data[at : at + length].decode("utf-8", "replace"))
            at += length
        yield Line(level, *texts)
