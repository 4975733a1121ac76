"""Java plugins out of a Maven repository on this disk: their archives, or what real Ivy resolves."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from kconnect.errors import BadRequestError, ConnectError, NotFoundError
from kconnect.jvm import maven
from kconnect.jvm.maven import Coordinates

POM = """<project><modelVersion>4.0.0</modelVersion>
  <groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version><dependencies>{}</dependencies></project>"""
ACME = Coordinates("org.example", "acme", "1.0")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    monkeypatch.setenv("KCONNECT_MAVEN", root.as_uri())
    return root


def add(root: Path, it: Coordinates, *needs: Coordinates) -> None:
    file = root / f"{it.stem}.pom"
    file.parent.mkdir(parents=True)
    rows = "".join(
        f"<dependency><groupId>{each.group}</groupId><artifactId>{each.artefact}</artifactId>"
        f"<version>{each.version}</version></dependency>"
        for each in needs
    )
    file.write_text(POM.format(*it, rows))
    file.with_suffix(".jar").write_text(str(it))


def silent(doing: str) -> None:
    pass


def test_what_is_a_coordinate() -> None:
    assert maven.coordinates("org.example:acme:1.0") == ACME
    for other in ("acme>=1", "./a:b:c", "https://host:80/x.zip", "acme @ file:///x", "acme", "a: b :c"):
        assert maven.coordinates(other) is None
    for bad in ("org.example:acme", "org.example:acme:1.0:plugin", "org.example::1.0", "org.example:acme:..", "a:-b:c"):
        with pytest.raises(BadRequestError, match="is not a Maven coordinate: write group:artefact:version, such as "):
            maven.coordinates(bad)
    with pytest.raises(BadRequestError, match="it is a part of Kafka Connect, which every worker has"):
        maven.coordinates("org.apache.kafka:connect-json:4.3.1")


@pytest.mark.parametrize("ending", [".tar.gz", ".zip"])
def test_an_archive_is_compared_with_its_checksum(repository: Path, tmp_path: Path, ending: str) -> None:
    add(repository, ACME)
    assert maven.archive(ACME, tmp_path, silent) is None
    file = repository / f"{ACME.stem}-plugin{ending}"
    file.write_bytes(b"content")
    told: list[str] = []
    found = maven.archive(ACME, tmp_path, told.append)
    assert found == tmp_path / f"acme-1.0-plugin{ending}"
    assert found.read_bytes() == b"content"
    assert told == [f"Fetching acme-1.0-plugin{ending}: 0 of 0 MB"]
    checksum = file.with_name(f"{file.name}.sha1")
    checksum.write_text(hashlib.sha1(b"content").hexdigest().upper() + "  name\n")
    assert maven.archive(ACME, tmp_path, silent) == found
    checksum.write_text("0" * 40)
    with pytest.raises(ConnectError, match=r"was damaged on its way: its SHA-1 is .*, and must be 0{40}\. Run this again"):
        maven.archive(ACME, tmp_path, silent)


@pytest.mark.process
def test_jars_come_without_those_of_the_framework_and_what_only_these_need(repository: Path, tmp_path: Path) -> None:
    api, lz4 = Coordinates("org.apache.kafka", "connect-api", "4.3.1"), Coordinates("org.example", "lz4", "2")
    library, binding = Coordinates("org.example", "library", "3"), Coordinates("org.slf4j", "slf4j-simple", "2.0")
    add(repository, ACME, api, library, binding)
    add(repository, api, lz4)
    for each in (lz4, library, binding):
        add(repository, each)
    target = tmp_path / "plugin"
    target.mkdir()
    maven.jars_of(ACME, target, silent)
    assert sorted(file.name for file in target.iterdir()) == ["acme-1.0.jar", "library-3.jar"]


def test_what_is_not_there_says_what_is(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = f"{repository.as_uri()}/"
    with pytest.raises(NotFoundError, match=f"^{root} has no org.example:acme: check the spelling, or name the repository"):
        maven.jars_of(ACME, tmp_path, silent)
    (repository / ACME.folder).mkdir(parents=True)
    versions = "".join(f"<version>{number}.0</version>" for number in (9, 10, 2, 3, 4, 5, 6, 7))
    (repository / ACME.folder / "maven-metadata.xml").write_text(f"<metadata>{versions}</metadata>")
    with pytest.raises(NotFoundError, match=r"has no version 1\.0 of .*; it has 10\.0, 9\.0, 7\.0, .* and older ones$"):
        maven.jars_of(ACME, tmp_path, silent)


def test_a_repository_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("KCONNECT_MAVEN", "/srv/maven")
    with pytest.raises(
        BadRequestError, match=r"KCONNECT_MAVEN is '/srv/maven', .* must begin with https://, http:// or file:///"
    ):
        maven.archive(ACME, tmp_path, silent)
    monkeypatch.setenv("KCONNECT_MAVEN", "http://me:canary-7@127.0.0.1:9/x")
    with pytest.raises(ConnectError, match=r"^http://127\.0\.0\.1:9/x/ can't be reached from here \(.*\): connect to") as told:
        maven.archive(ACME, tmp_path, silent)
    assert "canary-7" not in str(told.value)
