"""
What Java plugins publish by JMX, in numbers, by the unit that they are of. Their own metrics (KIP-877) are among it: the shim
makes beans of these (`shim/Monitors.java`).

`host/metrics.py` asks `latest` and puts it into its reports; `units/unit.py` calls `end`. Beans are read in threads that nobody
waits for (`shim/Beans.java`). Imports no JPype where there is no JVM. Read next: `core/metrics/published.py`, for the names.
"""

from __future__ import annotations

import _thread
import atexit
import logging
import sys
import threading
from collections.abc import Callable, Mapping, Sequence

import orjson

from kconnect.core.metrics import published
from kconnect.core.metrics.published import Published
from kconnect.jvm import logs

log = logging.getLogger(__name__)

Latest = Mapping[str, Sequence[Published]]
"""By the unit, as `logs.name_of` has it."""

_HANGS_MS = 2000
_latest: Latest = {}
_following = False
_closing, _closed = threading.Event(), threading.Event()


def latest(interval_s: float, hide: Callable[[str], str]) -> Latest:
    """
    Return what was read last, of all units. Returns at once. The first call with a JVM begins to read, once an interval; `hide`
    takes secrets out of the names of beans.
    """
    global _following
    if not _following and _runs():
        _following = True
        # As `logs.py` does it: a thread of nobody's.
        _thread.start_new_thread(_follow, (interval_s, hide))
        atexit.register(_end)
    return _latest


def end() -> None:
    """The unit of this thread ends, and with it the metrics that its plugins made."""
    if _runs():
        import jpype

        from kconnect.jvm import machine

        machine.attach()
        logs.adopt()
        jpype.JClass("kconnect.shim.Monitors").end()


def _runs() -> bool:
    machine = sys.modules.get("kconnect.jvm.machine")
    return machine is not None and machine.is_running()


def _follow(interval_s: float, hide: Callable[[str], str]) -> None:
    global _latest
    import jpype

    from kconnect.jvm import machine

    machine.attach()
    read = jpype.JClass("kconnect.shim.Beans").read
    reported: set[str] = set()
    while not _closing.wait(interval_s):
        try:
            beans = orjson.loads(memoryview(read(_HANGS_MS)).tobytes())
            _latest = {
                unit: [published.of_bean(hide(name), *row) for name, *row in rows] for unit, rows in beans["units"].items()
            }
            _tell(beans, hide, reported)
        except Exception:
            log.exception("What Java plugins publish can't be read")
    _closed.set()


def _tell(beans: Mapping[str, Mapping[str, object]], hide: Callable[[str], str], reported: set[str]) -> None:
    """Once each."""
    for unit, count in beans["missing"].items():
        if unit not in reported:
            reported.add(unit)
            with logs.lines_of(unit):
                log.warning("JMX beans of its plugins are not in /metrics: %s more than there is room for (logged once)", count)
    for bean, whose in beans["hanging"].items():
        if bean not in reported:
            reported.add(bean)
            with logs.lines_of(str(whose or "")):
                log.warning("The JMX bean %s does not answer, and is not in /metrics until it does (logged once)", hide(bean))


def _end() -> None:
    import jpype

    _closing.set()
    jpype.JClass("kconnect.shim.Beans").close()
    _closed.wait(1)
