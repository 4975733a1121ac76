"""
What is known of connectors and their tasks, as Kafka Connect answers it. Made by `rest/connectors.py`.

Read next: `views.py`, which makes the bodies.
"""

from __future__ import annotations

from dataclasses import dataclass

from kconnect.core.herder import classes, views
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.effects import Body
from kconnect.core.herder.procedures import Procedure
from kconnect.core.herder.request import Look, Office, Request
from kconnect.core.herder.waiting import waiting
from kconnect.errors import NotFoundError


@dataclass(frozen=True, slots=True)
class ListConnectors(Request["list[str] | Body"]):
    """`GET /connectors`: a list of names, or with `expand` a dict of name -> {"status":..., "info":...}."""

    expand: tuple[str, ...] = ()

    def answer(self, office: Office) -> Procedure[list[str] | Body]:
        desk, config = office.desk, office.desk.log.config
        names = list(config.connectors)
        if not self.expand:
            return names
        statuses, expanded = desk.log.status, frozenset(("status", "info")).intersection(self.expand)
        depends_on = config.offset, statuses.changes, office.classes.answers
        cached = statuses.listed.get(expanded)
        if cached is not None and cached[0] == depends_on:
            return cached[1]
        plugins = {name: classes.named(config.connectors[name].properties) for name in names}
        asked = {plugin: name for name, plugin in plugins.items()}
        for plugin, name in asked.items():
            if plugin[0]:
                # All at once: those that hang are waited for together.
                office.classes.known(config.connectors[name].properties)
        kinds = {}
        for plugin, name in asked.items():
            kinds[plugin] = yield from office.classes.kind(name)
        body: Body = {}
        for name in names:
            kind = kinds[plugins[name]]
            try:
                entry: Body = {}
                if "status" in expanded:
                    entry["status"] = status_of(desk, name, kind)
                if "info" in expanded:
                    entry["info"] = views.connector_info(config, name, kind)
                body[name] = entry
            except NotFoundError:
                continue  # It was deleted meanwhile.
        # A class that has not answered is asked again; and of what waits, the reason may change with whatever is read.
        settled = {"source", "sink"}.issuperset(kinds.values())
        if settled and (expanded == {"info"} or all(name in statuses.shown for name in body)):
            statuses.listed[expanded] = depends_on, body
        return body


def status_of(desk: Desk, name: str, kind: str) -> Body:
    """Dashboards ask for those of all connectors, of which few have changed: nobody may change what this gives."""
    config, statuses = desk.log.config, desk.log.status
    connector = config.connectors.get(name)
    if connector is None:
        raise NotFoundError(f"Connector {name} not found")
    depends_on = connector.task_count, connector.inconsistent, config.target_state(name), kind
    cached = statuses.shown.get(name)
    if cached is not None and cached[0] == depends_on:
        return cached[1]
    waits = waiting(desk, name)
    body = views.connector_status(config, statuses, name, kind, waits)
    # What a unit waits for may change with whatever is read. Nor does what was kept before stand: a list would be kept by it.
    if waits:
        statuses.shown.pop(name, None)
    else:
        statuses.shown[name] = depends_on, body
    return body


@dataclass(frozen=True, slots=True)
class GetConnector(Request[Body]):
    """`GET /connectors/{c}`."""

    name: str

    def answer(self, office: Office) -> Procedure[Body]:
        office.desk.require(self.name)
        kind = yield from office.classes.kind(self.name)
        return views.connector_info(office.desk.log.config, self.name, kind)


@dataclass(frozen=True, slots=True)
class GetConfig(Look[Body]):
    """`GET /connectors/{c}/config`."""

    name: str

    def look(self, office: Office) -> Body:
        office.desk.require(self.name)
        return dict(office.desk.log.config.connectors[self.name].properties)


@dataclass(frozen=True, slots=True)
class GetStatus(Request[Body]):
    """`GET /connectors/{c}/status`."""

    name: str

    def answer(self, office: Office) -> Procedure[Body]:
        desk, log = office.desk, office.desk.log
        kind = yield from office.classes.kind(self.name)
        return views.connector_status(log.config, log.status, self.name, kind, waiting(desk, self.name))


@dataclass(frozen=True, slots=True)
class GetTasks(Look["list[Body]"]):
    """`GET /connectors/{c}/tasks`."""

    name: str

    def look(self, office: Office) -> list[Body]:
        return views.tasks(office.desk.log.config, self.name)


@dataclass(frozen=True, slots=True)
class GetTaskStatus(Look[Body]):
    """`GET /connectors/{c}/tasks/{t}/status`."""

    name: str
    task: int

    def look(self, office: Office) -> Body:
        desk, log = office.desk, office.desk.log
        return views.task_status(log.config, log.status, self.name, self.task, waiting(desk, self.name))
