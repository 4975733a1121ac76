"""
What a plugin may do wrong, on a real worker, with a good task of the same plugin in the same host (invariant I13): each ends
as that task's own failure, with a reason, and the good one goes on. Its control is that the same task does no harm before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest

from kconnect.rest.client import RestError
from kconnect.testing.processes import WorkerProcess
from tests.rig.systems.plugin_packages import PluginPackage

from . import harmful
from .units import until

WAIT_S = 240.0


class Beside:
    """A good source beside those that a test makes, all of one plugin, and so in one host."""

    def __init__(self, worker: WorkerProcess, bootstrap: str, unique: Callable[[str], str], directory: Path) -> None:
        self.client = worker.client
        self._bootstrap, self._unique = bootstrap, unique
        self._directory = directory
        self._names: list[str] = []
        self.good = self.make()
        self.wait(self.good, "RUNNING")

    def make(self, does: str = "", **more: str) -> str:
        """A source that does so once `let_go` is called; `more` are settings, with underscores."""
        name = self._unique(f"harm-{len(self._names)}")
        self._names.append(name)
        config = {"connector.class": "Harmful", "topic": name, "does": does, "go": str(self._directory / name)}
        self.client.put_config(name, {**config, **{key.replace("_", "."): value for key, value in more.items()}})
        return name

    def let_go(self, name: str) -> None:
        (self._directory / name).touch()

    def await_done(self, name: str) -> None:
        """What it was let go for has happened, and it has lived through that."""
        until((self._directory / f"{name}.done").exists, WAIT_S)

    def hold(self, name: str) -> None:
        (self._directory / name).unlink()

    def task(self, name: str) -> dict[str, Any]:
        """Its status, once there is one."""
        try:
            tasks = self.client.status(name)["tasks"]
        except RestError:
            return {}
        return dict(tasks[0]) if tasks else {}

    def wait(self, name: str, state: str, limit_s: float = WAIT_S) -> str:
        """The first line of its trace, once it is so."""
        until(lambda: self.task(name).get("state") == state, limit_s)
        return str(self.task(name).get("trace", "")).splitlines()[0] if state == "FAILED" else ""

    def sent(self) -> int:
        consumer = ck.Consumer({"bootstrap.servers": self._bootstrap, "group.id": "look"})
        try:
            return consumer.get_watermark_offsets(ck.TopicPartition(self.good, 0), timeout=60)[1]
        finally:
            consumer.close()

    def goes_on(self) -> None:
        """The good one is seen to send more, and to run, though it may have to move to another host in between."""
        before = self.sent()
        until(lambda: self.sent() > before, WAIT_S)
        self.wait(self.good, "RUNNING")

    def delete(self, *names: str) -> None:
        for name in names or self._names:
            self.client.delete(name)
            self._names = [other for other in self._names if other != name]


@pytest.fixture
def beside(worker: WorkerProcess, broker: Any, unique: Callable[[str], str], tmp_path: Path) -> Iterator[Beside]:
    made = Beside(worker, broker.bootstrap_servers, unique, tmp_path)
    yield made
    made.delete()


def test_who_crashes_the_host_s_process_fails_alone_until_it_is_restarted(beside: Beside) -> None:
    crash = beside.make("crash")
    beside.wait(crash, "RUNNING")
    beside.let_go(crash)
    assert beside.wait(crash, "FAILED").startswith("SIGSEGV: the code of this task has ended its host's process")
    beside.goes_on()
    beside.hold(crash)
    beside.client.restart_task(crash, 0)
    beside.wait(crash, "RUNNING")


def test_what_would_hurt_others_fails_alone_and_nothing_is_restarted(beside: Beside, worker: WorkerProcess) -> None:
    refused = "kconnect.host.guard.SharedProcessError: {}-0 "
    said = {
        "exit": f"{refused}was about to call os._exit(3)",
        "kill": f"{refused}was about to call os.kill(",
        "patch": f"{refused}was about to replace builtins.open",
        "exit the thread": "SystemExit: 3",
        "signal": "ValueError: signal only works in main thread",
        "leak threads": "kconnect.units.owners.TooManyThreadsError: {}-0 has more than 500 live threads",
    }
    names = {does: beside.make(does) for does in (*said, "print")}
    for name in names.values():
        beside.wait(name, "RUNNING")
    hosts = {host.pid for host in worker.hosts()}
    for name in names.values():
        beside.let_go(name)
    for does, start in said.items():
        assert beside.wait(names[does], "FAILED").startswith(start.format(names[does]))
    beside.goes_on()
    assert hosts <= {host.pid for host in worker.hosts()}

    def printed(text: str) -> int:
        """How many such lines the log has."""
        return sum(f"kconnect.output {text}" in line for line in worker.log.read_text("utf-8", "replace").splitlines())

    until(lambda: printed("from C"), WAIT_S)
    assert printed(f"[{names['print']}|task-0] flood ") == 1000


def test_a_stop_that_hangs_is_given_up_and_its_host_replaced(beside: Beside, worker: WorkerProcess) -> None:
    hangs, leaves = beside.make("hang in stop"), beside.make("leave a thread")
    for name in (hangs, leaves):
        beside.wait(name, "RUNNING")
    beside.let_go(leaves)
    beside.await_done(leaves)
    beside.goes_on()
    read = worker.log.stat().st_size

    def said(*texts: str) -> bool:
        """Whether the log has said one of these since."""
        since = worker.log.read_bytes()[read:]
        return any(text.encode() in since for text in texts)

    hosts = {host.pid for host in worker.hosts()}
    for name in (hangs, leaves):
        beside.delete(name)
    left = "-0 has left 1 threads behind that did not end within 5 s"
    until(lambda: said(f"{leaves}{left}"), WAIT_S)
    # The task gives its stop() up after as long, and is seen to have done so or not yet.
    until(lambda: said(f"{hangs}{left}", f"{hangs}-0 has not stopped within 5 s"), WAIT_S)
    until(lambda: said(" ends, and Spark restarts it"), WAIT_S)
    until(lambda: hosts - {host.pid for host in worker.hosts()}, WAIT_S)
    beside.goes_on()


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_who_ends_the_host_so_that_nobody_sees_it_is_found_and_fails_alone(beside: Beside) -> None:
    other, bad = beside.make(), beside.make("kill from C")
    for name in (other, bad):
        beside.wait(name, "RUNNING")
    beside.let_go(bad)
    reason = beside.wait(bad, "FAILED", 600)
    assert "the last 4 times while it ran nothing else, for an unknown reason" in reason
    beside.wait(other, "RUNNING")
    beside.wait(beside.good, "RUNNING")
    beside.goes_on()
    beside.hold(bad)
    beside.client.restart_task(bad, 0)
    beside.wait(bad, "RUNNING")


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_dedicated_task_that_takes_too_much_memory_fails_of_its_limit(beside: Beside) -> None:
    hog = beside.make("take memory", tasks_isolation="dedicated", tasks_memory_max="268435456")
    beside.wait(hog, "RUNNING")
    memory: list[dict[str, int]] = []

    def told() -> bool:
        memory[:] = [task["memory"] for task in beside.client.own()[hog]["tasks"] if task["memory"]]
        return bool(memory)

    until(told, WAIT_S)
    assert memory[0]["max"] == 268435456 and 2**24 < memory[0]["used"] < 268435456
    beside.let_go(hog)
    reason = beside.wait(hog, "FAILED")
    # The process's end, or an error in the task's own code: on a busy machine it may be quicker than who watches it.
    assert "tasks.memory.max is 268435456" in reason
    beside.goes_on()
    beside.hold(hog)
    beside.client.restart_task(hog, 0)
    beside.wait(hog, "RUNNING")


def test_a_plugin_that_is_put_into_plugin_path_runs_without_a_restart(beside: Beside, worker: WorkerProcess) -> None:
    plugins = worker.directory / "plugins"
    code = Path(harmful.__file__).read_text("utf-8").replace("Harmful", "Late")
    late = PluginPackage("late", "1.0", {"late.py": code}, {"kconnect.connectors": {"Late": "late:LateConnector"}})
    late.install(plugins)
    name = beside.make()
    with pytest.raises(RestError, match=r"late\.LateConnector"):
        beside.client.put_config(name, {**beside.client.get_config(name), "connector.class": "late.LateConnector"})
    assert beside.client.reload_plugins()["added"] == [str(plugins / "late-1.0")]
    beside.client.put_config(name, {**beside.client.get_config(name), "connector.class": "late.LateConnector"})
    until(lambda: beside.task(name).get("state") == "RUNNING" and beside.task(name)["version"] == "1.0", WAIT_S)
    beside.goes_on()
