"""
The command line, `kconnect`: a click group whose commands are modules, imported when they are called.

Errors go to standard error in one line that says what to do, `-v` adds the traceback. The exit status tells their kind, with
the same numbers as `rest/client.py`: 2 a wrong use of the command line (click's), 3 not running or no answer, 4 not found,
5 conflict, 6 a setting or request that is wrong, 1 anything else, 130 Ctrl-C. Read next: the module named after a command.
"""

from __future__ import annotations

import importlib
import logging
import sys
import traceback
from typing import Any

import click

from kconnect.api.errors import (
    AlreadyExistsError,
    BadRequestError,
    ConfigError,
    ConflictError,
    ConnectError,
    ForbiddenError,
    NotFoundError,
    RequestTimeoutError,
    UnavailableError,
)

_STATUS: dict[type[Exception], int] = {
    UnavailableError: 3,
    RequestTimeoutError: 3,
    NotFoundError: 4,
    AlreadyExistsError: 5,
    ConflictError: 5,
    BadRequestError: 6,
    ConfigError: 6,
    ForbiddenError: 6,
}

_COMMANDS = {
    "broker": ("kconnect.cli.broker", "Run a local Kafka broker for trying things out."),
    "cluster": ("kconnect.cli.cluster", "Show the workers, who leads, and what runs where."),
    "demo": ("kconnect.cli.demo", "Show data flow through a local broker and worker."),
    "preview": ("kconnect.cli.preview", "Show what a connector's chain does to records, step by step."),
    "test": ("kconnect.cli.testing", "Check what a connector's chain makes of records, for a CI."),
    "worker": ("kconnect.cli.worker", "Run a worker."),
}


class _Commands(click.Group):
    """Knows the commands' names and one-line helps without importing what they need."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _ = _COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(_COMMANDS.items())])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-v", "--verbose", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="kconnect")
def cli(verbose: bool) -> None:
    """Kafka Connect's REST API, configs and topics, with the data pipeline on Spark."""
    # Set up here for what runs in this process; a worker configures its own.
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s")


def main(arguments: list[str] | None = None) -> Any:
    arguments = sys.argv[1:] if arguments is None else arguments
    verbose = "-v" in arguments or "--verbose" in arguments
    try:
        status = cli.main(args=arguments, prog_name="kconnect", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (ConnectError, OSError) as error:
        # One line, whatever a library put into its text.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        click.echo(f"kconnect: {'; '.join(lines)}", err=True)
        if verbose:
            click.echo("".join(traceback.format_exception(error)), err=True)
        sys.exit(getattr(error, "exit_code", _STATUS.get(type(error), 1)))
    except Exception as error:  # noqa: BLE001 - a fault of ours, but the user's terminal is no place for its details
        click.echo(f"kconnect: unexpected {type(error).__name__}: {' '.join(str(error).split())} (-v shows where)", err=True)
        if verbose:
            click.echo("".join(traceback.format_exception(error)), err=True)
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)
