"""`/kconnect/preview`: what a connector's chain makes of records, step by step, before the config is submitted."""

from __future__ import annotations

from starlette.responses import Response

from kconnect.core.herder.requests.preview import PreviewChain
from kconnect.rest import bodies, schemas
from kconnect.rest.operation import Answer, Role, refused
from kconnect.rest.resource import Call, ready


async def preview_chain(call: Call) -> Response:
    config, records, sample = await call.parsed(bodies.preview)
    call.note("connector", config.get("name"))
    if records is None:
        call.note("topic", sample["topic"])
    return ready(await call.ask(PreviewChain(config, records, sample)))


_ENVELOPE: schemas.Schema = {"description": "`schema` and `payload`."}
_NUMBER: schemas.Schema = {"type": ["integer", "null"]}
_RECORD = schemas.declare(
    "PreviewRecord",
    "A record. A sink's has an `offset`, too, and, if a step has changed where it is from, its `original` place.",
    {
        "topic": {"type": "string"},
        "partition": _NUMBER,
        "timestamp": _NUMBER,
        "key": _ENVELOPE,
        "value": _ENVELOPE,
        "headers": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "value": _ENVELOPE},
                "required": ["name", "value"],
            },
        },
    },
    {"offset": {"type": "integer"}, "original": {"type": "object"}},
)
_RECORD_OR_NULL: schemas.Schema = {"oneOf": [schemas.ref(_RECORD), {"type": "null"}]}
_BYTES = {"type": ["string", "null"], "description": "In base64."}
_STEP = schemas.declare(
    "PreviewStep",
    "What a transform did.",
    {
        "alias": {"type": "string"},
        "predicate": {
            "type": ["object", "null"],
            "description": "What its predicate said; the result is null if it failed, or was not asked.",
            "properties": {
                "alias": {"type": "string"},
                "type": {"type": "string"},
                "result": {"type": ["boolean", "null"]},
                "negate": {"type": "boolean", "description": "The step wants the others."},
            },
            "required": ["alias", "type", "result", "negate"],
        },
        "applied": {"type": "boolean"},
        "record": {**_RECORD_OR_NULL, "description": "The record behind it; null: it was dropped, or failed."},
    },
)
OUTCOME = schemas.declare(
    "PreviewOutcome",
    "One record's way through the chain.",
    {
        "in": schemas.ref(_RECORD),
        "steps": {"type": "array", "items": schemas.ref(_STEP)},
        "out": {**_RECORD_OR_NULL, "description": "What comes out; null: nothing."},
        "key_bytes": {**_BYTES, "description": "What a source would write, or what a sink's record was read from, in base64."},
        "value_bytes": _BYTES,
        "error": {
            "type": ["object", "null"],
            "description": "What failed, and whether `errors.tolerance` passes over it.",
            "properties": {
                **{name: {"type": "string"} for name in ("stage", "class", "message")},
                "alias": {"type": ["string", "null"], "description": "Of the step."},
                "tolerated": {"type": "boolean"},
            },
            "required": ["stage", "class", "message", "alias", "tolerated"],
        },
    },
)
_PREVIEW = schemas.declare(
    "Preview",
    "What a chain made of records.",
    {"kind": {"enum": ["source", "sink"]}, "records": {"type": "array", "items": schemas.ref(OUTCOME)}},
)
_PLACE = {"type": ["integer", "null"], "minimum": 0, "maximum": 2**63 - 1}
_REQUEST = schemas.declare_request(
    "PreviewRequest",
    "A config, and either `records` or the `topic` from which some are taken. Of a topic nothing is committed.",
    {"config": schemas.ref("SubmittedConfig")},
    {
        "records": {"type": ["array", "null"], "maxItems": bodies.MOST_RECORDS, "items": {"type": "object"}},
        "topic": {"type": ["string", "null"]},
        "limit": {"type": ["integer", "null"], "minimum": 1, "maximum": bodies.MOST_RECORDS, "default": 5},
        "partition": _PLACE,
        "offset": {**_PLACE, "description": "Where to begin, with a `partition`."},
        "newest": {"type": "boolean", "default": False, "description": "The last ones."},
    },
)

OPERATIONS = (
    Role.ADMIN.may(
        "POST /kconnect/preview",
        preview_chain,
        "Try a connector's chain on records",
        Answer(200, "Each record before and behind each step.", _PREVIEW),
        refused(400, "The body is malformed, or the config's chain or a record can't be used."),
        refused(404, "There is no such topic or partition."),
        body=_REQUEST,
        notes="Runs the plugins' code, in a process of its own; changes nothing. In place of `key` and `value`, a sink's "
        "record may have `key_bytes` or `key_text`, and the same of its value: they pass its converters.",
        changes=False,
        reveals=True,
        errand="preview",
    ),
)
