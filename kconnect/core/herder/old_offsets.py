"""
Tells, when a connector is created, of offsets that an earlier one of its name has left behind: it goes on with them.

Called by `requests/configs.py`, before the connector is written. The creation does not wait for it: a consumer group's
coordinator, or another Kafka cluster, answers later, or never, and then nothing is told.
"""

from __future__ import annotations

from kconnect.core.herder import effects, stored_offsets
from kconnect.core.herder.classes import Classes
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.state.config import Properties
from kconnect.errors import ConnectError

_AT_ONCE = 4
"""So that clusters which don't answer keep no threads from requests. Beyond, nobody is told."""


class OldOffsets:
    def __init__(self, desk: Desk, classes: Classes) -> None:
        self._desk, self._classes = desk, classes
        self._looking = 0

    def look(self, name: str, config: Properties) -> None:
        """Have it found out, and logged. Returns at once."""
        if self._looking < _AT_ONCE:
            self._looking += 1
            self._desk.begin(self._look(name, config))

    def _look(self, name: str, config: Properties) -> Procedure[None]:
        desk = self._desk
        try:
            described = yield from self._classes.ask(config)
            if described is None:
                return
            if described["type"] == "sink":
                count = len((yield from ask(effects.GroupOffsets(name, dict(config)))))
                where = "its consumer group has"
            else:
                count = len((yield from stored_offsets.read(desk, name, config)).known())
                where = "its offset topic has"
        except ConnectError as error:
            desk.say("DEBUG", f"Can't check for old offsets of connector {name}: {error}")
            return
        finally:
            self._looking -= 1
        if count:
            desk.say(
                "WARNING",
                f"Connector {name} continues from the offsets of an earlier connector of this name: {where} offsets of {count} "
                f"partition(s). To start over, stop it and send DELETE /connectors/{name}/offsets, or create it with "
                "`initial_offsets`.",
            )
