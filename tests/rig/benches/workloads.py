"""
What `scripts/benchmarks/throughput.py` has workers move: connectors of the file plugins, with converters and transforms.

Inputs are made when the first workload asks for them: files of lines, and topics. Read next: `tests/rig/systems/rounds.py`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import fastavro

from tests.rig.benches.results import KCONNECT
from tests.rig.systems.rounds import JSON, STRING, Topics, Workload

TRANSFORM, PREDICATE = "org.apache.kafka.connect.transforms.", "org.apache.kafka.connect.transforms.predicates."
AVRO = "AvroConverter"
TEXTS, OBJECTS, TOMBSTONES, AVROS = "texts", "objects", "tombstones", "avros"
USUAL = 146
"""Bytes of a line, with its end."""
SIZES = {100: 1, 1_000: 2, 10_000: 10}
"""Bytes of a record, and by what the number of records is divided, so that disks are not what is measured."""
TASKS = (1, 2, 4)
PERSON = {"name": "Ada Lovelace", "email": "ada@example.org", "age": 36, "comment": "y" * 60}
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Person",
    "fields": [{"name": name, "type": "int" if name in ("id", "age") else "string"} for name in ("id", *PERSON)],
}

Step = tuple[str, Mapping[str, str]]
INSERT: Step = ("InsertField$Value", {"static.field": "from", "static.value": "bench"})
INSERT_TOPIC: Step = ("InsertField$Value", {"topic.field": "topic"})
HOIST: Step = ("HoistField$Value", {"field": "line"})
REPLACE: Step = ("ReplaceField$Value", {"exclude": "comment", "renames": "name:full_name"})
MASK: Step = ("MaskField$Value", {"fields": "email"})
CAST: Step = ("Cast$Value", {"spec": "age:string"})
PYTHON: Step = ("Python", {"function": "bench:seen"})
EXPRESSION: Step = ("Expression", {"field.even": "value.id % 2 == 0"})
FUNCTION = 'def seen(record):\n    return record.new_record(value={**record.value, "seen": True})\n'


def chain(*steps: Step, tombstones: bool = False) -> dict[str, str]:
    """Settings of transforms. The last step has a predicate; with tombstones among the records, all have one against these."""
    config = {"transforms": ",".join(f"t{number}" for number in range(len(steps))), "predicates": "p"}
    for number, (name, settings) in enumerate(steps):
        own = name in (PYTHON[0], EXPRESSION[0])
        config[f"transforms.t{number}.type"] = name if own else TRANSFORM + name
        config |= {f"transforms.t{number}.{key}": value for key, value in settings.items()}
        if tombstones or number == len(steps) - 1:
            config |= {f"transforms.t{number}.predicate": "p", f"transforms.t{number}.negate": str(tombstones).lower()}
    if tombstones:
        return config | {"predicates.p.type": f"{PREDICATE}RecordIsTombstone"}
    return config | {"predicates.p.type": f"{PREDICATE}TopicNameMatches", "predicates.p.pattern": ".*"}


ENRICH = chain(HOIST, INSERT, INSERT_TOPIC)
SHAPE = chain(INSERT, REPLACE, MASK, CAST)


def converter(name: str, schemas: bool | None = None) -> dict[str, str]:
    made = {"value.converter": name}
    return made if schemas is None else {**made, "value.converter.schemas.enable": str(schemas).lower()}


class Files:
    """Workloads of file connectors in a directory, and the files and topics that they read."""

    def __init__(self, directory: Path, topics: Topics, records: int) -> None:
        self._directory, self._topics, self._records = directory, topics, records
        self._made: set[str] = set()

    def _lines(self, size: int) -> Path:
        path = self._directory / f"lines-{size}.txt"
        if not path.exists():
            with open(path, "wb") as file:
                file.writelines(text + b"\n" for text in texts(self._count(size), size - 1))
        return path

    def _topic(self, name: str, values: Callable[[], Iterable[bytes | None]], partitions: int) -> None:
        if name not in self._made:
            self._made.add(name)
            self._topics.fill(name, values(), partitions)

    def _count(self, size: int) -> int:
        return self._records // SIZES.get(size, 1)

    def source(
        self,
        name: str,
        config: Mapping[str, str],
        connector: str = "FileStreamSource",
        size: int = USUAL,
        moved: Callable[[str], int] | None = None,
        **more: Any,
    ) -> Workload:
        def begin(run: str) -> dict[str, str]:
            self._topics.create(run)
            return {"connector.class": connector, "file": str(self._lines(size)), "topic": run, **config}

        return Workload(name, self._count(size), begin, moved or self._topics.end, self._topics.delete, **more)

    def sink(
        self,
        name: str,
        config: Mapping[str, str],
        topic: str,
        connector: str = "FileStreamSink",
        size: int = USUAL,
        partitions: int = 1,
        **more: Any,
    ) -> Workload:
        count = self._count(size)
        made: dict[str, Callable[[], Iterable[bytes | None]]] = {
            OBJECTS: lambda: objects(count),
            TOMBSTONES: lambda: (None if number % 100 == 99 else value for number, value in enumerate(objects(count))),
            AVROS: lambda: avros(count),
        }

        def out(run: str) -> Path:
            return self._directory / f"{run}.txt"

        def begin(run: str) -> dict[str, str]:
            self._topic(topic, made.get(topic, lambda: texts(count, size - 1)), partitions)
            return {"connector.class": connector, "file": str(out(run)), "topics": topic, **config}

        def moved(run: str) -> int:
            return self._topics.committed(f"connect-{run}", topic, partitions)

        return Workload(name, count, begin, moved, lambda run: out(run).unlink(), **more)

    def last(self, run: str) -> int:
        """How many records there are of a source that sends in transactions, whose ends take offsets, too."""
        return int((self._topics.last(run) or b"-1")[:12]) + 1


def texts(count: int, size: int) -> Iterable[bytes]:
    rest = "x" * (size - 13)
    return (f"{number:012d} {rest}".encode() for number in range(count))


def objects(count: int) -> Iterable[bytes]:
    return (json.dumps({"id": number, **PERSON}).encode() for number in range(count))


def avros(count: int) -> Iterable[bytes]:
    """As Confluent's converters write them; the registry's first schema is theirs."""
    schema = fastavro.parse_schema(SCHEMA)
    for number in range(count):
        body = io.BytesIO(b"\0\0\0\0\1")
        body.seek(5)
        fastavro.schemaless_writer(body, schema, {"id": number, **PERSON})
        yield body.getvalue()


def workloads(files: Files, registry: str) -> list[Workload]:
    """`registry` is the URL of a schema registry that has `SCHEMA` as its first."""
    ours = (KCONNECT,)
    string, plain = converter(STRING), converter(JSON, False)
    avro = {**converter(AVRO), "value.converter.schema.registry.url": registry}
    own = chain(INSERT, REPLACE, MASK, CAST, PYTHON, EXPRESSION)
    return [
        files.source("file source, String", string),
        files.source("file source, Hoist + 2 Insert + predicate, JSON", {**plain, **ENRICH}),
        files.source("the same, JSON with schemas", {**converter(JSON, True), **ENRICH}),
        files.source("the same, Avro (Connect has no such converter)", {**avro, **ENRICH}, sides=ours),
        files.sink("file sink, String", string, TEXTS),
        files.sink("JSON to a file sink, 4 transforms + predicate", {**plain, **SHAPE}, OBJECTS),
        files.sink("the same, Avro (Connect has no such converter)", {**avro, **SHAPE}, AVROS, sides=ours),
        files.sink(
            "JSON to a file sink, chain of 6", {**plain, **chain(INSERT, INSERT_TOPIC, REPLACE, MASK, CAST, HOIST)}, OBJECTS
        ),
        files.sink("the same, a Python function and an Expression among the 6", {**plain, **own}, OBJECTS, sides=ours),
        files.sink(
            "JSON with 1 % tombstones to a file sink, 4 transforms but on these",
            {**plain, **chain(INSERT, REPLACE, MASK, CAST, tombstones=True)},
            TOMBSTONES,
        ),
        *(files.source(f"file source, String, {size:,} B", string, size=size) for size in SIZES),
        *(files.sink(f"file sink, String, {size:,} B", string, f"texts-{size}", size=size) for size in SIZES),
        *(files.source(f"{count} file sources at once, String", string, copies=count) for count in TASKS[1:]),
        *(
            files.sink(
                f"file sink, String, 4 partitions, tasks: {count}",
                {**string, "tasks.max": str(count)},
                "texts-spread",
                partitions=4,
            )
            for count in TASKS
        ),
    ]


def exactly_once(files: Files) -> list[Workload]:
    """For workers with exactly.once.source.support=enabled."""
    return [files.source("file source, String, exactly once", converter(STRING), moved=files.last)]
