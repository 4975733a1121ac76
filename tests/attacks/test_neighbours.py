"""Attacks by another user of the machine on which a worker runs: on what its processes listen at, and on what they unpack."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kconnect import interpreter, peers, private_folder
from kconnect.private_folder import PrivateFolder

STRANGER = 65534
SILENT = """
import socket, sys
connected = []
for _ in range(int(sys.argv[2])):
    connected.append(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
print(connected[0].recv(4).hex(), flush=True)
sys.stdin.read()
"""
PYTHON = "/usr/bin/python3"
"""One that every user may run; that of the tests lies in the home of another one."""
by_root = pytest.mark.skipif(
    os.getuid() != 0 or not os.access(PYTHON, os.X_OK), reason="only root starts processes of other users"
)


@pytest.fixture
def daemon() -> Iterator[tuple[psutil.Process, int]]:
    """Spark's daemon, and its port."""
    environment = {**os.environ, "PYTHON_WORKER_FACTORY_SECRET": "secret"}
    command = interpreter.command("kconnect.spark.daemon", "pyspark.worker")
    # It makes itself a group of its own, all of which it signals at its end.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None and process.stdout is not None
        (port,) = struct.unpack(">i", process.stdout.read(4))
        yield psutil.Process(process.pid), port
        process.stdin.close()


@pytest.mark.process
def test_the_control_this_user_has_a_process_started(daemon: tuple[psutil.Process, int]) -> None:
    """The control: a process of this user is answered with the number of the one that was started for it."""
    process, port = daemon
    with socket.create_connection(("127.0.0.1", port)) as connected:
        (number,) = struct.unpack(">i", connected.recv(4, socket.MSG_WAITALL))
        assert number in [child.pid for child in process.children()]


@by_root
@pytest.mark.process
def test_a_stranger_has_no_process_started(daemon: tuple[psutil.Process, int]) -> None:
    """Another user connects to the daemon very often, and says nothing: no process is started, and others are answered."""
    process, port = daemon
    command = [PYTHON, "-I", "-c", SILENT, str(port), "50"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=STRANGER, text=True) as stranger:
        assert stranger.stdout is not None and stranger.stdin is not None
        assert stranger.stdout.readline() == "\n", "nothing is said to it"
        assert process.children() == []
        with socket.create_connection(("127.0.0.1", port)) as connected:
            assert connected.recv(4, socket.MSG_WAITALL)
        stranger.stdin.close()


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")])
def test_a_connection_belongs_to_a_user(family: int, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """JVMs connect by sockets of IPv6: they are found, too. One that was closed is nobody's."""
    assert peers.is_known()
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(family) as connected:
        connected.connect((host, listener.getsockname()[1]))
        accepted, _ = listener.accept()
        with accepted:
            assert peers.is_ours(accepted)
            monkeypatch.setattr(os, "getuid", lambda: STRANGER)
            assert not peers.is_ours(accepted)
            monkeypatch.undo()
            connected.close()
            assert not peers.is_ours(accepted)


def test_a_local_socket_belongs_to_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for sockets of a file."""
    one, other = socket.socketpair()
    with one, other:
        assert peers.is_ours(one)
        monkeypatch.setattr(os, "getuid", lambda: STRANGER)
        assert not peers.is_ours(one)


def test_who_accepts_looks_again_after_a_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark's daemon goes on after an interruption, and would end after any other error."""
    with peers.Guarded(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        monkeypatch.setattr(os, "getuid", lambda: STRANGER)
        with socket.create_connection(listener.getsockname()) as connected:
            with pytest.raises(InterruptedError):
                listener.accept()
            assert connected.recv(1) == b""
        monkeypatch.undo()
        with socket.create_connection(listener.getsockname()):
            listener.accept()[0].close()


# What JVMs unpack.


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_is_one_user_s_alone(temporary: Path) -> None:
    """Nobody else writes there, or makes one of its name before."""
    first, second = private_folder.made(), private_folder.made()
    assert first.path != second.path
    assert Path(first.path).parent == temporary and Path(first.path).stat().st_mode & 0o777 == 0o700
    for folder in (first, second):
        os.close(folder.descriptor)


def test_what_was_left_is_taken_away_and_what_is_held_is_not(temporary: Path) -> None:
    """A process that is killed leaves its folder: the next one removes it, but none of a process that lives, however old."""
    held, left, fresh = private_folder.made(), private_folder.made(), private_folder.made()
    os.close(left.descriptor)
    os.close(fresh.descriptor)
    (elsewhere := temporary / "elsewhere").mkdir()
    (elsewhere / "file").touch()
    (link := temporary / f"{private_folder.PREFIX}link").symlink_to(elsewhere)
    Path(left.path, "lib.so").touch()
    old = time.time() - 2 * 86_400
    for folder in (held, left):
        os.utime(folder.path, (old, old))
    os.utime(link, (old, old), follow_symlinks=False)
    os.close(private_folder.made().descriptor)
    assert not Path(left.path).exists()
    assert Path(held.path).exists() and Path(fresh.path).exists() and (elsewhere / "file").exists()
    os.close(held.descriptor)


@pytest.mark.parametrize(
    ("path", "options", "expected"),
    [
        ("/tmp/a", "-Xmx1g", "-Xmx1g -Djava.io.tmpdir=/tmp/a"),
        ("/tmp/a", "", "-Djava.io.tmpdir=/tmp/a"),
        ("/tmp/a b", "-Xmx1g", '-Xmx1g "-Djava.io.tmpdir=/tmp/a b"'),
        ('/tmp/"a', "", '"-Djava.io.tmpdir=/tmp/\\"a"'),
        ("/tmp/a", "-Djava.io.tmpdir=/mine", "-Djava.io.tmpdir=/mine"),
    ],
)
def test_spark_is_told_a_folder_unless_the_user_names_one(path: str, options: str, expected: str) -> None:
    assert PrivateFolder(path, -1).added_to(options) == expected


class Settings(dict[str, str]):
    """Hadoop's, as Py4J has them."""

    getRaw = dict.get

    def set(self, name: str, value: str) -> None:
        self[name] = value


@pytest.mark.parametrize(
    ("named", "expected"),
    [("/tmp/hadoop-${user.name}", "/tmp/a/hadoop"), ("/mine", "/mine"), ("${java.io.tmpdir}/x", "${java.io.tmpdir}/x")],
)
def test_hadoop_puts_aside_what_it_sends_where_nobody_else_reads_unless_the_user_names_a_folder(
    named: str, expected: str
) -> None:
    settings = Settings({"hadoop.tmp.dir": named})
    PrivateFolder("/tmp/a", -1).lend_to_hadoop(settings)
    assert settings == {"hadoop.tmp.dir": expected}


SPARK = """
from kconnect.spark import output, session
context = session.start({"spark.ui.enabled": "false"}, "", 1, output.Output())
print("IS", context._jvm.java.lang.System.getProperty("java.io.tmpdir"))
print("HADOOP", context._jsc.hadoopConfiguration().get("hadoop.tmp.dir"))
context.stop()
"""
PLUGINS = """
from kconnect.jvm import machine
machine.start()
import jpype
print("IS", jpype.java.lang.System.getProperty("java.io.tmpdir"))
print("HADOOP", jpype.java.lang.System.getProperty("hadoop.tmp.dir"))
"""


@pytest.mark.long
@pytest.mark.process
@pytest.mark.parametrize("code", [SPARK, PLUGINS], ids=["spark", "plugins"])
def test_no_jvm_unpacks_where_others_may_write(code: str, tmp_path: Path) -> None:
    """
    Libraries of Java's unpack native code by names that can be foretold: whoever may write to that folder had another library
    loaded in its place (a pipe by its name holds up who writes it for as long as that takes).
    """
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, stdout=subprocess.PIPE, text=True, timeout=300, check=True
    )
    said = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if line.startswith(("IS ", "HADOOP ")))
    folder = Path(said["IS"])
    assert folder.parent == tmp_path and folder.name.startswith(private_folder.PREFIX)
    # What Hadoop's clients of stores are about to send: all users could read it in /tmp, and its owner change it.
    assert said["HADOOP"] == f"{folder}/hadoop"
    assert {path.name for path in tmp_path.iterdir() if path.name.startswith("liblz4")} == set()


GATEWAY = """
import pathlib, socket, subprocess, sys, threading
from py4j.java_gateway import JavaObject
from kconnect import doorman
from kconnect.spark import output, session
python, code, stranger, folder = sys.argv[1:]
file = pathlib.Path(folder, "cache", "doorman.class")
doorman.file = lambda: file
context = session.start({"spark.ui.enabled": "false"}, "", 1, output.Output())
whole, compiled_at = file.read_bytes(), file.stat().st_mtime_ns
# What the JVM answers by then is the class that was compiled, or one that was kept.
doorman.post(context._gateway)
assert file.stat().st_mtime_ns == compiled_at
for damaged in (b"", whole[:40], whole[:-1], whole[:40] + b"?" + whole[41:]):
    file.write_bytes(damaged)
    doorman.post(context._gateway)
    assert file.read_bytes() == whole
port = JavaObject("GATEWAY_SERVER", context._gateway._gateway_client).getListeningPort()
if stranger:
    subprocess.run([python, "-I", "-c", code, str(port), "300"], stdin=subprocess.DEVNULL, user=int(stranger), check=True)
# Each thread of Python has a connection of its own.
found = []
thread = threading.Thread(target=lambda: found.append(context._jvm.java.lang.Thread.getAllStackTraces().size()))
thread.start()
thread.join()
print("IS", found[0])
context.stop()
"""
ENDED = """
import socket, sys
connected = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(int(sys.argv[2]))]
for each in connected:
    each.settimeout(60)
    assert each.recv(1) == b""
"""


@pytest.mark.process
@pytest.mark.parametrize("stranger", ["", pytest.param(str(STRANGER), marks=by_root)])
def test_a_stranger_takes_no_threads_of_spark(stranger: str, tmp_path: Path) -> None:
    """
    Another user connects to Py4J's port 300 times, and says nothing: each connection is ended. This user is answered. The
    class that does it is compiled once, and again if what was kept is damaged.
    """
    command = [sys.executable, "-P", "-c", GATEWAY, PYTHON, ENDED, stranger, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "Other users of this machine" not in done.stderr
    threads = int(next(line for line in done.stdout.splitlines() if line.startswith("IS ")).removeprefix("IS "))
    assert threads < 200
