"""What `kconnect doctor` advises where a machine, a worker or a broker is as few are; each is provoked by its cause."""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kconnect.cli.checkup import brokers, listening, machine, reaching, workers
from kconnect.cli.findings import ERROR, SKIPPED, WARNING, Finding
from kconnect.errors import ForbiddenError, NotFoundError, UnavailableError
from kconnect.kafka import probe


def one(found: Iterable[Finding], check: str) -> Finding:
    (only,) = [each for each in found if each.check == check]
    return only


# --- this machine ---


def test_there_is_no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    found = one(machine.check_spark({}), "spark")
    assert (found.severity, found.remedy) == (ERROR, "install kconnect with its dependencies")


def test_pyspark_is_without_its_jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = ModuleSpec("pyspark", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    found = one(machine.check_spark({}), "spark")
    assert found.severity == ERROR and f"in {tmp_path} is without its jars" in found.message
    assert found.remedy == "reinstall it: pip install --force-reinstall pyspark"


def test_packages_are_fetched_at_each_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    found = [each for each in machine.check_spark({"spark.jars.packages": "a:b:1"}) if each.check == "spark"][-1]
    assert found.severity == SKIPPED and "a:b:1" in found.message and "Maven can be reached" in found.remedy


def test_a_python_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    found = next(machine.check_python({}))
    assert (found.severity, found.remedy) == (ERROR, "use Python 3.10 to 3.13")


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/proc").is_dir(), reason="there is no /proc, where nobody may write")
def test_a_folder_that_nobody_may_write_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    found = one(machine.check_room({"spark.local.dir": "/proc/self"}), "disk")
    assert found.severity == ERROR and "can't write into /proc/self" in found.message and "spark.local.dir" in found.remedy


def test_a_disk_without_room_for_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    state = SimpleNamespace(f_bavail=10**9, f_frsize=4096, f_files=10**6, f_favail=9_999)
    monkeypatch.setattr(os, "statvfs", lambda path: state)
    found = one(machine.check_room({"spark.local.dir": str(tmp_path)}), "disk")
    assert found.severity == WARNING and found.message.startswith("Only 9999 more files fit")


def test_a_port_that_only_root_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: socket.socket, address: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    found = one(listening.check(["http://127.0.0.1:80"]), "port")
    assert (found.severity, found.remedy) == (ERROR, "choose a port above 1023 in listeners")


# --- workers ---


def test_a_worker_without_hosts() -> None:
    cluster = {"leader": "w0", "workers": [{"worker_id": "w0", "url": "http://w0", "hosts": []}]}
    found = list(workers._of_cluster(cluster))[-1]
    assert (found.severity, found.message) == (WARNING, "w0 has no task host: nothing runs on it")
    assert "see its log for Spark's messages" in found.remedy


def test_nobody_leads() -> None:
    (found,) = workers._of_cluster({"leader": None, "workers": []})
    assert found.severity == WARNING and "Nobody leads" in found.message and "log" in found.remedy


# --- brokers ---


def test_what_is_no_address() -> None:
    (found,) = brokers.check_server("nonsense", {})
    assert (found.severity, found.remedy) == (ERROR, "correct bootstrap.servers")


def test_a_broker_sends_clients_where_they_can_t_go(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as closed:
        port, nobody = server.getsockname()[1], closed.getsockname()[1]
        closed.close()
        monkeypatch.setattr(probe, "greet", lambda *_: SimpleNamespace(brokers=[(3, "127.0.0.1", nobody)], cluster_id="c"))
        found = one(brokers.check_server(f"127.0.0.1:{port}", {}), "advertised")
    assert f"sends clients on to broker 3 at 127.0.0.1:{nobody}" in found.message
    assert found.remedy.startswith("correct advertised.listeners of that broker")


@pytest.mark.parametrize(
    ("stage", "check", "remedy"),
    [
        (probe.SETTINGS, "protocol", "correct the settings"),
        (probe.LOGIN, "sasl", "correct sasl.mechanism and sasl.jaas.config"),
        (probe.TLS, "tls", "correct ssl.truststore."),
        (probe.PROTOCOL, "protocol", "correct security.protocol"),
    ],
)
def test_a_broker_that_refuses(stage: str, check: str, remedy: str) -> None:
    found = brokers._refused("Broker b", "SASL_SSL", probe.RefusedError(stage, "no"))
    assert (found.check, found.severity) == (check, ERROR) and found.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("allowed", "may_create", "severity", "words", "remedy"),
    [
        (NotFoundError("x"), True, SKIPPED, "does not exist yet; a worker creates it", ""),
        (NotFoundError("x"), False, WARNING, "Create on the cluster is not allowed", "allow the user to create it"),
        (ForbiddenError("x"), True, ERROR, "may not describe the topic t", "--operation Read --operation Write --topic t"),
        ({"Read"}, True, ERROR, "Write on the topic t: not allowed", "--operation Write --topic t"),
    ],
)
def test_rights_on_a_topic(allowed: Any, may_create: bool, severity: str, words: str, remedy: str) -> None:
    (found,) = brokers._rights_of_topic("t", allowed, may_create)
    assert found.severity == severity and words in found.message and remedy in found.remedy


@pytest.mark.parametrize(
    ("answer", "severity", "words", "remedy"),
    [
        (set(), ERROR, "Read on the group g: not allowed", "--operation Read --group g"),
        (ForbiddenError("no"), ERROR, "may not describe the group g", "--operation Read --group g"),
        (UnavailableError("No coordinator"), SKIPPED, "as in a cluster that has just been started", "ask again"),
    ],
)
def test_rights_on_a_group(answer: Any, severity: str, words: str, remedy: str) -> None:
    def on_group(name: str) -> set[str]:
        if isinstance(answer, Exception):
            raise answer
        return set(answer)

    rights: Any = SimpleNamespace(on_group=on_group)
    found = brokers._rights_of_group(rights, "g")
    assert found.severity == severity and words in found.message and remedy in found.remedy


def test_the_place_of_a_name_that_nobody_knows() -> None:
    (found,) = brokers.check_server("nowhere.invalid:9092", {})
    assert (found.check, found.remedy) == (reaching.DNS, "correct bootstrap.servers, or the name server")
