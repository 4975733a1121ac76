"""What workers ask of the leader among themselves: Kafka Connect's internal requests. Made by `rest/connectors.py`."""

from __future__ import annotations

from dataclasses import dataclass

from kconnect.core.herder import fencing
from kconnect.core.herder.procedures import Procedure
from kconnect.core.herder.request import Office, Request
from kconnect.core.state import assignment_records
from kconnect.core.state.assignment_records import GeneratedTasks
from kconnect.core.state.config import Properties
from kconnect.core.state.records import TargetState
from kconnect.errors import BadRequestError


@dataclass(frozen=True, slots=True)
class PutTaskConfigs(Request[None]):
    """
    `POST /connectors/{c}/tasks`: the task configs that a connector instance made, as if it had made them just now; answered
    once they are in force.
    """

    name: str
    configs: tuple[Properties, ...]
    writes = True

    def answer(self, office: Office) -> Procedure[None]:
        desk, name = office.desk, self.name
        yield from desk.await_lead()
        desk.require(name)
        if self.configs and desk.log.config.target_state(name) is TargetState.STOPPED:
            raise BadRequestError(f"Cannot submit non-empty set of task configs for stopped connector {name}")
        generated = GeneratedTasks(name, self.configs, desk.log.config.desired_offset(name))
        yield from desk.write([assignment_records.generated_tasks(generated)], as_leader=True)


@dataclass(frozen=True, slots=True)
class FenceTasks(Request[None]):
    """`PUT /connectors/{c}/fence`: end the producers of the task set before the one in force (KIP-618)."""

    name: str
    writes = True

    def answer(self, office: Office) -> Procedure[None]:
        yield from office.desk.exclusively(self.name, self._work(office))

    def _work(self, office: Office) -> Procedure[None]:
        yield from office.desk.await_lead()
        office.desk.require(self.name)
        if (yield from office.classes.kind(self.name, patient=True)) != "source":
            raise BadRequestError(f"Connector {self.name} is not a source connector")
        yield from fencing.fence_before(office.desk, self.name)
