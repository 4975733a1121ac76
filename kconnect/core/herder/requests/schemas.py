"""
The schemas that a sink's tasks have inferred of JSON: shown, and forgotten. Made by `rest/own.py`.

They stand in the topic of schemas, which the worker reads and writes when it is asked (`worker/world.py`). Read next:
`offsets.py`, with the same rules for a change.
"""

from __future__ import annotations

from dataclasses import dataclass

from kconnect.core.herder import effects
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.effects import Body
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.herder.request import Office, Request
from kconnect.core.herder.requests.offsets import Message, modify, released


@dataclass(frozen=True, slots=True)
class GetSchemas(Request[Body]):
    """`GET /kconnect/connectors/{c}/schemas`."""

    name: str

    def answer(self, office: Office) -> Procedure[Body]:
        office.desk.require(self.name)
        return {"name": self.name, "schemas": (yield from ask(effects.ReadSchemas(self.name)))}


@dataclass(frozen=True, slots=True)
class ForgetSchemas(Request[Message]):
    """`DELETE /kconnect/connectors/{c}/schemas`, of a connector that is stopped: its next records decide anew."""

    name: str
    writes = True

    def answer(self, office: Office) -> Procedure[Message]:
        return (yield from modify(office, self.name, self._forget, "inferred schemas can be forgotten"))

    def _forget(self, desk: Desk, kind: str) -> Procedure[Message]:
        yield from released(desk, self.name, kind, "forget the inferred schemas and")
        count = yield from ask(effects.ForgetSchemas(self.name))
        return {"message": f"{count} inferred schema{'' if count == 1 else 's'} of the connector {self.name} forgotten"}
