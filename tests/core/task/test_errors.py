"""What becomes of a record that fails: attempts and their pauses, tolerance, reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kconnect.api import STRING_SCHEMA, SourceRecord
from kconnect.core.settings.errors import ErrorSettings
from kconnect.core.task.chain import Converters, SinkChain, SourceChain
from kconnect.core.task.errors import Component, Counts, Errors, Failure, Stage, error_class
from kconnect.core.task.steps import Step, Steps
from kconnect.errors import ConfigError, ConnectError, DataError, RetriableError, UnrecoverableError
from kconnect.java.regex import NoGroupError

from .records import Message, Text, TextHeaders, source

WHERE = Message(("t", 0, 7))


class World:
    """Errors with a clock of their own, which only pauses move."""

    def __init__(self, stops_after: float = 1e9, **settings: Any) -> None:
        self.now = 0.0
        self.pauses: list[float] = []
        self.reported: list[Failure] = []
        self.stops_after = stops_after
        report, kept = self.reported.append, ErrorSettings(**settings)
        self.errors = Errors(kept, report, self._wait, lambda: self.now, lambda most: most / 2)

    def _wait(self, seconds: float) -> bool:
        self.pauses.append(round(seconds, 3))
        self.now += seconds
        return self.now < self.stops_after

    def handle(self, error: Exception, again: Callable[[], Any] | None = None) -> Any:
        return self.errors.handle(Stage.TRANSFORMATION, Component("the transform t", "T"), WHERE, error, again)


def failing(times: int, result: Any = "good") -> Callable[[], Any]:
    left = [times]

    def attempt() -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise RetriableError("not yet")
        return result

    return attempt


def test_the_first_failure_ends_the_task_and_is_reported() -> None:
    world, cause = World(), ValueError("odd")
    with pytest.raises(ConnectError, match="Tolerance exceeded in error handler: the transform t failed at t-0@7") as raised:
        world.handle(cause)
    assert raised.value.__cause__ is cause
    assert world.reported == [Failure(Stage.TRANSFORMATION, Component("the transform t", "T"), WHERE, cause)]
    assert world.errors.counts == Counts(failures=1, errors=1)


def test_a_tolerated_failure_drops_the_record() -> None:
    world = World(tolerant=True)
    assert world.handle(ValueError("odd"), lambda: "never") is None
    assert world.errors.counts == Counts(failures=1, errors=1, skipped=1)
    assert world.pauses == [], "only what is retriable is tried again"


def test_what_is_no_record_s_fault_is_raised_as_it_is_and_not_reported() -> None:
    world, cause = World(tolerant=True), UnrecoverableError("no such class")
    with pytest.raises(UnrecoverableError) as raised:
        world.handle(cause)
    assert raised.value is cause
    assert (world.reported, world.errors.counts) == ([], Counts(failures=1))


def test_pauses_double_and_are_random_beyond_the_longest() -> None:
    world = World(retry_timeout_s=None, retry_delay_max_s=2.0)
    assert world.handle(RetriableError("not yet"), failing(5)) == "good"
    assert world.pauses == [0.3, 0.6, 1.2, 1.0, 1.0, 1.0]
    assert world.errors.counts == Counts(failures=6, retries=6)
    assert world.reported == []


def test_what_is_tried_again_is_told_with_its_beginning_until_it_is_over() -> None:
    world = World(retry_timeout_s=None)
    told: list[Any] = []

    def attempt() -> Any:
        told.append(world.errors.counts.retrying)
        if len(told) < 3:
            raise RetriableError(f"not at {world.now:.1f}")
        return "good"

    world.now = 5.0
    assert world.handle(RetriableError("not yet"), attempt) == "good"
    assert told == [
        (5.0, "the transform t: RetriableError: not yet"),
        (5.0, "the transform t: RetriableError: not at 5.3"),
        (5.0, "the transform t: RetriableError: not at 5.9"),
    ]
    assert world.errors.counts.retrying is None
    # A record that a sink reports from within a `put` that is made again is another matter.
    world.errors.counts.tries_again("put()", RetriableError("busy"), 7.0)
    with pytest.raises(ConnectError):
        world.handle(RetriableError("reported"))
    assert world.errors.counts.retrying == (7.0, "put(): RetriableError: busy")


def test_attempts_go_on_until_the_deadline_and_not_beyond() -> None:
    world = World(retry_timeout_s=2.0, tolerant=True)
    assert world.handle(RetriableError("not yet"), failing(99)) is None
    assert world.pauses == [0.3, 0.6, 1.1]
    assert world.now == pytest.approx(2.0)
    assert [(failure.attempts, str(failure.error)) for failure in world.reported] == [(4, "not yet")]


def test_without_a_timeout_there_is_one_attempt() -> None:
    world = World(tolerant=True)
    assert world.handle(RetriableError("not yet"), failing(0)) is None
    assert world.pauses == []


def test_what_turns_out_not_to_be_retriable_is_not_tried_again() -> None:
    world = World(retry_timeout_s=None, tolerant=True)

    def again() -> None:
        raise ValueError("worse")

    assert world.handle(RetriableError("not yet"), again) is None
    assert [str(failure.error) for failure in world.reported] == ["worse"]


def test_a_stop_ends_the_waiting_and_drops_nothing() -> None:
    world = World(stops_after=1, retry_timeout_s=None, tolerant=True)
    with pytest.raises(ConnectError, match="the record comes again"):
        world.handle(RetriableError("not yet"), failing(99))
    assert world.reported == []
    assert world.errors.counts.skipped == 0


def test_a_bad_record_costs_only_itself_in_every_stage() -> None:
    world = World(tolerant=True)
    taken: list[int] = []

    def take(number: int) -> int:
        taken.append(number)
        return 12 // number

    steps = Steps([Step("divide", take, class_name="D"), Step("more", lambda n: n + 1)])
    origins = [Message(("t", 0, offset)) for offset in range(5)]
    assert steps.apply([1, 0, 2, 0, 3], origins, world.errors) == [13, None, 7, None, 5]
    assert [failure.origin.offset() for failure in world.reported] == [1, 3]
    assert taken == [1, 0, 2, 0, 3], "nobody is asked twice"


def test_a_retriable_transform_is_asked_again_for_that_record_only() -> None:
    world = World(retry_timeout_s=10)
    twice = failing(2, 20)
    steps = Steps([Step("t", lambda n: twice() if n == 2 else n)])
    assert steps.apply([1, 2, 3], [WHERE] * 3, world.errors) == [1, 20, 3]
    assert world.pauses == [0.3, 0.6]


def test_the_batch_form_is_used_and_given_up_for_a_batch_that_it_fails_on() -> None:
    world, batches = World(tolerant=True), []

    def all_at_once(numbers: list[int]) -> list[int]:
        batches.append(list(numbers))
        return [12 // number for number in numbers]

    chosen = Step("d", lambda n: 12 // n, lambda n: n < 10, apply_all=all_at_once)
    steps = Steps([Step("drop", lambda n: None if n == 5 else n), chosen])
    assert steps.apply([1, 5, 20, 3], [WHERE] * 4, world.errors) == [12, None, 20, 4]
    assert batches == [[1, 3]]
    assert steps.apply([1, 0, 20], [WHERE] * 3, world.errors) == [12, None, 20]
    assert len(world.reported) == 1


def test_a_source_record_that_can_not_be_converted_is_dropped_alone() -> None:
    world = World(tolerant=True)
    chain = SourceChain(Converters(Text(), Text(), TextHeaders, ("K", "V", "H")), world.errors)
    given = [("k", "a"), ("k", "bad"), ("bad", "b"), ("k", "c")]
    batch = [source(None, n, value=text, key=key) for n, (key, text) in enumerate(given)]
    assert [None if found is None else found[1] for found in chain.apply(batch)] == [b"a", None, None, b"c"]
    assert [(f.stage, f.component.class_name, f.origin) for f in world.reported] == [
        (Stage.VALUE_CONVERTER, "V", batch[1]),
        (Stage.KEY_CONVERTER, "K", batch[2]),
    ]


def test_a_message_that_can_not_be_converted_is_dropped_alone() -> None:
    world = World(tolerant=True)
    chain = SinkChain(Converters(Text(), Text(), TextHeaders, ("K", "V", "H")), world.errors)
    marks: list[tuple[str, bytes | None]] = [("h", b"1")]
    bodies = ((b"a", None), (b"bad", None), (b"b", marks), (b"bad", marks))
    messages = [Message(("t", 0, n), body, b"k", marks=given) for n, (body, given) in enumerate(bodies)]
    assert [None if found is None else found.value for found in chain.apply(messages)] == ["a", None, "b", None]
    assert [(failure.stage, failure.origin.offset()) for failure in world.reported] == [
        (Stage.VALUE_CONVERTER, 1),
        (Stage.VALUE_CONVERTER, 3),
    ]


def test_a_dropped_first_record_leaves_no_wrong_key_behind() -> None:
    world, key = World(tolerant=True), Text(null=b"none")
    chain = SourceChain(Converters(key, Text(), TextHeaders), world.errors)
    batch = [source(None, 1, value="bad", key="k"), source(None, 2, value="b"), source(None, 3, value="c", key="k")]
    assert [None if found is None else found[2] for found in chain.apply(batch)] == [None, b"none", b"k"]
    assert set(chain.topics) == {"t"}


def test_errors_have_the_names_of_java() -> None:
    class Own(ConnectError):
        pass

    assert error_class(DataError("x")) == "org.apache.kafka.connect.errors.DataException"
    assert error_class(ConfigError("x")) == "org.apache.kafka.common.config.ConfigException"
    assert error_class(ValueError("x")) == "ValueError"
    assert error_class(KeyError("x")) == "KeyError"
    assert error_class(Own("x")).endswith(".Own")
    assert error_class(NoGroupError("x")) == "java.lang.IndexOutOfBoundsException"


def test_a_value_that_is_not_of_its_schema_is_told_in_python_s_words() -> None:
    world = World()
    record = SourceRecord(None, None, "t", value_schema=STRING_SCHEMA, value=5)
    with pytest.raises(ConnectError, match=r"java.lang.Long\. The value, of Python's class int, does") as raised:
        error = DataError("Invalid type for STRING: class java.lang.Long")
        world.errors.handle(Stage.VALUE_CONVERTER, Component("c"), record, error)
    assert str(raised.value).endswith("its schema of STRING")
    with pytest.raises(ConnectError) as raised:
        world.errors.handle(Stage.KEY_CONVERTER, Component("c"), record, DataError("other"))
    assert str(raised.value).endswith("other")


def test_what_is_only_late_gives_way_to_whoever_knows_why() -> None:
    counts = Counts()
    counts.awaits("storing offsets", "not acknowledged", 5.0)
    counts.awaits("storing offsets", "still not", 6.0)
    assert counts.retrying == (5.0, "storing offsets: still not")
    counts.tries_again("logging in", ValueError("no"), 7.0)
    counts.awaits("storing offsets", "still not", 8.0)
    counts.has_come()
    assert counts.retrying == (5.0, "logging in: ValueError: no")
    counts.goes_on()
    counts.awaits("storing offsets", "late", 9.0)
    counts.has_come()
    assert counts.retrying is None
