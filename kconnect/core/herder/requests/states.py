"""What a connector and its tasks are to do: run, pause, stop, start anew. Made by `rest/connectors.py`."""

from __future__ import annotations

from dataclasses import dataclass

from kconnect.core.herder import restart, views
from kconnect.core.herder.desk import BUSY, ELECTION_MS, Desk, ForwardError
from kconnect.core.herder.effects import Body
from kconnect.core.herder.procedures import Procedure
from kconnect.core.herder.request import Office, Request
from kconnect.core.herder.waiting import waiting
from kconnect.core.state import records
from kconnect.core.state.records import RestartRequest, TargetState, UnitId
from kconnect.errors import NotFoundError


@dataclass(frozen=True, slots=True)
class SetTargetState(Request[None]):
    """Pause (PAUSED) and resume (STARTED): any worker may write these."""

    name: str
    state: TargetState
    writes = True

    def answer(self, office: Office) -> Procedure[None]:
        yield from office.desk.exclusively(self.name, self._work(office.desk))

    def _work(self, desk: Desk) -> Procedure[None]:
        desk.require(self.name, "Unknown connector {}")
        yield from desk.write([records.target_state(self.name, self.state)])


@dataclass(frozen=True, slots=True)
class StopConnector(Request[None]):
    """`PUT /connectors/{c}/stop` (KIP-875)."""

    name: str
    writes = True

    def answer(self, office: Office) -> Procedure[None]:
        yield from office.desk.exclusively(self.name, self._work(office.desk))

    def _work(self, desk: Desk) -> Procedure[None]:
        yield from desk.await_lead()
        desk.require(self.name, "Unknown connector {}")
        # The empty task set goes first: a started connector without tasks is a healthy cluster, a stopped one with
        # tasks is not (KIP-875). Both are in one transaction besides.
        entries = [*records.task_configs(self.name, ()), records.target_state(self.name, TargetState.STOPPED)]
        yield from desk.write_as_leader(entries)


@dataclass(frozen=True, slots=True)
class RestartConnector(Request["Body | None"]):
    """The answer is None without parameters (204), else the status with RESTARTING shown (202, KIP-745)."""

    name: str
    include_tasks: bool = False
    only_failed: bool = False
    writes = True

    def answer(self, office: Office) -> Procedure[Body | None]:
        desk, log, name = office.desk, office.desk.log, self.name
        yield from desk.await_lead()
        desk.require(name, "Unknown connector: {}")
        entry = records.restart_request(name, self.include_tasks, self.only_failed)
        if not self.include_tasks and not self.only_failed:
            yield from desk.write_as_leader([entry])
            return None
        kind = yield from office.classes.kind(name)
        planned = restart.plan(RestartRequest(name, self.include_tasks, self.only_failed), log.config, log.status)
        # Of those that are restarted the last status counts: what one waits for meanwhile is no trace of a failure.
        waits = {
            unit: status for unit, status in waiting(desk, name).items() if not (unit in planned and unit in log.status.units)
        }
        body = views.restarting(views.connector_status(log.config, log.status, name, kind, waits), planned)
        yield from desk.write_as_leader([entry])
        return body


@dataclass(frozen=True, slots=True)
class RestartTask(Request[None]):
    """
    Restart a task. The worker that has the task answers; while the task moves, the request waits for the one that gets it.
    """

    name: str
    task: int
    writes = True

    def answer(self, office: Office) -> Procedure[None]:
        desk, unit = office.desk, UnitId(self.name, self.task)

        def exists() -> bool:
            return self.task in desk.log.config.task_ids(self.name)

        def decided() -> bool:
            return not exists() or unit in desk.owned or desk.url_of_owner(unit) is not None

        yield from desk.wait_at_most(ELECTION_MS, decided, BUSY)
        desk.require(self.name, "Unknown connector: {}")
        if not exists():
            raise NotFoundError(f"Unknown task: {self.name}-{self.task}")
        if not office.placing.restart_unit(unit):
            url = desk.url_of_owner(unit)
            assert url is not None
            raise ForwardError(url)
