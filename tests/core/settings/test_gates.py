"""Kafka's own gates in a JVM: closed unless the worker's file or the operator's options open them."""

from __future__ import annotations

from kconnect.core.settings import gates
from kconnect.core.settings.worker import WorkerSettings
from tests.core.settings.test_worker import MINIMAL


def test_they_are_closed_by_default() -> None:
    _, more = WorkerSettings.from_properties(MINIMAL, {}).java
    assert more == []
    flags = gates.flags(more)
    assert f"-D{gates.URLS}=" in flags
    assert f"-D{gates.FILES}=" in flags
    assert f"-D{gates.PROVIDERS}=none" in flags
    [modules] = [flag for flag in flags if flag.startswith(f"-D{gates.ALLOWED_MODULES}=")]
    assert "PlainLoginModule" in modules
    assert "Jndi" not in modules


def test_an_operator_s_option_wins() -> None:
    flags = gates.flags([f"-D{gates.URLS}=https://login.example.com/token", "-Xss1m"])
    assert not [flag for flag in flags if gates.URLS in flag]
    assert len(flags) == 3


def test_the_worker_s_list_opens_them() -> None:
    unsafe = {"connector.client.config.override.unsafe.allowlist": "sasl.jaas.config,config.providers"}
    _, more = WorkerSettings.from_properties({**MINIMAL, **unsafe}, {}).java
    flags = [*gates.flags(more), *more]
    assert not [flag for flag in flags if flag.startswith(f"-D{gates.ALLOWED_MODULES}")]
    assert f"-D{gates.DISALLOWED_MODULES}=" in flags
    assert f"-D{gates.PROVIDERS}=none" not in flags
