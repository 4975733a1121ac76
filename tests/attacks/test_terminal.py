"""Attacks by whoever may write records on the terminal of those who look at them."""

from __future__ import annotations

import json
import re

import pytest

from kconnect.cli import output
from kconnect.cli.dlq import listing, showing
from kconnect.cli.dlq.listing import Found
from kconnect.core.task.letter_headers import CONTEXT
from kconnect.dlq.letters import Letter

OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]")
COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f]")
"""Without those that end a line or turn its direction, which YAML may have in a text."""
EVIL = ("\x1b]0;owned\x07", "\x1b[2J", "\x9b31m", "\x00", "a\rb", "a\nb", "\u202e", "\u2028", "\x85")


def letter(evil: str) -> Letter:
    names = ("topic", "connector.name", "stage", "exception.class.name", "exception.message", "class.name", "task.id")
    return Letter("dead", 0, 7, 1, evil.encode(), evil.encode(), tuple((CONTEXT + name, evil.encode()) for name in names))


@pytest.mark.parametrize("evil", EVIL)
def test_no_letter_speaks_to_the_terminal(evil: str) -> None:
    """Whoever may write to a queue puts a terminal's commands into a letter's headers: tables and JSON have none of them."""
    found = Found("dead", [])
    found.count(letter(evil))
    assert evil in listing.Found.row(found)[-1] and evil in showing._row(letter(evil))[2], "the control: it is in the cells"
    for row in (found.row(), showing._row(letter(evil))):
        shown = output.text_of_table(["a"] * len(row), [row])
        assert shown.count("\n") == 1 and not OBEYED.search(shown), shown
    text = output.text_of([letter(evil).as_json()], "json")
    assert not OBEYED.search(text)
    assert json.loads(text)[0]["connector"] == evil, "JSON has the very text, in its own form"
    assert not COMMANDS.search(output.text_of([letter(evil).as_json()], "yaml"))
