"""Which hosts are silent: `kconnect/core/cluster/silence.py`."""

from __future__ import annotations

from kconnect.core.cluster.silence import Absences, Beats, Silence, silent_after_s
from kconnect.core.metrics import report
from kconnect.core.metrics.report import Beat
from kconnect.core.state.records import UnitId

HOST = ("a:1", 0, "2")


def test_a_host_that_is_not_heard_any_more_is_silent_since_its_last_word() -> None:
    beats = Beats(5.0)
    beats.take(HOST, 0.5, 100.0)
    assert beats.silences(104.9, 104.9) == {}
    assert beats.silences(105.1, 105.1) == {HOST: Silence(99_500, is_heard=False)}
    beats.take(HOST, 0.0, 106.0)
    assert beats.silences(106.0, 106.0) == {}


def test_who_can_not_hear_does_not_know_who_is_silent() -> None:
    beats = Beats(5.0)
    beats.take(HOST, 0.0, 100.0)
    assert beats.silences(200.0, 104.0) == {}


def test_a_host_says_itself_that_it_can_not_read_the_log() -> None:
    beats = Beats(5.0)
    beats.take(HOST, 4.0, 100.0)
    assert beats.silences(100.0, 100.0) == {}
    beats.take(HOST, 6.0, 102.0)
    assert beats.silences(102.0, 102.0) == {HOST: Silence(96_000, is_heard=True)}


def test_the_words_of_an_earlier_process_count_no_more() -> None:
    beats = Beats(5.0)
    beats.take(HOST, 0.0, 100.0)
    beats.take(("a:1", 0, "1"), 60.0, 101.0)
    assert beats.silences(101.0, 101.0) == {}
    beats.take(("a:1", 0, "3"), 0.0, 110.0)
    assert beats.silences(110.0, 110.0) == {}


def test_a_beat_survives_the_topic() -> None:
    beat = Beat("a:1", 3, "2", 1.5)
    key, value = report.encode(beat)
    assert key == b"beat-a:1-3"
    assert report.decode(value) == beat


def test_what_no_host_has_is_late_after_a_while_and_not_once_one_has_it() -> None:
    absences, one, two = Absences(5.0), UnitId("x"), UnitId("x", 0)
    assigned, both, first = [frozenset((one, two))], [frozenset((one, two))], [frozenset((one,))]
    assert absences.late(assigned, both, 0) == frozenset()
    assert absences.late(assigned, first, 1_000) == frozenset()
    assert absences.late(assigned, first, 6_000) == frozenset()
    assert absences.late(assigned, first, 6_001) == {two}
    # Another that goes too is not late for the first.
    assert absences.late(assigned, [], 7_000) == {two}
    assert absences.late(assigned, [], 12_001) == {one, two}
    assert absences.late(assigned, both, 12_100) == frozenset()
    assert absences.late([], [], 20_000) == frozenset()


def test_patient_sessions_make_patient_statuses() -> None:
    assert [silent_after_s(ms) for ms in (1_000, 10_000, 45_000)] == [5.0, 5.0, 22.5]


def test_what_is_no_time_is_no_beat() -> None:
    """A number beyond all reckoning would end the thread that hears all hosts."""
    for seconds in (b"1e308", b"-1", b'"x"'):
        body = b'{"format":1,"worker":"a:1","host":0,"incarnation":"2","unread_s":%s}' % seconds
        assert report.decode(body) is None, seconds


def test_workers_that_have_not_come_back_for_a_day_are_forgotten() -> None:
    beats = Beats(5.0)
    beats.take(HOST, 0.0, 100.0)
    assert beats.silences(86_000.0, 86_000.0)
    assert beats.silences(90_000.0, 90_000.0) == {}
