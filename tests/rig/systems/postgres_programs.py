"""
Finds PostgreSQL's programs on this machine, and installs them where that is wanted and can be done: as root, by apt-get.

Called by `postgres.py`, `tests/rig/cdc` and the tests. Read next: `postgres.py`, which runs a server of its own with
them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from kconnect.errors import ConnectError
from kconnect.jvm import jars, lock
from tests.rig.systems import debian

NEEDED = ("initdb", "pg_ctl", "postgres", "psql")

_DEBIAN = Path("/usr/lib/postgresql")
"""Debian keeps each version's programs below it, outside of the PATH."""

_NO_CLUSTER = Path("/etc/postgresql-common/createcluster.d/kconnect.conf")

Tell = Callable[[str], None]
"""Hears what is being done."""


def find(place: Path = _DEBIAN) -> Path | None:
    """The directory that has all programs: one of the PATH, or the newest of Debian's."""
    on_path = [Path(each) for each in os.get_exec_path() if os.path.isabs(each)]
    versions = sorted((path for path in place.glob("*/bin")), key=_version, reverse=True)
    return next((path for path in (*on_path, *versions) if all(os.access(path / name, os.X_OK) for name in NEEDED)), None)


def find_or_install(install: bool = False, tell: Tell = lambda _: None) -> Path:
    """
    As `find`; with `install`, root on Debian gets the package `postgresql` first.

    Raises:
        ConnectError: there is no PostgreSQL; it says what to install
    """
    found = find()
    if found is not None:
        return found
    if not (install and debian.can_install()):
        raise ConnectError(
            "PostgreSQL was not found, neither on the PATH nor in /usr/lib/postgresql: install the server and its client, on "
            "Debian and Ubuntu with `apt-get install postgresql`"
        )
    tell("Installing the package postgresql")
    # Another that began before may have brought it by now.
    with lock.hold(jars.cache_dir() / "postgresql.lock"), _without_cluster():
        if (found := find()) is not None:
            return found
        debian.install("postgresql")
    found = find()
    if found is None:
        raise ConnectError("`apt-get install postgresql` has brought no server: install PostgreSQL by hand")
    return found


@contextlib.contextmanager
def _without_cluster() -> Iterator[None]:
    """Debian's package would make a server of its own, which runs now and after each boot: this is for trials only."""
    made = [parent for parent in (_NO_CLUSTER.parent, _NO_CLUSTER.parent.parent) if not parent.exists()]
    _NO_CLUSTER.parent.mkdir(parents=True, exist_ok=True)
    _NO_CLUSTER.write_text("create_main_cluster = false\n", "utf-8")
    try:
        yield
    finally:
        _NO_CLUSTER.unlink(missing_ok=True)
        for directory in made:
            # The package's own files are in one of them by now.
            with contextlib.suppress(OSError):
                directory.rmdir()


def _version(path: Path) -> float:
    try:
        return float(path.parent.name)
    except ValueError:
        return 0.0
