"""
`kconnect demo`: a local broker, a worker, a file source and a file sink, live in the terminal.

`scripts/demo` calls it after the set-up. By default the worker's own access log is what flows; `--file` takes another file;
`--once` moves a file once, compares what arrived line by line, and tells how it went in one line and the exit status.
`scripts/demo --cdc` is another demo, which is not in the wheel: `tests/rig/cdc`.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from kconnect.cli.outcome_text import printable
from kconnect.errors import ConnectError
from kconnect.rest.client import ConnectClient, RestError

if TYPE_CHECKING:
    from kconnect.kafka.positions import Positions
    from kconnect.testing.processes import WorkerProcess

SOURCE, SINK, TOPIC = "demo-source", "demo-sink", "demo-lines"

_READY_S = 60.0
_STUCK_S = 60.0

_SHOWN = 5
_MEANWHILE = ("kconnect get connectors", "kconnect describe connector demo-sink", "kconnect top", "kconnect pause demo-sink")
"""What can be tried beside the demo, each with its `--url`."""
_NEXT = {
    "kconnect demo": "endless lines",
    "kconnect demo --once --file /etc/services": "a file, with every line checked",
    "kconnect broker start": "a broker that keeps running",
    "kconnect plugin new orders --kind source": "your own connector",
    "kconnect help": "all commands",
}


@click.command()
@click.option("--file", "file", type=click.Path(path_type=Path), help="What to read. Default: the worker's access log.")
@click.option("--once", is_flag=True, help="Move --file, check what arrived, and end.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the REST API. Default: a free one.")
@click.option("--keep", is_flag=True, help="Keep the directory with the logs, the topics and the sink's file.")
def demo(file: Path | None, once: bool, port: int, keep: bool) -> None:
    """
    Show data flow through a local broker and worker.

    \b
      kconnect demo                            the worker's own access log, until Ctrl-C
      kconnect demo --once --file lines.txt    one file, checked line by line; exit status 0 if all is right

    It goes from a file through Kafka to another file, on this machine. Some records are shown as they arrive, and at the end
    how many have moved, and what to try next.
    """
    if once and file is None:
        raise click.UsageError("--once needs --file, the file to move")
    if once and file is not None and not file.is_file():
        raise click.UsageError(f"--file {file} does not exist")
    if port:
        from kconnect.local.broker import require_free

        require_free(port)

    def run(console: Console, directory: Path, interrupted: threading.Event) -> bool:
        source, target = file.absolute() if file is not None else directory / "access.log", directory / "sink.txt"
        ok = _run(console, directory, source, target, once, port, interrupted)
        if ok and not once:
            moved = sum(1 for _ in _lines(target)) if target.exists() else 0
            fate = "" if keep else ", which is deleted now (--keep keeps it)"
            click.echo(f"Moved {moved:,} records from {source} through the topic {TOPIC} to {target}{fate}")
        return ok

    show(run, once, keep)


def show(run: Callable[[Console, Path, threading.Event], bool], once: bool, keep: bool) -> NoReturn:
    """Run a demo in a directory of its own, which Ctrl-C interrupts, and exit; also for the rig's demo."""
    directory = Path(tempfile.mkdtemp(prefix="kconnect-demo-"))
    # A second Ctrl-C while everything is being stopped must not leave processes behind.
    interrupted = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: interrupted.set())
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    ok = False
    try:
        ok = run(console, directory, interrupted)
        if ok:
            lines = [f"  {typed(command):<53}  {what}" for command, what in _NEXT.items()]
            console.print("\n".join(["Try next (docs/getting-started.md goes on from here):", *lines]), soft_wrap=True)
    finally:
        if keep or (once and not ok):
            console.print(f"Everything is kept in {directory}", soft_wrap=True)
        else:
            shutil.rmtree(directory, ignore_errors=True)
    raise SystemExit(0 if ok else 1)


def _run(
    console: Console, directory: Path, source: Path, target: Path, once: bool, port: int, interrupted: threading.Event
) -> bool:
    from kconnect.local.broker import Broker
    from kconnect.testing.processes import WorkerProcess

    broker = Broker(directory / "broker")
    worker: WorkerProcess | None = None
    try:
        with console.status("Starting a local Kafka broker"):
            broker.start()
        properties = {"access.log.file": str(directory / "access.log")}
        worker = WorkerProcess(directory, broker.bootstrap_servers, "demo", port, properties)
        with console.status("Starting a worker and Spark"):
            worker.start()
            _create_sink(worker.client, target)
            worker.client.wait_for(SINK, "RUNNING", tasks=1, timeout=_READY_S)
        if interrupted.is_set():
            return False
        began = time.monotonic()
        worker.client.create(
            SOURCE, {"connector.class": "FileStreamSource", "file": str(source), "topic": TOPIC, "tasks.max": "1"}
        )
        if once:
            return _once(console, worker, source, target, began, interrupted)
        _watch(console, worker, broker.bootstrap_servers, source, target, interrupted)
        return True
    finally:
        with console.status("Stopping the worker, Spark and the broker"):
            if worker is not None:
                worker.stop()
            broker.stop()


def typed(command: str) -> str:
    """Return a command as it can be typed here: `scripts/demo` is called by those who have no `kconnect` on their path."""
    beside = os.path.relpath(Path(sys.executable).with_name("kconnect"))
    return command if shutil.which("kconnect") else command.replace("kconnect", beside, 1)


def _records(lines: Iterable[bytes]) -> Text:
    shown = (printable(line[:400].decode("utf-8", "replace")) for line in lines)
    return Text("\n".join(f"  {line}" for line in shown), "cyan", no_wrap=True, overflow="ellipsis")


def _create_sink(client: ConnectClient, target: Path) -> None:
    client.create(
        SINK,
        {
            "connector.class": "FileStreamSink",
            "file": str(target),
            "topics": TOPIC,
            "tasks.max": "1",
            # The topic comes into being with the first line; do not make it wait for the next look at the metadata.
            "consumer.override.metadata.max.age.ms": "1000",
        },
    )


# --- once ---


def _once(
    console: Console, worker: WorkerProcess, source: Path, target: Path, began: float, interrupted: threading.Event
) -> bool:
    lines, expected = _measure(source)
    memory = PeakMemory(worker)
    progress = Progress(
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), console=console
    )
    problem: str | None = None
    with progress, memory:
        bar = progress.add_task(f"Moving {lines:,} lines", total=max(expected, 1))
        last_size, last_change = -1, time.monotonic()
        shown = False
        while True:
            size = target.stat().st_size if target.exists() else 0
            progress.update(bar, completed=size)
            if not shown and (first := list(islice(_lines(target), _SHOWN)) if size else []):
                shown = True
                progress.console.print(Text("The first records at the sink:"), _records(first), sep="\n")
            if size >= expected:
                break
            if size != last_size:
                last_size, last_change = size, time.monotonic()
            problem = failure(worker.client) if time.monotonic() - last_change > 2 else None
            if interrupted.wait(0.05):
                problem = "interrupted"
            elif problem is None and time.monotonic() - last_change > _STUCK_S:
                problem = f"nothing arrived for {_STUCK_S:.0f} s"
            if problem is not None:
                break
    took = time.monotonic() - began
    if problem is None:
        problem = _difference(source, target)
    if problem is not None:
        click.echo(f"FAILED after {took:.1f} s: {problem}")
        return False
    rate = lines / took if took else 0.0
    click.echo(
        f"OK: {lines:,} lines arrived, all of them in order, in {took:.1f} s ({rate:,.0f} records/s), "
        f"from {source} through the topic {TOPIC} to a file; "
        f"peak memory {memory.peak / 2**20:,.0f} MiB (worker, Spark and hosts)"
    )
    if _ends_within_a_line(source):
        click.echo("The file's last line has no line end, so it was not read: a file source waits for the rest of the line.")
    return True


def failure(client: ConnectClient) -> str | None:
    """Why a connector or task has failed, in one line; None if none has."""
    try:
        connectors = client.connectors("status")
    except RestError:
        return None
    for name, entry in connectors.items():
        status = entry["status"]
        for part in (status["connector"], *status["tasks"]):
            if part["state"] == "FAILED":
                return f"{name} has failed: {part.get('trace', '').splitlines()[0] if part.get('trace') else 'no reason given'}"
    return None


def _lines(path: Path) -> Iterator[bytes]:
    """Whole lines as a file source reads them: LF, CR or CRLF ends one."""
    rest = b""
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            parts = (rest + block).splitlines(keepends=True)
            rest = parts.pop() if not parts[-1].endswith(b"\n") else b""
            yield from (part[:-2] if part.endswith(b"\r\n") else part[:-1] for part in parts)


def _measure(source: Path) -> tuple[int, int]:
    """Return how many lines a file has, and how many bytes they make at the sink."""
    lines = size = 0
    for line in _lines(source):
        lines += 1
        size += len(line.decode("utf-8", "replace").encode()) + 1
    return lines, size


def _difference(source: Path, target: Path) -> str | None:
    """The first line that is missing, changed or too many; None if there is none."""
    arrived = _lines(target)
    number = 0
    for number, line in enumerate(_lines(source), 1):
        sent, received = line.decode("utf-8", "replace").encode(), next(arrived, None)
        if received != sent:
            return f"line {number:,} is {'missing' if received is None else 'not the one that was sent'}; see {target}"
    extra = sum(1 for _ in arrived)
    return f"{extra:,} lines arrived beyond the {number:,} that were sent; see {target}" if extra else None


def _ends_within_a_line(source: Path) -> bool:
    with source.open("rb") as file:
        file.seek(0, 2)
        if file.tell() == 0:
            return False
        file.seek(-1, 2)
        return file.read(1) != b"\n"


class PeakMemory:
    """Watches the memory of a worker's whole process tree while it is entered."""

    def __init__(self, worker: WorkerProcess) -> None:
        self._worker = worker
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.peak = 0

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self.peak = max(self.peak, self._worker.memory())
            if self._done.wait(0.5):
                return


# --- live ---


def _watch(
    console: Console, worker: WorkerProcess, servers: str, source: Path, target: Path, interrupted: threading.Event
) -> None:
    from kconnect.kafka.positions import Positions

    positions = Positions({"bootstrap.servers": servers, "log_level": 0})
    with Live(console=console, refresh_per_second=4) as live:
        before, at = 0, time.monotonic()
        rate = 0.0
        while not interrupted.wait(1.0):
            try:
                view = _look(worker.client, positions)
            except ConnectError as error:
                live.update(Text(f"The worker does not answer: {error}"))
                continue
            now = time.monotonic()
            rate = (view["delivered"] - before) / (now - at) if before else 0.0
            before, at = view["delivered"], now
            live.update(_page(worker.url, source, target, view, rate))


def _look(client: ConnectClient, positions: Positions) -> dict[str, Any]:
    """States, and how far both sides are: bytes of the file that were read, records in the topic and delivered."""
    from kconnect.kafka.positions import Place

    connectors = client.connectors("status")
    offsets = {name: client.offsets(name) for name in (SOURCE, SINK)}
    position = sum(entry["offset"]["position"] for entry in offsets[SOURCE])
    delivered = sum(entry["offset"]["kafka_offset"] for entry in offsets[SINK])
    place = Place(TOPIC, 0)
    return {"states": connectors, "position": position, "sent": positions.spans([place])[place].end, "delivered": delivered}


def _page(url: str, source: Path, target: Path, view: dict[str, Any], rate: float) -> Group:
    size = source.stat().st_size if source.exists() else 0
    flow = Table(box=None, pad_edge=False, show_header=False)
    flow.add_row("from", str(source))
    flow.add_row("to", str(target))
    flow.add_row("records", f"{view['sent']:,} in the topic, {view['delivered']:,} delivered")
    flow.add_row("rate", f"{rate:,.1f} records/s")
    lag = max(0, view["sent"] - view["delivered"])
    tries = "\n".join(f"  {typed(command)} --url {url.rstrip('/')}" for command in _MEANWHILE)
    flow.add_row("lag", f"{lag:,} records; {max(0, size - view['position']):,} bytes of the file")
    return Group(
        Text(f"REST API: {url}   Ctrl-C ends it"),
        Text(),
        states(view["states"], (SOURCE, SINK)),
        Text(),
        flow,
        Text(),
        Text("The last records at the sink"),
        _records(_newest(target)),
        Text(),
        Text("Try in another terminal"),
        Text(tries, no_wrap=True, overflow="ignore"),
    )


def states(found: dict[str, Any], names: Iterable[str]) -> Table:
    """Return a table of connectors, as `connectors("status")` gives them."""
    table = Table(box=None, pad_edge=False)
    for title in ("connector", "state", "tasks", "worker"):
        table.add_column(title)
    for name in names:
        entry = found.get(name)
        if entry is None:
            table.add_row(name, "starting", "", "")
            continue
        status = entry["status"]
        tasks = ", ".join(task["state"] for task in status["tasks"])
        table.add_row(name, status["connector"]["state"], tasks, status["connector"]["worker_id"])
    return table


def _newest(target: Path) -> list[bytes]:
    if not target.exists():
        return []
    with target.open("rb") as file:
        file.seek(max(file.seek(0, 2) - 8192, 0))
        return file.read().split(b"\n")[-1 - _SHOWN : -1]
