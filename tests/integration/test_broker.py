"""The local broker as its users have it: a child of the demo, the benches and the tests, or `kconnect broker`."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import AdminClient, ConfigResource

from kconnect.errors import ConnectError
from kconnect.jvm import jars
from kconnect.local import broker as local
from kconnect.local.broker import Broker
from tests.support import wait_until

pytestmark = pytest.mark.integration

TOPIC = "kept"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that these tests may stop and kill, in a directory with a blank in its name."""
    started = Broker(tmp_path_factory.mktemp("own broker"), properties={"message.max.bytes": "123456"})
    yield started.start()
    started.stop()


def write(broker: Broker, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(TOPIC, value)
    assert producer.flush(60) == 0


def read(broker: Broker) -> list[bytes]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "reader",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.subscribe([TOPIC])
    values: list[bytes] = []
    try:

        def at_end() -> bool:
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                values.append(message.value() or b"")
            error = None if message is None else message.error()
            return error is not None and error.code() == KafkaError._PARTITION_EOF

        wait_until(at_end, 240, "the end of the topic did not come")
    finally:
        consumer.close()
    return values


@pytest.mark.long
def test_topics_come_by_themselves_and_survive_every_end(own: Broker) -> None:
    servers, cluster_id = own.bootstrap_servers, own.cluster_id
    write(own, b"before")
    own.stop()
    assert not own.running()
    own.start()
    write(own, b"after stop")
    own.kill()
    assert not own.running()
    own.start()
    write(own, b"after kill -9")
    assert read(own) == [b"before", b"after stop", b"after kill -9"]
    assert (own.bootstrap_servers, own.cluster_id) == (servers, cluster_id)


def test_start_of_a_running_one_changes_nothing(own: Broker) -> None:
    pid = own.pid
    own.start()
    assert Broker(own.directory).start().pid == pid


def test_settings_of_the_caller_reach_it(own: Broker) -> None:
    admin = AdminClient({"bootstrap.servers": own.bootstrap_servers})
    resource = ConfigResource(ConfigResource.Type.BROKER, "1")
    found = admin.describe_configs([resource], request_timeout=60)[resource].result()
    assert found["message.max.bytes"].value == "123456"
    assert found["auto.create.topics.enable"].value == "true"


def test_the_cluster_id_can_be_given_to_tools(own: Broker) -> None:
    assert len(own.cluster_id) == 22
    assert own.cluster_id[0] != "-"


def test_ctrl_c_in_the_terminal_does_not_reach_it(own: Broker) -> None:
    assert os.getsid(own.pid) != os.getsid(0)


def test_the_log_tells_what_it_does_and_when(own: Broker) -> None:
    first = own.log.read_text("utf-8", "replace").splitlines()[0]
    assert first[:2] == "20", f"no time: {first}"
    assert "Kafka Server started" in own.log.read_text("utf-8", "replace")


@pytest.mark.long
def test_a_lost_state_file_does_not_change_the_cluster(own: Broker) -> None:
    cluster_id = own.cluster_id
    own.stop()
    (own.directory / "broker.json").unlink()
    own.start()
    assert own.cluster_id == cluster_id
    assert b"before" in read(own)


def test_a_taken_port_is_named(own: Broker, tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=f"^Port {own.port} is taken by another program: stop it, or choose another port"):
        Broker(tmp_path, own.port).start()
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        with pytest.raises(ConnectError, match=f"^Port {port} is taken"):
            Broker(tmp_path, port).start()
    assert not Broker(tmp_path).running()


def test_a_port_that_is_taken_meanwhile_is_named_too(own: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "require_free", lambda port: None)
    late = Broker(tmp_path, own.port)
    with pytest.raises(ConnectError, match=f"port {own.port}|Port {own.port}"):
        late.start()
    assert not late.running()
    assert own.running()


def test_a_setting_that_kafka_refuses(tmp_path: Path) -> None:
    refused = Broker(tmp_path, properties={"num.partitions": "none"})
    with pytest.raises(ConnectError, match=r"\(Invalid value none for configuration num.partitions: .*; the log is"):
        refused.start()
    assert not refused.running()


@pytest.mark.long
def test_the_controller_moves_when_its_port_is_taken(own: Broker) -> None:
    own.stop()
    controller = int(str(own._state()["controller"]))
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", controller))
        server.listen()
        own.start()
    assert own._state()["controller"] != controller
    assert b"before" in read(own)


@pytest.mark.long
def test_an_interrupted_first_start_is_repaired(tmp_path: Path) -> None:
    for name in ("data", "data.new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "half").write_text("written")
    broker = Broker(tmp_path).start()
    broker.stop()
    assert not (tmp_path / "data.new").exists()


@pytest.mark.long
def test_loaded_classes_are_kept_for_the_next_start(own: Broker) -> None:
    # The first that ended in order left them, in this test run or before.
    own.stop()
    assert list(jars.kafka().glob("broker-*.jsa"))
    assert not (own.directory / "classes.jsa").exists()
    own.start()


PARENT = """
import signal, sys, time
from kconnect.local.broker import Broker
signal.signal(signal.SIGINT, signal.default_int_handler)  # What a shell starts behind its back has it ignored.
print(Broker(sys.argv[1]).start().pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize(
    "how",
    [signal.SIGKILL, *(pytest.param(each, marks=pytest.mark.long) for each in (signal.SIGINT, signal.SIGTERM))],
    ids=lambda how: how.name,
)
def test_it_does_not_outlive_the_process_that_started_it(tmp_path: Path, how: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert parent.stdout is not None
    try:
        pid = int(parent.stdout.readline())
        assert psutil.pid_exists(pid)
        # As a terminal does it: to the whole group.
        os.killpg(parent.pid, how)
        parent.wait(60)
        wait_until(lambda: not Broker(tmp_path).running(), 240, "the broker outlived its parent")
    finally:
        parent.kill()
        parent.stdout.close()
        Broker(tmp_path).kill()


def kconnect(*arguments: str) -> tuple[int, str, str]:
    # By pipes that the broker must not keep open: a script that captures the output would wait for ever.
    done = subprocess.run([sys.executable, "-m", "kconnect", *arguments], capture_output=True, text=True, timeout=240)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.timeout(900)
def test_kconnect_broker(tmp_path: Path) -> None:
    port = str(local.free_port())
    place = ("--data-dir", str(tmp_path / "data"))
    try:
        status, said, error = kconnect("broker", "start", "--port", port, *place)
        assert (status, error) == (0, "")
        pid = Broker(tmp_path / "data").pid
        assert said == f"Started: bootstrap.servers=127.0.0.1:{port} (pid {pid})\n"
        write(Broker(tmp_path / "data"), b"x")

        status, said, _ = kconnect("broker", "start", "--port", port, *place)
        assert (status, said) == (0, f"Already running: bootstrap.servers=127.0.0.1:{port} (pid {pid})\n")
        status, said, _ = kconnect("broker", "status", *place)
        cluster_id = Broker(tmp_path / "data").cluster_id
        assert (status, said) == (0, f"Running: bootstrap.servers=127.0.0.1:{port} (pid {pid}, cluster {cluster_id})\n")
        status, said, error = kconnect("broker", "start", "--port", port, "--data-dir", str(tmp_path / "other"))
        assert (status, said) == (1, "")
        assert error.startswith(f"kconnect: Port {port} is taken by another program: stop it, or choose another port")
        assert error.count("\n") == 1
    finally:
        assert kconnect("broker", "stop", *place) == (0, "Stopped\n", "")
    assert not psutil.pid_exists(pid)
    assert kconnect("broker", "status", *place) == (3, "Not running\n", "")
    assert kconnect("broker", "stop", *place) == (0, "Not running\n", "")
