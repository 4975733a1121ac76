"""
Cells of the fault matrix with the plugin in Java, on a real worker: what a plugin in Java can do that one in Python cannot, and
a call that hangs. `scripts/plugin-faults --java` runs all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.rig.plugin_faults import java, judge, run
from tests.rig.plugin_faults.places import BY_NAME
from tests.rig.plugin_faults.watch import Answers

pytestmark = pytest.mark.timeout(900)

WAIT_S = 800.0
CELLS = [
    ("source.poll", ""),
    ("connector.validate", "exit"),
    ("sink.put", "crash"),
    ("source.poll", "heap"),
]
FOR_NIGHTS = [
    ("sink.put", "halt"),
    ("transform.apply", "stack"),
    ("source.poll", "leak"),
    ("source.start", "threads"),
    ("source.poll", "deadlock"),
]
CELLS += FOR_NIGHTS if "KCONNECT_NIGHT" in os.environ else []


@pytest.fixture(scope="module")
def matrix(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[run.Matrix]:
    directory = tmp_path_factory.mktemp("faults")
    properties = {**java.PROPERTIES, "plugin.path": java.write_plugins(directory / "plugins")}
    worker = WorkerProcess(directory, broker.bootstrap_servers, "java-plugin-faults", properties=properties)
    with ExitStack() as stack:
        stack.callback(worker.stop)
        answers = Answers(worker.start().url)
        stack.callback(answers.end)
        answers.start()
        lane = java.JavaLane(worker, directory / "plugins", java.NAME)
        stack.callback(lane.close)
        lane.open()
        yield run.Matrix([lane], CELLS, answers)


@pytest.mark.parametrize(("place", "kind"), CELLS, ids=[f"{kind or 'no fault'} in {place}" for place, kind in CELLS])
def test_a_java_plugin_hurts_itself_only(matrix: run.Matrix, place: str, kind: str) -> None:
    seen = matrix.wait(place, kind, WAIT_S)
    assert judge.complaints(BY_NAME[place], kind, seen) == [], seen
