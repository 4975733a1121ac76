"""
A broker, a PostgreSQL, an OpenSearch and a worker with connectors of the box, live, or once with every order compared.

Called by `__main__.py`; what it shares with `kconnect demo` is in `kconnect/cli/machine/demo.py`. Read next: `pipeline.py`.
"""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from kconnect.cli.machine import demo
from kconnect.cli.outcome_text import printable
from kconnect.errors import ConnectError
from kconnect.jvm import lake
from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.rig.shop import pipeline
from tests.rig.shop.pipeline import Order
from tests.rig.systems import postgres_programs
from tests.rig.systems.opensearch import OpenSearch
from tests.rig.systems.postgres import Postgres

_COUNT = 5000
"""Orders that `--once` makes; those that came back are dropped on the way."""
_STUCK_S = 120.0
_SHOWN = 5
_SHOWN_DIFFERENCES = 20
_MEANWHILE = ("kconnect get connectors", f"kconnect describe connector {pipeline.TABLE_SINK}", "kconnect top")
"""What can be tried beside the demo, each with its `--url`."""


class Shop(NamedTuple):
    worker: WorkerProcess
    servers: str
    server: Postgres
    search: OpenSearch
    folder: Path
    lake: Path | None
    """Where the lake's table is, if there is to be one."""


class View(NamedTuple):
    """The orders in each place."""

    sent: list[Order]
    table: list[Order]
    files: list[Order]
    documents: list[Order]
    lake: list[Order] | None

    @property
    def differences(self) -> list[str]:
        found = pipeline.differences(self.sent, self.table, "the table")
        found += pipeline.differences(self.sent, self.files, "the files")
        found += pipeline.differences(self.sent, self.documents, "the index")
        return found + ([] if self.lake is None else pipeline.differences(self.sent, self.lake, "the lake"))


_NOTHING = View([], [], [], [], None)


def run(
    console: Console, directory: Path, once: bool, port: int, interrupted: threading.Event, with_lake: bool = False
) -> bool:
    """Whether all went well; ConnectError, with the reason, if something does not start."""
    with ExitStack() as stack:
        with console.status("Looking for PostgreSQL") as status:
            server = Postgres(postgres_programs.find_or_install(install=True, tell=status.update))
        stack.callback(_stopped, console, "PostgreSQL", server)
        with console.status("Starting PostgreSQL"):
            server.start()
        search = OpenSearch()
        stack.callback(_stopped, console, "OpenSearch", search)
        with console.status("Starting OpenSearch, which is fetched once"):
            search.start()
        broker = Broker(directory / "broker")
        stack.callback(_stopped, console, "the broker", broker)
        with console.status("Starting a local Kafka broker"):
            broker.start()
        properties = {
            "config.providers": "file",
            "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
            "config.providers.file.param.allowed.paths": str(directory),
        }
        if with_lake:
            with console.status("Making the Python for lakes, once") as status:
                properties["lake.python"] = str(lake.make(lake.directory(), status.update))
        worker = WorkerProcess(directory, broker.bootstrap_servers, "demo", port, properties)
        stack.callback(_stopped, console, "the worker and Spark", worker)
        with console.status("Starting a worker and Spark"):
            worker.start()
        if interrupted.is_set():
            return False
        shop = Shop(
            *(worker, broker.bootstrap_servers, server, search, directory / "files"),
            lake=directory / "lake" if with_lake else None,
        )
        began = time.monotonic()
        with console.status("Starting the connectors"):
            worker.client.create(pipeline.SOURCE, pipeline.source(_COUNT if once else 0))
            worker.client.create(pipeline.TABLE_SINK, pipeline.table_sink(server, _secret(directory, server)))
            worker.client.create(pipeline.FILE_SINK, pipeline.file_sink(shop.folder))
            worker.client.create(pipeline.INDEX_SINK, pipeline.index_sink(search))
            if shop.lake is not None:
                worker.client.create(pipeline.LAKE_SINK, pipeline.lake_sink(shop.lake))
        if once:
            return _once(console, shop, began, interrupted)
        view = _watch(console, shop, interrupted)
        click.echo(f"Made {len(view.sent):,} orders; {_where(view)}")
        return True


def _where(view: View) -> str:
    more = "" if view.lake is None else f", {len(view.lake):,} in the lake"
    return f"{len(view.table):,} are in the table, {len(view.files):,} in files, {len(view.documents):,} in the index{more}"


def _stopped(console: Console, what: str, it: Postgres | OpenSearch | Broker | WorkerProcess) -> None:
    with console.status(f"Stopping {what}"):
        it.stop()


def _secret(directory: Path, server: Postgres) -> str:
    """Writes the password where the worker's hosts find it; gives the reference."""
    file = directory / "secrets.properties"
    file.touch(0o600)
    file.write_text(f"password={server.password}\n", "utf-8")
    return f"${{file:{file}:password}}"


def _look(shop: Shop) -> View:
    # The topic last: what is in it may not have come any further.
    table, files, index = pipeline.in_table(shop.server), pipeline.in_files(shop.folder), pipeline.in_index(shop.search)
    in_lake = None if shop.lake is None else pipeline.in_lake(shop.lake)
    return View(pipeline.in_topic(shop.servers), table, files, index, in_lake)


# --- once ---


def _once(console: Console, shop: Shop, began: float, interrupted: threading.Event) -> bool:
    view, last_change, problem = _NOTHING, time.monotonic(), ""
    with console.status("Waiting for the first orders") as status:
        while not problem:
            before = view
            # What is busy may not answer; what never does makes no progress.
            with suppress(ConnectError):
                view = _look(shop)
            now = time.monotonic()
            if _where(view) != _where(before) or len(view.sent) != len(before.sent):
                last_change = now
            elif view.sent and not view.differences and _made(shop) == _COUNT:
                break
            status.update(f"{len(view.sent):,} orders are in the topic, {_where(view)}")
            if now - last_change > _STUCK_S:
                problem = f"nothing changed for {_STUCK_S:.0f} s"
            problem = demo.failure(shop.worker.client) or problem
            if interrupted.wait(0.2):
                problem = "interrupted"
    took = time.monotonic() - began
    if problem:
        more = len(view.differences) - _SHOWN_DIFFERENCES
        lines = [*view.differences[:_SHOWN_DIFFERENCES], *([f"and {more:,} more"] if more > 0 else [])]
        click.echo("\n  ".join((f"FAILED after {took:.1f} s: {problem}", *map(printable, lines))))
        return False
    files = len(list(shop.folder.rglob("*.parquet")))
    click.echo(
        f"OK: {_COUNT:,} orders were made, {_COUNT - len(view.sent):,} had come back and were dropped; the other "
        f"{len(view.sent):,} are in the table, in {files} Parquet files{', in the lake' if view.lake else ''} and in the "
        f"index, each once, after {took:.1f} s"
    )
    return True


def _made(shop: Shop) -> int:
    """Orders that the source has made, as its offset says."""
    with suppress(ConnectError):
        return sum(each["offset"]["current.iteration"] for each in shop.worker.client.offsets(pipeline.SOURCE))
    return 0


# --- live ---


def _watch(console: Console, shop: Shop, interrupted: threading.Event) -> View:
    """What was where at the end."""
    view = _NOTHING
    with Live(console=console, refresh_per_second=4) as live:
        while not interrupted.wait(1.0):
            try:
                view = _look(shop)
                states = shop.worker.client.connectors("status")
            except ConnectError as error:
                live.update(Text(f"{error}"))
                continue
            live.update(_page(shop, view, states))
    return view


def _page(shop: Shop, view: View, states: dict[str, Any]) -> Group:
    flow = Table(box=None, pad_edge=False, show_header=False)
    flow.add_row("topic", f"{len(view.sent):,} orders in {pipeline.TOPIC}; those that came back are dropped on the way")
    flow.add_row("table", f"{len(view.table):,} rows in {pipeline.TABLE}")
    files = len(list(shop.folder.rglob("*.parquet")))
    flow.add_row("files", f"{len(view.files):,} rows in {files} Parquet files, in a folder for each status")
    flow.add_row("index", f"{len(view.documents):,} documents in {pipeline.INDEX}, at {shop.search.url}")
    if view.lake is not None:
        flow.add_row("lake", f"{len(view.lake):,} rows in a table of Delta Lake, by Spark")
    newest = Table(box=None, padding=(0, 2))
    for name in Order._fields:
        newest.add_column(name, no_wrap=True)
    for order in sorted(view.table)[: -_SHOWN - 1 : -1]:
        newest.add_row(*(Text(printable(str(value)), "cyan") for value in order))
    tries = [f"  {demo.typed(command)} --url {shop.worker.url.rstrip('/')}" for command in _MEANWHILE]
    return Group(
        Text(f"REST API: {shop.worker.url}   Ctrl-C ends it"),
        Text(),
        demo.states(states, pipeline.CONNECTORS),
        Text(),
        flow,
        Text(),
        Text("The newest rows of the table"),
        newest,
        Text(),
        Text("Try in another terminal"),
        Text("\n".join(tries), no_wrap=True, overflow="ignore"),
    )
