"""Where transactions end: `core/task/transactions.py`. What becomes of them is tried in tests/kip/test_kip_618.py."""

from __future__ import annotations

import pytest

from kconnect.api.record import SourceRecord
from kconnect.core.task.transactions import End, IntervalBoundary, PollBoundary, TaskBoundary
from kconnect.errors import ConnectError

COMMIT, ABORT = End.COMMIT, End.ABORT


def batch(size: int) -> list[SourceRecord]:
    return [SourceRecord(None, {"n": number}, "t") for number in range(1, size + 1)]


def parts(boundary: PollBoundary, records: list[SourceRecord]) -> list[tuple[list[int], End | None]]:
    """The numbers of the records in each part."""
    return [([record.source_offset["n"] for record in part], end) for part, end in boundary.parts(records)]


class TestPoll:
    def test_each_batch_is_a_transaction_and_nothing_is_ever_due(self) -> None:
        boundary = PollBoundary()
        assert boundary.context is None
        assert parts(boundary, batch(2)) == [([1, 2], None)]
        assert boundary.after_batch(0) is COMMIT
        assert not boundary.due(1e9)
        assert boundary.at_rest() is COMMIT


class TestInterval:
    def test_a_transaction_is_of_whole_batches_until_the_time_is_over(self) -> None:
        boundary = IntervalBoundary(10, now=100)
        assert parts(boundary, batch(2)) == [([1, 2], None)]
        assert boundary.after_batch(109.9) is None
        assert boundary.after_batch(110) is COMMIT
        assert boundary.after_batch(119.9) is None

    def test_without_a_batch_it_is_due_all_the_same_and_once(self) -> None:
        boundary = IntervalBoundary(10, now=100)
        assert not boundary.due(109.9)
        assert boundary.due(110)
        assert not boundary.due(110)
        assert boundary.after_batch(115) is None

    def test_what_is_open_is_committed_when_the_task_rests(self) -> None:
        assert IntervalBoundary(10, now=0).at_rest() is COMMIT

    def test_no_interval_is_a_transaction_a_batch(self) -> None:
        assert IntervalBoundary(0, now=5).after_batch(5) is COMMIT


class TestTask:
    def test_without_a_request_a_transaction_stays_open(self) -> None:
        boundary = TaskBoundary()
        assert parts(boundary, batch(3)) == [([1, 2, 3], None)]
        assert boundary.after_batch(1e9) is None
        assert not boundary.due(1e9)
        assert boundary.at_rest() is None

    def test_it_ends_behind_the_records_that_were_named(self) -> None:
        boundary, records = TaskBoundary(), batch(5)
        boundary.context.commit_transaction(records[1])
        boundary.context.abort_transaction(records[2])
        assert parts(boundary, records) == [([1, 2], COMMIT), ([3], ABORT), ([4, 5], None)]
        assert parts(boundary, records) == [([1, 2, 3, 4, 5], None)], "a request counts once"

    def test_it_ends_behind_the_last_record_of_a_batch(self) -> None:
        boundary, records = TaskBoundary(), batch(2)
        boundary.context.abort_transaction(records[1])
        assert parts(boundary, records) == [([1, 2], ABORT)]

    def test_a_record_that_comes_later_is_waited_for(self) -> None:
        boundary, records = TaskBoundary(), batch(4)
        boundary.context.commit_transaction(records[3])
        assert parts(boundary, records[:2]) == [([1, 2], None)]
        assert parts(boundary, records[2:]) == [([3, 4], COMMIT)]

    def test_a_record_that_only_looks_the_same_is_another(self) -> None:
        boundary = TaskBoundary()
        boundary.context.commit_transaction(batch(1)[0])
        assert parts(boundary, batch(1)) == [([1], None)]

    @pytest.mark.parametrize("end", End)
    def test_it_ends_behind_the_batch(self, end: End) -> None:
        boundary = TaskBoundary()
        ask = boundary.context.commit_transaction if end is COMMIT else boundary.context.abort_transaction
        ask()
        assert parts(boundary, batch(2)) == [([1, 2], None)]
        assert boundary.after_batch(0) is end
        assert boundary.after_batch(0) is None

    def test_a_request_that_no_batch_followed_counts_when_the_task_rests(self) -> None:
        boundary = TaskBoundary()
        boundary.context.commit_transaction()
        assert boundary.at_rest() is COMMIT

    def test_both_ends_of_one_record_fail_the_task(self) -> None:
        boundary, records = TaskBoundary(), batch(2)
        boundary.context.commit_transaction(records[1])
        boundary.context.abort_transaction(records[1])
        with pytest.raises(ConnectError, match=r"^Connector requested both commit and abort of same record$"):
            parts(boundary, records)

    def test_both_ends_of_one_batch_fail_the_task(self) -> None:
        boundary = TaskBoundary()
        boundary.context.abort_transaction()
        boundary.context.commit_transaction()
        with pytest.raises(ConnectError, match=r"^Connector requested both commit and abort of same transaction$"):
            boundary.after_batch(0)

    def test_none_is_no_record(self) -> None:
        requests = TaskBoundary().context
        for ask in (requests.commit_transaction, requests.abort_transaction):
            with pytest.raises(ValueError, match="Source record used to define transaction boundaries may not be null"):
                ask(None)  # type: ignore[arg-type]
        assert not requests.any
