"""
A real herder for REST: the worker of a cluster in memory, with real plugins in a real sandbox.

`ClusterHerder.submit` runs the cluster until the request is answered, so that a test sees what it did to the log.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from kconnect.core.herder import effects
from kconnect.core.herder.effects import Body
from kconnect.core.herder.request import Request
from kconnect.core.state.records import LogRecord
from kconnect.plugins.sandbox import Sandbox
from tests.rig.histories.cluster import MemoryCluster, MemoryWorker

NAME = "worker-1:8083"


class PluginWorker(MemoryWorker):
    """Asks the sandbox, as `worker/world.py` does; keeps what it said about a question it has heard before."""

    sandbox: Sandbox

    def validate(self, effect: effects.Validate) -> Body:
        return self.sandbox.validate(effect.plugin, effect.config)

    def describe(self, effect: effects.DescribePlugin) -> Body:
        return self.sandbox.describe(effect.plugin, version=effect.version)

    def list_plugins(self, effect: effects.ListPlugins) -> list[Body]:
        return self.sandbox.list_plugins(effect.connectors_only)

    def plugin_config(self, effect: effects.PluginConfig) -> list[Body]:
        return self.sandbox.plugin_config(effect.plugin, effect.version)


class ClusterHerder:
    """`rest.app.Herder` over a cluster of one worker, seeded."""

    def __init__(self, sandbox: Sandbox, seed: int = 0) -> None:
        self.asked = 0
        """How often."""
        self.cluster = MemoryCluster(seed)
        worker = PluginWorker(self.cluster, NAME, 2, "000000")
        worker.sandbox = sandbox
        self.cluster.workers[NAME] = worker
        self.cluster.settle()

    @property
    def records(self) -> list[LogRecord]:
        """All that was written so far."""
        return self.cluster.log.records

    def submit(self, request: Request[Any]) -> Future[Any]:
        self.asked += 1
        future: Future[Any] = Future()
        answer = self.cluster.submit(NAME, request)
        self.cluster.run_until(lambda: answer.settled)
        if answer.error is None:
            future.set_result(answer.value)
        else:
            future.set_exception(answer.error)
        return future
