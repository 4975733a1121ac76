"""
How one process of kconnect starts another: as a module of this Python, which is not looked for in the current directory.

Called wherever a child is started: hosts, sandboxes, compilers, pip. `python -m` would put the current directory before all
others, and modules that somebody left there would run with the rights of the worker. What the operator puts into `PYTHONPATH`
counts. `spark/session.py` says the same to Spark, which starts Python by itself.
"""

from __future__ import annotations

import sys

_SAFELY = (
    "import sys; sys.path[:] = [place for place in sys.path if place]; sys.argv = sys.argv[2:]; "
    "import runpy; runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)
"""What `-P` does, for Pythons before 3.11. The arguments are as those of Python itself: `-m`, a module, and its own."""


def command(module: str, *arguments: str, python: str | None = None) -> list[str]:
    """Return the command that runs a module. `python` is another Python, of any version; default: this one."""
    if python is None and sys.version_info >= (3, 11):
        return [sys.executable, "-P", "-m", module, *arguments]
    return [python or sys.executable, "-c", _SAFELY, "-m", module, *arguments]


def evaluate(code: str, python: str) -> list[str]:
    """Return the command that has another Python run some code, which is a statement without quotes of a kind of its own."""
    return [python, "-c", f"import sys; sys.path[:] = [place for place in sys.path if place]; {code}"]
