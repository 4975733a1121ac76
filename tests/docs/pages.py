"""The code blocks of a page in docs/, and what a reader does with them: paste files, run commands, in the order of the page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parent.parent.parent / "docs"

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\S+\.\w+)\n")


class Block(NamedTuple):
    """`file` is what the first line says that it is; None: it is to be run, or shown only."""

    language: str
    file: str | None
    text: str


def blocks(page: str) -> list[Block]:
    found = []
    for language, text in _BLOCK.findall((DOCS / page).read_text("utf-8")):
        named = _FILE.match(text)
        found.append(Block(language, named and named[1], text))
    return found


class Reader:
    """Somebody who follows pages in an empty directory, with this Python's commands on the path."""

    def __init__(self, home: Path, limit_s: float = 1100.0, **environment: str) -> None:
        self.directory = home
        self._limit_s = limit_s
        self.output = ""
        """Of the last commands."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "CONNECT_"))}
        self._environment: Mapping[str, str] = {
            **inherited,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        }

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

    def run(self, commands: str) -> str:
        script = f"set -euo pipefail\n{commands}\npwd > {self._note}"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.directory,
            env={**self._environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=self._limit_s,
        )
        self.output = done.stdout
        assert done.returncode == 0, f"{commands}\nsaid, with status {done.returncode}:\n{done.stdout}"
        self.directory = Path(self._note.read_text().strip())
        return done.stdout

    @property
    def _note(self) -> Path:
        return Path(self._environment.get("HOME", "/tmp")) / ".where"
