"""Classes of plugins, tried one by one in the sandbox's children: what fails tells where and why, and hides no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconnect.jvm import scan
from kconnect.plugins import doctor, java_examination
from kconnect.plugins.registry import PluginDesc, Registry
from tests.rig.systems.plugin_packages import PluginPackage

GOOD = """
from kconnect.api import ConfigDef, Transformation
class Flat(Transformation):
    def configure(self, configs): ...
    def apply(self, record): return record
    def config(self): return ConfigDef()
"""
BAD = {
    "importing": ("import nothing_here\n", "can't be imported: ModuleNotFoundError: No module named 'nothing_here'"),
    "lacking": ("", "module 'lacking' has no attribute 'Flat'"),
    "stranger": ("class Flat: ...\n", "stranger.Flat is not a transformation: it must be a subclass of kconnect.api.Transf"),
    "crashing": ("import os\nos._exit(3)\n", "The plugin's process ended (exit status 3): crashing.Flat at the stage imp"),
    "constructing": (f"{GOOD}    def __init__(self): raise ValueError('no')\n", "at the stage constructing: ValueError: no"),
    "abstract": (GOOD.replace("apply", "apples"), "abstract.Flat failed at the stage constructing: TypeError: Can't inst"),
    "settings": (GOOD.replace("ConfigDef()", "None"), "settings.Flat.config() must return a ConfigDef that is not null"),
}


@pytest.mark.process
def test_each_class_is_tried(tmp_path: Path) -> None:
    for name, code in {"good": GOOD, **{name: code for name, (code, _) in BAD.items()}}.items():
        PluginPackage(name, "1", {f"{name}.py": code}, {"kconnect.transforms": {name: f"{name}:Flat"}}).install(tmp_path)
    doing: list[str] = []
    # They all have a class called Flat.
    problems = [each for each in doctor.examine([tmp_path], doing.append) if each.check != "names"]
    found = {Path(each.location).name.removesuffix("-1"): (each.severity, each.check, each.message) for each in problems}
    assert sorted(found) == sorted(BAD)
    for name, (_, words) in BAD.items():
        assert found[name][:2] == ("error", "class")
        assert words in found[name][2], name
    assert "Trying good.Flat 1" in doing


def test_what_is_built_in_is_known_to_work() -> None:
    doing: list[str] = []
    assert doctor.examine([], doing.append) == []
    assert doing == ["Reading the installed plugins"]


def test_a_policy_of_java_does_nothing() -> None:
    desc = PluginDesc("a.Policy", "java:a.Policy", "a.Policy", "override_policy", "1", "/plugins/a-1")
    (problem,) = doctor.try_classes(Registry([desc]), [], [desc])
    assert (problem.severity, problem.check) == ("warning", "unused") and "do nothing: a.Policy" in problem.message
    assert problem.remedy == "name one of kconnect's in the worker file"


def test_a_plugin_brings_what_it_has_from_the_worker(tmp_path: Path) -> None:
    jar = tmp_path / "connect-api-4.3.1.jar"
    jar.touch()
    desc = PluginDesc("a.Sink", "java:a.Sink", "a.Sink", "sink_connector", "1", str(tmp_path))
    (problem,) = java_examination.brought([desc])
    assert (problem.severity, problem.check) == ("warning", "shared") and jar.name in problem.message
    assert problem.remedy == f"rm {jar} (kconnect plugin install leaves them out)"


def test_classes_of_java_that_are_there_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("a-1", "b-1", "c-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.jar").touch()
    versions = {"a-1": "1", "b-1": "1", "c-1": "2"}

    def found(places: list[Path]) -> list[scan.Scanned]:
        return [scan.Scanned([scan.JavaPlugin("sink", "a.Sink", versions[place.name])], []) for place in places]

    monkeypatch.setattr(scan, "found", found)
    (problem,) = java_examination.copies([tmp_path])
    assert problem.message == f"a.Sink 1 is in {tmp_path / 'a-1'}, too, which is the one that workers use"
    assert problem.remedy == f"remove one of them, such as {tmp_path / 'b-1'}"
