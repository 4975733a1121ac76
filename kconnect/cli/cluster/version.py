"""`kconnect version`: all versions that matter when somebody asks what runs here."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Any

import click

import kconnect
from kconnect.cli import output
from kconnect.cli.layout import table
from kconnect.errors import ConnectError

_LIBRARIES = ("pyspark", "confluent-kafka", "fastavro", "orjson", "pyarrow", "jpype1")


@click.command()
@output.option("json", "yaml")
def version(form: str) -> None:
    """
    Show the versions of kconnect and of all that it runs on, on this machine.

    \b
      kconnect version
      kconnect version -o json

    `kconnect get workers` shows those of a cluster's workers.
    """
    listed = versions()
    if form == "table":
        rows = [(row["name"], row["version"] or "not there", row["note"]) for row in listed]
        click.echo("\n".join(table(("WHAT", "VERSION", ""), rows)))
    else:
        output.write(listed, form)


def versions() -> list[dict[str, Any]]:
    """Return `name`, `version` (None: not there) and a `note` of each."""
    from kconnect.jvm import java
    from kconnect.kafka import clients
    from kconnect.worker import build

    try:
        program = java.find()
        java_version: tuple[str | None, str] = (str(java.version(program)), program)
    except ConnectError as error:
        java_version = (None, str(error))
    notes = {"confluent-kafka": f"with librdkafka {clients.library()}"}
    rows = [
        ("kconnect", kconnect.__version__, build.commit()),
        ("Kafka Connect", kconnect.CONNECT_VERSION, "whose REST API and topics these are"),
        ("Python", platform.python_version(), platform.platform()),
        ("Java", *java_version),
        *((name, _installed(name), notes.get(name, "")) for name in _LIBRARIES),
    ]
    return [{"name": name, "version": version, "note": note} for name, version, note in rows]


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
