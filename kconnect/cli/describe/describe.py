"""`kconnect describe KIND NAME…`: the group. One kind a module, `describe_<kind>.py`; `cli/connectors/get.py` has tables of
many."""

from __future__ import annotations

import click

from kconnect.cli.lazy import KindsGroup

_COMMANDS = {
    "connector": (
        "kconnect.cli.describe.connector:connector",
        "Show what is known of connectors, why one has failed, and what to do.",
    ),
    "task": ("kconnect.cli.describe.task:task", "Show what is known of a task, with the trace of its failure."),
    "worker": ("kconnect.cli.describe.worker:worker", "Show what is known of a worker, its hosts, and what it runs."),
    "plugin": ("kconnect.cli.describe.plugin:plugin", "Show what a plugin is, which settings it has, and who uses it."),
}


@click.group(cls=KindsGroup, commands_in=_COMMANDS)
def describe() -> None:
    """
    Show what is known of connectors, why one has failed, and what to do.

    \b
      kconnect describe orders
      kconnect describe connector 'orders-*' --worker-file worker.properties
      kconnect describe orders/0
      kconnect describe worker node-1:8083
      kconnect describe plugin FileStreamSink

    Plurals and two letters work, too: co, ta, wo and pl. Any other word is the name of a connector, or with /NUMBER that of
    a task.
    """
