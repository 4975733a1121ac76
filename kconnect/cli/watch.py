"""
`--watch [SECONDS]`: shows what a command shows again and again, until Ctrl-C, which ends it with status 130.

A command takes `@watch.option`, gets `seconds`, and calls `watch.show(seconds, draw)`, whose `draw` gives a text.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from kconnect.cli import terminal
from kconnect.errors import ConnectError

if TYPE_CHECKING:
    from rich.text import Text

USUAL_S = 2.0


class _Seconds(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions only
    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = 0.0
        if not 0.1 <= seconds <= 86_400:
            # What follows is taken for it, if it has no dash: a name mostly.
            self.fail(f"{value} is not a number of seconds. Write --watch={USUAL_S:g}, or put --watch last.", param, ctx)
        return seconds


def option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--watch`, which the command gets as `seconds`: None to show it once."""
    return click.option(
        "--watch",
        "seconds",
        is_flag=False,
        flag_value=USUAL_S,
        type=_Seconds(),
        metavar="[SECONDS]",
        help=f"Show it again every SECONDS; {USUAL_S:g} if no number is given.",
    )(command)


def show(seconds: float | None, draw: Callable[[], str]) -> None:
    """
    Write what `draw` gives, once or until Ctrl-C: a terminal's whole screen each time, else one text after the other.

    The first text's error is the command's. A later one is shown in the text's place, for a worker may come back.
    """
    text = draw()
    if seconds is None:
        _write(text)
    elif sys.stdout.isatty():
        _on_the_screen(seconds, text, draw)
    else:
        _write(text)
        while True:
            time.sleep(seconds)
            try:
                _write(draw())
            except ConnectError as error:
                click.echo(f"kconnect: {' '.join(str(error).split())}", err=True)


def _write(text: str) -> None:
    click.echo(text, nl=bool(text) and not text.endswith("\n"))
    # Who reads a pipe waits for it.
    sys.stdout.flush()


def _on_the_screen(seconds: float, text: str, draw: Callable[[], str]) -> None:
    from rich.console import Console
    from rich.live import Live

    with Live(picture(text, seconds), console=Console(highlight=False), screen=True, auto_refresh=False) as live:
        while True:
            time.sleep(seconds)
            try:
                text = draw()
            except ConnectError as error:
                text = f"kconnect: {' '.join(str(error).split())}"
            live.update(picture(text, seconds), refresh=True)


def picture(text: str, seconds: float) -> Text:
    """Return what stands on the screen: nothing of the text that a terminal obeys, which rich would pass on."""
    from rich.text import Text

    # Cut rather than folded: a row is a line.
    head = f"{time.strftime('%H:%M:%S')}, every {seconds:g} s, Ctrl-C ends it\n\n"
    return Text(no_wrap=True, overflow="crop").append(head, "dim").append_text(Text.from_ansi(terminal.harmless(text)))
