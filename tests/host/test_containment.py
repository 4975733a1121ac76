"""
What a unit's code may not do to the process that it shares, and what becomes of what it prints: in a process of its own, for
all of that is about the process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.process

_PROCESS = """
import builtins, contextlib, io, json, logging.config, os, signal, socket, subprocess, sys, threading, time
from kconnect.core.cluster.phases import UnitSpec
from kconnect.core.state.records import TargetState
from kconnect.host import output
from kconnect.processes import logs
from kconnect.host.containment import Containment
from kconnect.units.unit import Unit
from tests.integration.units import MemoryHost, until

logs.configure("json")
logs.hide_secrets({"password": "canary-91c3"})
contained = Containment("i-1")
units, results = [], {}

class Runs(Unit):
    def run(self):
        self.what()
        self.stopping.wait(60)

def unit(name, what):
    host = MemoryHost("127.0.0.1:1")
    made = Runs(UnitSpec(name, 0, {}, {}, 0, 0), host, TargetState.STARTED)
    made.what, made.host = what, host
    units.append(made)
    made.start()
    return made

def failed(name, what):
    made = unit(name, what)
    until(lambda: made.host.states == ["FAILED"], 60)
    results[name] = made.host.statuses[0][1].splitlines()[0]

def look():
    contained._looked_at = 0.0
    contained.look(units)

plain_open, plain_time = open, time.time
"""
_END = """
results["same"] = builtins.open is plain_open and time.time is plain_time and os.open is os.open
contained.close()
print("RESULTS " + json.dumps(results), flush=True)
os._exit(7)
"""


def run(directory: Path, script: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What such a process found, and the lines of its log. It ends as it wants to itself."""
    ended = subprocess.run(
        [sys.executable, "-c", _PROCESS + textwrap.dedent(script) + _END],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TMPDIR": str(directory)},
        timeout=240,
        check=False,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 7, ended.stderr[-3000:]
    [found] = [line for line in ended.stdout.splitlines() if line.startswith("RESULTS ")]
    lines = [json.loads(line) for line in ended.stderr.splitlines() if line.startswith("{")]
    return json.loads(found.removeprefix("RESULTS ")), lines


def test_what_would_end_or_change_the_process_fails_the_unit_that_tries_it(tmp_path: Path) -> None:
    found, _ = run(
        tmp_path,
        """
        failed("exit", lambda: os._exit(3))
        failed("abort", os.abort)
        failed("kill", lambda: os.kill(os.getpid(), 9))
        failed("group", lambda: os.killpg(os.getpgrp(), 15))
        failed("raise", lambda: signal.raise_signal(11))
        failed("exec", lambda: os.execl("/bin/true", "true"))
        failed("alarm", lambda: signal.alarm(1))
        failed("sys.exit", lambda: sys.exit(3))
        failed("handler", lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
        failed("builtins", lambda: setattr(builtins, "open", None))
        failed("time", lambda: setattr(time, "time", lambda: 0.0))
        failed("socket", lambda: setattr(socket, "socket", object))
        failed("delete", lambda: delattr(os, "listdir"))
        def swallows():
            with contextlib.suppress(BaseException):
                os._exit(3)
        failed("swallows", swallows)
        def in_a_thread():
            thread = threading.Thread(target=lambda: os._exit(3), daemon=True)
            thread.start()
        failed("thread", in_a_thread)
        """,
    )
    assert found.pop("same") is True
    assert found.pop("sys.exit") == "SystemExit: 3"
    refusal = "ValueError: signal only works in main thread of the main interpreter"
    assert found.pop("handler") == refusal
    for name, said in found.items():
        assert said.startswith(f"kconnect.host.guard.SharedProcessError: {name}-0 was about to "), said
        assert "So this unit has failed instead" in said
    assert "call os._exit(3)" in found["exit"]
    assert "replace builtins.open" in found["builtins"]
    assert "delete os.listdir" in found["delete"]


def test_what_a_unit_s_own_processes_do_and_what_adds_to_modules_is_nobody_s_business(tmp_path: Path) -> None:
    found, _ = run(
        tmp_path,
        """
        def harmless():
            child = os.fork()
            if child == 0:
                os._exit(0)
            results["child"] = os.waitpid(child, 0)[1]
            sleeper = subprocess.Popen(["sleep", "600"])
            os.kill(sleeper.pid, 0)
            os.kill(os.getpid(), 0)
            sleeper.kill()
            results["killed"] = sleeper.wait()
            builtins._ = lambda text: text
            sys.excepthook = print
            results["done"] = True
        made = unit("good", harmless)
        until(lambda: "done" in results, 60)
        look()
        results["states"] = made.host.states
        """,
    )
    assert found == {"child": 0, "killed": -9, "done": True, "states": [], "same": True}


def test_what_is_changed_behind_its_back_is_put_back_within_a_second(tmp_path: Path) -> None:
    found, lines = run(
        tmp_path,
        """
        def sneaks():
            def shut(*args):
                raise OSError
            shut.__module__ = "shop.source"
            vars(builtins)["open"] = shut
        made = unit("bad", sneaks)
        made.modules.add("shop")
        until(lambda: builtins.open is not plain_open, 60)
        look()
        until(lambda: made.host.states == ["FAILED"], 60)
        results["bad"] = made.host.statuses[0][1].splitlines()[0]
        plain = logging.Logger.info
        logging.Logger.info = None
        logging.getLogger().handlers.clear()
        logging.disable(logging.CRITICAL)
        logging.config.dictConfig({"version": 1})
        logging.getLogger("kconnect.host.main").addFilter(lambda line: time.sleep(600))
        from kconnect.kafka import clients
        client = clients._client_log()
        ours = list(client.filters)
        look()
        results["filters"] = client.filters == ours != []
        logging.getLogger("kconnect.host.main").info("so is the host's")
        results["info"] = logging.Logger.info is plain
        logging.info("the log is there")
        """,
    )
    assert found["same"] is found["info"] is found["filters"] is True
    refusal = "kconnect.host.guard.SharedProcessError: builtins.open was replaced by an object of the module shop.source"
    assert found["bad"].startswith(refusal)
    messages = [line["message"] for line in lines]
    assert {"the log is there", "so is the host's"} <= set(messages)
    assert "Logger.info was replaced by an object of the module builtins; it has been restored" in messages


def test_what_is_printed_becomes_lines_of_the_log(tmp_path: Path) -> None:
    found, lines = run(
        tmp_path,
        """
        told = []
        class Told(logging.Handler):
            def emit(self, record):
                told.append(record.getMessage())
        logging.getLogger().addHandler(Told())
        def prints():
            print("one\\ntwo", "words")
            print("trouble", file=sys.stderr)
            print("canary-91c3")
            print("x" * 100_000)
            with contextlib.redirect_stdout(io.StringIO()) as kept:
                print("kept")
            results["kept"] = kept.getvalue()
            print("half", end="", flush=True)
            os.write(1, b"from C\\n")
            subprocess.run(["sh", "-c", "echo from a child >&2"])
            results["done"] = True
        unit("talks", prints)
        until(lambda: "done" in results, 60)
        until(lambda: {"from C", "from a child"} <= set(told), 60)
        """,
    )
    assert found["kept"] == "kept\n"
    said = [(line["level"], line.get("connector"), line["message"]) for line in lines if line["logger"] == "kconnect.output"]
    assert said[:4] == [
        ("info", "talks", "one"),
        ("info", "talks", "two words"),
        ("warning", "talks", "trouble"),
        ("info", "talks", "[hidden]"),
    ]
    assert said[4][2] == "x" * 8192
    assert ("info", "talks", "half") in said
    assert ("info", None, "from C") in said
    assert ("warning", None, "from a child") in said


def test_a_flood_is_cut_and_counted_and_does_not_drown_another_unit(tmp_path: Path) -> None:
    _, lines = run(
        tmp_path,
        """
        def floods():
            for number in range(50_000):
                print("flood", number)
            results["done"] = True
        unit("floods", floods)
        until(lambda: "done" in results, 60)
        unit("quiet", lambda: (print("a word"), results.update(said=True)))
        until(lambda: "said" in results, 60)
        """,
    )
    of = [(line.get("connector"), line["message"]) for line in lines if line["logger"] == "kconnect.output"]
    assert len([line for line in of if line[1].startswith("flood ")]) == 1000
    assert ("floods", "49000 more lines were printed within a minute and are not logged") in of
    assert ("quiet", "a word") in of


def test_nobody_waits_for_who_reads_the_log(tmp_path: Path) -> None:
    """Standard error is a pipe that nobody empties: more is said than fits into it, and the process goes on and ends."""
    script = """
    for number in range(20_000):
        logging.info("line %d %s", number, "x" * 500)
    results["went_on"] = True
    """
    reading, writing = os.pipe()
    try:
        ended = subprocess.run(
            [sys.executable, "-c", _PROCESS + textwrap.dedent(script) + _END],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TMPDIR": str(tmp_path)},
            timeout=240,
            check=False,
            stdout=subprocess.PIPE,
            stderr=writing,
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert ended.returncode == 7
    assert b'"went_on": true' in ended.stdout
