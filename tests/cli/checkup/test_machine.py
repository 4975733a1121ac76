"""What `kconnect doctor` says of this machine; each problem is provoked, and is not there without."""

from __future__ import annotations

import http.server
import importlib.util
import os
import resource
import socket
import sys
import threading
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from kconnect.cli.checkup import listening, machine, reaching
from kconnect.cli.findings import ERROR, OK, SKIPPED, WARNING, Finding
from kconnect.worker import build
from tests.cli.checkup.test_workers import worker


def one(found: Iterator[Finding], check: str) -> Finding:
    (only,) = [each for each in found if each.check == check]
    return only


def program(directory: Path, name: str, script: str) -> Path:
    made = directory / name
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(f"#!/bin/sh\n{script}\n")
    made.chmod(0o755)
    return made


# --- Java ---


@pytest.mark.process
def test_java(monkeypatch: pytest.MonkeyPatch) -> None:
    found = one(machine.check_java(), "java")
    assert (found.severity, found.message[:5]) == (OK, "Java ")


def test_no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = one(machine.check_java(), "java")
    assert found.severity == ERROR and "Java was not found: install Java 17 or newer" in found.message


def test_java_home_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = one(machine.check_java(), "java")
    assert found.severity == ERROR and f"JAVA_HOME is {tmp_path}" in found.message


@pytest.mark.process
def test_an_old_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path, "bin/java", """echo 'openjdk version "11.0.2" 2019-01-15' >&2""")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = one(machine.check_java(), "java")
    assert found.severity == ERROR and "is Java 11" in found.message and "Java 17" in found.remedy


# --- Spark ---


def test_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert one(machine.check_spark({}), "spark").severity == OK


@pytest.mark.parametrize(("version", "severity"), [(None, ERROR), ("3.5.1", ERROR), ("own", OK)])
def test_another_spark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str | None, severity: str) -> None:
    from importlib import metadata

    if version is not None:
        (tmp_path / "jars").mkdir()
        own = metadata.version("pyspark") if version == "own" else version
        (tmp_path / "jars" / f"spark-core_2.13-{own}.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    found = one(machine.check_spark({}), "spark")
    assert (found.severity, "unset SPARK_HOME" in found.remedy) == (severity, severity == ERROR), found


def test_kafkas_jars_are_not_cached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KCONNECT_CACHE", str(tmp_path))
    found = one(machine.check_spark({}), "jars")
    assert found.severity == SKIPPED and "kconnect broker start" in found.remedy


def test_a_master_that_answers_and_one_that_does_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert [found.severity for found in machine.check_master({"spark.master": f"spark://127.0.0.1:{port}"})] == [OK]
        both = {"spark.master": f"spark://127.0.0.1:{port},127.0.0.1:1"}
        assert [found.severity for found in machine.check_master(both)] == [WARNING]
    (gone,) = machine.check_master({"spark.master": "spark://127.0.0.1:1"})
    assert gone.severity == ERROR and "nothing listens there" in gone.message
    assert list(machine.check_master({})) == []


def test_yarn_that_is_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    assert list(machine.check_master({"spark.master": "yarn"})) == []
    monkeypatch.delenv("HADOOP_CONF_DIR")
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    assert one(machine.check_master({"spark.master": "yarn"}), "master").severity == ERROR


# --- Python ---


def test_this_python_and_its_libraries() -> None:
    found = list(machine.check_python({}))
    assert [(each.check, each.severity) for each in found] == [("python", OK), ("libraries", OK)], found


def test_the_client_alone_lacks_no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is installed where nobody runs a worker: what it comes without is no error there."""
    monkeypatch.setattr(build, "package", lambda: "kconnect-client")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    found = one(machine.check_spark({}), "spark")
    assert (found.severity, found.remedy) == (SKIPPED, "for a worker on this machine: pip install kconnect")
    real, asked = metadata.version, []
    monkeypatch.setattr(metadata, "requires", lambda name: asked.append(name) or ["click>=1"])
    monkeypatch.setattr(metadata, "version", lambda name: "0.1.0" if name == "kconnect-client" else real(name))
    found = one(machine.check_python({}), "libraries")
    assert asked == ["kconnect-client"]
    assert (found.severity, found.message.partition(",")[0]) == (OK, "kconnect-client 0.1.0")


def test_a_library_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "1.0" if name == "confluent-kafka" else real(name))
    found = one(machine.check_python({}), "libraries")
    assert found.severity == ERROR and "confluent-kafka is 1.0, and >=2.13 is needed" in found.message


@pytest.mark.process
@pytest.mark.parametrize(
    ("script", "severity", "said"),
    [
        (f'exec {sys.executable} "$@"', OK, "with kconnect"),
        ("echo 3 9 0.1.0 4.0.0", ERROR, "Spark refuses to run tasks like that"),
        ("echo {} 9.9.9 4.0.0".format(" ".join(map(str, sys.version_info[:2]))), WARNING, "has kconnect 9.9.9"),
        ("echo 'ModuleNotFoundError: no kconnect' >&2; exit 1", ERROR, "can't import kconnect (ModuleNotFoundError"),
    ],
    ids=["the same", "another Python", "another kconnect", "no kconnect"],
)
def test_the_executors_python(tmp_path: Path, script: str, severity: str, said: str) -> None:
    settings = {"spark.pyspark.python": str(program(tmp_path, "python", script))}
    (*_, found) = machine.check_python(settings)
    assert found.severity == severity and said in found.message, found


@pytest.mark.process
def test_no_python_for_executors() -> None:
    (*_, found) = machine.check_python({"spark.pyspark.python": "/no/such/python"})
    assert found.severity == ERROR and "can't be run" in found.message


def test_a_python_on_other_machines_can_not_be_seen() -> None:
    (*_, found) = machine.check_python({"spark.master": "spark://far:7077"})
    assert found.severity == SKIPPED and "Can't check from here" in found.message


# --- room, files ---


def test_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    here = one(machine.check_room({"spark.local.dir": str(tmp_path)}), "disk")
    assert str(tmp_path) in here.message
    assert list(tmp_path.iterdir()) == []
    gone = one(machine.check_room({"spark.local.dir": str(tmp_path / "gone")}), "disk")
    assert gone.severity == ERROR and "spark.local.dir" in gone.remedy
    # The environment goes first, as for Spark.
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},{tmp_path / 'gone'}")
    found = list(machine.check_room({"spark.local.dir": "/nowhere"}))
    assert [each.severity == ERROR for each in found][1:] == [True] and "SPARK_LOCAL_DIRS" in found[1].remedy


@pytest.mark.parametrize(("free", "severity"), [(100 << 20, ERROR), (500 << 20, WARNING), (5 << 30, OK)])
def test_little_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, severity: str) -> None:
    real = os.statvfs(tmp_path)
    # frsize, blocks, bfree, bavail: a disk of this size can't be had without being root.
    values = (real.f_bsize, 1024, 1 << 30, free // 1024, free // 1024, 1 << 20, 1 << 20, 1 << 20, 0, 255)
    monkeypatch.setattr(os, "statvfs", lambda place: os.statvfs_result(values))
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    found = one(machine.check_room({"spark.local.dir": str(tmp_path)}), "disk")
    assert found.severity == severity, found


@pytest.mark.parametrize(("limit", "severity"), [(200, ERROR), (1000, WARNING), (1024, OK)])
def test_open_files(monkeypatch: pytest.MonkeyPatch, limit: int, severity: str) -> None:
    # Not set for real: what runs beside this test may have more files open.
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limit, 1 << 20))
    found = one(machine.check_files(), "files")
    assert found.severity == severity and str(limit) in found.message


# --- ports ---


def test_ports() -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as other:
        thread = threading.Thread(target=other.handle_request, daemon=True)
        thread.start()
        port = other.server_port
        taken = one(listening.check([f"http://127.0.0.1:{port}"]), "port")
        thread.join(60)
    assert taken.severity == ERROR and f"Another program listens on 127.0.0.1:{port}" in taken.message
    free = one(listening.check([f"http://127.0.0.1:{port}"]), "port")
    assert free.severity == OK and "is free" in free.message
    foreign = one(listening.check(["http://192.0.2.1:18083"]), "port")
    assert foreign.severity == ERROR and "name an address of this machine" in foreign.remedy


@pytest.mark.parametrize(
    ("root", "said"),
    [
        ({"version": "2.8.2", "commit": "x", "kafka_cluster_id": "abc"}, (OK, "A worker listens on 127.0.0.1:")),
        ({"tagline": "You know, for search"}, (ERROR, "Another program listens on 127.0.0.1:")),
    ],
)
def test_a_worker_without_health_is_known_by_its_root(root: dict[str, str], said: tuple[str, str]) -> None:
    with worker(lambda path: (200, root) if path == "/" else (404, {"message": "HTTP 404 Not Found"})) as url:
        found = one(listening.check([url]), "port")
    assert (found.severity, said[1] in found.message) == (said[0], True), found


def test_a_way_that_leads_nowhere() -> None:
    assert "nothing listens there" in str(reaching.problem("127.0.0.1", 1, 5.0))
    with pytest.raises(reaching.Unreachable) as error:
        reaching.reach("no-such-host.invalid", 9092, 5.0)
    assert error.value.stage == reaching.DNS
