"""
Installs packages of Debian or Ubuntu: as root, by apt-get. What tests need beside Python and Java comes so, or is left out.

Used by `postgres_programs.py`, `mariadb.py` and `browser.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from kconnect.errors import ConnectError
from kconnect.jvm import jars, lock

_APT_S = 900.0


def can_install() -> bool:
    """Whether this user may, and whether this is such a system."""
    return shutil.which("apt-get") is not None and os.geteuid() == 0


def install(*packages: str) -> None:
    """ConnectError with the reason if it can't be had. Only one apt-get may run, so others wait."""
    with lock.hold(jars.cache_dir() / "apt-get.lock"):
        for arguments in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
            _apt(packages, arguments)


def _apt(packages: tuple[str, ...], arguments: list[str]) -> None:
    command = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", *arguments]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment, timeout=_APT_S
        )
    except subprocess.TimeoutExpired:
        raise ConnectError(
            f"`apt-get {arguments[0]}` did not end within {_APT_S:.0f} s: install {', '.join(packages)} by hand"
        ) from None
    if result.returncode != 0:
        said = (result.stderr.strip() or result.stdout.strip() or "no reason given").splitlines()[-1]
        raise ConnectError(f"`apt-get {' '.join(arguments)}` failed: {said}")
