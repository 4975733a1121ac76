"""`kconnect topics dump`: every record of the internal topics, with what it means. `internal_topics/meaning.py` knows that."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from kconnect.cli import asking, layout
from kconnect.cli.topics import topics
from kconnect.core.state.records import Topic

if TYPE_CHECKING:
    from kconnect.cli.brokers import Brokers
    from kconnect.internal_topics.contents import Contents, Stored
    from kconnect.internal_topics.masking import Mask

_ROLES = [role.value for role in Topic]


@click.command()
@topics.source
@click.option("--topic", "roles", type=click.Choice(_ROLES), multiple=True, help="Only this topic; may be repeated.")
@click.option(
    "--connector",
    metavar="NAME",
    multiple=True,
    help="Only records of this connector; may be a glob such as 'orders-*'.",
)
@click.option("--since", metavar="TIME", help="Only newer records: `10m`, `2h`, `1d`, or a time such as 2026-01-31T12:00.")
@click.option("-f", "--follow", is_flag=True, help="Then show new records as they are written.")
@click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option(
    "--show-secrets", is_flag=True, help="Show the values of settings that look like secrets. Session keys are never shown."
)
@asking.option
def dump(
    brokers: Brokers,
    snapshot: Path | None,
    roles: tuple[str, ...],
    connector: tuple[str, ...],
    since: str | None,
    follow: bool,
    form: str,
    show_secrets: bool,
    yes: bool,
) -> None:
    """
    Show the records of the internal topics, and what they mean.

    \b
      kconnect topics dump --worker-file worker.properties
      kconnect topics dump --worker-file worker.properties --topic config --connector 'orders-*' --since 2h
      kconnect topics dump --bootstrap-server localhost:9092 --status-topic connect-status -f
      kconnect topics dump --snapshot backup.jsonl.gz -o json | jq -c 'select(.kind == "broken")'

    Each line has a record's topic, its partition and offset, its time in UTC and its meaning; those of all topics are in the
    order of their times. With `-o json` each is an object on a line of its own. A connector's own offset topic is read by
    --offset-topic. Records that nobody can use are shown as broken, with the reason. Only committed records are read.
    """
    from kconnect.internal_topics import checking
    from kconnect.internal_topics.masking import Mask

    if follow and snapshot is not None:
        raise click.UsageError("-f is for topics; a snapshot does not change.")
    record_filter = _Wanted(connector, since)
    if show_secrets:
        asking.confirm("This shows passwords and other secrets as they are stored. Continue?", yes)
    chosen = [Topic(role) for role in roles] or list(Topic)
    if snapshot is None:
        # A UsageError that says how to name it, before anything is read.
        for named in roles:
            getattr(brokers.topics, named)
    # Secrets are known from configs, and may stand in any topic: these are read even if they are not shown.
    read = {*chosen, Topic.CONFIG} if not show_secrets and _knows_configs(brokers, snapshot) else set(chosen)
    contents = topics.load(brokers, snapshot, read)
    mask = Mask.of(contents.records, show_secrets)
    for role in checking.looks_foreign(contents):
        if role in chosen:
            click.echo(
                f"{contents.topics[role].name} holds none of the records of {role.value} topics: check its name",
                err=True,
            )
    lines = _Lines(contents, form)
    shown = _show(_in_time(contents, chosen), record_filter, mask, lines)
    if follow:
        from kconnect.internal_topics import reading

        for record in reading.follow(brokers.client_config(), contents):
            mask.learn(record)
            if record.role in chosen:
                _show([record], record_filter, mask, lines)
    elif not shown:
        click.echo(f"None of {len(contents.records)} records matches these options.", err=True)


def _knows_configs(brokers: Brokers, snapshot: Path | None) -> bool:
    return snapshot is not None or "config" in brokers.topics.known()


def _in_time(contents: Contents, roles: list[Topic]) -> Iterable[Stored]:
    from kconnect.internal_topics.contents import in_time

    return in_time([record for record in contents.records if record.role in roles])


class _Wanted:
    """The records that the options mean."""

    def __init__(self, connectors: tuple[str, ...], since: str | None) -> None:
        from kconnect.cli.connectors.logs import moment

        self._connectors = connectors
        self._since_ms = None if since is None else int(moment(since).timestamp() * 1000)

    def has(self, record: Stored, connector: str | None) -> bool:
        if self._since_ms is not None and record.timestamp_ms < self._since_ms:
            return False
        return not self._connectors or matches(connector, self._connectors)


def matches(connector: str | None, patterns: tuple[str, ...]) -> bool:
    """Whether it is one of the names, or matches one of the globs."""
    return connector is not None and any(
        connector == pattern or fnmatch.fnmatchcase(connector, pattern) for pattern in patterns
    )


def _show(records: Iterable[Stored], choice: _Wanted, mask: Mask, lines: _Lines) -> int:
    from kconnect.internal_topics.meaning import meaning

    count = 0
    for record in records:
        decoded = meaning(record, mask)
        if choice.has(record, decoded.connector):
            count += 1
            lines.write(record, decoded, mask)
    return count


class _Lines:
    """Writes each record as a line, at once: there may be many, and with `-f` they come one by one."""

    def __init__(self, contents: Contents, form: str) -> None:
        self._form = form
        self._names = {role: facts.name for role, facts in contents.topics.items()}
        longest = max((len(f"{p}/{end}") for facts in contents.topics.values() for p, end in facts.ends.items()), default=0)
        self._widths = max((len(role.value) for role in contents.topics), default=0), max(longest, len("AT"))
        self._begun = False

    def write(self, record: Stored, told: Any, mask: Mask) -> None:
        from kconnect.cli.outcome_text import printable
        from kconnect.internal_topics.meaning import time_text

        if self._form == "json":
            line = orjson.dumps(self._data(record, told, mask), option=orjson.OPT_NON_STR_KEYS).decode()
            click.echo(layout.unobeyed(line))
            return
        if not self._begun:
            self._begun = True
            click.echo(self._line("TOPIC", "AT", "TIME", "RECORD"))
        at = f"{record.partition}/{record.offset}"
        click.echo(self._line(record.role.value, at, time_text(record.timestamp_ms), printable(told.text)))

    def _line(self, role: str, at: str, moment: str, text: str) -> str:
        return f"{role:<{self._widths[0]}}  {at:<{self._widths[1]}}  {moment:<23}  {text}"

    def _data(self, record: Stored, decoded: Any, mask: Mask) -> dict[str, Any]:
        key = None if record.key is None else mask.text(record.key.decode("utf-8", "backslashreplace"))
        return {
            "topic": record.role.value,
            "name": self._names[record.role],
            "partition": record.partition,
            "offset": record.offset,
            "timestamp_ms": record.timestamp_ms,
            "key": key,
            "kind": decoded.kind,
            "connector": decoded.connector,
            "text": decoded.text,
            "tombstone": record.value is None,
            "value": decoded.value,
        }
