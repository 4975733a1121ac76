"""
What is known of moves that were begun: a small file, so that a run that was killed can be started again.

The clusters themselves show nearly all of it. They can't show whether a connector that is stopped was to run, and which of the
two has the newer offsets once both are stopped. Written by `move.py` before each step that matters, read by `decision.py`.
"""

from __future__ import annotations

import enum
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click

from kconnect.errors import ConfigError, ConflictError

Offsets = list[dict[str, Any]]


class Phase(enum.Enum):
    """The progress of a move; each phase is written down before what it allows is done."""

    STOPPING = "stopping"
    """The source's connector is being stopped. It has the truth."""
    COPYING = "copying"
    """The source's connector was at rest; the target gets config and offsets. The source still has the truth."""
    SWITCHING = "switching"
    """The target has all. From here on it has the truth, for it may have run."""
    MOVED = "moved"
    """It is in its state on the target."""


@dataclass
class Entry:
    """
    The move of one connector. `wanted` is the state that it had and is to have again; `made` says that the target had none of
    its name before; `offsets` are those that the target was given.
    """

    source: str
    target: str
    phase: Phase
    wanted: str
    made: bool = False
    offsets: Offsets = field(default_factory=list)

    @property
    def unfinished(self) -> bool:
        return self.phase is not Phase.MOVED


class Journal:
    """The entries of moves between two clusters, in either direction, by name of the connector."""

    def __init__(self, path: Path, urls: tuple[str, str]) -> None:
        """ConfigError if the file is not one of moves between these."""
        self.path = path
        self._urls = sorted(urls)
        self.entries: dict[str, Entry] = {}
        if path.exists() and (text := path.read_text("utf-8")):
            self._read(text)

    def _read(self, text: str) -> None:
        try:
            document = json.loads(text)
            clusters = document["clusters"]
            self.entries = {name: Entry(**{**move, "phase": Phase(move["phase"])}) for name, move in document["moves"].items()}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ConfigError(f"{self.path} is not a journal of kconnect migrate. Name another file with --state") from None
        if clusters != self._urls:
            raise ConfigError(
                f"The journal {self.path} is for moves between {' and '.join(clusters)}, not {' and '.join(self._urls)}. Give "
                "the URLs of the journal, or another file with --state"
            )

    def write(self, name: str, entry: Entry) -> None:
        """Write an entry. It is on the disk when this returns."""
        self.entries[name] = entry
        self._save()

    def forget(self, name: str) -> None:
        self.entries.pop(name, None)
        self._save()

    def _save(self) -> None:
        moves = {name: {**asdict(entry), "phase": entry.phase.value} for name, entry in self.entries.items()}
        new = self.path.with_name(f"{self.path.name}.new")
        with new.open("w", encoding="utf-8") as file:
            json.dump({"clusters": self._urls, "moves": moves}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path)


def default_path(urls: tuple[str, str]) -> Path:
    """The same for both directions, so that `--back` knows what the way there did."""
    digest = hashlib.sha256("\n".join(sorted(urls)).encode()).hexdigest()[:16]
    return Path(click.get_app_dir("kconnect")) / "migrations" / f"{digest}.json"


@contextmanager
def held(path: Path) -> Iterator[None]:
    """ConflictError while another process moves with this journal; a killed one holds nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConflictError(f"Another kconnect migrate holds the journal {file.name}. Wait until it ends") from None
        yield
