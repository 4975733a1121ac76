"""Validation of configs with references to secrets, in the sandbox: what validators see, and what nobody else does."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kconnect.errors import ConfigError, ConnectError
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from tests.rig.systems.plugin_packages import PluginPackage
from tests.support import wait_until

pytestmark = pytest.mark.process

CANARY = "canary-7e42"

CODE = '''
import time
from kconnect.api import Config, ConfigData, ConfigDef, ConfigError, ConfigKey, ConfigProvider, ConfigValue, OneOf
from kconnect.api import Range, SourceConnector, SourceTask, Type


def starts_with_x(name, value):
    if not value.startswith("x"):
        raise ConfigError(name, value, f"{value} must start with x")


class Telling(SourceConnector):
    """Tells whatever it gets to know, in every way that it has."""
    def version(self): return "1"
    def start(self, props): ...
    def stop(self): ...
    def task_class(self): return SourceTask
    def task_configs(self, max_tasks): return [{}]
    def config(self):
        return ConfigDef(ConfigKey("login", Type.STRING, ""), ConfigKey("secret", Type.PASSWORD, None),
                         ConfigKey("rows", Type.INT, 1, validator=Range.at_least(1)),
                         ConfigKey("must", Type.STRING, "x", validator=starts_with_x))
    def validate(self, props):
        print("printed", props.get("login"), flush=True)
        found = super().validate(props)
        login = props.get("login", "")
        if login == "raise-canary-7e42":
            raise ValueError(f"no {login}")
        values = {value.name: value for value in found.values}
        values["login"].errors.append(f"{login} is refused, {login!r}")
        values["rows"].recommended_values = [login]
        return Config([*values.values(), ConfigValue("made.up", f"of {login}", errors=[f"made of {login}"])])


class Vault(ConfigProvider):
    def configure(self, configs): self.given = configs
    def get(self, path, keys):
        if path == "hang":
            time.sleep(600)
        found = {"canary": "canary-7e42", "raise": "raise-canary-7e42", "none": "0", "param": self.given.get("token", "")}
        return ConfigData({key: found[key] for key in keys if key in found})
'''

WORKER = {
    "config.providers": "v,env",
    "config.providers.v.class": "Vault",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "config.providers.env.param.allowlist.pattern": "APP_.*",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    root = tmp_path_factory.mktemp("telling")
    entries = {"kconnect.connectors": {"Telling": "telling:Telling"}, "kconnect.config_providers": {"Vault": "telling:Vault"}}
    PluginPackage("telling", "1", {"telling.py": CODE}, entries).unpack(root / "telling")
    made = Sandbox(Registry.scan([str(root)]), [str(root)], timeout=30, provider_settings=WORKER)
    yield made
    made.close()


def rows(infos: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["value"]["name"]: row["value"] for row in infos["configs"] if row["value"]}


def ask(sandbox: Sandbox, **config: str) -> dict[str, Any]:
    return sandbox.validate("Telling", {"name": "c", "connector.class": "Telling", **config})


def test_validators_get_values_and_the_answer_has_references(told: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        plain = ask(told, login=CANARY)
        assert f"{CANARY} is refused" in str(plain), "the control: without a reference it is told"
        # What a child prints is logged by a thread of its own, which hides what is a secret by then.
        wait_until(lambda: sum(line.startswith("printed") for line in caplog.messages) == 1)
        infos = ask(told, login="${v:canary}", secret="${v:canary}", must="${v:canary}")
        wait_until(lambda: sum(line.startswith("printed") for line in caplog.messages) == 2)
    assert CANARY not in str(infos)
    found = rows(infos)
    assert found["login"]["value"] == found["secret"]["value"] == found["must"]["value"] == "${v:canary}"
    assert found["login"]["errors"] == ["${v:canary} is refused, '${v:canary}'"]
    assert found["must"]["errors"] == ["Invalid value ${v:canary} for configuration must: ${v:canary} must start with x"]
    assert found["rows"]["recommended_values"] == ["${v:canary}"]
    assert (found["made.up"]["value"], found["made.up"]["errors"]) == ("of ${v:canary}", ["made of ${v:canary}"])
    assert infos["error_count"] == 3
    printed = [line for line in caplog.messages if line.startswith("printed")]
    assert printed == [f"printed {CANARY}", "printed [hidden]"]


def test_a_version_that_is_not_there_does_not_bring_values_out(told: Sandbox) -> None:
    """The other way through validation: nothing is known of the connector but its framework's settings."""
    answer = ask(told, **{"connector.plugin.version": "9.9", "topics": "${v:p:canary}", "tasks.max": "${v:p:canary}"})
    assert "9.9" in str(rows(answer)["connector.plugin.version"]["errors"])
    assert rows(answer)["tasks.max"]["value"] == "${v:p:canary}"
    assert CANARY not in str(answer)


def test_a_value_is_checked_for_what_it_stands_for_however_short_it_is(told: Sandbox) -> None:
    found = rows(ask(told, rows="${v:none}", **{"tasks.max": "${v:none}"}))
    assert found["rows"]["errors"] == ["Invalid value ${v:none} for configuration rows: Value must be at least 1"]
    assert found["tasks.max"]["value"] == "${v:none}"
    assert found["tasks.max"]["errors"] == ["Invalid value ${v:none} for configuration tasks.max: Value must be at least 1"]


def test_what_can_not_be_resolved_is_said_of_its_setting_and_nothing_else_is(told: Sandbox) -> None:
    infos = ask(told, rows="${v:db:nope}", login="x", **{"producer.override.sasl.password": "${w:a:b}"})
    found = rows(infos)
    assert found["rows"]["errors"] == [
        "${v:db:nope} can't be resolved: the provider v has no key nope at the path db, or does not allow access to it"
    ]
    assert found["producer.override.sasl.password"]["errors"] == [
        "${w:a:b} can't be resolved: there is no provider w; the worker's `config.providers` names: v, env"
    ]
    assert infos["error_count"] == len([error for row in found.values() for error in row["errors"]])


def test_a_variable_that_the_worker_does_not_allow(told: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    found = rows(ask(told, login="${env:PATH}"))
    assert "does not allow access to it" in found["login"]["errors"][0]


def test_what_a_plugin_raises_does_not_quote_it(told: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), pytest.raises(ConnectError) as raised:
        ask(told, login="${v:raise}")
    with caplog.at_level(logging.INFO):
        wait_until(lambda: "ValueError: no" in caplog.text)
    assert str(raised.value).endswith("ValueError: no ${v:raise}")
    assert "raise-canary" not in caplog.text


def test_settings_that_the_worker_reads_itself(told: Sandbox) -> None:
    found = rows(ask(told, **{"tasks.weight": "${v:none}"}))
    (message,) = found["tasks.weight"]["errors"]
    assert "the worker itself reads this setting" in message


def test_a_provider_that_hangs_costs_one_request(told: Sandbox) -> None:
    ask(told)  # warm: the limit below is for the provider, not for Python
    # The limit of the request is below that of a provider.
    with pytest.raises(ConnectError, match=r"did not answer within 5 s: Vault at the stage get\(\)"):
        told.validate("Telling", {"name": "c", "connector.class": "Telling", "login": "${v:hang:x}"}, timeout=5)
    assert rows(ask(told, login="${v:canary}"))["login"]["value"] == "${v:canary}"


# --- the worker file (KIP-421) ---


def test_a_worker_file_is_resolved_in_the_sandbox(told: Sandbox) -> None:
    texts = {**WORKER, "sasl.password": "${v:canary}", "group.id": "g", "spark.x": "${env:APP}", "spark.y": "${sparkish:Z}"}
    with pytest.raises(ConfigError) as raised:
        told.resolve(texts)
    assert str(raised.value) == (
        "The worker's configuration is invalid:\n"
        "  spark.x: ${env:APP} can't be resolved: the provider env has no key APP, or does not allow access to it"
    )
    found = told.resolve({**texts, "spark.x": "1"})
    assert found.texts == {**texts, "sasl.password": CANARY, "spark.x": "1"}
    assert found.covered == {CANARY: "${v:canary}"}
    assert found.settings == ("sasl.password", "spark.y")
    assert CANARY not in repr(found)


def test_parameters_of_a_provider_may_refer_to_another(told: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "token").write_text("canary-token")
    texts = {
        "config.providers": "v,dir",
        "config.providers.v.class": "Vault",
        "config.providers.v.param.token": f"${{dir:{tmp_path}:token}}",
        "config.providers.dir.class": "DirectoryConfigProvider",
        "a": "${v:param}",
    }
    found = told.resolve(texts)
    assert found.texts["a"] == found.texts["config.providers.v.param.token"] == "canary-token"
    # A ring of them stands for nothing.
    with pytest.raises(ConfigError, match=r"config.providers.dir.param.x: \$\{v:param\} can't be resolved: there is no prov"):
        told.resolve({**texts, "config.providers.dir.param.x": "${v:param}"})
