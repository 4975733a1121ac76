"""
`kconnect plugin install`, `list`, `doctor` and `remove` of plugins for Java, with real JVMs.

They are made of Connect's own file connectors, whose jar the tests have; one test asks Maven Central.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kconnect import CONNECT_VERSION
from kconnect.cli import main as cli
from kconnect.core.state.records import TargetState
from kconnect.jvm import jars
from kconnect.plugins import installation
from tests.cli.calls import serving
from tests.rest.herder import MemoryHerder
from tests.support import wait_until

pytestmark = [pytest.mark.process, pytest.mark.timeout(900)]

SOURCE, SINK = (f"org.apache.kafka.connect.file.FileStream{kind}Connector" for kind in ("Source", "Sink"))
NEWER = 99


@pytest.fixture(scope="module")
def file_jar() -> Path:
    return jars.connect() / f"connect-file-{CONNECT_VERSION}.jar"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONNECT_PLUGIN_PATH", "KCONNECT_URL", "KCONNECT_MAVEN"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "plugins"


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(["plugin", *map(str, arguments)])
    return int(str(ended.value.code))


def children(path: Path) -> list[str]:
    return sorted(child.name for child in path.iterdir()) if path.exists() else []


def changed(jar: Path, target: Path, change: Callable[[str, bytes], bytes]) -> Path:
    """A copy of a jar in which each class is another."""
    with zipfile.ZipFile(jar) as there, zipfile.ZipFile(target, "w") as made:
        for name in there.namelist():
            content = there.read(name)
            made.writestr(name, change(name, content) if name.endswith(".class") else content)
    return target


def hub_archive(file_jar: Path, directory: Path, version: str) -> Path:
    """As Confluent Hub packs them."""
    archive = directory / f"acme-files-{version}.zip"
    top = f"acme-files-{version}"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(
            f"{top}/manifest.json", json.dumps({"name": "files", "version": version, "owner": {"username": "acme"}})
        )
        packed.write(file_jar, f"{top}/lib/files.jar")
        packed.write(jars.connect() / f"connect-api-{CONNECT_VERSION}.jar", f"{top}/lib/connect-api-{CONNECT_VERSION}.jar")
        packed.writestr(f"{top}/doc/README.md", "")
        packed.writestr(".DS_Store", "")
    return archive


@pytest.mark.long
def test_an_archive_of_a_vendor_and_away_again(
    file_jar: Path, path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = hub_archive(file_jar, tmp_path, "1.2")
    assert run("install", archive, "-p", path, "--dry-run") == 0
    listed = [
        f"  sink  {SINK} {CONNECT_VERSION}",
        f"  source  {SOURCE} {CONNECT_VERSION}",
        "  needs Java 17 or newer",
        "  brings files.jar",
        f"  leaves out connect-api-{CONNECT_VERSION}.jar, which plugins have from the worker",
    ]
    assert capsys.readouterr().out.splitlines() == [f"Would install files 1.2 in {path / 'files-1.2'}", *listed]
    assert children(path) == []

    assert run("install", archive, "-p", path) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"Installed files 1.2 in {path / 'files-1.2'}",
        *listed,
        "Workers read plugin.path when they start: `kconnect plugin reload` makes running workers read it again.",
    ]
    assert children(path) == ["files-1.2"]
    assert children(path / "files-1.2") == ["doc", "lib", "manifest.json"]
    assert run("install", archive, "-p", path) == 0
    assert capsys.readouterr().out == f"{path / 'files-1.2'} has files 1.2 already (--force installs it again)\n"
    (path / "files-1.2" / "lib" / "files.jar").unlink()
    assert run("install", archive, "-p", path, "--force") == 0
    assert (path / "files-1.2" / "lib" / "files.jar").exists()
    capsys.readouterr()

    assert run("list", "-p", path, "--kind", "connector", "-o", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["broken"] == []
    assert [row for row in found["plugins"] if row["location"] != "installed"] == [
        {
            "class": name,
            "kind": kind,
            "version": CONNECT_VERSION,
            "location": str(path / "files-1.2"),
            "java": 17,
        }
        for name, kind in ((SINK, "sink"), (SOURCE, "source"))
    ]
    assert run("list", "-p", path, "--kind", "sink", "-o", "wide") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["CLASS", "KIND", "VERSION", "LOCATION", "JAVA"],
        [SINK, "sink", CONNECT_VERSION, str(path / "files-1.2"), "17"],
    ]

    assert run("install", hub_archive(file_jar, tmp_path, "1.10"), "-p", path, "--upgrade") == 0
    assert f"Removed {path / 'files-1.2'}" in capsys.readouterr().out.splitlines()
    assert children(path) == ["files-1.10"]
    assert run("remove", "files", "1.2", "-p", path, "--yes") == 4
    assert "There is no version 1.2 of files; installed: 1.10" in capsys.readouterr().err
    assert run("remove", "files", "-p", path, "--yes") == 0
    assert children(path) == []


@pytest.mark.long
def test_other_things_that_people_have(file_jar: Path, path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A jar, a folder, and an archive whose name tells no version; the doctor sees that they are the same."""
    folder = tmp_path / "downloads" / "a-folder"
    folder.mkdir(parents=True)
    (folder / "files.jar").write_bytes(file_jar.read_bytes())
    with tarfile.open(tmp_path / "no_version-plugin.tar.gz", "w:gz") as packed:
        packed.add(file_jar, "files.jar")
    assert run("install", file_jar, "-p", path) == 0
    assert run("install", folder, "-p", path, "--no-check") == 0
    assert run("install", tmp_path / "no_version-plugin.tar.gz", "-p", path) == 0
    first = path / f"a-folder-{CONNECT_VERSION}"
    assert f"  {first} has some of these in the same version, and that is the one that workers use" in capsys.readouterr().out
    expected = [f"a-folder-{CONNECT_VERSION}", f"connect-file-{CONNECT_VERSION}", f"no_version-{CONNECT_VERSION}"]
    assert children(path) == expected
    api = f"connect-api-{CONNECT_VERSION}.jar"
    (path / expected[0] / api).write_bytes((jars.connect() / api).read_bytes())
    # As Connect takes it, too.
    (path / "alone-1.0.jar").write_bytes(file_jar.read_bytes())

    assert run("doctor", "-p", path, "-o", "json") == 0
    found = json.loads(capsys.readouterr().out)
    copies = {each["location"]: each for each in found["problems"] if each["check"] == "copies"}
    assert sorted(copies) == [str(path / name) for name in ("alone-1.0.jar", *expected[1:])]
    told = copies[str(path / "alone-1.0.jar")]["message"]
    assert told == f"{SINK} {CONNECT_VERSION} and 1 more are in {first}, too, which is the one that workers use"
    (shared,) = (each for each in found["problems"] if each["check"] == "shared")
    assert (shared["location"], shared["remedy"].split()[:2]) == (str(first), ["rm", str(first / api)])
    assert found["java"] == {str(first): 17}
    assert run("remove", "alone", "-p", path, "--yes") == 0
    assert children(path) == expected


@pytest.mark.long
def test_what_is_no_plugin_says_why(
    file_jar: Path, path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    changed(file_jar, tmp_path / "new-1.jar", lambda _, content: content[:6] + (NEWER + 44).to_bytes(2, "big") + content[8:])
    names = (b"connect/source/SourceConnector", b"connect/source/AbsentConnector")
    changed(file_jar, tmp_path / "absent-1.jar", lambda name, content: content.replace(*names).replace(b"Sink", b"Sonk"))
    (tmp_path / "library-1.jar").write_bytes((jars.connect() / "lz4-java-1.10.2.jar").read_bytes())
    (tmp_path / "broken-1.jar").write_bytes(file_jar.read_bytes()[:1000])
    (tmp_path / "page-1.zip").write_text("<html>")
    with zipfile.ZipFile(tmp_path / "sources-1.zip", "w") as packed:
        packed.writestr("acme/pom.xml", "")
    for name, member in (("evil-1.zip", "../x.jar"), ("odd.zip", "acme/x.jar")):
        with zipfile.ZipFile(tmp_path / name, "w") as packed:
            packed.writestr(member, "")
    for arguments, status, words in (
        (["new-1.jar"], 1, "new 1 was not installed, because it would not work here (--no-check installs it anyway)"),
        (
            ["absent-1.jar"],
            6,
            "needs org.apache.kafka.connect.source.AbsentConnector, which is neither in the plugin nor in Kafka",
        ),
        (["library-1.jar"], 6, "library 1 is not a plugin that works here: none of its classes is a connector, converter,"),
        (
            ["broken-1.jar"],
            1,
            f"{path / 'broken-1' / 'broken-1.jar'} can't be read (File is not a zip file): download it again",
        ),
        (["page-1.zip"], 6, "page-1.zip is damaged or not whole (File is not a zip file): download it again"),
        (["sources-1.zip"], 6, "a Python package. It looks like the project's sources: download its release, which has jars"),
        (["evil-1.zip"], 6, "its member '../x.jar' would land outside of the plugin's directory"),
        (["a:b"], 6, "'a:b' is not a Maven coordinate: write group:artefact:version"),
        (["./nothing.jar"], 6, "./nothing.jar does not exist"),
        (["new-1.jar", "--pre"], 2, "--pre is about Python packages, and new-1.jar is for Java: leave it out."),
    ):
        assert run("install", "-p", path, *arguments) == status, arguments
        said = capsys.readouterr()
        assert words in said.err, arguments
        assert said.out == ""
        assert children(path) == []
    # For a machine that has that Java.
    assert run("install", "-p", path, "new-1.jar", "--no-check") == 0
    assert children(path) == ["new-1"]
    capsys.readouterr()
    assert run("doctor", "-p", path) == 1
    told = capsys.readouterr().out
    assert f"error: {path / 'new-1' / 'new-1.jar'} is made for Java {NEWER}, and this is Java " in told
    assert "ask its author" not in told


@pytest.mark.long
def test_out_of_maven_central(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("install", f"org.apache.kafka:connect-file:{CONNECT_VERSION}", "-p", path) == 0
    assert "  brings connect-file-4.3.1.jar" in capsys.readouterr().out.splitlines()
    assert children(path / f"connect-file-{CONNECT_VERSION}") == [f"connect-file-{CONNECT_VERSION}.jar"]
    assert run("install", "org.apache.kafka:connect-file:0.0", "-p", path) == 4
    assert "has no version 0.0 of org.apache.kafka:connect-file; it has " in capsys.readouterr().err
    assert len(children(path)) == 1


class _Slow(BaseHTTPRequestHandler):
    """Answers with the beginning of an archive, and no more."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        self.wfile.write(b"PK")
        self.rfile.read()

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def slow_repository() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Slow)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


_LISTENING = """
import signal, sys
from kconnect.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # What a shell starts behind its back has it ignored.
main(["plugin", *sys.argv[1:]])
"""


def test_ctrl_c_leaves_nothing(path: Path, slow_repository: str) -> None:
    command = [sys.executable, "-c", _LISTENING, "install", "org.example:acme:1.0", "-p", str(path)]
    started = subprocess.Popen(command, env={**os.environ, "KCONNECT_MAVEN": slow_repository, "no_proxy": "*"})
    try:
        wait_until(lambda: bool(list(path.glob(".installing-*/acme-1.0-plugin.tar.gz"))))
        assert installation.installed(path) == []
        started.send_signal(signal.SIGINT)
        assert started.wait(120) == 130
    finally:
        started.kill()
        started.wait()
    assert children(path) == []


@pytest.fixture
def herder() -> MemoryHerder:
    return MemoryHerder()


@pytest.fixture
def url(herder: MemoryHerder) -> Iterator[str]:
    with serving(herder) as url:
        yield url


@pytest.mark.long
def test_what_a_connector_uses_is_not_removed(
    herder: MemoryHerder, url: str, file_jar: Path, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All Java plugins share one environment, so it is their place that counts."""
    for name in ("a-1.0", "b-1.0"):
        (path / name).mkdir(parents=True)
        (path / name / "files.jar").write_bytes(file_jar.read_bytes())
    herder.targets = {"lines": TargetState.STOPPED}
    herder.configs["lines"] = {"name": "lines", "connector.class": SOURCE}
    assert run("remove", "a", "-p", path, "--yes", "--url", url) == 5
    assert f"{path / 'a-1.0'} is used by lines: give" in capsys.readouterr().err
    assert run("remove", "b", "-p", path, "--yes", "--url", url) == 0
    assert children(path) == ["a-1.0"]
