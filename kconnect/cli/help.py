"""`kconnect help [COMMAND…]`: a command's help, or the whole manual, of which docs/cli.md is a copy."""

from __future__ import annotations

import click

from kconnect.cli import manual


@click.command("help")
@click.argument("command", nargs=-1)
@click.option("--all", "whole", is_flag=True, help="Show the manual of all commands, in Markdown: docs/cli.md.")
@click.pass_context
def help_command(context: click.Context, command: tuple[str, ...], whole: bool) -> None:
    """
    Show the help of a command, or of all.

    \b
      kconnect help
      kconnect help offsets reset
      kconnect help --all | less
    """
    root = context.find_root().command
    if whole and command:
        raise click.UsageError("Give either a command or --all, not both.")
    if whole:
        click.echo(manual.markdown(root), nl=False)
    else:
        click.echo(manual.page(root, command).context.get_help())
