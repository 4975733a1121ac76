"""
Ends a process when the one that started this guard has ended, however that came about: `broker.py` starts one a broker.

`python -m kconnect.local.guard PID MARK` waits for the end of its standard input, a pipe that only its parent holds, so
not even a `kill -9` of the parent is missed. The signal that Linux sends at a parent's death would be simpler, but it comes
when the *thread* that started the child ends.
"""

from __future__ import annotations

import sys


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
