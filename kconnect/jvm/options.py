"""
How the JVM of this process is to be started, should it need one: set by `host/main.py` and the sandbox's children, before
they know whether they do. Read by `machine.py`. Apart from that, so that a process without Java plugins imports no JPype.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Options(NamedTuple):
    """
    `heap` in bytes; `more` are Java's own options. `report` is the file in which the JVM tells how it has ended, for whoever
    comes after this process: then a heap that is full ends it, too.
    """

    heap: int = 512 * 2**20
    more: Sequence[str] = ()
    report: str = ""


wanted = Options()
