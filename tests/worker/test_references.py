"""References to secrets in what connectors and tasks are started with. No broker is needed."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kconnect.api import ConfigData, ConfigProvider
from kconnect.core.state.records import TargetState
from kconnect.processes import logs
from kconnect.processes.covered import Covered
from kconnect.units.unit import Unit

from ..integration.units import MemoryHost, Numbers, Plugins, end, source_of, until

CANARY = "canary-4c1f"


class Vault(ConfigProvider):
    ttl: int | None = None
    value = CANARY
    hangs: threading.Event | None = None

    def configure(self, configs: Mapping[str, str]) -> None: ...

    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        if self.hangs is not None:
            self.hangs.wait()
        return ConfigData(dict.fromkeys(keys, self.value), self.ttl)


class Logins(source_of(Numbers)):  # type: ignore[misc]
    """Knows its password, and passes it on in another form."""

    fails = False
    shown = "password"
    started: list[dict[str, str]] = []

    def start(self, props: dict[str, str]) -> None:
        super().start(props)
        self.started.append(props)
        if self.fails:
            raise ValueError(f"refused: {props[self.shown]}")

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{**self.props, "url": f"db://{self.props['password']}@host"}]


@pytest.fixture(autouse=True)
def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_covered", Covered())
    monkeypatch.setattr(Logins, "started", [])


@pytest.fixture
def there() -> MemoryHost:
    plugins = Plugins(Logins=Logins, Vault=Vault)
    return MemoryHost("127.0.0.1:1", plugins, config_providers="v", config_providers_v_class="Vault")


@pytest.fixture
def units() -> Iterator[list[Unit]]:
    started: list[Unit] = []
    yield started
    for unit in started:
        end(unit)


CONFIG = {"connector.class": "Logins", "password": "${v:db:password}", "topic": "t", "name": "c"}


def test_a_connector_has_the_secret_and_what_it_publishes_has_the_reference(there: MemoryHost, units: list[Unit]) -> None:
    units.append(there.unit(CONFIG, task=None))
    until(lambda: there.configs)
    assert [props["password"] for props in Logins.started] == [CANARY]
    [([stored], _)] = there.configs
    assert (stored["password"], stored["url"]) == ("${v:db:password}", "db://${v:db:password}@host")
    assert CANARY not in str(there.configs)


def test_a_task_has_the_secret_of_its_own_config(there: MemoryHost, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, str]] = []

    def start(task: Numbers, props: dict[str, str]) -> None:
        seen.append(props)
        raise ValueError(f"refused: {props['url']}")

    monkeypatch.setattr(Numbers, "start", start)
    unit = there.unit({**CONFIG, "url": "db://${v:db:password}@host", "producer.override.ssl.key.password": "${v:x:y}"})
    until(lambda: "FAILED" in there.states)
    end(unit)
    assert seen[0]["url"] == f"db://{CANARY}@host"
    assert CANARY not in str(there.statuses)


def test_the_trace_of_a_failure_shows_the_reference_instead(
    there: MemoryHost, units: list[Unit], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Logins, "fails", True)
    units.append(there.unit(CONFIG, task=None))
    until(lambda: there.statuses)
    trace = there.statuses[-1][1] or ""
    assert trace.splitlines()[0].startswith("ValueError: refused: ${v:db:password} (")
    assert CANARY not in trace
    assert CANARY in caplog.text, "the control: it was in what was logged"
    assert CANARY not in logs.hide(caplog.text)


@pytest.mark.parametrize("more", [{"password": CANARY}, {"password": "x", "url": f"db://ann:{CANARY}@host"}])
def test_the_trace_of_a_failure_shows_no_secret_that_is_written_out(
    there: MemoryHost, units: list[Unit], monkeypatch: pytest.MonkeyPatch, more: dict[str, str]
) -> None:
    monkeypatch.setattr(Logins, "fails", True)
    monkeypatch.setattr(Logins, "shown", list(more)[-1])
    units.append(there.unit({**CONFIG, **more}, task=None))
    until(lambda: there.statuses)
    trace = there.statuses[-1][1] or ""
    assert trace.startswith("ValueError: refused: ")
    assert "[hidden]" in trace
    assert CANARY not in trace


@pytest.mark.parametrize("task", [None, 0])
def test_a_reference_that_can_not_be_had_fails_the_unit_with_a_sentence(
    there: MemoryHost, units: list[Unit], task: int | None
) -> None:
    units.append(there.unit({**CONFIG, "password": "literal-5 ${w:db:password}"}, task=task))
    until(lambda: there.statuses)
    assert there.states == ["FAILED"]
    trace = there.statuses[0][1] or ""
    assert trace.splitlines()[0] == (
        "org.apache.kafka.common.config.ConfigException: The setting password can't be used: ${w:db:password} can't be "
        "resolved: there is no provider w; the worker's `config.providers` names: v"
    )
    assert "literal-5" not in trace


def test_a_unit_whose_provider_hangs_can_be_stopped_and_others_start(
    there: MemoryHost, units: list[Unit], monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    monkeypatch.setattr(Vault, "hangs", released)
    stuck = there.unit(CONFIG, task=None)
    units.append(there.unit({"connector.class": "Logins", "password": "plain", "name": "other"}, task=None))
    until(lambda: there.configs)
    assert stuck.alive
    end(stuck)
    assert "FAILED" not in there.states, "it did not wait for the provider's own limit"
    assert [props["name"] for props in Logins.started] == ["other"]
    released.set()


@pytest.mark.parametrize("task", [None, 0])
def test_a_paused_connector_asks_for_no_secret(there: MemoryHost, units: list[Unit], task: int | None) -> None:
    units.append(there.unit({**CONFIG, "password": "${w:x}"}, task=task, target=TargetState.PAUSED))
    until(lambda: there.states == ["PAUSED"])
    assert units[0].expires_at is None
    units[0].set_target_state(TargetState.STARTED)
    until(lambda: there.states == ["PAUSED", "FAILED"])


@pytest.mark.parametrize(("reload", "expires"), [({}, True), ({"config.action.reload": "none"}, False)])
def test_a_ttl_says_when_a_unit_is_to_be_started_anew(
    there: MemoryHost, units: list[Unit], monkeypatch: pytest.MonkeyPatch, reload: dict[str, str], expires: bool
) -> None:
    monkeypatch.setattr(Vault, "ttl", 60_000)
    units.append(there.unit({**CONFIG, **reload}, task=None))
    until(lambda: there.configs)
    at = units[0].expires_at
    assert (at is not None) is expires
    assert at is None or 50 < at - time.monotonic() <= 60


def test_a_file_is_read_anew_at_each_start(tmp_path: Path) -> None:
    file = tmp_path / "db"
    worker: dict[str, Any] = {
        "config_providers": "f",
        "config_providers_f_class": "FileConfigProvider",
        "config_providers_f_param_allowed_paths": str(tmp_path),
    }
    there = MemoryHost("127.0.0.1:1", Plugins(Logins=Logins), **worker)
    for password in ("first-6", "second-6"):
        file.write_text(f"password={password}")
        unit = there.unit({**CONFIG, "password": f"${{f:{file}:password}}"}, task=None)
        until(lambda: "RUNNING" in there.states[-1:])
        end(unit)
    assert [props["password"] for props in Logins.started] == ["first-6", "second-6"]
