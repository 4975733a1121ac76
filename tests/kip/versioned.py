"""
Plugins in any version, whose records say which versions have made them; for the tests of KIP-891.

Each is a package of its own, with a dependency that both versions of it call `tally_of_<plugin>`, in its own version too: one
that is imported beside the other must still find its own. All modules import the public API only.
"""

from __future__ import annotations

from pathlib import Path

from tests.rig.systems.plugin_packages import PluginPackage

SOURCE = """
import threading
from kconnect.api.config import ConfigDef, ConfigKey, Type
from kconnect.api.connector import SourceConnector
from kconnect.api.record import Header, SourceRecord
from kconnect.data.schema import STRING_SCHEMA
from kconnect.api.task import SourceTask
import tally_of_fleet as tally


class FleetSourceConnector(SourceConnector):
    def version(self): return "{version}"
    def start(self, props): self.props = dict(props)
    def stop(self): ...
    def task_class(self): return FleetSourceTask
    def task_configs(self, max_tasks):
        return [{{**self.props, "made.by": "{version}"}} for _ in range(max_tasks)]
    def config(self):
        return ConfigDef(ConfigKey("topic", Type.STRING, doc="Where its one record goes"),
                         ConfigKey("since.{version}", Type.STRING, None))


class FleetSourceTask(SourceTask):
    def version(self): return "{version}"
    def start(self, props):
        self.props, self.left, self.stopped = props, 1, threading.Event()
    def poll(self):
        if self.props.get("fail"):
            raise ValueError("it fails, as its config says")
        if not self.left:
            self.stopped.wait(1)
            return None
        self.left = 0
        value = f"source {{tally.VERSION}} of {{self.props['made.by']}}"
        headers = [Header("made", "here", STRING_SCHEMA)] if self.props.get("headers") else []
        where = self.props["topic"], 0
        return [SourceRecord({{"s": 1}}, {{"n": 1}}, *where, None, None, STRING_SCHEMA, value, None, headers)]
    def stop(self): self.stopped.set()
"""

CONVERTER = """
from kconnect.api.config import ConfigDef, ConfigKey, Type
from kconnect.api.converter import Converter, HeaderConverter
from kconnect.data.schema import SchemaAndValue
import tally_of_stamp as tally


class StampConverter(Converter):
    def configure(self, configs, is_key): self.given = ",".join(sorted(configs))
    def from_connect_data(self, topic, schema, value, headers=None):
        return None if value is None else f"{{value}}; stamp {{tally.VERSION}} ({{self.given}})".encode()
    def to_connect_data(self, topic, data, headers=None): return SchemaAndValue(None, data)
    def config(self): return ConfigDef(ConfigKey("ink.{version}", Type.STRING, None))


class StampHeaderConverter(HeaderConverter):
    def configure(self, configs): self.given = ",".join(sorted(configs))
    def from_connect_header(self, topic, key, schema, value):
        return f"{{value}}; stamp {{tally.VERSION}} ({{self.given}})".encode()
    def to_connect_header(self, topic, key, data): return SchemaAndValue(None, data)
"""

TRANSFORM = """
from kconnect.api.config import ConfigDef, ConfigKey, Type
from kconnect.api.transformation import Transformation
import tally_of_mark as tally


class Mark(Transformation):
    def configure(self, configs): self.given = ",".join(sorted(configs))
    def apply(self, record):
        return record.new_record(value=f"{{record.value}}; mark {{tally.VERSION}} ({{self.given}})")
    def config(self):
        return ConfigDef(ConfigKey("ink.{version}", Type.STRING, None), ConfigKey("version", Type.STRING, None))
"""

PREDICATE = '''
from kconnect.api.config import ConfigDef, ConfigKey, Type
from kconnect.api.predicate import Predicate
import tally_of_gate as tally


class IsVersion(Predicate):
    """True in one version only: what it lets through says which one it is."""
    def configure(self, configs):
        self.open, self.given = configs["which"], set(configs)
    def test(self, record): return self.open == tally.VERSION and "plugin.version" not in self.given
    def config(self):
        return ConfigDef(ConfigKey("which", Type.STRING, doc="The version that says yes"),
                         ConfigKey("ink.{version}", Type.STRING, None))
'''

PLUGINS = {
    "fleet": (SOURCE, {"kconnect.connectors": {"FleetSource": "fleet:FleetSourceConnector"}}),
    "stamp": (
        CONVERTER,
        {
            "kconnect.converters": {"Stamp": "stamp:StampConverter"},
            "kconnect.header_converters": {"StampHeader": "stamp:StampHeaderConverter"},
        },
    ),
    "mark": (TRANSFORM, {"kconnect.transforms": {"Mark": "mark:Mark"}}),
    "gate": (PREDICATE, {"kconnect.predicates": {"IsVersion": "gate:IsVersion"}}),
}
"""By the name of its package, which is that of its module too: its code and its entry points."""


def package(name: str, version: str) -> PluginPackage:
    code, entries = PLUGINS[name]
    modules = {f"{name}.py": code.format(version=version), f"tally_of_{name}.py": f"VERSION = '{version}'\n"}
    return PluginPackage(name, version, modules, entries)


def install(plugin_path: Path, version: str) -> Path:
    """All of them in one version, each in a directory of its own."""
    for name in PLUGINS:
        package(name, version).install(plugin_path)
    return plugin_path


def bar(version: str) -> PluginPackage:
    """The text's example of what is not installed correctly, if two versions share a directory."""
    entries = {"kconnect.connectors": {"Bar": "bar:BarConnector"}}
    return PluginPackage("bar", version, {"bar.py": SOURCE.format(version=version)}, entries)


def lone(version: str) -> PluginPackage:
    code = TRANSFORM.format(version=version).replace("class Mark", "class Lone")
    modules = {"lone.py": code, "tally_of_mark.py": f"VERSION = '{version}'\n"}
    return PluginPackage("lone", version, modules, {"kconnect.transforms": {"Lone": "lone:Lone"}})


def without_version(directory: Path) -> None:
    """Take the version out of the metadata of the one distribution there."""
    (file,) = directory.glob("*.dist-info/METADATA")
    file.write_text("".join(line for line in file.read_text().splitlines(True) if not line.startswith("Version:")))
