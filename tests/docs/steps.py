"""
What somebody types who reads a block of a page, command by command, and what the page says is printed then.

`steps` is called by `test_typing.py`, which types them; `kind_of` by `test_blocks.py`, which looks at all that is not typed.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import yaml

from tests.docs.pages import INDENTED, Block

_PROGRAMS = r"(?:\.venv/bin/)?kconnect |curl |cat > |umask |pip install |docker |(?:\./)?scripts/|\. \.venv"
_TYPED = re.compile(rf"(?:\$ )?(?:[A-Z_]+=\S+ )*(?:{_PROGRAMS})")
_HERE = re.compile(r"<<'?(\w+)'?")
_WORKER = re.compile(r"\b[\w.-]+:\d{4,5}\b")


class Step(NamedTuple):
    """A command, and what the page shows below it: None if it shows nothing."""

    command: str
    shown: str | None
    place: str


def kind_of(block: Block) -> str:
    """Return `commands`, `file`, `json`, `settings` (a part of a JSON), `properties`, `yaml`, `python`, `chain` or `shown`."""
    if block.file is not None:
        return "file"
    if block.language == "sh" or (block.language == INDENTED and _TYPED.match(block.text)):
        return "commands"
    if block.language in ("json", "yaml", "python"):
        return block.language
    if block.text.startswith("transforms="):
        return "chain"
    if re.fullmatch(r"(?:[a-z][\w.]*=\S.*\n)+", block.text):
        return "properties"
    if re.match(r'"[\w.]+": ', block.text):
        return "settings"
    if re.match(r"\w+:\n  - ", block.text) and isinstance(yaml.safe_load(block.text), dict):
        return "yaml"
    return "json" if _is_json(block.text) else "shown"


def steps(block: Block, shown: Block | None = None) -> Iterator[Step]:
    """Yield the commands of a block, with what it shows below lines with a prompt, or what `shown` has for the last."""
    if block.text.startswith("$ "):
        for part in re.split(r"(?m)^\$ ", block.text)[1:]:
            command, _, output = part.partition("\n")
            yield Step(command, output, block.place)
        return
    commands = list(_commands(block.text.splitlines()))
    for number, command in enumerate(commands, 1):
        yield Step(command, shown.text if shown and number == len(commands) else None, block.place)


def _commands(lines: Sequence[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        begin = at
        at += 1
        if here := _HERE.search(lines[begin]):
            at = lines.index(here[1], at) + 1
        else:
            while lines[at - 1].endswith("\\") or _is_open("\n".join(lines[begin:at])):
                at += 1
        command = "\n".join(lines[begin:at])
        if command.strip() and not command.startswith("#"):
            yield command


def _is_open(text: str) -> bool:
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return True
    return False


def agrees(shown: str, said: str) -> bool:
    """
    Return whether a page shows what was printed. An ellipsis stands for anything, on a line of its own for any lines; blanks
    between columns, and the workers' names, may be others.
    """
    lines = [_WORKER.sub("WORKER", " ".join(line.split())) for line in shown.strip().splitlines()]
    pattern = "\n".join(".*" if line == "…" else ".*".join(map(re.escape, line.split("…"))) for line in lines)
    found = "\n".join(_WORKER.sub("WORKER", " ".join(line.split())) for line in said.strip().splitlines())
    return re.fullmatch(pattern.replace("\n.*\n", "\n(?s:.*)\n"), found) is not None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
