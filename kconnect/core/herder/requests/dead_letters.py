"""
The dead letters of a connector, read and replayed. Made by `rest/dead_letters.py`. Nothing of the cluster is changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kconnect.core.herder import effects
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.herder.request import Office, Request
from kconnect.core.settings.errors import DEAD_LETTERS_TOPIC
from kconnect.errors import NotFoundError


@dataclass(frozen=True, slots=True)
class DeadLetters(Request[str]):
    """`/kconnect/connectors/{c}/dead-letters`; `wanted` is what `dlq/child.py` takes, and the answer is JSON, as text."""

    name: str
    wanted: Mapping[str, Any]
    hurries = True

    def answer(self, office: Office) -> Procedure[str]:
        office.desk.require(self.name)
        configs = {name: connector.properties for name, connector in office.desk.log.config.connectors.items()}
        queue = DEAD_LETTERS_TOPIC.read(configs[self.name])
        if not queue:
            setting = DEAD_LETTERS_TOPIC.key.name
            raise NotFoundError(f"The connector {self.name} has no dead letter queue: it does not set {setting}")
        same = {name: _given(config) for name, config in configs.items() if DEAD_LETTERS_TOPIC.read(config) == queue}
        # By these a replay knows which topics are the connectors' own: what a letter says is not believed.
        kinds = {}
        for name in same:
            kinds[name] = yield from office.classes.kind(name, patient=True)
        topics = {name: office.desk.log.status.topics_of(name) for name in same}
        return (yield from ask(effects.DeadLetters(self.name, same, {**self.wanted, "kinds": kinds, "topics": topics})))


def _given(config: Mapping[str, str | None]) -> dict[str, str]:
    return {name: text for name, text in config.items() if text is not None}
