"""`kconnect dlq replay`: letters to where their records came from, once. Read next: `planning.py`, `sending.py`."""

from __future__ import annotations

import contextlib
import functools

import click

from kconnect.cli import asking, connection, output
from kconnect.cli.brokers import Brokers
from kconnect.cli.connection import Target
from kconnect.cli.dlq import choice as choices
from kconnect.cli.dlq import queues, retention
from kconnect.cli.dlq.chains import Chains
from kconnect.cli.dlq.choice import Choice
from kconnect.cli.dlq.letters import counted
from kconnect.cli.dlq.memory import Done
from kconnect.cli.dlq.planning import Left, Outgoing, Plan, Rules, plan
from kconnect.cli.dlq.queues import Queue
from kconnect.cli.dlq.sending import Sender
from kconnect.cli.outcome_text import printable

_SHOWN = 20


@click.command()
@click.argument("name", metavar="QUEUE")
@connection.options
@connection.kafka_options
@click.option("--to-topic", metavar="TOPIC", help="Write to this topic rather than to where each came from.")
@click.option("--through-chain", is_flag=True, help="Only what passes the connector's chain as it is now.")
@click.option("--chain-of", metavar="CONNECTOR", help="Whose chain, if not that of the connector that wrote the letter.")
@click.option("--by-key", is_flag=True, help="Choose the partition by the key, as Java's producer does; not the record's own.")
@click.option("--again", is_flag=True, help="Also what has been replayed before.")
@click.option("--max-replays", type=click.IntRange(min=1), default=3, show_default=True, help="Leave what came back so often.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=10_000, show_default=True, help="How many letters at most.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@asking.option
@output.option("json", "yaml")
@choices.options
def replay(
    name: str,
    target: Target,
    brokers: Brokers,
    to_topic: str | None,
    through_chain: bool,
    chain_of: str | None,
    by_key: bool,
    again: bool,
    max_replays: int,
    limit: int,
    dry_run: bool,
    yes: bool,
    form: str,
    choice: Choice,
) -> int:
    """
    Write letters to the topics they came from, each once.

    \b
      kconnect dlq replay orders-dead --dry-run
      kconnect dlq replay orders-dead
      kconnect dlq replay orders-dead --through-chain --exception DataException
      kconnect dlq replay orders-dead --to-topic orders-retry --since -2h --yes

    First fix what they failed on: a sink reads them again with whatever else is in the topic, and so does everybody else who
    reads it. With --through-chain each letter is tried on the config that the connector has now, and what would fail again
    stays; what the sink's task itself refuses can't be tried. Letters of a source have to go that way.

    Key, value, headers and timestamp are as they were, and the partition is the record's own. Connect's headers are taken
    off; __kconnect.dlq.replays says how often a record was replayed, and what came back 3 times stays (--max-replays).

    What has been replayed is noted as offsets of the consumer group kconnect-dlq-QUEUE, in the transaction that writes it: the
    command may be killed and run again. The letters stay in the queue until they are dropped.

    Exit status 1: a letter would fail on the chain again, or could not be written.
    """
    if chain_of and not through_chain:
        raise click.UsageError("--chain-of says whose chain --through-chain is")
    with queues.find(brokers, target, name) as queue, contextlib.ExitStack() as stack:
        queues.require_queue(queue)
        chains = stack.enter_context(Chains(brokers, target, queue.name, chain_of)) if through_chain else None
        rules = Rules(
            queue.name,
            functools.cache(queue.partitions),
            to_topic,
            chains.run if chains else None,
            by_key,
            again,
            max_replays,
            limit,
        )
        made = _plan(queue, choice, rules, queue.replayed())
        _tell(made, queue.name, dry_run or yes, form, dry_run)
        if made.outgoing and not dry_run:
            asking.confirm(f"Replay {counted(len(made.outgoing))} of {queue.name} to {', '.join(sorted(made.targets))}?", yes)
            _write(brokers, queue, made, again)
            if told := retention.warning(brokers, queue.name):
                click.echo(told, err=True)
    return 1 if made.failed else 0


def _plan(queue: Queue, choice: Choice, rules: Rules, done: dict[int, Done]) -> Plan:
    return plan(filter(choice.takes, queue.letters(queue.bounds(choice))), done, rules)


def _write(brokers: Brokers, queue: Queue, made: Plan, again: bool) -> None:
    written = 0

    def count(number: int) -> None:
        nonlocal written
        written += number

    with Sender(brokers, queue) as sender:
        # Only now is nobody else replaying: what somebody did since the question must not be done twice.
        done = queue.replayed(settled=True)
        left = [each for each in made.outgoing if again or each.letter.offset not in done.get(each.letter.partition, Done())]
        try:
            sender.send(left, done, count)
        finally:
            others = len(made.outgoing) - len(left)
            meanwhile = f"; {others:,} had been replayed meanwhile" if others else ""
            of = "" if written == len(left) else f" of {len(left):,}"
            click.echo(f"Replayed {written:,}{of} {'letter' if written == 1 and not of else 'letters'}{meanwhile}", err=True)


def _tell(made: Plan, queue: str, whole: bool, form: str, dry_run: bool) -> None:
    if form != "table":
        output.write(made.as_json(), form)
    elif made.outgoing or made.left:
        rows = made.rows
        output.table(("letter", "from", "to", "left, because"), map(_row, rows if whole else rows[:_SHOWN]))
        if not whole and len(rows) > _SHOWN:
            click.echo(f"… and {len(rows) - _SHOWN:,} more, which --dry-run shows", err=True)
    would = "would go" if dry_run else "to go"
    told = [f"{counted(number)} {would} to {topic}" for topic, number in sorted(made.targets.items())]
    if made.left:
        told.append(f"{counted(len(made.left))} left")
    if made.passed_by:
        told.append(f"{made.passed_by:,} replayed before (--again takes them, too)")
    if made.more:
        told.append("there are more beyond --limit")
    click.echo(f"{queue}: {'; '.join(told) or 'no letter matches'}", err=True)


def _row(each: Outgoing | Left) -> tuple[str, ...]:
    letter = each.letter
    to, why = (each.to, "") if isinstance(each, Outgoing) else ("-", printable(each.why))
    return f"{letter.partition}@{letter.offset}", letter.origin or "-", to, why
