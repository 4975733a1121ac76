"""
A source whose tasks do what no plugin may do to others, as their setting `does` says, for tests on a real worker.

The shared worker has it in a plugin directory of its own, so its text goes with it and it imports the public API only.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from pathlib import Path

from kconnect.api.config import ConfigDef, ConfigKey, Type
from kconnect.api.connector import SourceConnector
from kconnect.api.record import SourceRecord
from kconnect.api.task import SourceTask
from kconnect.data.schema import INT64_SCHEMA

SETTINGS = ConfigDef(
    ConfigKey("topic", Type.STRING, doc="Where the task's numbers go, ten a second."),
    ConfigKey("does", Type.STRING, "", doc="What else it does, once it has sent a number and `go` exists; or in stop()."),
    ConfigKey("go", Type.STRING, "/", doc="A file for which it waits with that; one beside it, `.done`, says that it is done."),
)


def write_plugin(directory: Path) -> Path:
    """A directory for `plugin.path` with this plugin and nothing else; gives it back."""
    info = directory / "harmful" / "harmful-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: harmful\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[kconnect.connectors]\nHarmful = harmful:HarmfulConnector\n")
    (info.parent / "harmful.py").write_text(Path(__file__).read_text("utf-8"), "utf-8")
    return directory


class HarmfulConnector(SourceConnector):
    def version(self) -> str:
        return "1.0"

    def config(self) -> ConfigDef:
        return SETTINGS

    def start(self, props: dict[str, str]) -> None:
        self._props = dict(props)

    def stop(self) -> None:
        """There is nothing to stop."""

    def task_class(self) -> type[SourceTask]:
        return HarmfulTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [dict(self._props)]


class HarmfulTask(SourceTask):
    def version(self) -> str:
        return "1.0"

    def start(self, props: dict[str, str]) -> None:
        self._props, self._sent, self._done = props, 0, False

    def poll(self) -> list[SourceRecord] | None:
        time.sleep(0.1)
        does = self._props.get("does", "")
        if does and self._sent and not self._done and os.path.exists(self._props.get("go", "/")):
            self._done = True
            harm(does)
            os.close(os.open(f"{self._props['go']}.done", os.O_CREAT))
        self._sent += 1
        return [SourceRecord({"of": "it"}, {"n": self._sent}, self._props["topic"], None, None, None, INT64_SCHEMA, self._sent)]

    def stop(self) -> None:
        if self._props.get("does") == "hang in stop":
            threading.Event().wait()


def harm(what: str) -> None:
    match what:
        case "hang":
            threading.Event().wait()
        case "crash":
            ctypes.string_at(0)
        case "crash in a thread":
            threading.Thread(target=ctypes.string_at, args=(0,)).start()
        case "exit":
            os._exit(3)
        case "exit the thread":
            sys.exit(3)
        case "kill":
            os.kill(os.getpid(), 9)
        case "kill from C":
            ctypes.CDLL(None).kill(os.getpid(), 9)
        case "take memory":
            taken = []
            while True:
                taken.append(b"x" * 2**20)
                time.sleep(0.01)
        case "leak threads":
            for _ in range(10_000):
                threading.Thread(target=threading.Event().wait, daemon=True).start()
        case "leave a thread":
            threading.Thread(target=threading.Event().wait, daemon=True).start()
        case "patch":
            import builtins

            builtins.open = None  # type: ignore[assignment]
        case "signal":
            import signal

            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        case "print":
            for number in range(20_000):
                print(f"flood {number}")  # noqa: T201
            print("to the error stream", file=sys.stderr)  # noqa: T201
            os.write(1, b"from C\n")
        case "hold the lock":
            ctypes.PyDLL(None).sleep(300)
