"""
How one process of kconnect starts another: as a module of this Python, which is not looked for in the current directory.

Called wherever a child is started: hosts, sandboxes, compilers, pip. `python -m` would put the current directory before all
others, and modules that somebody left there would run with the rights of the worker. What the operator puts into `PYTHONPATH`
counts, but for what is empty there. `spark/session.py` says the same to Spark, which starts Python by itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import MutableMapping

_SAFELY = (
    "import sys; sys.path[:] = [place for place in sys.path if place]; sys.argv = sys.argv[2:]; "
    "import runpy; runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)
"""What `-P` does, for Pythons before 3.11. The arguments are as those of Python itself: `-m`, a module, and its own."""


def forget_empty(environ: MutableMapping[str, str], path: list[str]) -> None:
    """
    Take out of `PYTHONPATH` what is empty, for this process and those that it starts: to Python it is the current directory,
    and `PYTHONPATH=$PYTHONPATH:/opt/lib` begins with it wherever the variable was not set. `path` is that of this process.
    """
    value = environ.get("PYTHONPATH", "")
    if not value:
        return
    named = [place for place in value.split(os.pathsep) if place]
    if len(named) == len(value.split(os.pathsep)):
        return
    environ["PYTHONPATH"] = os.pathsep.join(named)
    try:
        directory = os.getcwd()
    except OSError:
        # It has been deleted.
        return
    # A checkout that is installed as it is has its packages there.
    chosen = {*map(os.path.abspath, named), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}
    if directory not in chosen:
        path[:] = [place for place in path if place != directory]


def command(module: str, *arguments: str, python: str | None = None) -> list[str]:
    """Return the command that runs a module. `python` is another Python, of any version; default: this one."""
    if python is None and sys.version_info >= (3, 11):
        return [sys.executable, "-P", "-m", module, *arguments]
    return [python or sys.executable, "-c", _SAFELY, "-m", module, *arguments]


def evaluate(code: str, python: str) -> list[str]:
    """Return the command that has another Python run some code, which is a statement without quotes of a kind of its own."""
    return [python, "-c", f"import sys; sys.path[:] = [place for place in sys.path if place]; {code}"]
