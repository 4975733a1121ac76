"""
`/kconnect/connectors/{c}/backfill`: a first copy of what one of Debezium's connectors captures, taken by all tasks at once.

Read next: `core/herder/requests/backfill.py`, which answers.
"""

from __future__ import annotations

from starlette.responses import Response

from kconnect.core.herder.requests.backfill import (
    CancelBackfill,
    FinishBackfill,
    GetBackfill,
    GetReread,
    Reread,
    StartBackfill,
    StopReread,
)
from kconnect.rest import bodies, schemas
from kconnect.rest.operation import Answer, Role, refused
from kconnect.rest.resource import Call, empty, ok

_RATE = "backfill.rows.per.second"


async def get_backfill(call: Call) -> Response:
    return ok(await call.ask(GetBackfill(call.path("connector"))))


async def start_backfill(call: Call) -> Response:
    order = await call.parsed(bodies.backfill)
    settings = order.settings if order.rate is None else {_RATE: str(order.rate), **order.settings}
    return ok(await call.ask(StartBackfill(call.path("connector"), order.tasks, settings, order.into)), 201)


async def finish_backfill(call: Call) -> Response:
    return ok(await call.ask(FinishBackfill(call.path("connector"))))


async def cancel_backfill(call: Call) -> Response:
    await call.ask(CancelBackfill(call.path("connector")))
    return empty(204)


async def get_reread(call: Call) -> Response:
    return ok(await call.ask(GetReread(call.path("connector"))))


async def begin_reread(call: Call) -> Response:
    tables, where = await call.parsed(bodies.reread)
    return ok(await call.ask(Reread(call.path("connector"), tables, where)), 202)


async def stop_reread(call: Call) -> Response:
    await call.ask(StopReread(call.path("connector")))
    return empty(202)


_WHOLE = {"type": "integer"}
_HELD = schemas.declare(
    "BackfillHeld",
    "What the database can't clear away as long as the copy is taken; null where that is not known.",
    {
        "snapshot_s": {"type": ["number", "null"], "description": "Seconds since the snapshot was taken."},
        "transactions": {
            "type": ["number", "null"],
            "description": "Transactions since then: VACUUM removes nothing that they have replaced.",
        },
        "log_bytes": {"type": ["number", "null"], "description": "Bytes of the log that are kept for the stream."},
    },
)
_BACKFILL = schemas.declare(
    "Backfill",
    "How far a copy is.",
    {
        "name": {"type": "string", "description": "Debezium's connector."},
        "backfill": {"type": "string", "description": "The connector that reads.", "examples": ["orders-cdc-backfill"]},
        "state": {"type": "string", "description": "Its state.", "examples": ["RUNNING"]},
        "tasks": {"type": "object", "description": "How many of its tasks are in each state.", "examples": [{"RUNNING": 8}]},
        "done": {"type": "boolean", "description": "Whether all is read: it can be handed over."},
        "begin": {
            "type": ["object", "null"],
            "description": "The offset with which Debezium's connector will go on, once all is read.",
            "examples": [{"partition": {"server": "shop"}, "offset": {"lsn": 24023128, "snapshot_completed": True}}],
        },
        "ranges": {**_WHOLE, "description": "Parts of the tables, each read by one task; 0 before they are known."},
        "ranges_done": _WHOLE,
        "rows": {**_WHOLE, "description": "So many have been read."},
        "rows_in_all": {"type": ["integer", "null"], "description": "So many there are, as the database guesses."},
        "left_out": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Tables that can't be copied and are left out, with the reasons (backfill.unfit.tables).",
        },
        "rows_per_s": {"type": ["number", "null"], "description": "Read a second, of late."},
        "rest_s": {"type": ["integer", "null"], "description": "Seconds that are left at that rate."},
        "why": {"type": ["string", "null"], "description": "What has failed, in one line."},
        "held": schemas.ref(_HELD),
    },
)
_START = schemas.declare_request(
    "BackfillRequest",
    "How it is read.",
    {},
    {
        "tasks": {
            "type": ["integer", "null"],
            "minimum": 1,
            "maximum": bodies.MOST_TASKS,
            "default": 2,
            "description": "How many read at once.",
        },
        "rate": {
            "type": ["integer", "null"],
            "minimum": 1,
            "maximum": 2**31 - 1,
            "description": "Rows a second at most, by all tasks together.",
        },
        "into": {
            "type": ["string", "null"],
            "minLength": 1,
            "description": "A SparkSink, straight into whose tables rows go; else they go into topics.",
            "examples": ["lake-sink"],
        },
        "settings": {
            **schemas.submitted("Other settings of the connector that reads.", {"producer.override.linger.ms": "5"}),
            "type": ["object", "null"],
        },
    },
)
_TABLES = {"type": "array", "items": {"type": "string"}, "examples": [["public.orders"]]}
_REREAD = schemas.declare(
    "Reread",
    "Tables that are read again beside the change stream.",
    {
        "name": {"type": "string", "description": "Debezium's connector."},
        "tables": {**_TABLES, "description": "Those that are asked for, or are still to be read; the first one is being read."},
    },
)
_REREAD_REQUEST = schemas.declare_request(
    "RereadRequest",
    "What is read again.",
    {"tables": {**_TABLES, "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": bodies.MOST_TABLES}},
    {
        "where": {
            "type": ["string", "null"],
            "minLength": 1,
            "maxLength": bodies.LONGEST_CONDITION,
            "description": "Rows that fulfil this, in SQL.",
            "examples": ["id > 1000"],
        },
    },
)
_SIGNALS = (
    refused(400, "The connector is not Debezium's, or takes no signals by Kafka: the answer names the settings."),
    refused(404, "There is no such connector."),
    refused(409, "Its task does not run."),
)
_ABSENT = refused(404, "There is no such connector, or no backfill of it.")

OPERATIONS = (
    Role.READ.may(
        "GET /kconnect/connectors/{connector}/backfill",
        get_backfill,
        "How far a backfill is",
        Answer(200, "What is read, what is left, and what the database holds back for it.", _BACKFILL),
        _ABSENT,
    ),
    Role.ADMIN.may(
        "POST /kconnect/connectors/{connector}/backfill",
        start_backfill,
        "Begin a backfill, or let it go on",
        Answer(201, "A connector of its own reads.", _BACKFILL),
        refused(400, "Debezium's connector is not stopped, has offsets, or can't be copied."),
        refused(404, "There is no such connector, or no Debezium."),
        body=_START,
        notes="One that is there goes on with the settings that it has, if it was paused or stopped.",
    ),
    Role.ADMIN.may(
        "POST /kconnect/connectors/{connector}/backfill/finish",
        finish_backfill,
        "Hand a backfill over to Debezium",
        Answer(200, "Debezium's connector runs, from where the copy was taken. The backfill is deleted.", _BACKFILL),
        _ABSENT,
        refused(409, "Not all is read, or Debezium's connector has older offsets of its own."),
        notes="If the answer is lost, ask again: what was done is not done twice.",
    ),
    Role.ADMIN.may(
        "DELETE /kconnect/connectors/{connector}/backfill",
        cancel_backfill,
        "Give a backfill up",
        Answer(204, "It is gone, with its replication slot. Records that were written stay."),
        _ABSENT,
        refused(409, "A task of it still ends: try again."),
    ),
    Role.READ.may(
        "GET /kconnect/connectors/{connector}/backfill/again",
        get_reread,
        "Which tables are read again",
        Answer(200, "As Debezium's offsets say; none if all is read.", _REREAD),
        refused(400, "The connector is not Debezium's."),
        refused(404, "There is no such connector."),
    ),
    Role.ADMIN.may(
        "POST /kconnect/connectors/{connector}/backfill/again",
        begin_reread,
        "Read tables again beside the change stream",
        Answer(202, "Debezium is told to, by the topic of its signals (signal.kafka.topic).", _REREAD),
        *_SIGNALS,
        body=_REREAD_REQUEST,
        notes="Its incremental snapshot: chunks come between the changes, and no row comes behind a newer change of it, or "
        "before an older one.",
    ),
    Role.ADMIN.may(
        "DELETE /kconnect/connectors/{connector}/backfill/again",
        stop_reread,
        "Stop reading tables again",
        Answer(202, "Debezium is told to. Rows that were read stay in their topics."),
        *_SIGNALS,
    ),
)
