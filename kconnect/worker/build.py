"""
Of what code this kconnect is: its version, and the commit where that can be told. `main.py` asks once; `GET /` shows it.
"""

from __future__ import annotations

import json
import os
import subprocess
from importlib import metadata
from pathlib import Path

import kconnect


def commit() -> str:
    """`kconnect-0.1.0-993b7bf33958`, with `-dirty` behind it if a checkout was changed; `kconnect-0.1.0` if that is all."""
    identifier = os.environ.get("KCONNECT_COMMIT") or _of_checkout(Path(kconnect.__file__).parents[1]) or _of_installation()
    return "-".join(filter(None, ("kconnect", kconnect.__version__, identifier)))


def package() -> str:
    """Return which distribution is installed: `kconnect`, or `kconnect-client` alone, which runs no worker."""
    try:
        metadata.distribution("kconnect")
    except metadata.PackageNotFoundError:
        return "kconnect-client"
    return "kconnect"


def _of_checkout(root: Path) -> str:
    # An environment may lie within somebody else's repository, whose commit says nothing of kconnect.
    if not (root / ".git").exists():
        return ""
    command = ["git", "--no-optional-locks", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout.strip() if process.returncode == 0 else ""


def _of_installation() -> str:
    """Return the commit that `pip install git+https://…` has noted (PEP 610)."""
    origin = json.loads(metadata.distribution(package()).read_text("direct_url.json") or "{}")
    return str(origin.get("vcs_info", {}).get("commit_id", ""))[:12]
