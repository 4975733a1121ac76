"""
Connectors that Apache Kafka itself publishes: the file connectors, behind a chain of its transforms, and the verifiable ones.

Read next: `../side.py`.
"""

from __future__ import annotations

from tests.rig.java_parity.cases.debezium import JSON, STRING
from tests.rig.java_parity.run import Case, Observed
from tests.rig.java_parity.side import Side

FILE = "org.apache.kafka:connect-file:4.3.1"
TEST_PLUGINS = "org.apache.kafka:connect-test-plugins:4.3.1"
_TRANSFORMS = "org.apache.kafka.connect.transforms"
_LINES = ["one", "", "drei äöü", "4,5", '{"json": true}', "x" * 5000, "\t tab", "last"]


def _chain(*steps: tuple[str, str, dict[str, str]]) -> dict[str, str]:
    made = {"transforms": ",".join(name for name, _, _ in steps)}
    for name, kind, settings in steps:
        made[f"transforms.{name}.type"] = f"{_TRANSFORMS}.{kind}"
        made |= {f"transforms.{name}.{setting}": value for setting, value in settings.items()}
    return made


def _files(side: Side) -> Observed:
    lines, out = side.files / "lines.txt", side.files / "out.txt"
    lines.write_text("".join(f"{line}\n" for line in _LINES), "utf-8")
    source = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(lines)}
    connectors = {
        "lines": {**source, "topic": "texts", "key.converter": STRING, "value.converter": STRING},
        "rows": {
            **source,
            "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "topic": "rows",
            "key.converter": STRING,
            "value.converter": JSON,
            **_chain(
                ("hoist", "HoistField$Value", {"field": "line"}),
                ("insert", "InsertField$Value", {"static.field": "by", "static.value": "parity", "topic.field": "from"}),
                ("key", "ValueToKey", {"fields": "line"}),
                ("text", "ExtractField$Key", {"field": "line"}),
                ("mask", "MaskField$Value", {"fields": "by", "replacement": "masked"}),
                ("names", "ReplaceField$Value", {"renames": "line:text", "exclude": "none"}),
                ("head", "HeaderFrom$Value", {"fields": "from", "headers": "came-from", "operation": "move"}),
                ("schema", "SetSchemaMetadata$Value", {"schema.name": "line", "schema.version": "3"}),
                ("route", "RegexRouter", {"regex": "(.*)s", "replacement": "$1-topic"}),
            ),
        },
        "writes": {
            "connector.class": "FileStreamSink",
            "tasks.max": "1",
            "file": str(out),
            "topics": "texts",
            "key.converter": STRING,
            "value.converter": STRING,
        },
    }
    count = len(_LINES)
    side.make_topics(texts=1)
    side.start(connectors)
    side.wait_for({"texts": count, "row-topic": count})
    with lines.open("a", encoding="utf-8") as file:
        file.write("added\nwithout an end")
    side.wait_for({"texts": count + 1, "row-topic": count + 1})
    side.wait(lambda: out.exists() and len(out.read_text("utf-8").splitlines()) >= count + 1, "all lines written")
    observed: Observed = {f"{name}, status": side.status(name) for name in connectors}
    side.stop(*connectors)
    observed["the file"] = out.read_text("utf-8").splitlines()
    observed["records"] = side.records("texts", "row-topic")
    observed["plugins"] = [row for row in side.client.plugins() if ".file." in row["class"]]
    for name, config in connectors.items():
        observed[f"{name}, offsets"] = side.offsets(name)
        observed[f"{name}, topics used"] = sorted(side.client.topics(name))
        observed[f"validate, {name}"] = side.validated({**config, "name": name})
        observed[f"config of the plugin, {name}"] = side.plugin_config(config["connector.class"])
    side.delete(*connectors)
    return observed


def _verifiable(side: Side) -> Observed:
    tools = "org.apache.kafka.connect.tools"
    schemaless = {"key.converter": JSON, "value.converter": JSON}
    connectors = {
        "counts": {
            "connector.class": f"{tools}.VerifiableSourceConnector",
            "tasks.max": "2",
            "topic": "counted",
            "throughput": "50",
            **schemaless,
        },
        "checks": {
            "connector.class": f"{tools}.VerifiableSinkConnector",
            "tasks.max": "2",
            "topics": "counted",
            **schemaless,
        },
        "schemas": {
            "connector.class": f"{tools}.SchemaSourceConnector",
            "tasks.max": "1",
            "topic": "schemas",
            "num.messages": "10",
            "throughput": "1000",
            "multiple.schema": "true",
            "partition.count": "2",
            **schemaless,
        },
    }
    side.make_topics(counted=2, schemas=2)
    side.start({name: connectors[name] for name in ("counts", "checks")}, tasks=2)
    side.start({"schemas": connectors["schemas"]})
    side.wait_for({"counted": 100, "schemas": 10})
    observed: Observed = {f"{name}, status": side.status(name) for name in connectors}
    side.stop("counts", "schemas")
    # How many there are is a matter of time: which numbers they have, of each task, is not.
    written = side.records("counted")["counted"]
    records = [record for each in written.values() for record in each]
    assert len(records) >= 100
    for task in (0, 1):
        numbers = sorted(each["value"]["payload"] for each in records if each["key"]["payload"] == task)
        assert numbers == list(range(len(numbers))), f"of task {task} numbers are missing or there twice"
    observed["counts, the schemas"] = [records[0]["key"]["schema"], records[0]["value"]["schema"]]
    side.wait(lambda: sum(each["offset"]["kafka_offset"] for each in side.offsets("checks")) == len(records), "all read")
    observed["schemas, records"] = side.records("schemas")
    side.stop("checks")
    for name, config in connectors.items():
        observed[f"validate, {name}"] = side.validated({**config, "name": name})
        observed[f"config of the plugin, {name}"] = side.plugin_config(config["connector.class"])
        observed[f"{name}, topics used"] = sorted(side.client.topics(name))
    observed["plugins"] = [row for row in side.client.plugins() if row["class"].startswith(tools)]
    side.delete(*connectors)
    return observed


KAFKA = (Case("files", (FILE,), _files), Case("verifiable", (TEST_PLUGINS,), _verifiable))
