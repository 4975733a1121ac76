"""
Two versions of a plugin that need two versions of a package with C extensions, at work in one worker at the same time.

The packages come from PyPI, as users' do: without it this fails. One of the two needs an older orjson as well, which kconnect
itself works with in another version.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import orjson
import pytest

from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.rig.systems.plugin_packages import PluginPackage

from ..conftest import QUICK
from ..support import wait_until

CONNECTOR = """
import importlib
import time

import orjson
import xxhash
from kconnect.api import STRING_SCHEMA, ConfigDef, ConfigKey, SourceConnector, SourceRecord, SourceTask, Type


class HashSource(SourceConnector):
    def version(self): return "{version}"
    def start(self, props): self._props = dict(props)
    def stop(self): ...
    def task_class(self): return HashTask
    def task_configs(self, max_tasks): return [dict(self._props)]
    def config(self): return ConfigDef(ConfigKey("topic", Type.STRING))


class HashTask(SourceTask):
    def version(self): return "{version}"
    def stop(self): ...

    def start(self, props):
        self._topic, self._number = props["topic"], 0

    def poll(self):
        time.sleep(0.02)
        self._number += 1
        text = orjson.dumps({{
            "by": "{version}", "number": self._number, "hash": xxhash.xxh64_hexdigest(str(self._number)),
            "xxhash": [xxhash.VERSION, importlib.import_module("xxhash._xxhash").__file__],
            "orjson": [orjson.__version__, importlib.import_module("orjson.orjson").__file__],
        }}).decode()
        return [SourceRecord({{}}, {{"n": self._number}}, self._topic, None, None, None, STRING_SCHEMA, text)]
"""

GROUPS = {"kconnect.connectors": {"HashSource": "hash_source:HashSource"}}
NEEDS = {"1.0": ("xxhash==3.5.0", "orjson==3.10.18"), "2.0": ("xxhash==3.6.0", "orjson>=3.10")}
ONE_S_HASH = "b7b41276360564d4"
"""XXH64 of "1", with the seed 0."""


@pytest.mark.timeout(900)  # it starts two installations and a worker
@pytest.mark.long
def test_two_versions_of_c_extensions_move_data_at_once(broker: Broker, tmp_path: Path, unique: Callable[[str], str]) -> None:
    assert orjson.__version__ != "3.10.18", "the plugin is to bring another version than kconnect's own"
    plugins = tmp_path / "plugins"
    install(tmp_path, plugins)
    # Each life counts from 1, so none is to lose touch while Spark and both environments start.
    properties = {**QUICK, "session.timeout.ms": "30000", "task.hosts": "1", "plugin.path": str(plugins)}
    worker = WorkerProcess(tmp_path, broker.bootstrap_servers, unique("extensions"), properties=properties)
    topics = {version: unique(f"hashes-{version}") for version in NEEDS}
    try:
        worker.start()
        for version, topic in topics.items():
            config = {"connector.class": "HashSource", "connector.plugin.version": version, "topic": topic, "tasks.max": "1"}
            worker.client.create(topic, config)
        for topic in topics.values():
            worker.client.wait_for(topic, "RUNNING", tasks=1, timeout=240, fail_fast=True)
        records = read_until_they_overlap(broker.bootstrap_servers, topics)
        statuses = {version: worker.client.status(topic) for version, topic in topics.items()}
    finally:
        worker.stop()

    assert {version: status["connector"]["version"] for version, status in statuses.items()} == {"1.0": "1.0", "2.0": "2.0"}
    for version, found in records.items():
        assert {record["by"] for record in found} == {version}
        assert [record["number"] for record in found] == list(range(1, len(found) + 1))
        assert found[0]["hash"] == ONE_S_HASH
    own = {version: str(plugins / f"hash-source-{version}") for version in NEEDS}
    for version, release in (("1.0", "3.5.0"), ("2.0", "3.6.0")):
        for name, file in unique_of(records[version], "xxhash"):
            assert (name, file.startswith(f"{own[version]}/xxhash/_xxhash.")) == (release, True)
    ((old, old_file),) = unique_of(records["1.0"], "orjson")
    assert (old, old_file.startswith(f"{own['1.0']}/orjson/")) == ("3.10.18", True)
    ((new, new_file),) = unique_of(records["2.0"], "orjson")
    assert (new, Path(new_file).parent) == (orjson.__version__, Path(orjson.__file__).parent)


def install(directory: Path, plugins: Path) -> None:
    """Both at once, as two people may do."""
    started = []
    for version, needs in NEEDS.items():
        code = {"hash_source.py": CONNECTOR.format(version=version)}
        wheel = PluginPackage("hash-source", version, code, GROUPS, needs).wheel(directory / "wheels")
        command = [sys.executable, "-m", "kconnect", "plugin", "install", str(wheel), "--plugin-path", str(plugins)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    said = [each.communicate()[0] for each in started]
    assert [each.returncode for each in started] == [0, 0], f"the plugins could not be installed (is PyPI away?): {said}"


def read_until_they_overlap(bootstrap_servers: str, topics: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    """All records so far, once each version has written 20 after the other one's first."""
    consumer = ck.Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "x", "enable.auto.commit": False})
    consumer.assign([ck.TopicPartition(topic, 0, ck.OFFSET_BEGINNING) for topic in topics.values()])
    versions = {topic: version for version, topic in topics.items()}
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {version: [] for version in topics}

    def overlap() -> bool:
        for message in consumer.consume(500, 0.2):
            if message.error() is None:
                found[versions[message.topic() or ""]].append((message.timestamp()[1], json.loads(message.value() or b"")))
        if not all(found.values()):
            return False
        both = max(records[0][0] for records in found.values())
        return all(sum(time > both for time, _ in records) >= 20 for records in found.values())

    try:
        wait_until(overlap, 120, "the two versions did not write at the same time")
    finally:
        consumer.close()
    return {version: [record for _, record in records] for version, records in found.items()}


def unique_of(records: list[dict[str, Any]], library: str) -> set[tuple[str, str]]:
    """The (version, file) of a library that records were made with."""
    return {(record[library][0], record[library][1]) for record in records}
