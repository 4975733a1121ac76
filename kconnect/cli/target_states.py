"""
What `pause`, `resume`, `stop`, `restart` and `wait` share: `--wait`, `--timeout`, and when a state has been reached.

A connector's state is wanted at once and reached later: a worker answers as soon as it has written down what is wanted. Read
next: `connectors/pause.py`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import click

from kconnect.cli import selection
from kconnect.cli.connection import Target
from kconnect.cli.selection import Wanted
from kconnect.cli.waiting import Seen

if TYPE_CHECKING:
    from kconnect.rest.answers import ConnectorStateInfo
    from kconnect.rest.client import ConnectClient

_NO_TASKS_S = 5.0
"""A connector runs before its tasks are there. One that has none for so long has none."""

_UNSEEN_S = 6.0
"""
A restart that no status has shown is taken for done after so long: Connect lets tasks have five seconds to end
(task.shutdown.graceful.timeout.ms) before it writes that they restart, and then they may be quicker than who asks.
"""

_FAILED_S = 5.0
"""What is FAILED for so long is not FAILED from before."""

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


class _Duration(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions only
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", str(value))
        if match is None:
            self.fail(f"{value} is not a duration: give seconds, or a text such as 90s, 5m or 1h.", param, ctx)
        return float(match[1]) * _UNITS[match[2]]


def timeout(default: str = "60s") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds `--timeout`, in seconds."""
    return click.option(
        "--timeout", type=_Duration(), default=default, show_default=True, help="How long to wait, such as 90s or 5m."
    )


def waiting(goal: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds `--wait`, and `--timeout` for it. `goal` is what is waited for, such as `all its tasks run`."""
    wait = click.option("--wait", is_flag=True, help=f"Wait until {goal}, too; exit status 7 if late or FAILED.")
    return lambda command: wait(timeout()(command))


def change(
    target: Target,
    wanted: Wanted,
    ask: Callable[[ConnectClient, str], None],
    state: str,
    wait: bool,
    timeout: float,
    words: tuple[str, str],
) -> int:
    """Has each connector that is meant change its state; `words` such as `("Pausing", "Paused")`. Gives the exit status."""
    with target.connect() as client:

        def do(name: str) -> str:
            ask(client, name)
            if not wait:
                return f"{words[0]} {name}"
            selection.then(f"{words[0]} {name}", lambda: reach(client, name, state, timeout))
            return f"{words[1]} {name}"

        return selection.each(wanted.names(client), do, words[0])


def reach(
    client: ConnectClient,
    name: str,
    state: str,
    timeout: float,
    tasks: int | None = None,
    steady: float = 0.0,
    gives_up: bool = True,
) -> ConnectorStateInfo:
    """
    Wait until the connector and all its tasks are in a state, `steady` seconds long, and give the status.

    WaitError, which says what was seen last and why, when the time is over; with `gives_up`, also once something is FAILED, and
    stays so, that nothing restarts by itself.
    """
    empty_since: float | None = None
    so_since: float | None = None
    failure = _Failure(client, name) if gives_up and state != "FAILED" else None

    def so_for_long(status: ConnectorStateInfo) -> bool:
        nonlocal so_since
        if failure is not None:
            failure.look(status)
        if not reached(status):
            so_since = None
            return False
        is_over = so_since is not None and time.monotonic() - so_since >= steady
        if (so_since is None or is_over) and not is_whole(status):
            so_since = None
            return False
        so_since = so_since or time.monotonic()
        return is_over or steady == 0

    def reached(status: ConnectorStateInfo) -> bool:
        nonlocal empty_since
        states = [unit["state"] for unit in (status["connector"], *status["tasks"])]
        if state == "FAILED" and tasks is None:
            return "FAILED" in states
        if state == "FAILED":
            # The connector itself mostly runs on.
            states = states[1:]
        if any(state_of_unit != state for state_of_unit in states):
            return False
        if tasks is not None:
            return len(status["tasks"]) == tasks
        if state == "STOPPED":
            return True
        if status["tasks"] or state != "RUNNING":
            empty_since = None
            return True
        empty_since = empty_since or time.monotonic()
        return time.monotonic() - empty_since >= _NO_TASKS_S

    def is_whole(status: ConnectorStateInfo) -> bool:
        """Whether there are no more tasks than have a status: one that has only just been made has none yet."""
        if tasks is not None or state in ("STOPPED", "FAILED"):
            return True
        return len(client.connector(name)["tasks"]) == len(status["tasks"])

    goal = state if tasks is None else f"{state} with {tasks} task(s)"
    return client.wait_until(name, so_for_long, goal, timeout, Seen(f"{name} to be {goal}"))


class _Failure:
    """A failure that ends a wait before its time. A status from before a change may say FAILED for a moment after it."""

    def __init__(self, client: ConnectClient, name: str) -> None:
        self._client, self._name = client, name
        self._since: float | None = None
        self._restarts: bool | None = None

    def look(self, status: ConnectorStateInfo) -> None:
        """Raise WaitError if something has been FAILED for a while, and is not restarted by itself."""
        from kconnect.rest.client import WaitError, summary

        if "FAILED" not in (unit["state"] for unit in (status["connector"], *status["tasks"])):
            self._since = None
            return
        self._since = self._since or time.monotonic()
        if time.monotonic() - self._since < _FAILED_S:
            return
        if self._restarts is None:
            attempts = self._client.get_config(self._name).get("errors.restart.max.attempts") or "0"
            self._restarts = attempts.strip() != "0"
        if not self._restarts:
            text = f"{summary(status)}. Nothing restarts it by itself: fix the cause, then kconnect restart"
            raise WaitError(f"Connector {self._name} has failed: {text} {self._name} --failed", status)


class Restart:
    """
    Tells what has restarted since from what has not begun to: made before the request, asked after it.

    A worker answers before the statuses say so, and a status that says RUNNING of before says the same after. So each unit
    counts only once its status was seen to be another one, or after six seconds of nothing: more can't be known by REST.
    """

    def __init__(self, client: ConnectClient, name: str) -> None:
        from kconnect.rest.client import RestError

        self._client = client
        self._name = name
        try:
            self._before = self._rows(client.status(name))
        except RestError as error:
            if error.status != 404:
                raise
            self._before = {}

    def settle(self, ids: Collection[int | None], timeout: float) -> None:
        """
        Wait until all of `ids`, where None is the connector, have started again; what is paused is so again. WaitError.
        """
        begun = time.monotonic()
        changed: set[int | None] = set()

        def reached(status: ConnectorStateInfo) -> bool:
            now = {number: row for number, row in self._rows(status).items() if number in ids}
            changed.update(number for number, row in now.items() if row != self._before.get(number))
            if not now or any(row["state"] not in ("RUNNING", "PAUSED", "STOPPED") for row in now.values()):
                return False
            return changed >= set(now) or time.monotonic() - begun >= _UNSEEN_S

        self._client.wait_until(self._name, reached, "seen to start again", timeout, Seen(f"{self._name} to start again"))

    @staticmethod
    def _rows(status: Mapping[str, Any]) -> dict[int | None, dict[str, Any]]:
        units = (status["connector"], *status["tasks"])
        return {unit.get("id"): {key: unit.get(key) for key in ("state", "worker_id", "trace")} for unit in units}


def be_gone(client: ConnectClient, name: str, timeout: float) -> None:
    """Wait until there is no such connector any more. WaitError."""
    from kconnect.rest.client import RestError, WaitError

    end, tell = time.monotonic() + timeout, Seen(f"{name} to be gone")
    while True:
        try:
            client.connector(name)
            last_seen = "it is there"
        except RestError as error:
            if error.status == 404:
                return
            if error.status not in (None, 409, 500, 503):
                raise
            last_seen = error.message
        tell(last_seen)
        if time.monotonic() >= end:
            raise WaitError(f"Connector {name} was not deleted within {timeout:g} s; last seen: {last_seen}", None)
        time.sleep(0.2)
