"""`kconnect schemas`: the schemas that a sink's tasks have inferred of JSON, to look at, to pin, and to forget."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from kconnect.cli import asking, connection, output, selection
from kconnect.cli.connection import Target
from kconnect.errors import BadRequestError, NotFoundError

if TYPE_CHECKING:
    from kconnect.data.schema import Schema
    from kconnect.rest.answers import InferredSchema

_PREFIX = "value.converter."


@click.command()
@click.argument("name", shell_complete=selection.complete)
@click.option(
    "--pin", metavar="TOPIC", help="Print the setting that pins the schema of a topic's values, for `kconnect patch`."
)
@click.option(
    "--subject",
    metavar="NAME",
    help="With --pin: register the schema under this subject of the registry that the config names, and pin that version.",
)
@click.option("--avro", is_flag=True, help="With --pin: print the schema in Avro instead, to register it by other means.")
@click.option("--forget", is_flag=True, help="Forget all of them. The connector must be STOPPED.")
@asking.option
@output.option("json", "yaml")
@connection.options
def schemas(
    name: str, pin: str | None, subject: str | None, avro: bool, forget: bool, yes: bool, form: str, target: Target
) -> None:
    """
    Show, pin and forget the schemas that a sink has inferred of JSON.

    \b
      kconnect schemas orders-sink
      kconnect patch orders-sink -p "$(kconnect schemas orders-sink --pin orders)"
      kconnect patch orders-sink -p "$(kconnect schemas orders-sink --pin orders --subject orders-value)"
      kconnect schemas orders-sink --pin orders --avro > orders.avsc
      kconnect stop orders-sink && kconnect schemas orders-sink --forget

    A sink infers them with value.converter.schemas.infer=true. They grow with what is read. Once one is pinned, it stays as it
    is, and a record that does not fit it is a bad one. Once they are forgotten, the connector's next records decide anew.

    --subject asks the registry that value.converter.schema.registry.url names, by the config's own credentials, from where this
    command runs. References and files are the worker's, so such a config is refused: then register what --avro prints, and set
    value.converter.schema.subject.
    """
    if pin is not None and forget:
        raise click.UsageError("Give --pin or --forget, not both.")
    if pin is None and (avro or subject is not None):
        raise click.UsageError("--subject and --avro say how to pin: give --pin TOPIC, too.")
    if avro and subject is not None:
        raise click.UsageError("Give --subject or --avro, not both.")
    with target.connect() as client:
        if forget:
            asking.confirm(f"Forget all inferred schemas of {name}?", yes)
            click.echo(client.forget_schemas(name), err=True)
            return
        answer = client.schemas(name)
        config = client.get_config(name) if subject is not None else {}
    if pin is not None:
        content = _content(answer["schemas"], name, pin)
        click.echo(_in_avro(content) if avro else _settings(content, config, subject))
    elif form != "table":
        output.write(answer, form)
    elif not answer["schemas"]:
        click.echo(f"{name} has inferred no schemas. It does with value.converter.schemas.infer=true", err=True)
    else:
        rows = [
            (
                inferred["topic"],
                inferred["part"],
                str(inferred["version"]),
                _time(inferred["at"]),
                field["field"],
                field["type"],
            )
            for inferred in answer["schemas"]
            for field in inferred["fields"]
        ]
        output.table(("topic", "part", "version", "since", "field", "type"), rows)


def _content(schemas: list[InferredSchema], name: str, topic: str) -> str:
    contents = [inferred["content"] for inferred in schemas if (inferred["topic"], inferred["part"]) == (topic, "value")]
    if not contents or contents[0] is None:
        topics = ", ".join(dict.fromkeys(inferred["topic"] for inferred in schemas if inferred["content"])) or "none"
        raise NotFoundError(f"{name} has inferred no schema of the values of {topic}; its topics with one: {topics}")
    return str(contents[0])


def _settings(content: str, config: Mapping[str, str | None], subject: str | None) -> str:
    import json

    if subject is None:
        # In ASCII: records name the fields, and a terminal shows this.
        return json.dumps({f"{_PREFIX}schema.content": content})
    from kconnect.converters import subjects

    version = subjects.register(subjects.registry_of(_own(config)), subject, _schema(content))
    return json.dumps({f"{_PREFIX}{subjects.SUBJECT}": subject, f"{_PREFIX}{subjects.VERSION}": str(version)})


def _own(config: Mapping[str, str | None]) -> dict[str, str]:
    """
    Return what a config says of its registry. BadRequestError for what only its worker has: who wrote the config may mean a
    secret or a file of this machine.
    """
    from kconnect.converters.schema_registry_login import CONFIG_KEYS, URL
    from kconnect.core.settings import references

    registry_settings = {key.name: text for key in CONFIG_KEYS if (text := config.get(f"{_PREFIX}{key.name}")) is not None}
    if not registry_settings.get(URL):
        raise BadRequestError(
            f"The config has no {_PREFIX}{URL}: name the registry there first, or register what --avro prints"
        )
    for name, text in registry_settings.items():
        if references.find(text) or name.endswith(".location"):
            raise BadRequestError(
                f"{_PREFIX}{name} is a reference or a file, which only the worker has: register what --avro prints yourself"
            )
    return registry_settings


def _in_avro(content: str) -> str:
    from kconnect.converters import subjects

    return subjects.text_of(_schema(content))


def _schema(content: str) -> Schema:
    """Return a schema without the number of its version, which the registry gives."""
    import json

    from kconnect.converters import json_schema
    from kconnect.converters.json_readers import Readers

    schema = json_schema.read(json.loads(content), Readers(True))
    assert schema is not None  # What was inferred is a schema.
    return schema


def _time(at_ms: int) -> str:
    at = datetime.datetime.fromtimestamp(at_ms / 1000, datetime.timezone.utc)
    return at.strftime("%Y-%m-%d %H:%M:%S")
