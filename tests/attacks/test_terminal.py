"""Attacks by whoever may write records on the terminal of those who look at them."""

from __future__ import annotations

import functools
import io
import json
import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console
from rich.text import Text

from kconnect.cli import output, terminal, watch
from kconnect.cli.apply.output import Show
from kconnect.cli.apply.plan import CHANGE, Difference, Step
from kconnect.cli.dlq import listing, showing
from kconnect.cli.dlq.listing import Found
from kconnect.cli.operator import decision as deciding
from kconnect.cli.operator import resource as resources
from kconnect.cli.operator import status as statuses
from kconnect.cli.operator.decision import Observed
from kconnect.cli.operator.status import Outcome
from kconnect.core.task.letter_headers import CONTEXT
from kconnect.dlq.letters import Letter
from kconnect.rest.client import ConnectClient
from tests.attacks.hostile import Asked, Hostile, Reply, given
from tests.cli.calls import call
from tests.cli.operator import bodies

OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028\u200f\u061c\U000e0041]")
COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f]")
"""Without those that end a line or turn its direction, which YAML may have in a text."""
EVIL = ("\x1b]0;owned\x07", "\x1b[2J", "\x9b31m", "\x00", "a\rb", "a\nb", "\u202e", "\u2028", "\x85", "\x1b[8m", "\U000e0041")


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


SPEAKS = "DataException: \x1b]52;c;cm0=\x07\x1b[2J\x9b31m\x00a\rb\x1b[8mc\x1b[30;40md\u200f\u061c\U000e0041"


def worker(asked: Asked) -> Reply:
    """A worker whose connector x has failed, with a trace that quotes a record."""
    path = asked.path.partition("?")[0]
    unit = {"state": "FAILED", "worker_id": "w:8083", "trace": SPEAKS}
    status = {"name": "x", "connector": unit, "tasks": [{"id": 0, **unit}], "type": "sink"}
    info = {"name": "x", "config": {"name": "x", "connector.class": "A", "a": SPEAKS}, "tasks": [], "type": "sink"}
    if path == "/connectors":
        return given({"x": {"status": status, "info": info}} if "expand" in asked.path else ["x"])(asked)
    if path == "/connectors/x/status":
        return given(status)(asked)
    if path in ("/connectors/x", "/connectors/x/config"):
        return given(info if path.endswith("x") else info["config"])(asked)
    return given({"error_code": 404, "message": SPEAKS}, 404)(asked)


@pytest.mark.parametrize(
    "command",
    ["wait x --for running --timeout 1s", "describe connector x", "restart x", "get connectors", "get tasks", "offsets get x"],
)
def test_no_error_and_no_trace_speaks_to_the_terminal(command: str) -> None:
    """Whoever may write a record has the error that quotes it command the terminal of an operator who looks what failed."""
    with Hostile() as service:
        service.default = worker
        called = call(*command.split(), "--url", service.url)
    shown = called.out + called.err
    assert "x" in shown
    assert not COMMANDS.search(shown), shown


def drawn(text: Text) -> str:
    console = Console(file=io.StringIO(), force_terminal=True, highlight=False, color_system=None)
    console.print(text)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("evil", [*EVIL, "\x1b\x1b[0m]52;c;cm0=\x1b\x1b[0m\\", "\x9d52;c;cm0=\x9c"])
def test_no_screen_that_is_drawn_again_speaks_to_the_terminal(evil: str) -> None:
    """Whoever may write a record has its error quoted; rich takes colours apart, and what is left of two is a command."""
    assert not COMMANDS.search(drawn(watch.picture(f"a {evil} b", 2)))
    assert COMMANDS.search(drawn(Text("\x9d52;c;cm0=\x9c"))), "the control: rich writes what it is given"


@pytest.mark.parametrize("evil", EVIL)
def test_no_difference_speaks_to_the_terminal(evil: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may create connectors puts commands into keys and values, which an administrator then compares with files."""
    written = io.StringIO()
    terminal_of_rich = functools.partial(Console, file=written, force_terminal=True, color_system=None)
    monkeypatch.setattr("rich.console.Console", terminal_of_rich)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    step = Step(f"x{evil}", CHANGE, None, (Difference(f"k{evil}", f"v{evil}", f"w{evil}"),))
    Show(cast(ConnectClient, None), hidden=False).steps([step])
    assert "k" in written.getvalue()
    assert not OBEYED.search(written.getvalue())


def test_colours_of_our_own_stay() -> None:
    """Control: what commands ask for themselves is written."""
    assert terminal.harmless("\x1b[31mred\x1b[0m\tx\n") == "\x1b[31mred\x1b[0m\tx\n"
    assert terminal.harmless("\x1b[2Jx") == "\\u001b[2Jx"
    assert terminal.harmless("to \u202epot\u202c") == "to \\u202epot\\u202c"


NAMES = (
    *("plain", "a b", "$(touch owned)", "`touch owned`", "a;touch owned", "a'$(touch owned)'", 'a"$(touch owned)"', "a\\b"),
    *("a\\$(touch owned)", "a&touch owned", "$HOME", "*", "~", "a!b", "a,b,", "#", "a|touch owned", ">owned", "\\", "ä"),
)
LINES = ("a\nplain,$(touch owned)", "a\rb", "\x1b[2J")


@pytest.mark.process
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_no_name_that_bash_completes_runs_a_command(tmp_path: Path) -> None:
    """Whoever may create connectors names one `x$(…)`; an administrator presses Tab, and Enter."""
    kconnect = tmp_path / "bin" / "kconnect"
    kconnect.parent.mkdir()
    kconnect.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kconnect "$@"\n')
    kconnect.chmod(0o755)
    (tmp_path / "script").write_text(call("completion", "bash").out)
    complete = "source ./script; COMP_WORDS=(kconnect pause ''); COMP_CWORD=2; _kconnect_completion kconnect"
    line = 'for word in "${COMPREPLY[@]}"; do eval "printf \'%s\\0\' $word"; done'
    with Hostile() as service:
        service.default = given([*NAMES, *LINES])
        env = {**os.environ, "PATH": f"{kconnect.parent}:{os.environ['PATH']}", "KCONNECT_URL": service.url}
        run = ["bash", "-c", f"{complete}; {line}"]
        found = subprocess.run(run, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=True)
    assert not (tmp_path / "owned").exists()
    assert sorted(found.stdout.split("\0")[:-1]) == sorted(NAMES)


@pytest.mark.parametrize("evil", [*EVIL, "\x1b[31m"])
def test_no_log_of_a_command_speaks_to_the_terminal(evil: str) -> None:
    """Whoever may write a resource into a namespace had its texts in the log of `kconnect operator`, and lines of their own."""
    record = logging.LogRecord("kopf", logging.WARNING, "f", 1, "%s: %s", (f"x{evil}", f"{evil}INFO shop: Deleted"), None)
    line = terminal.HarmlessFormatter("%(levelname)s %(message)s").format(record)
    assert not OBEYED.search(line), line
    assert all(each.startswith("    ") for each in line.split("\n")[1:]), line


@pytest.mark.process
def test_all_loggers_of_a_command_are_harmless() -> None:
    code = (
        "from kconnect.cli import terminal; import logging; "
        "terminal.log_to_stderr('%(message)s'); terminal.log_to_stderr('%(asctime)s %(message)s', again=True); "
        "logging.getLogger('kopf').warning('a\\x1b[31m\\nb')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.endswith(" a\\u001b[31m\n    b\n"), done.stderr


@pytest.mark.parametrize("evil", [*EVIL, "\x1b[31m"])
def test_no_resource_speaks_to_the_terminal(evil: str) -> None:
    """Names of settings, annotations and what a worker says of them are in statuses and events of Kubernetes."""
    observed = Observed(
        {"name": "orders", "connector.class": f"X{evil}"}, bodies.status("RUNNING", "FAILED", trace=f"E: {evil}!")
    )
    for spec in (
        {"config": {f"a{evil}": "b"}},
        {"config": {"name": f"other{evil}"}},
        {"drift": "report", "config": {evil: "x"}},
    ):
        found = resources.read(bodies.connector(owner="owned", annotations={"kconnect.dev/restart-task": f"1{evil}"}, **spec))
        decision = deciding.decide(found, observed, bodies.NOW)
        for failure in (None, f"Invalid value {evil} for configuration x"):
            outcome = Outcome(0 if failure else len(decision.actions), failure)
            after = statuses.status(found, observed, decision, outcome, bodies.NOW)
            texts = [after["message"], *(row["message"] for row in after["conditions"])]
            texts += [event.message for event in statuses.events(found, decision, outcome, after)]
            assert not any(OBEYED.search(text) or "\n" in text for text in texts), texts
            assert not COMMANDS.search(str(after["connectorStatus"]))
