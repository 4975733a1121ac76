"""
Plugin directories that the tests of this package share.

`plugin_path` has one plugin, `demo`, whose connectors behave and misbehave; its sandbox's children import it from there.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from tests.rig.systems.plugin_packages import PluginPackage
from tests.support import starts

CONNECTORS = '''
import os, signal, subprocess, sys, time
from kconnect.api.config import Config, ConfigDef, ConfigKey, ConfigValue, Password, Range, Type, NonEmptyString
from kconnect.api.connector import ExactlyOnceSupport, SinkConnector, SourceConnector
from kconnect.errors import DataError
from kconnect.api.task import SinkTask, SourceTask

DEF = ConfigDef(
    ConfigKey("file", Type.STRING, doc="what to read", validator=NonEmptyString(), group="Demo", order=1),
    ConfigKey("rows", Type.INT, 10, validator=Range.at_least(1)),
    ConfigKey("db.password", Type.PASSWORD, None),
)


class DemoSourceConnector(SourceConnector):
    def version(self): return "2.5"
    def start(self, props): ...
    def stop(self): ...
    def task_class(self): return SourceTask
    def task_configs(self, max_tasks): return [{}]
    def config(self): return DEF


class DemoSinkConnector(SinkConnector):
    def version(self): return "2.5"
    def start(self, props): ...
    def stop(self): ...
    def task_class(self): return SinkTask
    def task_configs(self, max_tasks): return [{}]
    def config(self): return DEF


class ChattySource(DemoSourceConnector):
    def config(self):
        print("printed to stdout", flush=True)
        os.write(1, b"\\x00\\x00\\x00\\x05hello")
        subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
        return super().config()


class HangingSource(DemoSourceConnector):
    def validate(self, props):
        while True: time.sleep(1)


class SpinningSource(DemoSourceConnector):
    def config(self):
        while True: pass


class CrashingSource(DemoSourceConnector):
    def __init__(self): os.kill(os.getpid(), signal.SIGSEGV)


class HungrySource(DemoSourceConnector):
    def config(self): os.kill(os.getpid(), signal.SIGKILL)


class LeavingSource(DemoSourceConnector):
    def config(self): os._exit(3)


class ExitingSource(DemoSourceConnector):
    def config(self): sys.exit(4)


class RaisingSource(DemoSourceConnector):
    def validate(self, props): raise KeyError("no " + props["db.password"])


class NoneSource(DemoSourceConnector):
    def config(self): return None


class NothingSource(DemoSourceConnector):
    def validate(self, props): return None


class PickySource(DemoSourceConnector):
    """Says something about the framework's settings and about one that it doesn't declare; leaves out `rows`."""
    def validate(self, props):
        return Config([ConfigValue("file", props.get("file"), ["a.txt"]), ConfigValue("tasks.max", "9", errors=["too many"]),
                       ConfigValue("strange", "s", errors=["never heard of it"])])


class ExactSource(DemoSourceConnector):
    def exactly_once_support(self, props):
        return ExactlyOnceSupport.SUPPORTED if props.get("rows") == "1" else ExactlyOnceSupport.UNSUPPORTED


class AgreeingSource(DemoSourceConnector):
    """Agrees if it gets what JSON makes of `offsets`, and the config as it was submitted."""
    def alter_offsets(self, connector_config, offsets):
        return connector_config == {"name": "c", "connector.class": "AgreeingSource", "file": "a.txt"} and offsets == [
            ({"shard": 1, "of": "x"}, {"n": 2**40, "f": 1.5, "b": True, "t": "7"}), (None, None)]


class WillingSink(DemoSinkConnector):
    def alter_offsets(self, connector_config, offsets):
        return [(*key, key.topic, value) for key, value in offsets.items()] == [("t", 0, "t", 7), ("t", 1, "t", None)]


class RefusingSource(DemoSourceConnector):
    def alter_offsets(self, connector_config, offsets):
        raise DataError("no shard, and not " + connector_config["db.password"])


class BoundSource(DemoSourceConnector):
    def alter_offsets(self, connector_config, offsets): raise NotImplementedError


class StumblingSource(DemoSourceConnector):
    def alter_offsets(self, connector_config, offsets): return offsets["shard"]


class SilentSource(DemoSourceConnector):
    def alter_offsets(self, connector_config, offsets): ...


class StuckSource(DemoSourceConnector):
    def alter_offsets(self, connector_config, offsets):
        while True: pass


class DyingSource(DemoSourceConnector):
    def alter_offsets(self, connector_config, offsets): os.kill(os.getpid(), signal.SIGSEGV)


class QuittingSource(DemoSourceConnector):
    def alter_offsets(self, connector_config, offsets): sys.exit(0)


class NotAConnector: ...
'''

BROKEN = "import a_module_that_is_not_there\n"

CONVERTER = """
from kconnect.api.config import ConfigDef, ConfigKey, OneOf, Type
from kconnect.api.converter import Converter


class UpperConverter(Converter):
    def configure(self, configs, is_key): ...
    def from_connect_data(self, topic, schema, value, headers=None): return value
    def to_connect_data(self, topic, data, headers=None): return data
    def config(self):
        return ConfigDef(ConfigKey("converter.type", Type.STRING, validator=OneOf(("key", "value", "header"))),
                         ConfigKey("upper", Type.BOOLEAN, True, group="Case", order=1))
"""

CHAIN = """
from kconnect.api.config import ConfigDef, ConfigKey, Type
from kconnect.api.predicate import Predicate
from kconnect.api.transformation import Transformation


class Rename(Transformation):
    def configure(self, configs): ...
    def apply(self, record): return record
    def version(self): return "3.0"
    def config(self):
        return ConfigDef(ConfigKey("to", Type.STRING, doc="new name"), ConfigKey("negate", Type.STRING, "mine"))


class Named(Predicate):
    def configure(self, configs): ...
    def test(self, record): return True
    def config(self): return ConfigDef(ConfigKey("size", Type.INT, doc="its size"))
"""


@pytest.fixture(scope="session")
def plugin_path(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    root = tmp_path_factory.mktemp("plugins")
    classes = [
        line.split("(")[0].split(":")[0].removeprefix("class ") for line in CONNECTORS.splitlines() if line.startswith("class ")
    ]
    names = {name: f"demo_connectors:{name}" for name in classes}
    modules = {"demo_connectors.py": CONNECTORS, "demo_broken.py": BROKEN}
    demo = {"kconnect.connectors": {**names, "BrokenSource": "demo_broken:BrokenSource"}}
    PluginPackage("demo", "2.5", modules, demo).unpack(root / "demo")
    chain = {"kconnect.transforms": {"Rename": "demo_chain:Rename"}, "kconnect.predicates": {"Named": "demo_chain:Named"}}
    PluginPackage("chain", "3.0", {"demo_chain.py": CHAIN}, chain).unpack(root / "chain")
    upper = {"kconnect.converters": {"Upper": "upper:UpperConverter", "Gone": "upper:GoneConverter"}}
    PluginPackage("upper-converter", "1.0", {"upper.py": CONVERTER}, upper).unpack(root / "upper")
    return [str(root)]


@pytest.fixture(scope="session")
@starts("process")
def sandbox(plugin_path: list[str]) -> Iterator[Sandbox]:
    sandbox = Sandbox(Registry.scan(plugin_path), plugin_path, timeout=30, worker_group="workers")
    yield sandbox
    sandbox.close()
