"""Files that commands are given. What is wrong in them is an `InputError`: one sentence, and exit status 2."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

from kconnect.errors import ConfigError, ConnectError
from kconnect.java import properties

WRITER_S = 10.0
"""How long a pipe may be without a writer. Used qualified: tests wait for less."""


class InputError(ConnectError):
    exit_code = 2


class Problems(InputError):
    """Several, told in a line each."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


def text_of(path: Path) -> str:
    """InputError if it can't be read."""
    try:
        return _of_pipe(path).decode("utf-8") if path.is_fifo() else path.read_text("utf-8")
    except OSError as error:
        if str(path).startswith(("http:/", "https:/")):
            raise InputError(
                f"{path}: files are read, not addresses. Have the command read what `curl -fsS` prints, with -f -"
            ) from None
        raise InputError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: this is not UTF-8 ({error.reason} at byte {error.start})") from None


def standard_input() -> str:
    """Read all of standard input. Raise InputError if it is not UTF-8, whatever the locale takes it for."""
    # A program that calls a command may have put a text there, which has no bytes.
    source = getattr(sys.stdin, "buffer", sys.stdin)
    content = b"" if source is None else source.read()
    try:
        return content if isinstance(content, str) else content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"standard input: this is not UTF-8 ({error.reason} at byte {error.start})") from None


def _of_pipe(path: Path) -> bytes:
    """
    Read a pipe. Opening one waits for somebody who writes into it, without end. What a shell makes of `<(command)` has a
    writer.
    """
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with open(pipe, "rb", buffering=0) as file:
        poll = select.poll()
        poll.register(pipe, select.POLLIN | select.POLLHUP)
        # None of one that is open at the other end, and empty so far.
        first = None if poll.poll(WRITER_S * 1000) else file.read(1)
        if first == b"":
            raise InputError(f"{path} is a pipe, and no process has opened it for writing within {WRITER_S:g} s; name a file")
        os.set_blocking(pipe, True)
        return (first or b"") + file.read()


def reason_of(error: Exception) -> str:
    """Return why a parser refuses a text, in words that are about the text."""
    return "its values are nested too deeply" if isinstance(error, RecursionError) else str(error)


def properties_of(path: Path) -> dict[str, str]:
    """A properties file's settings. InputError if it can't be read."""
    return as_properties(text_of(path), str(path))


def as_properties(text: str, where: str) -> dict[str, str]:
    try:
        return properties.load(text)
    except ConfigError as error:
        raise InputError(f"{where}: {error}") from None
