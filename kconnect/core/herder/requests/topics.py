"""The topics that a connector has used (KIP-558). Made by `rest/connectors.py`. Read next: `core/state/status.py`."""

from __future__ import annotations

from dataclasses import dataclass

from kconnect.core.herder.desk import Desk
from kconnect.core.herder.effects import Body
from kconnect.core.herder.procedures import Procedure
from kconnect.core.herder.request import Look, Office, Request
from kconnect.core.state import assignment_records, records
from kconnect.core.state.assignment_records import TopicsReset
from kconnect.errors import ForbiddenError


@dataclass(frozen=True, slots=True)
class GetTopics(Look[Body]):
    """`GET /connectors/{c}/topics`."""

    name: str

    def look(self, office: Office) -> Body:
        _require_tracking(office.desk)
        return {self.name: {"topics": office.desk.log.status.topics_of(self.name)}}


@dataclass(frozen=True, slots=True)
class ResetTopics(Request[None]):
    """`PUT /connectors/{c}/topics/reset`."""

    name: str
    writes = True

    def answer(self, office: Office) -> Procedure[None]:
        desk, name = office.desk, self.name
        _require_tracking(desk)
        if not desk.identity.resets_topics:
            raise ForbiddenError("Topic tracking reset is disabled")
        used = desk.log.status.topics_of(name)
        if used:
            yield from desk.write([entry for topic in used for entry in records.topic_unused(name, topic)])
        if name in desk.log.config.connectors:
            # Not before the tombstones are there: what a task says on reading this must come after them.
            number = desk.log.assignment.topic_resets.get(name, (0, 0))[0] + 1
            yield from desk.write([assignment_records.topics_reset(TopicsReset(name, number))])


def _require_tracking(desk: Desk) -> None:
    if not desk.identity.tracks_topics:
        raise ForbiddenError("Topic tracking is disabled.")
