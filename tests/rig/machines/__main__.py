"""
The rig of several machines for people: up, down, what runs where, and a command on a machine.

    python -m tests.rig.machines up                  # everything, with connectors; it stays up until `down`
    python -m tests.rig.machines state               # the machines with their processes
    python -m tests.rig.machines sh k1 kconnect cluster --url https://k1:8443
    python -m tests.rig.machines net link k1 b1 1000 0
    python -m tests.rig.machines down

`--directory` says which rig; the default is one for this machine. Needs what `lacking` in `__init__.py` says. Read next:
`cluster.py`.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.rig import machines
from tests.rig.machines import ADDRESSES, WORKERS, hosts, workload
from tests.rig.machines.chaos import SKIPPED
from tests.rig.machines.cluster import Rig, life_line
from tests.rig.machines.workers import TOKEN

_HOME = Path(tempfile.gettempdir()) / "kconnect-machines"
_HOLDER = "holder.pid"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.rig.machines", description=__doc__.splitlines()[1])
    parser.add_argument("--directory", type=Path, default=_HOME, help="of the rig; %(default)s")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("up", help="start everything")
    commands.add_parser("down", help="end everything, and delete the rig's directory")
    commands.add_parser("state", help="list the machines with their processes")
    shell = commands.add_parser("sh", help="run a command on a machine")
    shell.add_argument("machine", choices=list(ADDRESSES))
    shell.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND")
    net = commands.add_parser("net", help="give the switch a command; the head of fabric.c lists them")
    net.add_argument("words", nargs="+", metavar="COMMAND")
    options = parser.parse_args()
    if (lacking := machines.lacking()) is not None:
        print(lacking)
        return SKIPPED
    if options.command == "up":
        return _up(options.directory)
    if options.command == "down":
        return _down(options.directory)
    rig = Rig(options.directory)
    if options.command == "state":
        print("\n".join(rig.state()))
        return 0
    if options.command == "net":
        print(rig.switch.command(" ".join(options.words)))
        return 0
    environment = {**os.environ, **rig.hosts.environment(), "KCONNECT_TOKEN": TOKEN}
    environment["SSL_CERT_FILE"] = str(rig.certificates.authority)
    return subprocess.run(rig.hosts.words(options.machine, options.words or ["bash"]), env=environment, check=False).returncode


def _up(directory: Path) -> int:
    if (directory / _HOLDER).exists():
        print(f"There is a rig in {directory}. Take it down first: python -m tests.rig.machines --directory {directory} down")
        return 1
    directory.mkdir(parents=True, exist_ok=True)
    line, held = life_line()
    # It holds the life line when this process has ended.
    holder = subprocess.Popen(
        ["sleep", "infinity"],
        pass_fds=(held,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    (directory / _HOLDER).write_text(str(holder.pid), "utf-8")
    try:
        rig = Rig(directory, line)
        rig.up(workload.create_topics, print)
        with rig.workers.client(WORKERS[0], 95.0) as client:
            workload.create_connectors(client, rig)
    except BaseException:
        holder.kill()
        (directory / _HOLDER).unlink()
        raise
    print(f"Up, in {directory}. Everybody may ask its workers from its machines, with the token {TOKEN}.")
    return 0


def _down(directory: Path) -> int:
    holder = directory / _HOLDER
    if not holder.exists():
        print(f"There is no rig in {directory}")
        return 1
    pid = int(holder.read_text("utf-8"))
    try:
        if "sleep" in Path(f"/proc/{pid}/cmdline").read_text():
            os.kill(pid, signal.SIGKILL)
    except FileNotFoundError:
        pass
    hosts.remove(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
