"""
`/kconnect`: what Kafka Connect has no resource for.

Read next: `core/herder/requests/own.py` and `core/herder/requests/placement.py`, which answer.
"""

from __future__ import annotations

from starlette.responses import Response

from kconnect.core.herder.requests.own import GetOwn, ListOwn
from kconnect.core.herder.requests.placement import GetPlacement
from kconnect.core.herder.requests.plugins import ReloadPlugins
from kconnect.rest import schemas
from kconnect.rest.operation import Answer, Operation, Role, refused
from kconnect.rest.resource import Call, ok


async def list_own(call: Call) -> Response:
    return ok(await call.ask(ListOwn()))


async def get_own(call: Call) -> Response:
    return ok(await call.ask(GetOwn(call.path("connector"))))


async def get_placement(call: Call) -> Response:
    return ok(await call.ask(GetPlacement(call.path("connector"))))


async def reload_plugins(call: Call) -> Response:
    return ok(await call.ask(ReloadPlugins()))


_PLACED = schemas.declare(
    "PlacedUnit",
    "A task, or the connector's instance.",
    {
        "task": {"type": ["integer", "null"], "description": "Its number; null for the instance."},
        "state": {"type": "string", "description": "As its status has it.", "examples": ["RUNNING"]},
        "worker_id": {"type": ["string", "null"], "description": "Who is to run it.", "examples": ["10.0.0.1:8083"]},
        "host": schemas.HOST,
        "waits_for": {"type": ["string", "null"], "description": "Why it is not where it is to be; null if it is."},
    },
)
_PLACEMENT = schemas.declare(
    "Placement",
    "Where a connector is to run, and where it runs.",
    {
        "name": {"type": "string"},
        "connector": schemas.ref(_PLACED),
        "tasks": {"type": "array", "description": "By number.", "items": schemas.ref(_PLACED)},
    },
)

OPERATIONS = (
    Operation(
        "GET",
        "/kconnect/connectors",
        list_own,
        "What only kconnect knows of the connectors",
        Role.READ,
        (Answer(200, "By name; some seconds old.", "OwnConnectors"),),
        notes="Which host has each task, what that takes, and what is tried again and again.",
    ),
    Operation(
        "GET",
        "/kconnect/connectors/{connector}",
        get_own,
        "What only kconnect knows of a connector",
        Role.READ,
        (Answer(200, "The same of one connector, with its name.", "OwnConnector"), refused(404, "There is no such connector.")),
    ),
    Operation(
        "GET",
        "/kconnect/connectors/{connector}/placement",
        get_placement,
        "Where a connector and its tasks run, and what they wait for",
        Role.READ,
        (Answer(200, "What the answering worker has read.", _PLACEMENT), refused(404, "There is no such connector.")),
    ),
    Operation(
        "POST",
        "/kconnect/plugins/reload",
        reload_plugins,
        "Have this worker look at plugin.path anew",
        Role.ADMIN,
        (Answer(200, "What is different now.", "ReloadedPlugins"),),
        notes="Of this worker only: ask each. Connectors that name no version get the newest, as after a restart. Config "
        "providers, and what is installed beside kconnect, stay as they are until the worker is restarted.",
    ),
)
