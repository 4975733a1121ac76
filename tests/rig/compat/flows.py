"""
A file source or a file sink whose lines are counted: what was sent, what should arrive, and what did.

Both have the same words, so that most rows are played with either. Each has one task and one partition, so the lines come in
their order, and a line too many or too few shows at once. Called by `rows/`.
"""

from __future__ import annotations

import abc
from typing import Any

from kconnect import CONNECT_VERSION
from tests.rig.compat.row import Case, Failed, Steps, Until

_JAVA = "org.apache.kafka.connect.file.FileStream"
_FAIL = {
    "transforms": "fail",
    "transforms.fail.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
    "transforms.fail.field": "none",
}
"""What no line survives: a text has no fields."""
_STRING = "org.apache.kafka.connect.storage.StringConverter"
_PINNED = {
    "connector.plugin.version": CONNECT_VERSION,
    **{"key.converter": _STRING, "key.converter.plugin.version": CONNECT_VERSION},
    **{"value.converter": _STRING, "value.converter.plugin.version": "[3.5,)"},
}
"""Versions that kconnect and Connect 4.3.1 both must have (KIP-891); those before 4.1 don't look at them."""


class Flow(abc.ABC):
    """`expected` is what must have arrived; a row that moves offsets adds to it what comes again."""

    def __init__(self, case: Case, suffix: str = "") -> None:
        self.case = case
        self.name = f"{case.name}{suffix}"
        self.sent: list[str] = []
        self.expected: list[str] = []
        self.destinations: list[str] = []

    # --- data ---

    def send(self, count: int = 10, expect: bool = True) -> None:
        lines = [f"{self.name} {len(self.sent) + number}" for number in range(count)]
        self.sent += lines
        if expect:
            self.expected += lines
        self._send(lines)

    def arrives(self) -> Steps:
        """Wait until all has arrived that must."""
        yield Until(lambda: self._is_whole(), f"all {len(self.expected)} lines of {self.name} arrive")

    def flows(self) -> Steps:
        self.send()
        yield from self.arrives()

    def nothing_came(self, but: int) -> None:
        found = len(self.arrived())
        if found != but:
            raise Failed(f"{self.name} moved {found - but} lines while it was not to run")

    def _is_whole(self) -> bool:
        arrived = self.arrived()
        for number, (found, wanted) in enumerate(zip(arrived, self.expected, strict=False)):
            if found != wanted:
                what = "comes again" if found in arrived[:number] else "is there"
                raise Failed(f"{self.name}: {found!r} {what} where {wanted!r} belongs")
        if len(arrived) > len(self.expected):
            raise Failed(f"{self.name}: {arrived[len(self.expected)]!r} comes again after all had arrived")
        return len(arrived) == len(self.expected)

    # --- the connector ---

    def create(self, failing: bool = False) -> Steps:
        yield from self.configure(failing)
        if not failing:
            yield from self.case.shows(self.name, "RUNNING", "RUNNING")

    def configure(self, failing: bool = False) -> Steps:
        config = {**self.config(), **(_FAIL if failing else {})}
        yield from self.case.asked(lambda client: client.put_config(self.name, config), f"{self.name} is configured")

    def moves(self) -> Steps:
        """Give it another destination, and wait until it has taken something there."""
        self.add_destination()
        yield from self.configure()
        new = self.destinations[-1]

        def taken() -> bool:
            # The task of before may still take some lines, to the destination of before.
            if self._is_whole():
                if self.at(new):
                    return True
                self.send(1)
            return False

        yield Until(taken, f"{self.name} writes to {new}")

    def pause(self) -> Steps:
        yield from self.case.asked(lambda client: client.pause(self.name), f"{self.name} is paused")
        yield from self.case.shows(self.name, "PAUSED", "PAUSED")

    def stop(self) -> Steps:
        yield from self.case.asked(lambda client: client.stop(self.name), f"{self.name} is stopped")
        yield from self.case.shows(self.name, "STOPPED")

    def resume(self) -> Steps:
        yield from self.case.asked(lambda client: client.resume(self.name), f"{self.name} is resumed")
        yield from self.case.shows(self.name, "RUNNING", "RUNNING")

    def delete(self) -> Steps:
        yield from self.case.asked(lambda client: client.delete(self.name), f"{self.name} is deleted")
        yield from self.is_gone()

    def is_gone(self) -> Steps:
        yield Until(lambda: self.name not in self.case.client.connectors(), f"{self.name} is gone")

    def runs(self) -> Steps:
        """It runs here, takes what waited, and goes on."""
        yield from self.case.shows(self.name, "RUNNING", "RUNNING")
        yield from self.arrives()
        yield from self.flows()

    def arrived(self) -> list[str]:
        return [line for destination in self.destinations for line in self.at(destination)]

    @abc.abstractmethod
    def config(self) -> dict[str, Any]: ...

    @abc.abstractmethod
    def offset(self, lines: int) -> list[dict[str, Any]]:
        """As REST writes it: what has been read after so many lines."""

    @abc.abstractmethod
    def topics(self) -> list[str]:
        """What a list of its topics shows."""

    @abc.abstractmethod
    def _send(self, lines: list[str]) -> None: ...

    @abc.abstractmethod
    def add_destination(self) -> None: ...

    @abc.abstractmethod
    def at(self, destination: str) -> list[str]: ...


class Source(Flow):
    """From a file to topics."""

    kind = "source"

    def __init__(self, case: Case, suffix: str = "") -> None:
        super().__init__(case, suffix)
        self._file = case.directory / f"{self.name}.in"
        self._file.touch()
        self.add_destination()

    def config(self) -> dict[str, Any]:
        return {
            "connector.class": f"{_JAVA}SourceConnector",
            "tasks.max": 1,
            "file": str(self._file),
            "topic": self.destinations[-1],
            **_PINNED,
        }

    def offset(self, lines: int) -> list[dict[str, Any]]:
        position = sum(len(line) + 1 for line in self.sent[:lines])
        return [{"partition": {"filename": str(self._file)}, "offset": {"position": position}}]

    def topics(self) -> list[str]:
        return sorted(self.destinations)

    def _send(self, lines: list[str]) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def add_destination(self) -> None:
        topic = f"{self.name}-{len(self.destinations)}"
        self.case.topics.follow(topic)
        self.destinations.append(topic)

    def at(self, destination: str) -> list[str]:
        return self.case.topics.lines(destination)


class ExactSource(Source):
    """One that insists on exactly-once, so that it would not start on a worker that has not enabled it."""

    def config(self) -> dict[str, Any]:
        return {**super().config(), "exactly.once.support": "required"}


class Sink(Flow):
    """From a topic to files."""

    kind = "sink"

    def __init__(self, case: Case, suffix: str = "") -> None:
        super().__init__(case, suffix)
        self._topic = f"{self.name}-in"
        case.topics.make(self._topic)
        self.add_destination()

    def config(self) -> dict[str, Any]:
        return {
            "connector.class": f"{_JAVA}SinkConnector",
            "tasks.max": 1,
            "file": self.destinations[-1],
            "topics": self._topic,
            **_PINNED,
        }

    def offset(self, lines: int) -> list[dict[str, Any]]:
        return [{"partition": {"kafka_topic": self._topic, "kafka_partition": 0}, "offset": {"kafka_offset": lines}}]

    def topics(self) -> list[str]:
        return [self._topic]

    def _send(self, lines: list[str]) -> None:
        self.case.topics.send(self._topic, lines)

    def add_destination(self) -> None:
        self.destinations.append(str(self.case.directory / f"{self.name}.{len(self.destinations)}.out"))

    def at(self, destination: str) -> list[str]:
        try:
            with open(destination, encoding="utf-8", newline="\n") as file:
                return [line[:-1] for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []


class NewerSink(Sink):
    """One whose group is of KIP-848's protocol, as long as `protocol` says so; clients before 3.7 pass over the setting."""

    protocol = "consumer"

    def config(self) -> dict[str, Any]:
        return {**super().config(), "consumer.override.group.protocol": self.protocol}


Kind = type[Source] | type[Sink]
