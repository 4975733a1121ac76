"""Fetching Java libraries: real Ivy against a small Maven repository on this machine. Needs Java, no network."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kconnect.errors import ConnectError
from kconnect.jvm import jars

pytestmark = pytest.mark.process

POM = """<project><modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId><artifactId>{name}</artifactId><version>1.0</version>
  <dependencies>{dependencies}</dependencies></project>"""
NEEDS = """
    <dependency><groupId>org.example</groupId><artifactId>{}</artifactId><version>1.0</version><scope>{}</scope></dependency>"""


class Repository:
    """A Maven repository over HTTP that counts what is asked of it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.requests: list[str] = []
        repository = self

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                if self.command == "GET":
                    repository.requests.append(self.path)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(directory)))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def add(self, name: str, *dependencies: tuple[str, str]) -> None:
        place = self.directory / "org" / "example" / name / "1.0"
        place.mkdir(parents=True)
        needs = "".join(NEEDS.format(*dependency) for dependency in dependencies)
        (place / f"{name}-1.0.pom").write_text(POM.format(name=name, dependencies=needs))
        jar = place / f"{name}-1.0.jar"
        jar.write_bytes(b"PK" + name.encode())
        jar.with_name(f"{jar.name}.sha1").write_text(hashlib.sha1(jar.read_bytes()).hexdigest())

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    made = Repository(tmp_path / "repository")
    made.add("tool", ("library", "runtime"), ("junit", "test"))
    made.add("library")
    monkeypatch.setenv("KCONNECT_MAVEN", made.url)
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    yield made
    made.close()


TOOL = ["org.example:tool:1.0"]


def test_fetches_what_is_needed_at_run_time_once(repository: Repository, tmp_path: Path) -> None:
    told: list[tuple[int, int, str]] = []
    found = jars.resolve("tool", TOOL, lambda *step: told.append(step), tmp_path / "cache")
    assert found == tmp_path / "cache" / "jars" / "tool"
    assert sorted(jar.name for jar in found.glob("*.jar")) == ["library-1.0.jar", "tool-1.0.jar"]
    assert (found / "tool-1.0.jar").read_bytes() == b"PKtool"
    assert told[0] == (0, 0, "finding what is needed")
    assert told[-1][:2] == (2, 2)
    assert jars.class_path(found) == f"{found}/*"
    # No network from now on.
    repository.close()
    assert jars.resolve("tool", TOOL, cache=tmp_path / "cache") == found


@pytest.mark.parametrize("harm", ["lost", *(pytest.param(each, marks=pytest.mark.long) for each in ("cut off", "interrupted"))])
def test_an_incomplete_directory_is_repaired(repository: Repository, tmp_path: Path, harm: str) -> None:
    found = jars.resolve("tool", TOOL, cache=tmp_path / "cache")
    jar = found / "library-1.0.jar"
    if harm == "lost":
        jar.unlink()
    elif harm == "cut off":
        jar.write_bytes(b"P")
    else:
        (found / ".done").unlink()
    assert not jars.is_complete(found, TOOL)
    jars.resolve("tool", TOOL, cache=tmp_path / "cache")
    assert jar.read_bytes() == b"PKlibrary"


@pytest.mark.parametrize("checksum", [None, *(pytest.param(each, marks=pytest.mark.long) for each in ("", "no checksum"))])
def test_a_jar_without_a_checksum_is_not_taken_over_plain_http(
    repository: Repository, tmp_path: Path, checksum: str | None
) -> None:
    sha1 = repository.directory / "org/example/library/1.0/library-1.0.jar.sha1"
    if checksum is None:
        sha1.unlink()
    else:
        sha1.write_text(checksum)
    with pytest.raises(ConnectError):
        jars.resolve("tool", TOOL, cache=tmp_path / "cache")
    assert not list((tmp_path / "cache").glob("jars/*"))


@pytest.mark.long
def test_other_artefacts_under_the_same_name_are_fetched(repository: Repository, tmp_path: Path) -> None:
    jars.resolve("tool", ["org.example:library:1.0"], cache=tmp_path / "cache")
    found = jars.resolve("tool", TOOL, cache=tmp_path / "cache")
    assert (found / "tool-1.0.jar").exists()


@pytest.mark.long
def test_of_callers_at_the_same_time_one_fetches(repository: Repository, tmp_path: Path) -> None:
    found: list[Path] = []
    callers = [
        threading.Thread(target=lambda: found.append(jars.resolve("tool", TOOL, cache=tmp_path / "cache"))) for _ in range(3)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert found == [tmp_path / "cache" / "jars" / "tool"] * 3
    assert repository.requests.count("/org/example/tool/1.0/tool-1.0.jar") == 1


def test_what_does_not_exist_is_named(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(ConnectError, match=r"has no org\.example:absent:2\.0; details are in .*/absent\.log$"):
        jars.resolve("absent", ["org.example:absent:2.0"], cache=tmp_path / "cache")
    assert (tmp_path / "cache" / "absent.log").exists()


def test_no_network(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCONNECT_MAVEN", "http://maven.invalid/")
    with pytest.raises(ConnectError, match=r"http://maven\.invalid/ can't be reached from here\. Connect to the network"):
        jars.resolve("tool", TOOL, cache=tmp_path / "cache")


def test_what_is_no_coordinate(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=r"^'kafka' is not a Maven coordinate: write group:artefact:version$"):
        jars.resolve("tool", ["kafka"], cache=tmp_path / "cache")


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConnectError, match=r"^The cache .*/file can't be used .*: set KCONNECT_CACHE"):
        jars.resolve("tool", TOOL, cache=tmp_path / "file")


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert jars.cache_dir({"KCONNECT_CACHE": "/own", "XDG_CACHE_HOME": "/shared"}) == Path("/own")
    assert jars.cache_dir({"XDG_CACHE_HOME": "/shared"}) == Path("/shared/kconnect")
    monkeypatch.setenv("HOME", "/home/me")
    assert jars.cache_dir({}) == Path("/home/me/.cache/kconnect")


def test_proxies_of_the_environment_go_to_java() -> None:
    environ = {"https_proxy": "http://user@proxy.example:3128/", "HTTP_PROXY": "other.example"}
    assert jars._proxies(environ) == [
        "-Dhttp.proxyHost=other.example",
        "-Dhttp.proxyPort=80",
        "-Dhttps.proxyHost=proxy.example",
        "-Dhttps.proxyPort=3128",
    ]
