"""`kconnect dlq replay`: letters to where their records came from, once. See `kconnect/dlq/`."""

from __future__ import annotations

import contextlib
import functools

import click

from kconnect.cli import asking, connection, output
from kconnect.cli.brokers import Brokers
from kconnect.cli.connection import Target
from kconnect.cli.dlq import options, queues, retention
from kconnect.cli.dlq.chains import chains, reporters
from kconnect.cli.outcome_text import printable
from kconnect.dlq.choice import Choice
from kconnect.dlq.letters import counted
from kconnect.dlq.memory import Done
from kconnect.dlq.origins import Proof, Reporters
from kconnect.dlq.planning import Left, Outgoing, Plan, Rules, plan
from kconnect.dlq.queue import Queue
from kconnect.dlq.sending import Sender

_SHOWN = 20


@click.command()
@click.argument("name", metavar="QUEUE")
@connection.options
@connection.kafka_options
@click.option("--to-topic", metavar="TOPIC", help="Write to this topic, not to the topics that the letters came from.")
@click.option("--through-chain", is_flag=True, help="Replay only letters that pass the connector's chain as it is now.")
@click.option(
    "--chain-of",
    metavar="CONNECTOR",
    help="Use the chain of this connector. Default: the one that wrote the letter.",
)
@click.option(
    "--by-key",
    is_flag=True,
    help="Choose the partition by the key, as Java's producer does, rather than keep the record's own.",
)
@click.option("--again", is_flag=True, help="Letters that have been replayed before, too.")
@click.option(
    "--max-replays",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Leave letters that came back so often.",
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="Replay at most so many letters.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@asking.option
@output.option("json", "yaml")
@options.options
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
    Write dead letters to the topics they came from, each once.

    \b
      kconnect dlq replay orders-dead --dry-run
      kconnect dlq replay orders-dead
      kconnect dlq replay orders-dead --through-chain --exception DataException
      kconnect dlq replay orders-dead --to-topic orders-retry --since -2h --yes

    First fix what they failed on: a sink reads them again with whatever else is in the topic, and so does everybody else who
    reads it. With --through-chain each letter is tried on the config that the connector has now, and what would fail again
    stays; what the sink's task itself refuses can't be tried. Letters of a source have to go that way.

    A letter's headers alone do not decide where it goes. It goes to a topic of a connector that names this queue, and only if
    the record that the headers name is the same, or is gone: then the letter is shown as claimed. Anything else stays, unless
    you name the topic with --to-topic. A worker tells which topics a connector has, so without one --to-topic is needed.

    Key, value, headers and timestamp are as they were, and the partition is the record's own. Connect's headers are taken
    off; __kconnect.dlq.replays says how often a record was replayed, and what came back 3 times stays (--max-replays).

    What has been replayed is noted as offsets of the consumer group kconnect-dlq-QUEUE, in the transaction that writes it: the
    command may be killed and run again. The letters stay in the queue until they are dropped.

    Exit status 1: a letter would fail on the chain again, or could not be written.
    """
    if chain_of and not through_chain:
        raise click.UsageError("--chain-of needs --through-chain")
    with queues.find(brokers, target, name) as queue, contextlib.ExitStack() as stack:
        queues.require_queue(queue)
        # Without a worker, where a letter goes is for the caller alone to say.
        known_reporters = Reporters(()) if to_topic and not through_chain else reporters(brokers, target, queue.name, chain_of)
        tried = stack.enter_context(chains(brokers, target, known_reporters, to_topic is not None)) if through_chain else None
        rules = Rules(
            queue.name,
            functools.cache(queue.partitions),
            known_reporters,
            queue.read_back,
            brokers.internal_topics,
            to_topic,
            tried.run if tried else None,
            by_key,
            again,
            max_replays,
            limit,
        )
        plan = _plan(queue, choice, rules, queue.replayed())
        _tell(plan, queue.name, dry_run or yes, form, dry_run)
        if plan.outgoing and not dry_run:
            asking.confirm(f"Replay {counted(len(plan.outgoing))} of {queue.name} to {', '.join(sorted(plan.targets))}?", yes)
            _write(brokers, queue, plan, again)
            if text := retention.warning(brokers, queue.name):
                click.echo(text, err=True)
    return 1 if plan.failed else 0


def _plan(queue: Queue, choice: Choice, rules: Rules, replays: dict[int, Done]) -> Plan:
    return plan(filter(choice.takes, queue.letters(queue.bounds(choice))), replays, rules)


def _write(brokers: Brokers, queue: Queue, replay_plan: Plan, again: bool) -> None:
    written = 0

    def count(number: int) -> None:
        nonlocal written
        written += number

    with Sender(brokers.client_config, queue) as sender:
        remaining, done_before = sender.still(replay_plan.outgoing, again)
        try:
            sender.send(remaining, done_before, count)
        finally:
            count_of_others = len(replay_plan.outgoing) - len(remaining)
            meanwhile = f"; {count_of_others:,} had been replayed meanwhile" if count_of_others else ""
            of = "" if written == len(remaining) else f" of {len(remaining):,}"
            click.echo(f"Replayed {written:,}{of} {'letter' if written == 1 and not of else 'letters'}{meanwhile}", err=True)


def _tell(replay_plan: Plan, queue: str, whole: bool, form: str, dry_run: bool) -> None:
    if form != "table":
        output.write(replay_plan.as_json(), form)
    elif replay_plan.outgoing or replay_plan.left:
        rows = replay_plan.rows
        output.table(("letter", "from", "to", "left, because"), map(_row, rows if whole else rows[:_SHOWN]))
        if not whole and len(rows) > _SHOWN:
            click.echo(f"… and {len(rows) - _SHOWN:,} more (--dry-run shows all)", err=True)
    would = "would go" if dry_run else "to go"
    texts = [f"{counted(number)} {would} to {topic}" for topic, number in sorted(replay_plan.targets.items())]
    if replay_plan.left:
        texts.append(f"{counted(len(replay_plan.left))} left")
    if replay_plan.passed_by:
        texts.append(f"{replay_plan.passed_by:,} replayed before (--again replays them, too)")
    if replay_plan.more:
        texts.append("more letters match, beyond --limit")
    click.echo(f"{queue}: {'; '.join(texts) or 'no letter matches'}", err=True)


def _row(decision: Outgoing | Left) -> tuple[str, ...]:
    letter = decision.letter
    place, origin = f"{letter.partition}@{letter.offset}", printable(letter.origin or "-")
    if isinstance(decision, Left):
        return place, origin, "-", printable(decision.why)
    return place, f"{origin} (claimed)" if decision.proof is Proof.CLAIMED else origin, decision.to, ""
