"""A connector keeps the class that its name meant when it was submitted, whatever is installed later."""

from __future__ import annotations

import pytest

from kconnect.core.herder.requests.configs import CreateConnector, PatchConfig, PutConfig
from tests.rig.histories import cluster as memory
from tests.rig.histories.cluster import MemoryCluster

SHORT, JAVAS = "SharedSinkConnector", "com.acme.SharedSinkConnector"


def stored_class(cluster: MemoryCluster, connector: str) -> str | None:
    return cluster.workers["a:1"].herder.log.config.connectors[connector].properties.get("connector.class")


def test_a_name_is_settled_when_it_is_submitted_first(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = MemoryCluster(1)
    cluster.add_worker("a:1")
    cluster.settle()
    config = {"connector.class": SHORT, "tasks.max": "1"}
    cluster.call("a:1", CreateConnector("old", config))
    cluster.call("a:1", CreateConnector("other", {**config, "connector.class": "Other"}))
    # From here on a Java plugin has the name.
    monkeypatch.setattr(memory, "class_of_new_configs", lambda name: JAVAS if name == SHORT else name)
    cluster.call("a:1", PutConfig("old", {**config, "tasks.max": "2"}))
    cluster.call("a:1", PatchConfig("old", {"tasks.max": "3"}))
    assert stored_class(cluster, "old") == SHORT
    cluster.call("a:1", CreateConnector("new", config))
    cluster.call("a:1", PutConfig("newer", config))
    cluster.call("a:1", PatchConfig("other", {"connector.class": SHORT}))
    assert [stored_class(cluster, name) for name in ("new", "newer", "other")] == [JAVAS] * 3
    cluster.call("a:1", PutConfig("new", {**config, "tasks.max": "2"}))
    assert stored_class(cluster, "new") == JAVAS
