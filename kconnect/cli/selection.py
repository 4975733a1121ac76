"""
The connectors that a command is meant for: names, globs such as 'orders-*', or all; and doing something to each of them.

A command takes `@selection.arguments`, gets `wanted`, asks `wanted.names(client)` and gives these to `each`, whose result is
the exit status. Read next: `connection.py`.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import queue
import shlex
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from kconnect.cli import connection
from kconnect.errors import ConnectError, NotFoundError

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient

T = TypeVar("T")

AT_ONCE = 8
_A_FEW = 4
_KINDS = ("connector", "connectors")
_COMPLETION_S = 2.0


@dataclass(frozen=True)
class Wanted:
    """The connectors that the command line names."""

    patterns: tuple[str, ...]
    all: bool = False

    def names(self, client: ConnectClient) -> list[str]:
        """The connectors that are meant, in the cluster's order. NotFoundError for a name or glob that nothing matches."""
        existing = list(client.connectors())
        return existing if self.all else match(without_kind(self.patterns, existing), existing)


def without_kind(patterns: Sequence[str], known: Sequence[str], kinds: Sequence[str] = _KINDS) -> Sequence[str]:
    """
    Return what is left of `connector orders` and `connector/orders`, as kubectl and kcctl have it, unless one is called so.
    """
    kinds = [kind for kind in kinds if kind not in known]
    if len(patterns) > 1 and patterns[0] in kinds:
        return patterns[1:]
    return [
        pattern.partition("/")[2] if pattern.partition("/")[0] in kinds and pattern not in known else pattern
        for pattern in patterns
    ]


def arguments(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds NAME… and `--all`, one of which must be given; the command gets them as `wanted`."""

    @functools.wraps(command)
    def with_wanted(*arguments: Any, names: tuple[str, ...], all_of_them: bool, **values: Any) -> Any:
        if bool(names) == all_of_them:
            raise click.UsageError("Give either names of connectors, which may be globs such as 'orders-*', or --all.")
        return command(*arguments, wanted=Wanted(names, all_of_them), **values)

    every = click.option("--all", "all_of_them", is_flag=True, help="All connectors of the cluster.")
    return click.argument("names", metavar="[NAME|GLOB]...", nargs=-1, shell_complete=complete)(every(with_wanted))


def match(patterns: Sequence[str], known: Sequence[str]) -> list[str]:
    """
    Return those of `known` that a pattern matches, in their order. A name that exists is meant as it is, whatever signs it has.

    NotFoundError for a pattern that matches none.
    """
    matching: set[str] = set()
    for pattern in patterns:
        hits = [pattern] if pattern in known else [name for name in known if fnmatch.fnmatchcase(name, pattern)]
        if not hits:
            if is_glob(pattern):
                raise NotFoundError(f"No connector's name matches {pattern}; {_there(known)}")
            name, _, number = pattern.rpartition("/")
            if name in known and number.isdecimal():
                raise NotFoundError(
                    f"{pattern} is a task, where a connector is meant. `kconnect describe task {pattern}` shows it"
                )
            raise NotFoundError(f"There is no connector {pattern}; {_there(known)}")
        matching.update(hits)
    return [name for name in known if name in matching]


def is_glob(pattern: str) -> bool:
    """Whether it has signs of one; a name may have them as well."""
    return any(sign in pattern for sign in "*?[")


class UnfinishedError(ConnectError):
    """Something was done, as `said` tells in a line, and then `error` came up: mostly a wait that was not in time."""

    def __init__(self, said: str, error: ConnectError) -> None:
        super().__init__(str(error))
        self.said = said
        self.error = error


def then(said: str, follow: Callable[[], Any]) -> None:
    """Do what follows something that is done already. UnfinishedError, so that `each` tells both, if that fails."""
    try:
        follow()
    except ConnectError as error:
        raise UnfinishedError(said, error) from error


def each(
    names: Iterable[str], do: Callable[[str], str | None], doing: str, what: str = "connectors", at_once: int = AT_ONCE
) -> int:
    """
    Do something to each, up to `at_once` at a time, and go on after failures; gives the exit status.

    `do` is called by several threads. What it returns is a line for standard output, in the order of the names; its errors
    are a line each on standard error. On a terminal a bar shows how far it is, if they are more than a few. Ctrl-C comes out as
    KeyboardInterrupt, after what was done by then has been told.

    Args:
        doing: what is done, for the bar, such as `Pausing`.

    Returns:
        0 if all went well; the number that all failures share, else 1.
    """
    todo = list(names)
    statuses: set[int] = set()
    outcomes: dict[int, str | Exception | None] = {}
    shown = 0
    results: queue.SimpleQueue[tuple[int, str | Exception | None]] = queue.SimpleQueue()
    try:
        with _Bar(f"{doing} {len(todo)} {what}", len(todo)) as bar:
            for place, result in _results(todo, do, at_once, results):
                outcomes[place] = result
                bar.advance()
                # In order, and never into a bar that is being drawn.
                while not bar.drawn and shown in outcomes:
                    # Counted first: nothing is told twice if Ctrl-C comes between.
                    shown += 1
                    statuses |= _show(todo[shown - 1], outcomes[shown - 1])
    except KeyboardInterrupt:
        while not results.empty():
            place, result = results.get()
            outcomes[place] = result
        for place in sorted(place for place in outcomes if place >= shown):
            _show(todo[place], outcomes[place])
        if rest := [name for place, name in enumerate(todo) if place not in outcomes]:
            which = rest[0] if len(todo) == 1 else f"{len(rest)} of {len(todo)} {what}"
            click.echo(f"Interrupted: {doing.lower()} {which} was not finished", err=True)
        raise
    for place in range(shown, len(todo)):
        statuses |= _show(todo[place], outcomes[place])
    return 0 if not statuses else statuses.pop() if len(statuses) == 1 else 1


def of_each(names: Iterable[str], ask: Callable[[str], T]) -> dict[str, T]:
    """Return what `ask` gives for each name, asked several at a time; the first error that comes up is raised."""
    todo = list(names)
    answers = {}
    for place, result in _results(todo, ask, AT_ONCE, queue.SimpleQueue()):
        if isinstance(result, Exception):
            raise result
        answers[todo[place]] = result
    return answers


def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of connectors for the shell; nothing if no worker answers soon. Never asks for a password."""
    chosen = context.params.get(parameter.name or "") or ()
    return [item for item in completed(context, begun, lambda client: list(client.connectors())) if item.value not in chosen]


def completed(context: click.Context, begun: str, ask: Callable[[ConnectClient], list[str]]) -> list[CompletionItem]:
    """Return what a worker knows that begins so."""
    try:
        target = connection.target_of(context)
        if target.asks:
            return []
        with target.connect(_COMPLETION_S) as client:
            return [CompletionItem(typed(name)) for name in ask(client) if name.startswith(begun) and name.isprintable()]
    except (ConnectError, click.ClickException, OSError):
        return []


def typed(name: str) -> str:
    """
    Return a name as it stands in a command line. A name may be somebody else's, and have `$(…)` in it. One that is not
    printable must not get here: the shell takes each of its lines for another one.
    """
    # zsh and fish quote what they get; bash puts it into the line as it is, once click's script has taken backslashes away.
    if os.environ.get("_KCONNECT_COMPLETE") != "bash_complete":
        return name
    return shlex.quote(name).replace("\\", "\\\\")


def _there(names: Sequence[str]) -> str:
    if not names:
        return "the cluster has none"
    some = ", ".join(names[:5])
    if len(names) <= 5:
        return f"the cluster has {some}"
    return f"the cluster has {some} and {len(names) - 5} more (kconnect get connectors)"


def _results(
    names: Sequence[str], do: Callable[[str], T], at_once: int, results: queue.SimpleQueue[tuple[int, T | Exception]]
) -> Iterable[tuple[int, T | Exception]]:
    """
    Yield results as they come; `results` has those that are not given yet. The threads are daemons: whoever presses Ctrl-C does
    not wait for answers that are still to come, as the threads of `concurrent.futures` would have them.
    """
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for place in range(len(names)):
        waiting.put(place)
    stopped = threading.Event()

    def work() -> None:
        while not stopped.is_set():
            try:
                place = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                results.put((place, do(names[place])))
            except Exception as error:  # noqa: BLE001 - it is the result
                results.put((place, error))

    for _ in range(min(at_once, len(names))):
        threading.Thread(target=work, daemon=True).start()
    try:
        for _ in names:
            yield results.get()
    finally:
        stopped.set()


def _show(name: str, result: str | Exception | None) -> set[int]:
    """Writes a result, and gives the exit status of a failure."""
    if result is None:
        return set()
    if isinstance(result, str):
        click.echo(result)
        return set()
    if isinstance(result, UnfinishedError):
        click.echo(result.said)
        return _show(name, result.error)
    from kconnect.cli import main

    for line in main.in_lines(result):
        click.echo(f"kconnect: {name}: {line}", err=True)
    return {main.status_of(result)}


class _Bar:
    """
    A progress bar on standard error, if that is a terminal and there is enough to wait for; else nothing. `drawn`: it is there.
    """

    def __init__(self, title: str, total: int) -> None:
        self.drawn = total > _A_FEW and sys.stderr.isatty()
        self._title = title
        self._total = total

    def __enter__(self) -> _Bar:
        if self.drawn:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._progress.start()
            self._task = self._progress.add_task(self._title, total=self._total)
        return self

    def advance(self) -> None:
        if self.drawn:
            self._progress.advance(self._task)

    def __exit__(self, *error: Any) -> None:
        if self.drawn:
            self._progress.stop()
