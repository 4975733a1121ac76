"""
The table of faults, by name. A fault is a generator: it hurts, yields for how many seconds to wait, and hurts or heals.

What it leaves cut or down when it ends is healed by `play.py`, which then waits until the cluster is whole. Read next:
`scene.py`, and the modules of this folder for the kinds.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.rig.machines.faults.scene import Scene

Acts = Callable[[Scene], Iterator[float]]

_MODULES = ("of_brokers", "of_workers", "of_spark", "of_lines", "of_machines", "of_access", "of_limits")


@dataclass(frozen=True)
class Fault:
    """A kind of fault: what it does, how it heals, and on which machines."""

    name: str
    does: str
    heals: str
    machines: str
    play: Acts
    of_spark: bool = False
    """Whether it hurts what only workers on Spark have."""


_faults: dict[str, Fault] = {}


def fault(does: str, heals: str, machines: str, of_spark: bool = False) -> Callable[[Acts], Acts]:
    """Put the decorated generator into the table, under the name of its function."""

    def enter(acts: Acts) -> Acts:
        name = acts.__name__
        assert name not in _faults, f"two faults have the name {name}"
        _faults[name] = Fault(name, does, heals, machines, acts, of_spark)
        return acts

    return enter


def faults() -> dict[str, Fault]:
    """Return all faults by their names."""
    for module in _MODULES:
        importlib.import_module(f"tests.rig.machines.faults.{module}")
    return dict(_faults)
