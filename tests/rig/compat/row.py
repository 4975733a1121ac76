"""
One row of the table, and the words that its scenario is written with.

A scenario is a generator, so that all rows can share each turn of a worker: it does something and yields what it waits for. It
begins in a turn of kconnect, goes on in one of the other version, and ends in one of kconnect again. Played by `run.py`. Read
next: `flows.py`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kconnect.rest.client import ConnectClient, RestError

if TYPE_CHECKING:
    from tests.rig.compat.topics import Topics

Version = tuple[int, ...]

_NOT_NOW = ("rebalance", "Cannot complete request momentarily", "not yet finished its startup")


class Failed(Exception):
    """What must hold does not."""


@dataclass(frozen=True)
class Until:
    """Go on once the condition gives something true; `what` says what it was, if it never does."""

    condition: Callable[[], Any]
    what: str


class Wait(enum.Enum):
    QUIET = "all other rows have done what they do in this turn"
    GAP = "the worker has ended, and the next one has not begun"
    NEXT = "the next worker has begun"


Steps = Generator["Until | Wait", None, None]


@dataclass
class Turn:
    """Whose turn it is; None is kconnect's. `states` are those of all connectors, as of the last look."""

    client: ConnectClient
    version: Version | None
    worker_id: str
    states: dict[str, tuple[str, list[str]]] = field(default_factory=dict)

    def look(self) -> None:
        try:
            found = self.client.connectors("status")
        except RestError:
            # A worker that rebalances answers a little later.
            return
        self.states = {
            name: (
                each["status"]["connector"]["state"],
                [task["state"] for task in each["status"]["tasks"]],
            )
            for name, each in found.items()
        }


@dataclass
class Case:
    """
    One row with one version. `turn` is set by `run.py` whenever the worker changes. `thorough` is False in the tests, which
    leave out what only takes time.
    """

    name: str
    version: Version
    directory: Path
    topics: Topics
    turn: Turn
    thorough: bool
    notes: list[str] = field(default_factory=list)

    def saw(self, note: str) -> None:
        """Tell of something that is no failure, but that who reads the table should know."""
        if note not in self.notes:
            self.notes.append(note)

    @property
    def client(self) -> ConnectClient:
        return self.turn.client

    def asked(self, request: Callable[[ConnectClient], Any], what: str) -> Steps:
        """Have a request carried out; Connect refuses all of them while it rebalances."""
        done: list[bool] = []

        def ask() -> bool:
            try:
                request(self.client)
            except RestError as error:
                if error.status in (409, 500, 503) and any(text in error.message for text in _NOT_NOW):
                    return False
                raise Failed(f"{what}: {error.message}") from None
            done.append(True)
            return True

        yield Until(ask, what)

    def shows(self, name: str, connector: str, *tasks: str) -> Steps:
        """Wait until this is what the worker says of a connector and its tasks."""
        wanted = (connector, list(tasks))
        yield Until(lambda: self.turn.states.get(name) == wanted, f"{name} is {connector}/{', '.join(tasks) or 'no tasks'}")

    def last_seen(self) -> str:
        """The states of its connectors."""
        names = [name for name in self.turn.states if name == self.name or name.startswith(f"{self.name}-")]
        shown = [f"{name} {self.turn.states[name][0]}/{', '.join(self.turn.states[name][1])}" for name in names]
        return "; ".join(shown) or "no connector"

    def require(self, condition: bool, what: str) -> None:
        if not condition:
            raise Failed(what)


@dataclass(frozen=True)
class Row:
    """
    `since` is the first version that can play it, and `before` what is said of those before it. The tests leave out one that
    is `long`.
    """

    title: str
    steps: Callable[[Case], Steps]
    since: Version = (0,)
    before: str = ""
    long: bool = False


@dataclass(frozen=True)
class Suite:
    """Rows that are played together, by workers that have these `properties`; `log` is the title of the row on their logs."""

    name: str
    rows: tuple[Row, ...]
    log: str
    properties: Mapping[str, str] = field(default_factory=dict)
