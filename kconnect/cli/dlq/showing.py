"""`kconnect dlq show`: letters, with where they came from and what went wrong."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from kconnect.cli import connection, outcome_text, output
from kconnect.cli.brokers import Brokers
from kconnect.cli.connection import Target
from kconnect.cli.dlq import options, queues
from kconnect.cli.dlq.chains import readers, reporters
from kconnect.cli.outcome_text import bytes_text, echo, printable
from kconnect.dlq.chains import Chains
from kconnect.dlq.choice import Choice
from kconnect.dlq.letters import Letter, counted, moment, short
from kconnect.dlq.memory import Done, includes
from kconnect.dlq.queue import Queue
from kconnect.errors import ConnectError

_LABEL = 12


@click.command()
@click.argument("name", metavar="QUEUE")
@connection.options
@connection.kafka_options
@click.option("-n", "--limit", type=click.IntRange(min=1), default=10, show_default=True, help="Show at most so many letters.")
@click.option("--oldest", is_flag=True, help="Show the oldest letters rather than the newest.")
@click.option("--decode", is_flag=True, help="Show keys and values as the connector's converters read them.")
@click.option(
    "--chain-of",
    metavar="CONNECTOR",
    help="With --decode: use the converters of this connector. Default: the one that wrote the letter.",
)
@click.option("-o", "--output", "form", type=click.Choice(["text", "table", "json", "yaml"]), default="text", show_default=True)
@options.options
def show(
    name: str,
    target: Target,
    brokers: Brokers,
    limit: int,
    oldest: bool,
    decode: bool,
    chain_of: str | None,
    form: str,
    choice: Choice,
) -> None:
    """
    Show dead letters: where they came from, and what went wrong.

    \b
      kconnect dlq show orders-dead
      kconnect dlq show orders-dead --stage VALUE_CONVERTER --exception 'Json*' -n 3
      kconnect dlq show orders-dead --since -2h --contains 4711 --decode
      kconnect dlq show orders-dead --offset 12:40 -o json

    QUEUE is the topic, or a connector that names it. A letter has the time of the record that failed. Keys and values are
    shown as text, else in hexadecimal; -o json has all of them, and the stack trace. Nothing is committed.
    """
    with queues.find(brokers, target, name) as queue, contextlib.ExitStack() as stack:
        done_before = _replayed(queue)
        letters = queue.some(choice, limit, oldest)
        tried = None
        if decode:
            tried = stack.enter_context(readers(brokers, target, reporters(brokers, target, queue.name, chain_of)))
        bodies = [_decoded(letter, tried) for letter in letters]
    if form in ("json", "yaml"):
        output.write([_json(letter, body, done_before) for letter, body in zip(letters, bodies)], form)
    elif form == "table":
        output.table(("letter", "from", "connector", "why", "message", "time"), map(_row, letters))
    else:
        console = outcome_text.console()
        for letter, body in zip(letters, bodies):
            _print(console, letter, body, done_before)
    if not letters:
        what = "is empty" if choice.everything else "has no letter that matches these options"
        click.echo(f"The queue {queue.name} {what}", err=True)
    elif len(letters) == limit and form == "text":
        click.echo(f"Only the {'oldest' if oldest else 'newest'} {counted(limit)}; -n N shows more", err=True)


def _replayed(queue: Queue) -> dict[int, Done]:
    try:
        return queue.replayed()
    except ConnectError as error:
        # Whoever may only read topics sees the letters all the same.
        click.echo(f"Can't show which letters have been replayed: {error}", err=True)
        return {}


def _decoded(letter: Letter, tried: Chains | None) -> dict[str, Any] | str | None:
    """The record as converters read it, or why they can't."""
    if tried is None:
        return None
    try:
        outcome = tried.run(letter)
    except ConnectError as error:
        return str(error)
    if outcome.error is not None:
        text = " ".join(f"{short(outcome.error.class_name)}: {outcome.error.message} {outcome.error.cause}".split())
        return f"{outcome.error.stage}: {text}"
    return outcome.record


def _json(letter: Letter, body: Any, replays: dict[int, Done]) -> dict[str, Any]:
    document = {**letter.as_json(), "replayed": includes(replays, letter.partition, letter.offset)}
    if isinstance(body, str):
        document["decode_error"] = body
    elif body is not None:
        document["decoded"] = {"key": body["key"]["payload"], "value": body["value"]["payload"]}
    return document


def _row(letter: Letter) -> tuple[str, ...]:
    at = "-" if letter.timestamp is None else moment(letter.timestamp)
    message = printable(" ".join((letter.message or letter.cause or "-").split()))
    message = message if len(message) <= 60 else f"{message[:59]}…"
    return f"{letter.partition}@{letter.offset}", letter.origin or "-", letter.connector or "-", letter.why, message, at


def _print(console: Console, letter: Letter, body: dict[str, Any] | str | None, replays: dict[int, Done]) -> None:
    at = "no time" if letter.timestamp is None else moment(letter.timestamp)
    head = Text.assemble((printable(letter.place), "bold"), f"  {at}")
    if includes(replays, letter.partition, letter.offset):
        head.append("  replayed", "green")
    echo(console, head)
    for label, text, style in _lines(letter, body):
        lead = f"  {label:<{_LABEL}} "
        # Folded at the width of a terminal; elsewhere a line is a line, however long.
        folded = text.wrap(console, max(24, console.width - len(lead)), overflow="fold") if console.is_terminal else [text]
        for number, line in enumerate(folded):
            echo(console, Text.assemble((lead if number == 0 else " " * len(lead), style), line))
    echo(console, Text())


def _lines(letter: Letter, body: dict[str, Any] | str | None) -> Iterator[tuple[str, Text, str]]:
    def line(label: str, text: str, style: str = "") -> tuple[str, Text, str]:
        return printable(label), Text(printable(text), style), "cyan"

    if not letter.context:
        yield line("from", "unknown: it does not have Connect's headers (errors.deadletterqueue.context.headers.enable)")
    elif letter.of_source:
        place = " ".join(letter.context.get(name, "") for name in ("source.partition", "source.offset"))
        yield line("for", f"{letter.topic or '?'}, from {place}")
    else:
        yield line("from", f"{letter.origin}, by its headers" if letter.origin else "not told")
    if letter.connector:
        yield line("by", f"{letter.connector}, task {letter.context.get('task.id', '?')}")
    if letter.stage:
        yield line("at", " ".join(part for part in (letter.stage, letter.context.get("class.name")) if part))
    if letter.exception:
        message = " ".join((letter.message or "").split())
        yield line("failed", f"{letter.exception}: {message}" if message else letter.exception, "red")
    if letter.cause:
        yield line("first cause", letter.cause, "red")
    if letter.replays:
        yield line("came back", f"after {counted(letter.replays, 'replay')}", "yellow")
    if isinstance(body, dict):
        for place, cell in outcome_text.cells(body).items():
            if place.split(".")[0].split("[")[0] in ("key", "value") or place.startswith("header "):
                yield line(place, cell.shown)
        return
    yield line("key", bytes_text(letter.key))
    yield line("value", bytes_text(letter.value))
    for name, data in letter.own_headers:
        yield line(f"header {name}", bytes_text(data))
    if isinstance(body, str):
        yield line("not decoded", body, "yellow")
