"""
One task that sends to 200 new topics in turn, each created by it (KIP-158): kconnect beside Connect 4.3.1 in one run.

Both run the same connector: `round_robin` has it in Python and in Java, which takes a JDK. What counts is the time from the
request that creates the connector until the last topic has its last record, as a ratio of the two; rounds alternate, and the
first of each only warms it up.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path

import confluent_kafka as ck
from capacity import wait

from kconnect.jvm import jars, java
from kconnect.local.broker import Broker
from kconnect.testing.processes import WorkerProcess
from tests.rig.systems.connect import ConnectProcess

SOURCE = Path(__file__).with_name("round_robin")
RULES = {"topic.creation.default.replication.factor": "1", "topic.creation.default.partitions": "1"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else None)
    parser.add_argument("--topics", type=int, default=200)
    parser.add_argument("--records", type=int, default=5, help="for each topic")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kconnect-topics-") as name:
        directory = Path(name)
        broker = Broker(directory / "broker")
        broker.start()
        servers = broker.bootstrap_servers
        workers = {
            "kconnect": WorkerProcess(directory, servers, "kconnect", properties=plugin_path(in_python(directory / "python"))),
            "Connect": ConnectProcess(directory, servers, "connect", properties=plugin_path(in_java(directory / "java"))),
        }
        took: dict[str, list[float]] = {title: [] for title in workers}
        try:
            for worker in workers.values():
                worker.start()
            for number in range(options.rounds + 1):
                for title, worker in workers.items():
                    seconds = create(worker, servers, f"{title.lower()}-{number}", options.topics, options.records)
                    print(f"{title:<9} {seconds:6.2f} s{'' if number else '  (warming up)'}", flush=True)
                    took[title] += [seconds] if number else []
        finally:
            for worker in workers.values():
                worker.stop()
            broker.stop()
    ours, theirs = (statistics.median(took[title]) for title in ("kconnect", "Connect"))
    print(f"{options.topics} new topics: medians {ours:.2f} and {theirs:.2f} s, ratio {ours / theirs:.2f}")


def plugin_path(directory: Path) -> dict[str, str]:
    return {"plugin.path": str(directory)}


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
    wait(lambda: end(last) == records, 300)
    seconds = time.monotonic() - began
    wait(lambda: all(end(f"{prefix}-{number}") == records for number in range(topics)), 60)
    worker.client.delete(prefix)
    consumer.close()
    return seconds


if __name__ == "__main__":
    main()
