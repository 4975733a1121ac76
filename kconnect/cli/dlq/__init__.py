"""
`kconnect dlq …`: the dead letter queues of a cluster's connectors.

Here is the group; what it does is in `kconnect/dlq/`. `options.py` has the filters, `queues.py` says which queue is meant,
`chains.py` gets the connectors' configs; one command a module: `listing.py`, `showing.py`, `replaying.py`, `dropping.py`.
"""

from __future__ import annotations

import click

from kconnect.cli.lazy import LazyGroup

_COMMANDS = {
    "drop": ("kconnect.cli.dlq.dropping:drop", "Delete dead letters from the beginning of a queue."),
    "list": ("kconnect.cli.dlq.listing:list_queues", "Show the dead letter queues and what is in them."),
    "replay": ("kconnect.cli.dlq.replaying:replay", "Write dead letters to the topics they came from, each once."),
    "show": ("kconnect.cli.dlq.showing:show", "Show dead letters: where they came from, and what went wrong."),
}


@click.group(cls=LazyGroup, commands_in=_COMMANDS)
def dlq() -> None:
    """
    List, show, replay and drop the records that connectors could not process.

    \b
      kconnect dlq list --bootstrap-server localhost:9092
      kconnect dlq show orders-dead --stage VALUE_CONVERTER -n 3
      kconnect dlq replay orders-dead --through-chain --dry-run
      kconnect dlq replay orders-dead
      kconnect dlq drop orders-dead --replayed

    A queue is a topic that a connector names in errors.deadletterqueue.topic.name; its name or the connector's will do. What
    went wrong is in the letters' headers if errors.deadletterqueue.context.headers.enable=true.
    """
