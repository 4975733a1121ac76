"""`kconnect topics compact-view`: the state that a worker would read. `internal_topics/view.py` makes it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kconnect.cli import asking, output
from kconnect.cli.topics import topics
from kconnect.cli.topics.dump import matches

if TYPE_CHECKING:
    from kconnect.cli.brokers import Brokers


@click.command("compact-view")
@click.argument("connector", nargs=-1, metavar="[NAME…]")
@topics.source
@output.option("json", "yaml")
@click.option("--show-secrets", is_flag=True, help="Show the values of settings that look like secrets.")
@asking.option
def compact_view(
    connector: tuple[str, ...], brokers: Brokers, snapshot: Path | None, form: str, show_secrets: bool, yes: bool
) -> None:
    """
    Show the state that a worker would read from the internal topics.

    \b
      kconnect topics compact-view --worker-file worker.properties
      kconnect topics compact-view orders 'billing-*' --worker-file worker.properties -o yaml
      kconnect topics compact-view --snapshot backup.jsonl.gz -o json

    That is what is left of them once brokers have compacted them: the connectors with their configs, target states and the task
    configs that are in force, their statuses, offsets and topics. The table is short; `-o yaml` has everything. Sinks
    have their offsets in consumer groups, not in these topics.
    """
    from kconnect.errors import NotFoundError
    from kconnect.internal_topics import view
    from kconnect.internal_topics.masking import Mask

    if show_secrets:
        asking.confirm("This shows passwords and other secrets as they are stored. Continue?", yes)
    contents = topics.load(brokers, snapshot)
    topics.refuse_foreign(contents)
    mask = Mask.of(contents.records, show_secrets)
    summary = view.summary(contents, mask, lambda name: not connector or matches(name, connector))
    if connector and not summary["connectors"] and not summary["gone"]:
        raise NotFoundError(f"No connector in {_names(summary)} is called {', '.join(connector)}")
    if form != "table":
        output.write(summary, form)
        return
    headings = ("name", "target state", "tasks", "statuses", "offsets", "topics")
    output.table(headings, [_row(name, connector_row) for name, connector_row in summary["connectors"].items()])
    for name, remains in summary["gone"].items():
        click.echo(f"{name} is gone; these records of it remain: {', '.join(remains)}")
    leader = summary.get("workers", {}).get("leader")
    if leader:
        click.echo(f"Led by {leader} when the topics were last written, term {summary['workers']['term']}")


def _names(summary: dict[str, Any]) -> str:
    return ", ".join(topic["name"] for topic in summary["topics"].values())


def _row(name: str, connector: dict[str, Any]) -> tuple[str, ...]:
    states = Counter(unit["state"] for unit in connector["status"].values())
    text = ", ".join(f"{count} {state}" for state, count in sorted(states.items())) or "none"
    return (
        name,
        connector["target_state"],
        str(connector["tasks"]),
        text,
        str(len(connector["offsets"])),
        str(len(connector["topics"])),
    )
