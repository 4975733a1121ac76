"""Which Java is taken, and what is said about one that does not do."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconnect.errors import ConnectError
from kconnect.jvm import java

pytestmark = pytest.mark.process


def fake_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-01' >&2\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(
    ("text", "number"), [("17.0.15", 17), ("1.8.0_392", 8), ("22-ea", 22), ("21", 21)], ids=["17", "8", "22-ea", "21"]
)
def test_versions(tmp_path: Path, text: str, number: int) -> None:
    assert java.version(str(fake_java(tmp_path, text))) == number


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    of_home = fake_java(tmp_path / "home", "17.0.1")
    on_path = fake_java(tmp_path / "path", "21")
    path = str(on_path.parent)
    assert java.checked({"JAVA_HOME": str(tmp_path / "home"), "PATH": path}) == str(of_home)
    assert java.checked({"PATH": path}) == str(on_path)


def test_no_java(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=r"^Java was not found: install Java 17 or newer"):
        java.checked({"PATH": str(tmp_path)})


def test_a_java_home_without_java_is_not_passed_over(tmp_path: Path) -> None:
    fake_java(tmp_path / "path", "17")
    with pytest.raises(ConnectError, match=r"^JAVA_HOME is .*/gone, but .*/gone/bin/java does not exist: point"):
        java.checked({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(tmp_path / "path" / "bin")})


def test_an_old_java_is_named(tmp_path: Path) -> None:
    program = fake_java(tmp_path, "11.0.2")
    with pytest.raises(ConnectError, match=f"^{program} is Java 11, but Java 17 or newer is needed"):
        java.checked({"JAVA_HOME": str(tmp_path)})


def test_what_is_no_java(tmp_path: Path) -> None:
    program = fake_java(tmp_path, "17")
    program.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(ConnectError, match="does not print its version"):
        java.checked({"JAVA_HOME": str(tmp_path)})
