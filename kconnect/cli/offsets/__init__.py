"""
`kconnect offsets`: see, set, reset, rewind, compare, save and restore what connectors have got to, over REST (KIP-875).

It works with Apache Kafka Connect 3.6 and newer, too. A command is a module; what they share is in `entries.py` (the offsets
themselves), `snapshot.py` (files), `subject.py` (the connector, and where its topics are) and `stopped.py` (changes).
"""

from __future__ import annotations

import click

from kconnect.cli.lazy import LazyGroup

_COMMANDS = {
    "get": ("kconnect.cli.offsets.get", "Show where connectors are, and how far behind."),
    "set": ("kconnect.cli.offsets.set:set_", "Make a connector go on from other offsets."),
    "reset": ("kconnect.cli.offsets.reset", "Reset all of a connector's offsets, so that it starts over."),
    "rewind": ("kconnect.cli.offsets.rewind", "Move a sink to a time, to a topic's beginning or end, or back by some records."),
    "diff": ("kconnect.cli.offsets.diff", "Compare a connector's offsets with a file's or another cluster's."),
    "export": ("kconnect.cli.offsets.export", "Write connectors' offsets to standard output, for diff and import."),
    "import": ("kconnect.cli.offsets.restore:import_", "Set connectors' offsets to those of a file that export wrote."),
}


@click.group(cls=LazyGroup, commands_in=_COMMANDS)
def offsets() -> None:
    """
    Show and change connectors' offsets: how far they have come.

    \b
      kconnect offsets get orders-sink --bootstrap-server localhost:9092
      kconnect offsets set orders-sink orders/0=1234 --stop
      kconnect offsets rewind orders-sink --to-time -2h --stop --bootstrap-server localhost:9092
      kconnect offsets export --all > offsets.yaml
      kconnect offsets diff orders-sink offsets.yaml

    Offsets change only while a connector is STOPPED: --stop has it stopped, changed, and brought back to where it was.
    """
