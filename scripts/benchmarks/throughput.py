"""
Records a second and CPU a record, beside Apache Kafka Connect 4.3 on the same broker: whole workers, whole process trees.

Each workload is a connector of the file plugins that moves a number of lines of 146 bytes; `tests/rig/systems/rounds.py` says
how it is measured. `java.py` does the same with connectors in Java.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tests.rig.benches import results, stage
from tests.rig.systems.rounds import JSON, STRING, Rounds, Topics, Workload

TRANSFORM, PREDICATE = "org.apache.kafka.connect.transforms.", "org.apache.kafka.connect.transforms.predicates."
TEXTS, OBJECTS = "texts", "objects"


def chain(*steps: tuple[str, Mapping[str, str]]) -> dict[str, str]:
    """Settings of transforms; the last step has a predicate."""
    config = {"transforms": ",".join(f"t{number}" for number in range(len(steps)))}
    for number, (name, settings) in enumerate(steps):
        config[f"transforms.t{number}.type"] = TRANSFORM + name
        config |= {f"transforms.t{number}.{key}": value for key, value in settings.items()}
    config |= {"predicates": "p", f"transforms.t{len(steps) - 1}.predicate": "p"}
    return config | {"predicates.p.type": f"{PREDICATE}TopicNameMatches", "predicates.p.pattern": ".*"}


ENRICH = chain(
    ("HoistField$Value", {"field": "line"}),
    ("InsertField$Value", {"static.field": "from", "static.value": "bench"}),
    ("InsertField$Value", {"topic.field": "topic"}),
)
SHAPE = chain(
    ("InsertField$Value", {"static.field": "from", "static.value": "bench"}),
    ("ReplaceField$Value", {"exclude": "comment", "renames": "name:full_name"}),
    ("MaskField$Value", {"fields": "email"}),
    ("Cast$Value", {"spec": "age:string"}),
)


def converter(name: str, schemas: bool | None = None) -> dict[str, str]:
    made = {"value.converter": name}
    return made if schemas is None else {**made, "value.converter.schemas.enable": str(schemas).lower()}


class Files:
    """Workloads of file connectors in a directory: a source reads `lines.txt`, a sink one of two topics."""

    def __init__(self, directory: Path, topics: Topics, records: int) -> None:
        self._directory, self._topics, self._records = directory, topics, records
        self._lines = directory / "lines.txt"

    def prepare(self) -> None:
        text, numbers = "x" * 132, range(self._records)
        with open(self._lines, "w", encoding="ascii") as file:
            file.writelines(f"{number:012d} {text}\n" for number in numbers)
        self._topics.fill(TEXTS, (f"{number:012d} {text}".encode() for number in numbers))
        person = {"name": "Ada Lovelace", "email": "ada@example.org", "age": 36, "comment": "y" * 60}
        self._topics.fill(OBJECTS, (json.dumps({"id": number, **person}).encode() for number in numbers))

    def source(self, name: str, config: Mapping[str, str], connector: str = "FileStreamSource") -> Workload:
        def begin(run: str) -> dict[str, str]:
            self._topics.create(run)
            return {"connector.class": connector, "file": str(self._lines), "topic": run, **config}

        return Workload(name, self._records, begin, self._topics.end, self._topics.delete)

    def sink(self, name: str, config: Mapping[str, str], topic: str, connector: str = "FileStreamSink") -> Workload:
        def out(run: str) -> Path:
            return self._directory / f"{run}.txt"

        def begin(run: str) -> dict[str, str]:
            return {"connector.class": connector, "file": str(out(run)), "topics": topic, **config}

        def moved(run: str) -> int:
            return self._topics.committed(f"connect-{run}", topic)

        return Workload(name, self._records, begin, moved, lambda run: out(run).unlink())


def workloads(files: Files) -> list[Workload]:
    return [
        files.source("file source, String", converter(STRING)),
        files.source("file source, Hoist + 2 Insert + predicate, JSON", {**converter(JSON, False), **ENRICH}),
        files.source("the same, JSON with schemas", {**converter(JSON, True), **ENRICH}),
        files.sink("file sink, String", converter(STRING), TEXTS),
        files.sink("JSON to a file sink, 4 transforms + predicate", {**converter(JSON, False), **SHAPE}, OBJECTS),
    ]


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="workloads whose name contains this")
    options = parser.parse_args()
    with stage.opened("throughput") as on:
        files = Files(on.directory, Topics(on.servers), options.records)
        files.prepare()
        rounds = Rounds(on.both(), options.rounds, results.Results("throughput", options.json))
        for workload in workloads(files):
            if options.only in workload.name:
                rounds.compare(workload)


if __name__ == "__main__":
    main()
