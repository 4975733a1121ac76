"""
How the JVM of this process is to be started, should it need one: set by `host/main.py` and the sandbox's children, before
they know whether they do. Read by `machine.py`. Apart from that, so that a process without Java plugins imports no JPype.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kconnect.errors import ConnectError

_LEAST = 16 * 2**20
_REST = 224 * 2**20
"""What a process with a JVM takes besides the heap: Python and its clients, and Java's classes, code and threads."""


class Options(NamedTuple):
    """
    `heap` in bytes; `more` are Java's own options. The process may take `most` bytes in all, as `setting` says; None: no limit.
    `report` is the file in which the JVM tells how it has ended, for whoever
    comes after this process: then a heap that is full ends it, too.
    """

    heap: int = 512 * 2**20
    more: Sequence[str] = ()
    most: int | None = None
    setting: str = ""
    report: str = ""

    def fitting_heap(self) -> int:
        """The heap, or less, if the process may not take so much. ConnectError if there is no room for any."""
        if self.most is None:
            return self.heap
        if self.most < _REST + _LEAST:
            least = _REST + _LEAST
            raise ConnectError(
                f"{self.setting} is {self.most}, and a process with a JVM, for Java plugins, needs at least {least}"
            )
        return min(self.heap, self.most - _REST)


wanted = Options()
