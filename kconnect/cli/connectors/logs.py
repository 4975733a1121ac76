"""
`kconnect logs`: the lines of logs that are about one connector, or one task.

Those that workers keep come by `log_pages.py`; those of a file or of standard input are read here, in the forms that
`log_lines.py` knows.
"""

from __future__ import annotations

import os
import re
import socket
import stat
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

import click

from kconnect.cli import connection, selection
from kconnect.cli.connection import Target
from kconnect.cli.connectors import log_lines, log_pages
from kconnect.cli.connectors.log_lines import Entry
from kconnect.processes import line_forms

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_PAUSE_S = 0.25


@click.command()
@click.argument("name", required=False, metavar="[NAME[/TASK]]", shell_complete=selection.complete)
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A worker's log; may be repeated.",
)
@click.option("-f", "--follow", is_flag=True, help="Then show new entries as they are written, even after the file is rotated.")
@click.option("--since", metavar="TIME", help="Only newer entries: `10m`, `2h`, `1d`, or a time such as 2026-01-31T12:00.")
@click.option(
    "--level",
    type=click.Choice(line_forms.LEVELS, case_sensitive=False),
    help="Only this level and more severe ones.",
)
@click.option("--task", type=click.IntRange(0), help="Only this task of the connector.")
@click.option("--tail", type=click.IntRange(0), metavar="N", help="Only the last N entries; a trace belongs to its entry.")
@click.option("--mentions", is_flag=True, help="Entries that name the connector in their text, too, such as the worker's own.")
@connection.later
def logs(
    name: str | None,
    files: tuple[Path, ...],
    follow: bool,
    since: str | None,
    level: str | None,
    task: int | None,
    tail: int | None,
    mentions: bool,
    target: Callable[[], Target],
) -> None:
    """
    Show what the logs of all workers and their hosts say about a connector.

    \b
      kconnect logs orders
      kconnect logs orders/0 --level ERROR --since 10m
      kconnect logs orders -f
      kconnect logs orders --file worker.log
      docker logs connect-1 2>&1 | kconnect logs orders --tail 20

    The workers keep the lines of the last half hour, those of hosts on Spark's machines too, and the worker at --url has them
    all. Older ones are in each process's standard error: give --file, or pipe a log in. Where the workers keep none
    (`log.storage.topic=`), it is the file that this machine's worker writes to, as `kconnect worker … 2> worker.log` has it.

    Lines of files are chosen by the connector's context, `[orders|task-0]`. kconnect always writes it; with `log.format=json`
    it is in `connector` and `task`. Kafka Connect writes it if its Log4j pattern has `%X{connector.context}`, as Kafka's own
    file does. Times without a zone are taken to be this machine's.
    """
    connector, number = _unit(name, task)
    filter_ = Wanted(connector, number, level, None if since is None else moment(since), mentions)
    if follow and len(files) > 1:
        raise click.UsageError("-f can follow only one --file.")
    if not files and not _is_fed(sys.stdin):
        from kconnect.rest.client import RestError

        worker = target()
        try:
            with worker.connect() as client:
                log_pages.show(client, _query(filter_), tail, follow)
            return
        except RestError as error:
            # An older worker, one that keeps no lines, or one that does not answer, and its log may say why.
            if error.status != HTTPStatus.NOT_FOUND and not (error.status is None and _is_here(_host(worker.url))):
                raise
            files = (_of_worker(worker.url),)
    with ExitStack() as opened:
        lines: Iterator[str | None]
        if not files:
            # As with files: a worker's log may have bytes of any encoding in it.
            lines = (line.decode("utf-8", "replace") for line in sys.stdin.buffer)
        elif follow:
            lines = _followed(files[0])
        else:
            lines = (line for path in files for line in opened.enter_context(_open(path)))
        _show(lines, filter_, tail)


def _query(wanted: Wanted) -> dict[str, str]:
    """Return the same as `GET /kconnect/logs` takes it."""
    query = {
        "connector": wanted.connector,
        "task": wanted.task,
        "level": wanted.level,
        "since": None if wanted.since is None else int(wanted.since.timestamp() * 1000),
        "mentions": "true" if wanted.mentions else None,
    }
    return {name: str(value) for name, value in query.items() if value is not None}


def _is_fed(standard_input: TextIO) -> bool:
    """Whether somebody may write there: it is neither a terminal nor /dev/null."""
    if standard_input.isatty():
        return False
    try:
        return not stat.S_ISCHR(os.fstat(standard_input.fileno()).st_mode)
    except (OSError, ValueError):
        return True  # Of a test, or of a program that has put its own there.


def _of_worker(url: str) -> Path:
    """The file that the process which listens at that URL has as its standard error or output; UsageError if there is none."""
    import psutil

    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    why = "it is on another machine"
    try:
        if _is_here(_host(url)):
            why = "nothing listens there, so no worker runs"
            for connection in psutil.net_connections("tcp"):
                if connection.status != psutil.CONN_LISTEN or connection.laddr.port != port:
                    continue
                why = "it belongs to another user"
                if connection.pid:
                    files = {file.fd: file.path for file in psutil.Process(connection.pid).open_files()}
                    if file_of_log := files.get(2) or files.get(1):
                        return Path(file_of_log)
                    why = f"the worker's process {connection.pid} writes it to a terminal or a pipe"
    except psutil.Error:
        pass
    raise click.UsageError(
        f"The log of the worker at {url} was not found: {why}. Give --file FILE, or pipe the log in: docker logs connect-1 "
        "2>&1 | kconnect logs NAME. A worker writes its log to standard error."
    )


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _is_here(host: str) -> bool:
    """Return whether the address is this machine's: nobody can listen at another machine's."""
    try:
        with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            return True
    except OSError:
        return False


@dataclass
class Wanted:
    """A filter of log entries. It counts the entries that it was given, so that an empty result can be explained."""

    connector: str | None
    task: int | None
    level: str | None
    since: datetime | None
    mentions: bool
    seen: int = 0
    contexts: set[str] = field(default_factory=set)

    def has(self, entry: Entry) -> bool:
        """Asked once for each entry."""
        self.seen += 1
        if entry.connector is not None:
            self.contexts.add(entry.connector)
        if self.level is not None and log_lines.severity(entry.level) < log_lines.severity(self.level):
            return False
        if self.since is not None and (entry.at is None or entry.at < self.since):
            return False
        return self.connector is None or self._is_whose(entry)

    def _is_whose(self, entry: Entry) -> bool:
        assert self.connector is not None
        if entry.connector is not None:
            return entry.connector == self.connector and self.task in (None, entry.task)
        unit = self.connector if self.task is None else f"{self.connector}-{self.task}"
        return self.mentions and line_forms.mentions(entry.first, unit)

    def why_nothing(self) -> str:
        """Return a sentence for standard error that explains why no line was shown."""
        if not self.seen:
            return "The log is empty."
        if self.connector is None or self.connector in self.contexts:
            return f"None of {self.seen} entries matches the given time and level."
        if self.contexts:
            return (
                f"No line has the context of {self.connector}; the log has those of {', '.join(sorted(self.contexts)[:10])}. "
                "Its tasks may run on other workers (see kconnect describe); --mentions searches the texts, too."
            )
        return (
            f"None of {self.seen} entries has a connector's context: no connector has written one, or the log is a Kafka "
            "Connect's, whose Log4j pattern lacks %X{connector.context}. --mentions searches the texts instead."
        )


def moment(text: str) -> datetime:
    """`10m` ago, or a time; UsageError if it is neither."""
    now = datetime.now().astimezone()
    if match := re.fullmatch(r"(\d+)([smhd])", text):
        try:
            return now - timedelta(**{_UNITS[match[2]]: int(match[1])})
        except OverflowError:
            pass
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone()
    except (ValueError, OverflowError):
        rule = "give 90s, 10m, 2h or 1d, or a time such as 2026-01-31T12:00"
        raise click.UsageError(f"--since {text} is not a time: {rule}.") from None


def _unit(name: str | None, task: int | None) -> tuple[str | None, int | None]:
    if name is None:
        if task is not None:
            raise click.UsageError("--task needs the connector's name.")
        return None, None
    connector, slash, number = name.rpartition("/")
    if slash and number.isdecimal():
        if task is not None and task != int(number):
            raise click.UsageError(f"{name} and --task {task} are different tasks: give one.")
        return connector, int(number)
    return name, task


def _show(lines: Iterator[str | None], entry_filter: Wanted, tail: int | None) -> None:
    """
    Print the entries that are wanted. A None among the lines: all that was there has been read, so that the last entries are
    known, and what is new follows.
    """
    reader = log_lines.Reader()
    last: deque[list[str]] = deque(maxlen=tail)
    current, shown, any_shown = None, False, False
    for raw in lines:
        if raw is None:
            _write_last(last)
            tail = None
            continue
        line = raw.rstrip("\r\n")
        entry = reader.entry(line)
        if entry is not current:
            current, shown = entry, entry_filter.has(entry)
            if shown and tail is not None:
                last.append([])
        if not shown:
            continue
        any_shown = True
        if tail is None:
            click.echo(line)
        elif last:
            last[-1].append(line)
    _write_last(last)
    if not any_shown:
        click.echo(entry_filter.why_nothing(), err=True)


def _write_last(last: deque[list[str]]) -> None:
    while last:
        for line in last.popleft():
            click.echo(line)


def _open(path: Path) -> TextIO:
    return path.open(encoding="utf-8", errors="replace", newline="\n")


def _followed(path: Path) -> Iterator[str | None]:
    """Whole lines, for ever; None after those that were there. What was put in the file's place is read from its beginning."""
    file = _open(path)
    half, caught_up = "", False
    while True:
        half += file.readline()
        if half.endswith("\n"):
            yield half
            half = ""
            continue
        if not caught_up:
            caught_up = True
            yield None
        time.sleep(_PAUSE_S)
        try:
            stat = path.stat()
        except FileNotFoundError:
            continue  # Between the two steps of a rotation.
        replaced = stat.st_ino != os.fstat(file.fileno()).st_ino
        if replaced or stat.st_size < file.tell():
            # What was written just before it was replaced.
            yield from (half + file.read()).splitlines() if replaced else ()
            file.close()
            file, half = _open(path), ""
