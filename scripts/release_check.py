"""
What `scripts/release` asks of a wheel and an sdist before it tries them.

    release_check.py WHEEL SDIST [WHOLE]

A wheel has the product and nothing of the project's own rig, its licence, and every file that the product reads at run time.
An sdist has what the wheel is built from, and the pages. WHOLE is the wheel of kconnect, which needs the first one, that of
kconnect-client, and has nothing itself. Exit status: 0, or 1 with a line for each thing that is wrong.
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path

TOP = {"kconnect"}
"""The folders that a wheel may install, beside its own metadata."""

RIG = (
    *("chaos", "compat", "golden", "parity", "plugin_faults", "systems"),
    *("cluster", "counting", "histories", "history", "history_actors", "history_users", "invariants", "scripted"),
    *("holding_proxy", "proxy", "recorder", "spark_cluster", "verifiable", "watcher"),
)
"""Folders and modules of the project's own tests, which belong to tests/rig: `kconnect.testing` is for authors of plugins."""

NEEDED = (
    "kconnect/py.typed",
    "kconnect/rest/page.css",
    "kconnect/rest/page.html",
    "kconnect/rest/page.js",
    "kconnect/cli/templates/common/pyproject.toml.in",
    "kconnect/testing/__init__.py",
)
LICENCE = ("licenses/LICENSE", "licenses/NOTICE")
PAGES = ("README.md", "LICENSE", "NOTICE", "CHANGELOG.md", "SECURITY.md", "docs/index.md", "setup.cfg", "pyproject.toml")


def wheel_problems(names: list[str]) -> list[str]:
    files = [name for name in names if not name.endswith("/")]
    metadata = next((name.partition("/")[0] for name in files if ".dist-info/" in name), "")
    found = [f"{name} is none of the product's" for name in files if name.partition("/")[0] not in {*TOP, metadata}]
    for part in RIG:
        inside = [name for name in files if name.startswith((f"kconnect/testing/{part}/", f"kconnect/testing/{part}.py"))]
        if inside:
            found.append(f"kconnect/testing/{part} is part of the rig ({', '.join(inside[:3])}): it belongs to tests/rig")
    found += [f"{name} is missing" for name in NEEDED if name not in files]
    found += [f"{name} is missing from the metadata" for name in LICENCE if f"{metadata}/{name}" not in files]
    found += [f"{name} is compiled" for name in files if name.endswith((".pyc", ".so"))]
    return found


def sdist_problems(names: list[str]) -> list[str]:
    files = {name.partition("/")[2] for name in names}
    found = [f"{name} is missing from the sdist" for name in PAGES if name not in files]
    found += [f"{name} is none of the sdist's" for name in sorted(files) if name.startswith(("tests/", ".venv/", ".kconnect/"))]
    return found


def whole_problems(names: list[str], metadata: str) -> list[str]:
    found = [f"{name} is in the wheel of kconnect, too" for name in names if ".dist-info/" not in name]
    version = re.search(r"^Version: (.*)$", metadata, re.MULTILINE)
    if version is None or f"Requires-Dist: kconnect-client=={version[1]}" not in metadata.splitlines():
        found.append("the wheel of kconnect does not need the kconnect-client of its version")
    return found


def main(wheel: Path, sdist: Path, whole: Path | None = None) -> int:
    """The exit status."""
    with zipfile.ZipFile(wheel) as archive:
        problems = wheel_problems(archive.namelist())
    if whole is not None:
        with zipfile.ZipFile(whole) as archive:
            names = archive.namelist()
            metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
            problems += whole_problems(names, archive.read(metadata).decode())
    with tarfile.open(sdist) as archive:
        problems += sdist_problems(archive.getnames())
    for problem in problems:
        print(f"release: {problem}", file=sys.stderr)
    if not problems:
        print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MiB, the product and nothing else")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
