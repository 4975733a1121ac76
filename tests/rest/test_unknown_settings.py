"""Settings that nothing knows are in the log of the worker that takes the config, whatever the request."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.core.herder.requests.configs import CreateConnector, PatchConfig, PutConfig

from .cluster import ClusterHerder
from .conftest import FILE_SOURCE


class Plugins:
    """A sandbox that knows one plugin."""

    def validate(self, plugin: str, config: dict[str, str | None]) -> dict[str, Any]:
        names = ["name", "connector.class", "tasks.max", "file", "topic"]
        return {"error_count": 0, "configs": [{"definition": {"name": name}, "value": {"name": name}} for name in names]}

    def describe(self, plugin: str, version: str | None = None) -> dict[str, Any]:
        return {"class": plugin, "type": "source", "version": "1"}


@pytest.mark.parametrize(
    "request_",
    [
        CreateConnector("b", {**FILE_SOURCE, "task.max": "canary-1"}),
        PutConfig("a", {**FILE_SOURCE, "task.max": "canary-1"}),
        PatchConfig("a", {"task.max": "canary-1"}),
    ],
    ids=lambda request: type(request).__name__,
)
def test_it_is_logged(request_: Any) -> None:
    herder = ClusterHerder(Plugins())  # type: ignore[arg-type]
    herder.submit(CreateConnector("a", dict(FILE_SOURCE))).result()
    lines = herder.cluster.lines
    assert not any("is unknown; did you mean" in line for line in lines)
    herder.submit(request_).result()
    said = f"WARNING Connector {request_.name}: The setting task.max is unknown; did you mean tasks.max?"
    assert [line.partition(" ")[2] for line in lines if "is unknown; did you mean" in line] == [said]
    assert not any("canary" in line for line in lines)
