"""`kconnect broker start|stop|status`: a local Kafka broker that stays until it is stopped."""

from __future__ import annotations

import os
from pathlib import Path

import click

from kconnect.cli import waiting

NOT_RUNNING = 3


def _default_directory() -> Path:
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "kconnect" / "broker"


_directory = click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    default=None,
    help="Where its topics, settings and log are. Default: ~/.local/share/kconnect/broker.",
)


@click.group()
def broker() -> None:
    """
    Run a local Kafka broker for trying things out.

    \b
      kconnect broker start              on port 9092, in the background
      kconnect broker status
      kconnect broker stop

    It has one node and no security.
    """


@broker.command()
@click.option("--port", type=click.IntRange(1, 65535), default=9092, show_default=True)
@_directory
def start(port: int, data_dir: Path | None) -> None:
    """
    Start the broker in the background, and print its bootstrap servers.

    \b
      kconnect broker start
      kconnect broker start --port 19092 --data-dir ./kafka
    """
    from kconnect.local.broker import Broker

    broker = Broker(data_dir or _default_directory(), port, detached=True)
    already = broker.running()
    with waiting.told("the broker to start; the first time, it fetches Kafka's jars"):
        broker.start()
    click.echo(
        f"{'Already running' if already else 'Started'}: bootstrap.servers={broker.bootstrap_servers} (pid {broker.pid})"
    )


@broker.command()
@_directory
def stop(data_dir: Path | None) -> None:
    """
    Stop the broker; its topics stay for the next start.

    \b
      kconnect broker stop
      kconnect broker stop --data-dir ./kafka
    """
    from kconnect.local.broker import Broker

    broker = Broker(data_dir or _default_directory(), detached=True)
    if not broker.running():
        click.echo("Not running")
        return
    with waiting.told("the broker to stop"):
        broker.stop()
    click.echo("Stopped")


@broker.command()
@_directory
def status(data_dir: Path | None) -> int:
    """
    Say whether the broker runs; exit status 3 if not.

    \b
      kconnect broker status
    """
    from kconnect.local.broker import Broker

    broker = Broker(data_dir or _default_directory(), detached=True)
    if not broker.running():
        click.echo("Not running")
        return NOT_RUNNING
    click.echo(f"Running: bootstrap.servers={broker.bootstrap_servers} (pid {broker.pid}, cluster {broker.cluster_id})")
    return 0
