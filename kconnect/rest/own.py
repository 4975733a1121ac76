"""`/kconnect`: what Kafka Connect has no resource for; of connectors see `core/herder/requests/own.py`."""

from __future__ import annotations

from starlette.responses import Response

from kconnect.core.herder.requests.own import GetOwn, ListOwn
from kconnect.core.herder.requests.plugins import ReloadPlugins
from kconnect.rest.operation import Answer, Operation, Role, refused
from kconnect.rest.resource import Call, ok


async def list_own(call: Call) -> Response:
    return ok(await call.ask(ListOwn()))


async def get_own(call: Call) -> Response:
    return ok(await call.ask(GetOwn(call.path("connector"))))


async def reload_plugins(call: Call) -> Response:
    return ok(await call.ask(ReloadPlugins()))


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
