"""
Pythons with another PySpark than setup installs, and else what this one has: made once on this machine, 700 MB each.

`tests/spark/test_versions.py` has workers run on them, `tests/spark/test_frames.py` sessions. Read next: `lake.py`, for the
Python of the lake.
"""

from __future__ import annotations

import shutil
import site
import subprocess
import sys
from pathlib import Path

from kconnect.jvm import jars, lock


def python(version: str) -> str:
    """Return the path of one with a PySpark such as 4.0. CalledProcessError, with pip's words, if it can't be had."""
    return _python(f"pyspark-{version}", f"pyspark=={version}.*")


def connect_python() -> str:
    """Return the path of one that has what the client of Spark Connect needs, beside this Python's own PySpark."""
    return _python("spark-connect", "pandas", "grpcio-status", "googleapis-common-protos")


def _python(name: str, *requirements: str) -> str:
    environment = jars.cache_dir() / name
    environment.parent.mkdir(parents=True, exist_ok=True)
    made = environment / "made-for"
    # What this Python has may move: another checkout has other packages.
    own = site.getsitepackages()[0]
    with lock.hold(environment.with_name(f"{environment.name}.lock")):
        if not made.exists() or made.read_text("utf-8") != own:
            shutil.rmtree(environment, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
            [packages] = environment.glob("lib/python3.*/site-packages")
            pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "-q"]
            subprocess.run([*pip, *requirements], check=True)
            # Behind its own, and with what an editable installation says there.
            (packages / "others.pth").write_text(f"import site; site.addsitedir({own!r})\n", "utf-8")
            made.write_text(own, "utf-8")
    return str(environment / "bin" / "python")


def home(version: str) -> Path:
    """Return the folder of its Spark."""
    [found] = Path(python(version)).parent.parent.glob("lib/python3.*/site-packages/pyspark")
    return found
