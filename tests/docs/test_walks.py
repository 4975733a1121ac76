"""
CONTRIBUTING's walks: each names all files that a record, a request or a topic's use passes, and none that it does not.

A record and a request are watched on their way (`walks.py`), over a broker in memory. Each file of a walk is connected with the
others by imports.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import confluent_kafka as ck
import pytest

from kconnect.core.cluster.silence import Host, Silence
from kconnect.core.herder import events
from kconnect.core.herder.herder import Herder
from kconnect.core.herder.identity import Identity
from kconnect.core.settings.worker import WorkerSettings
from kconnect.core.state.assignment_records import Held
from kconnect.kafka import clients
from kconnect.kafka.admin import Admin
from kconnect.kafka.log import LogReader
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from kconnect.rest.app import RestSettings, build
from kconnect.rest.authentication import Gate
from kconnect.rest.client import bearer
from kconnect.rest.credentials import token_line
from kconnect.rest.credentials_file import CredentialsFile
from kconnect.worker.loop import Loop
from kconnect.worker.metrics import Feed
from kconnect.worker.world import World
from tests.integration.units import MemoryHost, end, until

from ..rest.conftest import Http
from . import walks

RECORD, REQUEST, USE = "One record", "One request", "One use of a topic"
MOST = {RECORD: 15, REQUEST: 24, USE: 5}
"""How many files the steps of a walk may name. That of a topic's use counts them up to its record."""
LIMIT_S = 120.0
MARK = "walker"


@pytest.fixture
def bootstrap() -> Iterator[str]:
    holder = ck.Producer({"test.mock.num.brokers": 1, "log_level": 0})
    broker = next(iter(holder.list_topics(timeout=LIMIT_S).brokers.values()))
    yield f"{broker.host}:{broker.port}"
    del holder


def compare(title: str, passed: set[str], unseen: frozenset[str] = frozenset()) -> None:
    """Compare a walk with the files that were passed. `unseen` are files of the walk whose part is the test's own here."""
    named = set(walks.files(walks.section(title)))
    assert passed <= named, f"CONTRIBUTING's walk does not name {sorted(passed - named)}"
    too_many = set(walks.steps(title)) - passed - unseen
    assert not too_many, f"CONTRIBUTING's walk has steps that are not passed: {sorted(too_many)}"


def test_a_record_passes_the_files_of_its_walk(bootstrap: str, tmp_path: Path) -> None:
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text(f"{MARK}\n")
    host = MemoryHost(bootstrap, sink_rest_after_ms="-1")
    with walks.watched(MARK) as walk:
        units = [
            host.unit({"name": "from", "connector.class": "FileStreamSource", "file": str(source), "topic": "t"}),
            host.unit({"name": "to", "connector.class": "FileStreamSink", "file": str(target), "topics": "t"}),
        ]
        until(lambda: target.exists() and target.read_text() == f"{MARK}\n", LIMIT_S)
    for unit in units:
        end(unit)
    compare(RECORD, walk.files)


class Lone(World):
    """The world of a worker that is alone in its group."""

    def __init__(self, settings: WorkerSettings, *parts: Any) -> None:
        super().__init__(settings, *parts)
        self._worker, self._url = settings.worker_id, settings.advertised_url

    def members(self) -> tuple[dict[str, str], str | None, str | None]:
        return {self._worker: self._url}, self._worker, None

    def is_dead(self, held: Held) -> bool:
        return False

    def silences(self) -> dict[Host, Silence]:
        return {}


@pytest.mark.process
def test_a_request_passes_the_files_of_its_walk(bootstrap: str, tmp_path: Path) -> None:
    users, methods = tmp_path / "users", ("token",)
    users.write_text(f"{token_line('ci', 'admin', 'kc_token')}\n")
    users.chmod(0o600)
    settings = MemoryHost(bootstrap).settings
    topics, registry = clients.topics(settings), Registry.scan([])
    client = ck.Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for topic in topics.values():
        client.list_topics(topic, timeout=LIMIT_S)  # It comes to be by that.
    sandbox, ended = Sandbox(registry), threading.Event()
    watch = SimpleNamespace(look_at_policies=lambda: None)
    driver = SimpleNamespace(keep=lambda is_wanted: None)
    with walks.watched(MARK) as walk:
        admin = Admin(clients.internal(settings, "admin"))
        identity = Identity(settings.worker_id, settings.advertised_url, "1", "commit", "cluster", topic_names=topics)
        loop = Loop(Herder(identity), Lone(settings, admin, registry, sandbox, Feed(settings), watch, driver))
        reading = threading.Thread(target=read, args=(settings, loop, ended))
        loop.start()
        reading.start()
        try:
            gate = Gate(CredentialsFile(str(users), methods), methods)
            http = Http(build(loop, RestSettings(settings.advertised_url, gate=gate)))
            config = {"connector.class": "FileStreamSource", "file": MARK, "topic": "t"}
            until(lambda: http("GET", "/health").status_code == 200, LIMIT_S)
            answer = http(
                "PUT", f"/connectors/{MARK}/config", json=config, headers={"Authorization": bearer("kc_token")}, timeout=LIMIT_S
            )
            assert answer.status_code == 201, answer.text
        finally:
            ended.set()
            reading.join()
            loop.stop()
            sandbox.close()
    compare(REQUEST, walk.files, frozenset(("kconnect/worker/main.py",)))


def read(settings: WorkerSettings, loop: Loop, ended: threading.Event) -> None:
    """Feed the log to the herder, as `worker/main.py` does."""
    reader, caught_up = LogReader(clients.reader(settings, "reader"), clients.topics(settings)), False
    while not ended.is_set():
        batch, reached = reader.read(0.1), reader.reached()
        if batch or reached:
            loop.post(events.Read(tuple(batch), reached))
        if reader.at_end and not caught_up:
            caught_up = True
            loop.post(events.Owned())
            loop.post(events.CaughtUp())
    reader.close()


@pytest.mark.parametrize("title", MOST)
def test_each_file_of_a_walk_is_connected_with_the_others(title: str) -> None:
    steps = walks.steps(title)
    connections = {path: walks.imports(path) & set(steps) for path in steps if path.endswith(".py")}
    for path, others in connections.items():
        importers = {other for other, imported in connections.items() if path in imported}
        # Plugins are imported by the names that configs give.
        is_plugin = path.startswith(("kconnect/connectors/", "kconnect/converters/"))
        assert is_plugin or others | importers, f"no other file of the walk imports {path}, nor is one imported there"


@pytest.mark.parametrize("title", MOST)
def test_the_files_of_a_walk_are_there(title: str) -> None:
    missing = [path for path in walks.files(walks.section(title)) if not (walks.ROOT / path).is_file()]
    assert not missing


@pytest.mark.parametrize("title", MOST)
def test_walks_do_not_get_longer(title: str) -> None:
    steps = walks.steps(title)
    if title == USE:
        # A source's and a sink's pump are two ways to the one rule.
        steps = [path for path in steps if not path.endswith("sink_pump.py")]
        steps = steps[: steps.index("kconnect/core/state/records.py") + 1]
    assert 0 < len(steps) <= MOST[title], steps
