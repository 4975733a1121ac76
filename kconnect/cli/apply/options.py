"""The options that `apply`, `create` and `diff` share, and the reading of the files that these name."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from kconnect.cli import manifests
from kconnect.cli.files import InputError


class _Files(click.Option):
    def handle_parse_result(self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]) -> tuple[Any, list[str]]:
        try:
            return super().handle_parse_result(ctx, opts, args)
        except click.MissingParameter:
            if not args:
                raise
            raise click.UsageError(f"Files are named by -f: {ctx.command_path} -f {shlex.quote(args[0])}", ctx) from None


def files(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `-f` and `-R`."""
    path = click.Path(path_type=Path, allow_dash=True)
    recursive = click.option("-R", "--recursive", is_flag=True, help="Read the directories below, too.")
    return click.option(
        "-f",
        "--filename",
        "paths",
        cls=_Files,
        required=True,
        multiple=True,
        type=path,
        metavar="FILE|DIR|-",
        help="YAML or JSON; of a directory, files that end with .yaml, .yml or .json; - is standard input. May be repeated.",
    )(recursive(command))


def hiding(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--show-secrets`."""
    return click.option("--show-secrets", is_flag=True, help="Show the values of passwords and other secrets, too.")(command)


def pruning(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--prune` and `--prune-only`, which the command gets as `prune`: globs, or None."""

    @functools.wraps(command)
    def with_globs(*arguments: Any, prune_all: bool, prune_only: tuple[str, ...], **values: Any) -> Any:
        return command(*arguments, prune=prune_only or (("*",) if prune_all else None), **values)

    every = click.option("--prune", "prune_all", is_flag=True, help="Delete connectors that no file has; apply asks first.")
    what = "Prune, but only connectors that the glob matches; may be repeated."
    only = click.option("--prune-only", metavar="GLOB", multiple=True, help=what)
    return every(only(with_globs))


def read(paths: Sequence[Path], recursive: bool) -> list[manifests.Manifest]:
    """Read manifests from files. Print each mistake as a line on standard error, before the error itself."""
    try:
        return manifests.read(paths, recursive)
    except manifests.Unusable as error:
        if len(error.problems) == 1:
            raise InputError(error.problems[0]) from None
        for problem in error.problems:
            click.echo(f"kconnect: {problem}", err=True)
        raise
