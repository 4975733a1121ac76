"""
One PostgreSQL on this machine, for trying out connectors that read or write databases: its own data, its own port.

Used by `tests/rig/cdc` and the tests. It has logical decoding, which change data capture needs, and ends with its parent
(`kconnect/local/guard.py`). Its data are thrown away at the end, so it is never told to keep them safe. The programs are found
by `postgres_programs.py`.
"""

from __future__ import annotations

import csv
import os
import pwd
import re
import secrets
import shutil
import subprocess
import tempfile
from pathlib import Path

from kconnect.errors import ConnectError
from kconnect.local.broker import free_port
from kconnect.local.guard import Guard
from tests.rig.systems import postgres_programs

NULL = "\\N"
"""What `Postgres.rows` gives for NULL."""

_START_S = 120
_CALL_S = 120.0
_TRIES = 3

_SETTINGS = {
    # A socket's path may have some hundred characters only, and nobody needs one.
    "unix_socket_directories": "''",
    "wal_level": "logical",
    "max_wal_senders": "10",
    "max_replication_slots": "10",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "shared_buffers": "32MB",
    "timezone": "'UTC'",
}


class Postgres:
    """
    A server from `start` to `stop`, in a new directory. Who connects needs `user`, who may do anything, and `password`.

    `programs` is what `postgres_programs.find_or_install` gives. PostgreSQL refuses to run as root: then it runs as the user
    `postgres`, whom its packages bring along.
    """

    user = "kconnect"

    def __init__(
        self, programs: Path | None = None, password: str | None = None, host: str = "127.0.0.1", network: str | None = None
    ) -> None:
        """`host` is the address to listen on; who comes from `network` may connect, too."""
        self._programs, self.host, self._network = programs, host, network
        self.password = password or secrets.token_urlsafe(16)
        self.port = 0
        self.directory: Path | None = None
        self._guard: Guard | None = None

    def start(self) -> Postgres:
        """
        Make its data, start it, and wait until it answers.

        Raises:
            ConnectError: no programs, no user to run it as, or the server does not start; with its reason
        """
        if self._programs is None:
            self._programs = postgres_programs.find_or_install()
        owner = _owner()
        # Not below a directory of the caller's: the user `postgres` may have no way through that.
        self.directory = Path(tempfile.mkdtemp(prefix="kconnect-postgres-"))
        try:
            if owner is not None:
                os.chown(self.directory, owner.pw_uid, owner.pw_gid)
            self._initialise()
            self._start()
            pid = (self._data / "postmaster.pid").read_text().split()[0]
            self._guard = Guard(int(pid), str(self._data))
        except BaseException:
            # Also Ctrl-C: nobody else knows of it.
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End it at once, and delete its data. Nothing to do if it does not run."""
        if self.directory is None:
            return
        if (self._data / "postmaster.pid").exists():
            self._run("pg_ctl", "stop", "-D", self._data, "-m", "immediate", "-w", "-t", _START_S)
        if self._guard is not None:
            self._guard.release()
            self._guard = None
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory = None

    def end(self) -> None:
        """End the server, whose data stay for `begin`: in order, since it does not keep them safe in a crash."""
        self._run("pg_ctl", "stop", "-D", self._data, "-m", "fast", "-w", "-t", _START_S)
        if self._guard is not None:
            self._guard.release()
            self._guard = None

    def begin(self) -> None:
        """Start it again, at its port."""
        result = self._run("pg_ctl", "start", "-D", self._data, "-l", self._log, "-w", "-t", _START_S)
        if result.returncode != 0:
            raise ConnectError(f"PostgreSQL does not start again: {_reason(self._log.read_text('utf-8', 'replace'))}")
        self._guard = Guard(int((self._data / "postmaster.pid").read_text().split()[0]), str(self._data))

    def jdbc_url(self, database: str) -> str:
        """Without user and password."""
        return f"jdbc:postgresql://{self.host}:{self.port}/{database}"

    def execute(self, statements: str, database: str = "postgres") -> str:
        """
        Run SQL, each statement in a transaction of its own; gives what psql prints, as CSV without a head.

        Raises:
            ConnectError: a statement was refused; those after it were not run
        """
        command = [self._program("psql"), "-X", "-q", "-t", "--csv", "-v", "ON_ERROR_STOP=1", "-P", f"null={NULL}"]
        command += ["-h", self.host, "-p", str(self.port), "-U", self.user, "-d", database, "-f", "-"]
        environment = {**_environment(), "PGPASSWORD": self.password, "PGCLIENTENCODING": "UTF8"}
        try:
            result = subprocess.run(
                command,
                input=statements,
                capture_output=True,
                encoding="utf-8",
                env=environment,
                timeout=_CALL_S,
                # Ctrl-C in the terminal is for whoever called this.
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            raise ConnectError(f"PostgreSQL did not answer within {_CALL_S:.0f} s") from None
        if result.returncode != 0:
            raise ConnectError(f"PostgreSQL refused: {_reason(result.stderr)}")
        return result.stdout

    def rows(self, query: str, database: str = "postgres") -> list[tuple[str, ...]]:
        """The rows of one query, all values as texts, NULL as `NULL`."""
        return [tuple(row) for row in csv.reader(self.execute(query, database).splitlines(keepends=True))]

    @property
    def _data(self) -> Path:
        if self.directory is None:
            raise ConnectError("PostgreSQL was not started")
        return self.directory / "data"

    @property
    def _log(self) -> Path:
        return self._data.parent / "postgres.log"

    def _program(self, name: str) -> str:
        assert self._programs is not None
        return str(self._programs / name)

    def _initialise(self) -> None:
        # On the command line everybody could read it.
        file = self._data.parent / "password"
        file.touch(0o600)
        file.write_text(self.password, "utf-8")
        if (owner := _owner()) is not None:
            os.chown(file, owner.pw_uid, owner.pw_gid)
        options = ("--auth=scram-sha-256", f"--pwfile={file}", "--encoding=UTF8", "--locale=C", "--no-sync")
        result = self._run("initdb", "-D", self._data, "-U", self.user, *options)
        file.unlink()
        if result.returncode != 0:
            raise ConnectError(f"PostgreSQL's data can't be made in {self._data.parent}: {_reason(result.stderr)}")

    def _start(self) -> None:
        with open(self._data / "postgresql.conf", "a", encoding="utf-8") as file:
            file.writelines(f"{name} = {value}\n" for name, value in _SETTINGS.items())
            file.write(f"listen_addresses = '{self.host}'\n")
        if self._network is not None:
            with open(self._data / "pg_hba.conf", "a", encoding="utf-8") as file:
                file.writelines(f"host {what} all {self._network} scram-sha-256\n" for what in ("all", "replication"))
        said = ""
        for _ in range(_TRIES):
            self.port = free_port()
            with open(self._data / "postgresql.conf", "a", encoding="utf-8") as file:
                file.write(f"port = {self.port}\n")
            result = self._run("pg_ctl", "start", "-D", self._data, "-l", self._log, "-w", "-t", _START_S)
            if result.returncode == 0:
                return
            said = self._log.read_text("utf-8", "replace") if self._log.exists() else result.stderr
            # Another program may have been quicker.
            if "Address already in use" not in said:
                break
        raise ConnectError(f"PostgreSQL does not start: {_reason(said)}")

    def _run(self, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        owner = _owner()
        return subprocess.run(
            [self._program(program), *map(str, arguments)],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.DEVNULL,
            cwd=self.directory,
            env=_environment(),
            user=None if owner is None else owner.pw_uid,
            group=None if owner is None else owner.pw_gid,
            extra_groups=None if owner is None else [],
            start_new_session=True,
        )


def _owner() -> pwd.struct_passwd | None:
    """Whom it runs as; None if as ourselves."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        raise ConnectError(
            "PostgreSQL refuses to run as root, and there is no user `postgres` to run it as: add that user, or run this as "
            "another user"
        ) from None


def _environment() -> dict[str, str]:
    """Without the settings that a user has for PostgreSQL's programs: they are for other servers."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith("PG")}, "LC_ALL": "C"}


def _reason(text: str) -> str:
    """What PostgreSQL's programs say of a failure, in one line."""
    lines = text.strip().splitlines() or ["no reason given"]
    return next((line for line in lines if re.search(r"\b(error|ERROR|FATAL): ", line)), lines[-1])
