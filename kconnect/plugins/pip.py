"""
Pip as a subprocess of this Python: what a plugin needs that is not here yet, and putting exactly that into a directory.

Called by `installation.py`. pip has no API for programs; its command line and its report (`--report`) are documented ones.
The user's own configuration of pip (indexes, proxies, certificates) counts.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.version import Version

from kconnect import interpreter
from kconnect.errors import ConnectError

_OLDEST = Version("22.2")
"""The first with `--report`."""
_UNREACHABLE = re.compile(
    r"(NewConnectionError|ConnectTimeout\w*|ReadTimeout\w*|ProxyError|NameResolutionError|SSLError|RemoteDisconnected)"
)


class PipError(ConnectError):
    """pip could not do it; the text says why, in its own last words."""


@dataclass(frozen=True)
class Package:
    """
    A package that pip would install. `requirement` asks pip for just that one; `asked_for` marks the one that the user named.
    """

    name: str
    version: str
    requirement: str
    asked_for: bool


class Pip:
    """
    Args:
        options: of `pip install`, for every call: `--no-index`, `--find-links …`.
        verbose: pip's own output goes to standard error.
    """

    def __init__(self, options: Sequence[str] = (), verbose: bool = False) -> None:
        self._options, self._verbose = list(options), verbose

    def resolve(self, requirement: str) -> list[Package]:
        """
        Return what has to be installed for a requirement, a wheel or a project's directory: without packages that are installed
        and will do, but always with the one that is asked for, in its newest version. Raise PipError if there is no way.
        """
        self._check()
        # The newest of what is asked for; of all others those that are here, as long as they will do.
        packages = self._report([requirement], ["--upgrade", "--upgrade-strategy", "only-if-needed"])
        if not any(package.asked_for for package in packages):
            # It is installed beside kconnect in just that version.
            packages = [*self._report([requirement], ["--ignore-installed", "--no-deps"]), *packages]
        return packages

    def install(self, packages: Sequence[Package], directory: Path) -> None:
        """Put exactly these into a directory, which becomes what `pip install --target` makes. PipError if that fails."""
        target = ["--target", str(directory), "--no-deps", "--no-warn-conflicts"]
        self._install([*target, *(package.requirement for package in packages)])

    def _report(self, requirements: list[str], options: list[str]) -> list[Package]:
        with tempfile.TemporaryDirectory(prefix="kconnect-pip-") as directory:
            report = Path(directory) / "report.json"
            self._install(["--dry-run", "--report", str(report), *options, *requirements])
            content = json.loads(report.read_text("utf-8"))
        return [_package(item, requirements[0]) for item in content["install"]]

    def _install(self, arguments: list[str]) -> None:
        loud = [] if self._verbose else ["--quiet"]
        command = [*_COMMAND, "install", *loud, "--disable-pip-version-check", "--no-input", "--retries", "2"]
        # A user's setting of `user = true` can't be had together with a target.
        process = subprocess.run(
            [*command, *self._options, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=2 if self._verbose else subprocess.PIPE,
            stderr=None if self._verbose else subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, "PIP_USER": "0"},
        )
        if process.returncode:
            if self._verbose:
                raise PipError(f"pip ended with status {process.returncode}; its messages above say why")
            raise PipError(_reason(process.stderr, process.returncode))

    def _check(self) -> None:
        try:
            version = metadata.version("pip")
        except metadata.PackageNotFoundError:
            raise PipError(
                f"{sys.executable} has no pip, which installs plugins: run {sys.executable} -m ensurepip (Debian: apt install "
                f"python3-pip; uv: uv pip install --python {sys.executable} pip)"
            ) from None
        if Version(version) < _OLDEST:
            remedy = f"run {sys.executable} -m pip install --upgrade pip"
            raise PipError(f"pip {version} of {sys.executable} is too old; {_OLDEST} or newer is needed: {remedy}")


_COMMAND = interpreter.command("pip")


def _package(item: dict[str, Any], requirement: str) -> Package:
    name, version = item["metadata"]["name"], item["metadata"]["version"]
    asked_for = bool(item.get("requested"))
    source = item["download_info"]
    if not item["is_direct"]:
        how = f"{name}=={version}"
    elif asked_for:
        how = requirement
    elif "vcs_info" in source:
        how = f"{name} @ {source['vcs_info']['vcs']}+{source['url']}@{source['vcs_info']['commit_id']}"
    else:
        how = f"{name} @ {source['url']}"
    return Package(name, version, how, asked_for)


def _reason(output: str, status: int) -> str:
    """pip's errors, in one line each; what it says of networks is hidden in its warnings."""
    unreachable = _UNREACHABLE.search(output)
    if unreachable is not None and "Retrying" in output:
        return (
            f"pip can't reach the package index ({unreachable[1]}). Connect to the network, set https_proxy or PIP_INDEX_URL, "
            "or give --find-links DIR --no-index"
        )
    errors = [text.strip() for text in re.findall(r"^\s*(?:ERROR|error): (.+)$", output, re.MULTILINE)]
    # The last is the outcome. That before it has what there is, and without one the outcome says all.
    words = "; ".join(dict.fromkeys(errors[-2:])) or f"exit status {status}"
    return f"pip: {words} (-v shows its whole output)"
