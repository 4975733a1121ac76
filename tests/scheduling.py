"""
How pytest-xdist hands files to its processes, such that a run ends also if one of them was killed.

`conftest.py` gives it to xdist; `test_scheduling.py` kills a process. xdist 3.8 waits for ever after that
(https://github.com/pytest-dev/pytest-xdist/issues/1323 and 1327, mended there in August 2026 and not yet released): this goes
with the release that has it.
"""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadFileScheduling

_TOGETHER = ("tests/integration/console/", "tests/connectors/spark/")
"""Folders whose files share what takes long to start, a cluster or Spark: one process of pytest-xdist runs all of one."""


class EndingLoadFileScheduling(LoadFileScheduling):
    """A killed process's test counts as failed and is not run again; what it had not yet run goes to others."""

    def _split_scope(self, nodeid: str) -> str:
        return next((folder for folder in _TOGETHER if nodeid.startswith(folder)), super()._split_scope(nodeid))

    def remove_node(self, node: Any) -> str | None:
        workload = self.assigned_work.pop(node)
        killed = next((test for unit in workload.values() for test, is_done in unit.items() if not is_done), None)
        for file, unit in workload.items():
            # A unit of which nothing is left would be waited for.
            if left := {test: is_done for test, is_done in unit.items() if not is_done and test != killed}:
                self.workqueue[file] = left
        if killed is not None:
            for other in self.assigned_work:
                self._reschedule(other)
        return killed

    def _reschedule(self, node: Any) -> None:
        if node not in self.registered_collections:
            return
        super()._reschedule(node)
        # A process begins a test when it knows of another, or that there is none.
        if not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            super()._reschedule(node)
