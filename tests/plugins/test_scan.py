"""What a scan finds in directories that are as they should be, and in those that are not."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kconnect.plugins.registry import Registry
from kconnect.plugins.scan import INSTALLED, Found, scan
from tests.rig.systems.plugin_packages import PluginPackage

FLAT = {"kconnect.transforms": {"Flat": "flat:Flat"}}


def flat(version: str) -> PluginPackage:
    return PluginPackage("flat", version, {"flat.py": "class Flat: ...\n"}, FLAT)


def found_in(plugin_path: Path) -> list[Found]:
    return [each for each in scan([str(plugin_path)])[0] if each.location != INSTALLED]


def reasons(*plugin_path: Path) -> dict[str, str]:
    """What is wrong, by the names of the directories."""
    return {Path(each.location).name: each.reason for each in scan(map(str, plugin_path))[1]}


def test_versions_in_directories_of_their_own(tmp_path: Path) -> None:
    # As KIP-891 has them: in one directory of plugin.path, and in another one.
    for place, version in (("blue", "1.8"), ("blue", "1.9"), ("green", "2.0")):
        flat(version).install(tmp_path / place)
    found, broken = scan([str(tmp_path / "blue"), str(tmp_path / "green")])
    assert [(each.version, each.location) for each in found if each.name == "Flat"] == [
        ("1.8", str(tmp_path / "blue" / "flat-1.8")),
        ("1.9", str(tmp_path / "blue" / "flat-1.9")),
        ("2.0", str(tmp_path / "green" / "flat-2.0")),
    ]
    assert broken == []


def test_what_a_plugin_depends_on_is_not_read(tmp_path: Path) -> None:
    directory = flat("1").install(tmp_path)
    PluginPackage("helper", "2", entry_points={"console_scripts": {"helper": "helper:main"}}).unpack(directory)
    nameless = directory / "nameless-1.dist-info"
    nameless.mkdir()
    (nameless / "METADATA").write_bytes(b"\xff")
    assert [(each.name, each.version) for each in found_in(tmp_path)] == [("Flat", "1")]
    assert reasons(tmp_path) == {}


def test_of_two_copies_the_first_counts_and_the_other_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for directory in ("a", "b"):
        flat("1").unpack(tmp_path / directory)
    with caplog.at_level(logging.INFO, "kconnect.plugins"):
        plugins = [each for each in Registry.scan([str(tmp_path)]).plugins if each.name == "Flat"]
    assert [each.location for each in plugins] == [str(tmp_path / "a")]
    (told,) = caplog.messages
    assert told == (f"The transformation flat.Flat in version 1 of {tmp_path / 'b'} is not used: {tmp_path / 'a'} has the same")


def test_a_link_is_a_plugin_like_any_other(tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "current").symlink_to(flat("1").install(tmp_path / "elsewhere"))
    assert [each.location for each in found_in(plugins)] == [str(plugins / "current")]


def test_a_link_to_a_directory_beside_it_is_that_directory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "current").symlink_to(flat("1").install(tmp_path))
    with caplog.at_level(logging.INFO, "kconnect.plugins"):
        # The link's name is the first in the alphabet; the directory's own counts nevertheless.
        assert [each.location for each in found_in(tmp_path)] == [str(tmp_path / "flat-1")]
    assert caplog.messages == [f"The plugin in {tmp_path / 'current'} is not listed: it is the directory {tmp_path / 'flat-1'}"]


def test_a_directory_of_plugin_path_that_is_named_twice(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    flat("1").install(tmp_path)
    with caplog.at_level(logging.INFO, "kconnect.plugins"):
        found, broken = scan([str(tmp_path), str(tmp_path)])
    assert (len([each for each in found if each.name == "Flat"]), broken, caplog.messages) == (1, [], [])


def test_a_process_that_imports_from_a_plugin_s_directory_finds_it_once(tmp_path: Path) -> None:
    # As a host does once it has entered the environment of its units.
    directory = flat("1").install(tmp_path)
    sys.path.insert(0, str(directory))
    try:
        assert [each.location for each in scan([str(tmp_path)])[0] if each.name == "Flat"] == [str(directory)]
    finally:
        sys.path.remove(str(directory))


def test_two_versions_in_one_directory(tmp_path: Path) -> None:
    # KIP-891 calls it bad, and what comes of it undefined.
    for version in ("1.1", "1.2"):
        flat(version).unpack(tmp_path / "bar")
    PluginPackage("other", "3", {}, {"kconnect.predicates": {"Other": "other:Other"}}).unpack(tmp_path / "bar")
    assert reasons(tmp_path) == {
        "bar": "it has the metadata of flat in the versions 1.1 and 1.2, and kconnect can't know which one its code is, so "
        "none is used. Install each version into a directory of its own"
    }
    assert [each.name for each in found_in(tmp_path)] == ["Other"]


def test_what_has_no_version_is_undefined_and_the_oldest(tmp_path: Path) -> None:
    without(flat("0.1").unpack(tmp_path / "unversioned"), "Version: 0.1\n")
    assert [each.version for each in found_in(tmp_path)] == ["undefined"]
    flat("0").install(tmp_path)
    registry = Registry.scan([str(tmp_path)])
    assert registry.versions("Flat", "transformation") == ["0", "undefined"]
    assert registry.find("Flat", "transformation", "undefined").location == str(tmp_path / "unversioned")


def without(directory: Path, line: str) -> Path:
    (file,) = directory.glob("*.dist-info/METADATA")
    text = file.read_text()
    assert line in text
    file.write_text(text.replace(line, ""))
    return directory


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("flat-1-py3-none-any.whl", b"PK", "it is a wheel, but a plugin is a directory: install it with"),
        ("flat-1.tar.gz", b"", "it is an archive, but a plugin is a directory: install it with"),
        ("flat.py", b"class Flat: ...", "it is a module, but a plugin is a directory with a package's metadata"),
        ("README", b"What is here", None),
        (".DS_Store", b"", None),
    ],
)
def test_a_file_instead_of_a_directory(tmp_path: Path, name: str, content: bytes, reason: str | None) -> None:
    flat("1").install(tmp_path)
    (tmp_path / name).write_bytes(content)
    found = reasons(tmp_path)
    assert found.keys() == ({name} if reason else set())
    assert found.get(name, "").startswith(reason or "")
    assert len(found_in(tmp_path)) == 1


def test_directories_that_hold_no_plugin(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "flat.py").write_text("")
    (tmp_path / "java").mkdir()
    (tmp_path / "java" / "connect-file-4.3.1.jar").write_text("PK")
    (tmp_path / "alone.jar").write_text("")
    PluginPackage("library", "1", {}, {"console_scripts": {"x": "x:y"}}).unpack(tmp_path / "library")
    PluginPackage("typo", "1", {}, {"kconnect.transform": {"Flat": "flat:Flat"}}).unpack(tmp_path / "typo")
    found = reasons(tmp_path)
    remedy = "install the plugin there with kconnect plugin install, or pip install --target"
    nothing = "no distribution in it has entry points in kconnect.connectors, kconnect.transforms, "
    assert found["empty"] == "the directory is empty"
    assert found["code"] == f"it has no metadata of a package (a directory that ends with .dist-info): {remedy}"
    broken = "can't be read (File is not a zip file): download it again"
    assert found["java"] == f"{tmp_path}/java/connect-file-4.3.1.jar {broken}"
    assert found["alone.jar"] == f"{tmp_path}/alone.jar {broken}"
    assert found["library"].startswith(nothing)
    assert found["typo"].startswith(nothing)
    assert len(found) == 6


def test_a_dangling_link(tmp_path: Path) -> None:
    flat("1").install(tmp_path)
    (tmp_path / "current").symlink_to("flat-2")
    (tmp_path / "itself").symlink_to("itself")
    assert reasons(tmp_path) == {
        "current": "it is a link to flat-2, which does not exist",
        "itself": "it can't be read: Too many levels of symbolic links",
    }
    assert len(found_in(tmp_path)) == 1


def test_directories_of_plugin_path_that_are_none(tmp_path: Path) -> None:
    plugin = flat("1").install(tmp_path)
    (tmp_path / "file").write_text("")
    assert reasons(tmp_path / "missing", tmp_path / "file", plugin) == {
        "missing": "the directory of plugin.path can't be read: No such file or directory",
        "file": "the directory of plugin.path can't be read: Not a directory",
        "flat-1": f"this is a plugin itself, but plugin.path names directories that hold plugins: name {tmp_path}",
    }


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("METADATA", b"Metadata-Version: 2.1\n", "its METADATA is missing, can't be read, or has no Name"),
        ("METADATA", None, "its METADATA is missing, can't be read, or has no Name"),
        ("METADATA", b"Name: \xff\n", "it is not UTF-8"),
        ("METADATA", b"Name: flat\nVersion: one two\n", "its version 'one two' is not valid, so no config can ask for it"),
        ("METADATA", b"Name: flat\nVersion: [1,2)\n", "its version '[1,2)' is not valid, so no config can ask for it"),
        ("entry_points.txt", b"[kconnect.transforms]\n\xff = flat:Flat\n", "it is not UTF-8"),
        ("entry_points.txt", b"[kconnect.transforms]\nFlat\n", "its entry_points.txt has a line without name = module:Class"),
    ],
)
def test_broken_metadata(tmp_path: Path, file: str, content: bytes | None, reason: str) -> None:
    info = flat("1").unpack(tmp_path / "broken") / "flat-1.dist-info"
    (info / file).unlink()
    if content is not None:
        (info / file).write_bytes(content)
    flat("2").install(tmp_path)
    assert reasons(tmp_path) == {"broken": f"{info} can't be read: {reason}"}
    assert [each.version for each in found_in(tmp_path)] == ["2"]


def test_one_bad_entry_point_hides_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    entries = {"kconnect.transforms": {"Bad": "no colon", "Good": "good:Good", "Ugly": "a-b:C"}}
    PluginPackage("mixed", "1", {}, entries).unpack(tmp_path / "mixed")
    with caplog.at_level(logging.WARNING):
        found, broken = scan([str(tmp_path)])
    assert [each.name for each in found if each.location != INSTALLED] == ["Good"]
    rule = "in group kconnect.transforms is {}: it must be module:Class"
    assert [each.reason for each in broken] == [
        f"the entry point Bad of mixed {rule.format('no colon')}",
        f"the entry point Ugly of mixed {rule.format('a-b:C')}",
    ]
    assert caplog.messages == [f"Plugins in {tmp_path / 'mixed'}: {each.reason}" for each in broken]


# Root may read everything, so it becomes somebody else, after its imports.
SCAN = """
import os, sys
sys.path[:0] = {path!r}
from kconnect.plugins.scan import scan
scan([])
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
print(scan([{root!r}])[1])
"""


@pytest.fixture
def readable_by_all() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield Path(directory)


@pytest.mark.process
def test_what_may_not_be_read(readable_by_all: Path) -> None:
    root = readable_by_all
    closed = {
        "directory": flat("1").unpack(root / "directory"),
        "entries": flat("2").unpack(root / "entries") / "flat-2.dist-info" / "entry_points.txt",
        "metadata": flat("3").unpack(root / "metadata") / "flat-3.dist-info" / "METADATA",
    }
    for path in closed.values():
        path.chmod(0)
    code = SCAN.format(path=sys.path, root=str(root))
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    finally:
        closed["directory"].chmod(0o755)
    assert "directory', reason=\"the directory can't be read: Permission denied\"" in done.stdout
    assert "its entry_points.txt can't be read: Permission denied" in done.stdout
    assert "its METADATA is missing, can't be read, or has no Name" in done.stdout


def test_a_plugin_in_an_archive_beside_kconnect(tmp_path: Path) -> None:
    # As Spark brings them with spark.submit.pyFiles.
    directory = flat("1").unpack(tmp_path / "flat")
    archive = shutil.make_archive(str(tmp_path / "flat"), "zip", directory)
    sys.path.append(archive)
    try:
        assert [each.location for each in scan([])[0] if each.name == "Flat"] == [INSTALLED]
    finally:
        sys.path.remove(archive)


def test_of_two_beside_kconnect_the_one_that_is_imported_counts(tmp_path: Path) -> None:
    places = [str(flat(version).unpack(tmp_path / version)) for version in ("1", "2")]
    sys.path[:0] = [places[1], os.devnull, str(tmp_path / "missing"), places[0]]
    try:
        assert [each.version for each in scan([])[0] if each.name == "Flat"] == ["2"]
    finally:
        del sys.path[:4]
