"""
`kconnect migrate`: connectors move from one cluster to another, with their offsets, and back.

What is to be done is decided and done in `migration/`; this has the options, the table before, and the words after. Read next:
`decision.py`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from kconnect.cli import asking, connection, layout, output, selection, target_states
from kconnect.cli.brokers import Brokers
from kconnect.cli.migrate import checks, journal
from kconnect.cli.migrate.checks import Plan
from kconnect.cli.migrate.decision import Doing
from kconnect.cli.migrate.move import Move, situation
from kconnect.cli.migrate.side import Seen, Side
from kconnect.errors import ConnectError
from kconnect.rest.client import RestError


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME|GLOB]...")
@click.option("--from", "source", metavar="URL|CONTEXT", help="The cluster that the connectors are on.")
@click.option("--to", "target", metavar="URL|CONTEXT", help="The cluster that they move to.")
@click.option("--back", is_flag=True, help="Move back, from --to to --from.")
@click.option("--all", "every", is_flag=True, help="All connectors.")
@click.option("--dry-run", is_flag=True, help="Check, and say what would be done. Nothing is stopped or written.")
@asking.option
@click.option("--delete", is_flag=True, help="Delete what has moved from its old cluster, rather than keep it there, stopped.")
@click.option(
    "--copy-sink-offsets",
    is_flag=True,
    help="Copy sinks' offsets to another Kafka cluster, whose topics have the same records at the same offsets.",
)
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The journal of the moves. Default: one for these two clusters, in your home.",
)
@click.option(
    "--user",
    metavar="NAME",
    help="Your user name at both clusters. Default: each context's user. KCONNECT_PASSWORD, or KCONNECT_TOKEN, goes to both, "
    "with --dry-run, too: set neither that one of them must not have.",
)
@target_states.timeout("120s")
@click.option("--same-topics", is_flag=True, help="Take over the whole cluster on its topics: check it, and print the steps.")
@connection.kafka_options
def migrate(
    names: tuple[str, ...],
    source: str | None,
    target: str | None,
    back: bool,
    every: bool,
    dry_run: bool,
    yes: bool,
    delete: bool,
    copy_sink_offsets: bool,
    state: Path | None,
    user: str | None,
    timeout: float,
    same_topics: bool,
    brokers: Brokers,
) -> int:
    """
    Move connectors to another cluster, with their offsets, and back.

    \b
      kconnect migrate --from http://connect:8083 --to http://localhost:8083 orders
      kconnect migrate --from http://connect:8083 --to http://localhost:8083 'orders-*' --dry-run
      kconnect migrate --from http://connect:8083 --to http://localhost:8083 orders --back
      kconnect migrate --same-topics --worker-file connect-distributed.properties

    Each of the two clusters is one of kconnect or of Kafka Connect, 3.7 or later. A connector is checked first: its class and
    config at the target, its offsets, whether the name is free. Then it is stopped, made at the target with its offsets, and
    brought into the state that it had. It never runs at both. At the source it is left, stopped, as the way back.

    What is interrupted goes on when the same command is given again: a journal has the steps. A failure ends the run and says
    where both clusters stand. --back on a move that was not finished takes it back.

    With --same-topics nothing is moved: kconnect's workers take the place of Kafka Connect's, with the same worker file. It
    checks topics, worker file, plugins and who is alive, and prints what to do in which order. Give it again after each step.

    Exit status: 0 all has moved; 6 something prevents a move, and nothing was touched; 1 a move failed; 5 another run holds the
    journal.
    """
    if same_topics:
        if names or source or target:
            raise click.UsageError(
                "--same-topics takes over a whole cluster: give --worker-file, and no names, --from or --to."
            )
        if back:
            raise click.UsageError(
                "--back is for connectors that have moved. To go back from a takeover, stop all of kconnect's workers, and "
                "start Kafka Connect's with the file that they had."
            )
        of_moves = {"--all": every, "--delete": delete, "--copy-sink-offsets": copy_sink_offsets, "--state": state}
        if ignored := [option for option, value in of_moves.items() if value]:
            raise click.UsageError(f"{' and '.join(ignored)} can't go with --same-topics: connectors stay where they are.")
        # Imported here: it brings along what reads topics.
        from kconnect.cli.migrate import topics as migrate_topics

        return migrate_topics.run(brokers)
    if source is None or target is None:
        raise click.UsageError("Give --from and --to: the URL of a worker of each cluster, or the name of its context.")
    if bool(names) == every:
        raise click.UsageError("Name the connectors to move, or give --all.")
    if back:
        source, target = target, source
    with ExitStack() as stack:
        sides = (stack.enter_context(_side(cluster, user, timeout)) for cluster in (source, target))
        run = _Run(next(sides), next(sides), dry_run, yes, delete, copy_sink_offsets)
        if run.source.url == run.target.url:
            raise click.UsageError(f"--from and --to are the same cluster, {run.source.url}.")
        path = state or journal.default_path(run.urls)
        if not dry_run:
            stack.enter_context(journal.held(path))
        return run.play(names, journal.Journal(path, run.urls))


@contextmanager
def _side(text: str, user: str | None, timeout: float) -> Iterator[Side]:
    with connection.named(text, user).connect() as client:
        yield Side(client, timeout)


@dataclass(frozen=True)
class _Run:
    """The moves of one command. Standard output has the plan and the steps, standard error what went wrong."""

    source: Side
    target: Side
    dry_run: bool
    yes: bool
    delete: bool
    copy_sink_offsets: bool

    @property
    def urls(self) -> tuple[str, str]:
        return self.source.url, self.target.url

    def play(self, names: Sequence[str], kept: journal.Journal) -> int:
        hindered = checks.versions(self.source, self.target)
        if hindered:
            click.echo("\n".join(hindered), err=True)
            return 6
        plans = [self._look(name, kept) for name in self._chosen(names, kept)]
        _show(plans)
        problems = [(plan.name, problem) for plan in plans for problem in plan.problems]
        for name, problem in problems:
            click.echo(f"{layout.unobeyed(name)}: {problem}", err=True)
        if problems:
            click.echo(f"{len({name for name, _ in problems})} of {len(plans)} can't be moved. Nothing was changed.", err=True)
            return 6
        todo = [plan for plan in plans if plan.decision.doing is not Doing.NOTHING or self._to_delete(plan, kept)]
        if self.dry_run or not todo:
            return 0
        what = f"{len(todo)} connectors" if len(todo) > 1 else todo[0].name
        asking.confirm(f"Move {what} from {self.source.url} to {self.target.url}?", self.yes)
        return self._move_all(todo, kept)

    def _chosen(self, names: Sequence[str], moves: journal.Journal) -> list[str]:
        """
        Return the connectors that are meant, also those that the journal alone knows: what was deleted at the source since it
        moved, or half way back.
        """
        at_source = list(self.source.ask(self.source.client.connectors))
        begun = [name for name, entry in moves.entries.items() if name not in at_source and (names or entry.unfinished)]
        return selection.match(names, [*at_source, *begun]) if names else [*at_source, *begun]

    def _look(self, name: str, moves: journal.Journal) -> Plan:
        return checks.look(name, self.source, self.target, moves.entries.get(name), self.copy_sink_offsets)

    def _to_delete(self, plan: Plan, moves: journal.Journal) -> bool:
        entry = moves.entries.get(plan.name)
        return self.delete and plan.source.there and entry is not None and entry.source == self.source.url

    def _move_all(self, plans: Sequence[Plan], moves: journal.Journal) -> int:
        remaining: list[str] = []
        for number, plan in enumerate(plans):
            move = Move(plan.name, self.source, self.target, moves, plan.source, plan.shared, _teller(plan.name))
            try:
                state = move.carry_out(plan.decision)
                if self.delete and state != "FAILED":
                    move.delete_source()
                elif plan.decision.doing is not Doing.UNDO:
                    remaining.append(plan.name)
            except ConnectError as error:
                click.echo(f"{layout.unobeyed(plan.name)}: {error}", err=True)
                click.echo(situation(plan.name, self.source, self.target, moves.entries.get(plan.name)), err=True)
                state = "not moved"
            if state in ("FAILED", "not moved"):
                if state == "FAILED":
                    words = f"{plan.name} has moved to {self.target.url}, and failed there."
                    if plan.decision.doing is not Doing.UNDO:
                        words += f" It remains at {self.source.url}, stopped."
                    click.echo(f"{words} {self._reason(plan.name)}", err=True)
                if waiting := [waiting_plan.name for waiting_plan in plans[number + 1 :]]:
                    click.echo(f"Not moved yet: {', '.join(waiting)}.", err=True)
                return 1
        if remaining:
            names = shlex.join(remaining) if len(remaining) < 6 else "NAME"
            click.echo(f"Stopped connectors remain at {self.source.url}, as the way back. When they are no longer needed:")
            click.echo(f"  kconnect delete {names} --url {self.source.url}")
        return 0

    def _reason(self, name: str) -> str:
        try:
            self.target.client.wait_for(name, timeout=0, fail_fast=True)
        except RestError as error:
            return error.message
        return "It has recovered since."


def _teller(name: str) -> Callable[[str], None]:
    # The name is another cluster's: a line that it ended would look like one of this command's.
    shown = layout.unobeyed(name)
    return lambda words: click.echo(f"{shown}: {words}")


_DOING = {
    Doing.MOVE: "move",
    Doing.FINISH: "finish",
    Doing.UNDO: "take back",
    Doing.NOTHING: "nothing to do",
    Doing.REFUSE: "can't be moved",
}


def _show(plans: Sequence[Plan]) -> None:
    rows = []
    for plan in plans:
        decision = plan.decision
        doing = _DOING[Doing.REFUSE if plan.problems else decision.doing]
        after = decision.wanted if decision.doing in (Doing.MOVE, Doing.FINISH, Doing.UNDO) and not plan.problems else ""
        offsets = "same group" if plan.shared else str(len(plan.source.offsets or []))
        rows.append((plan.name, plan.source.type, _state(plan.source), _state(plan.target), offsets, doing, after))
    output.table(("connector", "type", "from", "to", "offsets", "plan", "then"), rows)
    for plan in plans:
        words = () if plan.decision.doing is Doing.REFUSE else (plan.decision.words,)
        for note in filter(None, (*words, *plan.notes)):
            click.echo(f"{layout.unobeyed(plan.name)}: {note}")


def _state(connector: Seen) -> str:
    return (connector.state or "") if connector.there else "-"
