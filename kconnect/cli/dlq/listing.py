"""`kconnect dlq list`: the queues that the cluster's connectors name, with what is in them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import click

from kconnect.cli import connection, output
from kconnect.cli.brokers import Brokers
from kconnect.cli.connection import Target
from kconnect.cli.dlq import queues
from kconnect.dlq.letters import Letter, moment
from kconnect.dlq.queue import Owner, Queue
from kconnect.errors import ConnectError, UnavailableError

_CAUSES = 3


@dataclass
class Found:
    """A queue. `letters` None: nobody was asked, there is no topic yet (`there`), or it can't be read (`problem`)."""

    queue: str
    owners: list[Owner]
    letters: int | None = None
    there: bool | None = None
    problem: str | None = None
    looked_at: int = 0
    first: int | None = None
    last: int | None = None
    causes: Counter[str] = field(default_factory=Counter)

    def count(self, letter: Letter) -> None:
        self.looked_at += 1
        self.causes[letter.why] += 1
        if letter.timestamp is not None:
            self.first = letter.timestamp if self.first is None else min(self.first, letter.timestamp)
            self.last = letter.timestamp if self.last is None else max(self.last, letter.timestamp)

    def as_json(self) -> dict[str, Any]:
        return {
            "queue": self.queue,
            "connectors": [owner.connector for owner in self.owners],
            "headers": all(owner.told for owner in self.owners),
            "topic_exists": self.there,
            "problem": self.problem,
            "letters": self.letters,
            "looked_at": self.looked_at,
            "first": None if self.first is None else moment(self.first),
            "last": None if self.last is None else moment(self.last),
            "causes": dict(self.causes.most_common()),
        }

    def row(self) -> tuple[str, ...]:
        names = ",".join(owner.connector for owner in self.owners)
        causes = ", ".join(f"{number:,} {why}" for why, number in self.causes.most_common(_CAUSES))
        more = len(self.causes) - _CAUSES
        count = "?" if self.letters is None else f"{self.letters:,}"
        times = ("-" if at is None else moment(at)[:19] + "Z" for at in (self.first, self.last))
        return self.queue, names, count, *times, causes + (f", {more} more" if more > 0 else "")


@click.command("list")
@connection.options
@connection.kafka_options
@click.option("--sample", type=click.IntRange(min=0), default=1000, show_default=True, help="How many letters to look at.")
@output.option("json", "yaml", "name")
def list_queues(target: Target, brokers: Brokers, sample: int, form: str) -> int:
    """
    Show the dead letter queues and what is in them.

    \b
      kconnect dlq list --bootstrap-server localhost:9092
      kconnect dlq list --worker-file worker.properties --sample 100000
      kconnect dlq list -o name

    Times and causes are those of the newest letters (--sample) of each partition. The times are those of the records that
    failed, which Connect gives to their letters. Without --bootstrap-server only the names are shown.

    Exit status 1: a queue can't be read; the others are shown.
    """
    entries = [Found(queue, list(some)) for queue, some in groupby(queues.owners(target), key=lambda owner: owner.queue)]
    if form == "name":
        for entry in entries:
            click.echo(entry.queue)
        return 0
    if brokers.known:
        for entry in entries:
            _look(brokers, entry, sample)
    status = 1 if any(entry.problem for entry in entries) else 0
    if form != "table":
        output.write([entry.as_json() for entry in entries], form)
        return status
    if not entries:
        click.echo("No connector has a dead letter queue: none sets errors.deadletterqueue.topic.name", err=True)
        return 0
    output.table(("queue", "connectors", "letters", "first", "last", "why"), (entry.row() for entry in entries))
    for line in _notes(entries, brokers.known):
        click.echo(line, err=True)
    return status


def _look(brokers: Brokers, entry: Found, sample: int) -> None:
    """UnavailableError if no broker answers: then none does for the other queues either."""
    try:
        with Queue(brokers.client_config, entry.queue) as queue:
            look(queue, entry, sample)
    except UnavailableError:
        raise
    except ConnectError as error:
        entry.problem, entry.letters = " ".join(str(error).split()), None


def look(queue: Queue, found: Found, sample: int) -> None:
    bounds = queue.bounds()
    found.there = bool(bounds)
    found.letters = sum(end - begin for begin, end in bounds.values())
    newest = {place: (max(begin, end - sample), end) for place, (begin, end) in bounds.items()}
    for letter in queue.letters(newest):
        found.count(letter)
    if newest == bounds:
        # Offsets that no letter fills do not count where all letters have been seen.
        found.letters = found.looked_at


def _notes(entries: list[Found], asked: bool) -> list[str]:
    notes = []
    if not asked:
        notes.append("To count the letters, give --bootstrap-server HOST:PORT")
    notes += [f"{entry.queue} can't be read: {entry.problem}" for entry in entries if entry.problem]
    missing = [entry.queue for entry in entries if entry.there is False]
    if missing:
        notes.append(f"No task has created these topics yet: {', '.join(missing)}")
    partly = [entry.queue for entry in entries if entry.letters is not None and entry.looked_at < entry.letters]
    if partly:
        notes.append(f"Times and causes of these are from the newest letters only (--sample): {', '.join(partly)}")
    silent = sorted({owner.connector for entry in entries for owner in entry.owners if not owner.told})
    if silent:
        setting = "errors.deadletterqueue.context.headers.enable=true"
        notes.append(
            f"Letters of these connectors do not say why they failed, because {setting} is not set: {', '.join(silent)}"
        )
    return notes
