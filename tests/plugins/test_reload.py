"""Plugins that come and go while a worker runs, once it is asked to look at plugin.path anew."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kconnect.errors import BadRequestError, NotFoundError
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from kconnect.plugins.scan import INSTALLED
from tests.rig.systems.plugin_packages import PluginPackage

SOURCE = """
from kconnect.api import ConfigDef, ConfigKey, SourceConnector, SourceTask, Type


class LateSource(SourceConnector):
    def version(self): return "{version}"
    def start(self, props): ...
    def stop(self): ...
    def task_class(self): return SourceTask
    def task_configs(self, max_tasks): return [{{}}]
    def config(self): return ConfigDef(ConfigKey("since.{version}", Type.STRING, None))
"""
GROUPS = {"kconnect.connectors": {"LateSource": "late:LateSource"}}
CONFIG: dict[str, str | None] = {"name": "c", "connector.class": "LateSource"}


def put(root: Path, version: str, name: str = "late") -> str:
    PluginPackage(name, version, {"late.py": SOURCE.format(version=version)}, GROUPS).install(root)
    return str(root / f"{name}-{version}")


def own_settings(sandbox: Sandbox) -> set[str]:
    rows = sandbox.validate("LateSource", CONFIG)["configs"]
    return {row["definition"]["name"] for row in rows if row["definition"]["name"].startswith("since")}


@pytest.mark.process
def test_the_sandbox_answers_by_what_is_there_now(tmp_path: Path) -> None:
    registry = Registry.scan([str(tmp_path)])
    sandbox = Sandbox(registry, [str(tmp_path)], 60)

    def look() -> dict[str, list[str]]:
        nonlocal registry
        registry, told = registry.anew([str(tmp_path)])
        sandbox.reload(registry)
        return told

    try:
        old = put(tmp_path, "1.0")
        with pytest.raises(BadRequestError, match="LateSource"):
            sandbox.validate("LateSource", CONFIG)
        assert look() == {"added": [old], "removed": [], "installed": []}
        assert own_settings(sandbox) == {"since.1.0"}
        assert sandbox.describe("LateSource")["version"] == "1.0"
        new = put(tmp_path, "2.0")
        assert own_settings(sandbox) == {"since.1.0"}, "nobody has asked to look yet"
        assert look()["added"] == [new]
        assert own_settings(sandbox) == {"since.2.0"}
        assert sandbox.describe("LateSource")["version"] == "2.0"
        late = [row["version"] for row in sandbox.list_plugins(True) if row["class"] == "late.LateSource"]
        assert late == ["1.0", "2.0"]
        shutil.rmtree(new)
        shutil.rmtree(old)
        assert look() == {"added": [], "removed": [old, new], "installed": []}
        with pytest.raises(NotFoundError):
            sandbox.describe("LateSource")
    finally:
        sandbox.close()


def test_what_is_installed_beside_kconnect_waits_for_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Registry.scan([])
    beside = put(tmp_path, "1.0")
    monkeypatch.syspath_prepend(beside)
    assert Registry.scan([]).find("LateSource", "connector").location == INSTALLED
    registry, told = before.anew([])
    assert told == {"added": [], "removed": [], "installed": ["late.LateSource"]}
    with pytest.raises(NotFoundError):
        registry.find("LateSource", "connector")
    assert registry.find("FileStreamSource", "connector").location == INSTALLED
