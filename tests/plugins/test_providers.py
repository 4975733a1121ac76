"""Config providers asked by a process: once a path, and never for longer than it can wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kconnect.api import ConfigData, ConfigError, ConfigProvider, ConnectError
from kconnect.core.settings.references import Resolved
from kconnect.plugins.providers import Providers
from kconnect.plugins.registry import Registry


class Vault(ConfigProvider):
    """Tests say what it does."""

    made: list[Vault] = []
    answer: Callable[[str, Collection[str]], Any]
    at_configure: Callable[[], None]

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []
        self.made.append(self)

    def configure(self, configs: Mapping[str, str]) -> None:
        self.parameters = configs
        type(self).at_configure()

    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        self.asked.append((path, list(keys)))
        return type(self).answer(path, keys)


class Plugins(Registry):
    def load(self, name: str, kind: str, version: str | None = None, beside: str | None = None) -> type[Any]:
        return Vault if name == "acme.Vault" else super().load(name, kind, version, beside)


@pytest.fixture(autouse=True)
def vault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Vault, "made", [])
    monkeypatch.setattr(Vault, "at_configure", staticmethod(lambda: None), raising=False)
    answer(monkeypatch, lambda path, keys: ConfigData({key: f"{path}-{key}" for key in keys}))


def answer(monkeypatch: pytest.MonkeyPatch, function: Callable[[str, Collection[str]], Any]) -> None:
    monkeypatch.setattr(Vault, "answer", staticmethod(function), raising=False)


@pytest.fixture
def providers() -> Providers:
    worker = {
        "config.providers": "vault,env,gone",
        "config.providers.vault.class": "acme.Vault",
        "config.providers.vault.param.url": "http://v",
        "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
        "config.providers.gone.class": "acme.Gone",
    }
    return Providers(Plugins(Registry.scan([]).plugins), worker)


@pytest.fixture
def hang() -> Iterator[threading.Event]:
    released = threading.Event()
    yield released
    released.set()


def test_one_that_can_not_be_closed_fails_nobody(providers: Providers, caplog: pytest.LogCaptureFixture) -> None:
    assert providers.resolve([{"a": "${vault:db:x}"}]).failures == {}

    def refuse() -> None:
        raise ValueError("canary")

    Vault.made[0].close = refuse  # type: ignore[method-assign]
    providers.close()
    assert "The config provider vault could not be closed: ValueError" in caplog.text
    assert "canary" not in caplog.text


def failure(resolved: Resolved) -> str:
    (text,) = resolved.failures.values()
    return text


def test_each_path_is_asked_once_for_all_configs(providers: Providers) -> None:
    connector = {"a": "${vault:db:user}:${vault:db:password}", "b": "${vault:other:x}", "plain": "y"}
    found = providers.resolve([connector, {"c": "${vault:db:user}"}])
    assert found.config(connector) == {"a": "db-user:db-password", "b": "other-x", "plain": "y"}
    (provider,) = Vault.made
    assert sorted(provider.asked) == [("db", ["password", "user"]), ("other", ["x"])]
    assert provider.parameters == {"url": "http://v"}
    providers.resolve([connector])
    assert len(Vault.made) == 1, "it is made once a process"


def test_nobody_is_asked_for_configs_without_references(providers: Providers) -> None:
    assert providers.resolve([{"a": "$1 ${topic}"}]) == Resolved()
    assert Vault.made == []


@pytest.mark.parametrize(
    "java",
    ["FileConfigProvider", "DirectoryConfigProvider", "EnvVarConfigProvider"],
)
def test_connects_own_are_here_by_their_java_names(java: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IT", "works")
    (tmp_path / "IT").write_text("works")
    (tmp_path / "f").write_text("IT=works")
    path = {"FileConfigProvider": f"{tmp_path}/f:", "DirectoryConfigProvider": f"{tmp_path}:"}.get(java, "")
    worker = {"config.providers": "p", "config.providers.p.class": f"org.apache.kafka.common.config.provider.{java}"}
    config = {"a": "${p:" + path + "IT}"}
    assert Providers(Registry.scan([]), worker).resolve([config]).config(config) == {"a": "works"}


def test_a_provider_that_is_not_there(providers: Providers) -> None:
    unknown = failure(providers.resolve([{"a": "${volt:x}"}]))
    assert unknown == "there is no provider volt; the worker's `config.providers` names: vault, env, gone"
    missing = failure(providers.resolve([{"a": "${gone:x}"}]))
    assert missing.startswith("the provider gone can't be configured: Failed to find any class that implements ConfigProvider")


def test_a_key_that_is_not_there_or_no_text(providers: Providers, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, lambda path, keys: ConfigData({"n": 1}))  # type: ignore[dict-item]
    found = providers.resolve([{"a": "${vault:db:x}", "b": "${vault:db:n}"}])
    assert sorted(found.failures.values()) == [
        "the provider vault has no key x at the path db, or does not allow access to it",
        "the value that the provider vault has for the key n at the path db is a int, not text",
    ]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ConnectError("sealed"), "the provider vault has failed: sealed"),
        (ValueError("canary-3"), "the provider vault (acme.Vault) has failed: ValueError"),
        (SystemExit("canary-3"), "the provider vault (acme.Vault) has failed: SystemExit"),
    ],
)
def test_a_provider_that_fails(
    providers: Providers, monkeypatch: pytest.MonkeyPatch, error: BaseException, message: str
) -> None:
    def fail(path: str, keys: Collection[str]) -> ConfigData:
        raise error

    answer(monkeypatch, fail)
    found = providers.resolve([{"a": "${vault:db:x}", "b": "${env:HOME}"}])
    assert failure(found) == message
    assert len(found.values) == 1, "the others are asked all the same"


def test_one_that_can_not_be_configured_is_made_anew_when_it_is_asked_again(
    providers: Providers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise ConfigError("url", "http://v", "no such host")

    with monkeypatch.context() as context:
        context.setattr(Vault, "at_configure", staticmethod(refuse))
        text = failure(providers.resolve([{"a": "${vault:db:x}"}]))
    assert text == "the provider vault can't be configured: Invalid value http://v for configuration url: no such host"
    assert providers.resolve([{"a": "${vault:db:x}"}]).failures == {}


def test_one_that_gives_something_else(providers: Providers, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, lambda path, keys: {"x": "canary-3"})
    assert failure(providers.resolve([{"a": "${vault:x}"}])).endswith("gave a dict, which must be a ConfigData")


def test_one_that_hangs_is_given_up_and_the_others_are_not_kept_waiting(
    providers: Providers, monkeypatch: pytest.MonkeyPatch, hang: threading.Event
) -> None:
    answer(monkeypatch, lambda path, keys: hang.wait() and ConfigData({}))
    waiting = threading.Thread(target=providers.resolve, args=([{"a": "${vault:db:x}"}],), daemon=True)
    waiting.start()
    assert providers.resolve([{"a": "${env:HOME}"}]).failures == {}
    assert waiting.is_alive(), "the control: it does hang"
    text = failure(providers.resolve([{"a": "${vault:db:x}"}], limit_s=0.2))
    assert text == "the provider vault (acme.Vault) did not answer within 0.2 s"


def test_a_stop_is_not_held_up_by_one_that_hangs(
    providers: Providers, monkeypatch: pytest.MonkeyPatch, hang: threading.Event
) -> None:
    monkeypatch.setattr(Vault, "at_configure", staticmethod(hang.wait))
    stopping = threading.Event()
    found: list[Resolved] = []
    asking = threading.Thread(target=lambda: found.append(providers.resolve([{"a": "${vault:x}"}], stopping.is_set)))
    asking.start()
    asking.join(0.3)
    assert asking.is_alive(), "the control: it waits"
    stopping.set()
    asking.join(30)
    assert not asking.is_alive()
    assert failure(found[0]) == "stopped while the provider vault was asked"


def test_the_shortest_ttl_counts(providers: Providers, monkeypatch: pytest.MonkeyPatch) -> None:
    ttls = {"a": 5000, "b": 3000, "c": None, "d": -1}
    answer(monkeypatch, lambda path, keys: ConfigData({"x": "1"}, ttls[path]))
    config = {path: "${vault:" + path + ":x}" for path in ttls}
    assert providers.resolve([config]).ttl_ms == 3000
    assert providers.resolve([{"c": config["c"], "d": config["d"]}]).ttl_ms is None
