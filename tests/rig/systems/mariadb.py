"""
A real MariaDB with a binary log, as a child process: for connectors that read one. Debian's two packages with its programs are
installed if they are missing. Made by `tests/rig/java_parity`.
"""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from kconnect.errors import ConnectError
from kconnect.jvm import jars, lock
from kconnect.local.broker import free_port
from tests.rig.systems import debian
from tests.support import wait_until

_PACKAGES = ("mariadb-server-core", "mariadb-client-core")
_END_S = 120
_PROGRAMS = ("mariadbd", "mariadb-install-db", "mariadb")


class MariaDB:
    """From `start` to `stop`, with a user who may do anything, and a password."""

    user, password, host = "kconnect", "parity-mariadb", "127.0.0.1"

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="kconnect-mariadb-"))
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    def jdbc_url(self, database: str) -> str:
        """Without user and password."""
        return f"jdbc:mariadb://{self.host}:{self.port}/{database}"

    def start(self) -> MariaDB:
        _install()
        data = self.directory / "data"
        # Below a directory of root's: whoever else may not look into it.
        run = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root", "--skip-test-db"]
        _checked(run)
        init = self.directory / "init.sql"
        init.write_text(
            f"create or replace user {self.user}@'%' identified by '{self.password}';\n"
            f"grant all privileges on *.* to {self.user}@'%' with grant option;\n"
        )
        self.begin()
        return self

    def begin(self) -> None:
        """Start it, with what it had."""
        data = self.directory / "data"
        options = {
            "datadir": data,
            "port": self.port,
            "bind-address": self.host,
            "socket": self.directory / "socket",
            "pid-file": self.directory / "pid",
            "init-file": self.directory / "init.sql",
            "log-bin": data / "log",
            "binlog-format": "ROW",
            "server-id": 1,
            "innodb-buffer-pool-size": "32M",
            "innodb-flush-log-at-trx-commit": 0,
            "user": "root",
        }
        command = [_program("mariadbd"), "--no-defaults", *(f"--{name}={value}" for name, value in options.items())]
        with open(self.directory / "log", "ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self._guard = subprocess.Popen(
            [sys.executable, "-m", "kconnect.local.guard", str(self._process.pid), f"--datadir={data}"],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        wait_until(self._answers, 120, f"MariaDB did not start; its log is {self.directory / 'log'}")

    def end(self) -> None:
        """In order: it does not keep its data safe in a crash."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(_END_S)
        if self._guard is not None:
            self._guard.kill()
            self._guard.wait()
        if self._guard is not None and self._guard.stdin is not None:
            self._guard.stdin.close()
        self._guard = self._process = None

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
        self.end()
        shutil.rmtree(self.directory, ignore_errors=True)

    def execute(self, statements: str) -> str:
        command = [_program("mariadb"), "--no-defaults", f"--host={self.host}", f"--port={self.port}", f"--user={self.user}"]
        command += [f"--password={self.password}", "--batch", "--skip-column-names", "--default-character-set=utf8mb4"]
        return _checked(command, statements)

    def end_session(self, number: str) -> None:
        """End the session of this number; one that has just gone is as dead as one that is ended."""
        try:
            self.execute(f"kill {number}")
        except ConnectError as error:
            if "Unknown thread id" not in str(error):
                raise

    def rows(self, query: str) -> list[list[str]]:
        return list(csv.reader(io.StringIO(self.execute(query)), delimiter="\t", quoting=csv.QUOTE_NONE))

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise ConnectError(f"MariaDB ended: {(self.directory / 'log').read_text('utf-8', 'replace')[-500:]}")
        try:
            self.execute("select 1")
        except ConnectError:
            return False
        return True


def _program(name: str) -> str:
    # Debian's server is in /usr/sbin, which is not on everybody's path.
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        raise ConnectError(f"MariaDB's {name} was not found: install {' and '.join(_PACKAGES)}")
    return found


def _install() -> None:
    with lock.hold(jars.cache_dir() / "mariadb.lock"):
        if not all(shutil.which(name) or shutil.which(name, path="/usr/sbin") for name in _PROGRAMS):
            debian.install(*_PACKAGES)


def _checked(command: list[str], given: str = "") -> str:
    try:
        done = subprocess.run(command, input=given, capture_output=True, encoding="utf-8", timeout=900, start_new_session=True)
    except FileNotFoundError:
        raise ConnectError(f"{command[0]} is not here") from None
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "no reason given").splitlines()
        raise ConnectError(f"{Path(command[0]).name} failed: {said[-1]}")
    return done.stdout
