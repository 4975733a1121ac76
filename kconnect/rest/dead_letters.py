"""
`/kconnect/connectors/{c}/dead-letters`: what a connector could not process, and a way back for it.

Read next: `kconnect/dlq/child.py`, which does it.
"""

from __future__ import annotations

import json

from starlette.responses import Response

from kconnect.core.herder.requests.dead_letters import DeadLetters
from kconnect.rest import bodies, schemas
from kconnect.rest.operation import Answer, Parameter, Role, refused
from kconnect.rest.preview import OUTCOME
from kconnect.rest.resource import Call, ready

_FILTERS = ("stage", "exception", "topic", "contains")


async def list_dead_letters(call: Call) -> Response:
    choice = {name: text for name in _FILTERS if (text := call.query(name))}
    limit = bodies.whole_text("limit", call.query("limit") or "50", 1, bodies.MOST_LETTERS)
    body = {"letters": None, "choice": choice, "limit": limit, "oldest": call.flag("oldest")}
    return ready(await call.ask(DeadLetters(call.path("connector"), body)))


async def replay_dead_letters(call: Call) -> Response:
    body = await call.parsed(bodies.replay)
    answer = await call.ask(DeadLetters(call.path("connector"), body))
    outcome = json.loads(answer)
    if outcome["replayed"]:
        # A replay writes with the worker's rights: the audit log has where to.
        call.note("targets", sorted({letter["to"] for letter in outcome["letters"] if letter["to"] is not None}))
    return ready(answer)


_TEXT = {"type": ["string", "null"]}
_NUMBER = {"type": ["integer", "null"]}
_PLACE = {
    "partition": {"type": "integer", "minimum": 0, "description": "In the queue."},
    "offset": {"type": "integer", "minimum": 0, "description": "In the queue."},
}
_ORIGIN = {
    "enum": ["proven", "claimed", "false", None],
    "description": "Whether the record comes from where its headers say. proven: the same record is there. claimed: it is "
    "not there any more, or nobody can know. false: another record is there. null: it does not matter.",
}
_LETTER = schemas.declare(
    "DeadLetter",
    "A record that failed. What its headers do not tell is null; a source's has `source_partition` and `source_offset` in "
    "place of the original ones.",
    {
        **_PLACE,
        "time": {**_TEXT, "description": "Of the record that failed."},
        "timestamp": {**_NUMBER, "description": "The same, in ms since 1970."},
        "topic": {**_TEXT, "description": "Where the record came from."},
        "original_partition": _NUMBER,
        "original_offset": _NUMBER,
        "source_partition": _TEXT,
        "source_offset": _TEXT,
        "connector": _TEXT,
        "task": _NUMBER,
        "stage": {**_TEXT, "examples": ["VALUE_CONVERTER"]},
        "class": {**_TEXT, "description": "What failed on it."},
        "exception": _TEXT,
        "message": _TEXT,
        "cause": {**_TEXT, "description": "The first cause, in one line, if it is another than the exception."},
        "stacktrace": _TEXT,
        "replays": {"type": "integer", "description": "How often it had been replayed before it failed once more."},
        "replayed": {"type": ["boolean", "null"], "description": "Whether it has been replayed; null: not known."},
        "origin": _ORIGIN,
        "key": {**_TEXT, "description": "As text; what is none is in `key_bytes`, in base64. Values and headers are alike."},
        "value": _TEXT,
        "headers": {
            "type": "array",
            "description": "Without Connect's.",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "value": _TEXT, "value_bytes": {"type": "string"}},
                "required": ["name", "value"],
            },
        },
    },
    {"key_bytes": {"type": "string"}, "value_bytes": {"type": "string"}},
)
_LETTERS = schemas.declare(
    "DeadLetters",
    "Letters of a queue, in the order of their times.",
    {
        "queue": {"type": "string", "description": "The topic."},
        "offsets": {
            "type": "object",
            "description": "Of each partition the first offset, and that behind the last.",
            "additionalProperties": {"type": "array", "items": {"type": "integer"}},
        },
        "more": {"type": "boolean", "description": "Whether more letters match."},
        "replays_unknown": {**_TEXT, "description": "Why it is not known which have been replayed."},
        "letters": {"type": "array", "items": schemas.ref(_LETTER)},
    },
)
_REPLAY = schemas.declare_request(
    "ReplayRequest",
    "Which letters, and how.",
    {
        "letters": {
            "type": "array",
            "minItems": 1,
            "maxItems": bodies.MOST_LETTERS,
            "items": {
                "type": "object",
                "required": ["partition", "offset"],
                "properties": {name: {**schema, "maximum": 2**63 - 1} for name, schema in _PLACE.items()},
                "additionalProperties": False,
            },
        },
    },
    {
        "through_chain": {
            "type": "boolean",
            "default": False,
            "description": "Only those that pass the connector's chain as it is now; those of a source have to.",
        },
        "again": {"type": "boolean", "default": False, "description": "Those too that have been replayed before."},
        "to_topic": {
            "type": ["string", "null"],
            "minLength": 1,
            "description": "Another topic than that which the record came from.",
        },
        "dry_run": {"type": "boolean", "default": False, "description": "Tell what would be done, and write nothing."},
    },
)
_DECIDED = schemas.declare(
    "ReplayedLetter",
    "What became of a letter, or would.",
    {
        **_PLACE,
        "from": {**_TEXT, "description": "Where the record came from."},
        "to": {**_TEXT, "description": "The topic it goes to; null: nowhere."},
        "to_partition": {**_NUMBER, "description": "Null: by its key."},
        "left": {**_TEXT, "description": "Why it is left."},
        "origin": _ORIGIN,
        "outcome": {"oneOf": [schemas.ref(OUTCOME), {"type": "null"}], "description": "Its way through the chain."},
    },
)
_REPLAYED = schemas.declare(
    "Replayed",
    "What a replay did.",
    {
        "queue": {"type": "string"},
        "replayed": {"type": "integer", "description": "How many were written."},
        "letters": {"type": "array", "items": schemas.ref(_DECIDED)},
    },
)
_GLOB = {"type": "string"}
_ABSENT = refused(404, "There is no such connector, or it has no queue, or no task has created it yet.")

OPERATIONS = (
    Role.OPERATE.may(
        "GET /kconnect/connectors/{connector}/dead-letters",
        list_dead_letters,
        "Read a connector's dead letters",
        Answer(200, "The newest letters, or the oldest.", _LETTERS),
        refused(400, "A parameter can't be used."),
        _ABSENT,
        query=(
            Parameter("limit", "How many.", {"type": "integer", "minimum": 1, "maximum": bodies.MOST_LETTERS, "default": 50}),
            Parameter("oldest", "The oldest rather than the newest.", {"type": "boolean", "default": False}),
            Parameter("stage", "Of this stage; a glob.", _GLOB),
            Parameter("exception", "With this exception or first cause; a glob, and the short name is enough.", _GLOB),
            Parameter("topic", "Of records from this topic; a glob.", _GLOB),
            Parameter("contains", "With this text in key, value or message.", {"type": "string"}),
        ),
        notes="All letters of the queue are meant, also those of other connectors that name it. At most some 4 MiB are "
        "answered; nothing is committed.",
        reveals=True,
        errand="letters",
    ),
    Role.ADMIN.may(
        "POST /kconnect/connectors/{connector}/dead-letters/replay",
        replay_dead_letters,
        "Replay dead letters, each once",
        Answer(200, "What became of each.", _REPLAYED),
        refused(400, "The body is malformed."),
        _ABSENT,
        refused(409, "Somebody else replays this queue."),
        body=_REPLAY,
        notes="Written to the topic that the record came from, with its key, value, headers and time, in transactions that "
        "note what has been replayed: it may be asked for again. `kconnect dlq replay` does the same. What a letter's headers "
        "say is not believed: a letter goes only to a topic of the connector, and not if another record is where it says that "
        "it came from; else it is left, unless `to_topic` names a topic. Internal topics are refused.",
        errand="letters",
    ),
)
