"""
A click group that knows its commands' names and one-line helps, and imports a command only when it is called.

`main.py` and `cli/plugins/plugin.py` list theirs in one. `--help` stays quick, whatever a command needs.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

_OF_VERBS = frozenset(("--url", "--user", "--context"))


class Group(click.Group):
    """A group that also takes the options of its verbs before the verb, such as `--url`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _behind(args))


class LazyGroup(Group):
    """
    `commands_in` holds, for each name, where it is (`module`, or `module:function` if the name is another) and its help.
    `sections`, headings with names in an order of their own, divide the list in `--help`; what is in none comes last.
    `synonyms` are what people know from elsewhere: the words that stand for one alone, and for one with something behind it.
    """

    def __init__(
        self,
        *args: Any,
        commands_in: Mapping[str, tuple[str, str]],
        sections: Mapping[str, Sequence[str]] | None = None,
        synonyms: Mapping[str, tuple[str, str]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._synonyms = synonyms or {}
        self._commands_in = commands_in
        self._sections = sections or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._commands_in)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._commands_in:
            return None
        module, _, function = self._commands_in[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), function or cmd_name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in self._synonyms:
            alone, with_more = self._synonyms[args[0]]
            behind = _behind(args[1:])
            named = bool(behind) and not behind[0].startswith("-")
            args = [*(with_more if named else alone).split(), *args[1:]]
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            # click suggests only commands that are imported, from its 8.4 on. Nobody else waits for this import.
            import difflib

            near = [] if args[0].startswith("-") else difflib.get_close_matches(args[0], self.list_commands(ctx))
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean {' or '.join(near)}?", error.ctx) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = [
            CompletionItem(name, help=self.line(name)) for name in self.list_commands(ctx) if name.startswith(incomplete)
        ]
        # Not click's own for groups, which would import every command to ask for its help.
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def line(self, name: str) -> str:
        """A command's help in one line, without importing it."""
        return self._commands_in[name][1]

    def in_sections(self) -> list[tuple[str, list[str]]]:
        """Headings, each with the names of its commands; every command is in one."""
        sections = [
            (heading, [name for name in names if name in self._commands_in]) for heading, names in self._sections.items()
        ]
        named = {name for _, names in sections for name in names}
        rest = sorted(self._commands_in.keys() - named)
        return [*sections, ("More commands" if named else "Commands", rest)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # One column for all sections.
        widest = max(map(len, self._commands_in), default=0)
        for heading, names in self.in_sections():
            if names:
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(widest), self.line(name)) for name in names])


def _behind(args: list[str]) -> list[str]:
    """
    Return arguments with those options behind the verb that all verbs have which ask a worker.

    They go before the verb's own options: one of these may lack its value, and `--help` of a group comes before any verb.
    """
    moved: list[str] = []
    rest = list(args)
    while rest and rest[0].partition("=")[0] in _OF_VERBS:
        count = 1 if "=" in rest[0] else 2
        moved, rest = [*moved, *rest[:count]], rest[count:]
    if not moved:
        return args
    verb = next((place for place, text in enumerate(rest) if not text.startswith("-")), None)
    if verb is None:
        # There is no verb that they are about: that is what is missing, and not the options.
        return rest
    end = next((place for place in range(verb + 1, len(rest)) if rest[place].startswith("-")), len(rest))
    return [*rest[:end], *moved, *rest[end:]]


_ELSEWHERE = {
    **dict.fromkeys(("offset", "offsets"), "offsets get"),
    **dict.fromkeys(("config", "configs"), "get connector -o yaml"),
    **dict.fromkeys(("status", "state", "topic", "topics"), "describe"),
}
"""What is no kind, and may be meant nevertheless before another word; and the command for it."""


class KindsGroup(LazyGroup):
    """
    Its commands are kinds of things, singular or plural, and are found by the other form and their first two letters too. What
    is no kind is the name of a connector, or with /NUMBER that of a task. KIND/NAME does as well, with the kind in full.
    """

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        kind, _, name = args[0].partition("/")
        if name and kind.rstrip("s") in {kind_known.rstrip("s") for kind_known in self.list_commands(ctx)}:
            args = [kind, name, *args[1:]]
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            import difflib

            if args[0] in _ELSEWHERE and len(args) > 1 and not args[1].startswith("-"):
                suggestion = f"kconnect {_ELSEWHERE[args[0]]} {args[1]}"
            else:
                suggestion = next(iter(difflib.get_close_matches(args[0], self.list_commands(ctx), 1, 0.85)), "")
            if suggestion:
                # Mostly not the name of a connector.
                path = f"{ctx.command_path} connector {args[0]}"
                reason = f"{args[0]} is not a kind. For a connector of that name: {path}. Did you mean {suggestion}?"
                raise click.UsageError(reason, ctx)
            args = ["task" if re.fullmatch(r".+/\d+", args[0]) else "connector", *args]
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        matching = (kind for kind in self.list_commands(ctx) if cmd_name in (kind, kind.rstrip("s"), f"{kind}s", kind[:2]))
        return super().get_command(ctx, next(matching, cmd_name))
