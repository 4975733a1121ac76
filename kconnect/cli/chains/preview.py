"""`kconnect preview`: records before and after each step of a connector's chain, and the bytes at the end."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from kconnect.cli import connection, connector_file, manifests, outcome_text
from kconnect.cli.brokers import told_once
from kconnect.cli.chains import against
from kconnect.cli.connection import Target
from kconnect.cli.files import InputError
from kconnect.errors import DataError

if TYPE_CHECKING:
    from kconnect.core.settings.worker import WorkerSettings
    from kconnect.preview import preview as engine

_FROM_TOPIC = 10


@click.command()
@click.option(
    "-f",
    "--file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The connector's config: JSON as REST takes it, YAML, or .properties.",
)
@click.option(
    "--against",
    "connector",
    metavar="NAME",
    help="Use the config of this running connector. With -f, show what changes with that file's settings on top.",
)
@connection.later
@click.option("--input", "source", type=click.File("r", "utf-8"), help="Records, one JSON object a line; - is standard input.")
@click.option("--topic", help="Take records from this topic.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="Take at most so many records. Default: 10 of a topic, all of --input.",
)
@click.option("--newest", is_flag=True, help="Take the topic's last records rather than its first.")
@click.option("--partition", type=click.IntRange(min=0), help="Take records of this partition only.")
@click.option("--offset", type=click.IntRange(min=0), help="Take records from this offset on; needs --partition.")
@click.option(
    "-w",
    "--worker-file",
    "--worker-config",
    "worker",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The worker's file: its converters, plugin.path and brokers. Default: JsonConverter.",
)
@click.option("--bootstrap-server", "servers", help="Where Kafka is, host:port.")
@click.option(
    "--kind",
    type=click.Choice(["source", "sink"]),
    help="The kind of connector, if its class is not installed here.",
)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def preview(
    file: Path | None,
    connector: str | None,
    target: Callable[[], Target],
    source: TextIO | None,
    topic: str | None,
    limit: int | None,
    newest: bool,
    partition: int | None,
    offset: int | None,
    worker: Path | None,
    servers: str | None,
    kind: str | None,
    output: str,
) -> int:
    """
    Show what a connector's chain does to records, step by step.

    \b
      kconnect preview -f connector.json --input records.jsonl
      kconnect preview -f connector.json --topic orders --limit 3 --bootstrap-server localhost:9092
      kconnect preview -f connector.json --topic orders --partition 0 --offset 1234 -w worker.properties
      kconnect preview --against orders --input records.jsonl
      kconnect preview --against orders -f changes.yaml --topic orders --bootstrap-server localhost:9092

    No worker is needed, but for --against. Records of --input are what a source gives, or what a sink's converters made.
    Records of a topic pass the converters first, and nothing is committed. Nothing is written anywhere.

    With --against and -f each record goes through the chain that runs and through the changed one, and those that come out
    otherwise are shown. A file with a connector.class is the whole new config; one without is put on top, and null takes a
    setting away.

    Exit status 1: a record failed, and errors.tolerance is not all; or one comes out otherwise. 2: the command or a setting is
    wrong.
    """
    if file is None and connector is None:
        raise click.UsageError("Give a config: -f FILE, or --against NAME for a running connector")
    _check(source, topic, newest, partition, offset, worker, servers)
    told_once(click.get_current_context())
    settings = connector_file.worker_of(worker, servers)
    plugins = connector_file.plugins_of(settings)
    now = None if connector is None else against.running(target(), connector)
    with contextlib.ExitStack() as stack:

        def chain(where: str, config: Mapping[str, str]) -> engine.Preview:
            built = connector_file.build(where, config, kind, settings, plugins)
            stack.callback(built.close)
            return built

        chains = [] if now is None else [chain(f"the config of {connector}", now)]
        if file is not None:
            chains.append(chain(str(file), manifests.config_of(file) if now is None else against.changed(now, file)))
        if source is not None:
            outcomes = _of_lines(chains, source, limit)
        else:
            outcomes = _of_topic(chains, settings, topic or "", limit or _FROM_TOPIC, partition, offset, newest)
        if len(chains) > 1:
            return _compare(outcomes, output)
        return _print((outcome for (outcome,) in outcomes), output)


def _check(
    source: TextIO | None,
    topic: str | None,
    newest: bool,
    partition: int | None,
    offset: int | None,
    worker: Path | None,
    servers: str | None,
) -> None:
    if (source is None) == (topic is None):
        raise click.UsageError("Give records: either --input FILE or --topic NAME")
    if topic is None and (newest or partition is not None or offset is not None):
        raise click.UsageError("--newest, --partition and --offset choose records of a --topic")
    if offset is not None and (partition is None or newest):
        raise click.UsageError("--offset needs --partition, and goes without --newest")
    if topic is not None and not servers and not connector_file.has_brokers(worker):
        raise click.UsageError(
            "--topic needs Kafka's address: give --bootstrap-server HOST:PORT, or -w with a worker file that has "
            "bootstrap.servers"
        )


def _of_lines(chains: Sequence[engine.Preview], source: TextIO, limit: int | None) -> Iterator[list[engine.Outcome]]:
    """Yield what each chain makes of each record."""
    lines = connector_file.json_lines(getattr(source, "name", "--input"), source)
    for where, body in itertools.islice(lines, limit):
        yield [chain.shown(run(chain, body, where)) for chain in chains]


def run(chain: engine.Preview, body: Any, where: str) -> engine.Outcome:
    """InputError, naming the place, if it is no record."""
    from kconnect.preview import preview as engine

    try:
        record = engine.read(body, chain.kind)
    except DataError as error:
        raise InputError(f"{where}: {error}") from None
    return chain.message(record) if isinstance(record, engine.Message) else chain.record(record)


def _of_topic(
    chains: Sequence[engine.Preview],
    settings: WorkerSettings,
    topic: str,
    limit: int,
    partition: int | None,
    offset: int | None,
    newest: bool,
) -> Iterator[list[engine.Outcome]]:
    from kconnect.kafka import sample

    for message in sample.messages(settings, chains[0].config, topic, limit, partition, offset, newest):
        yield [chain.shown(chain.message(message)) for chain in chains]


def _print(outcomes: Iterator[engine.Outcome], output: str) -> int:
    console = outcome_text.console()
    verdicts = []
    for number, outcome in enumerate(outcomes, 1):
        verdicts.append(outcome_text.verdict(outcome))
        if output == "json":
            click.echo(_line(outcome.as_json()))
        else:
            outcome_text.show(console, number, outcome)
    if output == "text":
        click.echo(outcome_text.summary(verdicts))
    return 1 if "failed" in verdicts else 0


def _compare(outcomes: Iterator[list[engine.Outcome]], output: str) -> int:
    console = outcome_text.console()
    total = otherwise = 0
    for total, (now, then) in enumerate(outcomes, 1):
        changes = against.differences(now, then)
        otherwise += bool(changes)
        if output == "json":
            click.echo(_line({"same": not changes, "now": now.as_json(), "then": then.as_json()}))
        elif changes:
            against.show(console, total, now, changes)
    if output == "text":
        click.echo(against.summary(total, otherwise))
    return 1 if otherwise else 0


def _line(body: dict[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # Half a pair of surrogates, which no UTF-8 has.
        return json.dumps(body).encode()
