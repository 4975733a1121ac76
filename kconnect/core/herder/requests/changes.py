"""
What became of a connector, as the internal topics still tell it. Made by `rest/own.py`.

Read next: `core/describe/changes.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from kconnect.core.herder import effects
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.herder.request import Office, Request


@dataclass(frozen=True, slots=True)
class GetChanges(Request[str]):
    """`GET /kconnect/connectors/{c}/changes`; the answer is JSON, as text."""

    name: str

    def answer(self, office: Office) -> Procedure[str]:
        office.desk.require(self.name)
        return (yield from ask(effects.ReadChanges(self.name)))
