"""Which connectors there are, with plugins that hang, crash and would not go with each other."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from kconnect.plugins.child import Child
from kconnect.plugins.listing import Listing
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from kconnect.plugins.sandbox_child import frame
from tests.rig.systems.plugin_packages import PluginPackage
from tests.support import wait_until

pytestmark = pytest.mark.process


def is_over(pid: int) -> bool:
    try:
        return " Z " in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


CONNECTOR = """
import os, signal, sys, time
import helper
{before}
from kconnect.api.config import ConfigDef
from kconnect.api.connector import {base}
from kconnect.api.task import SourceTask, SinkTask


class {name}({base}):
    {init}
    def version(self): return helper.VERSION
    def start(self, props): ...
    def stop(self): ...
    def task_class(self): return SourceTask
    def task_configs(self, max_tasks): return [{{}}]
    def config(self): return ConfigDef()
"""


def plugin(root: Path, name: str, version: str = "1", base: str = "SourceConnector", before: str = "", init: str = "") -> Path:
    """One whose module is named like all others', as is what it depends on."""
    code = CONNECTOR.format(name=name, base=base, before=before, init=init)
    modules = {"common_connector.py": code, "helper.py": f"VERSION = '{version}'\n"}
    package = PluginPackage(name.lower(), version, modules, {"kconnect.connectors": {name: f"common_connector:{name}"}})
    return package.install(root)


Listed = Callable[[], list[tuple[str, str, str]]]


@pytest.fixture
def listed(tmp_path: Path, request: pytest.FixtureRequest) -> Listed:
    made: list[Sandbox] = []

    def ask() -> list[tuple[str, str, str]]:
        """Of the plugins in `tmp_path` class, type and version; by one sandbox."""
        if not made:
            made.append(Sandbox(Registry.scan([str(tmp_path)]), [str(tmp_path)], 240))
            request.addfinalizer(made[0].close)
        rows = made[0].list_plugins(connectors_only=True)
        return [(row["class"].split(".")[1], row["type"], row["version"]) for row in rows if row["class"].startswith("common_")]

    return ask


def test_plugins_that_would_not_go_with_each_other(tmp_path: Path, listed: Listed, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(20):
        plugin(tmp_path, f"C{number:02}", f"1.{number}", "SinkConnector" if number % 2 else "SourceConnector")
    with caplog.at_level(logging.WARNING):
        found = listed()
    sources, sinks = ([(f"C{number:02}", f"1.{number}") for number in range(first, 20, 2)] for first in (0, 1))
    assert [(name, version) for name, kind, version in found if kind == "sink"] == sinks
    assert [(name, version) for name, kind, version in found if kind == "source"] == sources
    # What each says of its version came from its own helper: nobody is warned of another one.
    assert caplog.messages == []


def test_those_that_are_slow_hold_nobody_up(tmp_path: Path, listed: Listed) -> None:
    # The first ones wait until all the others have been asked, more than are asked at a time.
    late = tmp_path / "late"
    waits = f"while not os.path.exists({str(late)!r}): time.sleep(0.01)"
    slow = [f"A{number:02}" for number in range(5)]
    for name in slow:
        plugin(tmp_path, name, before=waits)
    plugin(tmp_path, "Quick")
    plugin(tmp_path, "ZLast", before=f"open({str(late)!r}, 'w')")
    assert listed() == [(name, "source", "1") for name in (*slow, "Quick", "ZLast")]


def test_those_that_hang_are_ended_and_not_asked_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    plugin(tmp_path, "Sleeping", before="time.sleep(1000)")
    plugin(tmp_path, "Spinning", init="def __init__(self):\n        while True: pass")
    plugin(tmp_path, "Stubborn", before="signal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: time.sleep(1)")
    plugin(tmp_path, "Forking", before="os.fork()\ntime.sleep(1000)")
    calls = []

    def ask(request: dict[str, Any], deadline: float) -> dict[str, Any]:
        """A process, as the sandbox starts it, that gives each a second only."""
        calls.append(len(request["plugins"]))
        child = Child((), {"memory": None}, "kconnect.plugins.listing_child")
        try:
            return child.ask({**request, "each": 1.0}, deadline)
        finally:
            child.kill()

    plugins = [each for each in Registry.scan([str(tmp_path)]).plugins if each.python_path.startswith("common_")]
    listing = Listing(Registry(plugins), {}, 240, ask)
    with caplog.at_level(logging.WARNING):
        assert listing.rows(connectors_only=True) == []
    told = {text.split(":")[1].split(" ")[0]: text.split(", at the stage ") for text in caplog.messages}
    rest = "in version 1 is not listed until plugins are reloaded: it did not answer within 1 s, and its process was killed"
    for name in ("Sleeping", "Spinning", "Stubborn", "Forking"):
        text, stage = told[name]
        assert text == f"The connector plugin common_connector:{name} {rest}"
        assert stage in ("starting", "importing", "constructing")
    listing.rows(connectors_only=True)
    assert calls == [4]


def test_one_that_dies_takes_nobody_with_it(tmp_path: Path, listed: Listed, caplog: pytest.LogCaptureFixture) -> None:
    plugin(tmp_path, "Aborting", before="os.abort()")
    plugin(tmp_path, "Exiting", before="sys.exit(3)")
    plugin(tmp_path, "Leaving", before="os._exit(3)")
    plugin(tmp_path, "Closing", before="os.closerange(3, 100)")
    plugin(tmp_path, "Signalling", before="os.kill(0, signal.SIGTERM) if False else os.kill(os.getpid(), signal.SIGTERM)")
    plugin(tmp_path, "Good")
    with caplog.at_level(logging.WARNING):
        assert listed() == [("Good", "source", "1")]
    reasons = {text.split(":")[1].split(" ")[0]: text.split("reloaded: ")[1] for text in caplog.messages}
    assert reasons["Aborting"] == "its process ended (SIGABRT), at the stage importing"
    assert reasons["Leaving"] == "its process ended (exit status 3), at the stage importing"
    assert reasons["Signalling"] == "its process ended (SIGTERM), at the stage importing"
    assert reasons["Exiting"].endswith("common_connector.Exiting failed at the stage importing: SystemExit: 3")
    assert reasons["Closing"].startswith("its process ended (")
    assert len(reasons) == 5


def test_it_ends_with_its_worker(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    root = tmp_path / "plugins"
    hangs = f"open({str(marker)!r}, 'w').write(str(os.getpid()))\ntime.sleep(1000)"
    plugin(root, "Hanging", before=hangs)
    descs = [asdict(each) for each in Registry.scan([str(root)]).plugins if each.name == "Hanging"]
    command = [sys.executable, "-m", "kconnect.plugins.listing_child"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert child.stdin is not None
    assert child.stdout is not None
    request: dict[str, Any] = {"plugins": descs, "until": time.monotonic() + 600, "each": 600}
    with child.stdout:
        with child.stdin:
            child.stdin.write(frame({"memory": None}) + frame(request))
            child.stdin.flush()
            wait_until(lambda: marker.exists() and marker.read_text() != "")
        assert child.wait(60) == -9
        fork = int(marker.read_text())
        wait_until(lambda: is_over(fork))
        assert json.dumps(child.stdout.read().decode()) == '""'
