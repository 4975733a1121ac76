"""
`/connectors` and all below it: each handler turns a request into one of `core/herder/requests` and its answer
into a status and a body.

Read next: `bodies.py` for what a config may look like, `resource.py` for `Call`.
"""

from __future__ import annotations

from starlette.responses import Response

from kconnect.core.herder import views
from kconnect.core.herder.requests.configs import CreateConnector, Created, DeleteConnector, PatchConfig, PutConfig
from kconnect.core.herder.requests.connectors import GetConfig, GetConnector, GetStatus, GetTasks, GetTaskStatus, ListConnectors
from kconnect.core.herder.requests.offsets import AlterOffsets, GetOffsets, ResetOffsets
from kconnect.core.herder.requests.states import RestartConnector, RestartTask, SetTargetState, StopConnector
from kconnect.core.herder.requests.tasks import FenceTasks, PutTaskConfigs
from kconnect.core.herder.requests.topics import GetTopics, ResetTopics
from kconnect.core.state.records import TargetState
from kconnect.rest import bodies
from kconnect.rest.operation import Answer, Parameter, Role, refused
from kconnect.rest.resource import Call, empty, ok

# -- reads ------------------------------------------------------------------------------------------------------------


async def list_connectors(call: Call) -> Response:
    return ok(await call.ask(ListConnectors(tuple(call.http.query_params.getlist("expand")))))


async def get_connector(call: Call) -> Response:
    return ok(await call.ask(GetConnector(_name(call))))


async def get_config(call: Call) -> Response:
    config = await call.ask(GetConfig(_name(call)))
    return ok(config, headers={"ETag": views.config_tag(config)})


async def get_status(call: Call) -> Response:
    return ok(await call.ask(GetStatus(_name(call))))


async def get_tasks(call: Call) -> Response:
    return ok(await call.ask(GetTasks(_name(call))))


async def put_task_configs(call: Call) -> Response:
    """Internal: only another worker may call it."""
    await call.check_signature()
    await call.ask(PutTaskConfigs(_name(call), await call.parsed(bodies.task_configs)))
    return empty(204)


async def fence(call: Call) -> Response:
    """Internal, as `put_task_configs`."""
    await call.check_signature()
    await call.ask(FenceTasks(_name(call)))
    return empty(204)


async def get_task_status(call: Call) -> Response:
    return ok(await call.ask(GetTaskStatus(_name(call), call.task)))


async def get_topics(call: Call) -> Response:
    return ok(await call.ask(GetTopics(_name(call))))


async def get_offsets(call: Call) -> Response:
    return ok(await call.ask(GetOffsets(_name(call))))


async def alter_offsets(call: Call) -> Response:
    return ok(await call.ask(AlterOffsets(_name(call), await call.parsed(bodies.offsets))))


async def reset_offsets(call: Call) -> Response:
    return ok(await call.ask(ResetOffsets(_name(call))))


# -- configs ----------------------------------------------------------------------------------------------------------


async def create_connector(call: Call) -> Response:
    body = await call.parsed(bodies.create, call.api.settings.max_record_bytes)
    call.note("connector", body.name)
    config = bodies.with_name(body.config, body.name)
    request = CreateConnector(body.name, config, body.initial_state, body.initial_offsets)
    return _stored(call, body.name, await call.ask(request))


async def put_config(call: Call) -> Response:
    name = _name(call)
    config = bodies.with_name(await call.config(), name)
    return _stored(call, name, await call.ask(PutConfig(name, config, call.expected)))


async def patch_config(call: Call) -> Response:
    # As in Connect, a patch of `name` is not held against the URL.
    name = _name(call)
    return _stored(call, name, await call.ask(PatchConfig(name, await call.config(bodies.PATCH), call.expected)))


async def delete_connector(call: Call) -> Response:
    await call.ask(DeleteConnector(_name(call)))
    return empty(204)


def _stored(call: Call, name: str, answer: Created) -> Response:
    if answer.created:
        return ok(answer.info, 201, {"Location": call.location("connectors", name)})
    return ok(answer.info)


# -- states -----------------------------------------------------------------------------------------------------------


async def pause_connector(call: Call) -> Response:
    await call.ask(SetTargetState(_name(call), TargetState.PAUSED))
    return empty(202)


async def resume_connector(call: Call) -> Response:
    await call.ask(SetTargetState(_name(call), TargetState.STARTED))
    return empty(202)


async def stop_connector(call: Call) -> Response:
    await call.ask(StopConnector(_name(call)))
    return empty(204)


async def restart_connector(call: Call) -> Response:
    request = RestartConnector(_name(call), call.flag("includeTasks"), call.flag("onlyFailed"))
    status = await call.ask(request)
    return empty(204) if status is None else ok(status, 202)


async def restart_task(call: Call) -> Response:
    await call.ask(RestartTask(_name(call), call.task))
    return empty(204)


async def reset_topics(call: Call) -> Response:
    # KIP-558 says 200 without payload; Apache's code answers 202.
    await call.ask(ResetTopics(_name(call)))
    return empty(200)


def _name(call: Call) -> str:
    return call.path("connector")


_ONE = "/connectors/{connector}"
_UNKNOWN = refused(404, "There is no such connector.")
_INVALID = refused(400, "The body is malformed, names another connector, or fails validation: the message has every error.")
_NO_LEADER = refused(409, "No worker leads the cluster, and none did within the request's time.")
_STORED = (Answer(200, "The config was replaced.", "ConnectorInfo"), _INVALID, _NO_LEADER)
_NEW = Answer(201, "The connector was created.", "CreatedConnector", (("Location", "The URL of the new connector."),))
_CREATED = Answer(201, "The connector was created.", "ConnectorInfo", (("Location", "The URL of the new connector."),))

_TAG = "What tells this config from all others of the connector."
_IF_MATCH = "With `If-Match`, and the `ETag` of the config that was read, it is changed only if it still is that one."
_CHANGED = refused(412, "The config is not that of `If-Match`: somebody else has changed it, or has deleted the connector.")

_NOT_STOPPED = "The connector is not stopped, or has tasks."
_OFFSETS_CHANGED = Answer(200, "The offsets that kconnect keeps are changed; the message says more.", "Message")
_STILL_RUNS = refused(409, "A task has not stopped within the request's time, or no worker leads the cluster.")
_NOT_CHANGED = refused(500, "The connector refuses the change, the group has members, or Kafka does not answer.")

_EXPAND = Parameter(
    "expand", "What to include for each connector, instead of a list of names.", {"enum": ["status", "info"]}, many=True
)
_INCLUDE_TASKS = Parameter("includeTasks", "Restart the tasks, too.", {"type": "boolean", "default": False})
_ONLY_FAILED = Parameter("onlyFailed", "Restart only what has failed.", {"type": "boolean", "default": False})

OPERATIONS = (
    Role.READ.may(
        "GET /connectors",
        list_connectors,
        "The connectors' names; expanded: their statuses and configs",
        Answer(200, "The names, or with `expand` an object by name.", "Connectors"),
        query=(_EXPAND,),
        notes="With `expand=status`, a connector of which nothing has been reported yet is left out.",
    ),
    Role.ADMIN.may(
        "POST /connectors",
        create_connector,
        "Create a connector",
        _NEW,
        _INVALID,
        refused(409, "A connector of this name exists, or no worker leads the cluster."),
        refused(500, "Its initial offsets were refused, or could not be stored: no connector was created."),
        body="CreateConnectorRequest",
        notes="With `initial_offsets` the connector starts from these (KIP-995), and old offsets of this name are forgotten. "
        "Otherwise it continues from old offsets, if there are any.",
    ),
    Role.READ.may(
        f"GET {_ONE}", get_connector, "A connector's config and tasks", Answer(200, "The connector.", "ConnectorInfo"), _UNKNOWN
    ),
    Role.ADMIN.may(
        f"DELETE {_ONE}",
        delete_connector,
        "Delete a connector",
        Answer(204, "It is deleted. Its offsets stay."),
        _UNKNOWN,
        _NO_LEADER,
    ),
    Role.READ.may(
        f"GET {_ONE}/config",
        get_config,
        "A connector's config, as it was submitted",
        Answer(200, "The config. References to config providers are not resolved.", "Config", (("ETag", _TAG),)),
        _UNKNOWN,
    ),
    Role.ADMIN.may(
        f"PUT {_ONE}/config",
        put_config,
        "Create a connector, or replace its config",
        _CREATED,
        *_STORED,
        _CHANGED,
        body="SubmittedConfig",
        notes=_IF_MATCH,
    ),
    Role.ADMIN.may(
        f"PATCH {_ONE}/config",
        patch_config,
        "Change some settings of a connector (KIP-477)",
        *_STORED,
        _UNKNOWN,
        _CHANGED,
        body="ConfigPatch",
        notes=f"What the body does not name stays as it is. {_IF_MATCH}",
    ),
    Role.READ.may(
        f"GET {_ONE}/status",
        get_status,
        "The states of a connector and its tasks",
        Answer(200, "The states, as last reported.", "ConnectorStateInfo"),
        refused(
            404,
            "No state has been reported for it.",
        ),
    ),
    Role.READ.may(
        f"GET {_ONE}/tasks", get_tasks, "The tasks and their configs", Answer(200, "The tasks, by number.", "Tasks"), _UNKNOWN
    ),
    Role.ANYONE.may(
        f"POST {_ONE}/tasks",
        put_task_configs,
        "Between workers: task configs of a connector",
        Answer(204, "The task configs are in effect."),
        refused(400, "The signature is missing, the body malformed, or the connector stopped."),
        refused(403, "The signature is wrong."),
        _UNKNOWN,
        _NO_LEADER,
        refused(503, "This worker has not read a session key yet."),
        body="TaskConfigs",
        notes="Needs the signature of a worker of this cluster (KIP-507). Nothing for other clients.",
        signed=True,
    ),
    Role.READ.may(
        f"GET {_ONE}/tasks/{{task}}/status",
        get_task_status,
        "The state of a task",
        Answer(200, "The state, as last reported.", "TaskState"),
        refused(404, "No state has been reported for it."),
    ),
    Role.OPERATE.may(
        f"POST {_ONE}/tasks/{{task}}/restart",
        restart_task,
        "Restart a task",
        Answer(204, "It will be restarted."),
        refused(404, "There is no such connector, or it has no such task."),
        refused(409, "No worker was assigned the task within the request's time."),
    ),
    Role.OPERATE.may(
        f"PUT {_ONE}/pause",
        pause_connector,
        "Pause a connector",
        Answer(202, "It will pause; its tasks stay where they are."),
        _UNKNOWN,
    ),
    Role.OPERATE.may(
        f"PUT {_ONE}/resume",
        resume_connector,
        "Resume a connector that is paused or stopped",
        Answer(202, "It will run again."),
        _UNKNOWN,
    ),
    Role.OPERATE.may(
        f"PUT {_ONE}/stop",
        stop_connector,
        "Stop a connector: its tasks end (KIP-875)",
        Answer(204, "It will stop; its tasks are gone until it is resumed."),
        _UNKNOWN,
        _NO_LEADER,
    ),
    Role.OPERATE.may(
        f"POST {_ONE}/restart",
        restart_connector,
        "Restart a connector, and its tasks if asked to (KIP-745)",
        Answer(202, "With parameters: what will be restarted is shown as RESTARTING.", "ConnectorStateInfo"),
        Answer(204, "Without parameters: the connector will be restarted, its tasks won't."),
        refused(404, "There is no such connector, or no state has been reported for it."),
        _NO_LEADER,
        query=(_INCLUDE_TASKS, _ONLY_FAILED),
    ),
    Role.READ.may(
        f"GET {_ONE}/topics",
        get_topics,
        "The topics that a connector has used (KIP-558)",
        Answer(200, "The topics; none for an unknown connector.", "ConnectorTopics"),
        refused(403, "The worker does not track topics: `topic.tracking.enable` is false."),
    ),
    Role.OPERATE.may(
        f"PUT {_ONE}/topics/reset",
        reset_topics,
        "Forget which topics a connector has used (KIP-558)",
        Answer(200, "They are forgotten."),
        refused(403, "The worker does not allow it: `topic.tracking.allow.reset` is false."),
    ),
    Role.READ.may(
        f"GET {_ONE}/offsets",
        get_offsets,
        "The offsets of a connector (KIP-875)",
        Answer(200, "The offsets that are committed.", "ConnectorOffsets"),
        _UNKNOWN,
    ),
    Role.ADMIN.may(
        f"PATCH {_ONE}/offsets",
        alter_offsets,
        "Alter offsets of a stopped connector (KIP-875)",
        _OFFSETS_CHANGED,
        refused(400, f"{_NOT_STOPPED} Or the body is malformed."),
        _UNKNOWN,
        _STILL_RUNS,
        _NOT_CHANGED,
        body="OffsetsRequest",
        notes="What the body does not name stays as it is. A null offset resets its partition.",
    ),
    Role.ADMIN.may(
        f"DELETE {_ONE}/offsets",
        reset_offsets,
        "Reset the offsets of a stopped connector (KIP-875)",
        _OFFSETS_CHANGED,
        refused(400, _NOT_STOPPED),
        _UNKNOWN,
        _STILL_RUNS,
        _NOT_CHANGED,
    ),
    Role.ANYONE.may(
        f"PUT {_ONE}/fence",
        fence,
        "Between workers: fence the producers of earlier tasks (KIP-618)",
        Answer(204, "They can't write any more."),
        refused(400, "The signature is missing, or the connector is not a source."),
        refused(403, "The signature is wrong."),
        _UNKNOWN,
        _NO_LEADER,
        refused(500, "Not all of them were fenced."),
        refused(503, "This worker has not read a session key yet."),
        notes="Needs the signature of a worker of this cluster (KIP-507). Nothing for other clients.",
        signed=True,
    ),
)
