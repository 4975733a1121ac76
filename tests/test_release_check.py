"""What `scripts/release_check.py` finds in distributions; `scripts/release` builds real ones and tries them."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Collection
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).parent.parent / "scripts" / "release_check.py"

pytestmark = pytest.mark.process

METADATA = "kconnect-0.1.0.dist-info"
WHEEL = (
    *("kconnect/__init__.py", "kconnect/py.typed", "kconnect/rest/page.css"),
    *("kconnect/rest/page.html", "kconnect/rest/page.js"),
    *("kconnect/cli/templates/common/pyproject.toml.in", "kconnect/testing/__init__.py", "kconnect/testing/processes.py"),
    *(f"{METADATA}/METADATA", f"{METADATA}/licenses/LICENSE", f"{METADATA}/licenses/NOTICE"),
)
SDIST = (
    *("README.md", "LICENSE", "NOTICE", "CHANGELOG.md", "SECURITY.md", "docs/index.md", "setup.cfg", "pyproject.toml"),
    "kconnect/__init__.py",
)


def check(tmp_path: Path, wheel: Collection[str] = WHEEL, sdist: Collection[str] = SDIST) -> tuple[int, list[str]]:
    made = tmp_path / "kconnect-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for name in wheel:
            archive.writestr(name, "")
    source = tmp_path / "kconnect-0.1.0.tar.gz"
    with tarfile.open(source, "w:gz") as archive_of_source:
        for name in sdist:
            archive_of_source.addfile(tarfile.TarInfo(f"kconnect-0.1.0/{name}"), io.BytesIO())
    done = subprocess.run([sys.executable, str(_SCRIPT), str(made), str(source)], capture_output=True, text=True)
    return done.returncode, done.stderr.splitlines()


def test_the_product_and_nothing_else_passes(tmp_path: Path) -> None:
    assert check(tmp_path) == (0, [])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kconnect/testing/chaos/run.py", "kconnect/testing/chaos is part of the rig"),
        ("kconnect/testing/histories.py", "kconnect/testing/histories is part of the rig"),
        ("tests/rig/chaos/run.py", "tests/rig/chaos/run.py is none of the product's"),
        ("kconnect/core/__pycache__/x.pyc", "kconnect/core/__pycache__/x.pyc is compiled"),
    ],
)
def test_what_does_not_belong_into_a_wheel_is_named(tmp_path: Path, name: str, said: str) -> None:
    status, lines = check(tmp_path, [*WHEEL, name])
    assert status == 1
    assert [line for line in lines if line.startswith(f"release: {said}")], lines


@pytest.mark.parametrize("name", ["kconnect/py.typed", "kconnect/rest/page.js", f"{METADATA}/licenses/LICENSE"])
def test_what_a_wheel_lacks_is_named(tmp_path: Path, name: str) -> None:
    status, (line,) = check(tmp_path, set(WHEEL) - {name})
    assert status == 1 and "is missing" in line


def test_what_an_sdist_lacks_or_has_too_much_is_named(tmp_path: Path) -> None:
    status, lines = check(tmp_path, sdist=[*SDIST[1:], "tests/conftest.py"])
    assert status == 1
    assert lines == ["release: README.md is missing from the sdist", "release: tests/conftest.py is none of the sdist's"]


@pytest.mark.parametrize(
    ("needed", "names", "said"),
    [
        ("kconnect-client==0.1.0", (), ""),
        ("kconnect-client==0.2.0", (), "does not need the kconnect-client of its version"),
        ("kconnect-client", (), "does not need the kconnect-client of its version"),
        ("kconnect-client==0.1.0", ("kconnect/__init__.py",), "kconnect/__init__.py is in the wheel of kconnect, too"),
    ],
)
def test_the_whole_has_nothing_and_needs_the_client(tmp_path: Path, needed: str, names: Collection[str], said: str) -> None:
    whole = tmp_path / "whole.whl"
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr(f"{METADATA}/METADATA", f"Name: kconnect\nVersion: 0.1.0\nRequires-Dist: {needed}\n")
        for name in names:
            archive.writestr(name, "")
    check(tmp_path)
    made = [tmp_path / "kconnect-0.1.0-py3-none-any.whl", tmp_path / "kconnect-0.1.0.tar.gz", whole]
    done = subprocess.run([sys.executable, str(_SCRIPT), *map(str, made)], capture_output=True, text=True)
    assert (done.returncode, said in done.stderr) == (int(bool(said)), True)
