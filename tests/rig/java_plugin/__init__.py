"""
A plugin in Java for tests: a source that counts, a sink that writes down what it is given, parts of chains. `write_plugin`
compiles it, by the means that the shim is compiled with, and packs it as a connector's vendor would.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from kconnect.jvm import shim

NUMBERS = "rig.NumbersSource"
RECORDING = "rig.RecordingSink"

_LISTED = {
    "source.SourceConnector": NUMBERS,
    "sink.SinkConnector": RECORDING,
    "transforms.Transformation": "rig.Shout",
    "transforms.predicates.Predicate": "rig.IsShort",
    "storage.Converter": "rig.Brackets",
}


def write_plugin(plugin_path: Path, version: str = "1.2.3") -> Path:
    """The plugin's directory, made in this directory of `plugin.path`."""
    place = plugin_path / f"rig-{version}"
    place.mkdir(parents=True)
    jar = place / "rig.jar"
    shim.compile_to(jar, sorted(Path(__file__).parent.glob("*.java")))
    with zipfile.ZipFile(jar, "a") as archive:
        for interface, name in _LISTED.items():
            archive.writestr(f"META-INF/services/org.apache.kafka.connect.{interface}", f"{name}\n")
        archive.writestr("META-INF/services/java.sql.Driver", "rig.CountedDriver\n")
    return place
