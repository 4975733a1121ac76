"""Records of internal topics with their times: what is kept of very many."""

from __future__ import annotations

from kconnect.core.state.records import LogRecord, Topic
from kconnect.kafka.stamped import Stamped, _Newest


def test_of_too_many_records_the_last_ones_are_kept() -> None:
    """A status topic has gigabytes when nothing compacts it; one reader must not have them all in memory."""
    newest = _Newest(10_000)
    for at in (*range(1, 1000, 2), *range(0, 1000, 2)):
        newest.add(Stamped(LogRecord(Topic.STATUS, 0, at, b"k" * 100, b"v" * 400), at))
    assert [stamped.at_ms for stamped in newest.by_time()] == list(range(990, 1000))


def test_one_that_is_too_large_is_not_kept() -> None:
    newest = _Newest(10_000)
    newest.add(Stamped(LogRecord(Topic.CONFIG, 0, 0, b"k", b"v" * 20_000), 0))
    assert newest.by_time() == []
