"""
The Python for lake work: an environment with a PySpark that the jars of Delta and Iceberg fit, and these jars.

They are made for certain versions of Spark, which the worker's own need not be. Made by `kconnect lake setup`, whole or not at
all; the worker's `lake.python` names it. Used there by `connectors/spark/session/main.py`, which looks for the folder `JARS`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from kconnect import interpreter
from kconnect.errors import ConnectError
from kconnect.jvm import jars, lock, maven
from kconnect.jvm.maven import Coordinates

PACKAGES = ("pyspark==4.1.4", "pyarrow>=18", "pandas>=2.2")
_DELTA, _ICEBERG = "4.4.0", "1.12.0"
_JARS = (
    Coordinates("io.delta", "delta-spark_4.1_2.13", _DELTA),
    Coordinates("io.delta", "delta-storage", _DELTA),
    Coordinates("org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", _ICEBERG),
)
JARS = "kconnect-jars"
_MARK = "kconnect-lake.json"
_SHOWN = 500


def directory() -> Path:
    """Where it is made by default."""
    return jars.cache_dir() / "lake"


def python_of(environment: Path) -> Path:
    return environment / "bin" / "python"


def is_complete(environment: Path) -> bool:
    """Whether it was made wholly, with what this version of kconnect wants in it."""
    try:
        return bool(json.loads((environment / _MARK).read_text("utf-8")) == _contents()) and python_of(environment).exists()
    except (OSError, ValueError):
        return False


def make(environment: Path, tell: Callable[[str], None], pip_options: tuple[str, ...] = ()) -> Path:
    """
    Make it, unless it is there; return its Python. Any number of processes may call it together.

    Raises:
        ConnectError: pip or Maven's repository can't be reached, or the disk is full; what was made so far is taken away.
    """
    environment.parent.mkdir(parents=True, exist_ok=True)
    with lock.hold(environment.with_name(f"{environment.name}.lock")):
        if not is_complete(environment):
            shutil.rmtree(environment, ignore_errors=True)
            try:
                _fill(environment, tell, pip_options)
            except BaseException:
                shutil.rmtree(environment, ignore_errors=True)
                raise
    return python_of(environment)


def _contents() -> dict[str, list[str]]:
    return {"packages": list(PACKAGES), "jars": [str(coordinates) for coordinates in _JARS]}


def _fill(environment: Path, tell: Callable[[str], None], pip_options: tuple[str, ...]) -> None:
    tell("Making the environment")
    _run(interpreter.command("venv", str(environment)))
    python = str(python_of(environment))
    tell(f"Installing {', '.join(PACKAGES)}")
    pip = ("install", "--quiet", "--disable-pip-version-check", *pip_options, *PACKAGES)
    _run(interpreter.command("pip", *pip, python=python))
    folder = environment / JARS
    folder.mkdir()
    for coordinates in _JARS:
        maven.jar(coordinates, folder, tell)
    (environment / _MARK).write_text(json.dumps(_contents()), "utf-8")


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        raise ConnectError(f"{command[0]} can't be run: {error.strerror}") from None
    if done.returncode:
        words = " ".join((done.stderr or done.stdout).split())[-_SHOWN:]
        raise ConnectError(f"The environment could not be made: {words or f'exit status {done.returncode}'}")
