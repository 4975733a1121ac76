"""The class archive of Java plugins' JVMs: `kconnect/jvm/archive.py`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kconnect.jvm import archive, shim

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]

_START = """
import sys
from pathlib import Path
from kconnect.jvm import machine, shim
shim.jar = lambda: Path(sys.argv[1])
machine.start()
print([line.split()[-1] for line in open("/proc/self/maps") if line.rstrip().endswith(sys.argv[2])] != [])
"""


def start(jar: Path, mapped: str) -> str:
    """What a process says that starts a JVM with this shim: whether such a file is in its memory, and nothing of its JVM's."""
    done = subprocess.run([sys.executable, "-c", _START, str(jar), mapped], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_jvm_uses_the_archive_that_came_with_the_shim() -> None:
    jar = shim.jar()
    assert archive.flags(jar), "it is made when the shim is compiled"
    assert start(jar, ".jsa") == "True\n"


@pytest.mark.parametrize("what", ["newer jar", *(pytest.param(what, marks=pytest.mark.long) for what in ("rubbish", "none"))])
def test_an_archive_that_does_not_fit_is_nothing_to_tell(what: str, tmp_path: Path) -> None:
    ours = shim.jar()
    jar = tmp_path / ours.name
    shutil.copy2(ours, jar)
    if what == "newer jar":
        shutil.copy2(ours.with_suffix(".jsa"), jar.with_suffix(".jsa"))
        os.utime(jar)
    elif what == "rubbish":
        jar.with_suffix(".jsa").write_bytes(b"rubbish")
    assert bool(archive.flags(jar)) == (what != "none")
    assert start(jar, f"{jar.stem}.jsa") == "False\n"
