"""What stands beside a release, by `scripts/release_parts.py`; `scripts/release` makes a real one."""

from __future__ import annotations

import configparser
import importlib.util
import io
import os
import sys
import tarfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

_SCRIPT = Path(__file__).parent.parent / "scripts" / "release_parts.py"

CHANGELOG = """# Changelog

Words.

## [Unreleased]

## [0.2.0] - 2026-12-01

### Security

- A hole.

### Added

- A feature.

### Breaking, for early users

- A break.

## [0.1.0] - 2026-11-23

### Fixed

- A fault.
"""


@pytest.fixture(scope="module")
def parts() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release_parts", _SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_who_upgrades_reads_what_may_concern_him(parts: ModuleType) -> None:
    text = parts.notes(CHANGELOG, "0.2.0")
    assert text.startswith("# Upgrading to kconnect 0.2.0 (2026-12-01)\n")
    assert "## Security\n\n- A hole." in text and "## Breaking, for early users\n\n- A break." in text
    assert "A feature" not in text and "A fault" not in text
    assert "There is nothing to look at." in parts.notes(CHANGELOG, "0.1.0")
    with pytest.raises(KeyError):
        parts.notes(CHANGELOG, "0.3.0")


def test_a_tag_is_of_the_head_and_only_if_nothing_stands_above_it(parts: ModuleType) -> None:
    assert parts.newest(CHANGELOG) == "0.2.0"
    assert parts.newest(CHANGELOG.replace("## [Unreleased]\n", "## [Unreleased]\n\n- More.\n")) is None
    assert parts.newest(CHANGELOG.replace(" - 2026-12-01", "")) is None
    assert parts.newest("# Changelog\n") is None


@pytest.mark.parametrize(
    ("licences", "problem"),
    [
        ([{"license": {"id": "Apache-2.0"}}], None),
        ([{"license": {"name": "License :: OSI Approved :: MIT License"}}], None),
        ([{"expression": "BSD-3-Clause AND ISC"}], None),
        ([{"license": {"name": "Proprietary"}}, {"license": {"id": "MIT"}}], None),
        ([{"expression": "MPL-2.0 AND (Apache-2.0 OR GPL-3.0-only)"}], None),
        ([{"expression": "MIT AND GPL-3.0-only"}], "is under MIT AND GPL-3.0-only"),
        ([{"license": {"id": "GPL-3.0-only"}}], "is under GPL-3.0-only"),
        ([{"license": {"name": "Commit to nothing"}}], "is under Commit to nothing"),
        ([], "names no licence"),
    ],
)
def test_licences_that_nobody_has_agreed_to_are_found(parts: ModuleType, licences: list[Any], problem: str | None) -> None:
    found = list(parts.licence_problems({"components": [{"name": "a", "version": "1", "licenses": licences}]}))
    assert [problem in text for text in found] == ([] if problem is None else [True])


def test_an_sdist_has_the_same_bytes_whoever_packs_it(parts: ModuleType, tmp_path: Path) -> None:
    def packed(name: str, order: list[str], seconds: int, mode: int) -> bytes:
        path = tmp_path / name
        with tarfile.open(path, "w:gz") as archive:
            for file in order:
                member = tarfile.TarInfo(f"kconnect-1/{file}")
                member.size, member.mtime, member.mode, member.uid, member.uname = len(file), seconds, mode, seconds, "ann"
                archive.addfile(member, io.BytesIO(file.encode()))
        before = path.read_bytes()
        parts.again(path, 1_700_000_000)
        assert path.read_bytes() != before
        return path.read_bytes()

    first, second = packed("a.tar.gz", ["b", "a"], 5, 0o600), packed("other.tar.gz", ["a", "b"], 7, 0o644)
    assert first == second
    with tarfile.open(tmp_path / "a.tar.gz") as archive:
        assert [(each.name, each.mode, each.mtime) for each in archive] == [
            ("kconnect-1/a", 0o644, 1_700_000_000),
            ("kconnect-1/b", 0o644, 1_700_000_000),
        ]
        assert archive.extractfile("kconnect-1/b").read() == b"b"  # type: ignore[union-attr]


def test_wrong_use_says_how_it_is_used(parts: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert parts.main(["nothing"]) == 2
    assert "release_parts.py notes CHANGELOG VERSION" in capsys.readouterr().err
    assert os.access(_SCRIPT.parent / "release", os.X_OK) and sys.version_info >= (3, 10)


SETTINGS = (Path(__file__).parent.parent / "setup.cfg").read_text("utf-8")


def read(settings: str) -> configparser.ConfigParser:
    config = configparser.ConfigParser(interpolation=None)
    config.read_string(settings)
    return config


def values(settings: str, section: str, key: str) -> set[str]:
    return set(read(settings)[section][key].split("\n")) - {""}


def test_the_client_has_all_code_and_needs_nothing_of_workers(parts: ModuleType) -> None:
    client = parts.of_client(SETTINGS)
    needed, everything = values(client, "options", "install_requires"), values(SETTINGS, "options", "install_requires")
    assert read(client)["metadata"]["name"] == "kconnect-client"
    assert {parts._name(each) for each in everything - needed} == {"JPype1", "pyspark", "starlette", "uvicorn"}
    assert needed < everything
    for section in ("options.packages.find", "options.package_data", "options.entry_points"):
        assert dict(read(client)[section]) == dict(read(SETTINGS)[section])
    assert "test" not in read(client)["options.extras_require"] and "sql" in read(client)["options.extras_require"]


def test_the_whole_needs_the_client_of_its_version_and_the_rest(parts: ModuleType) -> None:
    whole = parts.of_whole(SETTINGS)
    needed = values(whole, "options", "install_requires")
    version = read(SETTINGS)["metadata"]["version"]
    assert {parts._name(each) for each in needed} == {"kconnect-client", "JPype1", "pyspark", "starlette", "uvicorn"}
    assert f"kconnect-client=={version}" in needed
    assert read(whole)["options"]["packages"] == ""
    assert not {"options.packages.find", "options.package_data", "options.entry_points"} & set(read(whole).sections())
    extras = dict(read(SETTINGS)["options.extras_require"])
    del extras["test"]
    assert dict(read(whole)["options.extras_require"]) == extras


def test_what_is_left_out_of_the_client_must_be_needed(parts: ModuleType) -> None:
    with pytest.raises(ValueError, match="names what install_requires has not"):
        parts.of_client(SETTINGS.replace("    JPype1\n", "    Jpype0\n", 1))


def test_a_bill_of_materials_says_nothing_of_the_machine_that_made_it(parts: ModuleType) -> None:
    def one(name: str, *urls: str) -> dict[str, Any]:
        return {"bom-ref": f"{name}==1", "name": name, "externalReferences": [{"url": url} for url in urls]}

    found = parts.of_no_machine(
        {
            "version": 1,
            "components": [one("kconnect", "file:///home/me/dist/k.whl", "https://k.dev"), one("click", "file:///c.whl")],
        }
    )
    assert found["components"] == [one("kconnect", "https://k.dev"), {"bom-ref": "click==1", "name": "click"}]
    assert found["version"] == 1
