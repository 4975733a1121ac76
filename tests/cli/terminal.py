"""`kconnect` as a process on a terminal of its own: somebody types, sees what is drawn, and presses Ctrl-C."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from tests.support import wait_until

_LIMIT_S = 120.0

# Whoever starts the tests in the background of a shell has Ctrl-C ignored, and all processes below inherit that.
_MAIN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from kconnect.cli.main import main; main()"


class Terminal:
    """
    A context. `shown` is what came to the terminal so far, both streams unless `out` is a file for standard output.

    Whatever runs is ended when the context is left.
    """

    def __init__(self, *arguments: str, env: Mapping[str, str], out: Path | None = None) -> None:
        self._master, slave = pty.openpty()
        self._read = b""
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30", **env}
        with open(out or os.devnull, "wb") as file:
            command = [sys.executable, "-c", _MAIN, *arguments]
            stdout = slave if out is None else file
            self._process = subprocess.Popen(command, stdin=slave, stdout=stdout, stderr=slave, env=environment)
        os.close(slave)
        self._reader = threading.Thread(target=self._collect, daemon=True)
        self._reader.start()

    @property
    def shown(self) -> str:
        return self._read.decode(errors="replace").replace("\r\n", "\n")

    def expect(self, text: str) -> None:
        wait_until(lambda: text in self.shown, _LIMIT_S, f"the terminal does not show {text}")

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        """As Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)

    def end(self) -> int:
        """Its exit status, once all that it has written is in `shown`."""
        status = self._process.wait(_LIMIT_S)
        self._reader.join(_LIMIT_S)
        return status

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(_LIMIT_S)
        os.close(self._master)

    def _collect(self) -> None:
        while True:
            try:
                found = os.read(self._master, 65536)
            except OSError:
                # Linux's way to say that nobody has the other side any more.
                return
            if not found:
                return
            self._read += found
