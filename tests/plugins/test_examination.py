"""What the files of a plugin's directory tell of why it would not work."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from pathlib import Path

import orjson
import pytest

from kconnect import __version__
from kconnect.plugins import examination, installation
from kconnect.plugins.examination import ERROR, WARNING, Problem
from kconnect.plugins.registry import Registry
from tests.rig.systems.plugin_packages import PluginPackage

GROUPS = {"kconnect.transforms": {"Flat": "flat:Flat"}}
ANOTHER_PYTHON = "cpython-39-x86_64-linux-gnu"


def flat(version: str = "1.0", *requires: str, **modules: str) -> PluginPackage:
    files = {f"{name}.py": text for name, text in {"flat": "", **modules}.items()}
    return PluginPackage("flat", version, files, GROUPS, requires)


def told(problems: Iterable[Problem]) -> list[tuple[str, str, str]]:
    return [(each.severity, each.check, each.message) for each in problems]


def of(place: Path) -> list[tuple[str, str, str]]:
    return told(examination.directory(place, examination.beside_kconnect()))


def test_a_plugin_that_is_as_it_should_be(tmp_path: Path) -> None:
    of_others = ('tomli; python_version < "3"', 'nope; extra == "x"')
    place = flat("1.0", "orjson", "kconnect", "lib[fast]>=2", *of_others).install(tmp_path)
    PluginPackage("lib", "2.0", {"lib.py": ""}, requires=('orjson; extra == "fast"',)).unpack(place)
    assert of(place) == []


def test_what_it_needs_and_has_not(tmp_path: Path) -> None:
    requires = ("nowhere-here>=1", f"orjson>{orjson.__version__}", "lib[fast]>=2", "kconnect>=99", "not a requirement")
    place = flat("1.0", *requires).install(tmp_path)
    PluginPackage("lib", "2.0", requires=('also-not-here; extra == "fast"',)).unpack(place)
    missing = [message for severity, check, message in of(place) if (severity, check) == (ERROR, "dependency")]
    assert missing == [
        "flat 1.0 needs nowhere-here>=1, but it is not there",
        f"flat 1.0 needs orjson >{orjson.__version__}, but orjson {orjson.__version__} is there",
        f"flat 1.0 needs kconnect >=99, but kconnect {__version__} is there",
        "lib 2.0 needs also-not-here, but it is not there",
    ]
    unread = [message for severity, check, message in of(place) if (severity, check) == (WARNING, "metadata")]
    assert len(unread) == 1
    assert "flat 1.0 requires 'not a requirement', which can't be read" in unread[0]


def test_its_own_version_counts_before_kconnect_s(tmp_path: Path) -> None:
    place = flat("1.0", f"orjson<{orjson.__version__}").install(tmp_path)
    assert [check for _, check, _ in of(place)] == ["dependency"]
    PluginPackage("orjson", "3.0").unpack(place)
    assert of(place) == []


def test_two_versions_of_what_it_needs(tmp_path: Path) -> None:
    place = flat("1.0").install(tmp_path)
    for version in ("1.0", "1.1"):
        PluginPackage("lib", version).unpack(place)
    ((severity, check, message),) = of(place)
    assert (severity, check) == (ERROR, "two-versions")
    assert message.startswith("it has lib in the versions 1.")
    assert message.endswith(", whose files are mixed")


@pytest.mark.parametrize("name", ["kconnect", "pyspark", "py4j"])
def test_a_copy_of_what_is_kconnect_s(tmp_path: Path, name: str) -> None:
    place = flat().install(tmp_path)
    (place / name).mkdir()
    (place / name / "__init__.py").touch()
    ((severity, check, message),) = of(place)
    assert (severity, check) == (WARNING, "shared")
    assert f"it brings its own {name}, which is never used" in message


def test_modules_called_as_python_s_own(tmp_path: Path) -> None:
    place = flat(json="", statistics="").install(tmp_path)
    assert told(examination.directory(place, {})) == [
        (
            WARNING,
            "shared",
            "it brings modules with the names of Python's own, which are used instead: json, statistics",
        )
    ]


def test_extensions_for_another_python(tmp_path: Path) -> None:
    place = flat().install(tmp_path)
    (place / "fast").mkdir()
    (place / "fast" / f"core.{ANOTHER_PYTHON}.so").write_bytes(b"")
    (place / "fast" / "other.abi3.so").write_bytes(b"")
    (place / "fast" / "libany.so.1").write_bytes(b"")
    ((severity, check, message),) = of(place)
    assert (severity, check) == (ERROR, "extension")
    assert message.startswith(f"fast/core.{ANOTHER_PYTHON}.so was made for another Python or platform; this is cpython 3.")
    # A tree for several Pythons.
    (place / "fast" / "core.abi3.so").write_bytes(b"")
    assert of(place) == []


def test_wheels_for_another_python(tmp_path: Path) -> None:
    place = flat().install(tmp_path)
    PluginPackage("fast", "1").unpack(place)
    (place / "fast-1.dist-info" / "WHEEL").write_text("Tag: cp39-cp39-manylinux_2_17_x86_64\nTag: cp39-cp39-win32\n")
    ((severity, check, message),) = of(place)
    assert (severity, check) == (ERROR, "extension")
    assert message.startswith("fast 1 was made for cp39-cp39-manylinux_2_17_x86_64, cp39-cp39-win32, but this is cpython 3.")


def test_another_python_than_it_asks_for(tmp_path: Path) -> None:
    place = flat().install(tmp_path)
    with open(place / "flat-1.0.dist-info" / "METADATA", "a") as file:
        file.write("Requires-Python: >=3.99\n")
    ((severity, check, message),) = of(place)
    assert (severity, check) == (ERROR, "python")
    assert message.startswith("flat 1.0 needs Python >=3.99, but this is 3.")


def test_copies_of_one_version(tmp_path: Path) -> None:
    first = flat().install(tmp_path / "a")
    second = flat().install(tmp_path / "b")
    flat("1.1").install(tmp_path / "b")
    ((severity, check, message),) = told(examination.copies([tmp_path / "a", tmp_path / "b"]))
    assert (severity, check, message) == (WARNING, "copies", f"flat 1.0 is in {first}, too, which is the one that workers use")
    assert [each.location for each in examination.copies([tmp_path / "b", tmp_path / "a"])] == [str(first)]
    assert second.is_dir()


def test_what_a_scan_can_t_use_and_names_that_clash(tmp_path: Path) -> None:
    flat().install(tmp_path)
    PluginPackage("other", "1", {"other.py": ""}, {"kconnect.transforms": {"Flat": "other:Flat"}}).install(tmp_path)
    PluginPackage("bad", "1", {}, {"kconnect.transforms": {"Bad": "bad"}}).install(tmp_path)
    flat("1.1").wheel(tmp_path)
    found = [(Path(each.location).name, each.check, each.remedy) for each in _of_registry(tmp_path, tmp_path / "missing")]
    assert found == [
        ("bad-1", "metadata", "fix the plugin, or ask its author"),
        ("flat-1.1-py3-none-any.whl", "metadata", ""),
        ("missing", "metadata", "create the directory, or remove it from plugin.path"),
        ("flat-1.0", "names", "use their full names in configs"),
    ]
    clash = _of_registry(tmp_path)[-1]
    assert clash.message == "the transformations flat.Flat and other.Flat have the same short name Flat"


def _of_registry(*plugin_path: Path) -> list[Problem]:
    return list(examination.registry(Registry.scan([str(root) for root in plugin_path])))


def test_differences_tell_who_else_has_what(tmp_path: Path) -> None:
    place = flat().install(tmp_path)
    another = flat("2.0").install(tmp_path)
    for directory, version in ((place, "1"), (another, "2")):
        PluginPackage("lib", version).unpack(directory)
        PluginPackage("same", "1").unpack(directory)
    PluginPackage("orjson", "3.0").unpack(place)
    found = examination.differences(place, examination.beside_kconnect(), [tmp_path])
    assert found == {"lib": {"flat-2.0": "2"}, "orjson": {"kconnect": orjson.__version__}}


def test_which_packages_have_extensions(tmp_path: Path) -> None:
    place = PluginPackage("fast", "1", {"fast/core.abi3.so": b"", "fast/__init__.py": ""}).install(tmp_path)
    flat().unpack(place)
    found = {name: examination.has_extensions(each) for name, each in examination.inside(place).items()}
    assert found == {"fast": True, "flat": False}


def test_what_a_killed_installation_left(tmp_path: Path) -> None:
    left = tmp_path / f"{installation._STAGE}{socket.gethostname()}-{2**22 + 1}-00ff"
    left.mkdir()
    (problem,) = examination.path(tmp_path)
    assert (problem.severity, problem.check, problem.location) == (WARNING, "unfinished", str(left))
    assert problem.remedy == f"rm -r {left}, or let the next installation remove it"
