"""
The fault matrix for plugins in Java: the plugin of `java/` misbehaves, in the JVM of its good neighbours.

Those are a source and a sink in Java, and a sink in Python behind a converter in Java, which brings it into the same host. All
Java plugins of a worker share a host, so there is one lane only. Used by `__main__.py` and the tests. Read next: `run.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kconnect.plugins.environments import JVM
from tests.rig import java_plugin
from tests.rig.plugin_faults import places, run
from tests.rig.plugin_faults.places import JAVA_KINDS, Place

NAME = "faulty_java"
HEAP = 96 << 20
"""Small, so that it is full soon."""
PROPERTIES = {
    **{name: value for name, value in run.PROPERTIES.items() if not name.startswith("config.providers")},
    "java.host.heap.max.bytes": str(HEAP),
    # A JVM reserves more than it takes.
    "sandbox.memory.max.bytes": str(2 << 30),
}
_LISTED = {
    "org.apache.kafka.connect.source.SourceConnector": ["faulty.BadSource", "faulty.GoodSource"],
    "org.apache.kafka.connect.sink.SinkConnector": ["faulty.BadSink", "faulty.GoodSink"],
    "org.apache.kafka.connect.transforms.Transformation": ["faulty.BadTransform"],
    "org.apache.kafka.connect.transforms.predicates.Predicate": ["faulty.BadPredicate"],
    "org.apache.kafka.connect.storage.Converter": ["faulty.BadConverter"],
}


def write_plugins(directory: Path) -> str:
    """Make what `plugin.path` needs; gives its value."""
    java_plugin.pack(directory / NAME, Path(__file__).parent / "java", _LISTED)
    return str(directory)


class JavaLane(run.Lane):
    beside = JAVA_KINDS

    def homes(self, plugins: Path) -> list[Path]:
        return [plugins / NAME / "home"]

    def good(self) -> dict[str, dict[str, str]]:
        topic = places.good_topic(NAME)
        reads = {"topics": topic, "value.converter": "faulty.BadConverter"}
        return {
            f"{NAME}-source": {"connector.class": "faulty.GoodSource", "topic": topic},
            f"{NAME}-sink": {"connector.class": "faulty.GoodSink", "file": self.file("sink"), **reads},
            f"{NAME}-python": {"connector.class": "FileStreamSink", "file": self.file("python"), **reads},
        }

    def bad(self, place: Place, kind: str) -> dict[str, str]:
        home = self._homes[0]
        home.mkdir(exist_ok=True)
        (home / "plan").write_text(f"{place.name}\n{kind}\n" if kind else "", "utf-8")
        return places.java_config(place, kind, NAME)

    def is_host(self, directories: Sequence[str]) -> bool:
        return JVM in directories
