"""
Ctrl-C ends a command at once, also where Python does not hear it.

Python raises KeyboardInterrupt between two of its instructions. A call into librdkafka, or one that asks for a name, is one
instruction, which may wait for brokers for a minute. So a thread is told of the signal by the system (`signal.set_wakeup_fd`),
and ends the process if the main thread has not heard of it soon. What a killed process leaves behind is good, as ever: brokers
end its transactions, journals are written before each step. Called by `main.py`.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SOON_S = 1.0
_STATUS = 130
_CURSOR = b"\x1b[?25h"
"""What shows a terminal's cursor again, which a progress bar had hidden."""


@contextmanager
def heard_at_once() -> Iterator[None]:
    """
    Within it SIGINT raises KeyboardInterrupt, as ever; if that is not heard within a second, the process ends with status 130.

    Commands that handle the signal themselves, as workers do, are left alone, and so is a process that was started deaf to it.
    """
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    watch = _Watch()
    signal.signal(signal.SIGINT, watch.heard)
    before = signal.set_wakeup_fd(watch.writing, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGINT, usual)
        watch.end()


class _Watch:
    def __init__(self) -> None:
        self._reading, self.writing = os.pipe()
        os.set_blocking(self.writing, False)
        self._heard_at = float("-inf")
        self._thread = threading.Thread(target=self._run, name="interrupt", daemon=True)
        self._thread.start()

    def heard(self, number: int, frame: FrameType | None) -> None:
        """SIGINT's handler, in the main thread."""
        self._heard_at = time.monotonic()
        signal.default_int_handler(number, frame)

    def end(self) -> None:
        os.close(self.writing)
        self._thread.join()
        os.close(self._reading)

    def _run(self) -> None:
        while data := os.read(self._reading, 1):
            # A command may have set a handler of its own since.
            if data[0] == signal.SIGINT and signal.getsignal(signal.SIGINT) == self.heard and not self._is_heard():
                os.write(2, (_CURSOR if os.isatty(2) else b"") + b"\n")
                os._exit(_STATUS)

    def _is_heard(self) -> bool:
        """
        Return whether the main thread has handled the interrupt. Several signals at once reach it as one, which may have come
        before this call.
        """
        began = time.monotonic()
        while time.monotonic() - began < _SOON_S:
            if self._heard_at > began - _SOON_S:
                return True
            time.sleep(0.01)
        return False
