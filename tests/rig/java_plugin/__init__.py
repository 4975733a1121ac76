"""
A plugin in Java for tests: a source that counts, sinks that write down what they are given or copy it exactly once, parts of
chains. `write_plugin` compiles it, by the means that the shim is compiled with, and packs it as a connector's vendor would.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from kconnect.jvm import shim

NUMBERS = "rig.NumbersSource"
RECORDING = "rig.RecordingSink"
COPYING = "rig.CopyingSink"
VERSION = "1.2.3"

_LISTED = {
    "org.apache.kafka.connect.source.SourceConnector": [NUMBERS],
    "org.apache.kafka.connect.sink.SinkConnector": [RECORDING, COPYING],
    "org.apache.kafka.connect.transforms.Transformation": ["rig.Shout"],
    "org.apache.kafka.connect.transforms.predicates.Predicate": ["rig.IsShort"],
    "org.apache.kafka.connect.storage.Converter": ["rig.Brackets"],
    "org.apache.kafka.connect.storage.HeaderConverter": ["rig.Dashes"],
    "org.apache.kafka.common.config.provider.ConfigProvider": ["rig.Secrets"],
    "org.apache.kafka.connect.connector.policy.ConnectorClientConfigOverridePolicy": ["rig.NoAcks"],
    "java.sql.Driver": ["rig.CountedDriver"],
}


def write_plugin(plugin_path: Path, version: str = VERSION) -> Path:
    """The plugin's directory, made in this directory of `plugin.path`."""
    with TemporaryDirectory() as directory:
        for source in Path(__file__).parent.glob("*.java"):
            text = source.read_text("utf-8").replace(f'"{VERSION}"', f'"{version}"')
            (Path(directory) / source.name).write_text(text, "utf-8")
        return pack(plugin_path / f"rig-{version}", Path(directory), _LISTED)


def pack(place: Path, sources: Path, listed: Mapping[str, Sequence[str]]) -> Path:
    """Compile what is in `sources` into a jar in this new directory; `listed` are its classes by interface."""
    place.mkdir(parents=True)
    jar = place / "rig.jar"
    shim.compile_to(jar, sorted(sources.glob("*.java")))
    with zipfile.ZipFile(jar, "a") as archive:
        for interface, names in listed.items():
            archive.writestr(f"META-INF/services/{interface}", "".join(f"{name}\n" for name in names))
    return place
