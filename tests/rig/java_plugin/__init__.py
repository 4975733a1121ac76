"""
A plugin in Java for tests: a source that counts, a sink that writes down what it is given, parts of chains. `write_plugin`
compiles it, by the means that the shim is compiled with, and packs it as a connector's vendor would.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from kconnect.jvm import shim

NUMBERS = "rig.NumbersSource"
RECORDING = "rig.RecordingSink"
VERSION = "1.2.3"

_LISTED = {
    "source.SourceConnector": NUMBERS,
    "sink.SinkConnector": RECORDING,
    "transforms.Transformation": "rig.Shout",
    "transforms.predicates.Predicate": "rig.IsShort",
    "storage.Converter": "rig.Brackets",
}


def write_plugin(plugin_path: Path, version: str = VERSION) -> Path:
    """The plugin's directory, made in this directory of `plugin.path`."""
    place = plugin_path / f"rig-{version}"
    place.mkdir(parents=True)
    jar = place / "rig.jar"
    with TemporaryDirectory() as directory:
        sources = [Path(directory) / source.name for source in sorted(Path(__file__).parent.glob("*.java"))]
        for source in sources:
            text = Path(__file__).with_name(source.name).read_text("utf-8")
            source.write_text(text.replace(f'"{VERSION}"', f'"{version}"'), "utf-8")
        shim.compile_to(jar, sources)
    with zipfile.ZipFile(jar, "a") as archive:
        for interface, name in _LISTED.items():
            archive.writestr(f"META-INF/services/org.apache.kafka.connect.{interface}", f"{name}\n")
    return place
