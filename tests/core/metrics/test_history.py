"""The last hour of connectors' numbers: points when something changes, and memory for those only."""

from __future__ import annotations

from kconnect.core.metrics.history import EVERY_S, KEPT_S, SERIES, History
from kconnect.core.metrics.report import UnitReport
from kconnect.core.state.records import UnitId

T0 = 1_800_000_000.0


def said(connector: str, task: int, worker: str = "a:1", **values: float) -> UnitReport:
    given: dict[str, float | None] = {name.replace("_", "-"): value for name, value in values.items()}
    return UnitReport(worker, 0, "i", UnitId(connector, task), values=given)


def test_tasks_add_up_and_of_times_the_longest_counts() -> None:
    history = History()
    history.hear(said("x", 0, source_record_poll_rate=10.5, poll_batch_avg_time_ms=4.0), T0)
    history.hear(said("x", 1, source_record_poll_rate=1.0, poll_batch_avg_time_ms=9.0), T0)
    history.hear(said("x", -1, source_record_poll_rate=99.0), T0)
    history.hear(said("y", 0, sink_record_lag=7.0, put_batch_avg_time_ms=1.5), T0)
    history.take(T0, 900)
    unknown = {name: [None] for name in SERIES}
    assert history.of("x") == {"at": [int(T0 * 1000)], **unknown, "in_per_s": [11.5], "call_ms": [9.0]}
    assert history.of("y") == {"at": [int(T0 * 1000)], **unknown, "lag": [7.0], "call_ms": [1.5]}
    assert history.of("z") == {"at": [], **{name: [] for name in SERIES}}


def test_what_does_not_change_takes_no_points_and_a_step_stays_one() -> None:
    history = History()
    history.hear(said("x", 0, sink_record_lag=0.0), T0)
    for number in range(30):
        history.take(T0 + number * EVERY_S, 900)
    assert len(history.of("x")["at"]) == 1
    history.hear(said("x", 0, sink_record_lag=5.0), T0 + 300)
    history.take(T0 + 300, 900)
    found = history.of("x")
    assert found["at"] == [int((T0 + more) * 1000) for more in (0, 290, 300)]
    assert found["lag"] == [0.0, 0.0, 5.0]


def test_it_looks_every_ten_seconds() -> None:
    history = History()
    for number in range(100):
        history.hear(said("x", 0, sink_record_lag=float(number)), T0 + number)
        history.take(T0 + number, 900)
    assert [at / 1000 - T0 for at in history.of("x")["at"]] == [0.0, *(float(10 * n) for n in range(1, 10))]


def test_an_hour_is_kept_and_what_it_began_with() -> None:
    history = History()
    for number in range(800):
        now = T0 + number * EVERY_S
        history.hear(said("busy", 0, sink_record_lag=float(number)), now)
        history.hear(said("idle", 0, sink_record_lag=1.0), now)
        history.take(now, 900)
    found = history.of("busy")
    assert len(found["at"]) == KEPT_S / EVERY_S + 1
    assert found["at"][0] == int((now - KEPT_S) * 1000)
    assert history.of("idle")["lag"] == [1.0]


def test_a_connector_that_is_gone_is_forgotten() -> None:
    history = History()
    history.hear(said("x", 0, sink_record_lag=1.0), T0)
    history.take(T0, 900)
    history.take(T0 + 1000, 900)
    assert history.of("x")["lag"] == [1.0]
    history.take(T0 + KEPT_S + 10, 900)
    assert history.of("x")["lag"] == []


def test_a_task_that_moved_counts_once() -> None:
    history = History()
    history.hear(said("x", 0, "a:1", sink_record_lag=100.0), T0)
    history.hear(said("x", 0, "b:1", sink_record_lag=30.0), T0 + 1)
    history.take(T0 + 2, 900)
    assert history.of("x")["lag"] == [30.0]
