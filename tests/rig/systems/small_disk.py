"""
A disk that can be filled: some MiB in memory, which only root can mount.

Used by the tests of connectors whose system runs out of room.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest


class SmallDisk:
    """From `start` to `stop`; whoever is not root is told that the test was left out, which CI=true takes for a failure."""

    def __init__(self, megabytes: int = 24) -> None:
        self._size = megabytes
        self.directory = Path(tempfile.mkdtemp(prefix="kconnect-disk-"))

    def start(self) -> SmallDisk:
        command = ["mount", "-t", "tmpfs", "-o", f"size={self._size}m,mode=777", "tmpfs", str(self.directory)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.directory.rmdir()
            if os.environ.get("CI") == "true":
                raise RuntimeError(f"A disk could not be mounted: {done.stderr.strip()}")
            pytest.skip(f"A disk can be mounted by root only ({done.stderr.strip()}): what needs a full one was left out")
        return self

    def fill(self) -> None:
        """To its last byte."""
        with open(self._ballast, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass

    def clear(self) -> None:
        self._ballast.unlink()

    @property
    def _ballast(self) -> Path:
        return self.directory / "ballast"

    def stop(self) -> None:
        subprocess.run(["umount", "-l", str(self.directory)], check=True)
        self.directory.rmdir()
