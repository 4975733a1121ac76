"""How many workers the load wants."""

from __future__ import annotations

import json

import pytest

from kconnect.core.metrics import report
from kconnect.core.metrics.demand import WINDOW_S, Demand, workers_wanted
from kconnect.core.metrics.report import HostReport, Starts, Usage


def said(cpu: float, host: int = 0, life: str = "1", worker: str = "a:1") -> HostReport:
    return HostReport(worker, host, life, "w", Starts(), Starts(), Usage(1, None, cpu))


def test_all_hosts_of_all_workers_count() -> None:
    demand = Demand()
    for second in range(0, 601, 10):
        demand.take(said(0.5 * second), second)
        demand.take(said(1.0 * second, host=1), second)
        demand.take(said(0.25 * second, worker="b:1"), second)
    assert demand.cores(600.0) == pytest.approx(1.75)


def test_nothing_is_known_before_a_whole_window() -> None:
    demand = Demand()
    assert demand.cores(1e6) is None
    demand.take(said(5.0), 1000.0)
    assert demand.cores(1000.0 + WINDOW_S - 1) is None
    demand.take(said(5.0), 1000.0 + WINDOW_S)
    assert demand.cores(1000.0 + WINDOW_S) == 0.0


def test_what_was_long_ago_does_not_count() -> None:
    """An hour of work, and then none, of which a host says so every five minutes."""
    demand = Demand()
    for second in range(0, 3601, 10):
        demand.take(said(1.0 * second), second)
    assert demand.cores(3600.0) == pytest.approx(1.0)
    for second in range(3600 + int(WINDOW_S), 5101, int(WINDOW_S)):
        demand.take(said(3600.0), second)
    assert demand.cores(5100.0) == 0.0


def test_hosts_that_are_gone_are_forgotten() -> None:
    demand = Demand()
    for second in range(0, 601, 10):
        demand.take(said(1.0 * second), second)
        demand.take(said(0.1 * second, life="2"), second)
    for second in range(610, 1601, 10):
        demand.take(said(0.1 * second, life="2"), second)
    assert demand.cores(1600.0) == pytest.approx(0.1)
    demand.tidy(1600.0, 900.0)
    assert demand.cores(1600.0) == pytest.approx(0.1)


def test_a_host_that_says_it_takes_a_thousand_machines_counts_as_one_large_one() -> None:
    """A report is a record, which may be anybody's."""
    demand = Demand()
    for second in range(0, 601, 10):
        demand.take(said(1e6 * second), second)
    assert demand.cores(600.0) == 1024.0
    for cpu in ("Infinity", "nan", -1):
        text = report.encode(said(1.0))[1].replace(b"1.0", json.dumps(cpu).encode())
        assert report.decode(text) is None


@pytest.mark.parametrize(("cores", "each", "wanted"), [(0.0, 2, 1), (1.4, 2, 1), (1.41, 2, 2), (2.8, 2, 2), (7.1, 1, 11)])
def test_workers(cores: float, each: int, wanted: int) -> None:
    assert workers_wanted(cores, each) == wanted
