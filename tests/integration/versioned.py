"""
Two versions of a source, and two of a transform, each with its own version of what it needs, as plugins of the shared worker.

All four have modules of the same names: none of them works with what belongs to another.
"""

from __future__ import annotations

from pathlib import Path

from tests.rig.systems.plugin_packages import PluginPackage

_SOURCE = """
import threading
from importlib.metadata import version
from kconnect.api.config import ConfigDef, ConfigKey, Type
from kconnect.api.connector import SourceConnector
from kconnect.api.record import SourceRecord
from kconnect.data.schema import STRING_SCHEMA
from kconnect.api.task import SourceTask
from stamping_ink import colour


class StampSourceConnector(SourceConnector):
    def version(self): return "VERSION"
    def config(self): return ConfigDef(ConfigKey("topic", Type.STRING, doc="Where the stamp goes."))
    def start(self, props): self.props = props
    def stop(self): ...
    def task_class(self): return StampTask
    def task_configs(self, max_tasks): return [{"topic": self.props["topic"]}]


class StampTask(SourceTask):
    def version(self): return "VERSION"
    def start(self, props):
        self.topic, self.stopped, self.sent = props["topic"], threading.Event(), False
    def stop(self): self.stopped.set()
    def poll(self):
        if self.sent:
            self.stopped.wait(0.2)
            return []
        self.sent = True
        text = f"source VERSION with {colour()} ink {version('stamping-ink')}"
        return [SourceRecord({"of": "stamps"}, {"sent": 1}, self.topic, None, None, None, STRING_SCHEMA, text)]
"""

_TRANSFORM = """
from kconnect.api.config import ConfigDef
from kconnect.api.transformation import Transformation


class Stamped(Transformation):
    def configure(self, configs): ...
    def config(self): return ConfigDef()
    def apply(self, record):
        from stamping_ink import colour
        record.value = f"{record.value}, stamped VERSION with {colour()} ink"
        return record
"""


def write_plugins(plugin_path: Path) -> Path:
    """Install all four into a directory of `plugin.path`; gives it back."""
    for version, colour in (("1.0", "red"), ("2.0", "blue")):
        ink = PluginPackage("stamping-ink", f"{version}.7", {"stamping_ink.py": f"def colour(): return '{colour}'\n"})
        connector = PluginPackage(
            "stamp-source",
            version,
            {"stamp_source.py": _SOURCE.replace("VERSION", version)},
            {"kconnect.connectors": {"StampSource": "stamp_source:StampSourceConnector"}},
        )
        transform = PluginPackage(
            "stamped",
            version,
            {"stamped.py": _TRANSFORM.replace("VERSION", version)},
            {"kconnect.transforms": {"Stamped": "stamped:Stamped"}},
        )
        for plugin in (connector, transform):
            ink.unpack(plugin.install(plugin_path))
    return plugin_path
