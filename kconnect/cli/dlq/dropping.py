"""`kconnect dlq drop`: deletes letters from the beginning of a queue, the only ones that Kafka can delete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import click

from kconnect.cli import asking, connection
from kconnect.cli.brokers import Brokers
from kconnect.cli.connection import Target
from kconnect.cli.dlq import options, queues
from kconnect.dlq.choice import Choice
from kconnect.dlq.letters import Letter, counted
from kconnect.dlq.memory import includes
from kconnect.errors import BadRequestError
from kconnect.kafka.cluster import Cluster


@dataclass
class Prefix:
    """
    The letters at the beginning of each partition that match: the offset before which all match, how many do, and how many
    matched behind others.
    """

    ends: dict[int, int] = field(default_factory=dict)
    count: int = 0
    beyond: int = 0


@click.command()
@click.argument("name", metavar="QUEUE")
@connection.options
@connection.kafka_options
@click.option("--all", "everything", is_flag=True, help="All letters.")
@click.option("--replayed", is_flag=True, help="Letters that have been replayed.")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@asking.option
@options.options
def drop(
    name: str, target: Target, brokers: Brokers, everything: bool, replayed: bool, dry_run: bool, yes: bool, choice: Choice
) -> None:
    """
    Delete dead letters from the beginning of a queue.

    \b
      kconnect dlq drop orders-dead --replayed
      kconnect dlq drop orders-dead --offset :1200 --dry-run
      kconnect dlq drop orders-dead --until 2026-01-31
      kconnect dlq drop orders-dead --all --yes

    Dropped letters are gone for good. Kafka deletes the records of a partition up to an offset, and none from the middle. So
    the letters that match must be the first ones. Where others stand before some of them, nothing is deleted, and the command
    says how many could be, with which options.
    """
    if everything != (choice.everything and not replayed):
        raise click.UsageError("Choose letters with --replayed, --offset, --until or another filter, or give --all")
    with queues.find(brokers, target, name) as queue:
        queues.require_queue(queue)
        done_before = queue.replayed() if replayed else {}
        bounds = queue.bounds()
        if not replayed and (beginnings := _beginnings(bounds, choice)) is not None:
            # Nothing is read: what a letter says of itself keeps nobody from deleting it.
            matching = Prefix({place: end for place, (_, end) in beginnings.items()}, _size(beginnings))
        else:

            def takes(letter: Letter) -> bool:
                return choice.takes(letter) and (not replayed or includes(done_before, letter.partition, letter.offset))

            matching = prefix(queue.letters(bounds), takes)
        if matching.beyond:
            raise BadRequestError(_scattered(matching))
        if not matching.count:
            click.echo(f"No letter of {queue.name} matches: nothing to delete", err=True)
            return
        up_to = ", ".join(f"{queue.name}-{place} up to offset {end - 1}" for place, end in sorted(matching.ends.items()))
        if dry_run:
            click.echo(f"Would delete {counted(matching.count)}: {up_to}")
            return
        asking.confirm(f"Delete {counted(matching.count)} for good, {up_to}?", yes)
        Cluster(brokers.client_config("admin")).delete_before(queue.placed(matching.ends))
        click.echo(f"Deleted {counted(matching.count)}: {up_to}")


def prefix(letters: Iterable[Letter], takes: Callable[[Letter], bool]) -> Prefix:
    """`letters` are in order of their offsets within each partition."""
    matching, closed = Prefix(), set()
    for letter in letters:
        if not takes(letter):
            closed.add(letter.partition)
        elif letter.partition in closed:
            matching.beyond += 1
        else:
            matching.ends[letter.partition] = letter.offset + 1
            matching.count += 1
    return matching


def _scattered(matching: Prefix) -> str:
    ends = ", ".join(f"--queue-partition {place} --offset :{end - 1}" for place, end in sorted(matching.ends.items()))
    could = f"; the first {matching.count:,} of them can be deleted with {ends}" if ends else ""
    return (
        f"{counted(matching.beyond)} that match stand behind others that don't, and Kafka deletes only from the beginning of a "
        f"partition: nothing was deleted{could}"
    )


def _beginnings(bounds: Mapping[int, tuple[int, int]], choice: Choice) -> dict[int, tuple[int, int]] | None:
    """Return what is chosen of each partition, if the choice is by places alone, and of beginnings; None if it is not."""
    chosen = {place: choice.bounds(*span) for place, span in bounds.items() if choice.queue_partition in (None, place)}
    chosen = {place: (begin, end) for place, (begin, end) in chosen.items() if begin < end}
    return chosen if choice.by_place and all(begin == bounds[place][0] for place, (begin, _) in chosen.items()) else None


def _size(bounds: Mapping[int, tuple[int, int]]) -> int:
    return sum(end - begin for begin, end in bounds.values())
