"""
Finds Java and says what is wrong with it: `JAVA_HOME` if set, else `java` on the `PATH`.

Java 17 is what Spark 4 and Kafka 4 need. Used by `jars.py`, `local/broker.py` and the worker. `scripts/setup.py` says the same
before anything is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from kconnect.errors import ConnectError

OLDEST = 17


def find(environ: Mapping[str, str] | None = None) -> str:
    """The path of the `java` program. A `JAVA_HOME` without one is an error: it was set for a reason."""
    environ = os.environ if environ is None else environ
    home = environ.get("JAVA_HOME")
    if home:
        program = Path(home) / "bin" / "java"
        if not os.access(program, os.X_OK):
            raise ConnectError(
                f"JAVA_HOME is {home}, but {program} does not exist: point JAVA_HOME at a Java {OLDEST} or newer, or unset it"
            )
        return str(program)
    program_path = shutil.which("java", path=environ.get("PATH"))
    if program_path is None:
        raise ConnectError(f"Java was not found: install Java {OLDEST} or newer, and put it on the PATH or set JAVA_HOME")
    return program_path


def version(program: str) -> int:
    """The major version of this Java: 8, 17, 21."""
    try:
        process = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConnectError(f"{program} can't be run ({error}): install Java {OLDEST} or newer") from error
    # "1.8.0_392" up to Java 8, "17.0.15" since, "22-ea" before a release.
    match = re.search(r'version "(?:1\.)?(\d+)', process.stderr + process.stdout)
    if process.returncode != 0 or match is None:
        raise ConnectError(f"{program} does not print its version: install Java {OLDEST} or newer")
    return int(match.group(1))


def checked(environ: Mapping[str, str] | None = None) -> str:
    """The path of a Java that is new enough, or one sentence that says what to do."""
    program = find(environ)
    major_version = version(program)
    if major_version < OLDEST:
        raise ConnectError(
            f"{program} is Java {major_version}, but Java {OLDEST} or newer is needed: install it, "
            "and put it first on the PATH or set JAVA_HOME"
        )
    return program


def library() -> str:
    """The JVM as a library. ConnectError if the Java that was found has none."""
    program = Path(checked()).resolve()
    for place in ("lib/server/libjvm.so", "lib/server/libjvm.dylib", "lib/client/libjvm.so"):
        if (file := program.parent.parent / place).exists():
            return str(file)
    raise ConnectError(f"{program} comes without libjvm, which Java plugins need: set JAVA_HOME to a whole Java {OLDEST}")
