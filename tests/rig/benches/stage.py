"""
What a bench runs on: a directory of its own, a broker, workers of kconnect and of Kafka Connect, all gone at its end.

Used by the benches of `scripts/benchmarks`. Read next: `kconnect/testing/processes.py`.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

from kconnect.local.broker import Broker
from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.rig.benches.results import CONNECT, KCONNECT
from tests.rig.systems.connect import ConnectProcess

T = TypeVar("T")

_KINDS = {KCONNECT: WorkerProcess, CONNECT: ConnectProcess}


class Stage:
    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self.directory = directory
        self._stack = stack
        self.broker = Broker(directory / "broker")
        stack.callback(self.broker.stop)
        self.servers = self.broker.start().bootstrap_servers

    def worker(
        self, side: str = KCONNECT, group: str = "", properties: Mapping[str, str] | None = None, start: bool = True
    ) -> WorkerProcess:
        """One that is ended with the stage; its group is named after its side unless told."""
        group = group or side.lower()
        made = _KINDS[side](self.directory / group, self.servers, group, properties=properties)
        self._stack.callback(made.stop)
        return made.start() if start else made

    def both(self, group: str = "", properties: Mapping[str, str] | None = None) -> dict[str, WorkerProcess]:
        return {side: self.worker(side, f"{side.lower()}{group}", properties) for side in _KINDS}


@contextmanager
def opened(name: str) -> Iterator[Stage]:
    # Who asks a bench to end means its workers, too.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with ExitStack() as stack:
        yield Stage(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"kconnect-{name}-"))), stack)


def wait(condition: Callable[[], T], limit_s: float = 180.0, pause_s: float = 0.02) -> T:
    """What the condition gives once it holds. A worker that is not up, or knows no leader yet, is asked again."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        try:
            if found := condition():
                return found
        except RestError:
            pass
        time.sleep(pause_s)
    raise SystemExit(f"not reached within {limit_s:.0f} s")
