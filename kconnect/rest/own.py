"""
`/kconnect`: what Kafka Connect has no resource for.

Read next: `core/herder/requests/own.py` and `core/herder/requests/placement.py`, which answer.
"""

from __future__ import annotations

from starlette.responses import Response

from kconnect.core.herder.requests.changes import GetChanges
from kconnect.core.herder.requests.offsets import PlanMoves
from kconnect.core.herder.requests.overview import GetOverview
from kconnect.core.herder.requests.own import GetHistory, GetOwn, GetRestarts, ListOwn
from kconnect.core.herder.requests.placement import GetPlacement
from kconnect.core.herder.requests.schemas import ForgetSchemas, GetSchemas
from kconnect.errors import BadRequestError
from kconnect.rest import bodies, schemas
from kconnect.rest.operation import Answer, Parameter, Role, refused
from kconnect.rest.resource import Call, ok, ready


async def list_own(call: Call) -> Response:
    return ok(await call.ask(ListOwn()))


async def get_own(call: Call) -> Response:
    return ok(await call.ask(GetOwn(call.path("connector"))))


async def get_overview(call: Call) -> Response:
    wait = bodies.whole_text("wait", call.query("wait") or "0", 0, _LONGEST_WAIT_MS)
    since = call.query("since")
    if not wait:
        return ok(await call.ask(GetOverview(since)))
    overview = await call.poll(GetOverview(since, wait), GetOverview(since))
    # Whoever was removed meanwhile hears nothing more.
    return await call.api.refusal(call.http, Role.READ) or ok(overview)


async def get_history(call: Call) -> Response:
    return ok(await call.ask(GetHistory(call.path("connector"))))


async def get_restarts(call: Call) -> Response:
    return ok(await call.ask(GetRestarts(call.path("connector"), frozenset(call.http.query_params.getlist("changed")))))


async def get_changes(call: Call) -> Response:
    return ready(await call.ask(GetChanges(call.path("connector"))))


async def plan_moves(call: Call) -> Response:
    asked = {name: text for name in ("to", "time", "back") if (text := call.query(name)) is not None}
    if len(asked) > 1 or asked.get("to", "latest") not in ("earliest", "latest"):
        raise BadRequestError("Give one of to=earliest, to=latest, time=<ms since 1970> and back=<number of records>.")
    ((what, text),) = (asked or {"to": "earliest"}).items()
    to, number = (text, 0) if what == "to" else (what, bodies.whole_text(what, text, 0, 2**53))
    return ok(await call.ask(PlanMoves(call.path("connector"), to, number)))


async def get_schemas(call: Call) -> Response:
    return ok(await call.ask(GetSchemas(call.path("connector"))))


async def forget_schemas(call: Call) -> Response:
    return ok(await call.ask(ForgetSchemas(call.path("connector"))))


async def get_placement(call: Call) -> Response:
    return ok(await call.ask(GetPlacement(call.path("connector"))))


_HISTORY = schemas.declare(
    "History",
    "The last hour of a connector's numbers. What was so at a point is so until the next one.",
    {
        "name": {"type": "string"},
        "at": {"type": "array", "description": "When each point was, in ms since 1970.", "items": {"type": "integer"}},
        **{
            name: {
                "type": "array",
                "description": f"{text}; null where it was not known.",
                "items": {"type": ["number", "null"]},
            }
            for name, text in {
                "in_per_s": "Records a second from the source, or from Kafka",
                "out_per_s": "Records a second to Kafka, or to the sink",
                "lag": "Records that a sink had still to read",
                "errors": "Records that had failed for good since the tasks started",
                "dead_letters": "Records that had been sent to the dead letter queue since then",
                "call_ms": "Milliseconds of a poll or put with records, of the task that takes longest",
            }.items()
        },
    },
)
_RESTARTS = schemas.declare(
    "Restarts",
    "What a change of settings would restart.",
    {
        "name": {"type": "string"},
        "tasks": {"type": "array", "description": "Those that are sure to restart.", "items": {"type": "integer"}},
        "all": {"type": "boolean", "description": "Whether these are all of them that will: nothing is left open."},
        "text": {"type": "string", "examples": ["The connector restarts, and all its tasks (2)."]},
    },
)
_CHANGES = schemas.declare(
    "Changes",
    "What became of a connector.",
    {
        "name": {"type": "string"},
        "since": {"type": ["integer", "null"], "description": "The first record that is left, in ms since 1970."},
        "restarts": {"type": "integer", "description": "How often it or a task came to run again."},
        "changes": schemas.listed(
            "Change",
            "One of them.",
            {
                "at": {"type": "integer", "description": "In ms since 1970."},
                "of": {
                    "type": ["string", "null"],
                    "description": "`task`, or the `connector`'s instance; null: its config.",
                },
                "task": {"type": ["integer", "null"], "description": "The task's number."},
                "text": {"type": "string", "examples": ["RUNNING on 10.0.0.1:8083"]},
            },
            description="The last 200.",
        ),
    },
)
_SCHEMAS = schemas.declare(
    "InferredSchemas",
    "What a sink's tasks have inferred of JSON that has no schemas (schemas.infer).",
    {
        "name": {"type": "string"},
        "schemas": schemas.listed(
            "InferredSchema",
            "Of one topic's keys or values.",
            {
                "topic": {"type": "string"},
                "part": {"type": "string", "enum": ["key", "value"]},
                "version": {"type": "integer", "description": "How often something was added."},
                "at": {"type": "integer", "description": "When that was, in ms since 1970."},
                "content": {
                    "type": ["string", "null"],
                    "description": "The schema, as `schema.content` takes it to pin it; null while nothing is known.",
                },
                "fields": schemas.listed(
                    "InferredField",
                    "A field, at any depth.",
                    {
                        "field": {"type": "string", "examples": ["lines[].price"]},
                        "type": {
                            "type": "string",
                            "description": "null for one of which no value is known; mixed text for values of several types.",
                        },
                    },
                ),
            },
        ),
    },
)
_MOVES = schemas.declare(
    "Moves",
    "Where a sink would go on.",
    {
        "name": {"type": "string"},
        "moves": schemas.listed(
            "Move",
            "A partition.",
            {
                "topic": {"type": "string"},
                "partition": {"type": "integer"},
                "now": {"type": ["integer", "null"], "description": "The committed offset; null if there is none."},
                "then": {"type": "integer"},
                "again": {"type": "integer", "description": "At most so many records come again."},
                "skipped": {"type": "integer", "description": "At most so many records never come."},
            },
        ),
    },
)
_PLACED = schemas.declare(
    "PlacedUnit",
    "A task, or the connector's instance.",
    {
        "task": {"type": ["integer", "null"], "description": "Its number; null for the instance."},
        "state": {"type": "string", "description": "As in its status.", "examples": ["RUNNING"]},
        "worker_id": {"type": ["string", "null"], "description": "Its worker.", "examples": ["10.0.0.1:8083"]},
        "host": schemas.HOST,
        "waits_for": {"type": ["string", "null"], "description": "Why it is not where it should be; null if it is."},
    },
)
_PLACEMENT = schemas.declare(
    "Placement",
    "Where a connector should run, and where it runs.",
    {
        "name": {"type": "string"},
        "connector": schemas.ref(_PLACED),
        "tasks": {"type": "array", "description": "By number.", "items": schemas.ref(_PLACED)},
    },
)

_LONGEST_WAIT_MS = 30_000
_NUMBER = {"type": ["number", "null"]}
_MOMENT = {"type": ["integer", "null"], "description": "In ms since 1970."}
_ROW = schemas.declare(
    "OverviewRow",
    "A connector at a glance. What does not apply, or is not known, is null. Hosts report numbers every ten seconds.",
    {
        "name": {"type": "string"},
        "type": {"enum": ["source", "sink", "unknown"]},
        "class": {"type": ["string", "null"]},
        "state": {"type": "string", "description": "Of the connector's instance.", "examples": ["RUNNING"]},
        "target_state": {"type": "string", "description": "What it is to be.", "examples": ["STARTED"]},
        "tasks": {
            "type": "object",
            "description": "How many tasks are in each state.",
            "additionalProperties": {"type": "integer"},
            "examples": [{"RUNNING": 2}],
        },
        "since": {**_MOMENT, "description": "Since when the instance is in its state, in ms since 1970."},
        "topics": {"type": "array", "items": {"type": "string"}, "description": "Those that it has used."},
        "labels": {
            "type": "object",
            "description": "Settings that begin with `label.`, which are for people.",
            "additionalProperties": {"type": "string"},
            "examples": [{"team": "shop"}],
        },
        "why": {"type": ["string", "null"], "description": "What failed, or is tried again, in one line."},
        "retrying_since": {**_MOMENT, "description": "Since when a failed call has been retried, in ms since 1970."},
        "moved_at": {**_MOMENT, "description": "When a record last went to Kafka, or to the sink, in ms since 1970."},
        "in_per_s": {**_NUMBER, "description": "Records a second from the source, or from Kafka."},
        "out_per_s": {**_NUMBER, "description": "Records a second to Kafka, or to the sink."},
        "lag": {**_NUMBER, "description": "Records that a sink has still to read."},
        "errors": {**_NUMBER, "description": "Records that failed for good, since the tasks started."},
        "skipped": {**_NUMBER, "description": "Those that were dropped for that."},
        "dead_letters": {**_NUMBER, "description": "Those that were sent to the dead letter queue."},
    },
)
_OVERVIEW = schemas.declare(
    "Overview",
    "Connectors at a glance, or what has changed of them.",
    {
        "at": {"type": "string", "description": "For `since` in the next request."},
        "whole": {"type": "boolean", "description": "Whether these are all connectors: forget what you know."},
        "connectors": {"type": "array", "items": schemas.ref(_ROW)},
        "deleted": {"type": "array", "description": "Names of those that are no more.", "items": {"type": "string"}},
    },
)

OPERATIONS = (
    Role.READ.may(
        "GET /kconnect/overview",
        get_overview,
        "All connectors at a glance, and then what changes",
        Answer(200, "All rows, or with `since` those that have changed.", _OVERVIEW),
        refused(400, "`wait` is no such number."),
        query=(
            Parameter("since", "`at` of the answer before: give only what is newer.", {"type": "string"}),
            Parameter(
                "wait",
                "Milliseconds to wait for something newer.",
                {"type": "integer", "minimum": 0, "maximum": _LONGEST_WAIT_MS, "default": 0},
            ),
        ),
        notes="The console follows it. A worker looks at most once a second, whoever asks. When too many requests of a caller "
        "wait, or of all callers, the oldest are answered before their time.",
    ),
    Role.READ.may(
        "GET /kconnect/connectors",
        list_own,
        "What only kconnect knows of the connectors",
        Answer(200, "By name; some seconds old.", "OwnConnectors"),
        notes="Which host has each task, what that takes, and what is tried again and again.",
    ),
    Role.READ.may(
        "GET /kconnect/connectors/{connector}",
        get_own,
        "What only kconnect knows of a connector",
        Answer(200, "The same of one connector, with its name.", "OwnConnector"),
        refused(404, "There is no such connector."),
    ),
    Role.READ.may(
        "GET /kconnect/connectors/{connector}/history",
        get_history,
        "The last hour of a connector's numbers",
        Answer(200, "What the answering worker has heard since it was started.", _HISTORY),
        refused(404, "There is no such connector."),
        notes="A point every ten seconds, and none while nothing changes.",
    ),
    Role.READ.may(
        "GET /kconnect/connectors/{connector}/restarts",
        get_restarts,
        "What a change of settings would restart",
        Answer(200, "As far as it can be told before the connector makes its tasks' configs anew.", _RESTARTS),
        refused(404, "There is no such connector."),
        query=(Parameter("changed", "The name of a setting that would change.", {"type": "string"}, many=True),),
    ),
    Role.READ.may(
        "GET /kconnect/connectors/{connector}/changes",
        get_changes,
        "What became of a connector",
        Answer(200, "In the order of time.", _CHANGES),
        refused(404, "There is no such connector."),
        notes="Changes of its config, without secrets, of its target state, and of its and its tasks' states. It goes as far "
        "back as compaction has left records: some days, as a rule. They are read for this, in a process of its own, which "
        "takes a moment.",
        errand="changes",
    ),
    Role.READ.may(
        "GET /kconnect/connectors/{connector}/schemas",
        get_schemas,
        "The schemas that were inferred",
        Answer(200, "By topic; none if nothing is inferred.", _SCHEMAS),
        refused(404, "There is no such connector."),
        notes="What tasks have inferred of JSON that has no schemas, with `schemas.infer=true` of the JsonConverter.",
    ),
    Role.ADMIN.may(
        "DELETE /kconnect/connectors/{connector}/schemas",
        forget_schemas,
        "Forget the schemas that were inferred",
        Answer(200, "The connector's next records decide anew.", "Message"),
        refused(400, "The connector is not stopped."),
        refused(404, "There is no such connector."),
        refused(409, "Another request of this connector is under way, or a task of it still runs."),
    ),
    Role.READ.may(
        "GET /kconnect/connectors/{connector}/offsets/moves",
        plan_moves,
        "What it would mean to move a sink",
        Answer(200, "Where each partition would go on. Nothing is changed: alter the offsets for that.", _MOVES),
        refused(400, "It is no sink, or the query does not say where to."),
        refused(404, "There is no such connector, or none of its topics."),
        query=(
            Parameter(
                "to",
                "The first record that is still there, or the end.",
                {"enum": ["earliest", "latest"], "default": "earliest"},
            ),
            Parameter("time", "The first record that is not older, in ms since 1970.", {"type": "integer", "minimum": 0}),
            Parameter("back", "By so many records in each partition.", {"type": "integer", "minimum": 0}),
        ),
        notes="Give one of the parameters at most. Where a topic is compacted, or written in transactions, offsets are fewer "
        "records.",
    ),
    Role.READ.may(
        "GET /kconnect/connectors/{connector}/placement",
        get_placement,
        "Where a connector and its tasks run, and what they wait for",
        Answer(200, "What the answering worker has read.", _PLACEMENT),
        refused(404, "There is no such connector."),
    ),
)
