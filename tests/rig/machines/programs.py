"""
Compiles the rig's C: the switch (`fabric.c`), and the library that sets a worker's clock wrong (`clock.c`).

Called by `cluster.py` and `faults/of_limits.py`. What was compiled is in kconnect's cache, for all rigs. Read
next: `switch.py`.
"""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from kconnect.errors import ConnectError
from kconnect.jvm import jars, lock

FABRIC, CLOCK = "fabric.c", "clock.c"
_OPTIONS = {FABRIC: (), CLOCK: ("-shared", "-fPIC", "-ldl")}


def compiled(name: str) -> Path:
    """Return what one of the sources is compiled to; it is compiled when the source has changed."""
    source = Path(__file__).with_name(name)
    folder = jars.cache_dir() / "machines"
    program = folder / f"{source.stem}-{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}"
    with lock.hold(jars.cache_dir() / "machines.lock"):
        if not program.exists():
            folder.mkdir(parents=True, exist_ok=True)
            unfinished = program.with_suffix(".new")
            command = ["cc", "-O2", "-o", str(unfinished), str(source), *_OPTIONS[name]]
            compiler = subprocess.run(command, capture_output=True, text=True, check=False)
            if compiler.returncode != 0:
                raise ConnectError(f"{source} could not be compiled: {compiler.stderr.strip()}")
            unfinished.rename(program)
    return program
