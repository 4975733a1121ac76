"""A PostgreSQL of one's own: found where machines have it, started beside others, and gone afterwards, whatever happened."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kconnect.errors import ConnectError
from kconnect.local import broker
from tests.rig.systems import postgres, postgres_programs
from tests.rig.systems.postgres import NULL, Postgres
from tests.support import wait_until


def programs(directory: Path, names: tuple[str, ...] = postgres_programs.NEEDED) -> Path:
    directory.mkdir(parents=True)
    for name in names:
        (directory / name).touch(0o755)
    return directory


def test_the_newest_of_debian_s_is_found_and_the_path_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert postgres_programs.find(tmp_path) is None
    for version in ("9.6", "15", "17"):
        programs(tmp_path / version / "bin")
    programs(tmp_path / "18" / "bin", ("psql",))
    assert postgres_programs.find(tmp_path) == tmp_path / "17" / "bin"
    own = programs(tmp_path / "bin")
    assert postgres_programs.find(tmp_path) == own


def test_where_there_is_none_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(postgres_programs, "find", lambda: None)
    # Without an apt-get on it, nobody can install anything either.
    monkeypatch.setenv("PATH", str(tmp_path))
    for install in (False, True):
        with pytest.raises(ConnectError, match="install the server and its client, on Debian and Ubuntu with `apt-get install"):
            postgres_programs.find_or_install(install)


@pytest.fixture
def server(postgres_programs: Path) -> Iterator[Postgres]:
    started = Postgres(postgres_programs)
    yield started.start()
    started.stop()


def test_two_of_them_run_side_by_side_and_leave_nothing(server: Postgres, postgres_programs: Path) -> None:
    other = Postgres(postgres_programs).start()
    directory = other.directory
    try:
        assert other.port != server.port
        other.execute("create table there (id int)")
        with pytest.raises(ConnectError, match=r"relation .there. does not exist"):
            server.execute("select * from there")
        assert server.rows("show wal_level") == [("logical",)]
    finally:
        other.stop()
    assert directory is not None and not directory.exists()
    assert not processes(directory)
    other.stop()


def test_values_are_what_they_are(server: Postgres) -> None:
    assert server.rows("select null, '', 'a,b\nc\"', 'é', true, 0.10") == [(NULL, "", 'a,b\nc"', "é", "t", "0.10")]
    assert server.rows("select 1 where false") == []
    server.execute("create table t (id int);\ninsert into t values (1);")
    with pytest.raises(ConnectError, match=r"ERROR: .*syntax"):
        server.execute("insert into t values (2);\nnot SQL;\ninsert into t values (3);")
    assert server.rows("select id from t order by id") == [("1",), ("2",)]


def test_only_who_has_the_password_gets_in(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(server.password not in " ".join(process.cmdline()) for process in processes(server.directory))
    monkeypatch.setattr(server, "password", "another")
    with pytest.raises(ConnectError, match="password authentication failed"):
        server.execute("select 1")


def test_settings_that_a_user_has_for_other_servers_do_not_matter(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c nothing=1 -c search_path")
    monkeypatch.setenv("PGSERVICE", "elsewhere")
    assert server.rows("select 1") == [("1",)]


def test_a_taken_port_is_tried_but_not_insisted_on(
    server: Postgres, postgres_programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = broker.free_port
    given = iter([server.port])
    monkeypatch.setattr(postgres, "free_port", lambda: next(given, 0) or free())
    other = Postgres(postgres_programs).start()
    try:
        assert other.port != server.port and other.rows("select 1") == [("1",)]
    finally:
        other.stop()


def test_it_ends_when_its_owner_is_killed(postgres_programs: Path, tmp_path: Path) -> None:
    script = (
        "import pathlib, sys, time; from tests.rig.systems.postgres import Postgres; "
        "print(Postgres(pathlib.Path(sys.argv[1])).start().directory, flush=True); time.sleep(600)"
    )
    owner = subprocess.Popen([sys.executable, "-c", script, str(postgres_programs)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    directory = Path(owner.stdout.readline().strip())
    assert directory.name.startswith("kconnect-postgres-") and processes(directory)
    owner.kill()
    owner.wait()
    try:
        wait_until(lambda: not processes(directory))
    finally:
        shutil.rmtree(directory)


def processes(directory: Path | None) -> list[psutil.Process]:
    """Servers and guards of that directory."""
    wanted, found = f"{directory}{os.sep}data", []
    for process in psutil.process_iter():
        try:
            if wanted in process.cmdline():
                found.append(process)
        except psutil.Error:
            continue
    return found
