"""
Connect's own classes, asked: golden cases without results in, the same with results out.

Runs `Oracle.java` with the jars of a Connect worker, which are fetched when they are not there yet. The program is run from
its source, so Java must be able to compile: that takes a JDK.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kconnect.errors import ConnectError
from kconnect.jvm import jars, java
from tests.rig.golden.errors import Case

SOURCE = Path(__file__).with_name("Oracle.java")

# The zone and language that the golden files were made with.
_OPTIONS = (
    "-XX:TieredStopAtLevel=1",
    "-Xmx512m",
    "-Duser.timezone=UTC",
    "-Duser.language=en",
    "-Duser.country=US",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
)


def ask(cases: Sequence[tuple[str, Case]], seconds: float = 600) -> list[Case]:
    """
    What Connect does with each: `cases` are names of formats with cases that have no results.

    Raises:
        ConnectError: there is no JDK, the jars can't be had, or the program failed.
    """
    program = compiler()
    classes = jars.class_path(jars.connect())
    given = "".join(json.dumps({**case, "format": name}) + "\n" for name, case in cases)
    try:
        done = subprocess.run(
            [program, *_OPTIONS, "-cp", classes, str(SOURCE)],
            input=given.encode(),
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ConnectError(f"{SOURCE.name} did not answer {len(cases)} cases within {seconds:.0f} s") from error
    answers = done.stdout.decode("ascii", "replace").splitlines()
    if done.returncode != 0 or len(answers) != len(cases):
        said = done.stderr.decode("utf-8", "replace").strip()
        raise ConnectError(f"{SOURCE.name} answered {len(answers)} of {len(cases)} cases and then failed: {said[-2000:]}")
    return [json.loads(answer) for answer in answers]


def compiler() -> str:
    """The path of a Java that can run a program from its source. ConnectError, saying what to install, if it can't."""
    program = java.checked()
    done = subprocess.run([program, "--list-modules"], capture_output=True, text=True, timeout=60, check=False)
    if not any(line.startswith("jdk.compiler@") for line in done.stdout.splitlines()):
        raise ConnectError(
            f"{program} has no compiler, which comparing with Connect's own classes takes: install a JDK {java.OLDEST} "
            "or newer (a JRE is not enough), and put it first on the PATH or set JAVA_HOME"
        )
    return program
