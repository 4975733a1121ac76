"""
The network between the machines: starts the switch of `fabric.c`, and gives it commands.

Held by `cluster.py`; faults cut and slow down lines with it. A `Switch` of a directory in which another process has started one
commands that one. Read next: `hosts.py`.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
from collections.abc import Collection
from pathlib import Path

from kconnect.errors import ConnectError
from tests.rig.machines import ADDRESSES

_ANSWER_S = 10.0
_LARGEST = 1 << 16
_EVERYTHING = 1000
"""Frames of a thousand that are lost on a line that is cut."""


class Switch:
    """The switch of the rig in `directory`, and the network namespaces of its machines."""

    def __init__(self, directory: Path) -> None:
        self._socket, self._state = directory / "switch.socket", directory / "switch.json"
        self._log = directory / "switch.log"

    def start(self, program: Path, life_line: int) -> None:
        """Start the switch, which ends with `life_line`, and give each machine its address."""
        ends = [f"{name}={address.rpartition('.')[2]}" for name, address in ADDRESSES.items()]
        # It must not wait for the processor behind a hundred threads of JVMs: that would be a slow network.
        command = ["nice", "-n", "-10", str(program), "switch", str(self._socket), *ends]
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                command, stdin=life_line, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
            )
        assert process.stdout is not None
        spaces: dict[str, str] = {}
        for line in process.stdout:
            if line == "ready\n":
                break
            name, _, descriptor = line.strip().partition(" ")
            spaces[name] = f"/proc/{process.pid}/fd/{descriptor}"
        else:
            raise ConnectError(f"The rig's switch ended with status {process.wait()}")
        self._state.write_text(json.dumps({"pid": process.pid, "spaces": spaces}), "utf-8")
        for name in ADDRESSES:
            self._connect(name)

    def _connect(self, name: str) -> None:
        """Bring a machine's end up. It knows all others beforehand, so that a cut line is silent, as one of a real switch."""
        lines = [
            "link set lo up",
            f"link set eth0 address {_mac(name)}",
            f"addr add {ADDRESSES[name]}/24 dev eth0",
            "link set eth0 up",
            *(
                f"neigh replace {address} lladdr {_mac(other)} dev eth0 nud permanent"
                for other, address in ADDRESSES.items()
                if other != name
            ),
        ]
        script = "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6; exec ip -batch -"
        command = ["nsenter", f"--net={self.space(name)}", "sh", "-c", script]
        subprocess.run(command, input="\n".join(lines) + "\n", text=True, check=True)

    def space(self, name: str) -> str:
        """Return the path of a machine's network namespace, which is there as long as the switch."""
        path: str = json.loads(self._state.read_text("utf-8"))["spaces"][name]
        return path

    # --- what a network can do ---

    def link(self, senders: Collection[str], receivers: Collection[str], loss_per_mille: int = 0, delay_ms: int = 0) -> None:
        """Set how frames go from each of `senders` to each of `receivers`, in this direction."""
        for sender in senders:
            for receiver in receivers:
                if sender != receiver:
                    self.command(f"link {sender} {receiver} {loss_per_mille} {delay_ms}")

    def part(self, some: Collection[str], others: Collection[str]) -> None:
        """Cut all lines between two sets of machines, in both directions."""
        self.link(some, others, _EVERYTHING)
        self.link(others, some, _EVERYTHING)

    def part_one_way(self, senders: Collection[str], receivers: Collection[str]) -> None:
        """Cut all lines from one set of machines to another; what the others send arrives."""
        self.link(senders, receivers, _EVERYTHING)

    def narrow(self, names: Collection[str], kbit: int) -> None:
        """Let no more than this through from and to these machines, in each direction."""
        for name in names:
            self.command(f"rate {name} {kbit}")

    def heal(self) -> None:
        """Make every line whole and quick again."""
        self.command("heal")

    def add_needle(self, text: bytes) -> None:
        """Count the frames with this text from now on; a text that two frames share is not noticed."""
        self.command(f"needle {text.hex()}")

    def hits(self) -> dict[tuple[int, str, str], int]:
        """Return the numbers of frames with a needle, by the needle's place in the order of adding, sender and receiver."""
        rows = (line.split() for line in self.command("hits").splitlines())
        return {(int(needle), sender, receiver): int(count) for needle, sender, receiver, count in rows}

    def frames(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Return how many frames have passed, and how many were lost, by sender and receiver."""
        rows = (line.split() for line in self.command("stats").splitlines())
        return {(sender, receiver): (int(passed), int(lost)) for sender, receiver, passed, lost in rows}

    def command(self, text: str) -> str:
        """Give the switch one of the commands that the head of `fabric.c` lists. Raise ConnectError if it does not do it."""
        own = str(self._socket.with_name(f"asker-{os.getpid()}-{secrets.token_hex(4)}"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asker:
            asker.bind(own)
            try:
                asker.settimeout(_ANSWER_S)
                asker.sendto(text.encode(), str(self._socket))
                answer = asker.recv(_LARGEST).decode()
            except OSError as error:
                raise ConnectError(f"The rig's switch does not answer {text!r}: {error}") from error
            finally:
                os.unlink(own)
        if answer.startswith(("no such", "too many")):
            raise ConnectError(f"The rig's switch refuses {text!r}: {answer}")
        return answer


def _mac(name: str) -> str:
    return f"02:77:00:00:00:{int(ADDRESSES[name].rpartition('.')[2]):02x}"
