"""`kconnect offsets rewind`: a sink goes on at a time, at an end of its topics, or some records before where it is."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING

import click

from kconnect.cli import asking, connection, output, selection
from kconnect.cli.brokers import Brokers
from kconnect.cli.connection import Target
from kconnect.cli.offsets import moments, stopped, subject
from kconnect.cli.offsets.entries import sink_entry, sink_offsets
from kconnect.cli.offsets.subject import Subject
from kconnect.errors import BadRequestError, ConnectError, NotFoundError

if TYPE_CHECKING:
    from kconnect.kafka.moves import Move
    from kconnect.kafka.positions import Place, Positions
    from kconnect.rest.client import ConnectClient

_TOPIC = re.compile(r"([^/]+)(?:/(\d+))?")


@click.command()
@click.argument("name", shell_complete=selection.complete)
@click.option("--to-time", type=moments.Moment(), help="To the first record of that time or later: 2026-01-31T12:00:00Z, -2h.")
@click.option("--to-earliest", is_flag=True, help="To the first record that is still there.")
@click.option("--to-latest", is_flag=True, help="To the end: the sink gets new records only.")
@click.option("--by", type=click.IntRange(min=1), metavar="N", help="Back by N records in each partition.")
@click.option("--topic", "topics", multiple=True, metavar="T[/P]", help="This topic or partition only; may be repeated.")
@stopped.options
@asking.option
@connection.options
@connection.kafka_options
def rewind(
    name: str,
    to_time: datetime.datetime | None,
    to_earliest: bool,
    to_latest: bool,
    by: int | None,
    topics: tuple[str, ...],
    stop: bool,
    dry_run: bool,
    yes: bool,
    target: Target,
    brokers: Brokers,
) -> None:
    """
    Move a sink to a time, to a topic's beginning or end, or back by some records.

    \b
      kconnect offsets rewind orders-sink --to-time 2026-01-31T12:00:00Z --dry-run --bootstrap-server localhost:9092
      kconnect offsets rewind orders-sink --to-time -2h --stop -w worker.properties
      kconnect offsets rewind orders-sink --by 100 --topic orders/0 --stop -w worker.properties

    Shows where each partition goes and how many records come again, at most: where a topic is compacted or written in
    transactions, offsets are fewer records. A time after the last record is the end. Nothing goes before the first record
    that is still there, nor behind the end. A time without a zone is UTC.
    """
    if sum((to_time is not None, to_earliest, to_latest, by is not None)) != 1:
        raise click.UsageError("Give one of --to-time TIME, --to-earliest, --to-latest and --by N.")
    to, number = ("earliest" if to_earliest else "latest"), 0
    if to_time is not None:
        to, number = "time", moments.milliseconds(to_time)
    elif by is not None:
        to, number = "back", by
    with target.connect() as client:
        of = subject.of(client, name)
        _require_sink(of)
        positions = of.positions(brokers)

        def decide() -> list[Move]:
            return _decide(client, of, positions, topics, to, number)

        if not dry_run:
            stopped.require(client, name, stop)
        moves = decide()
        if to_time is not None:
            click.echo(f"To {moments.shown(to_time)}", err=True)
        _show(moves)
        if dry_run or not _wanted(moves):
            return
        asking.confirm(f"Move {name}?", yes)
        with stopped.changing(client, name, stop):
            # It may have read on since.
            new_entries = [sink_entry(move.place, move.new) for move in _wanted(decide())]
            if new_entries:
                click.echo(stopped.write(client, name, lambda: client.alter_offsets(name, new_entries), new_entries), err=True)


def _require_sink(of: Subject) -> None:
    if of.kind != "sink":
        raise BadRequestError(
            f"{of.name} is a {of.kind}: only its plugin knows what its offsets mean, so kconnect can't find one by time or "
            f"number. Show them with kconnect offsets get {of.name} -o json, change them with kconnect offsets set {of.name} "
            f"-f FILE, or make it start over with kconnect offsets reset {of.name}"
        )


def _decide(
    client: ConnectClient,
    of: Subject,
    positions: Positions,
    topics: tuple[str, ...],
    to: str,
    number: int,
) -> list[Move]:
    from kconnect.kafka import moves

    read = of.offsets(client)
    places = positions.partitions(of.topics(client, read))
    if not places:
        raise NotFoundError(
            f"None of the topics of {of.name} exists on these brokers. Check that they are the brokers that it reads from"
        )
    if topics:
        chosen = {place for argument in topics for place in _chosen(of, argument, places)}
        places = [place for place in places if place in chosen]
    return moves.planned(positions, places, sink_offsets(read), to, number)


def _chosen(of: Subject, argument: str, places: list[Place]) -> list[Place]:
    match = _TOPIC.fullmatch(argument)
    if match is None:
        raise click.UsageError(f"--topic {argument}: give TOPIC or TOPIC/PARTITION.")
    topic, number = match[1], match[2]
    of_topic = [place for place in places if place.topic == topic]
    if not of_topic:
        topics = ", ".join(sorted({place.topic for place in places}))
        raise NotFoundError(f"{of.name} does not read the topic {topic}; it reads {topics}")
    chosen = [place for place in of_topic if number is None or place.partition == int(number)]
    if not chosen:
        raise NotFoundError(f"The topic {topic} has no partition {number}; its last one is {len(of_topic) - 1}")
    return chosen


def _wanted(moves: list[Move]) -> list[Move]:
    return [move for move in moves if move.changes]


def _show(moves: list[Move]) -> None:
    if not moves:
        raise ConnectError("The sink has no offsets yet, so it can't go back by --by: start it first, or use --to-time")
    rows = [
        (
            move.place.topic,
            str(move.place.partition),
            "-" if move.now is None else str(move.now),
            str(move.new),
            str(move.again),
            str(move.skipped),
        )
        for move in moves
    ]
    output.table(("topic", "partition", "now", "then", "again", "skipped"), rows)
    again, skipped = (sum(getattr(move, what) for move in moves) for what in ("again", "skipped"))
    texts = [f"{again} record(s) are read again"] if again else []
    texts += [f"{skipped} are skipped"] if skipped else []
    click.echo(f"At most {' and '.join(texts)}" if texts else "No record is read again, and none is skipped", err=True)
    if not _wanted(moves):
        click.echo("The offsets have these values already", err=True)
