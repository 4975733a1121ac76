"""Attacks by whoever may create connectors on topics and groups that are the cluster's own, by other ways to name them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from kconnect.core.herder import effects
from kconnect.core.herder.performing import Lane, performs
from kconnect.core.herder.requests.configs import CreateConnector, PatchConfig
from kconnect.core.settings.internal_topics import InternalTopics
from kconnect.core.settings.sink import REPLAYS_GROUP, group_errors
from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConfigError
from kconnect.kafka import clients
from kconnect.kafka.translation import translate
from kconnect.plugins.reach import Reach
from kconnect.plugins.registry import Registry
from kconnect.units.unit import Unit
from tests.integration.units import MemoryHost, Numbers, Plugins, end, source_of, until
from tests.rig.histories.cluster import MemoryCluster, MemoryWorker

SETTING = "reporter.result.topic.name"
FILES = {"config.providers": "file", "config.providers.file.class": "FileConfigProvider"}


class Installed(Plugins):
    """The connectors of a test beside the providers that are installed."""

    def __getattr__(self, name: str) -> object:
        return getattr(Registry.scan(None), name)


@pytest.mark.parametrize("task", [None, 0])
def test_a_reference_that_comes_to_name_an_internal_topic(tmp_path: Path, task: int | None) -> None:
    """A file that a provider reads has another topic's name after validation: the connector does not start."""
    started: list[str] = []

    class Task(Numbers):
        def start(self, props: dict[str, str]) -> None:
            started.append(props[SETTING])
            super().start(props)

    class Watched(source_of(Task)):  # type: ignore[misc]
        def start(self, props: dict[str, str]) -> None:
            started.append(props[SETTING])
            super().start(props)

    file = tmp_path / "names"
    config = {"name": "x", "connector.class": "Watched", "topic": "t", SETTING: f"${{file:{file}:answers}}"}
    # A task would wait for its brokers, so the connector is the control.
    hosts = [MemoryHost("127.0.0.1:1", Installed(Watched=Watched), **FILES) for _ in range(2)]
    for topic in ("answers", "c") if task is None else ("c",):
        file.write_text(f"answers={topic}\n")
        host = hosts.pop()
        unit: Unit = host.unit(config, task=task)
        until(functools.partial(getattr, host, "states"))
        end(unit)
    assert started == (["answers"] if task is None else [])
    assert "is an internal topic of this Connect cluster" in (host.statuses[-1][1] or "")


def test_the_workers_group_with_blanks() -> None:
    """A sink's group is the workers', but for a blank that no client gets: it would take the cluster's work away."""
    assert translate({"group.id": " workers "}, "consumer")["group.id"] == "workers", "the control"
    assert group_errors({"consumer.override.group.id": " workers "}, {"name": "c"}, "workers")


@pytest.mark.parametrize(("connector", "group"), [("cluster", None), ("x", "connect-cluster "), ("x", f"{REPLAYS_GROUP}q")])
def test_no_sink_is_a_member_of_the_workers_group(connector: str, group: str | None) -> None:
    """A patch gave a connector's config another name, or a Kafka Connect wrote it: its consumer must not join the workers."""
    texts = {
        "bootstrap.servers": "b:9092",
        "group.id": "connect-cluster",
        "config.storage.topic": "c",
        "offset.storage.topic": "o",
        "status.storage.topic": "s",
    }
    converters = {f"{kind}.converter": "org.apache.kafka.connect.storage.StringConverter" for kind in ("key", "value")}
    settings = WorkerSettings.from_properties({**texts, **converters}, {})
    config = {"name": "other", "consumer.override.group.id": group}
    for made in (
        lambda: clients.consumer(settings, connector, 0, config),
        lambda: clients.group_of(settings, connector, config),
    ):
        with pytest.raises(ConfigError, match=r"conflicts with Connect worker group|which dead letters were replayed"):
            made()
    assert clients.group_of(settings, "other", {}) == "connect-other"


@pytest.mark.parametrize(("group", "connector"), [("connect-cluster", "connect-cluster"), ("connect", "cluster-connect")])
def test_no_source_writes_as_the_workers_leader(group: str, connector: str) -> None:
    """A source is called so that what changes its offsets has the leader's transactional id, and ends it: it is refused."""
    texts = {"bootstrap.servers": "b:9092", "group.id": group, "exactly.once.source.support": "enabled"}
    texts |= {f"{name}.storage.topic": name for name in ("config", "offset", "status")}
    texts |= {f"{name}.converter": "StringConverter" for name in ("key", "value")}
    settings = WorkerSettings.from_properties(texts, {})
    assert f"{group}-{connector}" == clients.leader_id(settings)
    with pytest.raises(ConfigError, match="that of the workers' leader"):
        clients.transactional_id(settings, connector, None)
    assert clients.transactional_id(settings, f"{connector}2", None) == f"{group}-{connector}2", "the control"
    assert clients.transactional_id(settings, connector, 0) == f"{group}-{connector}-0"


def test_a_patch_is_validated_under_the_connector_s_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A patch names another connector, and makes a sink of a source whose own name leads to the workers' group."""
    names: list[str | None] = []
    validate = MemoryWorker.validate

    def noted(worker: MemoryWorker, effect: effects.Validate) -> Any:
        names.append(effect.config["name"])
        return validate(worker, effect)

    monkeypatch.setattr(MemoryWorker, "validate", performs(effects.Validate, Lane.PLUGIN)(noted))
    cluster = MemoryCluster(1)
    cluster.add_worker("a:1")
    cluster.settle()
    cluster.call("a:1", CreateConnector("cluster", {"connector.class": "FileStreamSource"}))
    cluster.call("a:1", PatchConfig("cluster", {"name": "other"}))
    assert names == ["cluster", "cluster"]


def test_topics_that_are_left_out_may_be_internal() -> None:
    """Control: MirrorMaker leaves the cluster's topics out, by their names."""
    internal = InternalTopics(frozenset(["configs"]))
    for setting in ("topics.exclude", "source.topics.blacklist", "topic.creation.big.exclude"):
        assert list(Reach(internal=internal).internal.problems({setting: "configs,.*[.-]internal"})) == []
    assert list(internal.problems({"topics": "configs"}))
