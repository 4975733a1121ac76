"""
The shapes of what REST takes and gives, as JSON Schema (2020-12), under the names that Kafka Connect has for them.

`operation.py`'s rows refer to them by name, and a module may `declare` what it alone answers; `openapi.py` puts them into the
document, and the tests hold real answers against them. A reader should bear fields that are not named here: later versions
may have more.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_NAME: Schema = {"type": "string", "examples": ["lines"]}
_WORKER: Schema = {"type": ["string", "null"], "examples": ["10.0.0.1:8083"]}
_NUMBER: Schema = {"type": "integer", "minimum": 0}
_KINDS = ("source", "sink", "unknown")
_STATES = ("RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED", "RESTARTING")
_LEVELS = ("OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL")
_FILE_SOURCE = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": "/etc/services", "topic": "lines"}

_SETTING = {
    "name": "topic",
    "type": "STRING",
    "required": True,
    "default_value": None,
    "importance": "HIGH",
    "documentation": "The topic to publish data to",
    "group": None,
    "order_in_group": -1,
    "width": "NONE",
    "display_name": "topic",
    "dependents": [],
}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(summary: str, required: dict[str, Schema], optional: dict[str, Schema] | None = None, **more: Any) -> Schema:
    properties = {**required, **(optional or {})}
    return {"type": "object", "description": summary, "properties": properties, "required": list(required), **more}


def _or_null(schema: Schema) -> Schema:
    return {**schema, "type": ["object", "null"]}


def _list(summary: str, items: Schema) -> Schema:
    return {"type": "array", "description": summary, "items": items}


def _map(summary: str, values: Schema, **more: Any) -> Schema:
    return {"type": "object", "description": summary, "additionalProperties": values, **more}


def submitted(summary: str, example: dict[str, Any]) -> Schema:
    """Return the schema of settings as somebody sends them."""
    kinds = ["string", "number", "boolean", "null"]
    return _map(f"{summary} Numbers and booleans become their text.", {"type": kinds}, examples=[example])


_STATE: dict[str, Schema] = {
    "state": {"enum": list(_STATES)},
    "worker_id": {
        **_TEXT,
        "description": "`host:port` of the worker, by its advertised address.",
        "examples": ["10.0.0.1:8083"],
    },
}
_STATE_EXTRAS: dict[str, Schema] = {
    "version": {
        **_TEXT_OR_NULL,
        "description": "The plugin's version; null if unknown.",
        "examples": ["4.3.1"],
    },
    "trace": {**_TEXT, "description": "Why it failed, or what it waits for, or why a call that failed is made again."},
}
HOST = _or_null(
    _object(
        "The process that holds it.",
        {"worker_id": _TEXT, "host": _NUMBER, "node": _TEXT_OR_NULL, "pid": {"type": ["integer", "null"]}},
    )
)
_OWN_TASK: dict[str, Schema] = {
    "id": _NUMBER,
    "host": HOST,
    "memory": _or_null(
        _object(
            "Of a task in a host of its own (`tasks.isolation=dedicated`): bytes that its process takes and may take, or null.",
            {"used": _NUMBER, "max": {"type": ["integer", "null"]}},
        )
    ),
    "retrying": _or_null(
        _object(
            "A failed call is being retried: since when, in ms since 1970, and why it failed last.",
            {"since": _NUMBER, "reason": _TEXT},
        )
    ),
    "cpu_s": {
        "type": ["number", "null"],
        "description": "CPU seconds of the task's own threads in its life, without those of Kafka's clients; some seconds old.",
    },
    "since": {"type": ["integer", "null"], "description": "When it came into its state, in ms since 1970."},
}
_OWN = {
    "retrying": {**_OWN_TASK["retrying"], "description": "The same of the connector instance, whose task configs failed."},
    "tasks": _list("By number. Values that do not apply, or are not known, are null.", _object("A task.", _OWN_TASK)),
}
_COUNTS: dict[str, Schema] = {"connectors": _NUMBER, "tasks": _NUMBER}

_NEW_OFFSETS: Schema = {
    **_list(
        "One entry for each partition; if there are several for the same one, the last is used.",
        _object(
            "A partition and its new offset; null resets it.",
            {},
            {"partition": {"type": ["object", "null"]}, "offset": {"type": ["object", "null"]}},
            additionalProperties=False,
        ),
    ),
    "minItems": 1,
}

SCHEMAS: dict[str, Schema] = {
    "Error": _object(
        "Why a request was refused, or failed.",
        {"error_code": {"type": "integer", "description": "The HTTP status."}, "message": _TEXT_OR_NULL},
        examples=[{"error_code": 404, "message": "Connector lines not found"}],
    ),
    # -- the worker -----------------------------------------------------------------------------------------------------
    "Worker": _object(
        "A worker.",
        {
            "version": {**_TEXT, "description": "Of Kafka Connect: that whose API this is."},
            "commit": {**_TEXT, "description": "`kconnect-`, kconnect's own version and, where it is known, the commit."},
            "kafka_cluster_id": _TEXT,
        },
        examples=[{"version": "4.3.1", "commit": "kconnect-0.1.0-993b7bf33958", "kafka_cluster_id": "4L6g3nShT-eMCtK--X86sw"}],
    ),
    "Health": _object(
        "Whether a worker is up.",
        {"status": {"enum": ["healthy", "starting", "unhealthy"]}, "message": _TEXT},
        examples=[
            {
                "status": "healthy",
                "message": "Worker has completed startup and is ready to handle requests.",
            }
        ],
    ),
    "Cluster": _object(
        "Who is in the cluster, and what runs where. Kafka Connect has no such resource.",
        {
            "leader": _WORKER,
            "generation": {**_NUMBER, "description": "Grows whenever work is assigned again."},
            "answered_by": {**_TEXT, "examples": ["10.0.0.1:8083"]},
            "workers": _list("Each worker.", ref("ClusterWorker")),
            "moving": _list(
                "Each unit that is not yet where the leader wants it.",
                _object(
                    "A connector instance (`task` is null) or a task on its way.",
                    {
                        "connector": _NAME,
                        "task": {"type": ["integer", "null"]},
                        "from": _WORKER,
                        "to": {**_WORKER, "examples": ["10.0.0.2:8083"]},
                    },
                ),
            ),
        },
    ),
    "ClusterWorker": _object(
        "A worker of the cluster.",
        {
            "worker_id": {**_TEXT, "examples": ["10.0.0.1:8083"]},
            "url": {
                **_TEXT_OR_NULL,
                "description": "Null once it has left the group.",
                "examples": ["http://10.0.0.1:8083/"],
            },
            "version": {**_TEXT_OR_NULL, "description": "Of kconnect; null if that is not known."},
            "leaving": {"type": "boolean"},
            "resting": {"type": "boolean", "description": "Whether it has no Spark because there is nothing to run."},
            "drained": {"type": "boolean", "description": "Whether it is to run nothing, until that is taken back."},
            "generation": _NUMBER,
            **_COUNTS,
            "hosts": _list("Its task hosts, with what each holds.", ref("TaskHost")),
        },
    ),
    "Demand": _object(
        "How many workers the load wants.",
        {
            "workers": {**_NUMBER, "description": "At least 1; while the load is not known, as many as there are."},
            "workers_now": {**_NUMBER, "description": "How many there are that may be given units."},
            "cores": {
                "type": ["number", "null"],
                "description": "That all task hosts take, on average over five minutes; null: not known yet.",
            },
            "cores_per_worker": {**_NUMBER, "description": "As many as it has task hosts (`task.hosts`)."},
            "target": {"type": "number", "description": "The share of its cores that each worker is to take."},
        },
        examples=[{"workers": 3, "workers_now": 2, "cores": 3.9, "cores_per_worker": 2, "target": 0.7}],
    ),
    "TaskHost": _object(
        "A process that runs connectors and tasks.",
        {
            "host": _NUMBER,
            "node": {**_TEXT_OR_NULL, "description": "The machine.", "examples": ["node-1"]},
            "pid": {"type": ["integer", "null"]},
            **_COUNTS,
            "stuck": {**_NUMBER, "description": "How many of its units do not stop: the process ends when it holds no others."},
            "directories": _list("Those of plugin.path that its plugins come from, in the order of the search.", _TEXT),
            "dedicated_to": _or_null(
                _object("The only task that it is for (tasks.isolation).", {"connector": _NAME, "task": _NUMBER})
            ),
            "usage": _or_null(
                _object(
                    "Resident memory and its limit, in bytes, and the CPU seconds of its life; some seconds old.",
                    {"memory": _NUMBER, "memory_max": {"type": ["integer", "null"]}, "cpu_s": {"type": "number"}},
                )
            ),
        },
    ),
    # -- connectors ------------------------------------------------------------------------------------------------------
    "Config": _map("A connector's config.", _TEXT_OR_NULL, examples=[{**_FILE_SOURCE, "name": "lines"}]),
    "SubmittedConfig": submitted("A connector's config.", _FILE_SOURCE),
    "ConfigPatch": submitted("The settings to change; null removes one.", {"tasks.max": "2", "transforms": None}),
    "CreateConnectorRequest": _object(
        "A connector to create.",
        {"name": {**_NAME, "minLength": 1}, "config": ref("SubmittedConfig")},
        {
            "initial_state": {"enum": ["RUNNING", "PAUSED", "STOPPED", None], "default": "RUNNING"},
            "initial_offsets": {**_NEW_OFFSETS, "type": ["array", "null"]},
        },
        additionalProperties=False,
        examples=[{"name": "lines", "config": _FILE_SOURCE}],
    ),
    "TaskConfigs": _list("The configs of a connector's tasks, in the order of their numbers.", ref("SubmittedConfig")),
    "TaskId": _object("A task.", {"connector": _NAME, "task": _NUMBER}),
    "ConnectorInfo": _object(
        "A connector: its config and its tasks.",
        {
            "name": _NAME,
            "config": ref("Config"),
            "tasks": _list("Its tasks; none yet right after it was created.", ref("TaskId")),
            "type": {"enum": list(_KINDS)},
        },
    ),
    "CreatedConnector": _object(
        "A connector that was created.",
        {
            "name": _NAME,
            "config": ref("Config"),
            "tasks": _list("None yet.", ref("TaskId")),
            "type": {"enum": list(_KINDS)},
        },
        {"offsets_status": {**_TEXT, "description": "With `initial_offsets`: what was done, as altering offsets tells it."}},
    ),
    "Tasks": _list("A connector's tasks.", _object("A task and its config.", {"id": ref("TaskId"), "config": ref("Config")})),
    "ConnectorState": _object("The state of a connector instance.", _STATE, _STATE_EXTRAS),
    "TaskState": _object("The state of a task.", {"id": _NUMBER, **_STATE}, _STATE_EXTRAS),
    "ConnectorStateInfo": _object(
        "The states of a connector and its tasks.",
        {
            "name": _NAME,
            "connector": ref("ConnectorState"),
            "tasks": _list("By number.", ref("TaskState")),
            "type": {"enum": list(_KINDS)},
        },
    ),
    "Connectors": {
        "description": "The connectors.",
        "oneOf": [
            _list("Without `expand`: their names.", _NAME),
            _map(
                "With `expand`: what was asked of each, by name.",
                _object("A connector.", {}, {"status": ref("ConnectorStateInfo"), "info": ref("ConnectorInfo")}),
            ),
        ],
    },
    "OwnConnectors": _map(
        "What only kconnect knows of the connectors, by name. Kafka Connect has no such resource.",
        _object("A connector.", _OWN),
    ),
    "OwnConnector": _object(
        "What only kconnect knows of a connector.",
        {
            "name": _NAME,
            **_OWN,
            "advice": _list("What to do, with commands to type; empty where nothing is wrong.", _TEXT),
            "config": {
                "type": "object",
                "description": "Its config as it may be shown: what may be a secret is `[hidden]`, also in a URL.",
                "additionalProperties": {"type": ["string", "null"]},
                "examples": [{"name": "orders", "connection.password": "[hidden]"}],
            },
        },
    ),
    "ConnectorTopics": _map(
        "The topics that a connector has used, under its name.",
        _object("The topics.", {"topics": _list("Their names.", _TEXT)}),
        examples=[{"lines": {"topics": ["lines"]}}],
    ),
    "ConnectorOffsets": _object(
        "What a connector has committed.",
        {
            "offsets": _list(
                "One entry for each partition.",
                _object(
                    "A partition and its offset. A sink's are `kafka_topic`, `kafka_partition` and `kafka_offset`.",
                    {
                        "partition": {"type": ["object", "null"], "examples": [{"filename": "/etc/services"}]},
                        "offset": {"type": ["object", "null"], "examples": [{"position": 12813}]},
                    },
                ),
            )
        },
    ),
    "OffsetsRequest": _object(
        "Offsets to alter, in the form in which they are read.",
        {
            "offsets": _NEW_OFFSETS,
        },
        additionalProperties=False,
        examples=[{"offsets": [{"partition": {"filename": "/etc/services"}, "offset": {"position": 0}}]}],
    ),
    "Message": _object("What was done.", {"message": _TEXT}),
    # -- plugins ---------------------------------------------------------------------------------------------------------
    "Plugins": _list(
        "The plugins, by type, class and version.",
        _object(
            "A plugin.",
            {
                "class": _TEXT,
                "type": {
                    "enum": ["sink", "source", "transformation", "predicate", "converter", "header_converter"],
                },
            },
            {"version": _TEXT},
            examples=[
                {
                    "class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
                    "type": "source",
                    "version": "4.3.1",
                }
            ],
        ),
    ),
    "ReloadedPlugins": _object(
        "What has changed in plugin.path. Kafka Connect has no such resource.",
        {
            "added": _list("Directories that have plugins and were not known.", _TEXT),
            "removed": _list("Directories that are gone, or have no plugins any more.", _TEXT),
            "installed": _list("Classes installed with kconnect that are not used until the worker is restarted.", _TEXT),
            "broken": _list("What can't be used, and why.", _object("A place.", {"location": _TEXT, "reason": _TEXT})),
        },
    ),
    "ConfigKeyInfo": _object(
        "A setting as a plugin declares it.",
        {
            "name": _TEXT,
            "type": {"enum": ["BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"]},
            "required": {"type": "boolean", "description": "It has no default."},
            "default_value": _TEXT_OR_NULL,
            "importance": {"enum": ["HIGH", "MEDIUM", "LOW"]},
            "documentation": _TEXT,
            "group": _TEXT_OR_NULL,
            "order_in_group": {"type": "integer"},
            "width": {"enum": ["NONE", "SHORT", "MEDIUM", "LONG"]},
            "display_name": _TEXT,
            "dependents": _list("Settings whose meaning follows from this one.", _TEXT),
        },
        examples=[_SETTING],
    ),
    "ConfigKeys": _list("The settings of a plugin.", ref("ConfigKeyInfo")),
    "ConfigValueInfo": _object(
        "What validation found out about one setting.",
        {
            "name": _TEXT,
            "value": {**_TEXT_OR_NULL, "description": "The parsed value; null if there is none, `[hidden]` if secret."},
            "recommended_values": _list("Possible values, if they are known.", _TEXT),
            "errors": _list("What is wrong with it.", _TEXT),
            "visible": {"type": "boolean"},
        },
        examples=[{"name": "topic", "value": "lines", "recommended_values": [], "errors": [], "visible": True}],
    ),
    "ConfigInfos": _object(
        "What validation found out about a config.",
        {
            "name": {**_TEXT, "description": "The connector's class, as it was given.", "examples": ["FileStreamSource"]},
            "error_count": _NUMBER,
            "groups": _list("The groups of the settings, in order.", {**_TEXT, "examples": ["Common"]}),
            "configs": _list(
                "One entry for each setting. Unknown settings are no error, and not listed.",
                _object(
                    "A setting; one of both may be null.",
                    {
                        "definition": {"oneOf": [ref("ConfigKeyInfo"), {"type": "null"}]},
                        "value": {"oneOf": [ref("ConfigValueInfo"), {"type": "null"}]},
                    },
                ),
            ),
        },
    ),
    # -- loggers ---------------------------------------------------------------------------------------------------------
    "LoggerLevel": _object(
        "The level of a logger.",
        {
            "level": {"enum": list(_LEVELS), "examples": ["INFO"]},
            "last_modified": {
                "type": ["integer", "null"],
                "description": "In ms since 1970; null if it was never set over REST.",
                "default": None,
            },
        },
    ),
    "Loggers": _map(
        "The loggers, by name; `root` is the one above all.",
        ref("LoggerLevel"),
        examples=[{"root": {"level": "INFO", "last_modified": None}}],
    ),
    "LoggerNames": _list("Names of loggers.", {**_TEXT, "examples": ["kconnect.rest"]}),
    "SetLoggerLevel": _object(
        "A level to set.",
        {"level": {"enum": [*_LEVELS, *(level.lower() for level in _LEVELS)]}},
        examples=[{"level": "DEBUG"}],
    ),
    # -- of the document itself ------------------------------------------------------------------------------------------
    "OpenAPI": {"type": "object", "description": "An OpenAPI 3.1 document."},
}

PATH_PARAMETERS: dict[str, Schema] = {
    "connector": {**_NAME, "minLength": 1, "description": "The connector's name."},
    "task": {
        "type": "integer",
        "minimum": 0,
        "maximum": 2**31 - 1,
        "description": "The task's number.",
        "examples": [0],
    },
    "worker": {
        **_TEXT,
        "minLength": 1,
        "description": "A worker's id, as `GET /cluster` has it.",
        "examples": ["10.0.0.1:8083"],
    },
    "plugin": {
        **_TEXT,
        "minLength": 1,
        "description": "A class, or its simple name.",
        "examples": ["FileStreamSource"],
    },
    "logger": {
        **_TEXT,
        "minLength": 1,
        "description": "The logger's name; `root` is the one above all.",
        "examples": ["root"],
    },
    "file": {**_TEXT, "minLength": 1, "description": "The file's name.", "examples": ["main.js"]},
}


def declare(name: str, summary: str, properties: dict[str, Schema], optional: dict[str, Schema] | None = None) -> str:
    """
    Return `name`, the name of an object that one module answers and declares beside its operation. None of `properties` is left
    out, those of `optional` may be.
    """
    SCHEMAS[name] = _object(summary, properties, optional)
    return name


def listed(name: str, summary: str, properties: dict[str, Schema], **more: Any) -> Schema:
    """Declare an object as `declare` does, and return the schema of a list of such objects."""
    return {"type": "array", **more, "items": ref(declare(name, summary, properties))}


def declare_request(name: str, summary: str, required: dict[str, Schema], optional: dict[str, Schema]) -> str:
    """
    Declare a body as `declare` does. It may have no other properties. `bodies.py` refuses what does not fit, in its own words,
    and `tests/rest/test_bodies.py` compares the two.
    """
    SCHEMAS[name] = _object(summary, required, optional, additionalProperties=False)
    return name


def example(schema: Schema) -> Any:
    """Something that fits a schema, for people to look at."""
    if "$ref" in schema:
        return example(SCHEMAS[schema["$ref"].rpartition("/")[2]])
    for keyword in ("examples", "enum", "oneOf"):
        if keyword in schema:
            first = schema[keyword][0]
            return example(first) if keyword == "oneOf" else first
    if "default" in schema:
        return schema["default"]
    if "type" not in schema:
        return None
    kind = schema["type"] if isinstance(schema["type"], str) else schema["type"][0]
    if kind == "object":
        return {name: example(value) for name, value in schema.get("properties", {}).items() if name in schema["required"]}
    return [example(schema["items"])] if kind == "array" else {"integer": 0, "number": 0, "boolean": False, "string": "…"}[kind]
