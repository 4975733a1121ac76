"""
What a host's process leaves for the next one if it crashes: a file that says whose each thread was, and where all stood.

`open` makes the file of this life, `Found` is what there is of an earlier one; both are named by the incarnation, which held
records tell. The interpreter's `faulthandler` writes into it on SIGSEGV, SIGABRT, SIGBUS, SIGFPE and SIGILL, without any of
our code. A JVM in the process takes all but SIGABRT for itself: it writes a report beside the file, and then raises SIGABRT.
Its report tells what happened, and where in Java; the file whose thread it was.

`alive` is called by the host's loop about once a second: if it is not, for one thread holds the interpreter's lock and lets
nobody else run, or the JVM stands still, where all stand is written every 20 s, and after 65 s SIGALRM ends the process. Read
next: `main.py`.
"""

from __future__ import annotations

import builtins
import collections
import faulthandler
import itertools
import linecache
import logging
import os
import re
import signal
import stat
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

import orjson

from kconnect import own_places
from kconnect.core.cluster.phases import UnitSpec
from kconnect.core.state.assignment_records import Blame
from kconnect.core.state.records import UnitId
from kconnect.units import owners

log = logging.getLogger(__name__)

_DUMP_S = 20.0
_LIMIT_S = 65.0
_HELD_DUMPS = 3
"""A process that was suspended writes one when it wakes up, however long it was."""
_REPORT = ".java"
_OLD_S = 2 * 86_400.0
_LARGEST = 1 << 20
_MOST_SAID = 5000
_LONGEST_STACK = 40

_FATAL = re.compile(rb"^Fatal Python error: (.*)$")
_HELD = re.compile(rb"^Timeout \(.*\)!$")
_THREAD = re.compile(rb"^(Current thread |Thread |Stack )")
_FRAME = re.compile(rb'^  File "(.*)", line (\d+) in (.*)$')
_MARK = re.compile(rb'^  File "' + re.escape(owners.MARK).replace("%d", r"(\d+)").encode() + rb'"')
_SIGNALS = {
    b"Segmentation fault": "SIGSEGV",
    b"Aborted": "SIGABRT",
    b"Bus error": "SIGBUS",
    b"Floating point exception": "SIGFPE",
    b"Illegal instruction": "SIGILL",
}
_IN_JAVA = os.path.join("kconnect", "jvm", "")
_JAVA_WHAT = re.compile(rb"^#  (?:(SIG\w+) \(|fatal error: OutOfMemory encountered: (.*)$)")
_JAVA_THREAD = re.compile(rb'^Current thread \([^)]{1,64}\):  JavaThread "(.*)" (?:daemon )?\[')
_WAITING_MODULES = ("threading.py", "queue.py", "selectors.py", "socket.py", "ssl.py", "subprocess.py", "_base.py")
_WAITS = re.compile(r"(?<![\w.])(time\.)?sleep\(|\.(wait|get|join|acquire|recv|read|select|poll|result|flush|consume)\(")


class BlackBox:
    """The black box of one life of a process. Once it is open, no call fails: what can't be written is lost."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.java_report = path + _REPORT
        self._file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_RDWR | os.O_NOFOLLOW, 0o600)
        self._lock = threading.Lock()
        self._size = 0
        self._said: collections.deque[bytes] = collections.deque(maxlen=_MOST_SAID)
        # Of the crashing thread alone: of all threads it would be the first hundred.
        faulthandler.enable(self._file, all_threads=False)

    def note(self, owned: owners.Owned) -> None:
        """Note which unit the threads of that number belong to. From any thread."""
        spec = owned.unit.spec
        line = b"= %d %s\n" % (owned.number, orjson.dumps((*spec.unit, spec.config_offset, spec.run, owned.by_plugin)))
        with self._lock:
            self._said.append(line)
            if self._size > _LARGEST:
                with suppress(OSError):
                    os.ftruncate(self._file, 0)
                self._size, line = 0, b"".join(self._said)
            self._write(line)

    def note_java(self, spec: UnitSpec, threads: Iterable[str]) -> None:
        """The names of the threads that its code has started in Java, of which Python knows nothing."""
        with self._lock:
            self._write(b"~ %s\n" % orjson.dumps((*spec.unit, spec.config_offset, spec.run, True, *threads)))

    def attribute_fault(self, spec: UnitSpec, reason: str, is_sure: bool = True) -> None:
        """The process is about to end itself, for what this unit has done, or may have. From any thread."""
        with self._lock:
            self._write(b"! %s\n" % orjson.dumps((*spec.unit, spec.config_offset, spec.run, is_sure, reason)))

    def alive(self) -> None:
        """Put off the end of the process, from the main thread."""
        faulthandler.dump_traceback_later(_DUMP_S, repeat=True, file=self._file)
        signal.setitimer(signal.ITIMER_REAL, _LIMIT_S)
        with self._lock, suppress(OSError):
            os.utime(self._file)
            if os.fstat(self._file).st_size > self._size:
                self._size = os.fstat(self._file).st_size
                self._write(b"= alive\n")
                log.warning("This host stood still for over %.0f s: it was suspended, or a unit's code blocked it", _DUMP_S)

    def close(self) -> None:
        """The process ends in order: there is nothing to find."""
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        for path in (self._path, self.java_report):
            with suppress(OSError):
                os.unlink(path)

    def _write(self, line: bytes) -> None:
        with suppress(OSError):
            self._size += os.write(self._file, line)


class Found:
    """The black box that the process of that incarnation has left on this machine, if any. It can be read once."""

    def __init__(self, incarnation: str) -> None:
        path = os.path.join(_directory() or os.devnull, incarnation)
        self._lines, self._java = _taken(path), _java_report(_taken(path + _REPORT))

    def blames(self) -> tuple[dict[UnitId, Blame], bool]:
        """
        The unit whose code has ended the process, if there is one. And whether that is sure: who finds memory full need not be
        who has filled it, and then there may be several.
        """
        notes: dict[int, _Said] = {}
        in_java: dict[str, _Said] = {}
        held = 0
        doubted: dict[UnitId, Blame] = {}
        stacks: list[list[bytes]] = []
        for at, line in enumerate(self._lines):
            if line == b"= alive":
                held = 0
            elif line.startswith(b"= "):
                _read(line, notes)
            elif line.startswith(b"~ "):
                _read_java(line, in_java)
            elif line.startswith(b"! "):
                accused, is_sure = _accused(line)
                if is_sure:
                    return accused, True
                doubted |= accused
            elif fatal := _FATAL.match(line):
                return _crashed(fatal[1], _stacks(self._lines[at + 1 :]), notes, in_java, self._java)
            elif _HELD.match(line):
                held += 1
                stacks = _stacks(self._lines[at + 1 :])
        if doubted:
            return doubted, False
        return _holder(stacks, notes) if held >= _HELD_DUMPS else {}, True


class _Said(NamedTuple):
    """A note about a thread's number: the unit that it belongs to, and whether plugin code had started it."""

    unit: UnitId
    config_offset: int
    run: int
    by_plugin: bool

    @property
    def kind(self) -> str:
        return "connector" if self.unit.is_connector else "task"

    def blame(self, reason: str) -> dict[UnitId, Blame]:
        return {self.unit: Blame(self.config_offset, self.run, reason)}


class _JavaReport(NamedTuple):
    """The report of a JVM that ended its process: what happened, in which thread, and where in Java, innermost first."""

    what: str = ""
    is_full: bool = False
    thread: str = ""
    frames: str = ""


def open_box(incarnation: str) -> BlackBox | None:
    """The file of this life; None if there is no private place for it, which the log then says."""
    directory = _directory()
    if directory is None:
        return None
    _sweep(directory)
    try:
        return BlackBox(os.path.join(directory, incarnation))
    except OSError as error:
        log.warning("If a plugin crashes this host, kconnect can't tell which one it was: %s", error)
        return None


def _directory() -> str | None:
    """
    A directory that nobody else can write to: what is read from it decides about units. Whoever comes first makes that among
    temporary files, which need not be this user; then it is in the cache.
    """
    reasons = []
    for path in _places():
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)
            status = os.lstat(path)
        except OSError as error:
            reasons.append(str(error))
            continue
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077:
            return path
        reasons.append(f"other users may write to {path}")
    log.warning("If a plugin crashes this host, kconnect can't tell which one it was: %s", "; ".join(reasons))
    return None


def _places() -> Iterator[str]:
    yield os.path.join(tempfile.gettempdir(), f"kconnect-hosts-{os.getuid()}")
    # A user without a home has no cache.
    with suppress(RuntimeError):
        yield str(own_places.cache_dir() / "hosts")


def _sweep(directory: str) -> None:
    """Take away what nobody has asked for: hosts of machines that were lost, or of workers that are gone."""
    with suppress(OSError):
        for entry in os.scandir(directory):
            if time.time() - entry.stat(follow_symlinks=False).st_mtime > _OLD_S:
                with suppress(OSError):
                    os.unlink(entry.path)


def _read(line: bytes, notes: dict[int, _Said]) -> None:
    with suppress(ValueError, TypeError):
        _, number, text = line.split(b" ", 2)
        connector, task, offset, run, by_plugin = orjson.loads(text)
        notes[int(number)] = _Said(UnitId(connector, task), offset, run, by_plugin)


def _read_java(line: bytes, in_java: dict[str, _Said]) -> None:
    with suppress(ValueError, TypeError):
        connector, task, offset, run, by_plugin, *threads = orjson.loads(line[2:])
        in_java.update(dict.fromkeys(threads, _Said(UnitId(connector, task), offset, run, by_plugin)))


def _accused(line: bytes) -> tuple[dict[UnitId, Blame], bool]:
    with suppress(ValueError, TypeError):
        connector, task, offset, run, is_sure, reason = orjson.loads(line[2:])
        return {UnitId(connector, task): Blame(offset, run, reason)}, is_sure
    return {}, True


def _taken(path: str) -> list[bytes]:
    """The lines of a file, which is gone then."""
    lines: list[bytes] = []
    with suppress(OSError):
        with builtins.open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            lines = file.read(4 * _LARGEST).splitlines()
        os.unlink(path)
    return lines


def _java_report(lines: list[bytes]) -> _JavaReport:
    report = _JavaReport()
    for at, line in enumerate(lines):
        if not report.what and (what := _JAVA_WHAT.match(line)):
            name = what[1] or b"java.lang.OutOfMemoryError: %s" % what[2]
            report = report._replace(what=name.decode(), is_full=what[1] is None)
        elif thread := _JAVA_THREAD.match(line):
            report = report._replace(thread=thread[1].decode("utf-8", "replace"))
        elif line.startswith(b"Java frames:"):
            frames = itertools.takewhile(bool, lines[at + 1 : at + 1 + _LONGEST_STACK])
            return report._replace(frames=b"\n".join(frames).decode("utf-8", "replace"))
    return report


def _stacks(lines: list[bytes]) -> list[list[bytes]]:
    """The frames of each thread of a dump, innermost first; none if there were more threads than it has."""
    stacks: list[list[bytes]] = []
    for line in lines:
        if _THREAD.match(line):
            stacks.append([])
        elif stacks and line.startswith(b"  "):
            stacks[-1].append(line)
        elif line == b"...":
            return []
        elif line and stacks and stacks[-1]:
            break
    return [stack for stack in stacks if stack]


def _whose(stack: list[bytes], notes: dict[int, _Said]) -> _Said | None:
    """The unit in whose code a thread was, that of a plugin."""
    mark = next((mark for mark in map(_MARK.match, stack) if mark is not None), None)
    note = None if mark is None else notes.get(int(mark[1]))
    if note is None or note.by_plugin:
        return note
    return note if next((whose for whose in map(_of_frame, stack) if whose is not None), False) else None


def _of_frame(line: bytes) -> bool | None:
    frame = _FRAME.match(line)
    return None if frame is None else owners.of_file(os.fsdecode(frame[1]))


def _crashed(
    what: bytes, stacks: list[list[bytes]], notes: dict[int, _Said], in_java: dict[str, _Said], java: _JavaReport
) -> tuple[dict[UnitId, Blame], bool]:
    # A thread of no Python's has no stack here: a client library's, or one that C code or Java code has started.
    whose = _whose(stacks[0], notes) if stacks else in_java.get(java.thread)
    if whose is None:
        return {}, True
    name = java.what or _SIGNALS.get(what, what.decode("utf-8", "replace"))
    return whose.blame(
        f"{name}: the code of this {whose.kind} has ended its host's process; the other units there were started again. It was "
        f"in (innermost first)\n{java.frames or _text(stacks[0] if stacks else [])}"
    ), not java.is_full


def _holder(stacks: list[list[bytes]], notes: dict[int, _Said]) -> dict[UnitId, Blame]:
    """
    Return the unit to blame for holding the interpreter's lock: the only one within plugin code that does not wait there.
    Return nothing if there is none, or several.
    """
    suspects = {}
    for stack in stacks:
        whose = _whose(stack, notes)
        if whose is not None and not _waits(stack[0]):
            suspects[whose.unit] = (whose, stack)
    if len(suspects) != 1:
        return {}
    [(whose, stack)] = suspects.values()
    return whose.blame(
        f"The code of this {whose.kind} has let nothing else run in its host's process for {_LIMIT_S:.0f} s (it holds the "
        "interpreter's lock), so kconnect ended the process; the other units there were started again. It was in (innermost "
        f"first)\n{_text(stack)}"
    )


def _waits(frame: bytes) -> bool:
    match = _FRAME.match(frame)
    if match is None:
        return True
    path = os.fsdecode(match[1])
    # Who is in Java does not hold Python's lock.
    if _IN_JAVA in path or os.path.basename(path) in _WAITING_MODULES:
        return True
    return _WAITS.search(linecache.getline(path, int(match[2]))) is not None


def _text(stack: list[bytes]) -> str:
    """Return a stack as text, up to where our own code begins."""
    shown = list(itertools.takewhile(lambda line: _of_frame(line) is not False and not _MARK.match(line), stack))
    return b"\n".join(shown[:_LONGEST_STACK]).decode("utf-8", "replace")
