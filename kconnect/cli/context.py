"""`kconnect context list|use|set|remove`: clusters by name. Read next: `contexts.py`, which has the file."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from kconnect.cli import connection, contexts, output
from kconnect.cli.contexts import Context, Contexts
from kconnect.cli.lazy import Group
from kconnect.errors import NotFoundError


class _Group(Group):
    """A group of commands that also knows `use-context` and the like, as `kubectl config` and `kcctl config` have them."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        verb = args[0].removesuffix("s").removesuffix("-context")
        return super().resolve_command(ctx, [_VERBS.get(verb, args[0]), *args[1:]])


_VERBS = {"get": "list", "use": "use", "set": "set", "delete": "remove"}


@click.group(cls=_Group)
def context() -> None:
    """
    Name clusters, and choose the one that commands use by default.

    \b
      kconnect context set dev --url http://localhost:8083 --bootstrap-server localhost:9092
      kconnect context use dev
      kconnect get connectors --context prod

    Contexts are kept in a file in your home, or where KCONNECT_CONFIG says. It holds no passwords.
    """


@context.command("list")
@output.option("json", "yaml", "name")
def list_contexts(form: str) -> None:
    """
    Show the contexts, and which one is in use.

    \b
      kconnect context list
      kconnect context list -o name
    """
    known_contexts = contexts.load()
    if form == "name":
        for name in known_contexts.by_name:
            click.echo(name)
    elif form != "table":
        output.write(
            {
                "current": known_contexts.current,
                "contexts": {name: context_of_name.given() for name, context_of_name in known_contexts.by_name.items()},
            },
            form,
        )
    elif not known_contexts.by_name:
        click.echo("No contexts: `kconnect context set NAME --url URL` creates one", err=True)
    else:
        output.table(
            ["", "name", *(name.replace("_", " ") for name in contexts.NAMES)],
            [
                ["*" if name == known_contexts.current else "", name, *dataclasses.astuple(context_of_name)]
                for name, context_of_name in known_contexts.by_name.items()
            ],
        )


@context.command()
@click.argument("name", shell_complete=connection.complete_context)
def use(name: str) -> None:
    """
    Make a context the one that commands use.

    \b
      kconnect context use prod
    """
    known_contexts = contexts.load()
    _known(known_contexts, name)
    contexts.save(dataclasses.replace(known_contexts, current=name))
    click.echo(f"Commands now use {name}")


@context.command("set")
@click.argument("name", shell_complete=connection.complete_context)
@click.option("--url", metavar="URL", help="Any worker of the cluster.")
@click.option("--user", metavar="NAME", help="Your user name there. The password is read from KCONNECT_PASSWORD, or asked for.")
@click.option("--bootstrap-server", metavar="HOST:PORT", help="Its Kafka brokers, for commands that read topics.")
@click.option("--command-config", type=click.Path(dir_okay=False), metavar="FILE", help="A properties file for Kafka clients.")
@click.option(
    "-w",
    "--worker-file",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="The properties file of its workers.",
)
def set_context(name: str, **given: str | None) -> None:
    """
    Create a context, or change the given settings of one.

    \b
      kconnect context set prod --url https://connect.acme.com:8443 --user ann
      kconnect context set prod --worker-file /etc/kconnect/worker.properties

    The first one is in use at once. An empty value removes a setting, as in --user ''.
    """
    if not name.strip():
        raise click.UsageError("A context needs a name by which --context and `kconnect context use` can call it.")
    if given["url"]:
        contexts.check_url(given["url"])
    for setting in ("command_config", "worker_file"):
        if file := given[setting]:
            # The next command may be called elsewhere.
            path = Path(file).expanduser().absolute()
            given[setting] = str(path)
            if not path.exists():
                click.echo(f"There is no file {path} yet: commands that need it fail until there is", err=True)
    known_contexts = contexts.load()
    changed = {setting: value or None for setting, value in given.items() if value is not None}
    new_context = dataclasses.replace(known_contexts.by_name.get(name, Context()), **changed)
    current = known_contexts.current if known_contexts.by_name else name
    path = contexts.save(Contexts(current, {**known_contexts.by_name, name: new_context}))
    click.echo(f"Set {name} in {path}{', and commands now use it' if current == name != known_contexts.current else ''}")


@context.command()
@click.argument("name", shell_complete=connection.complete_context)
def remove(name: str) -> None:
    """
    Remove a context; its cluster stays as it is.

    \b
      kconnect context remove dev
    """
    known_contexts = contexts.load()
    _known(known_contexts, name)
    remaining = {
        name_of_context: context_of_name
        for name_of_context, context_of_name in known_contexts.by_name.items()
        if name_of_context != name
    }
    contexts.save(Contexts(None if known_contexts.current == name else known_contexts.current, remaining))
    click.echo(f"Removed {name}{': none is in use now' if known_contexts.current == name else ''}")


def _known(contexts: Contexts, name: str) -> None:
    if name not in contexts.by_name:
        raise NotFoundError(f"There is no context {name}; known: {', '.join(contexts.by_name) or 'none'}")
