"""
Exactly-once source tasks in their threads, on a real broker; only the host is one in memory. What a whole worker makes of them
is in tests/kip/test_kip_618.py.
"""

from __future__ import annotations

import time
from typing import Any

import confluent_kafka as ck
import pytest

from kconnect.api.record import RecordMetadata, SourceRecord
from kconnect.errors import ConnectError, StartAgainError
from kconnect.kafka.transactions import TransactionalProducer
from tests.support import wait_until

from .units import MemoryHost, Numbers, Plugins, create, end, numbers, source_of, until, values

pytestmark = pytest.mark.integration
INTERVAL = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "600000"}
SENT = "read_uncommitted"


class There:
    """A host for tasks of one class, whose records go to a topic of the test's own."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.bootstrap, self.topic = bootstrap, topic
        self.made: list[Numbers] = []

    def host(self, task: type[Numbers] = Numbers, **settings: str) -> MemoryHost:
        def make() -> Numbers:
            self.made.append(task())
            return self.made[-1]

        plugins = Plugins(Numbers=source_of(make))
        return MemoryHost(self.bootstrap, plugins, exactly_once_source_support="enabled", **settings)

    def config(self, **config: str) -> dict[str, str]:
        # Its name is the transactional id's, so that tests do not fence each other.
        return {"connector.class": "Numbers", "topic": self.topic, "name": self.topic, **config}

    def values(self, isolation: str = "read_committed") -> list[str]:
        return values(self.bootstrap, self.topic, isolation)

    def other(self) -> ck.Producer:
        """Somebody else with the task's transactional id."""
        settings = {"bootstrap.servers": self.bootstrap, "transactional.id": f"test-{self.topic}-0"}
        made = ck.Producer(settings)
        made.init_transactions(120)
        return made


@pytest.fixture
def there(bootstrap: str, topic: str) -> There:
    return There(bootstrap, topic)


def test_a_task_hears_of_its_records_in_order_once_they_are_committed(there: There) -> None:
    heard: list[tuple[str, int | None]] = []
    seen: list[int] = []

    class Listens(Numbers):
        def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
            if not heard:
                # Brokers answer before they write the marker.
                until(there.values, 60)
                seen.append(len(there.values()))
            heard.append((record.value, metadata and metadata.offset))

        def commit(self) -> None:
            seen.append(-1)

    host = there.host(Listens, offset_flush_timeout_ms="60000")
    unit = host.unit(there.config(limit="30", **INTERVAL))
    until(lambda: there.made and there.made[0].__dict__.get("last") == 30)
    end(unit, 120)
    assert heard == [(str(number), number - 1) for number in range(1, 31)]
    assert seen == [30, -1]
    assert host.writes == [{"last": 30}]


def test_it_hears_of_what_was_aborted_and_of_what_was_dropped_as_of_records_that_went_nowhere(there: There) -> None:
    heard: list[tuple[str, int | None]] = []

    class Listens(Numbers):
        def poll(self) -> list[SourceRecord] | None:
            records = super().poll()
            transactions = self.context.transaction_context
            assert transactions is not None
            if records and self.last == 20:
                transactions.abort_transaction(records[4])
                transactions.commit_transaction()
            return records

        def record(self, number: int) -> SourceRecord:
            made = super().record(number)
            return made.new_record(topic=f"{self.topic}-dropped") if number == 17 else made

        def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
            heard.append((record.value, metadata and metadata.offset))

    drop = {
        "transaction.boundary": "connector",
        "transforms": "drop",
        "transforms.drop.type": "Filter",
        "transforms.drop.predicate": "named",
        "predicates": "named",
        "predicates.named.type": "TopicNameMatches",
        "predicates.named.pattern": ".*-dropped",
    }
    unit = there.host(Listens).unit(there.config(limit="20", **drop))
    until(lambda: len(heard) == 20)
    end(unit)
    there_now = [str(number) for number in (16, 18, 19, 20)]
    until(lambda: there.values() == there_now)
    assert [value for value, _ in heard] == numbers(20), "once each, in order"
    assert [value for value, offset in heard if offset is not None] == there_now


def test_a_transaction_can_be_aborted_before_the_broker_has_heard_of_it(there: There) -> None:
    """Ten in a row, each right after its records were handed to the client."""

    class Aborts(Numbers):
        def record(self, number: int) -> SourceRecord:
            made = super().record(number)
            transactions = self.context.transaction_context
            assert transactions is not None
            if number <= 10:
                transactions.abort_transaction(made)
            elif number == 20:
                transactions.commit_transaction(made)
            return made

    host = there.host(Aborts)
    unit = host.unit(there.config(limit="20", **{"transaction.boundary": "connector"}))
    until(lambda: {"last": 20} in host.writes)
    end(unit)
    until(lambda: there.values() == [str(number) for number in range(11, 21)])
    assert host.states == ["RUNNING", "UNASSIGNED"]


def test_what_a_predecessor_left_open_is_ended_before_offsets_are_read(there: There) -> None:
    create(there.bootstrap, there.topic)
    other = there.other()
    other.begin_transaction()
    other.produce(there.topic, b"of a zombie")
    assert other.flush(60) == 0
    asked: list[list[str]] = []

    class Reads(Numbers):
        def start(self, props: dict[str, str]) -> None:
            asked.append(there.values())
            # An open transaction would hide what comes after it for a minute.
            with pytest.raises(ck.KafkaException) as refused:
                other.commit_transaction(20)
            assert refused.value.args[0].code() in (ck.KafkaError._FENCED, ck.KafkaError.INVALID_PRODUCER_EPOCH)
            super().start(props)

    unit = there.host(Reads).unit(there.config())
    until(lambda: there.values() == numbers(100))
    end(unit)
    assert asked == [[]]


def test_a_commit_that_is_fenced_leaves_nothing_to_abort(there: There) -> None:
    """Asked to abort after such a commit, librdkafka answers for ever that the commit is still in progress."""
    client = {"bootstrap.servers": there.bootstrap, "transactional.id": f"test-{there.topic}-0", "log_level": 0}
    producer = TransactionalProducer(client, lambda: False, lambda: True, lambda: True)
    assert producer.begin(lambda: False)
    assert producer.send([(there.topic, b"1", None, -1, None, None, 0, None)])
    wait_until(lambda: producer.flush(1.0), 120)
    there.other()
    with pytest.raises(ConnectError):
        producer.commit()
    end = time.monotonic() + 60
    assert producer.abort(lambda: time.monotonic() > end)
    producer.close()
    assert there.values() == []


def test_a_task_that_is_fenced_fails_and_says_why(there: There) -> None:
    host = there.host()
    unit = host.unit(there.config(limit="1000000"))
    until(lambda: len(host.writes) > 3)
    there.other()
    until(lambda: "FAILED" in host.states)
    trace = host.statuses[-1][1] or ""
    fenced = f"The producer of the transactional id test-{there.topic}-0 is fenced: a newer set of this connector's"
    # A broker that is just raising the epoch may answer the end of a transaction with a code that says nothing.
    unknown = f"The transaction of test-{there.topic}-0 has failed, so the task sends its records again: Failed to end tr"
    assert fenced in trace or unknown in trace
    assert end(unit) < 30, "it does not wait for its transaction, which is not its own any more"
    last = host.writes[-1]
    assert last is not None
    assert there.values() == numbers(last["last"]), "both, or neither"


@pytest.mark.parametrize("again", [True, False])
def test_a_transaction_that_takes_brokers_too_long_is_made_again(there: There, again: bool) -> None:
    """What the client says then is in tests/kafka/test_transactions.py; here the task's second batch meets it."""

    class Late(Numbers):
        def poll(self) -> list[SourceRecord] | None:
            if self.last == 10:
                # As the client does whose transaction has failed.
                failed = ck.KafkaError(ck.KafkaError._MSG_TIMED_OUT, "Local: Message timed out"), there.topic
                unit._loop._delivery._producer._reports.failure = failed
                raise StartAgainError("5 message(s) timed out")
            return super().poll()

    host = there.host(Late)
    host.starts_again = again
    unit: Any = host.unit(there.config(limit="30", **INTERVAL))
    until(lambda: host.started_again, 120)
    if not again:
        until(lambda: "FAILED" in host.states, 60)
    assert end(unit) < 60
    assert host.states == ["RUNNING", "UNASSIGNED" if again else "FAILED"]
    assert (there.values(), host.writes) == ([], []), "what was open comes again"


def test_a_task_that_is_fenced_while_it_stops_has_not_failed(there: There) -> None:
    host = there.host()
    unit = host.unit(there.config(limit="30", **INTERVAL))
    until(lambda: there.values(SENT) == numbers(30))
    there.other()
    end(unit)
    assert host.states == ["RUNNING", "UNASSIGNED"]
    assert (there.values(), host.writes) == ([], [])


def test_an_abandoned_task_commits_nothing_and_its_successor_goes_on_exactly(there: There) -> None:
    host = there.host(offset_flush_timeout_ms="60000")
    unit = host.unit(there.config(limit="30", **INTERVAL))
    until(lambda: there.values(SENT) == numbers(30))
    unit.abandon()
    assert unit.join(60)
    assert (host.states, there.values(), host.writes) == (["RUNNING"], [], [])
    unit = host.unit(there.config(limit="40", **INTERVAL))
    until(lambda: len(there.values(SENT)) == 70)
    end(unit, 120)
    until(lambda: there.values() == numbers(40))
    assert host.writes == [{"last": 40}]


@pytest.mark.parametrize("tolerance", ["none", "all"])
def test_a_record_that_kafka_refuses_fails_the_task_once_those_before_it_are_committed(there: There, tolerance: str) -> None:
    class Grows(Numbers):
        def record(self, number: int) -> SourceRecord:
            made = super().record(number)
            return made.new_record(value="x" * 50_000) if number == 35 else made

    create(there.bootstrap, there.topic, max_message_bytes="10000")
    host = there.host(Grows)
    config = there.config(**{"errors.tolerance": tolerance})
    unit = host.unit(config)
    until(lambda: host.states[-1:] == ["FAILED"])
    end(unit)
    assert (there.values(), host.writes[-1]) == (numbers(30), {"last": 30})
    assert host.started_again, "those beside it may be small enough, so the host is asked to start the task again"
    for _ in range(2):
        host.statuses.clear()
        unit = host.unit(config)
        until(lambda: host.states[-1:] == ["FAILED"])
        end(unit)
        assert (there.values(), host.writes[-1]) == (numbers(34), {"last": 34})
        trace = host.statuses[-1][1] or ""
        assert f"The transaction of test-{there.topic}-0 has failed, so the task sends its records again: " in trace
        assert "Message size too large" in trace


def test_what_is_not_taken_since_the_transaction_has_failed_is_not_what_it_has_failed_for(there: There) -> None:
    """Brokers refuse a record while others are handed over, as on a busy machine: to abort must not wait for these."""
    create(there.bootstrap, there.topic, max_message_bytes="10000")
    client = {"bootstrap.servers": there.bootstrap, "transactional.id": there.topic, "log_level": 0}
    producer = TransactionalProducer(client, lambda: False, lambda: True, lambda: True)
    assert producer.begin(lambda: False)
    failures: list[ConnectError] = []

    def fails(value: bytes) -> bool:
        try:
            producer.send([(there.topic, value, None, 0, None, None, 0, None)])
        except ConnectError as error:
            failures.append(error)
        return bool(failures)

    assert not fails(b"x" * 50_000)
    until(lambda: fails(b"small"))
    assert isinstance(failures[0], StartAgainError)
    assert "one by one" in str(failures[0])
    deadline = time.monotonic() + 60
    assert producer.abort(lambda: time.monotonic() > deadline)
    producer.close()


@pytest.mark.parametrize("more", [{}, INTERVAL], ids=["poll", "interval"])
def test_a_record_that_fails_in_the_chain_fails_the_task_once_those_before_it_are_committed(
    there: There, more: dict[str, str]
) -> None:
    class Shrinks(Numbers):
        def record(self, number: int) -> SourceRecord:
            made = super().record(number)
            return made.new_record(value="no date") if number == 35 else made.new_record(value="2024-01-01")

    to_time = {
        "transforms": "t",
        "transforms.t.type": "org.apache.kafka.connect.transforms.TimestampConverter$Value",
        "transforms.t.format": "yyyy-MM-dd",
        "transforms.t.target.type": "unix",
    }
    host = there.host(Shrinks)
    for _ in range(2):
        host.statuses.clear()
        unit = host.unit(there.config(**to_time, **more))
        until(lambda: host.states[-1:] == ["FAILED"])
        end(unit)
        assert len(there.values()) == 34
        assert host.writes[-1] == {"last": 34}


def test_records_that_are_too_large_together_only_are_committed(there: There) -> None:
    class Large(Numbers):
        def record(self, number: int) -> SourceRecord:
            made = super().record(number)
            return made.new_record(value=f"{made.value}-{'x' * 5000}")

    create(there.bootstrap, there.topic, max_message_bytes="10000")
    host = there.host(Large)
    config = there.config(**{"producer.override.compression.type": "none"})
    unit = host.unit(config)
    until(lambda: host.started_again)
    end(unit)
    unit = host.unit(config)
    until(lambda: host.writes[-1:] == [{"last": 100}])
    end(unit)
    assert [value.partition("-")[0] for value in there.values()] == numbers(100)


def test_offsets_that_can_not_be_stored_take_their_transaction_with_them(there: There) -> None:
    class Nests(Numbers):
        def record(self, number: int) -> SourceRecord:
            made = super().record(number)
            if number == 20:
                made.source_offset = {"last": {"nested": number}}
            return made

    host = there.host(Nests)
    unit = host.unit(there.config())
    until(lambda: "FAILED" in host.states)
    end(unit)
    assert (there.values(), host.writes[-1]) == (numbers(10), {"last": 10})
    assert "Offsets may only contain primitive types as values" in (host.statuses[-1][1] or "")


def test_a_time_that_brokers_do_not_allow_is_told_with_the_remedy(there: There) -> None:
    host = there.host()
    unit = host.unit(there.config(**{"producer.override.transaction.timeout.ms": "2000000000"}))
    until(lambda: "FAILED" in host.states)
    end(unit)
    trace = host.statuses[-1][1] or ""
    assert "set the connector's producer.override.transaction.timeout.ms to at most that" in trace


def test_without_the_boundary_that_is_the_tasks_there_is_no_context_for_it(there: There) -> None:
    found: list[Any] = []

    class Looks(Numbers):
        def start(self, props: dict[str, str]) -> None:
            found.append(self.context.transaction_context)
            super().start(props)

    for host, config in (
        (there.host(Looks), {}),
        (there.host(Looks), INTERVAL),
        (MemoryHost(there.bootstrap, Plugins(Numbers=source_of(Looks))), {"transaction.boundary": "connector"}),
    ):
        unit = host.unit(there.config(**config))
        until(lambda host=host: host.states)  # type: ignore[misc]
        end(unit)
    assert found == [None, None, None]


def test_preparing_is_as_disabled(there: There) -> None:
    """Such a worker's tasks need no right to a transactional id."""
    host = MemoryHost(there.bootstrap, Plugins(Numbers=source_of(Numbers)), exactly_once_source_support="preparing")
    unit = host.unit(there.config())
    until(lambda: host.states == ["RUNNING"])
    other = there.other()
    until(lambda: host.writes and host.writes[-1] == {"last": 100})
    end(unit)
    assert (there.values(), host.states) == (numbers(100), ["RUNNING", "UNASSIGNED"])
    del other
