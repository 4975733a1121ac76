"""
Runs cases on Connect 4.3.1, then on kconnect, and tells what differs.

`scripts/java-parity` and `tests/integration/test_java_parity.py` call `run`. Read next: `cases/`, `known.py`.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kconnect.jvm import jars, maven
from kconnect.jvm.maven import Coordinates
from kconnect.local.broker import Broker, free_port
from kconnect.plugins import java_installation
from kconnect.testing.processes import WorkerProcess
from tests.rig import java_plugin
from tests.rig.java_parity.known import KNOWN
from tests.rig.java_parity.side import GROUP, Place, Side
from tests.rig.parity.compare import Difference, differences
from tests.rig.parity.expected import Found, found, unmet
from tests.rig.plugin_faults import java as faulty_plugin
from tests.rig.systems import java_plugins
from tests.rig.systems.connect import ConnectProcess

_PROPERTIES = {
    "offset.flush.interval.ms": "1000",
    "offset.flush.timeout.ms": "60000",
    "task.shutdown.graceful.timeout.ms": "60000",
}

_CLASS_PATH = ("org.apache.kafka:connect-test-plugins:4.3.1",)
"""Connect finds these in `plugin.path`, but loads their package from its class path only."""

RIG = "rig"
"""In the place of coordinates: the plugin of `tests/rig/java_plugin`, compiled for each run."""

FAULTY = "faulty"
"""The same, of `tests/rig/plugin_faults/java`."""

Say = Callable[[str], None]
Observed = dict[str, Any]
"""What a case has seen, by titles: JSON data."""


@dataclass(frozen=True)
class Case:
    """
    `plugins` are Maven's coordinates of what it needs, with `+` before those of jars that a user adds to one. `run` does
    everything on a side, and gives what is to be compared. What is `unlisted` has no ServiceLoader manifest, so that Connect
    has to read all classes.
    """

    name: str
    plugins: tuple[str, ...]
    run: Callable[[Side], Observed]
    unlisted: bool = False


@dataclass
class Compared:
    case: str
    title: str
    theirs: Any
    ours: Any
    found: list[Found]

    @property
    def unexpected(self) -> list[Difference]:
        return [each.difference for each in self.found if each.known is None]

    @property
    def known(self) -> list[str]:
        return sorted({each.known.id for each in self.found if each.known is not None})


@dataclass
class Report:
    """`seconds` is what each side's cases took, by case."""

    compared: list[Compared]
    seconds: dict[str, tuple[float, float]]

    @property
    def unexpected(self) -> list[Difference]:
        return [difference for each in self.compared for difference in each.unexpected]

    @property
    def unmet(self) -> list[str]:
        """Known differences that did not occur, by id and place; of all cases only can it be told."""
        return unmet(KNOWN, [found for each in self.compared for found in each.found])


def run(cases: Sequence[Case], directory: Path, say: Say = lambda _: None) -> Report:
    """
    Everything that is needed is started, and stopped again.

    Raises:
        ConnectError: something could not be started or fetched
        AssertionError: a case failed on Connect itself; on kconnect, that is a difference
    """
    say("fetching what is not there")
    plugins = _plugins(cases)
    if any(RIG in case.plugins for case in cases):
        shutil.rmtree(_root(plugins, RIG), ignore_errors=True)
        java_plugin.write_plugin(_root(plugins, RIG))
    if any(FAULTY in case.plugins for case in cases):
        shutil.rmtree(_root(plugins, FAULTY), ignore_errors=True)
        faulty_plugin.write_plugins(_root(plugins, FAULTY))
    with ExitStack() as stack:
        place = Place(directory, stack)
        ports = free_port(), free_port()
        theirs, their_seconds = _on("Connect", ConnectProcess, cases, place, plugins, ports, say)
        ours, our_seconds = _on("kconnect", WorkerProcess, cases, place, plugins, ports, say)
    compared = []
    for case in cases:
        titles = dict.fromkeys([*theirs[case.name], *ours[case.name]])
        compared += [_compared(case.name, title, theirs[case.name].get(title), ours[case.name].get(title)) for title in titles]
    return Report(compared, {case.name: (their_seconds[case.name], our_seconds[case.name]) for case in cases})


def _plugins(cases: Sequence[Case]) -> Path:
    """All that the cases need, beside each other as on a user's worker: the same directories for both sides."""
    path = jars.cache_dir() / "plugins" / "java-parity"
    for plugin in dict.fromkeys(plugin for case in cases for plugin in case.plugins if plugin not in (RIG, FAULTY)):
        wanted, *more = (Coordinates(*each.split(":")) for each in plugin.split("+"))
        root = _root(path, plugin)
        done = root / ".done"
        if not done.exists():
            java_plugins.keep([wanted], root)
            for library in more:
                maven.jars_of(library, java_installation.planned(wanted, root).target, lambda _: None)
            done.touch()
    return path


def _root(plugins: Path, plugin: str) -> Path:
    """A directory for `plugin.path` that has this plugin only."""
    return plugins / re.sub(r"[^\w.-]", "_", plugin)


def _on(
    name: str,
    kind: type[WorkerProcess],
    cases: Sequence[Case],
    place: Place,
    plugins: Path,
    ports: tuple[int, int],
    say: Say,
) -> tuple[dict[str, Observed], dict[str, float]]:
    observed: dict[str, Observed] = {}
    seconds: dict[str, float] = {}
    with ExitStack() as stack:
        say(f"{name}: starting")
        broker = Broker(place.directory / f"broker-{name}", ports[0]).start()
        stack.callback(broker.stop)
        path = ",".join(dict.fromkeys(str(_root(plugins, plugin)) for case in cases for plugin in case.plugins))
        discovery = "hybrid_warn" if any(case.unlisted for case in cases) else "service_load"
        properties = {**_PROPERTIES, "session.timeout.ms": "60000", "plugin.path": path, "plugin.discovery": discovery}
        worker = kind(place.directory / name, broker.bootstrap_servers, GROUP, ports[1], properties)
        if isinstance(worker, ConnectProcess):
            worker.class_path = [str(jar) for plugin in _CLASS_PATH for jar in _root(plugins, plugin).rglob("*.jar")]
        stack.callback(worker.stop)
        worker.start(wait=False)
        worker.wait_healthy(300)
        for case in cases:
            place.clear()
            began = time.monotonic()
            side = Side(name, worker.client, broker.bootstrap_servers, place)
            observed[case.name] = _observed(case, side, kind is WorkerProcess)
            seconds[case.name] = time.monotonic() - began
            say(f"{name}: {case.name} took {seconds[case.name]:.0f} s")
    return observed, seconds


def _observed(case: Case, side: Side, is_ours: bool) -> Observed:
    try:
        return {**case.run(side), **side.internal()}
    except Exception as error:
        if not is_ours:
            raise AssertionError(f"{case.name}: {error}") from error
        # What failed is nothing to those that come after it.
        for name in side.made:
            side.answered(partial(side.client.delete, name))
        return {"the case": f"{type(error).__name__}: {error}"}


def _compared(case: str, title: str, theirs: Any, ours: Any) -> Compared:
    full = f"{case}: {title}"
    return Compared(case, full, theirs, ours, [found(each, KNOWN) for each in differences(full, theirs, ours)])
