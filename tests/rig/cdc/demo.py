"""
A broker, a PostgreSQL and a worker with Debezium's connectors, live, or once with every row checked.

Called by `__main__.py`; what it shares with `kconnect demo` is in `kconnect/cli/machine/demo.py`. The password of the database
is in a file that the connectors' configs refer to, as it should be elsewhere. Read next: `pipeline.py`.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.console import Console, Group
from rich.live import Live
from rich.status import Status
from rich.table import Table
from rich.text import Text

from kconnect.cli.machine import demo
from kconnect.cli.outcome_text import printable
from kconnect.errors import ConnectError
from kconnect.kafka.positions import Place, Positions
from kconnect.local.broker import Broker
from kconnect.rest.client import ConnectClient
from kconnect.testing.processes import WorkerProcess
from tests.rig.cdc import pipeline
from tests.rig.systems import postgres_programs
from tests.rig.systems.postgres import Postgres

PREFIX = "demo"
SOURCE, SINK, TOPIC = "demo-cdc-source", "demo-cdc-sink", pipeline.topic(PREFIX)

_STUCK_S = 120.0
"""Without any progress. The first record waits for a JVM and for Spark; a connector begins again after a pause of its own."""

_FIRST = 100
"""Rows that are there before the source is."""
_HALF = 150
"""Changes that `--once` makes before the table gets another column, and after."""
_EACH_SECOND = 20

_SHOWN = 5
_SHOWN_DIFFERENCES = 20
_MEANWHILE = ("kconnect get connectors", f"kconnect describe connector {SOURCE}", "kconnect top", f"kconnect pause {SINK}")
"""What can be tried beside the demo, each with its `--url`."""


class View(NamedTuple):
    """How far everything is."""

    states: dict[str, Any]
    sent: int
    delivered: int
    differences: list[str]

    @property
    def lag(self) -> int:
        return max(0, self.sent - self.delivered)

    @property
    def complete(self) -> bool:
        return self.sent > 0 and not self.lag and not self.differences


def run(console: Console, directory: Path, once: bool, port: int, interrupted: threading.Event) -> bool:
    """Whether all went well; ConnectError, with the reason, if something does not start."""
    with ExitStack() as stack:
        with console.status("Looking for PostgreSQL") as status:
            server = Postgres(postgres_programs.find_or_install(install=True, tell=status.update))
            status.update("Looking for Debezium's connectors")
            plugins = pipeline.plugin_path(tell=status.update)
        stack.callback(_stopped, console, "PostgreSQL", server)
        with console.status("Starting PostgreSQL"):
            pipeline.make_databases(server.start())
            changes = pipeline.Changes(server)
            changes.fill(_FIRST)
        broker = Broker(directory / "broker")
        stack.callback(_stopped, console, "the broker", broker)
        with console.status("Starting a local Kafka broker"):
            broker.start()
        worker = WorkerProcess(directory, broker.bootstrap_servers, "demo", port, _properties(directory, plugins))
        stack.callback(_stopped, console, "the worker and Spark", worker)
        with console.status("Starting a worker and Spark"):
            worker.start()
        if interrupted.is_set():
            return False
        began = time.monotonic()
        with console.status("Starting the connectors, in a JVM"):
            _create(worker.client, server, _secrets(directory, server))
        positions = Positions({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        if once:
            return _once(console, worker.client, positions, server, changes, began, interrupted)
        view = _watch(console, worker, positions, server, changes, directory, interrupted)
        click.echo(
            f"Made {_made(changes.made)} in a table; of {view.sent:,} records in the topic {TOPIC}, {view.delivered:,} had "
            "been delivered to another database"
        )
        return True


def _stopped(console: Console, what: str, it: Postgres | Broker | WorkerProcess) -> None:
    with console.status(f"Stopping {what}"):
        it.stop()


def _properties(directory: Path, plugins: Path) -> dict[str, str]:
    return {
        "plugin.path": str(plugins),
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "config.providers.file.param.allowed.paths": str(directory),
    }


def _secrets(directory: Path, server: Postgres) -> str:
    """Writes the password where the worker's hosts find it, and for `psql`; gives the reference."""
    file, own = directory / "secrets.properties", directory / "pgpass"
    for path, text in ((file, f"password={server.password}\n"), (own, f"*:*:*:*:{server.password}\n")):
        path.touch(0o600)
        path.write_text(text, "utf-8")
    return f"${{file:{file}:password}}"


def _create(client: ConnectClient, server: Postgres, password: str) -> None:
    client.create(SINK, pipeline.sink(server, PREFIX, password))
    client.create(SOURCE, pipeline.source(server, PREFIX, password))


def _look(client: ConnectClient, positions: Positions, server: Postgres) -> View:
    found = client.connectors("status")
    delivered = sum(entry["offset"]["kafka_offset"] for entry in client.offsets(SINK))
    place = Place(TOPIC, 0)
    sent = positions.spans([place])[place].end if positions.partitions([TOPIC]) else 0
    return View(found, sent, delivered, pipeline.differences(server))


def _made(made: Counter[str]) -> str:
    told = [f"{made[kind]:,} {kind}" for kind in ("inserts", "updates", "deletes") if made[kind]]
    return ", ".join(told) + (" and a new column" if made["columns"] else "")


# --- once ---


def _once(
    console: Console,
    client: ConnectClient,
    positions: Positions,
    server: Postgres,
    changes: pipeline.Changes,
    began: float,
    interrupted: threading.Event,
) -> bool:
    with console.status("Waiting for the first rows") as status:
        # What is changed before the source has begun it would never hear of.
        view, problem = _complete(status, client, positions, server, interrupted)
        if problem is None:
            changes.some(_HALF)
            changes.add_column("note")
            changes.some(_HALF)
            view, problem = _complete(status, client, positions, server, interrupted)
    took = time.monotonic() - began
    if problem is not None:
        more = len(view.differences) - _SHOWN_DIFFERENCES
        lines = [*view.differences[:_SHOWN_DIFFERENCES], *([f"and {more:,} more"] if more > 0 else [])]
        click.echo("\n  ".join((f"FAILED after {took:.1f} s: {problem}", *map(printable, lines))))
        return False
    count = len(pipeline.rows(server, pipeline.FROM, ["id"]))
    click.echo(
        f"OK: {_made(changes.made)} arrived in {took:.1f} s, as {view.sent:,} records of the topic {TOPIC}; "
        f"both tables have the same {count:,} rows"
    )
    return True


def _complete(
    status: Status, client: ConnectClient, positions: Positions, server: Postgres, interrupted: threading.Event
) -> tuple[View, str | None]:
    """How far it is once nothing is missing; or once it is known that something will be, with the reason."""
    view, last_change = View({}, 0, 0, []), time.monotonic()
    while True:
        before = view
        # A worker that is busy may not answer; one that never does makes no progress.
        with suppress(ConnectError):
            view = _look(client, positions, server)
        if view.complete:
            return view, None
        now = time.monotonic()
        if view[1:] != before[1:]:
            last_change = now
        told = f"{view.delivered:,} of {view.sent:,} records are delivered"
        status.update(f"{told}; differences between both tables: {len(view.differences):,}")
        if now - last_change > _STUCK_S:
            return view, f"nothing changed for {_STUCK_S:.0f} s"
        if (problem := demo.failure(client)) is not None:
            return view, problem
        if interrupted.wait(0.2):
            return view, "interrupted"


# --- live ---


def _watch(
    console: Console,
    worker: WorkerProcess,
    positions: Positions,
    server: Postgres,
    changes: pipeline.Changes,
    directory: Path,
    interrupted: threading.Event,
) -> View:
    """How far it was at the end."""
    view = View({}, 0, 0, [])
    with Live(console=console, refresh_per_second=4) as live:
        before, at = 0, time.monotonic()
        while not interrupted.wait(1.0):
            try:
                changes.some(_EACH_SECOND)
                view = _look(worker.client, positions, server)
                newest = _newest(server)
            except ConnectError as error:
                live.update(Text(f"{error}"))
                continue
            now = time.monotonic()
            rate = (view.delivered - before) / (now - at) if before else 0.0
            before, at = view.delivered, now
            live.update(_page(worker.url, server, changes.made, view, rate, newest, directory))
    return view


def _page(url: str, server: Postgres, made: Counter[str], view: View, rate: float, newest: Table, directory: Path) -> Group:
    flow = Table(box=None, pad_edge=False, show_header=False)
    flow.add_row("from", f"the table {pipeline.TABLE} in the database {pipeline.FROM}: {_made(made)}")
    flow.add_row("through", f"the topic {TOPIC}")
    flow.add_row("to", f"the table {pipeline.TABLE} in the database {pipeline.TO}")
    flow.add_row("records", f"{view.sent:,} in the topic, {view.delivered:,} delivered")
    flow.add_row("rate", f"{rate:,.1f} records/s")
    flow.add_row("lag", f"{view.lag:,} records; differences between both tables: {len(view.differences):,}")
    tries = [f"  {demo.typed(command)} --url {url.rstrip('/')}" for command in _MEANWHILE]
    psql = f"PGPASSFILE={directory / 'pgpass'} psql -h {server.host} -p {server.port} -U {server.user}"
    tries.append(f"  {psql} {pipeline.FROM}")
    return Group(
        Text(f"REST API: {url}   Ctrl-C ends it"),
        Text(),
        demo.states(view.states, (SOURCE, SINK)),
        Text(),
        flow,
        Text(),
        Text(f"The newest rows in the database {pipeline.TO}"),
        newest,
        Text(),
        Text("Try in another terminal"),
        Text("\n".join(tries), no_wrap=True, overflow="ignore"),
    )


def _newest(server: Postgres) -> Table:
    names = [*("id", "city", "state", "price", "placed"), pipeline.ADDED]
    table = Table(box=None, padding=(0, 2))
    for name in names:
        table.add_column(name, no_wrap=True)
    if pipeline.columns(server, pipeline.TO):
        query = f"select {', '.join(names)} from {pipeline.TABLE} order by placed desc limit {_SHOWN}"
        for row in server.rows(query, pipeline.TO):
            table.add_row(*(Text(printable(value), "cyan") for value in row))
    return table
