"""
The unit of systemd without systemd: its settings, and its command with them, as far as a process can have them without it.

`test_systemd.py` uses it. `Service` makes a root directory of its own in a mount namespace, which needs root; nothing of this
machine is written to but the folder that it is given. Only what our unit has is understood; anything else is an error, so that
it gets looked at.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil

from tests.docker.image import ROOT

UNIT = ROOT / "docker" / "systemd" / "kconnect.service"
BECOME = Path(__file__).with_name("become.py")
USER_ID = 60_847
"""Of nobody here."""

_EMULATED = """
User Group UMask StateDirectory CacheDirectory LogsDirectory StateDirectoryMode CacheDirectoryMode LogsDirectoryMode
WorkingDirectory Environment EnvironmentFile LimitNOFILE LimitCORE NoNewPrivileges CapabilityBoundingSet ProtectSystem
ProtectHome PrivateTmp PrivateDevices ProtectProc ProtectKernelTunables RestrictAddressFamilies SystemCallFilter
SystemCallErrorNumber ExecStart Type NotifyAccess KillMode TimeoutStopSec
"""
_NOT_EMULATED = """
TimeoutStartSec Restart RestartSec OOMPolicy SyslogIdentifier TasksMax ProtectClock ProtectControlGroups ProtectHostname
ProtectKernelLogs ProtectKernelModules RemoveIPC RestrictNamespaces RestrictRealtime RestrictSUIDSGID LockPersonality
KeyringMode SystemCallArchitectures
"""


def settings() -> dict[str, list[str]]:
    """The values of the section [Service] by their names, in the order of the file."""
    found: dict[str, list[str]] = {}
    section = UNIT.read_text("utf-8").partition("[Service]\n")[2].partition("\n[")[0]
    for line in section.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.partition("=")
            if name not in (*_EMULATED.split(), *_NOT_EMULATED.split()):
                raise ValueError(f"{UNIT}: {name} is not understood")
            found.setdefault(name, []).append(value)
    return found


def system_calls(filters: list[str]) -> set[str]:
    """Return the names of the system calls that SystemCallFilter allows: the first is a list of those, the others take away."""
    allowed, *denied = filters
    assert all(text.startswith("~") for text in denied)
    return _calls(allowed).difference(*(_calls(text[1:]) for text in denied))


def _calls(names: str) -> set[str]:
    found: set[str] = set()
    for name in names.split():
        if name.startswith("@"):
            lines = subprocess.run(
                ["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True
            ).stdout
            found |= _calls(" ".join(line for line in lines.split("\n    ")[1:] if not line.startswith("#")))
        else:
            found.add(name)
    return found


class Service:
    """
    The unit's command as a process with the unit's settings. `worker_file` is /etc/kconnect/worker.properties, `folder` is for
    what tells the outcome. What the process writes is in a file system in memory, and goes with it.
    """

    def __init__(self, folder: Path, worker_file: str) -> None:
        self._settings = settings()
        self.log = folder / "journal"
        self._channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        run = folder / "run"
        run.mkdir()
        self._channel.bind(str(run / "notify"))
        os.chown(run / "notify", USER_ID, USER_ID)
        run.chmod(0o755)
        (folder / "worker.properties").write_text(worker_file, "utf-8")
        (folder / "order").write_text(json.dumps(self._order()), "utf-8")
        script = folder / "root.sh"
        script.write_text(_script(folder, self._settings), "utf-8")
        with self.log.open("wb") as log:
            self.process = psutil.Popen(
                ["unshare", "--mount", "--propagation", "private", "sh", str(script)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def root(self) -> Path:
        """The root directory that the process sees."""
        return Path(f"/proc/{self.process.pid}/root")

    def news(self, limit_s: float = 240.0) -> str:
        """Wait for what the process tells systemd next."""
        self._channel.settimeout(limit_s)
        return self._channel.recv(4096).decode()

    def stop(self) -> int:
        """As systemd does it by KillMode=mixed: a signal to the process alone. Return its exit status."""
        assert self._settings["KillMode"] == ["mixed"]
        self.process.send_signal(signal.SIGTERM)
        # For longer than systemd would: where tests run everything has less of the machine.
        return self.process.wait(4 * float(self._settings["TimeoutStopSec"][0]))

    def left(self) -> list[psutil.Process]:
        """Return the processes of the service's user, but for those that have ended and wait for somebody to notice."""
        return [
            each
            for each in psutil.process_iter(["uids", "status"])
            if each.info["uids"] and each.info["uids"].real == USER_ID and each.info["status"] != psutil.STATUS_ZOMBIE
        ]

    def end(self) -> None:
        for each in self.left():
            each.kill()
        if self.process.is_running():
            self.process.kill()
        self.process.wait(60)
        self._channel.close()

    def _order(self) -> dict[str, object]:
        only = {name: values[-1] for name, values in self._settings.items()}
        directory = only["WorkingDirectory"]
        variables = dict(word.split("=", 1) for word in shlex.split(only["Environment"]))
        return {
            "command": shlex.split(only["ExecStart"]),
            "environment": {
                "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME": directory,
                "USER": only["User"],
                "NOTIFY_SOCKET": "/run/notify",
                **variables,
            },
            "directory": directory,
            "umask": int(only["UMask"], 8),
            "files": int(only["LimitNOFILE"]),
            "core": int(only["LimitCORE"]),
            "calls": sorted(system_calls(self._settings["SystemCallFilter"])),
            "families": [int(getattr(socket, name)) for name in only["RestrictAddressFamilies"].split()],
        }


def _script(folder: Path, given: dict[str, list[str]]) -> str:
    """
    Return the commands that make the root directory and become the service's command. They are run in a mount namespace of
    their own: what they mount, nobody else sees.
    """
    new, python = folder / "root", Path(sys.base_prefix)
    new.mkdir()
    names = {kind: given[f"{kind}Directory"][0] for kind in ("State", "Cache", "Logs")}
    modes = {kind: given[f"{kind}DirectoryMode"][0] for kind in names}
    places = {"State": "var/lib", "Cache": "var/cache", "Logs": "var/log"}
    assert (given["ProtectSystem"], given["ProtectProc"]) == (["strict"], ["invisible"])
    assert all(given[name] == ["yes"] for name in ("ProtectHome", "PrivateTmp", "PrivateDevices", "ProtectKernelTunables"))
    lines = [
        "set -e",
        f"N={shlex.quote(str(new))}",
        "mount -t tmpfs -o mode=755 none $N",
        "cp -a /etc $N/etc",
        f"mkdir -p $N/etc/kconnect $N/run $N/proc $N/dev/shm $N/srv $N/tmp $N/var/tmp $N{python} $N{ROOT} $N/opt/kconnect",
        f"install -m 640 -g {USER_ID} {folder}/worker.properties $N/etc/kconnect/worker.properties",
        f"echo kconnect:x:{USER_ID}:{USER_ID}::/var/lib/kconnect:/usr/sbin/nologin >> $N/etc/passwd",
        *(f"install -d -m {modes[kind]} -o {USER_ID} -g {USER_ID} $N/{places[kind]}/{name}" for kind, name in names.items()),
        "for d in bin sbin lib lib64 lib32; do if [ -L /$d ]; then cp -a /$d $N/$d; fi; done",
        "for d in usr sys; do mkdir $N/$d; mount --bind /$d $N/$d; mount -o remount,ro,bind $N/$d; done",
        "mount -t proc -o hidepid=invisible none $N/proc",
        "mount --bind $N/proc/sys $N/proc/sys && mount -o remount,ro,bind $N/proc/sys",
        f"for d in {python} {ROOT}; do mount --bind $d $N$d; mount -o remount,ro,bind $N$d; done",
        f"mount --bind {sys.prefix} $N/opt/kconnect && mount -o remount,ro,bind $N/opt/kconnect",
        f"mount --bind {folder}/run $N/run",
        "for d in null zero full random urandom tty; do touch $N/dev/$d; mount --bind /dev/$d $N/dev/$d; done",
        "ln -s /proc/self/fd $N/dev/fd",
        f"cp {folder}/order {BECOME} $N/etc/kconnect/",
        # What is to be written to is a file system of its own; then all else can be made read-only.
        "for d in tmp var/tmp dev/shm; do mount -t tmpfs -o mode=1777 none $N/$d; done",
        *(f"mount --bind $N/{places[kind]}/{name} $N/{places[kind]}/{name}" for kind, name in names.items()),
        "mount -o remount,ro,bind $N",
        f"exec chroot $N setpriv --reuid {USER_ID} --regid {USER_ID} --clear-groups --no-new-privs --bounding-set=-all "
        f"--inh-caps=-all {sys.executable} -I /etc/kconnect/become.py",
    ]
    return "\n".join(lines) + "\n"
