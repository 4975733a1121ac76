"""
A plugin in Java for tests: a source that counts, a sink that writes down what it is given, parts of chains. `write_plugin`
compiles it, by the means that the shim is compiled with, and packs it as a connector's vendor would.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from kconnect.jvm import shim

NUMBERS = "rig.NumbersSource"
RECORDING = "rig.RecordingSink"

_LISTED = {
    "connect.source.SourceConnector": [NUMBERS],
    "connect.sink.SinkConnector": [RECORDING],
    "connect.transforms.Transformation": ["rig.Shout"],
    "connect.transforms.predicates.Predicate": ["rig.IsShort"],
    "connect.storage.Converter": ["rig.Brackets"],
    "connect.storage.HeaderConverter": ["rig.Dashes"],
    "common.config.provider.ConfigProvider": ["rig.Secrets"],
    "connect.connector.policy.ConnectorClientConfigOverridePolicy": ["rig.NoAcks"],
}


def write_plugin(plugin_path: Path, version: str = "1.2.3") -> Path:
    """The plugin's directory, made in this directory of `plugin.path`."""
    return pack(plugin_path / f"rig-{version}", Path(__file__).parent, _LISTED)


def pack(place: Path, sources: Path, listed: Mapping[str, Sequence[str]]) -> Path:
    """Compile what is in `sources` into a jar in this new directory; `listed` are its classes by Connect's interfaces."""
    place.mkdir(parents=True)
    jar = place / "rig.jar"
    shim.compile_to(jar, sorted(sources.glob("*.java")))
    with zipfile.ZipFile(jar, "a") as archive:
        for interface, names in listed.items():
            archive.writestr(f"META-INF/services/org.apache.kafka.{interface}", "".join(f"{name}\n" for name in names))
    return place
