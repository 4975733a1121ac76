"""
One Kafka broker on this machine, for trying things out: a KRaft node of its own, from jars that `jars.py` fetched.

`Broker` runs it as a child that ends with its parent (the demo, the benches, the tests), or detached (`kconnect broker`).
Not for data that matters: one node, no replication, no security.
"""

from __future__ import annotations

import json
import logging
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psutil
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from kconnect.api.errors import ConnectError
from kconnect.local import jars, java

log = logging.getLogger(__name__)

_UP_S = 60.0

_PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "5",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    # Tests that wait for a dead member would otherwise wait six seconds at least.
    "group.min.session.timeout.ms": "1000",
    "num.partitions": "1",
    # After kill -9 a broker must wait until the life before counts as dead.
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
}

_JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")

# Waits for the end of its standard input, which is its parent's end, and then ends the broker.
_GUARD = """
import os, signal, sys, time
pid = int(sys.argv[1])
sys.stdin.buffer.read()
try:
    os.kill(pid, signal.SIGTERM)
    for _ in range(100):
        os.kill(pid, 0)
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
except ProcessLookupError:
    pass
"""


class Broker:
    """
    `start` may be called again after `stop` or `kill`: same port, same data. A port of 0 takes a free one.

    `properties` are added to the broker's. A `detached` broker outlives this process.
    """

    def __init__(
        self,
        directory: Path | str,
        port: int = 0,
        properties: Mapping[str, str] | None = None,
        detached: bool = False,
    ) -> None:
        self.directory = Path(directory).absolute()
        self._wanted_port = port
        self._properties = dict(properties or {})
        self._detached = detached
        self._state: dict[str, object] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.directory / "broker.log"

    @property
    def port(self) -> int:
        return int(str(self._read()["port"]))

    @property
    def pid(self) -> int:
        return int(str(self._read()["pid"]))

    @property
    def cluster_id(self) -> str:
        return str(self._read()["cluster_id"])

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def running(self) -> bool:
        """Whether the broker that was started in this directory lives; another process with its old pid does not count."""
        state = self._read(must_exist=False)
        try:
            process = psutil.Process(int(str(state["pid"])))
            alive = process.status() != psutil.STATUS_ZOMBIE
            return alive and abs(process.create_time() - float(str(state["started"]))) < 1.0
        except (KeyError, psutil.Error):
            return False

    def start(self) -> Broker:
        """Start it and wait until it answers. ConnectError, with what to do, if it can't be."""
        if self.running():
            return self
        program = java.checked()
        self.directory.mkdir(parents=True, exist_ok=True)
        state = self._read(must_exist=False)
        port = self._wanted_port or int(str(state.get("port") or _free_port()))
        controller = int(str(state.get("controller") or _free_port()))
        for taken in (port, controller):
            _require_free(taken)
        # An id that begins with a dash is taken for an option by Kafka's own tools.
        cluster_id = str(state.get("cluster_id") or "k" + secrets.token_urlsafe(16)[:21])
        classes = jars.class_path(jars.kafka())
        file = self._write_properties(port, controller)
        if not (self.directory / "data" / "meta.properties").exists():
            self._run_tool(program, classes, "kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(file))
        with open(self.log, "ab") as output:
            self._process = subprocess.Popen(
                [program, *_JVM, "-cp", classes, "kafka.Kafka", str(file)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # Ctrl-C in the terminal must not reach it before those that use it have ended.
                start_new_session=True,
            )
        pid = self._process.pid
        started = psutil.Process(pid).create_time()
        self._state = {"pid": pid, "started": started, "port": port, "controller": controller, "cluster_id": cluster_id}
        (self.directory / "broker.json").write_text(json.dumps(self._state), "utf-8")
        if not self._detached:
            self._guard = subprocess.Popen(
                [sys.executable, "-c", _GUARD, str(pid)], stdin=subprocess.PIPE, start_new_session=True
            )
        self._wait_up(self._process)
        return self

    def stop(self, timeout: float = 20.0) -> None:
        """End it in order, or after the limit anyhow."""
        self._end(signal.SIGTERM, timeout)

    def kill(self) -> None:
        """kill -9."""
        self._end(signal.SIGKILL, 10.0)

    def _end(self, number: signal.Signals, timeout: float) -> None:
        if self.running():
            process = psutil.Process(self.pid)
            process.send_signal(number)
            try:
                process.wait(timeout)
            except psutil.TimeoutExpired:
                process.kill()
                process.wait(10)
        if self._process is not None:
            self._process.wait()
        if self._guard is not None:
            assert self._guard.stdin is not None
            self._guard.stdin.close()
            self._guard.wait()
        self._process = self._guard = None

    def _wait_up(self, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + _UP_S
        while time.monotonic() < end:
            if process.poll() is not None:
                raise ConnectError(f"The broker ended at once with status {process.returncode}; its log is {self.log}")
            if _listens(self.port):
                try:
                    admin = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
                    found = admin.describe_cluster(request_timeout=5).result().cluster_id
                except KafkaException:
                    continue
                if found != self.cluster_id:
                    self.stop()
                    raise ConnectError(
                        f"Another broker answers on port {self.port}. Stop it, or give this one another port."
                    )
                return
            time.sleep(0.05)
        raise ConnectError(f"The broker did not answer within {_UP_S:.0f} s; its log is {self.log}")

    def _write_properties(self, port: int, controller: int) -> Path:
        own = {
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "log.dirs": str(self.directory / "data"),
        }
        file = self.directory / "server.properties"
        lines = {**_PROPERTIES, **own, **self._properties}
        file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()), "utf-8")
        return file

    def _run_tool(self, program: str, classes: str, main: str, *arguments: str) -> None:
        command = [program, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classes, main, *arguments]
        result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if result.returncode != 0:
            self.log.write_text(result.stdout + result.stderr, "utf-8")
            raise ConnectError(f"Kafka's storage could not be prepared in {self.directory}; see {self.log}")

    def _read(self, must_exist: bool = True) -> dict[str, object]:
        if not self._state:
            try:
                self._state = json.loads((self.directory / "broker.json").read_text("utf-8"))
            except (OSError, ValueError):
                if must_exist:
                    raise ConnectError(f"No broker was started in {self.directory}") from None
        return self._state


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _require_free(port: int) -> None:
    if _listens(port):
        raise ConnectError(f"Port {port} is taken by another program. Stop it, or choose another port with --port.")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


