"""
Configs of connectors: they are validated, stored, changed and deleted. The order of checks is Kafka Connect's.

Made by `rest/connectors.py` and `rest/plugins.py`. Read next: `leader.py` for what follows from a config.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kconnect.api.config import Type, parse
from kconnect.core.herder import effects, views
from kconnect.core.herder.desk import Desk
from kconnect.core.herder.effects import Body
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.herder.request import Office, Request
from kconnect.core.herder.requests import offsets
from kconnect.core.settings import topic_creation, unknown
from kconnect.core.settings.validation import errors_message
from kconnect.core.state import records
from kconnect.core.state.config import Properties
from kconnect.core.state.records import Entry, TargetState
from kconnect.errors import AlreadyExistsError, BadRequestError, ChangedError, ConnectError

_INITIAL = {"RUNNING": TargetState.STARTED, "PAUSED": TargetState.PAUSED, "STOPPED": TargetState.STOPPED}


@dataclass(frozen=True, slots=True)
class Created:
    """Answer of the requests that store a config: `created` tells 201 from 200; `info` is ConnectorInfo."""

    created: bool
    info: Body


@dataclass(frozen=True, slots=True)
class ValidateConfig(Request[Body]):
    """`PUT /connector-plugins/{p}/config/validate`: ConfigInfos."""

    plugin: str
    config: Properties
    hurries = True

    def answer(self, office: Office) -> Procedure[Body]:
        included = self.config.get("connector.class")
        if not included:
            raise BadRequestError("The config to validate contains no `connector.class`: add it, as in the request's path")
        if not included.removesuffix("Connector").endswith(self.plugin.removesuffix("Connector")):
            raise BadRequestError(f"Included connector type {included} does not match request type {self.plugin}")
        return (yield from _infos(office, self.plugin, office.classes.settled(self.config)))


@dataclass(frozen=True, slots=True)
class CreateConnector(Request[Created]):
    """
    `POST /connectors`. `initial_state` is RUNNING, PAUSED or STOPPED, in any case (KIP-980). With `initial_offsets` (KIP-995),
    as `AlterOffsets` has them, the answer's `info` has `offsets_status`.
    """

    name: str
    config: Properties
    initial_state: str | None = None
    initial_offsets: tuple[tuple[Any, Any], ...] | None = None
    writes = True

    def answer(self, office: Office) -> Procedure[Created]:
        name = parse("name", self.name or "", Type.STRING)
        config = office.classes.settled(_named(name, self.config))
        target = _initial_target_state(self.initial_state)
        yield from _validated(office, config)
        described = None if self.initial_offsets is None else (yield from office.classes.ask(config))

        def work() -> Procedure[Created]:
            desk, more = office.desk, {}
            yield from desk.await_lead()
            if name in desk.log.config.connectors:
                raise AlreadyExistsError(f"Connector {name} already exists")
            state = [] if target is None else [records.target_state(name, target)]
            entries = [*_left_behind(desk, name), *state, records.connector_config(name, config)]
            if self.initial_offsets is None:
                office.old_offsets.look(name, config)
                yield from desk.write_as_leader(entries)
            elif described is None:
                raise ConnectError(offsets.unknown_class(name, config["connector.class"]))
            else:
                kind = described["type"]
                status = yield from offsets.initial(desk, name, config, kind, self.initial_offsets, entries)
                more = {"offsets_status": status}
            return Created(True, {**(yield from _info(office, name, config)), "tasks": [], **more})

        return (yield from office.desk.exclusively(name, work()))


@dataclass(frozen=True, slots=True)
class PutConfig(Request[Created]):
    """
    `PUT /connectors/{c}/config`: creates or replaces. With `expected`, only if the config has one of these tags; any, for `*`.
    """

    name: str
    config: Properties
    expected: frozenset[str] | None = None
    writes = True

    def answer(self, office: Office) -> Procedure[Created]:
        desk, name = office.desk, self.name
        config = office.classes.settled(_named(name, self.config))
        yield from _validated(office, config)

        def work() -> Procedure[Created]:
            yield from desk.await_lead()
            created = name not in desk.log.config.connectors
            if self.expected is not None:
                _require_unchanged(desk, name, self.expected, config)
            if created:
                office.old_offsets.look(name, config)
            before = _left_behind(desk, name) if created else []
            yield from desk.write_as_leader([*before, records.connector_config(name, config)])
            info = yield from _info(office, name, config)
            # In Connect's answer nothing that is new has tasks, however quickly they came.
            return Created(created, {**info, "tasks": []} if created else info)

        return (yield from desk.exclusively(name, work()))


def _require_unchanged(desk: Desk, name: str, expected: frozenset[str], new_config: Properties) -> None:
    """Raise ChangedError if the config is not what the caller has read, nor what the caller wants: it may ask once more."""
    connector = desk.log.config.connectors.get(name)
    if connector is None:
        raise ChangedError(f"Connector {name} is not there any more, so its config was not changed (If-Match)")
    properties = connector.properties
    if expected != {"*"} and not views.config_tags(properties) & expected and dict(properties) != dict(new_config):
        raise ChangedError(f"Somebody else has changed the config of {name} meanwhile, so it was not changed (If-Match)")


def _left_behind(desk: Desk, name: str) -> list[Entry]:
    """
    Return what has the topics forgotten that a connector of that name has used, which was deleted a moment ago: the leader has
    not come to it, and will not once the name is in use again.
    """
    return [entry for topic in desk.log.status.topics_of(name) for entry in records.topic_unused(name, topic)]


@dataclass(frozen=True, slots=True)
class PatchConfig(Request[Created]):
    """`PATCH /connectors/{c}/config`: a null removes the key (KIP-477); `created` is false. `expected` as for `PutConfig`."""

    name: str
    patch: Properties
    expected: frozenset[str] | None = None
    writes = True

    def answer(self, office: Office) -> Procedure[Created]:
        desk, name = office.desk, self.name

        def work() -> Procedure[Created]:
            yield from desk.await_lead()
            desk.require(name)
            merged = {**desk.log.config.connectors[name].properties, **self.patch}
            # The name in a config may be another one than the connector's.
            settled = {**office.classes.settled({**merged, "name": name}), "name": merged.get("name")}
            config = {key: value for key, value in settled.items() if value is not None}
            if self.expected is not None:
                _require_unchanged(desk, name, self.expected, config)
            # As in Connect a patch may change `name`, but the connector's stays, and decides the group of a sink.
            yield from _validated(office, {**config, "name": name} if "name" in config else config)
            yield from desk.write_as_leader([records.connector_config(name, config)])
            return Created(False, (yield from _info(office, name, config)))

        return (yield from desk.exclusively(name, work()))


@dataclass(frozen=True, slots=True)
class DeleteConnector(Request[None]):
    """`DELETE /connectors/{c}`."""

    name: str
    writes = True

    def answer(self, office: Office) -> Procedure[None]:
        desk = office.desk

        def work() -> Procedure[None]:
            yield from desk.await_lead()
            desk.require(self.name)
            yield from desk.write_as_leader(records.connector_deleted(self.name))

        yield from desk.exclusively(self.name, work())


# --- steps ------------------------------------------------------------------------------------------------------------


def _named(name: str, submitted: Properties) -> dict[str, str | None]:
    """The config with its `name`, which Connect adds where it is absent and compares where it is not."""
    config = dict(submitted)
    name_in_config = config.setdefault("name", name)
    if name_in_config != name:
        raise BadRequestError(
            f"Connector name configuration ({name_in_config}) doesn't match connector name in the URL ({name})"
        )
    return config


def _initial_target_state(text: str | None) -> TargetState | None:
    """Return the target state that `initial_state` names; None if it is not set."""
    if text is None:
        return None
    state = _INITIAL.get(text.upper())
    if state is None:
        raise BadRequestError(f"Invalid value {text} for initial_state: must be one of RUNNING, PAUSED, STOPPED")
    return state


def _validated(office: Office, config: Properties) -> Procedure[None]:
    plugin = config.get("connector.class")
    if not plugin:
        raise BadRequestError(
            "The connector config contains no connector type: set `connector.class` to one of the classes that "
            "GET /connector-plugins lists"
        )
    infos = yield from _infos(office, plugin, config)
    if infos["error_count"]:
        raise BadRequestError(errors_message(infos))
    for line in unknown.told(config, infos):
        office.desk.say("WARNING", f"Connector {config.get('name')}: {line}")


def _infos(office: Office, plugin: str, config: Properties) -> Procedure[Body]:
    infos = yield from ask(effects.Validate(plugin, dict(config)))
    before = office.desk.log.config.connectors.get(config.get("name") or "")
    if before is not None:
        topic_creation.without_old_errors(infos, config, before.properties)
    return infos


def _info(office: Office, name: str, written: Properties) -> Procedure[Body]:
    kind = yield from office.classes.kind(name)
    if name not in office.desk.log.config.connectors:
        # Somebody has deleted it meanwhile; it was written all the same.
        return {"name": name, "config": dict(written), "tasks": [], "type": kind}
    return views.connector_info(office.desk.log.config, name, kind)
