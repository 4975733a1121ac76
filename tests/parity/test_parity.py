"""
The whole script of `tests/rig/parity`, sent to Connect 4.3.1 and to kconnect: nothing differs but what is known to.

One run for all of these tests; Connect is fetched where it is not there yet.
"""

from __future__ import annotations

import pytest

from kconnect.local.broker import Broker
from tests.rig.parity.run import Report, run
from tests.rig.parity.script import SCRIPT

# The first of them pays for two clusters and the whole script.
pytestmark = pytest.mark.timeout(1200)


@pytest.fixture(scope="module")
def report(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Report:
    return run(broker.bootstrap_servers, tmp_path_factory.mktemp("parity"), SCRIPT)


def test_nothing_differs_that_is_not_known(report: Report) -> None:
    told = [f"{difference.title}: {difference}" for difference in report.unexpected]
    assert not told, f"{len(told)} differences, the first ones:\n" + "\n".join(told[:20])


def test_what_is_known_to_differ_does(report: Report) -> None:
    assert report.unmet == []


def test_every_state_that_was_waited_for_came(report: Report) -> None:
    late = [each.title for each in report.compared if "settled" in {**_of(each.theirs), **_of(each.ours)}]
    assert late == []


def _of(answer: object) -> dict[str, object]:
    return answer if isinstance(answer, dict) else {}


def test_the_internal_topics_were_compared(report: Report) -> None:
    compared = {each.title: each for each in report.compared}
    for topic, key in (
        ("records: config topic", '"connector-<n>-src"'),
        ("records: status topic", '"status-task-<n>-src-0"'),
        ("records: offsets topic", '["<n>-src", {"filename": "<dir>/lines.txt"}]'),
    ):
        assert key in compared[topic].theirs, topic
        assert key in compared[topic].ours, topic


def test_answers_are_not_compared_after_being_made_empty(report: Report) -> None:
    """A control of the normalising: what is known of some answers is still in them."""
    answers = {each.title: each.theirs for each in report.compared}
    assert answers["root"]["body"].keys() == {"version", "commit", "kafka_cluster_id"}
    assert answers["source: info"]["body"]["tasks"] == [{"connector": "<n>-src", "task": 0}]
    assert answers["create: once more"]["body"] == {"error_code": 409, "message": "Connector <n> typed already exists"}
    assert answers["validate: source"]["body"]["configs"]["tasks.max"]["value"]["value"] == "1"
    assert answers["source offsets: once read"]["body"]["offsets"][0]["offset"] == {"position": 14}
