"""`kconnect schemas`: the schemas that a sink's tasks have inferred of JSON, to look at, to pin, and to forget."""

from __future__ import annotations

import datetime
from typing import Any

import click

from kconnect.cli import asking, connection, output, selection
from kconnect.cli.connection import Target
from kconnect.errors import NotFoundError


@click.command()
@click.argument("name", shell_complete=selection.complete)
@click.option(
    "--pin", metavar="TOPIC", help="Print the setting that pins the schema of a topic's values, for `kconnect patch`."
)
@click.option("--forget", is_flag=True, help="Forget all of them. The connector must be STOPPED.")
@asking.option
@output.option("json", "yaml")
@connection.options
def schemas(name: str, pin: str | None, forget: bool, yes: bool, form: str, target: Target) -> None:
    """
    Show, pin and forget the schemas that a sink has inferred of JSON.

    \b
      kconnect schemas orders-sink
      kconnect patch orders-sink -p "$(kconnect schemas orders-sink --pin orders)"
      kconnect stop orders-sink && kconnect schemas orders-sink --forget

    A sink infers them with value.converter.schemas.infer=true. They grow with what is read. Once one is pinned, it stays as it
    is, and a record that does not fit it is a bad one. Once they are forgotten, the connector's next records decide anew.
    """
    if pin is not None and forget:
        raise click.UsageError("Give --pin or --forget, not both.")
    with target.connect() as client:
        if forget:
            asking.confirm(f"Forget all inferred schemas of {name}?", yes)
            click.echo(client.forget_schemas(name), err=True)
            return
        found = client.schemas(name)
    if pin is not None:
        click.echo(_settings(found["schemas"], name, pin))
    elif form != "table":
        output.write(found, form)
    elif not found["schemas"]:
        click.echo(f"{name} has inferred no schemas. It does with value.converter.schemas.infer=true", err=True)
    else:
        rows = [
            (each["topic"], each["part"], str(each["version"]), _time(each["at"]), field["field"], field["type"])
            for each in found["schemas"]
            for field in each["fields"]
        ]
        output.table(("topic", "part", "version", "since", "field", "type"), rows)


def _settings(known: list[dict[str, Any]], name: str, topic: str) -> str:
    import json

    found = [each["content"] for each in known if (each["topic"], each["part"]) == (topic, "value")]
    if not found or found[0] is None:
        topics = ", ".join(dict.fromkeys(each["topic"] for each in known if each["content"])) or "none"
        raise NotFoundError(f"{name} has inferred no schema of the values of {topic}; its topics with one: {topics}")
    # In ASCII: records name the fields, and a terminal shows this.
    return json.dumps({"value.converter.schema.content": found[0]})


def _time(at_ms: int) -> str:
    at = datetime.datetime.fromtimestamp(at_ms / 1000, datetime.timezone.utc)
    return at.strftime("%Y-%m-%d %H:%M:%S")
