"""
Rows and columns of the fault matrix: the calls into plugin code, and what a connector is configured with to misbehave there.

The eleven tests of Kafka Connect's BlockingConnectorTest are among them, by their names. Read next: `judge.py`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from tests.rig.plugin_faults import package


class Phase(enum.Enum):
    """When the framework makes the call."""

    VALIDATION = "while the config is validated, in a process for that"
    START = "before the unit runs"
    RUN = "while it runs"
    STOP = "when it is to end"


@dataclass(frozen=True)
class Place:
    name: str
    phase: Phase
    connect: str = ""
    """The test of Connect's that blocks here."""
    tolerated: bool = False
    """An error there is logged, and the task goes on, or the call is made again, as in Connect."""

    @property
    def by_task(self) -> bool:
        return not self.name.startswith("connector.")


PLACES = tuple(
    Place(*row)
    for row in (
        ("connector.import", Phase.VALIDATION),
        ("connector.import (host)", Phase.START),
        ("connector.constructor", Phase.VALIDATION),
        ("connector.constructor (host)", Phase.START),
        ("connector.version", Phase.VALIDATION),
        ("connector.version (host)", Phase.START),
        ("connector.config", Phase.VALIDATION, "testBlockInConnectorConfig"),
        ("connector.validate", Phase.VALIDATION, "testBlockInConnectorValidate"),
        ("connector.alter_offsets", Phase.VALIDATION),
        ("connector.initialize", Phase.START, "testBlockInConnectorInitialize"),
        ("connector.start", Phase.START, "testBlockInConnectorStart"),
        ("connector.task_class", Phase.START),
        ("connector.task_configs", Phase.RUN, "", True),
        ("connector.stop", Phase.STOP, "testBlockInConnectorStop"),
        ("source.initialize", Phase.START),
        ("source.start", Phase.START, "testBlockInSourceTaskStart"),
        ("source.poll", Phase.RUN),
        ("source.commit", Phase.RUN, "", True),
        ("source.commit_record", Phase.RUN, "", True),
        ("source.stop", Phase.STOP, "testBlockInSourceTaskStop"),
        ("sink.initialize", Phase.START),
        ("sink.start", Phase.START, "testBlockInSinkTaskStart"),
        ("sink.open", Phase.RUN),
        ("sink.put", Phase.RUN),
        ("sink.pre_commit", Phase.RUN, "", True),
        ("sink.interrupt", Phase.STOP),
        ("sink.close", Phase.STOP),
        ("sink.stop", Phase.STOP, "testBlockInSinkTaskStop"),
        ("transform.configure", Phase.START),
        ("transform.apply", Phase.RUN),
        ("transform.close", Phase.STOP),
        ("predicate.test", Phase.RUN),
        ("converter.configure", Phase.START),
        ("converter.from_connect_data", Phase.RUN),
        ("converter.to_connect_data", Phase.RUN),
        ("provider.get", Phase.VALIDATION),
        ("provider.get (host)", Phase.START),
    )
)
_NOT_OF_JAVA = ("import", "initialize", "get", "version (host)", "interrupt")
"""Calls that Java plugins do not have, or that the shim makes for them, or that tell no more than the others."""
JAVA_PLACES = (
    *(place for place in PLACES if not place.name.partition(".")[2].startswith(_NOT_OF_JAVA)),
    Place("sink.flush", Phase.RUN, "", True),
)
BY_NAME = {place.name: place for place in (*PLACES, *JAVA_PLACES)}

KINDS = {
    "hang": "waits for ever",
    "slow": "each call takes a second",
    "exception": "raises RuntimeError",
    "os._exit": "os._exit(3)",
    "SIGSEGV": "reads address 0",
    "SIGKILL": "C code kills the process",
    "memory": "allocates up to 1 GiB",
    "threads": "starts 2,000 threads and leaves them",
    "stdout": "prints 100,000 lines",
    "sys.exit": "sys.exit()",
    "signal": "signal.signal(SIGTERM, …)",
    "builtins": "replaces builtins.open",
    "GIL": "C code keeps all Python threads waiting",
    "changes": "changes what the call was given",
    "thread": "calls the framework from another thread, and waits for that",
    "within": "calls the framework within its own call",
}

JAVA_KINDS = {
    "hang": KINDS["hang"],
    "deadlock": "waits for a lock whose holder waits for one of its own",
    "busy": "computes for ever, and is not to be interrupted",
    "slow": KINDS["slow"],
    "exception": "throws IllegalStateException",
    "stack": "StackOverflowError",
    "class": "NoClassDefFoundError",
    "exit": "System.exit(3)",
    "halt": "Runtime.halt(3)",
    "heap": "fills the heap",
    "direct": "fills the memory for direct buffers",
    "threads": KINDS["threads"],
    "leak": "leaves three threads behind",
    "crash": "writes to address 0",
    "crash in a thread": "a thread of its own writes to address 0",
    "stdout": KINDS["stdout"],
    "log": "logs 100,000 lines",
    "changes": KINDS["changes"],
    "thread": KINDS["thread"],
    "within": KINDS["within"],
}


def config(place: Place, kind: str, lane: str, provider: str) -> dict[str, str]:
    """The config of a connector of package `lane` that misbehaves at this place; "" as `kind`: it behaves."""
    bad, parts = f"{lane}.bad.", f"{lane}.bad_parts."
    sink = place.name.startswith("sink.") or place.name == "converter.to_connect_data"
    made = {
        "connector.class": f"{bad}BadSink" if sink else f"{bad}BadSource",
        "tasks.max": "1",
        **({"topics": good_topic(lane)} if sink else {"topic": f"{lane}-bad"}),
    }
    part, _, call = place.name.partition(".")
    if part == "provider":
        made["note"] = f"${{{provider}:{kind or 'none'}{'@host' if call.endswith('(host)') else ''}:note}}"
    elif kind and call.startswith("import"):
        made["connector.class"] = f"{lane}.{package.import_module(kind, call.endswith('(host)'))}.AtImport"
    elif kind and place.name in package.BY_KIND:
        made["connector.class"] = f"{bad}{package.BY_KIND[place.name]}_{package.plain(kind)}"
    else:
        made |= _own(place, kind, parts)
    return made


def java_config(place: Place, kind: str, lane: str) -> dict[str, str]:
    """The same with the plugin in Java."""
    sink = place.name.startswith("sink.") or place.name == "converter.to_connect_data"
    return {
        "connector.class": f"faulty.Bad{'Sink' if sink else 'Source'}",
        "tasks.max": "1",
        **({"topics": good_topic(lane)} if sink else {"topic": f"{lane}-bad"}),
        **_own(place, kind, "faulty."),
    }


def _own(place: Place, kind: str, parts: str) -> dict[str, str]:
    """What says where it misbehaves, of a connector whose other plugins have names that begin with `parts`."""
    own = {"place": place.name, "kind": kind} if kind else {}
    part = place.name.partition(".")[0]
    made: dict[str, str] = {}
    if part == "transform":
        made |= {"transforms": "bad", "transforms.bad.type": f"{parts}BadTransform"}
    elif part == "predicate":
        made |= {"transforms": "any", "transforms.any.type": f"{parts}BadTransform", "transforms.any.predicate": "bad"}
        made |= {"predicates": "bad", "predicates.bad.type": f"{parts}BadPredicate"}
    elif part == "converter":
        made |= {"value.converter": f"{parts}BadConverter"}
    prefixes = {"transform": "transforms.bad.", "predicate": "predicates.bad.", "converter": "value.converter."}
    return {**made, **{f"{prefixes.get(part, 'fault.')}{name}": value for name, value in own.items()}}


def good_topic(lane: str) -> str:
    return f"{lane}-good"
