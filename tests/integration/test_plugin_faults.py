"""
The cells of the fault matrix that matter most, on a real worker (F13, I13): hanging calls, those of Kafka Connect's
BlockingConnectorTest among them, and one of each other fault. `scripts/plugin-faults` runs all.

The cells run one after the other in three lanes; each test judges one. Before each cell its neighbours' data must flow.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.rig.plugin_faults import judge, run
from tests.rig.plugin_faults.places import BY_NAME, PLACES, Phase
from tests.rig.plugin_faults.watch import Answers

pytestmark = pytest.mark.timeout(900)

LANES = 3
WAIT_S = 800.0
# By day without the one that waits for a minute's limit, which `tests/plugins/test_confinement.py` has, too, and without those
# that are as others are for whoever contains them.
FOR_NIGHTS = {"connector.config", "connector.initialize", "source.stop", "sink.start", "converter.from_connect_data"}
HANGS = [
    place
    for place in (
        *(place.name for place in PLACES if place.connect),
        *("transform.apply", "predicate.test", "converter.from_connect_data", "provider.get (host)"),
    )
    if place not in FOR_NIGHTS or "KCONNECT_NIGHT" in os.environ
]
OTHERS = [
    ("source.poll", ""),
    ("sink.put", ""),
    ("transform.apply", "exception"),
    ("sink.put", "os._exit"),
    ("source.poll", "SIGSEGV"),
    ("connector.start", "sys.exit"),
    ("source.start", "signal"),
    ("predicate.test", "builtins"),
    ("sink.put", "slow"),
    ("source.poll", "stdout"),
    ("connector.task_configs", "threads"),
]
CELLS = sorted(
    [*((place, "hang") for place in HANGS), *OTHERS],
    # Those that wait for the sandbox's limit first: the others fit in beside them.
    key=lambda cell: (BY_NAME[cell[0]].phase is not Phase.VALIDATION, HANGS.count(cell[0])),
)


@pytest.fixture(scope="module")
def matrix(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[run.Matrix]:
    directory = tmp_path_factory.mktemp("faults")
    plugins = directory / "plugins"
    properties = {**run.PROPERTIES, "plugin.path": run.write_plugins(plugins, LANES)}
    worker = WorkerProcess(directory, broker.bootstrap_servers, "plugin-faults", properties=properties)
    with ExitStack() as stack:
        stack.callback(worker.stop)
        answers = Answers(worker.start().url)
        stack.callback(answers.end)
        answers.start()
        lanes = [run.Lane(worker, plugins, run.lane_name(number)) for number in range(LANES)]
        for lane in lanes:
            stack.callback(lane.close)
        run.open_all(lanes)
        yield run.Matrix(lanes, CELLS, answers)


@pytest.mark.parametrize(("place", "kind"), CELLS, ids=[f"{kind or 'no fault'} in {place}" for place, kind in CELLS])
def test_a_plugin_hurts_itself_only(matrix: run.Matrix, place: str, kind: str) -> None:
    seen = matrix.wait(place, kind, WAIT_S)
    assert judge.complaints(BY_NAME[place], kind, seen) == [], seen
