"""JSON without schemas into typed files: what is inferred over restarts, and how it is shown, pinned and forgotten."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pyarrow.parquet as pq
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kconnect.local.broker import Broker
from kconnect.rest.client import ConnectClient
from kconnect.testing.processes import WorkerProcess
from tests.cli.calls import Called, call
from tests.converters.test_schema_registry import Server
from tests.support import wait_until

pytestmark = pytest.mark.integration

Names = Callable[[str], str]
JSON = "org.apache.kafka.connect.json.JsonConverter"


def test_plain_json_gets_a_schema_that_stays(worker: WorkerProcess, broker: Broker, unique: Names, tmp_path: Path) -> None:
    servers, topic, name = broker.bootstrap_servers, unique("topic"), unique("typed")
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
    producer = ck.Producer({"bootstrap.servers": servers})

    def write(*values: Any) -> None:
        for value in values:
            producer.produce(topic, json.dumps(value).encode())
        producer.flush()

    def rows() -> list[dict[str, Any]]:
        files = sorted((tmp_path / "out").rglob("*.parquet"))
        return sorted((row for file in files for row in pq.read_table(file).to_pylist()), key=lambda row: row["id"])

    def schemas(*arguments: str) -> Called:
        return call("schemas", name, *arguments, env={"KCONNECT_URL": worker.url})

    registry = Server()
    registry.start()
    config = {
        "connector.class": "ObjectStoreSink",
        "topics": topic,
        "store": f"file://{tmp_path}/out",
        "format.class": "ParquetFormat",
        "flush.size": "1",
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
        "value.converter.schemas.infer": "true",
        "value.converter.schema.registry.url": registry.url,
        "errors.tolerance": "all",
    }
    write({"id": 1, "price": 2}, {"id": 2, "price": 0.5, "of": {"city": "Köln"}})
    with ConnectClient(worker.url) as client:
        client.put_config(name, config)
        try:
            wait_until(lambda: len(rows()) == 2, 120)
            assert [row["price"] for row in rows()] == [2.0, 0.5]
            # Alone, the first of these would make a number of the price, and the second one a text.
            client.restart(name, include_tasks=True)
            write({"id": 3, "price": 7}, {"id": 4, "price": "much"}, {"id": 5, "tags": ["a"]})
            wait_until(lambda: [row["id"] for row in rows()] == [1, 2, 3, 5], 120)
            assert (rows()[2]["price"], rows()[3]["tags"]) == (7.0, ["a"])
            shown = schemas()
            assert [line.split()[-2:] for line in shown.out.splitlines()[1:]] == [
                ["id", "integer"],
                ["price", "double"],
                ["of.city", "text"],
                ["tags[]", "text"],
            ]
            described = call("describe", "connector", name, env={"KCONNECT_URL": worker.url}).out
            assert re.search(rf"the values of {topic}: version \d, 4 fields", described), described
            assert "schema.content" in json.loads(schemas("--pin", topic).out).popitem()[0]
            assert [each["name"] for each in json.loads(schemas("--pin", topic, "--avro").out)["fields"]][:2] == ["id", "price"]
            pinned = json.loads(schemas("--pin", topic, "--subject", "of-value").out)
            assert list(pinned.values()) == ["of-value", "1"] and list(registry.subjects) == ["of-value"]
            client.stop(name)
            wait_until(lambda: not client.tasks(name), 60)
            client.patch_config(name, pinned)
            write({"id": 6, "price": 1, "new": 1}, {"id": 7, "price": 1})
            client.resume(name)
            wait_until(lambda: rows()[-1]["id"] == 7, 120)
            assert 6 not in [row["id"] for row in rows()]

            refused = schemas("--forget", "--yes")
            assert (refused.status != 0, "STOPPED" in refused.err) == (True, True), refused
            client.stop(name)
            wait_until(lambda: not client.tasks(name), 60)
            assert "1 inferred schema of the connector" in schemas("--forget", "--yes").err
            assert schemas("-o", "json").out.strip().endswith('"schemas": []\n}')
            assert schemas("--pin", topic).status != 0
        finally:
            registry.stop()
            client.delete(name)
