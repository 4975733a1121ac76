"""
The machines: each has a host name, a process table and a /tmp of its own, beside its network of `switch.py`.

`Hosts` boots and crashes them, starts commands there, and finds processes. Held by `cluster.py`; `brokers.py`, `spark.py` and
`workers.py` start their programs with it. Read next: `boot.sh` says what a machine sees of the disk, then `cluster.py`.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kconnect.errors import ConnectError
from kconnect.jvm import jars
from tests.rig.machines import ADDRESSES
from tests.rig.machines.switch import Switch

ROOT = Path(__file__).parents[3]
_BOOT = Path(__file__).with_name("boot.sh")
_BOOT_S = 30.0
_ENTER = ("--net", "--uts", "--ipc", "--pid", "--mount")
_NEW_MOUNTS, _NETWORK = 0x00020000, 0x40000000
"""CLONE_NEWNS and CLONE_NEWNET of Linux; Python has os.unshare from 3.12 on only."""


@dataclass(frozen=True)
class Process:
    """A process of a machine, by its number outside. `parent` is None if that is not on the machine."""

    pid: int
    parent: int | None
    command: str


class Hosts:
    """
    The machines of the rig in `directory`. `program` is that of `fabric.c`. `life_line` is the descriptor of a pipe that they
    end with; None for a process that only looks at machines that another one has booted.
    """

    def __init__(self, directory: Path, switch: Switch, program: Path | None = None, life_line: int | None = None) -> None:
        self.directory = directory
        self._switch, self._program, self._life_line = switch, program, life_line
        self.names_file = directory / "names"
        self.code = directory / "code"
        """kconnect and the rig as they were at the start: whoever edits the checkout must not change what runs."""
        for folder in ("log", "pid"):
            (directory / folder).mkdir(parents=True, exist_ok=True)

    def write_files(self) -> None:
        """Write what is /etc/hosts on all machines, and copy the code that they run."""
        for package in ("kconnect", "tests"):
            shutil.copytree(ROOT / package, self.code / package, ignore=shutil.ignore_patterns("__pycache__"))
        lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in ADDRESSES.items())]
        self.names_file.write_text("\n".join(lines) + "\n", "utf-8")
        (self.directory / "nothing").touch()

    # --- machines ---

    def boot(self, name: str) -> None:
        """Start a machine, unless it is up."""
        if self.is_up(name):
            return
        assert self._program is not None and self._life_line is not None, "somebody else holds this rig's life line"
        # What this Python needs must be on each machine, also where a machine's own /tmp would hide it.
        visible = [path for path in (str(ROOT), sys.prefix, sys.base_prefix, str(jars.cache_dir())) if path.startswith("/tmp/")]
        namespaces = ["unshare", "--uts", "--ipc", "--pid", "--mount", "--fork", "--kill-child=SIGKILL"]
        boot = ["sh", str(_BOOT), name, str(self.directory), str(self._program), *visible]
        with self.log(f"boot-{name}").open("ab") as output:
            process = subprocess.Popen(
                ["nsenter", f"--net={self._switch.space(name)}", *namespaces, *boot],
                stdin=self._life_line,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        end = time.monotonic() + _BOOT_S
        while time.monotonic() < end and process.poll() is None:
            for child in _children(process.pid):
                if _command(child).startswith("/tmp/init"):
                    self._pid_file(name).write_text(json.dumps({"pid": child, "started": _started(child)}), "utf-8")
                    return
            time.sleep(0.02)
        raise ConnectError(f"The machine {name} does not start; see {self.log(f'boot-{name}')}")

    def crash(self, name: str) -> None:
        """End everything on a machine at once. Its kernel closes the connections, so cut its lines first for a silent end."""
        init = self._init(name)
        if init is not None:
            os.kill(init, signal.SIGKILL)
            while self._init(name) is not None:
                time.sleep(0.02)

    def is_up(self, name: str) -> bool:
        return self._init(name) is not None

    def enter(self, name: str) -> None:
        """
        Move this process to a machine's network, with its names of machines; files and processes stay as they are. It is for
        processes without a second thread, and there is no way back.
        """
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_NEW_MOUNTS) != 0:
            raise ConnectError(f"No mount namespace for the rig: {os.strerror(ctypes.get_errno())}")
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "--bind", str(self.names_file), "/etc/hosts"], check=True)
        descriptor = os.open(self._switch.space(name), os.O_RDONLY)
        try:
            if libc.setns(descriptor, _NETWORK) != 0:
                raise ConnectError(f"The network of {name} can't be entered: {os.strerror(ctypes.get_errno())}")
        finally:
            os.close(descriptor)

    # --- commands ---

    def start(self, name: str, command: Sequence[str], log: str, more: Mapping[str, str] | None = None) -> None:
        """Start a command on a machine, with `more` in its environment. Its output goes to this file of the rig's logs."""
        with self.log(log).open("ab") as output:
            subprocess.Popen(
                self.words(name, command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=self.environment(more),
            )

    def run(self, name: str, command: Sequence[str], more: Mapping[str, str] | None = None, timeout: float = 120.0) -> str:
        """Run a command on a machine, and return its output. Raise ConnectError if its status is not 0."""
        done = subprocess.run(
            self.words(name, command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self.environment(more),
            text=True,
            timeout=timeout,
            check=False,
        )
        if done.returncode != 0:
            raise ConnectError(
                f"{' '.join(command)} on {name} ended with status {done.returncode}: {done.stdout.strip()[-2000:]}"
            )
        return done.stdout

    def words(self, name: str, command: Sequence[str]) -> list[str]:
        """Return the command that runs `command` on a machine."""
        init = self._init(name)
        if init is None:
            raise ConnectError(f"The machine {name} is down")
        return ["nsenter", "-t", str(init), *_ENTER, "--wd=/tmp", *command]

    def log(self, name: str) -> Path:
        return self.directory / "log" / name

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of a command on a machine."""
        folders = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
        names = ("HOME", "KCONNECT_CACHE", "XDG_CACHE_HOME", "JAVA_HOME")
        kept = {name: os.environ[name] for name in names if name in os.environ}
        return {
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), *folders)),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(self.code),
            **kept,
            **(more or {}),
        }

    # --- processes ---

    def processes(self, name: str, *words: str) -> list[Process]:
        """Return the processes of a machine whose command lines have all these words."""
        init = self._init(name)
        space = None if init is None else _space(init)
        if space is None:
            return []
        pids = {pid for entry in os.listdir("/proc") if entry.isdigit() and _space(pid := int(entry)) == space} - {init}
        processes = []
        for pid in sorted(pids):
            command, parent = _command(pid), _parent(pid)
            if command and all(word in command for word in words):
                processes.append(Process(pid, parent if parent in pids else None, command))
        return processes

    def signal(self, processes: Collection[Process], number: signal.Signals = signal.SIGKILL) -> int:
        """Send a signal to processes of a machine. Return how many of them were still there."""
        count = 0
        pids = [process.pid for process in processes]
        if number == signal.SIGCONT:
            # Outside, nsenter stops with the command that it has started, and the end of the machine would wait for it.
            pids += [parent for pid in pids if (parent := _parent(pid)) is not None and _command(parent).startswith("nsenter")]
        for pid in pids:
            try:
                os.kill(pid, number)
                count += 1
            except ProcessLookupError:
                continue
        return count

    def _init(self, name: str) -> int | None:
        """Return the number of a machine's first process, None if it is down."""
        try:
            state = json.loads(self._pid_file(name).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        pid: int = state["pid"]
        return pid if _started(pid) == state["started"] else None

    def _pid_file(self, name: str) -> Path:
        return self.directory / "pid" / name


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def _space(pid: int) -> int | None:
    try:
        return os.stat(f"/proc/{pid}/ns/pid").st_ino
    except OSError:
        return None


def _fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the name; none for a process that has ended or is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
    return [] if fields[0] in "ZX" else fields


def _parent(pid: int) -> int | None:
    fields = _fields(pid)
    return int(fields[1]) if fields else None


def _started(pid: int) -> str | None:
    """Return when a process was started, in the kernel's ticks, which no other process with its number shares."""
    fields = _fields(pid)
    return fields[19] if fields else None


def remove(directory: Path) -> None:
    """Delete a rig's directory, once its machines are gone."""
    shutil.rmtree(directory, ignore_errors=True)
