"""
Apache Camel's generic source and sink, of 2021 and so built for Connect 2.8: files of a directory, lines into a file. And files
that the source deletes once it has heard by `commitRecord` that Kafka has them: each is read once.

Read next: `../side.py`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.rig.java_parity import normal
from tests.rig.java_parity.cases.debezium import STRING
from tests.rig.java_parity.run import Case, Observed
from tests.rig.java_parity.side import Side

_CAMEL = "3.11.1"
CONNECTOR = "org.apache.camel.kafkaconnector:camel-kafka-connector:0.11.0"
_PACKAGE = "org.apache.camel.kafkaconnector"
_MODIFIED_S = 1_700_000_000
_FILES = 20


def _run(side: Side) -> Observed:
    read, out = side.files / "in", side.files / "out"
    for directory in (read, out):
        directory.mkdir()
    for name in ("a.txt", "b.txt", "c.txt"):
        (read / name).write_text(f"the text of {name}, äöü\n", "utf-8")
        os.utime(read / name, (_MODIFIED_S, _MODIFIED_S))
    connectors = {
        "camel-source": _reading(read, "noop", "camel"),
        "camel-sink": {
            "connector.class": f"{_PACKAGE}.CamelSinkConnector",
            "tasks.max": "1",
            "topics": "camel",
            "camel.sink.url": f"file:{out}?fileName=all.txt&fileExist=Append&appendChars=---",
            "key.converter": STRING,
            "value.converter": STRING,
        },
    }
    side.make_topics(camel=1)
    side.start(connectors)
    side.wait_for({"camel": 3})
    written = out / "all.txt"
    side.wait(lambda: written.exists() and written.read_text("utf-8").count("---") >= 3, "all files written")
    observed: Observed = {f"{name}, status": side.status(name) for name in connectors}
    side.stop(*connectors)
    observed["the file"] = written.read_text("utf-8")
    # An exchange's id begins with that of the process; its number follows.
    rules: normal.Rules = {"position": lambda value: re.sub(r"^[0-9A-F]{10,16}(?=-\d{16}$)", "<process>", str(value))}
    observed["records"] = side.records("camel")
    for name, config in connectors.items():
        observed[f"{name}, offsets"] = normal.apply(rules, side.offsets(name))
        observed[f"{name}, topics used"] = sorted(side.client.topics(name))
        observed[f"validate, {name}"] = side.validated({**config, "name": name})
        observed[f"config of the plugin, {name}"] = side.plugin_config(config["connector.class"])
    observed["plugins"] = [row for row in side.client.plugins(connectors_only=False) if row["class"].startswith(_PACKAGE)]
    side.delete(*connectors)
    return observed


def _reading(directory: Path, option: str, topic: str) -> dict[str, str]:
    """Return the config of a source of the files in a directory, with `noop` or `delete`."""
    return {
        "connector.class": f"{_PACKAGE}.CamelSourceConnector",
        "tasks.max": "1",
        "topics": topic,
        "camel.source.url": f"file:{directory}?{option}=true&sortBy=file:name&initialDelay=0&delay=500",
        "camel.source.camelMessageHeaderKey": "CamelFileName",
        "key.converter": STRING,
        "value.converter": STRING,
        "transforms": "text",
        "transforms.text.type": f"{_PACKAGE}.transforms.CamelTypeConverterTransform$Value",
        "transforms.text.target.type": "java.lang.String",
    }


def _deletes(side: Side) -> Observed:
    directory = side.files / "once"
    directory.mkdir()
    names = [f"{number:02}.txt" for number in range(_FILES)]
    for name in names:
        (directory / name).write_text(f"the text of {name}\n", "utf-8")
        os.utime(directory / name, (_MODIFIED_S, _MODIFIED_S))
    config = _reading(directory, "delete", "camel-once")
    side.make_topics(**{"camel-once": 1})
    side.start({"camel-deletes": config})
    side.wait_for({"camel-once": _FILES})
    side.wait(lambda: not list(directory.glob("*.txt")), "all files deleted")
    observed: Observed = {"records": side.records("camel-once"), "status": side.status("camel-deletes")}
    side.stop("camel-deletes")
    side.delete("camel-deletes")
    return observed


_PLUGIN = f"{CONNECTOR}+org.apache.camel:camel-file:{_CAMEL}"
CAMEL = Case("camel", (_PLUGIN,), _run, unlisted=True)
CAMEL_DELETES = Case("camel-deletes", (_PLUGIN,), _deletes, unlisted=True)
