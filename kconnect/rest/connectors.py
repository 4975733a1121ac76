"""
`/connectors` and all below it: each handler turns a request into one of `core/herder/requests.py` and its answer
into a status and a body.

Read next: `bodies.py` for what a config may look like, `resource.py` for `Call`.
"""

from __future__ import annotations

from starlette.responses import Response
from starlette.routing import Route

from kconnect.core.herder import requests
from kconnect.core.state.records import TargetState
from kconnect.rest import bodies
from kconnect.rest.resource import Api, Call, empty, ok, resource


def routes(api: Api) -> list[Route]:
    one = "/connectors/{connector}"
    return [
        resource(api, "/connectors", GET=list_connectors, POST=create),
        resource(api, one, GET=get_connector, DELETE=delete),
        resource(api, f"{one}/config", GET=get_config, PUT=put_config, PATCH=patch_config),
        resource(api, f"{one}/status", GET=get_status),
        resource(api, f"{one}/tasks", GET=get_tasks, POST=put_task_configs),
        resource(api, f"{one}/tasks/{{task}}/status", GET=get_task_status),
        resource(api, f"{one}/tasks/{{task}}/restart", POST=restart_task),
        resource(api, f"{one}/pause", PUT=pause),
        resource(api, f"{one}/resume", PUT=resume),
        resource(api, f"{one}/stop", PUT=stop),
        resource(api, f"{one}/restart", POST=restart),
        resource(api, f"{one}/topics", GET=get_topics),
        resource(api, f"{one}/topics/reset", PUT=reset_topics),
        resource(api, f"{one}/offsets", GET=get_offsets),
    ]


# -- reads ------------------------------------------------------------------------------------------------------------


async def list_connectors(call: Call) -> Response:
    return ok(await call.ask(requests.ListConnectors(tuple(call.http.query_params.getlist("expand")))))


async def get_connector(call: Call) -> Response:
    return ok(await call.ask(requests.GetConnector(_name(call))))


async def get_config(call: Call) -> Response:
    return ok(await call.ask(requests.GetConfig(_name(call))))


async def get_status(call: Call) -> Response:
    return ok(await call.ask(requests.GetStatus(_name(call))))


async def get_tasks(call: Call) -> Response:
    return ok(await call.ask(requests.GetTasks(_name(call))))


async def put_task_configs(call: Call) -> Response:
    """Internal: only another worker may call it."""
    await call.check_signature()
    await call.ask(requests.PutTaskConfigs(_name(call), bodies.task_configs(call.body)))
    return empty(204)


async def get_task_status(call: Call) -> Response:
    return ok(await call.ask(requests.GetTaskStatus(_name(call), call.task)))


async def get_topics(call: Call) -> Response:
    return ok(await call.ask(requests.GetTopics(_name(call))))


async def get_offsets(call: Call) -> Response:
    return ok(await call.ask(requests.GetOffsets(_name(call))))


# -- configs ----------------------------------------------------------------------------------------------------------


async def create(call: Call) -> Response:
    wanted = bodies.create(call.body)
    config = bodies.with_name(wanted.config, wanted.name)
    request = requests.CreateConnector(wanted.name, config, wanted.initial_state)
    return _stored(call, wanted.name, await call.ask(request))


async def put_config(call: Call) -> Response:
    name = _name(call)
    config = bodies.with_name(bodies.config(call.body), name)
    return _stored(call, name, await call.ask(requests.PutConfig(name, config)))


async def patch_config(call: Call) -> Response:
    # As in Connect, a patch of `name` is not held against the URL.
    name = _name(call)
    return _stored(call, name, await call.ask(requests.PatchConfig(name, bodies.config(call.body, bodies.PATCH))))


async def delete(call: Call) -> Response:
    await call.ask(requests.DeleteConnector(_name(call)))
    return empty(204)


def _stored(call: Call, name: str, answer: requests.Created) -> Response:
    if answer.created:
        return ok(answer.info, 201, {"Location": call.location("connectors", name)})
    return ok(answer.info)


# -- states -----------------------------------------------------------------------------------------------------------


async def pause(call: Call) -> Response:
    await call.ask(requests.SetTargetState(_name(call), TargetState.PAUSED))
    return empty(202)


async def resume(call: Call) -> Response:
    await call.ask(requests.SetTargetState(_name(call), TargetState.STARTED))
    return empty(202)


async def stop(call: Call) -> Response:
    await call.ask(requests.StopConnector(_name(call)))
    return empty(204)


async def restart(call: Call) -> Response:
    request = requests.RestartConnector(_name(call), call.flag("includeTasks"), call.flag("onlyFailed"))
    status = await call.ask(request)
    return empty(204) if status is None else ok(status, 202)


async def restart_task(call: Call) -> Response:
    await call.ask(requests.RestartTask(_name(call), call.task))
    return empty(204)


async def reset_topics(call: Call) -> Response:
    # KIP-558 says 200 without payload; Apache's code answers 202.
    await call.ask(requests.ResetTopics(_name(call)))
    return empty(200)


def _name(call: Call) -> str:
    return call.path("connector")
