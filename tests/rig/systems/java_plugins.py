"""
Java connectors of Maven Central for the rig, fetched once. Used by the demo of change data capture, `java_parity` and benches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from kconnect.jvm import lock
from kconnect.jvm.maven import Coordinates
from kconnect.plugins import installation, java_installation


def keep(wanted: Iterable[Coordinates], plugin_path: Path, tell: Callable[[str], None] = lambda _: None) -> None:
    """
    Install those that are not there, without a question or a try: for a directory of kconnect's own cache. Any number of
    processes may call it together.

    Raises:
        ConnectError: the Maven repository can't be reached
    """
    with lock.hold(Path(f"{plugin_path}.lock")):
        for coordinates in wanted:
            plan = java_installation.planned(coordinates, plugin_path)
            if plan.replaced is None:
                with installation.stage(plan.target) as stage:
                    plan = java_installation.prepare(coordinates, plan, stage, tell)
                    for jar in java_installation.of_worker(stage):
                        jar.unlink()
                    installation.put(stage, plan)
