"""
Requests made up from the OpenAPI document, against a real herder and real plugins (F16).

None is answered with 5xx, every answer is one that the document tells of, and a request that is refused has written
nothing. `KCONNECT_FUZZ_EXAMPLES` says how many requests each operation gets of each kind, those that fit the document and
those that don't. What is written by hand is in `test_hostile.py`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode

from kconnect.core.herder.requests.configs import CreateConnector, DeleteConnector
from kconnect.core.herder.requests.connectors import ListConnectors
from kconnect.core.state.config import Properties
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from kconnect.rest import loggers, schemas
from kconnect.rest.app import OPERATIONS, RestSettings, build
from kconnect.rest.operation import Operation

from .cluster import ClusterHerder
from .conftest import ADVERTISED, FILE_SOURCE

pytestmark = pytest.mark.process

EXAMPLES = int(os.environ.get("KCONNECT_FUZZ_EXAMPLES", "10"))
STATES = {"lines": None, "paused": "PAUSED", "stopped": "STOPPED"}
KNOWN: dict[str, list[Any]] = {
    "connector": [*STATES],
    "task": [0, 1],
    "plugin": ["FileStreamSource", "JsonConverter", "org.apache.kafka.connect.transforms.Cast$Key"],
    "worker": ["worker-1:8083", "gone:1"],
    "logger": ["kconnect.fuzz"],
}
"""Made-up texts name nothing: these do."""
UNTYPED = (400, 404, 405, 406, 415)
"""Refusals that may come before any resource is reached, and have no content type then."""


class World:
    """The application, a cluster in which three connectors always are, and what the document says."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.herder = ClusterHerder(sandbox)
        self.app = build(self.herder, RestSettings(ADVERTISED))
        self.schema = schemathesis.openapi.from_asgi("/openapi.json", self.app)
        self.settled = len(self.herder.records)
        self._validators: dict[str, jsonschema_rs.Draft202012Validator] = {}

    def furnish(self) -> None:
        """Put back what requests have deleted, and delete what they have created too much of."""
        names = self.herder.submit(ListConnectors()).result()
        superfluous = [name for name in names if name not in STATES][5:]
        for name in superfluous:
            self.herder.submit(DeleteConnector(name)).result()
        missing = STATES.keys() - set(names)
        for name in missing:
            config: Properties = {**FILE_SOURCE, "name": name}
            self.herder.submit(CreateConnector(name, config, STATES[name])).result()
        if superfluous or missing:
            self.settle()
        assert len(self.herder.records) == self.settled, "something was written after the last request had been answered"

    def settle(self) -> None:
        self.herder.cluster.settle()
        self.settled = len(self.herder.records)

    def conforms(self, case: Case, response: Any) -> None:
        """The answer's status, content type and body are as the document says."""
        documented = case.operation.definition.raw["responses"]
        assert str(response.status_code) in documented, "an undocumented status"
        content_type = response.headers.get("content-type", [""])[0].partition(";")[0]
        if not content_type:
            assert response.status_code in (*UNTYPED, 200, 201, 202, 204)
            if response.status_code in UNTYPED and response.content:
                assert self.validator("Error").is_valid(response.json())
            else:
                assert response.content == b""
            return
        described = documented[str(response.status_code)]["content"][content_type]["schema"]
        if "$ref" in described:
            self.validator(described["$ref"].rpartition("/")[2]).validate(response.json())

    def validator(self, name: str) -> jsonschema_rs.Draft202012Validator:
        if name not in self._validators:
            whole = {**schemas.ref(name), "components": {"schemas": closed(schemas.SCHEMAS)}}
            self._validators[name] = jsonschema_rs.Draft202012Validator(whole)
        return self._validators[name]


def closed(schema: Any) -> Any:
    """The schema, or all in it, without room for what it does not name."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    fields = schema.get("properties")
    return {"additionalProperties": False, **inner} if isinstance(fields, dict) and "required" in schema else inner


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    sandbox = Sandbox(Registry.scan(None))
    levels = {name: logger.level for name, logger in _loggers()}
    yield World(sandbox)
    sandbox.close()
    for name, logger in _loggers():
        logger.setLevel(levels.get(name, logging.NOTSET))


def _loggers() -> list[tuple[str, logging.Logger]]:
    """All that requests may set the level of, for those of other tests to be as they were."""
    known = logging.root.manager.loggerDict.items()
    return [("", logging.root), *((name, logger) for name, logger in known if isinstance(logger, logging.Logger))]


CASES = [
    pytest.param(row, mode, id=f"{row.id}-{GenerationMode(mode).value}")
    for row in (*OPERATIONS, *loggers.OPERATIONS)
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    # Any text is a name: only of the others some are wrong.
    if mode is GenerationMode.POSITIVE or row.query or row.body or "task" in row.path_parameters
]


@pytest.mark.parametrize(("row", "mode"), CASES)
def test_made_up_requests(world: World, row: Operation, mode: GenerationMode) -> None:
    strategy = world.schema[row.path][row.method].as_strategy(generation_mode=mode)

    @settings(max_examples=EXAMPLES, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(strategy, st.data(), st.booleans())
    def run(case: Case, data: st.DataObject, usable: bool) -> None:
        world.furnish()
        for name in row.path_parameters:
            if data.draw(st.integers(0, 3)):
                case.path_parameters[name] = data.draw(st.sampled_from(KNOWN[name]))
        if usable:
            make_usable(case)
        response = case.call(timeout=240)
        assert response.status_code < 500, response.text
        world.conforms(case, response)
        if response.status_code >= 400 or row.method == "GET":
            assert len(world.herder.records) == world.settled, "a request that was refused has written something"
        else:
            world.settle()

    run()


def make_usable(case: Case) -> None:
    """What is made up names no plugin: with one, requests come past validation."""
    if isinstance(case.body, dict):
        config = case.body.get("config") if "config" in case.body else case.body
        if isinstance(config, dict):
            config.update(FILE_SOURCE)
