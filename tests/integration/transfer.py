"""
A file moved through Kafka to another file, and what may be found at each place afterwards.

The lines are numbered, so that the topic and the sink's file can be checked as sequences: nothing missing, and where
something comes again, it begins at an offset that had been stored before.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import confluent_kafka as ck

from kconnect.errors import ConnectError
from kconnect.testing.processes import WorkerProcess
from tests.integration.units import committed
from tests.support import wait_until

WIDTH = 100


def write_lines(path: Path, count: int, first: int = 0) -> None:
    with path.open("ab" if first else "wb") as file:
        for start in range(first, first + count, 10_000):
            block = range(start, min(start + 10_000, first + count))
            file.write(b"".join(b"%09d %s\n" % (number, b"x" * (WIDTH - 11)) for number in block))


class Transfer:
    def __init__(self, worker: WorkerProcess, bootstrap_servers: str, directory: Path, name: str, lines: int) -> None:
        self.worker, self.bootstrap_servers = worker, bootstrap_servers
        self.source, self.target = directory / f"{name}-in.txt", directory / f"{name}-out.txt"
        self.source_name, self.sink_name, self.topic = f"{name}-source", f"{name}-sink", f"{name}-topic"
        self.lines = lines
        write_lines(self.source, lines)

    def begin(self) -> None:
        client = self.worker.client
        client.create(self.sink_name, {"connector.class": "FileStreamSink", "file": str(self.target), "topics": self.topic})
        client.wait_for(self.sink_name, "RUNNING", tasks=1, timeout=240)
        client.create(self.source_name, {"connector.class": "FileStreamSource", "file": str(self.source), "topic": self.topic})

    def arrived(self) -> int:
        return self.target.stat().st_size // WIDTH if self.target.exists() else 0

    def wait_for_share(self, share: float) -> None:
        """The control of every fault: data flows before it strikes, and there is more to come."""
        wait_until(lambda: self.arrived() >= self.lines * share, 240, "the data did not flow before the fault")
        # Whoever is slow to look may see that all has arrived.
        self.add(self.lines)
        assert self.arrived() < self.lines, "everything has arrived before the fault: it can't strike in the middle"

    def add(self, count: int) -> None:
        write_lines(self.source, count, self.lines)
        self.lines += count

    def committed(self) -> int:
        """How far the sink's group has committed, or 0."""
        # No admin client: one that asks a coordinator which is only starting ends with its process (kafka/admin.py).
        return committed(self.bootstrap_servers, f"connect-{self.sink_name}", self.topic).get(0, 0)

    def wait_done(self, timeout: float = 480) -> None:
        wait_until(self._done, timeout, "not everything was read and delivered")

    def _done(self) -> bool:
        try:
            offsets = self.worker.client.offsets(self.source_name)
            position = offsets[0]["offset"]["position"] if offsets else 0
            return position == self.source.stat().st_size and self.committed() == self.end_of_topic()
        except (ConnectError, ck.KafkaException):
            return False  # What was killed is still coming back.

    def end_of_topic(self) -> int:
        consumer = ck.Consumer({"bootstrap.servers": self.bootstrap_servers, "group.id": "test-reader"})
        try:
            return consumer.get_watermark_offsets(ck.TopicPartition(self.topic, 0), timeout=60)[1]
        finally:
            consumer.close()

    def delete(self) -> None:
        for name in (self.source_name, self.sink_name):
            self.worker.client.delete(name)

    # --- what was found ---

    def topic_numbers(self) -> list[int]:
        return [int(value[:9]) for value in read_topic(self.bootstrap_servers, self.topic)]

    def target_numbers(self) -> list[int]:
        """The numbers of the sink's whole lines; a line torn by kill -9 is left out."""
        lines = self.target.read_bytes().splitlines()
        return [int(line[:9]) for line in lines if len(line) == WIDTH - 1]

    def stored_lines(self, offsets_topic: str) -> set[int]:
        """Line numbers at which a source offset was ever stored, and the beginning."""
        wanted = b'["%s"' % self.source_name.encode()
        stored = {0}
        for key, value in read_topic_pairs(self.bootstrap_servers, offsets_topic):
            if key is not None and key.startswith(wanted) and value is not None:
                stored.add(int(value.split(b":")[1].rstrip(b"}")) // WIDTH)
        return stored

    def check_source(self, offsets_topic: str) -> int:
        """Nothing is missing in the topic, and what came again began at a stored offset. Gives the repeats."""
        numbers = self.topic_numbers()
        assert set(numbers) == set(range(self.lines)), f"{self.lines - len(set(numbers))} lines never reached the topic"
        stored = self.stored_lines(offsets_topic)
        for before, after in itertools.pairwise(numbers):
            if after != before + 1:
                assert after <= before, f"the topic skips from line {before} to {after}"
                assert after in stored, f"the source went back to line {after}, where no offset was stored"
        return len(numbers) - self.lines

    def check_sink(self, committed_before: int) -> int:
        """Nothing is missing at the sink, and what came again had not been committed. Gives the repeats."""
        topic, found = self.topic_numbers(), self.target_numbers()
        missing = set(range(self.lines)) - set(found)
        assert not missing, f"{len(missing)} lines never reached the sink, the first is {min(missing)}"
        place = repeats = 0
        for index, number in enumerate(found):
            if place < len(topic) and number == topic[place]:
                place += 1
                continue
            again = found[index : index + 50]
            back = next((at for at in range(place, -1, -1) if topic[at : at + len(again)] == again), None)
            assert back is not None, f"line {number} at the sink comes from nowhere in the topic"
            assert back >= committed_before, f"the sink got offset {back} again, but {committed_before} was committed"
            repeats += place - back
            place = back + 1
        assert place == len(topic)
        return repeats


def read_topic(bootstrap_servers: str, topic: str) -> list[bytes]:
    return [value for _, value in read_topic_pairs(bootstrap_servers, topic) if value is not None]


def read_topic_pairs(bootstrap_servers: str, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """Every committed record of a topic, in the order of each partition."""
    consumer = ck.Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "test-reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=60).topics[topic].partitions
        consumer.assign([ck.TopicPartition(topic, number, ck.OFFSET_BEGINNING) for number in partitions])
        found: list[tuple[bytes | None, bytes | None]] = []
        unread = set(partitions)
        while unread:
            for message in consumer.consume(10_000, timeout=1):
                error = message.error()
                if error is None:
                    found.append((message.key(), message.value()))
                elif error.code() == ck.KafkaError._PARTITION_EOF:
                    unread.discard(message.partition())
        return found
    finally:
        consumer.close()
