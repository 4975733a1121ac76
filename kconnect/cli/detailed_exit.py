"""Exit statuses of commands that compare: 0 nothing differs, 2 something does, 1 any error. Used by `apply` and `diff`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from kconnect.cli.asking import DeclinedError
from kconnect.errors import ConnectError

DIFFERS = 2


class _Failed(ConnectError):
    exit_code = 1


class DetailedExit(click.Command):
    """
    A command whose exit status says whether something differs: with 2, so that all errors are 1, also those of wrong use.

    Always, or with one of the flags `only_with`.
    """

    def __init__(self, *args: Any, only_with: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._only_with = only_with

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        typed = list(args)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            if not self._only_with or any(flag in typed for flag in self._only_with):
                error.exit_code = 1  # type: ignore[misc]
            raise

    def invoke(self, ctx: click.Context) -> Any:
        flags = [flag.removeprefix("--").replace("-", "_") for flag in self._only_with]
        if flags and not any(ctx.params.get(flag) for flag in flags):
            return super().invoke(ctx)
        try:
            return super().invoke(ctx)
        except DeclinedError:
            raise
        except click.ClickException as error:
            error.exit_code = 1  # type: ignore[misc]
            raise
        except (ConnectError, OSError) as error:
            raise _Failed(str(error)) from error
