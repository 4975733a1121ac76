"""
One task that sends to 200 new topics in turn, each created by it (KIP-158): kconnect beside Connect 4.3.1 in one run.

Both run the same connector: `round_robin` has it in Python and in Java, which takes a JDK. What counts is the time from the
request that creates the connector until the last topic has its last record, as a ratio of the two; rounds alternate, and the
first of each only warms it up.
"""

from __future__ import annotations

import subprocess
import time
import zipfile
from pathlib import Path

import confluent_kafka as ck

from kconnect.jvm import jars, java
from kconnect.testing.processes import WorkerProcess
from tests.rig.benches import results, stage

SOURCE = Path(__file__).with_name("round_robin")
RULES = {"topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "1"}


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--topics", type=int, default=200)
    parser.add_argument("--records", type=int, default=5, help="for each topic")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found = results.Results("topics", options.json)
    with stage.opened("topics") as on:
        plugins = dict(zip(results.SIDES, (in_python(on.directory / "python"), in_java(on.directory / "java"))))
        workers = {side: on.worker(side, properties={"plugin.path": str(path)}) for side, path in plugins.items()}
        took: dict[str, list[float]] = {side: [] for side in workers}
        for number in range(options.rounds + 1):
            for side, worker in workers.items():
                took[side].append(create(worker, on.servers, f"{side.lower()}-{number}", options.topics, options.records))
    for side, (_, *times) in took.items():
        found.add(f"a task that sends to {options.topics} new topics", side, "until all is there", "s", *times)
    found.show()


def in_python(directory: Path) -> Path:
    info = directory / "round-robin" / "round_robin-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: round-robin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[kconnect.connectors]\nRoundRobinSource = round_robin:RoundRobinSource\n")
    (info.parent / "round_robin.py").write_text((SOURCE / "round_robin.py").read_text("utf-8"), "utf-8")
    return directory


def in_java(directory: Path) -> Path:
    classes = directory / "classes"
    classes.mkdir(parents=True)
    compiler = Path(java.checked()).resolve().with_name("javac")
    if not compiler.exists():
        raise SystemExit(f"{compiler} is not there: this comparison takes a JDK, not only a JRE")
    path = jars.class_path(jars.connect())
    subprocess.run([compiler, "-cp", path, "-d", classes, SOURCE / "RoundRobinSource.java"], check=True)
    plugins = directory / "plugins"
    (plugins / "round-robin").mkdir(parents=True)
    with zipfile.ZipFile(plugins / "round-robin" / "round-robin.jar", "w") as jar:
        for file in classes.rglob("*.class"):
            jar.write(file, file.relative_to(classes))
        jar.writestr("META-INF/services/org.apache.kafka.connect.source.SourceConnector", "bench.RoundRobinSource\n")
    return plugins


def create(worker: WorkerProcess, servers: str, prefix: str, topics: int, records: int) -> float:
    """Seconds until all is there."""
    consumer = ck.Consumer({"bootstrap.servers": servers, "group.id": "look", "log_level": 0})
    config = {"connector.class": "RoundRobinSource", "prefix": prefix, "topics": str(topics), "rounds": str(records), **RULES}
    last = f"{prefix}-{topics - 1}"

    def end(topic: str) -> int:
        """0 for one that is not there, or that nobody leads yet."""
        try:
            return consumer.get_watermark_offsets(ck.TopicPartition(topic, 0), timeout=1, cached=False)[1]
        except ck.KafkaException:
            return 0

    began = time.monotonic()
    worker.client.create(prefix, config)
    stage.wait(lambda: end(last) == records, 300)
    seconds = time.monotonic() - began
    stage.wait(lambda: all(end(f"{prefix}-{number}") == records for number in range(topics)), 60)
    worker.client.delete(prefix)
    consumer.close()
    return seconds


if __name__ == "__main__":
    main()
