"""Which Spark settings are ours, which the user's, and that none of them is on a command line."""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path

import pytest

from kconnect.java import properties
from kconnect.spark import session, sizes


def test_the_user_chooses_but_for_what_hosts_rest_on(caplog: pytest.LogCaptureFixture) -> None:
    user = {"spark.master": "spark://h.invalid:7077", "spark.executor.memory": "2g", "spark.speculation": "true"}
    with caplog.at_level(logging.WARNING):
        found = session.settings(user, "a.b", 2)
    assert found["spark.master"] == "spark://h.invalid:7077"
    assert found["spark.executor.memory"] == "2g"
    assert found["spark.speculation"] == "false"
    assert "spark.speculation" in caplog.text
    assert "spark.driver.host" not in found, "no way to that master: Spark's own choice stands"


def test_a_local_driver_listens_on_loopback_only() -> None:
    assert session.settings({}, "", 2)["spark.driver.bindAddress"] == "127.0.0.1"


@pytest.mark.parametrize(
    ("user", "found", "warned"),
    [
        ({}, "true", False),
        ({"spark.master": "local[4]", "spark.authenticate": "false"}, "false", False),
        ({"spark.master": "spark://127.0.0.1:7077"}, None, True),
        ({"spark.master": "spark://127.0.0.1:7077", "spark.authenticate": "true"}, "true", False),
        ({"spark.master": "yarn", "spark.authenticate": "false"}, "false", False),
    ],
)
def test_spark_asks_who_calls_or_the_log_says_that_it_does_not(
    user: dict[str, str], found: str | None, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    assert session.settings(user, "", 2).get("spark.authenticate") == found
    assert ("spark.authenticate is not set" in caplog.text) == warned


@pytest.mark.parametrize(
    ("master", "cores", "hosts"),
    [
        ("spark://h:7077", 4, 3),
        ("spark://h:7077", 1, 1),
        ("local[*]", 4, 4),
        ("yarn", 4, 4),
        ("", 2, 2),
        ("spark://h:7077", None, 1),
    ],
)
def test_a_standalone_cluster_has_room_for_plugins(
    master: str, cores: int | None, hosts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    spark = {"spark.master": master} if master else {}
    assert (sizes.hosts(None, spark), sizes.hosts((2, 7), spark)) == ((hosts, hosts), (2, 7))


def test_the_application_has_the_worker_s_name_unless_the_user_has_given_one() -> None:
    assert session.settings({}, "", 1, (), "kconnect g a:1")["spark.app.name"] == "kconnect g a:1"
    assert session.settings({"spark.app.name": "mine"}, "", 1, (), "kconnect g a:1")["spark.app.name"] == "mine"


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ({"spark.master": "local[4]"}, {}),
        ({"spark.master": "spark://127.0.0.1:7077"}, {"spark.cores.max": "4"}),
        ({"spark.master": "spark://127.0.0.1:7077", "spark.task.cpus": "2"}, {"spark.cores.max": "8"}),
        ({"spark.master": "spark://127.0.0.1:7077", "spark.cores.max": "1"}, {"spark.cores.max": "1"}),
        ({"spark.master": "yarn"}, {"spark.executor.instances": "3"}),
        ({"spark.master": "k8s://h", "spark.executor.cores": "2"}, {"spark.executor.instances": "2"}),
        ({"spark.master": "k8s://h", "spark.executor.instances": "9"}, {"spark.executor.instances": "9"}),
    ],
)
def test_each_host_has_a_slot_and_others_keep_theirs(user: dict[str, str], expected: dict[str, str]) -> None:
    found = session.settings(user, "", 3)
    assert {key: found[key] for key in ("spark.cores.max", "spark.executor.instances") if key in found} == expected


@pytest.mark.parametrize("master", ["spark://127.0.0.1:7077", "spark://h.invalid:7077,127.0.0.1:7077"])
def test_the_driver_is_where_the_way_to_the_master_begins(master: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    monkeypatch.delenv("SPARK_LOCAL_HOSTNAME", raising=False)
    assert session.settings({"spark.master": master}, "", 1)["spark.driver.host"] == "127.0.0.1"
    assert session.settings({"spark.master": master, "spark.driver.host": "d"}, "", 1)["spark.driver.host"] == "d"
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.2")
    assert "spark.driver.host" not in session.settings({"spark.master": master}, "", 1)


def test_a_session_s_properties_are_on_no_disk_where_a_kill_would_leave_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with session._properties(b"spark.canary=secret\n") as file:
        # As Spark's launcher looks at it.
        assert Path(file).is_file() and Path(file).read_bytes() == b"spark.canary=secret\n"
        assert list(tmp_path.iterdir()) == []
    assert not Path(file).exists()


@pytest.mark.parametrize("text", ["local[64,8]", "a=b:c d#!\\", "é€😀", "-XX:+UseSerialGC -Xss512k"])
def test_texts_survive_the_properties_file(text: str) -> None:
    line = f"{session._escape('spark.key')}={session._escape(text)}\n"
    assert line.isascii()
    assert properties.load(line) == {"spark.key": text}


def test_a_machine_that_is_gone_is_noticed_soon_unless_the_user_says_when() -> None:
    """Spark refuses times that do not fit together, so nobody's are mixed with ours."""
    heartbeat = "spark.executor.heartbeatInterval"
    assert session.settings({"spark.master": "spark://a:7077"}, "", 1)[heartbeat] == "4s"
    assert session.settings({"spark.master": "yarn"}, "", 1)["spark.storage.blockManagerHeartbeatTimeoutMs"] == "20s"
    assert heartbeat not in session.settings({"spark.master": "local[2]"}, "", 1)
    assert heartbeat not in session.settings({"spark.master": "yarn", "spark.network.timeout": "3s"}, "", 1)
