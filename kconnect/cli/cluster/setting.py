"""`kconnect set logger NAME LEVEL`. `kconnect get loggers` shows the levels."""

from __future__ import annotations

import click

from kconnect.cli import connection
from kconnect.cli.cluster import get_loggers
from kconnect.cli.connection import Target
from kconnect.cli.lazy import Group
from kconnect.errors import NotFoundError


@click.group("set", cls=Group)
def set_group() -> None:
    """
    Set the level of a logger.

    \b
      kconnect set logger org.apache.kafka DEBUG
      kconnect set logger root INFO --cluster
    """


@set_group.command()
@click.argument("name", shell_complete=get_loggers.complete)
@click.argument("level", type=click.Choice(["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF"], case_sensitive=False))
@click.option("--cluster", "whole", is_flag=True, help="Set it on every worker, rather than on the one that answers.")
@connection.options
def logger(name: str, level: str, whole: bool, target: Target) -> None:
    """
    Set the level of a logger, and of those below it.

    \b
      kconnect set logger kconnect.rest DEBUG
      kconnect set logger org.apache.kafka.connect DEBUG --cluster

    It lasts until a worker ends, or the level is set again. Connect has --cluster since version 3.7.
    """
    from kconnect.rest.client import RestError

    with target.connect() as client:
        try:
            changed = client.set_logger(name, level.upper(), cluster=whole)
        except RestError as error:
            if error.status == 404 and error.message.startswith("HTTP"):
                raise NotFoundError(f"The worker at {client.url} is older than Connect 2.4: it can't set levels") from error
            raise
    if changed is None:
        click.echo(f"{name} is {level.upper()} on every worker, in a moment")
    else:
        click.echo(f"{name} is {level.upper()}: {len(changed)} {'logger' if len(changed) == 1 else 'loggers'} changed")
