"""`kconnect topics restore`: a snapshot into fresh topics. `restoring.py` does it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kconnect.cli import asking, connection
from kconnect.cli.topics import topics
from kconnect.core.state.records import Topic
from kconnect.errors import NotFoundError

if TYPE_CHECKING:
    from kconnect.cli.brokers import Brokers
    from kconnect.cli.topics.restoring import Step
    from kconnect.internal_topics.contents import Contents

_ROLES = [role.value for role in (Topic.CONFIG, Topic.OFFSET, Topic.STATUS, Topic.SCHEMAS)]


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@connection.kafka_options
@click.option("--to-config-topic", metavar="NAME", help="Default: that of --worker-file, else as it was.")
@click.option("--to-offset-topic", metavar="NAME", help="Default: that of --worker-file, else as it was.")
@click.option("--to-status-topic", metavar="NAME", help="Default: that of --worker-file, else as it was.")
@click.option("--to-schemas-topic", metavar="NAME", help="Default: that of --worker-file, else by the config topic's name.")
@click.option(
    "--group",
    metavar="NAME",
    help="The workers' group.id; all of them must be stopped. Default: --worker-file's, else as it was.",
)
@click.option("--topic", "roles", type=click.Choice(_ROLES), multiple=True, help="Only this topic; may be repeated.")
@click.option("--create", is_flag=True, help="Create missing topics, with the settings that they had.")
@click.option(
    "--replication-factor",
    type=click.IntRange(1),
    metavar="N",
    help="Replicas of topics that --create creates. Default: as it was.",
)
@click.option(
    "--repartition",
    is_flag=True,
    help="Put each key in the partition that Java's clients choose, even if it was in another one.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")
@asking.option
def restore(
    file: Path,
    brokers: Brokers,
    to_config_topic: str | None,
    to_offset_topic: str | None,
    to_status_topic: str | None,
    to_schemas_topic: str | None,
    group: str | None,
    roles: tuple[str, ...],
    create: bool,
    replication_factor: int | None,
    repartition: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """
    Restore a snapshot into new topics.

    \b
      kconnect topics restore backup.jsonl.gz --worker-file worker.properties --create
      kconnect topics restore backup.jsonl.gz --bootstrap-server localhost:9092 --create --dry-run \\
        --to-config-topic new-configs --to-offset-topic new-offsets --to-status-topic new-status --group connect
      kconnect topics restore backup.jsonl.gz --worker-file worker.properties --topic config --create

    The topics must be empty, or be made by --create, and no worker of the group may live. Records get back their keys, values,
    headers and times, on the partitions where they were, or, if a topic has another number of them, where Java's clients put
    them. Everything is read back and compared. With --topic the others are left as they are. kconnect's assignment topic is
    not restored: a worker makes a new one.

    Offsets of sink connectors are in their consumer groups: as long as these are there, sinks go on where they were.
    """
    from kconnect.cli.topics import restoring, snapshot

    contents = snapshot.read(file)
    new_names = {
        **{Topic.CONFIG: to_config_topic, Topic.OFFSET: to_offset_topic, Topic.STATUS: to_status_topic},
        Topic.SCHEMAS: to_schemas_topic,
    }
    names = _names(contents, brokers, new_names)
    if roles:
        missing = [role for role in roles if Topic(role) not in contents.topics]
        if missing:
            raise NotFoundError(f"The snapshot does not hold the topic of {', '.join(missing)}: leave out --topic {missing[0]}")
        # That of assignments is no choice: it is looked at where the config topic is.
        names = {role: name for role, name in names.items() if role.value in roles or role is Topic.ASSIGNMENT}
    who = group or topics.group(brokers) or contents.group
    if not who:
        raise click.UsageError("Give --group, the group.id of the workers that use these topics; all of them must be stopped.")
    steps = restoring.plan(
        contents, names, brokers.client_config(), who, create=create, repartition=repartition, copies=replication_factor
    )
    for step in steps:
        click.echo(_said(step), err=True)
    if dry_run:
        click.echo("Nothing was written.", err=True)
        return
    asking.confirm(f"Restore {sum(len(step.records) for step in steps)} records at {brokers.address}?", yes)
    restoring.carry_out(steps, brokers.client_config(), brokers.client_config("producer"))
    click.echo(f"Restored {', '.join(step.name for step in steps)}; reading back found all records as they should be.")


def _names(contents: Contents, brokers: Brokers, names_given: dict[Topic, str | None]) -> dict[Topic, str]:
    of_brokers = {Topic(role): name for role, name in brokers.topics.known().items()}
    names = {
        role: names_given[role] or of_brokers.get(role) or facts.name
        for role, facts in contents.topics.items()
        if role in names_given
    }
    if names_given[Topic.CONFIG] is None and Topic.CONFIG in of_brokers:
        names[Topic.ASSIGNMENT] = brokers.topics.assignment
    if Topic.SCHEMAS in names and names_given[Topic.SCHEMAS] is None:
        names[Topic.SCHEMAS] = _schemas(contents, brokers, names.get(Topic.CONFIG))
    return names


def _schemas(contents: Contents, brokers: Brokers, config: str | None) -> str:
    """Return the topic in which workers look for schemas: named after their config topic, unless it was set."""
    name, old = contents.topics[Topic.SCHEMAS].name, contents.topics.get(Topic.CONFIG)
    by_config = old is None or name == f"{old.name}-schemas"
    return brokers.told.get("schema.storage.topic") or (f"{config}-schemas" if config and by_config else name)


def _said(step: Step) -> str:
    from kconnect.internal_topics.meaning import counted

    what = f"{counted(len(step.records), 'record')} into {step.name}"
    if step.settings is not None:
        copies = "1 copy" if step.copies == 1 else f"{step.copies} copies"
        what += f", which is created with {counted(step.partitions, 'partition')}, {copies} of each"
    return f"{what}{', each key to the partition where Java puts it' if step.moved else ''}."
