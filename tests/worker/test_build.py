"""Of what code a worker says that it is."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import kconnect
from kconnect.worker import build

OWN = f"kconnect-{kconnect.__version__}"


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where kconnect is said to be, installed from nowhere that is known."""
    monkeypatch.delenv("KCONNECT_COMMIT", raising=False)
    (tmp_path / "kconnect").mkdir()
    monkeypatch.setattr(kconnect, "__file__", str(tmp_path / "kconnect" / "__init__.py"))
    installed(monkeypatch, None)
    return tmp_path


def installed(monkeypatch: pytest.MonkeyPatch, direct_url: dict[str, Any] | None) -> None:
    class Installed:
        def read_text(self, name: str) -> str | None:
            return None if direct_url is None or name != "direct_url.json" else json.dumps(direct_url)

    monkeypatch.setattr(metadata, "distribution", lambda name: Installed())


def test_nothing_is_known(package: Path) -> None:
    assert build.commit() == OWN


def test_the_client_alone_is_a_package_too(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = metadata.distribution

    def client_alone(name: str) -> metadata.Distribution:
        if name == "kconnect":
            raise metadata.PackageNotFoundError(name)
        return both(name)

    assert build.package() == "kconnect"
    monkeypatch.setattr(metadata, "distribution", client_alone)
    assert build.package() == "kconnect-client"
    assert build.commit() == OWN


def test_an_image_says_it(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCONNECT_COMMIT", "c0ffee")
    assert build.commit() == f"{OWN}-c0ffee"


def test_installed_from_a_repository(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, {"url": "https://acme.com/k.git", "vcs_info": {"vcs": "git", "commit_id": "0123456789abcdef"}})
    assert build.commit() == f"{OWN}-0123456789ab"
    installed(monkeypatch, {"url": "file:///src/kconnect", "dir_info": {"editable": True}})
    assert build.commit() == OWN


@pytest.mark.process
@pytest.mark.skipif(shutil.which("git") is None, reason="a checkout needs git")
def test_a_checkout(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*command: str) -> str:
        identity = ("-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", "-C", str(package), *identity, *command], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init")
    assert build.commit() == OWN, "no commit yet"
    (package / "file").write_text("a")
    git("add", ".")
    git("commit", "-m", "first")
    git("tag", "-a", "v9", "-m", "no sha")
    assert build.commit() == f"{OWN}-{git('rev-parse', '--short=12', 'HEAD')}"
    (package / "file").write_text("b")
    assert build.commit().endswith("-dirty")
    # An environment within somebody else's repository.
    monkeypatch.setattr(kconnect, "__file__", str(package / ".venv" / "kconnect" / "__init__.py"))
    assert build.commit() == OWN
