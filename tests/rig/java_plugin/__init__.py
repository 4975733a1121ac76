"""
A plugin in Java for tests: a source that counts, and a sink that writes down what it is given. `write_plugin` compiles it, by
the means that the shim is compiled with, and packs it as a connector's vendor would.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from kconnect.jvm import shim

NUMBERS = "rig.NumbersSource"
RECORDING = "rig.RecordingSink"


def write_plugin(plugin_path: Path, version: str = "1.2.3") -> Path:
    """The plugin's directory, made in this directory of `plugin.path`."""
    place = plugin_path / f"rig-{version}"
    place.mkdir(parents=True)
    jar = place / "rig.jar"
    shim.compile_to(jar, sorted(Path(__file__).parent.glob("*.java")))
    with zipfile.ZipFile(jar, "a") as archive:
        archive.writestr("META-INF/services/org.apache.kafka.connect.source.SourceConnector", f"{NUMBERS}\n")
        archive.writestr("META-INF/services/org.apache.kafka.connect.sink.SinkConnector", f"{RECORDING}\n")
    return place
