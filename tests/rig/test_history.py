"""Each violation is found in a history that has it, and none in one that is allowed: `tests/rig/systems/history.py`."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from kconnect.core.state.assignment_records import Assignment, Leader
from tests.rig.systems.history import Committed, Delivered, Emitted, Event, History, Sighting, Stored, check

PLACE = ("data", 0)
UNIT, SINK = "source-0", "sink-0"


class Story:
    """Writes a history as it would happen; `at` is the time in seconds, the broker's clock being the same."""

    def __init__(self) -> None:
        self.history = History(sunk=frozenset({"data"}))
        self.end = 0

    def event(self, at: float, life: str, kind: str, unit: str = UNIT, **facts: object) -> None:
        self.history.events.append(Event(unit, life, kind, at, int(at * 1000), **facts))  # type: ignore[arg-type]

    def starts(self, at: float, life: str, stored: int = 0) -> None:
        self.event(at, life, "started", stored=stored)

    def works(self, at: float, life: str, acked: int = 0) -> None:
        self.event(at, life, "work", acked=acked)

    def emits(self, at: float, life: str, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.history.emitted.append(Emitted(PLACE, self.end, int(at * 1000), UNIT, number, life))
            self.end += 1

    def stores(self, at: float, seqno: int) -> None:
        self.history.stored.append(Stored(UNIT, seqno, int(at * 1000)))

    def opens(self, at: float, life: str) -> None:
        self.event(at, life, "open", SINK, places=(PLACE,))

    def delivers(self, at: float, life: str, offsets: Iterable[int]) -> None:
        self.event(at, life, "work", SINK)
        values = {record.offset: (record.unit, record.seqno, record.life) for record in self.history.emitted}
        for offset in offsets:
            self.history.delivered.append(Delivered(SINK, life, PLACE, offset, at, values[offset]))

    def commits(self, at: float, offset: int) -> None:
        self.history.committed.append(Committed(at, PLACE, offset))

    def sees(self, at: float, state: str = "RUNNING") -> None:
        self.history.sightings.append(Sighting(at, "worker 1", UNIT, state))

    def names(self) -> list[str]:
        return [violation.name for violation in check(self.history).violations]

    def counts(self, name: str) -> int:
        return check(self.history).counts[name]


@pytest.fixture
def story() -> Story:
    """Two lives of a source task and one of a sink task, as at least once allows: 4 and 5 come again after a crash."""
    made = Story()
    made.starts(1, "A")
    made.works(1.1, "A")
    made.emits(1.2, "A", range(1, 6))
    made.stores(1.3, 3)
    made.works(1.4, "A", acked=5)
    made.starts(6, "B", stored=3)
    made.works(6.1, "B")
    made.emits(6.2, "B", range(4, 9))
    made.stores(6.3, 8)
    made.works(6.4, "B", acked=8)
    made.opens(2, "S")
    made.delivers(2.1, "S", range(5))
    made.commits(2.5, 5)
    made.delivers(6.5, "S", range(5, 10))
    made.commits(7, 10)
    return made


def test_what_at_least_once_allows_is_counted_only(story: Story) -> None:
    assert story.names() == []
    assert (story.counts("repeats"), story.counts("late"), story.counts("lives")) == (2, 0, 3)


def test_lost_when_an_offset_was_stored(story: Story) -> None:
    story.history.emitted = [record for record in story.history.emitted if record.seqno != 2]
    assert "lost" in story.names()


def test_lost_when_the_record_was_acknowledged(story: Story) -> None:
    story.works(6.5, "B", acked=9)
    assert story.names() == ["lost"]


def test_gap_below_what_arrived(story: Story) -> None:
    story.emits(6.5, "B", [10])
    story.delivers(6.6, "S", [10])
    assert set(story.names()) == {"gap"}


def test_gap_in_a_life_though_another_filled_it(story: Story) -> None:
    story.starts(8, "C", stored=3)
    story.history.stored = story.history.stored[:1]
    story.emits(8.1, "C", [4, 6])
    story.delivers(8.2, "S", [10, 11])
    assert story.names() == ["gap"]


def test_duplicate_when_a_life_begins_before_a_stored_offset(story: Story) -> None:
    story.starts(8, "C", stored=3)
    story.emits(8.1, "C", [4])
    story.delivers(8.2, "S", [10])
    assert story.names() == ["duplicate"]


def test_duplicate_within_a_life(story: Story) -> None:
    story.emits(6.5, "B", [8])
    story.delivers(6.6, "S", [10])
    assert story.names() == ["duplicate"]


def test_duplicate_at_a_sink_after_a_commit(story: Story) -> None:
    story.opens(8, "T")
    story.delivers(8.1, "T", [9])
    assert story.names() == ["duplicate"]


def test_a_delivery_again_before_the_commit_is_counted_only(story: Story) -> None:
    story.history.committed.pop()
    story.opens(8, "T")
    story.delivers(8.1, "T", [9])
    assert story.names() == []
    assert story.counts("delivered again") == 1


def test_duplicate_when_a_sink_goes_back_without_being_given_the_partition_anew(story: Story) -> None:
    story.delivers(8, "S", [9])
    assert story.names() == ["duplicate"]


def test_overlap_when_a_sink_task_gets_what_it_does_not_own(story: Story) -> None:
    story.history.committed.pop()
    story.delivers(8, "T", [9])
    assert story.names() == ["overlap"]


def test_offset_back_in_the_offset_topic(story: Story) -> None:
    story.stores(6.5, 7)
    assert story.names() == ["offset-back"]


def test_offset_back_in_the_group(story: Story) -> None:
    story.commits(8, 9)
    assert story.names() == ["offset-back"]


def test_offset_ahead_of_the_record(story: Story) -> None:
    story.emits(8, "B", [9])
    story.delivers(8.1, "S", [10])
    story.stores(7.9, 9)
    assert story.names() == ["offset-ahead"]


def test_offset_ahead_of_the_delivery(story: Story) -> None:
    story.emits(8, "B", [9])
    story.commits(8.1, 11)
    story.delivers(8.2, "S", [10])
    assert story.names() == ["offset-ahead"]


def test_overlap_of_two_lives_that_are_asked_for_records(story: Story) -> None:
    story.works(6.05, "A")
    assert story.names() == ["overlap"]


def test_overlap_when_a_life_wakes_up_and_its_records_arrive(story: Story) -> None:
    story.event(6.3, "A", "gave", first=6, last=6)
    story.emits(6.35, "A", [6])
    story.delivers(6.6, "S", [10])
    assert story.names() == ["overlap"]


def test_no_overlap_when_what_a_life_gave_after_waking_up_was_thrown_away(story: Story) -> None:
    story.event(6.3, "A", "gave", first=6, last=6)
    assert story.names() == []


def test_late_records_of_an_earlier_life_are_counted(story: Story) -> None:
    story.event(1.5, "A", "gave", first=6, last=6)
    story.emits(6.35, "A", [6])
    story.delivers(6.6, "S", [10])
    assert story.names() == []
    assert story.counts("late") == 1


def test_unseen(story: Story) -> None:
    story.emits(8, "B", [9])
    assert story.names() == ["unseen"]
    story.history.until_ms = 8000
    assert story.names() == []


def test_other_value(story: Story) -> None:
    wrong = story.history.delivered[0]
    story.history.delivered[0] = Delivered(SINK, wrong.life, PLACE, wrong.offset, wrong.at, (UNIT, 77, "A"))
    assert story.names() == ["other-value"]


@pytest.fixture
def transactions(story: Story) -> Story:
    """The same two lives, exactly once: what A had not committed went with its transaction; markers take offsets."""
    history = story.history
    history.emitted, history.stored, history.delivered, history.committed, story.end = [], [], [], [], 0
    history.events = [event for event in history.events if event.acked != 5]
    for at, life, numbers in ((1.2, "A", range(1, 4)), (6.2, "B", range(4, 7)), (6.5, "B", range(7, 9))):
        story.emits(at, life, numbers)
        story.stores(at, numbers[-1])
        story.delivers(at + 1, "S", range(story.end - len(numbers), story.end))
        story.end += 3 if life == "A" else 1
    history.stored_after = list(history.stored)
    return story


def test_exactly_once(transactions: Story) -> None:
    assert transactions.names() == []
    assert transactions.counts("transactions") == 3


def test_exactly_once_a_transaction_after_the_first_reading_of_offsets_is_whole(transactions: Story) -> None:
    transactions.history.stored.pop()
    assert transactions.names() == []


def test_exactly_once_nothing_may_come_again(transactions: Story) -> None:
    transactions.history.sunk = frozenset()
    transactions.history.events = [event for event in transactions.history.events if event.life != "B"]
    transactions.starts(6, "B", stored=2)
    transactions.history.emitted[3:3] = [Emitted(PLACE, 5, 6200, UNIT, 3, "B")]
    assert transactions.names() == ["duplicate", "duplicate"], "that B began too early, and that 3 came again"


def test_exactly_once_a_record_that_was_lost(transactions: Story) -> None:
    transactions.history.sunk = frozenset()
    del transactions.history.emitted[4]
    assert {"lost", "torn"} <= set(transactions.names())


def test_exactly_once_records_without_their_offset(transactions: Story) -> None:
    transactions.history.stored_after = transactions.history.stored = transactions.history.stored[:2]
    assert transactions.names() == ["torn"]


def test_exactly_once_half_a_transaction(transactions: Story) -> None:
    transactions.history.sunk = frozenset()
    transactions.history.emitted.pop()
    assert set(transactions.names()) == {"lost", "torn"}


def test_phantom_when_a_sink_gets_what_was_aborted(transactions: Story) -> None:
    transactions.opens(8, "T")
    transactions.history.delivered.append(Delivered(SINK, "T", PLACE, 4, 8.1, (UNIT, 4, "A")))
    assert transactions.names() == ["phantom"]


def test_generations_of_leaders_that_follow_each_other(story: Story) -> None:
    story.history.control = [
        Leader("a:1", "http://a:1/", 1),
        Assignment("a:1", frozenset(), 2),
        Assignment("b:1", frozenset(), 2),
        Leader("b:1", "http://b:1/", 3),
        Assignment("a:1", None),
        Assignment("b:1", frozenset(), 4),
    ]
    assert story.names() == []


@pytest.mark.parametrize(
    "written",
    [Assignment("b:1", frozenset(), 3), Leader("a:1", "http://a:1/", 3)],
    ids=["assigns after it was replaced", "leads in a generation that was taken"],
)
def test_two_leaders(story: Story, written: Leader | Assignment) -> None:
    story.history.control = [Leader("a:1", "http://a:1/", 1), Leader("b:1", "http://b:1/", 3), written]
    assert story.names() == ["two-leaders"]


def test_generation_back_when_the_same_leader_uses_one_again(story: Story) -> None:
    story.history.control = [
        Leader("a:1", "http://a:1/", 1),
        Assignment("b:1", frozenset(), 3),
        Assignment("b:1", None),
        Assignment("a:1", frozenset(), 2),
    ]
    assert story.names() == ["generation-back"]


def test_a_status_that_lies(story: Story) -> None:
    for second in range(5, 23):
        story.sees(second)
    assert story.names() == ["status-lie"]


@pytest.mark.parametrize("excuse", ["work", "another state", "outage", "a pause between two outages"])
def test_a_status_that_does_not_lie(story: Story, excuse: str) -> None:
    for second in range(5, 23):
        story.sees(second, "UNASSIGNED" if second == 15 and excuse == "another state" else "RUNNING")
    if excuse == "work":
        story.works(15, "B")
    elif excuse == "outage":
        story.history.outages = [(14, 16)]
    elif excuse == "a pause between two outages":
        story.history.outages = [(4, 6), (12, 12.5)]
    assert story.names() == []
