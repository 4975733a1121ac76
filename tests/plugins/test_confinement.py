"""What plugin code may do to its process, and that neither the next request nor the worker's machine feels it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from kconnect.errors import ConnectError, RequestTimeoutError
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from tests.rig.systems.plugin_packages import PluginPackage
from tests.support import wait_until

pytestmark = pytest.mark.process

MEMORY = 512 * 2**20

HARMFUL = '''
import builtins, os, resource, signal, subprocess, sys, threading, time
from kconnect.api.config import Config, ConfigDef, ConfigValue
from kconnect.api.connector import SourceConnector
from kconnect.api.task import SourceTask


class Good(SourceConnector):
    def version(self): return "1"
    def start(self, props): ...
    def stop(self): ...
    def task_class(self): return SourceTask
    def task_configs(self, max_tasks): return [{}]
    def config(self): return ConfigDef()
    def harm(self): ...
    def validate(self, props):
        self.harm()
        return Config([ConfigValue("pid", str(os.getpid()))])


class Greedy(Good):
    def harm(self): bytearray(2**32)


class Hoarding(Good):
    kept = []
    def harm(self):
        while True: self.kept.append(b"x" * 2**20)


class Stopped(Good):
    def harm(self): os.kill(os.getpid(), signal.SIGSTOP)


class Deaf(Good):
    def harm(self):
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        time.sleep(600)


class NoVersion(Good):
    def version(self): time.sleep(600)


class NoStart(Good):
    def __init__(self): time.sleep(600)


class Flooding(Good):
    def harm(self):
        while True: print("flood" * 1000)


class Talking(Good):
    def harm(self): sys.stdout.write("talk" * 2**24)


class Quoting(Good):
    def validate(self, props):
        print("x" * 8188 + props["login.password"] + "y" * 8188)
        return super().validate(props)


class Closing(Good):
    def harm(self): os.closerange(3, 256)


class Interrupting(Good):
    def harm(self): raise KeyboardInterrupt


class Unspeakable(Good):
    def harm(self):
        class Silent(Exception):
            def __str__(self): raise ValueError
        raise Silent


class Wordy(Good):
    def harm(self): raise ValueError("w" * 2**20)


class Huge(Good):
    def validate(self, props): return Config([ConfigValue("huge", "", ["x" * 2**20] * 65)])


class Odd(Good):
    def validate(self, props): return Config([ConfigValue("odd", chr(0xd800))])


class Threading(Good):
    def harm(self): threading.Thread(target=time.sleep, args=(600,), name="left-over", daemon=True).start()


class Handling(Good):
    def harm(self): signal.signal(signal.SIGTERM, signal.SIG_IGN)


class Timing(Good):
    def harm(self): signal.setitimer(signal.ITIMER_VIRTUAL, 600)


class Patching(Good):
    def harm(self): builtins.open = lambda *_: None


class Wandering(Good):
    def harm(self): os.chdir("/")


class Spawning(Good):
    def harm(self): subprocess.Popen(["sleep", "600"])


class Daemon(Good):
    """A grandchild in a session of its own, whose parent has gone."""
    def harm(self):
        script = "import subprocess as s; print(s.Popen(['sleep', '600'], stdout=s.DEVNULL, start_new_session=True).pid)"
        pid = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True).stdout
        with open(os.environ["DAEMON_PID"], "wb") as file: file.write(pid)


class DaemonAndGone(Daemon):
    def harm(self):
        super().harm()
        os._exit(9)
'''


@pytest.fixture(scope="module")
def harmful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    root = tmp_path_factory.mktemp("harmful")
    classes = [line.split("(")[0].removeprefix("class ") for line in HARMFUL.splitlines() if line.startswith("class ")]
    names = {name: f"harmful:{name}" for name in classes}
    PluginPackage("harmful", "1", {"harmful.py": HARMFUL}, {"kconnect.connectors": names}).unpack(root / "harmful")
    other = {"other.py": HARMFUL.replace("Good", "Other")}
    PluginPackage("other", "1", other, {"kconnect.connectors": {"Other": "other:Other"}}).unpack(root / "other")
    sandbox = Sandbox(Registry.scan([str(root)]), [str(root)], 30, memory=MEMORY)
    yield sandbox
    sandbox.close()


def ask(sandbox: Sandbox, plugin: str, timeout: float | None = None) -> dict[str, Any]:
    return sandbox.validate(plugin, {"name": "c", "connector.class": plugin}, timeout)


def pid(infos: dict[str, Any]) -> str:
    return next(row["value"]["value"] for row in infos["configs"] if row["value"]["name"] == "pid")


@pytest.mark.parametrize(
    ("plugin", "text"),
    [
        ("Greedy", rf"harmful.Greedy failed at .* validate\(\): MemoryError: .* {MEMORY} bytes .* sandbox.memory.max.bytes"),
        ("Hoarding", r"harmful.Hoarding failed at the stage validate\(\): MemoryError"),
        ("Interrupting", r"harmful.Interrupting failed at the stage validate\(\): KeyboardInterrupt"),
        ("Unspeakable", r"failed at the stage validate\(\): Silent: its text can't be had \(ValueError\)"),
        ("Wordy", r"failed at the stage validate\(\): ValueError: w{9900,}… \(\d+ characters\)$"),
        ("Huge", r"harmful.Huge failed at the stage validate\(\): its answer has \d+ bytes, more than the 67108864"),
        ("Odd", r"harmful.Odd failed at the stage validate\(\): its answer is not JSON"),
        ("Closing", r"\(exit status 1\): harmful.Closing at the stage validate\(\)"),
    ],
)
def test_what_fails_is_told_with_class_and_stage(harmful: Sandbox, plugin: str, text: str) -> None:
    with pytest.raises(ConnectError, match=text):
        ask(harmful, plugin)
    assert ask(harmful, "Good")["error_count"] == 0


@pytest.mark.parametrize(("end", "status"), [("writer", 0), ("reader", 1)])
def test_the_status_tells_a_parent_that_has_gone_from_a_pipe_that_a_plugin_closed(end: str, status: int) -> None:
    script = f"""
import os, queue
from kconnect.plugins.sandbox_child import _receive
reader, writer = os.pipe()
requests = os.fdopen(reader, "rb")
os.close({end})
_receive(requests, queue.SimpleQueue())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status, done.stderr
    assert ("Bad file descriptor" in done.stderr) == (status == 1)


@pytest.mark.parametrize("plugin", ["Stopped", "Deaf", "Flooding"])
def test_what_hangs_is_killed_at_the_limit(harmful: Sandbox, plugin: str) -> None:
    ask(harmful, "Good")  # warm: the limit is for the plugin
    with pytest.raises(RequestTimeoutError, match=rf"within 5 s: harmful.{plugin} at the stage validate\(\)"):
        ask(harmful, plugin, 5)
    assert ask(harmful, "Good")["error_count"] == 0


@pytest.mark.parametrize(("plugin", "stage"), [("NoVersion", r"version\(\)"), ("NoStart", "constructing")])
def test_a_description_that_hangs_names_its_stage(harmful: Sandbox, plugin: str, stage: str) -> None:
    ask(harmful, "Good")
    with pytest.raises(RequestTimeoutError, match=rf"within 5 s: harmful.{plugin} at the stage {stage}"):
        harmful.describe(plugin, 5)
    assert ask(harmful, "Good")["error_count"] == 0


def test_a_secret_that_stands_where_a_long_line_is_cut_is_hidden(harmful: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    # Before the flood below, after which its process is not listened to any more.
    config = {"name": "c", "connector.class": "Quoting", "login.password": "swordfish-4711"}
    with caplog.at_level(logging.INFO, "kconnect.plugins"):
        assert harmful.validate("Quoting", config)["error_count"] == 0
        wait_until(lambda: "xxxx" in caplog.text, 240)
    assert "swor" not in caplog.text and "fish" not in caplog.text and "4711" not in caplog.text


def test_a_flood_of_text_is_read_but_not_logged(harmful: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "kconnect.plugins"):
        assert ask(harmful, "Talking")["error_count"] == 0
        wait_until(lambda: "prints too much in its sandbox" in caplog.text, 240)
    assert len(caplog.text) < 2**24


def test_a_well_behaved_process_is_used_again(harmful: Sandbox) -> None:
    assert pid(ask(harmful, "Good")) == pid(ask(harmful, "Good"))


@pytest.mark.parametrize(
    ("plugin", "left"),
    [
        ("Threading", "1 threads (left-over)"),
        ("Handling", "signal handlers (SIGTERM)"),
        ("Timing", "a timer"),
        ("Patching", "replaced builtins (open)"),
        ("Wandering", "another working directory"),
        ("Spawning", "child processes"),
    ],
)
def test_a_process_in_which_something_was_left_is_not(
    harmful: Sandbox, plugin: str, left: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = pid(ask(harmful, "Good"))
    with caplog.at_level(logging.INFO, "kconnect.plugins"):
        assert pid(ask(harmful, plugin)) == before
    assert f"harmful.{plugin} at the stage validate() has changed the state of its process" in caplog.text
    assert left in caplog.text
    assert pid(ask(harmful, "Good")) != before
    assert not psutil.pid_exists(int(before))


@pytest.mark.parametrize("plugin", ["Daemon", "DaemonAndGone"])
def test_what_a_plugin_started_ends_with_its_process(
    harmful: Sandbox, plugin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAEMON_PID", str(tmp_path / "pid"))
    sandbox = Sandbox(harmful._registry, [str(Path(harmful._registry.find("Good", "connector").location).parent)], 30)
    try:
        if plugin == "Daemon":
            ask(sandbox, plugin)
        else:
            with pytest.raises(ConnectError, match="exit status 9"):
                ask(sandbox, plugin)
    finally:
        sandbox.close()
    daemon = int((tmp_path / "pid").read_bytes())
    with suppress(psutil.NoSuchProcess):
        assert psutil.Process(daemon).status() == psutil.STATUS_ZOMBIE
    assert psutil.pid_exists(os.getpid())


@pytest.mark.long
def test_plugins_that_hang_leave_room_for_those_of_others(harmful: Sandbox) -> None:
    ask(harmful, "Other")
    raised: list[Exception] = []

    def hang() -> None:
        try:
            ask(harmful, "NoStart", 40)
        except RequestTimeoutError as error:
            raised.append(error)

    threads = [threading.Thread(target=hang) for _ in range(8)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(harmful._busy) == 4)
    wait_until(lambda: sum((child.stage or {}).get("stage") == "constructing" for child in list(harmful._busy)) == 4)
    assert ask(harmful, "Other")["error_count"] == 0
    assert not raised, "it waited for those that hang"
    for thread in threads:
        thread.join(120)
    assert len(raised) == 8
    texts = sorted(str(error) for error in raised)
    assert [("harmful.NoStart at the stage constructing" in text) for text in texts].count(True) >= 4
