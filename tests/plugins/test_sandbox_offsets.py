"""A connector's `alter_offsets`, asked in a process of its own (KIP-875): what it is given, and how it may fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kconnect.core.herder.effects import RefusedError, UnsupportedError
from kconnect.errors import BadRequestError, ConfigError, ConnectError, RequestTimeoutError
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox

SHARD: list[tuple[Any, Any]] = [({"shard": 1}, {"n": 7})]


def config(plugin: str, **settings: str | None) -> dict[str, str | None]:
    return {"name": "c", "connector.class": plugin, "file": "a.txt", **settings}


def ask(sandbox: Sandbox, plugin: str, timeout: float | None = None, /, **settings: str | None) -> bool:
    return sandbox.alter_offsets(plugin, config(plugin, **settings), SHARD, timeout)


def test_a_source_gets_pairs_as_json_has_them(sandbox: Sandbox) -> None:
    pairs = [({"shard": 1, "of": "x"}, {"n": 2**40, "f": 1.5, "b": True, "t": "7"}), (None, None)]
    submitted = config("AgreeingSource", gone=None)
    assert sandbox.alter_offsets("AgreeingSource", submitted, pairs) is True
    assert sandbox.alter_offsets("AgreeingSource", submitted, pairs[:1]) is False, "the control: it does look"


def test_a_sink_gets_kafka_s_partitions(sandbox: Sandbox) -> None:
    pairs = [(("t", 0), 7), (("t", 1), None)]
    assert sandbox.alter_offsets("WillingSink", config("WillingSink"), pairs) is True


@pytest.mark.parametrize("plugin", ["DemoSource", "DemoSink"])
def test_by_default_a_connector_does_not_know(sandbox: Sandbox, plugin: str) -> None:
    assert sandbox.alter_offsets(plugin, config(plugin), []) is False


def test_a_refusal_has_the_connector_s_own_words_but_no_secret(sandbox: Sandbox) -> None:
    with pytest.raises(RefusedError) as refused:
        ask(sandbox, "RefusingSource", **{"db.password": "hunter22"})
    assert str(refused.value) == "no shard, and not [hidden]"


def test_offsets_that_can_t_be_changed_from_outside(sandbox: Sandbox) -> None:
    with pytest.raises(UnsupportedError):
        ask(sandbox, "BoundSource")


@pytest.mark.parametrize(
    ("plugin", "error", "text"),
    [
        ("StumblingSource", ConnectError, r"StumblingSource failed at the stage alter_offsets\(\): TypeError"),
        ("SilentSource", BadRequestError, r"SilentSource.alter_offsets\(\) must return True or False"),
        ("DyingSource", ConnectError, r"process ended \(SIGSEGV\): .*DyingSource at the stage alter_offsets\(\)"),
        ("QuittingSource", ConnectError, r"QuittingSource failed at the stage alter_offsets\(\): SystemExit"),
    ],
)
def test_one_that_fails_costs_its_own_request(sandbox: Sandbox, plugin: str, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as failed:
        ask(sandbox, plugin)
    assert not isinstance(failed.value, RefusedError)
    assert ask(sandbox, "DemoSource") is False


def test_one_that_hangs_is_killed(sandbox: Sandbox) -> None:
    ask(sandbox, "DemoSource")  # warm: the limit below is for the plugin, not for Python
    with pytest.raises(RequestTimeoutError, match=r"StuckSource at the stage alter_offsets\(\). Its process was killed"):
        ask(sandbox, "StuckSource", 10)
    assert ask(sandbox, "DemoSource") is False


@pytest.mark.process
def test_references_are_resolved_for_the_connector_and_shown_to_nobody(plugin_path: list[str], tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("password=canary-5c1d\n")
    provider = "org.apache.kafka.common.config.provider.FileConfigProvider"
    providers = {"config.providers": "file", "config.providers.file.class": provider}
    reference = f"${{file:{tmp_path / 'secrets'}:password}}"
    sandbox = Sandbox(Registry.scan(plugin_path), plugin_path, timeout=30, provider_settings=providers)
    try:
        with pytest.raises(RefusedError) as refused:
            ask(sandbox, "RefusingSource", file=reference, **{"db.password": reference})
        assert str(refused.value) == f"no shard, and not {reference}"
        gone = "${file:" + str(tmp_path / "secrets") + ":gone}"
        with pytest.raises(BadRequestError, match=r"The setting db.password can't be used: .* has no key gone"):
            ask(sandbox, "RefusingSource", **{"db.password": gone})
        # What the worker itself needs, for the clients that it uses on the connector's behalf.
        key = "admin.override.sasl.password"
        assert sandbox.resolve_config({key: reference}) == ({key: "canary-5c1d"}, {"canary-5c1d": reference})
        with pytest.raises(ConfigError, match=rf"The setting {key} can't be used: .* has no key gone"):
            sandbox.resolve_config({key: gone})
    finally:
        sandbox.close()
