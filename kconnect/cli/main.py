"""
The command line, `kconnect`: a click group whose commands are modules, imported when they are called.

Errors go to standard error in one line that says what to do, `-v` adds the traceback. The exit status tells their kind, by the
table of `kconnect.errors`, which `rest/client.py` follows: 2 a wrong use of the command line (click's), 3 not running or no
answer, 4 not found, 5 conflict, 6 a setting or request that is wrong, 7 not reached in time, 8 not allowed, 9 asked and
answered with no, 1 anything else, 130 Ctrl-C. Read next: the module named after a command.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

import click

from kconnect import interpreter
from kconnect.cli import interrupt, terminal
from kconnect.cli.lazy import LazyGroup
from kconnect.errors import TABLE, ConnectError
from kconnect.errors import in_one_line as lines_in_one

_COMMANDS = {
    "apply": ("kconnect.cli.apply.apply", "Create and change connectors so that they match files."),
    "backfill": ("kconnect.cli.backfill", "Copy tables by all tasks at once, then let Debezium go on from there."),
    "broker": ("kconnect.cli.machine.broker", "Run a local Kafka broker for trying things out."),
    "cluster": ("kconnect.cli.cluster.cluster", "Show the workers, which one leads, and what runs where."),
    "completion": ("kconnect.cli.completion", "Print the script that completes commands, options and names in your shell."),
    "context": ("kconnect.cli.context", "Name clusters, and choose the one that commands use by default."),
    "create": ("kconnect.cli.connectors.create", "Create connectors from files; names that exist are refused."),
    "delete": ("kconnect.cli.connectors.delete", "Delete connectors; their offsets stay."),
    "demo": ("kconnect.cli.machine.demo", "Show data flow through a local broker and worker."),
    "describe": ("kconnect.cli.describe.describe", "Show what is known of connectors, why one has failed, and what to do."),
    "diff": ("kconnect.cli.apply.diff", "Show what apply would change, line by line."),
    "dlq": ("kconnect.cli.dlq", "List, show, replay and drop the records that connectors could not process."),
    "edit": ("kconnect.cli.connectors.edit", "Edit a connector's config and state in your editor."),
    "get": ("kconnect.cli.connectors.get", "Show connectors, tasks, plugins, loggers or workers."),
    "doctor": ("kconnect.cli.checkup.doctor", "Check the machine, Kafka and the workers for problems."),
    "help": ("kconnect.cli.help:help_command", "Show the help of a command, or of all."),
    "lake": ("kconnect.cli.machine.lake", "Set up what SparkSink needs to write tables of Delta Lake and Apache Iceberg."),
    "logs": ("kconnect.cli.connectors.logs", "Show what the logs of all workers and their hosts say about a connector."),
    "migrate": ("kconnect.cli.migrate.migrate", "Move connectors to another cluster, with their offsets, and back."),
    "offsets": ("kconnect.cli.offsets", "Show and change connectors' offsets."),
    "operator": ("kconnect.cli.operator.operator", "Keep connectors as resources of Kubernetes say."),
    "patch": ("kconnect.cli.connectors.patch", "Change or remove some settings of a connector."),
    "pause": ("kconnect.cli.connectors.pause", "Pause connectors: their tasks stay, and do nothing."),
    "plugin": ("kconnect.cli.plugins.plugin", "List, install, remove and check plugins."),
    "preview": ("kconnect.cli.chains.preview", "Show what a connector's chain does to records, step by step."),
    "restart": ("kconnect.cli.connectors.restart", "Restart connectors, their tasks, or only what has failed."),
    "resume": ("kconnect.cli.connectors.pause:resume", "Resume connectors that are paused or stopped."),
    "schemas": ("kconnect.cli.connectors.schemas", "Show, pin and forget the schemas that a sink has inferred of JSON."),
    "set": ("kconnect.cli.cluster.setting:set_group", "Set the level of a logger."),
    "stop": ("kconnect.cli.connectors.pause:stop", "Stop connectors: their tasks end, and their configs and offsets stay."),
    "test": ("kconnect.cli.chains.testing", "Check what a connector's chain makes of records, for a CI."),
    "top": ("kconnect.cli.connectors.top", "Show live how much each connector moves, what waits, and what fails."),
    "topics": ("kconnect.cli.topics.topics", "Show, check, save and restore the workers' internal topics."),
    "user": ("kconnect.cli.cluster.user", "Print a line for the file of users, roles and tokens."),
    "validate": ("kconnect.cli.apply.validate", "Check connectors' configs as the worker would, and change nothing."),
    "version": ("kconnect.cli.cluster.version", "Show the versions of kconnect and of all that it runs on, on this machine."),
    "wait": ("kconnect.cli.connectors.wait", "Wait until connectors and all their tasks are in a state."),
    "worker": ("kconnect.cli.machine.worker", "Run a worker."),
}

_SYNONYMS = {
    **dict.fromkeys(("ls", "list", "ps", "connectors"), ("get connectors", "get")),
    **{kind: (f"get {kind}", f"get {kind}") for kind in ("tasks", "plugins", "workers", "loggers")},
    "status": ("get connectors", "describe"),
    "info": ("cluster", "describe"),
    **dict.fromkeys(("rm", "remove"), ("delete", "delete")),
    "log": ("logs", "logs"),
    "config": ("context", "context"),
    "explain": ("describe plugin", "describe plugin"),
}
"""Words of kcctl, kubectl and habit: what each means alone, and with a name behind it."""

_OF_WORKERS = frozenset(("jpype", "pyspark", "starlette", "uvicorn"))
"""What kconnect-client leaves out (setup.cfg)."""

_SECTIONS = {
    "Connectors": (
        "get",
        "describe",
        "create",
        "apply",
        "diff",
        "validate",
        "edit",
        "patch",
        "delete",
        "pause",
        "resume",
        "stop",
        "restart",
        "wait",
        "logs",
        "top",
    ),
    "Data": ("backfill", "offsets", "dlq", "schemas", "topics", "migrate"),
    "Cluster": ("cluster", "plugin", "set", "doctor"),
    "Try a chain": ("preview", "test"),
    "On this machine": ("worker", "operator", "broker", "demo", "lake", "user", "version"),
    "This command line": ("context", "completion", "help"),
}


@click.group(
    cls=LazyGroup,
    commands_in=_COMMANDS,
    sections=_SECTIONS,
    synonyms=_SYNONYMS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("-v", "--verbose", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="kconnect")
def cli(verbose: bool) -> None:
    """
    Kafka Connect's REST API, configs and topics, with the data pipeline on Spark.

    \b
      kconnect broker start
      kconnect worker worker.properties
      kconnect cluster

    Understood as well, for those who know other tools: ls, list, ps, connectors, tasks, plugins,
    workers, loggers, status, info, rm, remove, log, config, explain.

    Exit status: 0 done, 1 failed, 2 wrong usage, 3 no answer, 4 not found, 5 conflict, 6 a setting or request that is
    wrong, 7 not reached in time, 8 not allowed, 9 you said no, 130 Ctrl-C.
    """
    # Set up here for what runs in this process; a worker configures its own.
    terminal.log_to_stderr("%(levelname)s %(message)s")


def main(arguments: list[str] | None = None) -> Any:
    arguments = sys.argv[1:] if arguments is None else arguments
    verbose = "-v" in arguments or "--verbose" in arguments
    interpreter.forget_empty(os.environ, sys.path)
    terminal.guard()
    _open_missing_streams()
    try:
        with interrupt.heard_at_once():
            status = cli.main(args=arguments, prog_name="kconnect", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told in one line
        for line in in_lines(error):
            click.echo(f"kconnect: {line}", err=True)
        if verbose:
            click.echo("".join(traceback.format_exception(error)), err=True)
        sys.exit(status_of(error))
    sys.exit(status if isinstance(status, int) else 0)


def _open_missing_streams() -> None:
    """Replace streams that the caller has closed, as with `>&-`: Python has None for them, which libraries do not expect."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - as long as the process


def in_lines(error: Exception) -> list[str]:
    """Return an error as lines, one for each fault."""
    return getattr(error, "faults", None) or [in_one_line(error)]


def in_one_line(error: Exception) -> str:
    """Return an error as one line, whatever a library put into its text."""
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, (ConnectError, OSError)):
        return lines_in_one(str(error))
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in _OF_WORKERS:
        return f"This needs {error.name}, which comes with a whole kconnect, and not with kconnect-client: pip install kconnect"
    # A fault of ours, but the user's terminal is no place for its details.
    return f"unexpected {type(error).__name__}: {' '.join(str(error).split())} (-v shows where)"


def status_of(error: Exception) -> int:
    """The exit status that tells an error's kind."""
    row = TABLE.get(type(error))
    exit_status: int = getattr(error, "exit_code", 1 if row is None else row.exit)
    return exit_status
