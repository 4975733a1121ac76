"""`kconnect lake`: the Python that SparkSink's application runs on. Read next: `jvm/lake.py`."""

from __future__ import annotations

from pathlib import Path

import click

from kconnect.cli import waiting


@click.group()
def lake() -> None:
    """
    Set up what SparkSink needs to write tables of Delta Lake and Apache Iceberg.

    \b
    Examples:
      kconnect lake setup
    """


@lake.command()
@click.option(
    "--directory",
    "-d",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where it is made. Default: a folder of the cache, ~/.cache/kconnect/lake.",
)
@click.option(
    "--pip-option", "pip_options", multiple=True, metavar="OPTION", help="An option of pip install, such as --no-index."
)
def setup(directory: Path | None, pip_options: tuple[str, ...]) -> None:
    """
    Make an environment with a PySpark that the jars of Delta and Iceberg fit.

    It takes 700 MB, and is made on each machine that runs a worker, or is an executor of its Spark. Nothing is done if it is
    there. The last line is the setting for the worker's file.

    \b
    Examples:
      kconnect lake setup
      kconnect lake setup -d /opt/kconnect/lake
    """
    from kconnect.jvm import lake as environments

    with waiting.progress() as tell:
        python = environments.make(directory.absolute() if directory else environments.directory(), tell, pip_options)
    click.echo(f"Set in the worker's file:\nlake.python={python}")
