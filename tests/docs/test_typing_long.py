"""What `test_typing.py` does, for what needs a worker of its own, Kafka Connect, or plugins from Maven Central."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kconnect.testing.processes import WorkerProcess
from tests.conftest import QUICK
from tests.docs.pages import blocks
from tests.docs.readings import JAVA, MOVING, USERS, Reading, steps_of
from tests.docs.scene import FILE_SOURCE, Scene
from tests.rig.systems.connect import ConnectProcess
from tests.rig.systems.postgres import Postgres
from tests.support import wait_until

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]


@pytest.fixture
def own(bootstrap: str, tmp_path: Path, unique: Callable[[str], str]) -> Iterator[Scene]:
    """A reader whose worker has not been started yet, and reads his worker.properties."""
    worker = WorkerProcess(tmp_path / "worker", bootstrap, unique("reader"), properties=QUICK)
    scene = Scene(worker, bootstrap, tmp_path / "home")
    scene.worker_file.unlink()
    scene.worker_file.symlink_to(scene.settings_of(worker))
    yield scene
    worker.stop()


def type_all(scene: Scene, reading: Reading, before: dict[str, Callable[[], object]]) -> Iterator[tuple[str, str]]:
    """Type a reading, and yield each command with what it prints. `before` has what is done before commands that begin so."""
    for step in steps_of(reading):
        for begin, prepare in before.items():
            if step.command.startswith(begin):
                prepare()
        yield step.command, scene.type(step)


def test_who_has_a_login_is_served(own: Scene) -> None:
    said = {}
    for command, text in type_all(own, USERS, {"curl -u ann": own.worker.start}):
        said[command.split(" >")[0]] = text
        if token := re.search(r"kct_\S+|^\S{30,}$", text, re.MULTILINE):
            own.reader.export("TOKEN", token[0])
    assert "[]" in said["curl -u ann localhost:8083/connectors"]
    assert "kafka_connect_worker" in said['curl -H "Authorization: Bearer $TOKEN" localhost:8083/metrics']
    assert "role=" not in (own.home / "audit.log").read_text("utf-8"), "nothing was changed"


def test_a_connector_moves_and_comes_back(worker: WorkerProcess, peer: ConnectProcess, bootstrap: str, tmp_path: Path) -> None:
    scene = Scene(worker, bootstrap, tmp_path / "home")
    scene.addresses["http://connect:8083"] = peer.url.rstrip("/")
    scene.file("connect-distributed.properties", scene.settings_of(peer).read_text("utf-8"))
    source = {"connector.class": FILE_SOURCE, "file": str(scene.file("orders.txt", "1\n")), "topic": "orders"}
    peer.client.create("orders-lines", {**source, "key.converter": TEXT, "value.converter": TEXT})
    peer.client.wait_for("orders-lines", "RUNNING", tasks=1)
    try:
        for command, text in type_all(scene, MOVING, {}):
            assert "orders-lines" in text or "--same-topics" in command, text
            if command.endswith("'orders-*'"):
                worker.client.wait_for("orders-lines", "RUNNING", tasks=1)
        peer.client.wait_for("orders-lines", "RUNNING", tasks=1)
    finally:
        peer.client.delete("orders-lines")
        scene.close()


TEXT = "org.apache.kafka.connect.storage.StringConverter"


def test_rows_are_copied_by_debezium(own: Scene, postgres_programs: Path) -> None:
    server = Postgres(postgres_programs).start()
    own.file("plugins/none").unlink()
    with own.worker_file.open("a") as file:
        file.write(f"plugin.path={own.home / 'plugins'}\n")
    server.execute("CREATE TABLE orders (id int PRIMARY KEY, item text); INSERT INTO orders VALUES (1, 'tea')")
    (config,) = [block for block in blocks("java-connectors.md") if block.language == "yaml"]
    text = config.text.replace("5432", str(server.port)).replace(": postgres\n", f": {server.user}\n")
    text = text.replace(f"dbname: {server.user}", "dbname: postgres").replace("secret", server.password)
    own.file("orders.yaml", text)
    own.worker.start()
    try:
        for _ in type_all(own, JAVA, {}):
            pass
        wait_until(lambda: server.rows("SELECT to_regclass('orders_copy')") != [(r"\N",)], 240)
        wait_until(lambda: server.rows("SELECT id, item FROM orders_copy") == [("1", "tea")], 240)
    finally:
        own.worker.stop()
        server.stop()
