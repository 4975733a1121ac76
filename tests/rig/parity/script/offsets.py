"""Requests about offsets (KIP-875): a source's, which is known by its file, and a sink's, which are its group's."""

from __future__ import annotations

from typing import Any

from tests.rig.parity.script.creation import SINK, SOURCE, create
from tests.rig.parity.step import Step, delete, get, no_offsets, patch, put, some_offsets, states

SRC, OUT = "/connectors/$N-osrc", "/connectors/$N-oout"
FILE = {"filename": "$DIR/lines.txt"}


def at(*offsets: tuple[Any, Any]) -> dict[str, Any]:
    return {"offsets": [{"partition": partition, "offset": offset} for partition, offset in offsets]}


def _in(partition: Any = 0, topic: Any = "$N-in") -> dict[str, Any]:
    return {"kafka_topic": topic, "kafka_partition": partition}


def _alter(which: str, path: str, title: str, body: Any) -> Step:
    return patch(f"{which} offsets: {title}", f"{path}/offsets", body)


SOURCES: list[Step] = [
    create("a source with offsets", "$N-osrc", SOURCE),
    get("source offsets: once read", f"{SRC}/offsets", some_offsets),
    _alter("source", SRC, "alter while it runs", at((FILE, {"position": 4}))),
    delete("source offsets: reset while it runs", f"{SRC}/offsets"),
    put("source offsets: pause", f"{SRC}/pause"),
    get("source offsets: paused", f"{SRC}/status", states("PAUSED", "PAUSED")),
    _alter("source", SRC, "alter while it is paused", at((FILE, {"position": 4}))),
    put("source offsets: stop", f"{SRC}/stop"),
    get("source offsets: stopped", f"{SRC}/status", states("STOPPED")),
    get("source offsets: of a stopped one", f"{SRC}/offsets"),
    _alter("source", SRC, "no body", b""),
    _alter("source", SRC, "malformed", b'{"offsets": [{"partition": '),
    _alter("source", SRC, "a list", []),
    _alter("source", SRC, "empty", {}),
    _alter("source", SRC, "null", {"offsets": None}),
    _alter("source", SRC, "no offsets in it", {"offsets": []}),
    _alter("source", SRC, "an unknown property", {"key": []}),
    _alter("source", SRC, "offsets is an object", {"offsets": {}}),
    _alter("source", SRC, "a number in it", {"offsets": [123]}),
    _alter("source", SRC, "an unknown property in it", {"offsets": [{"key": "val"}]}),
    _alter("source", SRC, "partition is a text", {"offsets": [{"partition": "x", "offset": {"position": 1}}]}),
    _alter("source", SRC, "partition has no filename", at(({"other": "x"}, {"position": 4}))),
    _alter("source", SRC, "offset has no position", at((FILE, {"other": 1}))),
    _alter("source", SRC, "position is a text", at((FILE, {"position": "4"}))),
    _alter("source", SRC, "position is a fraction", at((FILE, {"position": 4.5}))),
    _alter("source", SRC, "position is negative", at((FILE, {"position": -1}))),
    _alter("source", SRC, "null partition with an offset", at((None, {"position": 4}))),
    _alter("source", SRC, "null partition and offset", at((None, None))),
    _alter("source", SRC, "an empty object", {"offsets": [{}]}),
    _alter("source", SRC, "alter", at((FILE, {"position": 4}))),
    get("source offsets: altered", f"{SRC}/offsets", some_offsets),
    _alter("source", SRC, "the same partition twice", at((FILE, {"position": 4}), (FILE, {"position": 8}))),
    get("source offsets: the last one counts", f"{SRC}/offsets", some_offsets),
    _alter("source", SRC, "another file, and null", at(({"filename": "other"}, {"position": 1}), (FILE, None))),
    get("source offsets: of the other file", f"{SRC}/offsets", some_offsets),
    delete("source offsets: reset", f"{SRC}/offsets"),
    get("source offsets: none", f"{SRC}/offsets", no_offsets),
    delete("source offsets: reset again", f"{SRC}/offsets"),
    put("source offsets: resume", f"{SRC}/resume"),
    get("source offsets: read once more", f"{SRC}/offsets", some_offsets),
    delete("source offsets: delete the connector", SRC),
    get("source offsets: deleted", f"{SRC}/offsets"),
]

SINKS: list[Step] = [
    create("a sink with offsets", "$N-oout", SINK),
    get("sink offsets: once read", f"{OUT}/offsets", some_offsets),
    _alter("sink", OUT, "alter while it runs", at((_in(), {"kafka_offset": 1}))),
    put("sink offsets: stop", f"{OUT}/stop"),
    get("sink offsets: stopped", f"{OUT}/status", states("STOPPED")),
    _alter("sink", OUT, "empty", {}),
    _alter("sink", OUT, "an empty object", {"offsets": [{}]}),
    _alter("sink", OUT, "null partition", at((None, {"kafka_offset": 1}))),
    _alter("sink", OUT, "empty partition", at(({}, {"kafka_offset": 1}))),
    _alter("sink", OUT, "no partition number", at(({"kafka_topic": "$N-in"}, {"kafka_offset": 1}))),
    _alter("sink", OUT, "null topic", at((_in(topic=None), {"kafka_offset": 1}))),
    _alter("sink", OUT, "null partition number", at((_in(None), {"kafka_offset": 1}))),
    _alter("sink", OUT, "partition is a word", at((_in("not a number"), {"kafka_offset": 1}))),
    _alter("sink", OUT, "empty offset", at((_in(), {}))),
    _alter("sink", OUT, "offset is a word", at((_in(), {"kafka_offset": "not a number"}))),
    _alter("sink", OUT, "offset is null in it", at((_in(), {"kafka_offset": None}))),
    _alter("sink", OUT, "unknown topic", at((_in(topic="$N-no-such-topic"), {"kafka_offset": 1}))),
    _alter("sink", OUT, "alter", at((_in(), {"kafka_offset": 1}))),
    get("sink offsets: altered", f"{OUT}/offsets", some_offsets),
    _alter("sink", OUT, "numbers as texts", at((_in("0"), {"kafka_offset": "2"}))),
    get("sink offsets: altered by texts", f"{OUT}/offsets", some_offsets),
    _alter("sink", OUT, "one to null", at((_in(), None))),
    get("sink offsets: none", f"{OUT}/offsets"),
    delete("sink offsets: reset", f"{OUT}/offsets"),
    delete("sink offsets: reset again", f"{OUT}/offsets"),
    get("sink offsets: reset, none", f"{OUT}/offsets"),
    put("sink offsets: resume", f"{OUT}/resume"),
    get("sink offsets: read once more", f"{OUT}/offsets", some_offsets),
    delete("sink offsets: delete the connector", OUT),
]
