"""The command line of `scripts/demo --shop`. Read next: `demo.py`."""

from __future__ import annotations

import click

from kconnect.cli.machine.demo import show
from kconnect.local.broker import require_free
from tests.rig.shop import demo


@click.command()
@click.option("--shop", is_flag=True, help="This demo.")
@click.option("--lake", is_flag=True, help="This demo, with a table of Delta Lake that Spark keeps; 700 MB are fetched once.")
@click.option("--once", is_flag=True, help="Make some thousand orders, compare all that came, and end.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the REST API. Default: a free one.")
@click.option("--keep", is_flag=True, help="Keep the directory with the logs, the topics and the files.")
def main(shop: bool, lake: bool, once: bool, port: int, keep: bool) -> None:
    """
    Send made-up orders through Kafka and a chain to a table of PostgreSQL, Parquet files and an index, until Ctrl-C.

    Datagen makes them, SqlSink, ObjectStoreSink and OpenSearchSink write them, each order once. A PostgreSQL and an OpenSearch
    of its own are started, and nothing else that runs on the machine is touched. OpenSearch is fetched from Maven Central once.
    Where there are no programs of PostgreSQL, root on Debian or Ubuntu gets the package.
    """
    if port:
        require_free(port)
    show(lambda console, directory, interrupted: demo.run(console, directory, once, port, interrupted, lake), once, keep)


if __name__ == "__main__":
    main(prog_name="scripts/demo")
