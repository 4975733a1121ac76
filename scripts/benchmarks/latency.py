"""
How long a line takes from a file to the topic and to a file again: kconnect beside Kafka Connect 4.3.1, percentiles.

A line says when it was appended to the file of a source. It is seen again by a consumer of the topic, and in the file of a sink
that reads the topic. The two workers are measured in turn, and are idle otherwise; each has the settings of its producers and
consumers that it has by default. `growth.py` measures many such flows at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import confluent_kafka as ck

from kconnect.testing.processes import WorkerProcess
from tests.rig.benches import results, stage
from tests.rig.systems.rounds import Topics

SHARES = (50, 99, 99.9)
_WARM_S, _LIMIT_S, _STEP_S = 3.0, 120.0, 0.001


class Flows:
    """Sources and sinks of one worker, each source with a file, a topic and a sink of its own."""

    def __init__(self, on: stage.Stage, worker: WorkerProcess, names: list[str]) -> None:
        self._worker, self._names, self._servers = worker, names, on.servers
        self._folder = on.directory / f"flows-{names[0]}"
        self._folder.mkdir()
        topics = Topics(on.servers)
        for name in names:
            topics.create(name)
            for file in self._files(name):
                file.touch()
            source, sink = map(str, self._files(name))
            worker.client.create(f"{name}-in", {"connector.class": "FileStreamSource", "file": source, "topic": name})
            worker.client.create(f"{name}-out", {"connector.class": "FileStreamSink", "file": sink, "topics": name})
        for name in names:
            for end in ("in", "out"):
                worker.client.wait_for(f"{name}-{end}", "RUNNING", tasks=1, timeout=300)

    def delete(self) -> None:
        for name in self._names:
            self._worker.client.delete(f"{name}-in")
            self._worker.client.delete(f"{name}-out")

    def _files(self, name: str) -> tuple[Path, Path]:
        return self._folder / f"{name}.in", self._folder / f"{name}.out"

    def measure(self, rate: float, seconds: float) -> dict[str, list[float]]:
        """Milliseconds of each line, by where it goes; `rate` lines a second in all. The first seconds only warm up."""
        count = int(rate * (seconds + _WARM_S))
        sent: list[int] = []
        readable, arrived = ([0] * count for _ in range(2))
        began = threading.Event()
        with self._consumer() as consume, self._tails() as tails:
            ends = [Seen(consume, readable, began), Seen(tails, arrived, began)]
            for end in ends:
                end.start()
            began.wait(_LIMIT_S)
            self._write(rate, count, sent)
            for end in ends:
                end.join(_LIMIT_S)
                if end.left:
                    raise SystemExit(f"{end.left} of {count} lines were not seen; see {self._worker.log}")
        first = int(rate * _WARM_S)

        def between(before: list[int], after: list[int]) -> list[float]:
            return [(to - since) / 1e6 for since, to in list(zip(before, after))[first:]]

        return {
            "from the file to the topic": between(sent, readable),
            "from the topic to the file": between(readable, arrived),
            "from file to file": between(sent, arrived),
        }

    def _write(self, rate: float, count: int, sent: list[int]) -> None:
        start = time.monotonic()
        with ExitStack() as stack:
            files = [stack.enter_context(open(self._files(name)[0], "ab", buffering=0)) for name in self._names]
            while len(sent) < count:
                due = min(count, int((time.monotonic() - start) * rate) + 1)
                lines = [b""] * len(files)
                for number in range(len(sent), due):
                    lines[number % len(files)] += b"%d\n" % number
                now = time.monotonic_ns()
                for file, text in zip(files, lines):
                    if text:
                        file.write(text)
                sent += [now] * (due - len(sent))
                time.sleep(max(_STEP_S, start + len(sent) / rate - time.monotonic()))

    @contextmanager
    def _consumer(self) -> Iterator[Callable[[], list[bytes]]]:
        consumer = ck.Consumer(
            {"bootstrap.servers": self._servers, "group.id": "look", "fetch.wait.max.ms": 10, "log_level": 0}
        )
        places = [ck.TopicPartition(name, 0) for name in self._names]
        for place in places:
            place.offset = consumer.get_watermark_offsets(place, timeout=30)[1]
        consumer.assign(places)
        try:
            yield lambda: [message.value() or b"" for message in consumer.consume(1000, _STEP_S) if message.error() is None]
        finally:
            consumer.close()

    @contextmanager
    def _tails(self) -> Iterator[Callable[[], list[bytes]]]:
        with ExitStack() as stack:
            files = [stack.enter_context(open(self._files(name)[1], "rb")) for name in self._names]
            rest = [b""] * len(files)
            for file in files:
                file.seek(0, 2)

            def lines() -> list[bytes]:
                found: list[bytes] = []
                for number, file in enumerate(files):
                    *whole, rest[number] = (rest[number] + file.read()).split(b"\n")
                    found += whole
                time.sleep(_STEP_S)
                return found

            yield lines


class Seen(threading.Thread):
    """Notes when lines come."""

    def __init__(self, lines: Callable[[], list[bytes]], times: list[int], began: threading.Event) -> None:
        super().__init__(daemon=True)
        self._lines, self._times, self._began = lines, times, began
        self.left = len(times)

    def run(self) -> None:
        end = time.monotonic() + _LIMIT_S * 2
        while self.left and time.monotonic() < end:
            lines, now = self._lines(), time.monotonic_ns()
            self._began.set()
            for line in lines:
                # At least once: the first time is what counts.
                if not self._times[int(line)]:
                    self._times[int(line)] = now
                    self.left -= 1


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--rates", type=int, nargs="+", default=[100, 5000], help="lines a second")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found = results.Results("latency", options.json)
    with stage.opened("latency") as on:
        flows = {side: Flows(on, worker, [f"flow-{side.lower()}"]) for side, worker in on.both().items()}
        for rate in options.rates:
            rounds: dict[tuple[str, str, float], list[float]] = {}
            for _ in range(options.rounds):
                for side, flow in flows.items():
                    for way, times in flow.measure(rate, options.seconds).items():
                        for share in SHARES:
                            rounds.setdefault((way, side, share), []).append(results.percentile(times, share))
            for (way, side, share), values in rounds.items():
                found.add(f"{rate:,} lines a second, {way}", side, f"p{share}", "ms", *values)
            found.show()


if __name__ == "__main__":
    main()
