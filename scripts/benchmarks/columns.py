"""
What a record costs a sink from Kafka's messages to the system, by its converter: CPU of this process, in microseconds.

In one process, without Kafka: batches of 500 messages of five fields, as a task reads them, go through the converter into the
sink. With `--mixes` there are tombstones, other shapes, bad messages and headers among them, which are ignored or tolerated.
Each figure is the median of several rounds; rounds of all rows alternate. Garbage is collected as in a task host.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from kconnect.api import TopicPartition
from kconnect.connectors.iceberg.connector import IcebergSinkConnector
from kconnect.connectors.objects.connector import ObjectStoreSinkConnector
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.converters.avro import AvroConverter
from kconnect.converters.json import JsonConverter
from kconnect.converters.string import StringConverter
from kconnect.core.settings.errors import ErrorSettings
from kconnect.core.task.batch import Batch
from kconnect.core.task.chain import Converters, SinkChain
from kconnect.core.task.errors import Errors
from kconnect.core.task.sink_pump import Parts, SinkConversion
from kconnect.core.task.steps import Steps
from kconnect.core.task.topic_use import TopicUse
from kconnect.data import schema as schemas
from kconnect.data.schema import Struct
from kconnect.testing import SinkRunner
from tests.rig.benches import results
from tests.rig.systems import postgres_programs
from tests.rig.systems.postgres import Postgres

BATCH = 500
PLACE = TopicPartition("rows", 0)
ROW = schemas.struct(
    {
        "id": schemas.INT64_SCHEMA,
        "name": schemas.OPTIONAL_STRING_SCHEMA,
        "price": schemas.OPTIONAL_FLOAT64_SCHEMA,
        "at": schemas.OPTIONAL_INT64_SCHEMA,
        "sold": schemas.OPTIONAL_BOOLEAN_SCHEMA,
    },
    name="Row",
)
REGISTRY = {"schema.registry.url": "mock://columns"}
CONVERTERS: dict[str, tuple[type[Any], dict[str, str]]] = {
    "JSON, schema.content": (JsonConverter, {}),
    "JSON, envelopes": (JsonConverter, {}),
    "JSON, inferred": (JsonConverter, {"schemas.enable": "false", "schemas.infer": "true"}),
    "JSON, no schema": (JsonConverter, {"schemas.enable": "false"}),
    "Avro": (AvroConverter, REGISTRY),
}
MIXES = ("1 % tombstones", "5 % of another shape", "0.1 % bad", "headers")
Round = Callable[[], float]


class Message:
    """As cheap as a message can be."""

    __slots__ = ("_headers", "_offset", "_value")

    def __init__(self, value: bytes | None, offset: int, headers: list[tuple[str, bytes]] | None = None) -> None:
        self._value, self._offset, self._headers = value, offset, headers

    def topic(self) -> str:
        return PLACE.topic

    def partition(self) -> int:
        return PLACE.partition

    def offset(self) -> int:
        return self._offset

    def key(self) -> None:
        return None

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> list[tuple[str, bytes]] | None:
        return self._headers

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_700_000_000_000


def row(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"name {number}",
        "price": number * 1.5,
        "at": 1_700_000_000_000 + number,
        "sold": number % 2 == 0,
    }


def envelope_of_schema() -> Mapping[str, Any]:
    made = JsonConverter()
    data = made.from_connect_data("rows", ROW, Struct(ROW, row(1)))
    found: Mapping[str, Any] = json.loads(data or b"")["schema"]
    return found


def texts(kind: str, count: int, other: bool) -> list[bytes]:
    """Messages of a kind; with `other`, without a field, in another order."""
    rows = [row(number) for number in range(count)]
    if other:
        rows = [{name: value for name, value in reversed(each.items()) if name != "sold"} for each in rows]
    if kind == "Avro" or kind == "JSON, envelopes":
        made = AvroConverter() if kind == "Avro" else JsonConverter()
        made.configure(REGISTRY if kind == "Avro" else {})
        written = [made.from_connect_data(PLACE.topic, ROW, Struct(ROW, each)) for each in rows]
        return [text for text in written if text is not None]
    return [json.dumps(each, separators=(",", ":")).encode() for each in rows]


def messages(kind: str, count: int, mix: str) -> list[Message]:
    bodies: list[bytes | None] = list(texts(kind, count, other=False))
    headers = [("trace", b"0af7651916cd43dd8448eb211c80319c")] if mix == "headers" else None
    if mix == "1 % tombstones":
        bodies[57::100] = [None] * len(bodies[57::100])
    elif mix == "5 % of another shape":
        bodies[17::20] = texts(kind, len(bodies[17::20]), other=True)
    elif mix == "0.1 % bad":
        bodies[733::1000] = [b"{"] * len(bodies[733::1000])
    return [Message(body, offset, headers) for offset, body in enumerate(bodies)]


def conversion(kind: str, number: int) -> Callable[[Sequence[Message]], Any]:
    cls, settings = CONVERTERS[kind]
    value, key, header = cls(), StringConverter(), StringConverter()
    content = {"schema.content": json.dumps(envelope_of_schema())} if kind == "JSON, schema.content" else {}
    value.configure({**settings, **content})
    key.configure({}, True)
    tolerant = Errors(ErrorSettings(tolerant=True), lambda failure: None, lambda s: True, time.monotonic, lambda s: s)
    chain = SinkChain(Converters(key, value, lambda: header), tolerant)
    use = TopicUse(lambda: {PLACE.topic}, lambda topic: None)
    convert = SinkConversion(chain, Steps([]), tolerant, use, columns=True, headers=True)
    inferring = getattr(value, "inferring", None)

    def run(some: Sequence[Message]) -> Any:
        if inferring is not None:
            # As `units/inferring.py` does, which keeps what is new in a topic.
            inferring.learn(PLACE.topic, [message.value() for message in some])
        return convert(some)

    return run


def systems(stack: ExitStack, count: int, wanted: str) -> dict[str, Callable[[], tuple[Any, dict[str, str]]]]:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kconnect-bench-")))
    numbers = itertools.count()

    def objects(format: str) -> tuple[Any, dict[str, str]]:
        store = {"store": f"file://{folder}/{next(numbers)}", "flush.size": str(count), "format.class": format}
        return ObjectStoreSinkConnector, {**store, "behavior.on.null.values": "ignore"}

    def iceberg() -> tuple[Any, dict[str, str]]:
        place = {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}"}
        return IcebergSinkConnector, {
            "iceberg.catalog.type": "sql",
            **{f"iceberg.catalog.{name}": value for name, value in place.items()},
            "iceberg.tables": f"bench.ours_{next(numbers)}",
            "iceberg.tables.auto-create-enabled": "true",
            "commit.max.rows": str(count),
        }

    made = {
        "JSON lines": lambda: objects("JsonFormat"),
        "Parquet": lambda: objects("ParquetFormat"),
        "Iceberg": iceberg,
    }
    if wanted in "PostgreSQL":
        server = Postgres(postgres_programs.find_or_install()).start()
        stack.callback(server.stop)
        login = {"connection.user": server.user, "connection.password": server.password}
        place = {"connection.url": server.jdbc_url("postgres"), **login, "auto.create": "true"}
        made["PostgreSQL"] = lambda: (SqlSinkConnector, {**place, "table.name.format": f"ours_{next(numbers)}"})
    return {name: system for name, system in made.items() if wanted in name}


def a_round(kind: str, sink: Callable[[], tuple[Any, dict[str, str]]], count: int, mix: str) -> Round:
    numbers = itertools.count()

    def run() -> float:
        read, convert = messages(kind, count, mix), conversion(kind, next(numbers))
        connector, config = sink()
        with SinkRunner(connector, {"name": f"bench{time.time_ns()}", "topics": PLACE.topic, **config}) as runner:
            runner.open(PLACE)
            task: Any = runner.task
            began = time.process_time()
            for first in range(0, count, BATCH):
                done = convert(read[first : first + BATCH])
                for part in done.parts if isinstance(done, Parts) else [done]:
                    if isinstance(part, Batch):
                        task.put_batch(part.replace(part.key.copy(), part.value.copy()))
                    else:
                        task.put(list(part))
            task.put([])
            return (time.process_time() - began) / count * 1e6

    return run


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mixes", action="store_true", help="with other messages among them, into Parquet")
    parser.add_argument("--only", default="", help="converters whose name contains this")
    parser.add_argument("--into", default="", help="systems whose name contains this")
    options = parser.parse_args()
    found = results.Results("columns", options.json)
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    with ExitStack() as stack:
        rounds = all_rounds(options, systems(stack, options.records, "Parquet" if options.mixes else options.into))
        taken: dict[str, list[float]] = {name: [] for name in rounds}
        for number in range(options.rounds + 1):
            for name, run in rounds.items():
                cost = run()
                if number:  # The first is for warming up.
                    taken[name].append(cost)
        for name, costs in taken.items():
            found.add(name, results.KCONNECT, "CPU a record", "µs", *costs)
        found.show()


def all_rounds(options: argparse.Namespace, sinks: Mapping[str, Callable[[], tuple[Any, dict[str, str]]]]) -> dict[str, Round]:
    rounds = {}
    for kind in CONVERTERS:
        for system, sink in sinks.items():
            if options.only in kind and not (kind == "JSON, no schema" and system in ("Parquet", "PostgreSQL")):
                for mix in ("", *MIXES) if options.mixes else ("",):
                    name = f"{kind} to {system}" + (f", {mix}" if mix else "")
                    rounds[name] = a_round(kind, sink, options.records, mix)
    return rounds


if __name__ == "__main__":
    main()
