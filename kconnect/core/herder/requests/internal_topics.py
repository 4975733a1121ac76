"""The internal topics, checked. Made by `rest/upkeep.py`. Nothing of the cluster is changed."""

from __future__ import annotations

from dataclasses import dataclass

from kconnect.core.herder import effects
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.herder.request import Office, Request


@dataclass(frozen=True, slots=True)
class CheckTopics(Request[str]):
    """`GET /kconnect/topics`; the answer is JSON, as text. It is given before this worker has read them, too."""

    waits = False

    def answer(self, office: Office) -> Procedure[str]:
        return (yield from ask(effects.CheckTopics()))
