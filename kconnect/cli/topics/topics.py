"""
`kconnect topics …`: the workers' internal topics, read from the brokers themselves, with no worker alive.

Here is the group, and what its commands share: which topics are meant, and how they are read. One command a module,
`topics_<verb>.py`; what they compute is in `internal_topics/`, which `internal_topics/contents.py` there begins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kconnect.cli import connection
from kconnect.cli.lazy import LazyGroup
from kconnect.core.state.records import OWN, Topic

if TYPE_CHECKING:
    from kconnect.cli.brokers import Brokers
    from kconnect.internal_topics.contents import Contents

_COMMANDS = {
    "check": ("kconnect.cli.topics.check:check", "Check the internal topics for problems."),
    "compact-view": (
        "kconnect.cli.topics.compact_view:compact_view",
        "Show the state that a worker would read from the internal topics.",
    ),
    "dump": ("kconnect.cli.topics.dump:dump", "Show the records of the internal topics, and what they mean."),
    "export": ("kconnect.cli.topics.export:export", "Write a snapshot of the internal topics to a file."),
    "restore": ("kconnect.cli.topics.restore:restore", "Restore a snapshot into new topics."),
}


@click.group(cls=LazyGroup, commands_in=_COMMANDS)
def topics() -> None:
    """
    Show, check, save and restore the workers' internal topics.

    \b
      kconnect topics check --worker-file worker.properties
      kconnect topics dump --worker-file worker.properties --connector orders
      kconnect topics export backup.jsonl.gz --worker-file worker.properties

    They ask the brokers and no worker, so that they work while none lives; for kconnect's topics and Kafka Connect's alike. The
    topics are those of --worker-file, or given by name: --config-topic, --offset-topic, --status-topic. Secrets are not shown.
    """


def source(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that say where the topics are; the command hands `brokers` and `snapshot` to `load`."""
    file = click.option(
        "--snapshot",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Read a file of `kconnect topics export` instead.",
    )
    return connection.topic_options(file(command))


def load(brokers: Brokers, snapshot: Path | None, roles: Collection[Topic] = tuple(Topic)) -> Contents:
    """
    Return the content of the topics, or of those that `roles` names. Say on standard error which of them do not exist.

    UsageError if nothing says which topics, NotFoundError if none of them exists.
    """
    from kconnect.cli.topics import snapshot as snapshots
    from kconnect.internal_topics import reading

    if snapshot is not None:
        contents = snapshots.read(snapshot)
        contents.records = [record for record in contents.records if record.role in roles]
        contents.topics = {role: facts for role, facts in contents.topics.items() if role in roles}
        return contents
    chosen = {role: name for role, name in names(brokers).items() if role in roles}
    with _Progress() as progress:
        contents = reading.read(brokers.client_config(), chosen, group(brokers), progress.show)
    for role, name in contents.missing.items():
        # Kafka Connect has no such topic.
        if role not in OWN:
            click.echo(f"The topic {name} does not exist.", err=True)
    return contents


def refuse_foreign(contents: Contents) -> None:
    """BadRequestError if a topic holds records, and nothing that a worker would have written there."""
    from kconnect.errors import BadRequestError
    from kconnect.internal_topics import checking

    for role in checking.looks_foreign(contents):
        name, count = contents.topics[role].name, len(contents.of(role))
        raise BadRequestError(
            f"{name} is not the {role.value} topic: none of its {count} records is one that a worker writes there. Name the "
            f"right topic with --{role.value}-topic"
            if role not in OWN
            else f"{name} is not kconnect's {role.value} topic: none of its {count} records is one that it writes there"
        )


def names(brokers: Brokers) -> dict[Topic, str]:
    """Return the names that the worker file and options tell; those of kconnect's own topics follow from the config topic."""
    of_brokers = brokers.topics.known()
    by_role = {Topic(role): name for role, name in of_brokers.items()}
    if Topic.CONFIG in by_role:
        by_role |= {Topic.ASSIGNMENT: brokers.topics.assignment, Topic.SCHEMAS: brokers.topics.schemas}
    if not by_role:
        raise click.UsageError(
            "Say which topics: give the workers' --worker-file, or the names with --config-topic, --offset-topic and "
            "--status-topic."
        )
    return by_role


def group(brokers: Brokers) -> str:
    """The workers' `group.id`; empty if nothing tells it."""
    try:
        return brokers.topics.group
    except click.UsageError:
        return ""


class _Progress:
    """Counts records on a terminal's standard error, for topics that take a while."""

    def __enter__(self) -> _Progress:
        from rich.console import Console

        console = Console(stderr=True)
        self._status = console.status("Reading the topics") if console.is_terminal else None
        if self._status is not None:
            self._status.start()
        return self

    def show(self, count: int) -> None:
        if self._status is not None:
            self._status.update(f"Reading the topics: {count} records")

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()
