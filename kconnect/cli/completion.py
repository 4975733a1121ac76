"""`kconnect completion bash|zsh|fish`: the script that has the shell ask `kconnect` what may come next."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """
    Print the script that completes commands, options and names in your shell.

    \b
      source <(kconnect completion bash)                       # for this shell; in ~/.bashrc for all
      kconnect completion zsh > "${fpath[1]}/_kconnect"
      kconnect completion fish > ~/.config/fish/completions/kconnect.fish

    Names of connectors come from the worker that the line means, or the current context; a worker that does not answer within
    two seconds, or asks for a password that KCONNECT_PASSWORD does not have, gives none.
    """
    from click.shell_completion import get_completion_class

    completion_class = get_completion_class(shell)
    assert completion_class is not None, shell
    click.echo(completion_class(context.find_root().command, {}, "kconnect", "_KCONNECT_COMPLETE").source())
