"""
`/kconnect`: what keeps a worker in order, and Kafka Connect has no resource for: internal topics, plugins, the audit log.

Read next: `core/herder/requests/plugins.py` and `core/herder/requests/internal_topics.py`, which answer.
"""

from __future__ import annotations

from starlette.responses import Response

from kconnect.core.herder.requests.internal_topics import CheckTopics
from kconnect.core.herder.requests.plugins import ListPlaces, ReloadPlugins
from kconnect.rest import schemas
from kconnect.rest.operation import Answer, Role
from kconnect.rest.resource import Call, ok, ready


async def get_audit(call: Call) -> Response:
    return ok({"lines": list(call.api.settings.audit_recent)})


async def check_topics(call: Call) -> Response:
    return ready(await call.ask(CheckTopics()))


async def list_places(call: Call) -> Response:
    return ok(await call.ask(ListPlaces()))


async def reload_plugins(call: Call) -> Response:
    return ok(await call.ask(ReloadPlugins()))


_PLACES = schemas.declare(
    "PluginPlaces",
    "A worker's plugins, with where they are.",
    {
        "plugins": schemas.listed(
            "PluginPlace",
            "A plugin.",
            {
                "class": {"type": "string"},
                "type": {"type": "string", "examples": ["source"]},
                "version": {"type": ["string", "null"]},
                "location": {
                    "type": "string",
                    "description": "The directory or archive of `plugin.path`; `installed`: a package beside kconnect.",
                },
            },
        ),
        "broken": schemas.listed(
            "BrokenPlace", "What could not be read.", {"location": {"type": "string"}, "reason": {"type": "string"}}
        ),
    },
)
_AUDIT = schemas.declare(
    "AuditLines",
    "Who did what, and how it ended.",
    {"lines": {"type": "array", "items": {"type": "string"}}},
)
_TOPICS = schemas.declare(
    "InternalTopics",
    "The internal topics, and what is wrong with them.",
    {
        "topics": schemas.listed(
            "InternalTopic",
            "A topic.",
            {
                "role": {"type": "string", "examples": ["config"]},
                "topic": {"type": "string"},
                "there": {"type": "boolean", "description": "Whether it exists."},
                "partitions": {"type": "integer"},
                "replication": {"type": "integer", "description": "Of the partition that has the fewest replicas."},
                "records": {"type": "integer"},
            },
        ),
        "findings": schemas.listed(
            "Finding",
            "Something that is wrong, or will be.",
            {
                "severity": {"enum": ["error", "warning", "note"]},
                "kind": {"type": "string"},
                "topic": {"type": "string", "description": "The topic's role."},
                "text": {"type": "string", "description": "What it is, and what it means."},
                "remedy": {"type": "string", "description": "What helps."},
                "names": {"type": "array", "items": {"type": "string"}, "description": "Whom it is about."},
            },
        ),
    },
)

OPERATIONS = (
    Role.READ.may(
        "GET /kconnect/topics",
        check_topics,
        "Check the internal topics for problems",
        Answer(200, "What there is, and what is wrong, the worst first.", _TOPICS),
        notes="As `kconnect topics check`. They are read whole for this, in a process of its own.",
        errand="topics",
    ),
    Role.ADMIN.may(
        "GET /kconnect/audit",
        get_audit,
        "The last lines of this worker's audit log",
        Answer(200, "At most 1,000, the newest at the end.", _AUDIT),
        notes="Of this worker, since it was started. The logger `kconnect.audit` and `audit.log.file` have all of them.",
    ),
    Role.READ.may(
        "GET /kconnect/plugins",
        list_places,
        "Where this worker's plugins are",
        Answer(200, "Each plugin, and what could not be read.", _PLACES),
    ),
    Role.ADMIN.may(
        "POST /kconnect/plugins/reload",
        reload_plugins,
        "Make this worker read plugin.path again",
        Answer(200, "What has changed.", "ReloadedPlugins"),
        notes="This reloads one worker: ask each of them. Connectors that name no version get the newest, as after a restart. "
        "Config providers, and packages installed with kconnect, stay as they are until the worker is restarted.",
    ),
)
