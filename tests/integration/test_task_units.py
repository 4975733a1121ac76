"""
Source and sink tasks in their threads, on a real broker; only the host is one in memory.

Set `KCONNECT_TEST_BROKER` to use a broker that runs already.
"""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from kconnect.api.record import SinkRecord, SourceRecord
from kconnect.core.state.records import TargetState
from kconnect.errors import RetriableError

from .units import (
    MemoryHost,
    Numbers,
    Plugins,
    Shelf,
    committed,
    create,
    end,
    numbers,
    read_all,
    sink_of,
    source_of,
    until,
    values,
    write,
)

pytestmark = pytest.mark.integration


class TestSource:
    def host(self, bootstrap: str, made: list[Numbers], task: type[Numbers] = Numbers, **settings: str) -> MemoryHost:
        def make() -> Numbers:
            made.append(task())
            return made[-1]

        return MemoryHost(bootstrap, Plugins(Numbers=source_of(make)), **settings)

    def test_a_file_goes_to_a_topic_line_by_line(self, bootstrap: str, topic: str, tmp_path: Path) -> None:
        file = tmp_path / "in.txt"
        lines = [f"line {number} äöü" for number in range(5000)]
        file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        host = MemoryHost(bootstrap)
        unit = host.unit({"connector.class": "FileStreamSource", "file": str(file), "topic": topic})
        until(lambda: {"position": file.stat().st_size} in host.offsets.values())
        with file.open("a") as more:
            more.write("one more\n")
        until(lambda: {"position": file.stat().st_size} in host.offsets.values())
        assert end(unit) < 30
        assert values(bootstrap, topic) == [*lines, "one more"]
        assert host.states == ["RUNNING", "UNASSIGNED"]
        assert host.topics == [("unit", 0, topic)]

    def test_stored_offsets_can_be_read_in_its_stop(self, bootstrap: str, topic: str) -> None:
        """Debezium's tasks do, to tell their database what is stored."""
        read: list[Any] = []

        class Reads(Numbers):
            def stop(self) -> None:
                super().stop()
                read.append(self.context.offsets.offset({"of": "numbers"}))

        host = self.host(bootstrap, [], Reads)
        unit = host.unit({"connector.class": "Numbers", "topic": topic, "limit": "50"})
        until(lambda: {"last": 50} in host.offsets.values())
        end(unit)
        assert read == [{"last": 50}]

    def test_after_an_orderly_stop_it_goes_on_where_it_was(self, bootstrap: str, topic: str) -> None:
        host = self.host(bootstrap, [], offset_flush_interval_ms="60000")
        config = {"connector.class": "Numbers", "topic": topic}
        unit = host.unit({**config, "limit": "50"})
        until(lambda: host.topics)
        end(unit)
        unit = host.unit({**config, "limit": "120"})
        until(lambda: len(values(bootstrap, topic)) >= 120)
        end(unit)
        assert values(bootstrap, topic) == numbers(120)

    def test_an_abandoned_task_says_and_stores_nothing(self, bootstrap: str, topic: str) -> None:
        host = self.host(bootstrap, [], offset_flush_interval_ms="60000")
        unit = host.unit({"connector.class": "Numbers", "topic": topic})
        until(lambda: host.states == ["RUNNING"] and host.topics)
        unit.abandon()
        assert unit.join(60)
        assert (host.states, host.writes) == (["RUNNING"], [])

    def test_an_error_of_poll_fails_the_task_and_keeps_what_was_done(self, bootstrap: str, topic: str) -> None:
        class Breaks(Numbers):
            def poll(self) -> list[SourceRecord] | None:
                if self.last >= 30:
                    raise ValueError("the source is gone")
                return super().poll()

        host = self.host(bootstrap, [], Breaks, offset_flush_interval_ms="60000")
        unit = host.unit({"connector.class": "Numbers", "topic": topic})
        until(lambda: "FAILED" in host.states)
        assert end(unit) < 30
        assert host.states == ["RUNNING", "FAILED"], "a stop must not hide the failure"
        trace = host.statuses[-1][1] or ""
        assert trace.startswith("ValueError: the source is gone (tests/integration/test_task_units.py:")
        assert "in poll" in trace
        assert values(bootstrap, topic) == numbers(30)
        assert host.writes == [{"last": 30}]

    def test_a_record_that_kafka_refuses_fails_the_task_and_those_before_it_are_counted(
        self, bootstrap: str, topic: str
    ) -> None:
        class Grows(Numbers):
            def record(self, number: int) -> SourceRecord:
                made = super().record(number)
                return made.new_record(value="x" * 50_000) if number == 35 else made

        create(bootstrap, topic, max_message_bytes="10000")
        host = self.host(bootstrap, [], Grows)
        # It shares a request with those beside it, which is refused as a whole.
        config = {"connector.class": "Numbers", "topic": topic, "producer.override.linger.ms": "50"}
        for _ in range(2):
            host.statuses.clear()
            unit = host.unit(config)
            until(lambda: host.states[-1:] == ["FAILED"])
            end(unit)
            assert "Message size too large" in (host.statuses[-1][1] or "")
            assert host.writes[-1] == {"last": 34}
            # Those of a request that was refused come behind what was sent meanwhile.
            assert set(numbers(34)) <= set(values(bootstrap, topic))
        assert values(bootstrap, topic).count("34") == 1

    def test_records_that_are_too_large_together_only_are_sent_one_by_one(self, bootstrap: str, topic: str) -> None:
        class Large(Numbers):
            def record(self, number: int) -> SourceRecord:
                made = super().record(number)
                return made.new_record(value=f"{made.value}-{'x' * 5000}", timestamp=1_000_000_000_000)

        create(bootstrap, topic, max_message_bytes="10000")
        host = self.host(bootstrap, [], Large)
        linger = {"producer.override.linger.ms": "50", "producer.override.compression.type": "none"}
        unit = host.unit({"connector.class": "Numbers", "topic": topic, **linger})
        until(lambda: host.writes[-1:] == [{"last": 100}])
        end(unit)
        assert host.states == ["RUNNING", "UNASSIGNED"]
        assert sorted(int(value.partition("-")[0]) for value in values(bootstrap, topic)) == list(range(1, 101))
        assert {message.timestamp()[1] for message in read_all(bootstrap, topic)} == {1_000_000_000_000}

    def test_stop_is_called_while_poll_waits_and_a_stop_that_hangs_holds_nobody_up(self, bootstrap: str, topic: str) -> None:
        release = threading.Event()

        class Hangs(Numbers):
            def stop(self) -> None:
                super().stop()
                release.wait(90)

        made: list[Numbers] = []
        host = self.host(bootstrap, made, Hangs, task_shutdown_graceful_timeout_ms="300")
        unit = host.unit({"connector.class": "Numbers", "topic": topic, "limit": "10"})
        until(lambda: made and made[0].__dict__.get("polls", 0) > 1)
        began = time.monotonic()
        unit.request_stop()
        assert time.monotonic() - began < 10
        assert unit.join(60)
        release.set()
        assert host.writes[-1] == {"last": 10}

    def test_a_task_that_begins_paused_is_not_started_before_it_is_resumed(self, bootstrap: str, topic: str) -> None:
        made: list[Numbers] = []
        host = self.host(bootstrap, made)
        unit = host.unit({"connector.class": "Numbers", "topic": topic}, target=TargetState.PAUSED)
        until(lambda: host.states == ["PAUSED"])
        assert "stopped" not in made[0].__dict__
        unit.set_target_state(TargetState.STARTED)
        until(lambda: len(values(bootstrap, topic)) == 100)
        end(unit)
        assert host.states == ["PAUSED", "RUNNING", "UNASSIGNED"]

    def test_a_paused_task_is_not_polled_and_its_offsets_are_stored(self, bootstrap: str, topic: str) -> None:
        made: list[Numbers] = []
        host = self.host(bootstrap, made, offset_flush_interval_ms="60000")
        unit = host.unit({"connector.class": "Numbers", "topic": topic, "limit": "40"})
        until(lambda: made and made[0].__dict__.get("last") == 40)
        unit.set_target_state(TargetState.PAUSED)
        until(lambda: host.states == ["RUNNING", "PAUSED"] and host.writes)
        polls = made[0].polls
        time.sleep(1.2)
        assert made[0].polls == polls
        made[0].limit = 60
        unit.set_target_state(TargetState.STARTED)
        until(lambda: len(values(bootstrap, topic)) == 60)
        end(unit)
        assert host.states == ["RUNNING", "PAUSED", "RUNNING", "UNASSIGNED"]

    def test_a_task_that_asks_for_it_hears_of_each_record_in_order(self, bootstrap: str, topic: str) -> None:
        heard: list[tuple[str, int]] = []

        class Listens(Numbers):
            def commit_record(self, record: SourceRecord, metadata: Any) -> None:
                heard.append((record.value, metadata.offset))

        host = self.host(bootstrap, [], Listens)
        unit = host.unit({"connector.class": "Numbers", "topic": topic})
        until(lambda: len(heard) == 100)
        end(unit)
        assert heard == [(str(number), number - 1) for number in range(1, 101)]

    def test_a_retriable_error_of_poll_is_tried_again(self, bootstrap: str, topic: str) -> None:
        class Stumbles(Numbers):
            def poll(self) -> list[SourceRecord] | None:
                if not away.is_set():
                    raise RetriableError("not now")
                return super().poll()

        away = threading.Event()
        host = self.host(bootstrap, [], Stumbles)
        unit = host.unit({"connector.class": "Numbers", "topic": topic})
        until(lambda: unit.meter is not None and unit.meter.retrying == "poll(): RetriableError: not now")
        away.set()
        until(lambda: len(values(bootstrap, topic)) == 100)
        assert unit.meter is not None and unit.meter.retrying == ""
        end(unit)
        assert host.states == ["RUNNING", "UNASSIGNED"]

    def test_a_plugin_that_can_not_be_made_fails_the_unit_and_nothing_else(self, bootstrap: str) -> None:
        host = MemoryHost(bootstrap)
        unit = host.unit({"connector.class": "NoSuchConnector"})
        until(lambda: host.states == ["FAILED"])
        end(unit)
        assert "NoSuchConnector" in (host.statuses[0][1] or "").splitlines()[0]

    def test_a_task_waits_for_brokers_that_are_away_and_ends_when_asked(self) -> None:
        host = self.host("127.0.0.1:1", [], offset_flush_timeout_ms="300")
        unit = host.unit({"connector.class": "Numbers", "topic": "nowhere"})
        until(lambda: host.states == ["RUNNING"])
        time.sleep(1.5)
        assert end(unit) < 30
        assert (host.states, host.writes, host.topics) == (["RUNNING", "UNASSIGNED"], [], [])

    def test_a_poll_that_gives_nothing_is_no_busy_loop(self, bootstrap: str, topic: str) -> None:
        class Nothing(Numbers):
            def poll(self) -> list[SourceRecord] | None:
                self.polls += 1
                return None

        made: list[Numbers] = []
        host = self.host(bootstrap, made, Nothing)
        unit = host.unit({"connector.class": "Numbers", "topic": topic})
        until(lambda: host.states == ["RUNNING"])
        polls, began = made[0].polls, time.monotonic()
        time.sleep(1)
        assert made[0].polls - polls < 50 * (time.monotonic() - began), "a poll that returns at once must be no busy loop"
        assert end(unit) < 30


class TestSink:
    def host(self, bootstrap: str, made: list[Shelf], task: type[Shelf] = Shelf, **settings: str) -> MemoryHost:
        def make() -> Shelf:
            made.append(task())
            return made[-1]

        return MemoryHost(bootstrap, Plugins(Shelf=sink_of(make)), **settings)

    def config(self, topic: str, **more: str) -> dict[str, str]:
        return {"name": f"sink-{topic}", "connector.class": "Shelf", "topics": topic, **more}

    def test_a_topic_goes_to_a_file_and_what_is_written_is_committed(self, bootstrap: str, topic: str, tmp_path: Path) -> None:
        create(bootstrap, topic)
        write(bootstrap, topic, numbers(5000))
        file, host = tmp_path / "out.txt", MemoryHost(bootstrap)
        unit = host.unit({"name": f"sink-{topic}", "connector.class": "FileStreamSink", "file": str(file), "topics": topic})
        until(lambda: file.exists() and file.read_text().count("\n") == 5000)
        until(lambda: committed(bootstrap, f"connect-sink-{topic}", topic) == {0: 5000})
        write(bootstrap, topic, ["last"])
        until(lambda: file.read_text().endswith("\nlast\n"))
        assert end(unit) < 30
        assert file.read_text().splitlines() == [*numbers(5000), "last"]
        assert committed(bootstrap, f"connect-sink-{topic}", topic) == {0: 5001}
        assert host.states == ["RUNNING", "UNASSIGNED"]
        assert host.topics == [(f"sink-{topic}", 0, topic)]

    def test_a_task_is_told_of_its_partitions_in_order(self, bootstrap: str, topic: str) -> None:
        create(bootstrap, topic, 2)
        made: list[Shelf] = []
        unit = self.host(bootstrap, made).unit(self.config(topic))
        until(lambda: made and ("open", [(topic, 0), (topic, 1)]) in made[0].calls)
        end(unit)
        both = [(topic, 0), (topic, 1)]
        assert made[0].calls == [("start", None), ("open", both), ("close", both), ("stop", None)]

    def test_a_task_is_told_to_stop_while_it_delivers(self, bootstrap: str, topic: str) -> None:
        class Waits(Shelf):
            def __init__(self) -> None:
                super().__init__()
                self.told = threading.Event()

            def put(self, records: list[SinkRecord]) -> None:
                if records:
                    self.calls.append(("put", None))
                    # As one that waits for a service that never answers.
                    assert self.told.wait(240)
                    raise RetriableError("it is to stop")

            def interrupt(self) -> None:
                self.told.set()

        create(bootstrap, topic)
        write(bootstrap, topic, ["a"])
        made: list[Shelf] = []
        unit = self.host(bootstrap, made, Waits).unit(self.config(topic))
        until(lambda: made and ("put", None) in made[0].calls)
        end(unit)
        assert made[0].calls[-1] == ("stop", None)
        assert committed(bootstrap, f"connect-sink-{topic}", topic) == {}

    def test_a_batch_that_can_be_tried_again_comes_again(self, bootstrap: str, topic: str) -> None:
        class Stumbles(Shelf):
            tries = 0

            def put(self, records: list[SinkRecord]) -> None:
                if records and (self.tries < 3 or not seen.is_set()):
                    self.tries += 1
                    self.context.timeout(50)
                    raise RetriableError("not now")
                super().put(records)

        create(bootstrap, topic)
        write(bootstrap, topic, numbers(100))
        made: list[Shelf] = []
        seen = threading.Event()
        host = self.host(bootstrap, made, Stumbles)
        unit = host.unit(self.config(topic))
        until(lambda: unit.meter is not None and unit.meter.retrying == "put(): RetriableError: not now")
        seen.set()
        until(lambda: made and len(made[0].values) >= 100)
        write(bootstrap, topic, ["more"])
        until(lambda: made[0].values[-1] == "more")
        end(unit)
        assert unit.meter is not None and unit.meter.retrying == ""
        assert made[0].values == [*numbers(100), "more"]
        assert host.states == ["RUNNING", "UNASSIGNED"]

    def test_what_put_refuses_is_not_committed_and_what_it_took_is(self, bootstrap: str, topic: str) -> None:
        class Breaks(Shelf):
            def put(self, records: list[SinkRecord]) -> None:
                if any(record.value == "bad" for record in records):
                    raise ValueError("can't take it")
                super().put(records)

        create(bootstrap, topic)
        write(bootstrap, topic, numbers(50))
        made: list[Shelf] = []
        host = self.host(bootstrap, made, Breaks, offset_flush_interval_ms="60000")
        unit = host.unit(self.config(topic))
        until(lambda: made and len(made[0].values) == 50)
        write(bootstrap, topic, ["bad"])
        until(lambda: "FAILED" in host.states)
        end(unit)
        assert committed(bootstrap, f"connect-sink-{topic}", topic) == {0: 50}
        first = "ValueError: can't take it (tests/integration/test_task_units.py:"
        assert (host.statuses[-1][1] or "").startswith(first)
        assert made[0].calls[-1] == ("stop", None)

    def test_a_task_may_say_where_to_begin(self, bootstrap: str, topic: str) -> None:
        class Knows(Shelf):
            def open(self, partitions: Any) -> None:
                super().open(partitions)
                for partition in partitions:
                    self.context.offset(partition, 40)

        create(bootstrap, topic)
        write(bootstrap, topic, numbers(50))
        made: list[Shelf] = []
        unit = self.host(bootstrap, made, Knows).unit(self.config(topic))
        until(lambda: made and made[0].values[-1:] == ["50"])
        end(unit)
        assert made[0].values == numbers(50)[40:]

    def test_a_paused_task_gets_nothing_and_stays_a_member(self, bootstrap: str, topic: str) -> None:
        create(bootstrap, topic)
        made: list[Shelf] = []
        host = self.host(bootstrap, made)
        unit = host.unit(self.config(topic))
        until(lambda: made and made[0].calls and made[0].calls[-1][0] == "open")
        unit.set_target_state(TargetState.PAUSED)
        until(lambda: host.states[-1] == "PAUSED")
        write(bootstrap, topic, numbers(10))
        time.sleep(1.2)
        assert made[0].values == []
        unit.set_target_state(TargetState.STARTED)
        until(lambda: made[0].values == numbers(10))
        end(unit)
        assert [call for call, _ in made[0].calls] == ["start", "open", "close", "stop"]

    def test_topics_are_found_by_pattern(self, bootstrap: str, topic: str) -> None:
        for name in (f"{topic}.a1", f"{topic}.b", f"x-{topic}.a1"):
            create(bootstrap, name)
            write(bootstrap, name, [name])
        # Of Java's own: an intersection of classes, and a possessive quantifier.
        config = self.config(topic, **{"topics.regex": f"\\Q{topic}\\E\\.[a-z&&[^xyz]]1?+"})
        config["consumer.override.metadata.max.age.ms"] = "300"
        del config["topics"]
        made: list[Shelf] = []
        unit = self.host(bootstrap, made).unit(config)
        until(lambda: made and len(made[0].values) >= 2)
        for name in (f"{topic}.c", f"{topic}.x"):
            create(bootstrap, name)
            write(bootstrap, name, [name])
        until(lambda: len(made[0].values) >= 3)
        end(unit)
        assert sorted(made[0].values) == [f"{topic}.a1", f"{topic}.b", f"{topic}.c"]

    @pytest.mark.parametrize("strategy", ["cooperative-sticky", "range"])
    def test_nothing_is_lost_when_tasks_come_and_go(self, bootstrap: str, topic: str, strategy: str) -> None:
        create(bootstrap, topic, 2)
        made: list[Shelf] = []
        host = self.host(bootstrap, made, offset_flush_interval_ms="100")
        config = self.config(
            topic,
            **{
                "consumer.override.partition.assignment.strategy": strategy,
                "consumer.override.heartbeat.interval.ms": "200",
                "consumer.override.session.timeout.ms": "30000",
            },
        )
        done, count = threading.Event(), itertools.count()
        sent: list[str] = []

        def feed() -> None:
            while not done.is_set():
                batch = [str(next(count)) for _ in range(20)]
                for partition in (0, 1):
                    write(bootstrap, topic, [f"{partition}-{value}" for value in batch], partition)
                sent.extend(f"{partition}-{value}" for partition in (0, 1) for value in batch)

        feeder = threading.Thread(target=feed)
        feeder.start()
        first = host.unit(config)
        until(lambda: made and made[0].values)
        for _ in range(3):
            before = made[-1]
            second = host.unit(config, task=1)
            until(lambda before=before: made[-1] is not before and made[-1].values)  # type: ignore[misc]
            end(second)
            seen = len(made[0].values)
            until(lambda seen=seen: len(made[0].values) > seen + 100)  # type: ignore[misc]
        done.set()
        feeder.join()
        until(lambda: set(sent) <= {value for shelf in made for value in shelf.values})
        # Before its end: what is refused while the group rebalances is committed again, unless that was the last of it.
        until(lambda: sum(committed(bootstrap, f"connect-{config['name']}", topic).values()) == len(sent))
        end(first)
        assert sum(committed(bootstrap, f"connect-{config['name']}", topic).values()) == len(sent)

    def test_an_idle_task_ends_soon(self, bootstrap: str, topic: str) -> None:
        create(bootstrap, topic)
        made: list[Shelf] = []
        unit = self.host(bootstrap, made).unit(self.config(topic))
        until(lambda: made and made[0].calls and made[0].calls[-1][0] == "open")
        assert end(unit) < 30
