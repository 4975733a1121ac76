"""What the rig of several machines says, by itself: its measures, its table of faults, and the rights that it grants."""

from __future__ import annotations

import pytest

from tests.rig.machines import ADDRESSES, BROKERS, CLIENT, MASTER, SPARK_WORKERS, WORKERS, measures, mirror
from tests.rig.machines.faults import table
from tests.rig.machines.measures import Attempt, Look
from tests.rig.machines.rights import PAGE, commands

UNIT = "polls-0"


def looks(*seconds: float, running: bool = True, healthy: bool = True, worker: str = "k1", waits: bool = False) -> list[Look]:
    unit = frozenset([UNIT])
    return [Look(at, worker, unit if running else frozenset(), healthy, unit if waits else frozenset()) for at in seconds]


@pytest.mark.parametrize(
    ("stamps", "longest"),
    [
        pytest.param(list(range(12)), 1, id="steady"),
        pytest.param([1, 2, 9], 7, id="a gap that begins before the window"),
        pytest.param([3, 4, 20], 16, id="a gap that ends after the window"),
        pytest.param([3, 4], 6, id="silent to the end"),
        pytest.param([8, 9], 5, id="silent from the begin"),
        pytest.param([], 7, id="silent"),
        pytest.param([0, 1, 2.5, 30, 31], 27.5, id="gaps outside don't count"),
    ],
)
def test_silence_is_the_longest_gap_that_touches_the_window(stamps: list[float], longest: float) -> None:
    assert measures.silence(stamps, 3, 10) == longest


def test_an_outage_lasts_from_the_first_failure_to_the_end_of_the_next_success() -> None:
    attempts = [
        Attempt(0, 1, False),  # Before the window.
        Attempt(2, 3, True),
        Attempt(4, 5, False),
        Attempt(6, 8, False),
        Attempt(9, 11, True),
        Attempt(12, 13, False),
        Attempt(14, 15, True),
    ]
    assert measures.outage(attempts, 2, 20) == 7
    assert measures.outage(attempts, 11, 20) == 3
    assert measures.outage(attempts[4:5], 2, 20) == 0


def test_a_status_lies_once_a_task_has_been_silent_for_too_long() -> None:
    seconds = [float(number) for number in range(31)]
    assert measures.lies(looks(*seconds), [0, 1, 20, 21], UNIT, 0, 22) == 20 - 1 - measures.QUIET_S
    assert measures.lies(looks(*seconds), [float(number) for number in range(30)], UNIT, 0, 22) == 0


@pytest.mark.parametrize(
    "truth",
    [
        pytest.param({"running": False}, id="the status says so"),
        pytest.param({"healthy": False}, id="health says so"),
        pytest.param({"waits": True}, id="it is said to wait"),
    ],
)
def test_one_worker_that_tells_the_truth_is_enough(truth: dict[str, bool]) -> None:
    seconds = [float(number) for number in range(31)]
    honest = looks(*(second + 0.1 for second in seconds), worker="k2", **truth)
    # A look at k1 comes before the first of k2, within the silence that is still allowed.
    assert measures.lies([*looks(*seconds), *honest], [0, 1, 20], UNIT, 0, 20) == 0


def test_a_worker_that_gives_no_answer_says_nothing() -> None:
    honest = looks(0, 1, 2, running=False, worker="k2")
    seconds = [float(number) for number in range(31)]
    # Its last answer counts for some seconds.
    assert 0 < measures.lies([*looks(*seconds), *honest], [0, 1, 20], UNIT, 0, 20) < 20 - 1 - measures.QUIET_S
    assert measures.lies([], [0, 1, 20], UNIT, 0, 20) == 0


def test_every_fault_says_what_it_does_and_how_it_heals() -> None:
    faults = table.faults()
    assert len(faults) >= 45
    for name, fault in faults.items():
        assert fault.name == name
        assert fault.does and fault.heals and fault.machines, name


def test_the_names_of_machines_are_those_of_the_network() -> None:
    assert {*BROKERS, *SPARK_WORKERS, *WORKERS, MASTER, CLIENT} == set(ADDRESSES)
    assert len(set(ADDRESSES.values())) == len(ADDRESSES)


def test_the_rights_are_the_commands_of_the_page() -> None:
    granted = [" ".join(words) for words in commands(PAGE.read_text("utf-8"))]
    both = "--operation Read --operation Write --topic"
    topics = ("connect-configs", "connect-offsets", "connect-status", "connect-configs-assignments", "connect-configs-metrics")
    for topic in (*topics, "connect-configs-schemas", "connect-configs-logs"):
        assert f"{both} {topic}" in granted
    assert "--operation Read --group connect-cluster" in granted
    assert "--operation Write --transactional-id connect-cluster-connect-cluster" in granted
    assert "--operation Write --transactional-id connect-cluster- --resource-pattern-type prefixed" in granted
    assert "--operation Create --operation Write --topic orders" in granted
    assert "--operation Read --group connect- --resource-pattern-type prefixed" in granted
    # Nothing of a row's prose was taken for a command.
    assert all(words.startswith("--operation ") and "`" not in words and "<" not in words for words in granted)


@pytest.mark.parametrize(
    ("copied", "exactly", "at_least"),
    [
        pytest.param([b"1", b"2", b"3"], [], [], id="the same"),
        pytest.param([b"1", b"2", b"3", b"4"], [], [], id="and what came since"),
        pytest.param([b"1", b"3"], ["not-mirrored"], ["not-mirrored"], id="lost"),
        pytest.param([], ["not-mirrored"], ["not-mirrored"], id="empty"),
        pytest.param([b"1", b"2", b"2", b"3"], ["mirrored-twice"], [], id="doubled"),
        pytest.param([b"2", b"1", b"3"], ["mirrored-out-of-order"], [], id="another order"),
    ],
)
def test_a_copy_that_differs_from_its_original_is_found(copied: list[bytes], exactly: list[str], at_least: list[str]) -> None:
    original = {0: [b"1", b"2", b"3"]}
    for once, expected in ((True, exactly), (False, at_least)):
        assert [found.name for found in mirror.differences(original, {0: copied}, "copy", once)] == expected
