"""What a worker keeps of what hosts report: of those that are gone no more than a sum."""

from __future__ import annotations

from kconnect.core.metrics.report import AGAIN_S, HostReport, Starts, UnitReport
from kconnect.core.state.records import UnitId
from kconnect.worker.metrics import Heard

ME, LIFE = "me:1", "life"


def host(number: int, incarnation: str, worker: str = ME, life: str = LIFE) -> HostReport:
    return HostReport(worker, number, incarnation, life, Starts(1, 1, 0), Starts(3, 2, 1))


def started(heard: Heard, life: str = LIFE) -> Starts:
    found = [each for each in heard.all() if isinstance(each, HostReport) and each.worker_incarnation == life]
    return sum((each.tasks for each in found), Starts())


def test_a_thousand_lives_of_hosts_are_one_sum() -> None:
    heard = Heard(ME)
    for number in range(1000):
        heard.take(host(number % 4, f"i{number}"), number * AGAIN_S)
        heard.tidy(number * AGAIN_S)
        assert started(heard) == Starts(3 * (number + 1), 2 * (number + 1), number + 1)
    assert len(heard.all()) < 10
    heard.take(host(0, "new", life="another"), 1000 * AGAIN_S)
    assert started(heard, "another") == Starts(3, 2, 1)


def test_the_last_word_of_each_counts_while_it_speaks() -> None:
    heard = Heard(ME)
    for number in range(100):
        heard.take(host(0, "i"), number * AGAIN_S)
        heard.tidy(number * AGAIN_S)
    assert heard.all() == [host(0, "i")]


def test_units_and_other_workers_are_forgotten() -> None:
    heard = Heard(ME)
    heard.take(UnitReport(ME, 0, "i", UnitId("x", 0)), 0)
    heard.take(host(0, "i", worker="other:1"), 0)
    heard.tidy(2 * AGAIN_S)
    assert len(heard.all()) == 2
    heard.tidy(4 * AGAIN_S)
    assert heard.all() == []
