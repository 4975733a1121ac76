"""`kconnect user NAME --role ROLE`: make a line for the file that the worker setting `rest.authentication.file` names."""

from __future__ import annotations

import secrets
import sys

import click


@click.command()
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(["read", "operate", "admin"]),
    required=True,
    help="read: look at everything. operate: also pause, resume, stop and restart. admin: everything.",
)
@click.option("--token", is_flag=True, help="Make a random token instead of asking for a password.")
def user(name: str, role: str, token: bool) -> None:
    """
    Print a line for the file of users, roles and tokens.

    \b
      kconnect user ann --role operate >> /etc/kconnect/users
      kconnect user grafana --role read --token >> /etc/kconnect/users

    The line is on standard output. The password is asked for, or read from standard input where that is no terminal. A
    token is shown once, on standard error; the line has only its hash.
    """
    # Imported here: they bring the web framework along, which `--help` does not need.
    from kconnect.rest import credentials

    try:
        credentials.check_name(name)
    except ValueError as error:
        raise click.BadParameter(f"{error}.", param_hint="NAME") from None
    if token:
        new_token = f"kc_{secrets.token_urlsafe(32)}"
        click.echo(f"The token of {name}, shown only now:", err=True)
        click.echo(new_token, err=True)
        line = credentials.token_line(name, role, new_token)
    else:
        line = credentials.password_line(name, role, _password(name))
    click.echo(line)


def _password(name: str) -> str:
    if sys.stdin.isatty():
        password = str(click.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True, err=True))
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise click.UsageError("The password is empty.")
    return password
