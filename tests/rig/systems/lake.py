"""
The Python for lake work, made once on this machine: `python` gives it to tests of SparkSink. 700 MB, half a minute.

Read next: `kconnect/jvm/lake.py`.
"""

from __future__ import annotations

from kconnect.jvm import lake


def python() -> str:
    """Return its path. ConnectError if it can't be made here."""
    return str(lake.make(lake.directory(), lambda text: None))
