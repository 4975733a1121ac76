"""`kconnect doctor` with files that can't be used: they are findings, and what needs none of them is looked at all the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kconnect.cli import findings, terminal
from kconnect.cli.brokers import Brokers
from kconnect.cli.checkup import doctor
from kconnect.local.broker import free_port
from tests.cli.calls import call
from tests.integration.doctored import be_patient, worker_file

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "No such file or directory"),
        (b"a=\xff", "not UTF-8"),
        (b"group.id=x\n", "It does not set bootstrap.servers"),
        (b"bootstrap.servers=localhost:1\nsession.timeout.ms=soon\n", "session.timeout.ms"),
        (b"bootstrap.servers=localhost:1\nsasl.jaas.config=canary-7\n", "The login module must be one of"),
        (
            b"bootstrap.servers=localhost:1\nsasl.jaas.config=${file:/no/such/file:key}\nconfig.providers=file\n"
            b"config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider\n",
            "/no/such/file",
        ),
    ],
)
def test_a_worker_file_that_can_not_be_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: bytes | None, told: str
) -> None:
    be_patient(monkeypatch)
    file = tmp_path / "worker.properties"
    if text is not None:
        file.write_bytes(text)
    url = f"http://127.0.0.1:{free_port()}"
    called = call("doctor", "-o", "json", "-w", str(file), "--url", url)
    found = json.loads(called.out)["findings"]
    assert (called.status, "canary" in called.out) == (1, False)
    wrong = found[0]
    assert (wrong["severity"], wrong["check"], wrong["location"]) == ("error", "files", f"File {file}")
    assert told in wrong["message"]
    assert {"java", "spark", "worker"} <= {each["check"] for each in found}
    assert not [each for each in found if "failed (" in each["message"]], found


def test_a_worker_file_s_own_listener_is_asked_and_what_is_unknown_is_named(tmp_path: Path) -> None:
    names = {"gruop.id": "x", "no.such.setting": "x"}
    brokers = Brokers(worker_file=worker_file(tmp_path, "127.0.0.1:1", "own", listeners="http://:8099,https://:8443", **names))
    assert doctor._url(brokers.settings.raw) == "http://localhost:8099"
    assert doctor._url({**brokers.settings.raw, "listeners": "HTTP://[::1]:8099"}) == "http://[::1]:8099"
    assert doctor._url({**brokers.settings.raw, "listeners": "nonsense"}) == doctor._url({}) == "http://localhost:8083"
    _, *unknown = doctor._starts_with_it(brokers, "the file")
    assert {each.message: each.remedy for each in unknown} == {
        "The setting gruop.id is unknown, and has no effect": "did you mean group.id?",
        "The setting no.such.setting is unknown, and has no effect": "take it out, or see docs/operating.md for what there is",
    }


def test_what_kafka_connect_would_refuse_and_this_does_not_is_said(tmp_path: Path) -> None:
    brokers = Brokers(worker_file=worker_file(tmp_path, "127.0.0.1:1", "own", **{"plugin.path": f"{tmp_path},,{tmp_path}"}))
    _, passed_over = doctor._starts_with_it(brokers, "the file")
    assert passed_over.message == "Configuration 'plugin.path' values must not be empty. Kafka Connect 4 would not start"
    assert passed_over.remedy == "take out the comma that is too many"
    brokers = Brokers(worker_file=worker_file(tmp_path, "kafka", "own"))
    _, no_port = doctor._starts_with_it(brokers, "the file")
    assert no_port.message == "Invalid url in bootstrap.servers: kafka. Kafka Connect 4 would not start"
    assert no_port.remedy == "write it as kafka:9092"


def test_what_is_wrong_with_plugins_is_a_finding(tmp_path: Path) -> None:
    missing = tmp_path / "not there"
    brokers = Brokers(worker_file=worker_file(tmp_path, "127.0.0.1:1", "own", **{"plugin.path": str(missing)}))
    (found,) = [each for each in doctor._plugins(brokers) if str(missing) in each.location]
    assert (found.severity, found.remedy) == ("error", "create the directory, or remove it from plugin.path")


def test_a_worker_file_s_own_converters_are_looked_for(tmp_path: Path) -> None:
    names = {"value.converter": "StringConvertor", "key.converter": "StringConverter"}
    brokers = Brokers(worker_file=worker_file(tmp_path, "127.0.0.1:1", "own", **names))
    (wrong,) = doctor._missing_converters(brokers.settings)
    assert wrong.severity == "error" and "Invalid value StringConvertor for configuration value.converter" in wrong.message


def test_a_worker_file_that_lacks_what_a_worker_must_have(tmp_path: Path) -> None:
    file = tmp_path / "worker.properties"
    file.write_text(f"bootstrap.servers=127.0.0.1:{free_port()}\ngroup.id=x\n")
    called = call("doctor", "-o", "json", "-w", str(file), "--url", f"http://127.0.0.1:{free_port()}")
    assert called.status == 1
    wrong, *others = json.loads(called.out)["findings"]
    assert (wrong["severity"], wrong["location"]) == ("error", f"File {file}")
    assert 'Missing required configuration "config.storage.topic"' in wrong["message"]
    assert "group.id" not in wrong["message"]
    assert {"java", "connection"} <= {each["check"] for each in others}
    # The control: with them it is one that a worker starts with.
    called = call("doctor", "-o", "json", "-w", worker_file(tmp_path, "127.0.0.1:1", "whole"), "--url", "http://127.0.0.1:1")
    assert json.loads(called.out)["findings"][0]["severity"] == "ok"


@pytest.mark.parametrize("severity", [findings.OK, findings.SKIPPED, findings.WARNING, findings.ERROR])
def test_a_severity_s_colour_is_none_that_is_written_as_text(severity: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What commands write is kept from the terminal, but for a few colours."""
    terminal.guard()
    findings.write([findings.Finding(severity, "check", "Here", "It is so")])
    assert capsys.readouterr().out == f"Here\n  {severity}: It is so\n"
