"""`kconnect worker FILE.properties`: run a worker until SIGTERM or Ctrl-C."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def worker(file: Path) -> int:
    """
    Run a worker.

    \b
      kconnect worker worker.properties
      CONNECT_GROUP_ID=other kconnect worker worker.properties

    It has the settings in FILE, as with `connect-distributed`. FILE is Kafka Connect's own connect-distributed.properties.
    Environment variables override it: CONNECT_GROUP_ID sets group.id. Settings that begin with spark. go to Spark.
    """
    # Imported here: it brings the whole worker along, which `--help` does not need.
    from kconnect.worker.main import run

    return run(file)
