"""
Kafka's command line tools, as its archive has them in `bin/`: scripts that run the classes of the jar `kafka-tools`.

Used by the rig of several machines, for rights, and by `tests/docs/readings.py`, for what people type today.
"""

from __future__ import annotations

from pathlib import Path

from kconnect.jvm import jars, java

_CLASSES = {
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
}
_MORE = {"kafka-console-consumer": "--max-messages 1"}
"""So that it ends by itself."""


def resolve() -> Path:
    """Return the folder of the jars. They are fetched once: `setup` has none with these classes."""
    coordinates = [f"org.apache.kafka:kafka-tools:{jars.KAFKA_VERSION}", "org.slf4j:slf4j-simple:1.7.36"]
    return jars.resolve(f"kafka-tools-{jars.KAFKA_VERSION}", coordinates)


def write(directory: Path) -> None:
    directory.mkdir()
    # The class that configures brokers is in the jars of the broker.
    classes = f"{resolve()}/*:{jars.kafka()}/*"
    for name, main in _CLASSES.items():
        script = directory / f"{name}.sh"
        script.write_text(f'exec {java.checked()} -XX:TieredStopAtLevel=1 -cp "{classes}" {main} {_MORE.get(name, "")} "$@"\n')
        script.chmod(0o755)
