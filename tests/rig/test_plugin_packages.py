"""That what the builder makes is what pip makes and reads."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from kconnect.plugins.registry import Registry
from tests.rig.systems.plugin_packages import PluginPackage

FLAT = PluginPackage(
    "Flat.Things",
    "1.10",
    {"flat/__init__.py": "class Flat: ...\n", "flat/data.bin": b"\x00\xff"},
    {"kconnect.transforms": {"Flat": "flat:Flat"}, "kconnect.predicates": {"IsFlat": "flat:Flat"}},
    requires=("xxhash>=3",),
)


def test_a_directory_of_plugin_path(tmp_path: Path) -> None:
    directory = FLAT.install(tmp_path)
    assert directory == tmp_path / "Flat.Things-1.10"
    (found,) = metadata.distributions(path=[str(directory)])
    assert (found.name, found.version, found.requires) == ("Flat.Things", "1.10", ["xxhash>=3"])
    assert [(entry.group, entry.name, entry.value) for entry in found.entry_points] == [
        ("kconnect.transforms", "Flat", "flat:Flat"),
        ("kconnect.predicates", "IsFlat", "flat:Flat"),
    ]
    # Every file is in RECORD, with its size.
    files = {str(file): file.size for file in found.files or ()}
    there = {str(path.relative_to(directory)): path.stat().st_size for path in directory.rglob("*") if path.is_file()}
    record = next(name for name in there if name.endswith("RECORD"))
    assert files == {**there, record: None}


def test_a_worker_finds_it(tmp_path: Path) -> None:
    FLAT.install(tmp_path)
    found = Registry.scan([str(tmp_path)]).find("Flat", "transformation")
    assert (found.class_name, found.version) == ("flat.Flat", "1.10")


@pytest.mark.process
def test_pip_installs_the_wheel_as_the_same_files(tmp_path: Path) -> None:
    wheel = FLAT.wheel(tmp_path / "wheels")
    pip = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--no-compile", "--quiet"]
    subprocess.run([*pip, "--target", str(tmp_path / "theirs"), str(wheel)], check=True, timeout=120)
    ours, theirs = contents(FLAT.unpack(tmp_path / "ours")), contents(tmp_path / "theirs")
    # What pip adds says who wanted it and where the wheel lay, in files of their own and their lines in RECORD.
    assert {path.name for path in theirs.keys() - ours.keys()} <= {"direct_url.json", "REQUESTED"}
    assert {path for path in ours if ours[path] != theirs[path]} == {Path("flat_things-1.10.dist-info/RECORD")}


def contents(directory: Path) -> dict[Path, bytes]:
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
