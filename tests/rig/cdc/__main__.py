"""The command line of `scripts/demo --cdc`. Read next: `demo.py`."""

from __future__ import annotations

import click

from kconnect.cli.machine.demo import show
from kconnect.local.broker import require_free
from tests.rig.cdc import demo


@click.command()
@click.option("--cdc", is_flag=True, required=True, help="This demo.")
@click.option("--once", is_flag=True, help="Make some hundred changes, check every row, and end.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the REST API. Default: a free one.")
@click.option("--keep", is_flag=True, help="Keep the directory with the logs and the topics.")
def main(cdc: bool, once: bool, port: int, keep: bool) -> None:
    """
    Copy the changes of a PostgreSQL table through Kafka to a table in another database, until Ctrl-C.

    Debezium's source and its JDBC sink, which are written in Java, do it. They are fetched from Maven Central once. A
    PostgreSQL of its own is started, and nothing else that runs on the machine is touched. Where there are no programs of
    PostgreSQL, root on Debian or Ubuntu gets the package.
    """
    if port:
        require_free(port)
    show(lambda console, directory, interrupted: demo.run(console, directory, once, port, interrupted), once, keep)


if __name__ == "__main__":
    main(prog_name="scripts/demo")
