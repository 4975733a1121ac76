"""
Ends a process when the one that started this guard has ended, however that came about: `broker.py` starts one for each
broker, and so do the tests for their servers.

`python -m kconnect.local.guard PID MARK` waits for the end of its standard input, a pipe that only its parent holds, so
not even a `kill -9` of the parent is missed. The signal that Linux sends at a parent's death would be simpler, but it comes
when the *thread* that started the child ends.
"""

from __future__ import annotations

import subprocess
import sys

from kconnect import interpreter


class Guard:
    """A guard of the process `pid`, which has `mark` among its arguments, until `release`."""

    def __init__(self, pid: int, mark: str) -> None:
        self._process = subprocess.Popen(
            interpreter.command("kconnect.local.guard", str(pid), mark), stdin=subprocess.PIPE, start_new_session=True
        )

    def release(self) -> None:
        """Guard the process no longer. Call this once only."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()


def main(pid: int, mark: str, patience: float = 10.0) -> None:
    sys.stdin.buffer.read()
    # Imported late: a guard mostly waits.
    import psutil

    try:
        process = psutil.Process(pid)
        # The process may have ended long ago and its number be another's.
        if mark not in process.cmdline():
            return
        process.terminate()
        try:
            process.wait(patience)
        except psutil.TimeoutExpired:
            process.kill()
    except psutil.Error:
        return


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
