"""
Workers that let no connector say how topics are created (`topic.creation.enable=false`): new configs that do are refused, those
that are there already are ignored (KIP-158), and can be changed otherwise. A real herder, with a real sandbox.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from kconnect.rest.app import RestSettings, build

from .cluster import NAME, ClusterHerder, PluginWorker
from .conftest import ADVERTISED, FILE_SOURCE, Http

pytestmark = pytest.mark.process

PREFIX = "topic.creation.default."
RULES = {f"{PREFIX}partitions": "1", f"{PREFIX}replication.factor": "1", "topic.creation.groups": "mine"}


@pytest.fixture(scope="module")
def http() -> Iterator[Http]:
    """With a connector `old`, of when they still did."""
    plugins = Registry.scan(None)
    before, after = Sandbox(plugins, None, 60), Sandbox(plugins, None, 60, topic_creation=False)
    herder = ClusterHerder(before)
    http = Http(build(herder, RestSettings(ADVERTISED)))
    http.create("old", **RULES)
    worker = herder.cluster.workers[NAME]
    assert isinstance(worker, PluginWorker)
    worker.sandbox = after
    yield http
    before.close()
    after.close()


def test_what_was_there_before_does_not_keep_other_settings_from_being_changed(http: Http) -> None:
    changed = {**FILE_SOURCE, **RULES, "tasks.max": "1"}
    answer = http("PUT", "/connector-plugins/FileStreamSource/config/validate", json={"name": "old", **changed}).json()
    assert answer["error_count"] == 0
    assert http("PUT", "/connectors/old/config", json=changed).status_code == 200
    assert http("PATCH", "/connectors/old/config", json={"file": "other"}).status_code == 200


@pytest.mark.parametrize(
    "change", [{f"{PREFIX}partitions": "2"}, {f"{PREFIX}cleanup.policy": "compact"}, {"topic.creation.groups": "mine,more"}]
)
def test_what_is_added_or_changed_is_refused(http: Http, change: dict[str, str]) -> None:
    refused = http("PUT", "/connectors/old/config", json={**FILE_SOURCE, **RULES, **change})
    assert refused.status_code == 400
    assert "contains the following 1 error(s)" in refused.json()["message"], "the others are those that were there"
    assert f"for configuration {next(iter(change))}: The worker's topic.creation.enable is false" in refused.json()["message"]


def test_a_new_connector_is_refused(http: Http) -> None:
    refused = http("POST", "/connectors", json={"name": "new", "config": {**FILE_SOURCE, **RULES}})
    assert refused.status_code == 400
    assert "contains the following 3 error(s)" in refused.json()["message"]
