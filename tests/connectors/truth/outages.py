"""
Servers that can't be reached for a while: a history with outages has its tasks reach the server over a link that is cut.

Used by the histories of SQL, HTTP, object stores and search. Read next: `tests/rig/systems/proxy.py`.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Sequence

from tests.connectors.truth.engine import Step
from tests.rig.systems.proxy import Link, Proxy


@contextlib.contextmanager
def link_to(port: int | None, history: Sequence[Step]) -> Iterator[Proxy | None]:
    """Give a link to a port, or None if nothing of the history needs one."""
    if port is None or not any(step[0] == "outage" for step in history):
        yield None
        return
    link = Proxy(port).start()
    # A connection that is forgotten says goodbye: it must not do so in the link's own thread, which would carry that.
    gc.disable()
    try:
        yield link
    finally:
        link.set(Link.OPEN)
        gc.collect()
        gc.enable()
        link.close()


def mend(link: Proxy) -> None:
    gc.collect()
    link.set(Link.OPEN)
