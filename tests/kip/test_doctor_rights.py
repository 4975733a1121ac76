"""What `kconnect doctor` says of a user's rights; here, because these tests have a broker with users and rights."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, AdminClient, NewTopic

from kconnect.cli.brokers import Brokers
from kconnect.cli.checkup.brokers import check_server
from kconnect.errors import ConnectError
from kconnect.kafka.admin import committed
from tests.cli.calls import call
from tests.integration.doctored import be_patient, worker_file
from tests.integration.secured import Secured
from tests.support import wait_until

LOGIN = """security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="{}" password="{}";
"""


def rights(secured: Secured, file: str, login: Path, user: str, password: str) -> list[dict[str, Any]]:
    login.write_text(LOGIN.format(user, password))
    server = f"127.0.0.1:{secured.port}"
    called = call("doctor", "-o", "json", "-w", file, "--bootstrap-server", server, "--command-config", str(login))
    assert password not in called.out + called.err
    places = ("Rights", f"Broker {server}")
    return [each for each in json.loads(called.out)["findings"] if each["location"] in places]


def test_rights_and_logins(
    secured: Secured, tmp_path: Path, unique: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    be_patient(monkeypatch)
    name = unique("doctor-rights")
    file = worker_file(tmp_path, secured.broker.bootstrap_servers, name)
    admin = AdminClient({"bootstrap.servers": secured.broker.bootstrap_servers})
    for future in admin.create_topics([NewTopic(f"{name}-configs", 1, 1), NewTopic(f"{name}-offsets", 1, 1)]).values():
        future.result()

    # A broker that has just been started has no coordinator for a group yet, and takes its time.
    def has_coordinator() -> bool:
        try:
            committed({"bootstrap.servers": secured.broker.bootstrap_servers}, name)
        except ConnectError:
            return False
        return True

    wait_until(has_coordinator, 240)
    secured.allow("alice", f"{name}-", AclOperation.ALL)
    secured.allow_group("alice", name)
    secured.allow("bob", f"{name}-configs", AclOperation.READ)

    alice = rights(secured, file, tmp_path / "alice", "alice", "alice-secret")
    assert [each["message"] for each in alice if each["severity"] == "error"] == []
    assert f"Read on the group {name}" in [each["message"] for each in alice if each["severity"] == "ok"]

    bob = rights(secured, file, tmp_path / "bob", "bob", "bob-secret")
    errors = {each["message"]: each["remedy"] for each in bob if each["severity"] == "error"}
    assert f"Write on the topic {name}-configs: not allowed" in errors
    assert f"The user may not describe the topic {name}-offsets" in errors
    assert f"The user may not describe the group {name}" in errors
    assert errors[f"Write on the topic {name}-configs: not allowed"].endswith(f"--operation Write --topic {name}-configs")


def test_a_wrong_password(secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    be_patient(monkeypatch)
    login = tmp_path / "login"
    login.write_text(LOGIN.format("bob", "not-the-password"))
    server = f"127.0.0.1:{secured.port}"
    # The server alone: nothing tells of rights to whom it refuses, however long one waits.
    (found,) = check_server(server, Brokers(server, str(login)).client_config())
    assert (found.severity, found.check) == ("error", "sasl"), found
    assert "not-the-password" not in found.message
