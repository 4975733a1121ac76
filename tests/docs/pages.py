"""
The code blocks of a page in docs/, and what a reader does with them: paste files, run commands, in the order of the page.

`readings.py` says which pages are read in which order. Called by the tests of this folder, and of what a page is about.
"""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
import textwrap
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parent.parent.parent / "docs"

_FILE = re.compile(r"# (\S+\.\w+)\n")
_FENCE = re.compile(r"```(\w*)$")
_LIST = re.compile(r"\s*(?:[-*]|\d+\.) ")
INDENTED = "indented"
"""The language of a block that four blanks make, and no fence."""


class Block(NamedTuple):
    """`file` is what the first line says that it is; None: it is to be run, or shown only."""

    language: str
    file: str | None
    text: str
    page: str
    line: int
    heading: str
    """The nearest heading above it, without its #."""

    @property
    def place(self) -> str:
        return f"docs/{self.page}:{self.line}"


def blocks(page: str) -> list[Block]:
    return list(_blocks(page, (DOCS / page).read_text("utf-8").splitlines()))


def _blocks(page: str, lines: list[str]) -> Iterator[Block]:
    heading, at = "", 0
    while at < len(lines):
        line, begin = lines[at], at
        if fence := _FENCE.match(line):
            at = lines.index("```", at + 1) + 1
            text = "\n".join([*lines[begin + 1 : at - 1], ""])
            named = _FILE.match(text)
            yield Block(fence[1], named and named[1], text, page, begin + 1, heading)
        elif line.startswith("    ") and (at == 0 or not lines[at - 1].strip()) and not _LIST.match(line):
            while at < len(lines) and (lines[at].startswith("    ") or not lines[at].strip()):
                at += 1
            text = textwrap.dedent("\n".join(lines[begin:at])).strip("\n") + "\n"
            yield Block(INDENTED, None, text, page, begin + 1, heading)
        else:
            if line.startswith("#"):
                heading = line.lstrip("# ")
            at += 1


class Reader:
    """Somebody who follows pages in an empty directory, with this Python's commands on the path."""

    def __init__(self, home: Path, limit_s: float = 1100.0, **environment: str) -> None:
        self.directory = home
        self._limit_s = limit_s
        self.output = ""
        """Of the last commands."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "CONNECT_"))}
        self._environment: dict[str, str] = {
            **inherited,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        }

    def export(self, name: str, value: str) -> None:
        """Set a variable for the commands that follow."""
        self._environment[name] = value

    def follow(self, page: str, without: Collection[str] = ()) -> None:
        """Do what a page says, but for files whose names are in `without`. AssertionError with what a failed command said."""
        for block in blocks(page):
            if block.file in without:
                continue
            if block.file is not None:
                self.paste(block)
            elif block.language == "sh":
                self.run(block.text)

    def paste(self, block: Block) -> None:
        target = self.directory / str(block.file)
        # Pages are about files that are there already, or stand beside such.
        assert target.parent.is_dir(), f"there is no directory for {target}"
        target.write_text(block.text, "utf-8")

    def run(self, commands: str, answer: str = "", piped: str = "", statuses: Collection[int] = (0,)) -> str:
        """
        Run commands as a shell does, and return what they print.

        Args:
            answer: what the reader types on his terminal when he is asked; empty: there is no terminal.
            piped: what is in a pipe instead, such as a password.
            statuses: the exit statuses that the page leads one to expect.
        """
        script = f"set -uo pipefail\ntrap 'pwd > {self._note}' EXIT\n{commands}"
        with _keyboard(answer, piped) as keyboard:
            done = subprocess.run(
                ["bash", "-ec", script],
                cwd=self.directory,
                env=self._environment,
                stdin=keyboard,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=self._limit_s,
                # Passwords are asked for on the terminal of who runs the tests, if there is one.
                start_new_session=True,
            )
        self.output = done.stdout
        assert done.returncode in statuses, f"{commands}\nsaid, with status {done.returncode}:\n{done.stdout}"
        self.directory = Path(self._note.read_text().strip())
        return done.stdout

    @property
    def _note(self) -> Path:
        return Path(self._environment.get("HOME", "/tmp")) / ".where"


@contextlib.contextmanager
def _keyboard(answer: str, piped: str) -> Iterator[int]:
    """The standard input of commands: a terminal on which `answer` is typed, a pipe, or nothing."""
    if not answer and not piped:
        yield subprocess.DEVNULL
        return
    keys, given = os.pipe()[::-1] if piped else pty.openpty()
    try:
        os.write(keys, (piped or answer).encode())
        if piped:
            os.close(keys)
        yield given
    finally:
        os.close(given)
        if not piped:
            os.close(keys)
