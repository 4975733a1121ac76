"""`kconnect offsets get`: where connectors are, with end and lag where the brokers are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kconnect.cli import connection, output, selection
from kconnect.cli.brokers import Brokers
from kconnect.cli.connection import Target
from kconnect.cli.offsets import subject
from kconnect.cli.offsets.entries import Entries, shown_offset, sink_offsets, text
from kconnect.cli.offsets.subject import Subject
from kconnect.cli.selection import Wanted

if TYPE_CHECKING:
    from kconnect.rest.client import ConnectClient


@click.command()
@selection.arguments
@connection.options
@connection.kafka_options
@output.option("json", "yaml")
def get(wanted: Wanted, target: Target, brokers: Brokers, form: str) -> None:
    """
    Show connectors' offsets, and how far behind they are.

    \b
      kconnect offsets get orders-sink
      kconnect offsets get 'orders-*' --bootstrap-server localhost:9092
      kconnect offsets get orders-sink -o json > offsets.json

    Of a sink: the next record of each partition, and with --bootstrap-server the end of the partition and the lag. Of a
    source: what its plugin counts by, as JSON. With -o, one connector's offsets are as the REST API has them and as `set -f`
    takes them; those of several are as `export` writes them.
    """
    with target.connect() as client:
        offsets_of = [
            (one_subject, one_subject.offsets(client))
            for one_subject in (subject.of(client, name) for name in wanted.names(client))
        ]
        if form != "table":
            output.write(_document(client, wanted, offsets_of), form)
            return
        for one_subject, offsets in offsets_of:
            if not offsets:
                click.echo(f"{one_subject.name} has no offsets: it has not committed any yet, or they were reset", err=True)
        _tables(offsets_of, brokers)


def _document(client: ConnectClient, choice: Wanted, offsets: list[tuple[Subject, Entries]]) -> Any:
    if choice.patterns == tuple(one_subject.name for one_subject, _ in offsets) and len(offsets) == 1:
        return {"offsets": offsets[0][1]}
    from kconnect.cli.offsets.export import document

    return document(client, offsets)


def _tables(offsets_found: list[tuple[Subject, Entries]], brokers: Brokers) -> None:
    sinks = [(one_subject, offsets) for one_subject, offsets in offsets_found if one_subject.kind == "sink" and offsets]
    sources = [(one_subject, offsets) for one_subject, offsets in offsets_found if one_subject.kind != "sink" and offsets]
    if sinks:
        more = ("end", "lag") if brokers.known else ()
        headings = ("connector", "topic", "partition", "offset", *more)
        output.table(headings, [row for one_subject, offsets in sinks for row in _sink(one_subject, offsets, brokers)])
    if sinks and sources:
        click.echo()
    if sources:
        rows = [
            (one_subject.name, text(entry["partition"]), shown_offset(one_subject.kind, entry["offset"]))
            for one_subject, offsets in sources
            for entry in offsets
        ]
        output.table(("connector", "partition", "offset"), rows)


def _sink(sink: Subject, offsets: Entries, brokers: Brokers) -> list[tuple[str, ...]]:
    at = sink_offsets(offsets)
    if not brokers.known:
        return [(sink.name, place.topic, str(place.partition), str(offset)) for place, offset in at.items()]
    positions = sink.positions(brokers)
    existing = set(positions.partitions({place.topic for place in at}))
    spans = positions.spans([place for place in at if place in existing])
    rows: list[tuple[str, ...]] = []
    for place, offset in at.items():
        # A topic may be gone, while the group keeps its offsets.
        span = spans.get(place)
        more = ("-", "-") if span is None else (str(span.end), str(max(span.end - offset, 0)))
        rows.append((sink.name, place.topic, str(place.partition), str(offset), *more))
    return rows
