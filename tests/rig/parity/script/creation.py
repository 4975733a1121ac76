"""Requests that make connectors, or are refused: bodies, names, configs, and what there is when there is no such connector."""

from __future__ import annotations

from typing import Any

from tests.rig.parity.step import Step, configured, delete, get, no_topics, patch, post, put, some_topics, states

SOURCE = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
    "file": "$DIR/lines.txt",
    "topic": "$N-lines",
}
SINK = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
    "file": "$DIR/out.txt",
    "topics": "$N-in",
}

SINK_TASK = "org.apache.kafka.connect.file.FileStreamSinkTask"


def create(title: str, name: object, config: Any, **more: Any) -> Step:
    return post(f"create: {title}", "/connectors", {"name": name, "config": config, **more})


NONE = "/connectors/$N-none"

UNKNOWN: list[Step] = [
    get("none: connectors", "/connectors"),
    get("none: connectors, expanded", "/connectors?expand=status&expand=info"),
    get("none: connector", NONE),
    get("none: config", f"{NONE}/config"),
    get("none: status", f"{NONE}/status"),
    get("none: tasks", f"{NONE}/tasks"),
    get("none: task status", f"{NONE}/tasks/0/status"),
    get("none: topics", f"{NONE}/topics"),
    get("none: offsets", f"{NONE}/offsets"),
    put("none: reset topics", f"{NONE}/topics/reset"),
    put("none: pause", f"{NONE}/pause"),
    put("none: resume", f"{NONE}/resume"),
    put("none: stop", f"{NONE}/stop"),
    post("none: restart", f"{NONE}/restart"),
    post("none: restart with tasks", f"{NONE}/restart?includeTasks=true"),
    post("none: restart what failed", f"{NONE}/restart?onlyFailed=true"),
    post("none: restart a task", f"{NONE}/tasks/0/restart"),
    post("none: restart a task that is no number", f"{NONE}/tasks/zero/restart"),
    patch("none: patch", f"{NONE}/config", {"tasks.max": "2"}),
    delete("none: delete", NONE),
    patch("none: patch offsets", f"{NONE}/offsets", {"offsets": [{"partition": {"filename": "x"}, "offset": None}]}),
    delete("none: delete offsets", f"{NONE}/offsets"),
]

REFUSED: list[Step] = [
    post("create: no body", "/connectors"),
    post("create: empty body", "/connectors", b""),
    post("create: malformed", "/connectors", b'{"name": '),
    post("create: a list", "/connectors", []),
    post("create: null", "/connectors", None),
    post("create: an unknown property", "/connectors", {"name": "$N-x", "config": SOURCE, "foo": 1}),
    post("create: no config", "/connectors", {"name": "$N-x"}),
    create("null config", "$N-x", None),
    create("config is a text", "$N-x", "x"),
    create("config is a list", "$N-x", []),
    create("nested value", "$N-x", {**SOURCE, "topic": {"a": 1}}),
    create("list value", "$N-x", {**SOURCE, "topic": ["a"]}),
    create("empty config", "$N-x", {}),
    create("no class", "$N-x", {"topic": "t"}),
    create("null class", "$N-x", {**SOURCE, "connector.class": None}),
    create("empty class", "$N-x", {**SOURCE, "connector.class": ""}),
    create("unknown class", "$N-x", {**SOURCE, "connector.class": "com.acme.Nope"}),
    create("a transform as its class", "$N-x", {**SOURCE, "connector.class": "RegexRouter"}),
    create("names differ", "$N-x", {**SOURCE, "name": "$N-y"}),
    create("no name", None, SOURCE),
    create("empty name", "", SOURCE),
    create("blank name", "  ", SOURCE),
    create("control character in the name", "$N\nx", SOURCE),
    create("tab in the name", "$N\tx\u0007", SOURCE),
    create("number as a name", 17, {**SOURCE, "tasks.max": 0}),
    create("no topic", "$N-x", {"connector.class": SOURCE["connector.class"]}),
    create("empty topic", "$N-x", {**SOURCE, "topic": ""}),
    create("null for a required setting", "$N-null", {**SOURCE, "topic": None}),
    delete("create: null for a required setting, delete", "/connectors/$N-null"),
    create("null for another setting", "$N-null2", {**SOURCE, "batch.size": None}),
    delete("create: null for another setting, delete", "/connectors/$N-null2"),
    create("null tasks.max", "$N-x", {**SOURCE, "tasks.max": None}),
    create("no tasks", "$N-x", {**SOURCE, "tasks.max": "0"}),
    create("tasks.max is no number", "$N-x", {**SOURCE, "tasks.max": "many"}),
    create("tasks.max is a fraction", "$N-x", {**SOURCE, "tasks.max": 1.5}),
    create("batch size is no number", "$N-x", {**SOURCE, "batch.size": "x"}),
    create("several errors", "$N-x", {"connector.class": SOURCE["connector.class"], "tasks.max": "0", "errors.tolerance": "x"}),
    create("unknown converter", "$N-x", {**SOURCE, "value.converter": "com.acme.Nope"}),
    create("unknown transform", "$N-x", {**SOURCE, "transforms": "a", "transforms.a.type": "com.acme.Nope"}),
    create("sink without topics", "$N-x", {"connector.class": SINK["connector.class"]}),
    create("sink with both", "$N-x", {**SINK, "topics.regex": "x.*"}),
    create("sink: empty topics", "$N-x", {**SINK, "topics": ""}),
    create("sink: bad pattern", "$N-x", {"connector.class": SINK["connector.class"], "topics.regex": "["}),
    create("sink: its letters come back", "$N-x", {**SINK, "errors.deadletterqueue.topic.name": "$N-in"}),
    create("sink: the worker's group", "$N-x", {**SINK, "consumer.override.group.id": "$N"}),
    create("exactly once here", "$N-x", {**SOURCE, "exactly.once.support": "required"}),
    create("bad initial state", "$N-x", SOURCE, initial_state="BOGUS"),
    create("initial state is a number", "$N-x", SOURCE, initial_state=1),
    create("unknown version", "$N-x", {**SOURCE, "connector.plugin.version": "9.9"}),
    put("put: no body", "/connectors/$N-x/config"),
    put("put: malformed", "/connectors/$N-x/config", b"{"),
    put("put: a list", "/connectors/$N-x/config", []),
    put("put: nested", "/connectors/$N-x/config", {"a": {}}),
    put("put: no class", "/connectors/$N-x/config", {"a": "b"}),
    put("put: another name", "/connectors/$N-x/config", {**SOURCE, "name": "$N-y"}),
    put("put: unknown class", "/connectors/$N-x/config", {"connector.class": "com.acme.Nada"}),
    put("put: invalid", "/connectors/$N-x/config", {**SOURCE, "tasks.max": "0"}),
    put("put: control character in the name", "/connectors/$N%0Ax/config", SOURCE),
    get("refused: nothing was made", "/connectors"),
]

ODD = "$N%20a+b%C3%A9%3F%23:@!&=,()'*~"
ACCEPTED: list[Step] = [
    create("numbers, booleans, spaces", " $N typed ", {**SOURCE, "tasks.max": 1, "batch.size": 100, "extra": True, "f": 1.50}),
    get("typed: config", "/connectors/$N%20typed/config"),
    get("typed: status", "/connectors/$N%20typed/status", states("RUNNING", "RUNNING")),
    create("once more", "$N typed", SOURCE),
    create("once more, invalid", "$N typed", {**SOURCE, "tasks.max": "0"}),
    delete("typed: delete", "/connectors/$N%20typed"),
    create("odd name", "$N a+bé?#:@!&=,()'*~", SOURCE, initial_state="stopped"),
    get("odd name: config", f"/connectors/{ODD}/config"),
    get("odd name: status", f"/connectors/{ODD}/status", states("STOPPED")),
    delete("odd name: delete", f"/connectors/{ODD}"),
    get("odd name: deleted", f"/connectors/{ODD}"),
    create("slash in the name", "$N/slash", SOURCE, initial_state="PAUSED"),
    put("put: created", "/connectors/$N-put/config", {**SOURCE, "connector.class": "FileStreamSource"}),
    get("put: status", "/connectors/$N-put/status", states("RUNNING", "RUNNING")),
    put("put: the same", "/connectors/$N-put/config", {**SOURCE, "connector.class": "FileStreamSource"}),
    put("put: another class", "/connectors/$N-put/config", SINK),
    get("put: tasks of the other class", "/connectors/$N-put/tasks", configured(task_class=SINK_TASK)),
    delete("put: delete", "/connectors/$N-put"),
    create("initial state null", "$N-null", {**SOURCE, "connector.class": "FileStreamSourceConnector"}, initial_state=None),
    get("initial state null: status", "/connectors/$N-null/status", states("RUNNING", "RUNNING")),
    get("initial state null: topics", "/connectors/$N-null/topics", some_topics),
    delete("initial state null: delete", "/connectors/$N-null"),
    get("initial state null: topics when deleted", "/connectors/$N-null/topics", no_topics),
]
