"""Attacks by those who serve plugins, or sit on the way: against a real HTTP server, real archives and the command itself."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import ssl
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kconnect.errors import BadRequestError, ConnectError, NotFoundError
from kconnect.jvm import repository as maven_repository
from kconnect.jvm import scan, unpacking
from kconnect.jvm.maven import Coordinates
from kconnect.plugins import installation, java_installation
from tests.tls.authority import Authority, write

ACME = Coordinates("org.example", "acme", "1.0")
NAME = f"{ACME.stem}-plugin.zip"
MIB = 2**20


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder. What begins with `/moved` is sent on to the same server by plain http."""

    def do_GET(self) -> None:
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", f"http://{self.headers['Host']}{self.path.removeprefix('/moved')}")
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repository that is served by plain http, with one plugin's archive."""
    folder = tmp_path / "repository"
    archive = folder / NAME
    archive.parent.mkdir(parents=True)
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("acme-1.0.jar", b"harmless")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setenv("KCONNECT_MAVEN", f"http://127.0.0.1:{server.server_address[1]}/")
    monkeypatch.setenv("no_proxy", "*")
    yield folder
    server.shutdown()
    server.server_close()


def prepare(plugin_path: Path) -> list[str]:
    """Install as the command does, as far as the plugin's files; return what is in the plugin's directory."""
    wanted = java_installation.planned(ACME, plugin_path)
    with installation.stage(wanted.target) as stage:
        java_installation.prepare(ACME, wanted, stage, lambda doing: None)
        installation.put(stage, wanted)
    return sorted(file.name for file in wanted.target.rglob("*"))


def checksum(repository: Path, kind: str, text: str | None = None) -> None:
    content = (repository / NAME).read_bytes()
    (repository / f"{NAME}.{kind}").write_text(hashlib.new(kind, content).hexdigest() if text is None else text)


@pytest.mark.parametrize("kind", ["sha1", "sha256", "sha512"])
def test_the_control_an_archive_with_a_checksum(repository: Path, tmp_path: Path, kind: str) -> None:
    """The control: whoever has a checksum of what they serve is believed."""
    checksum(repository, kind)
    assert prepare(tmp_path / "plugins") == ["acme-1.0.jar"]


@pytest.mark.parametrize("text", [None, "", "\n", "<html>not found</html>", "0" * 39])
def test_an_archive_without_a_checksum_is_not_taken_over_http(repository: Path, tmp_path: Path, text: str | None) -> None:
    """Whoever is on the way changes an archive and holds back its checksum, or empties it; nothing must be installed."""
    if text is not None:
        for kind in ("sha512", "sha256", "sha1"):
            checksum(repository, kind, text)
    with pytest.raises(ConnectError, match="came over plain http, and the repository has no checksum"):
        prepare(tmp_path / "plugins")
    assert list((tmp_path / "plugins").rglob("*")) == []


@pytest.mark.parametrize("kind", ["sha1", "sha256", "sha512"])
def test_the_strongest_checksum_counts(repository: Path, tmp_path: Path, kind: str) -> None:
    """Whoever changes an archive and its weaker checksums; the strongest one must count, and nothing be installed."""
    for weaker in ("sha1", "sha256"):
        checksum(repository, weaker)
    checksum(repository, kind, "0" * len(hashlib.new(kind).hexdigest()))
    if kind == "sha1":
        (repository / f"{NAME}.sha256").unlink()
    with pytest.raises(ConnectError, match=f"was damaged on its way: its SHA-{kind[3:]} is"):
        prepare(tmp_path / "plugins")
    assert list((tmp_path / "plugins").rglob("*")) == []


def test_a_safe_repository_that_sends_on_to_http_is_none(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository with https whose redirect leads to plain http; what comes from there must need a checksum, too."""
    port = urlsplit(maven_repository.shown()).port
    monkeypatch.setenv("KCONNECT_MAVEN", f"http://127.0.0.1:{port}/moved/")
    # To have a certificate here would be much for little: the root counts as https, and the answer's own address does not.
    monkeypatch.setattr("kconnect.jvm.repository.shown", lambda: "https://repository.example/")
    with pytest.raises(ConnectError, match="came over plain http"):
        prepare(tmp_path / "plugins")


class SentOn(Quiet):
    """Sends every request on to the address `to`, if there is one."""

    to = ""

    def do_GET(self) -> None:
        if not self.to:
            super().do_GET()
            return
        self.send_response(302)
        self.send_header("Location", self.to + self.path)
        self.end_headers()


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repository with https and a certificate."""
    authority = Authority("authority")
    issued = authority.issue("repository")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(write(tmp_path / "chain.pem", issued.pem), write(tmp_path / "key.pem", issued.key_pem))
    folder = tmp_path / "secure"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SentOn, directory=str(folder)))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setenv("SSL_CERT_FILE", write(tmp_path / "ca.pem", authority.root.pem))
    for name in ("KCONNECT_MAVEN", "SECURE"):
        monkeypatch.setenv(name, f"https://127.0.0.1:{server.server_address[1]}/")
    monkeypatch.setenv("no_proxy", "*")
    yield folder
    server.shutdown()
    server.server_close()


def test_the_control_a_repository_with_https(secure: Path, tmp_path: Path) -> None:
    """The control: over https the repository vouches for what it sends, with or without a checksum."""
    (secure / NAME).parent.mkdir(parents=True)
    with zipfile.ZipFile(secure / NAME, "w") as packed:
        packed.writestr("acme-1.0.jar", b"harmless")
    assert prepare(tmp_path / "plugins") == ["acme-1.0.jar"]


@pytest.mark.parametrize("scheme", ["http", "HTTP", "ftp"])
def test_https_leads_nowhere_else(
    secure: Path, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    """A repository with https is made to send on to http, where archive and checksums are forged; neither must be fetched."""
    for kind in ("sha512", "sha256", "sha1"):
        checksum(repository, kind)
    plain = os.environ["KCONNECT_MAVEN"].partition("://")[2].rstrip("/")
    assert prepare(tmp_path / "control") == ["acme-1.0.jar"], "the control: forged checksums fit"
    monkeypatch.setattr(SentOn, "to", f"{scheme}://{plain}")
    monkeypatch.setenv("KCONNECT_MAVEN", os.environ["SECURE"])
    with pytest.raises(ConnectError, match="others can change what comes"):
        prepare(tmp_path / "plugins")
    assert list((tmp_path / "plugins").rglob("*")) == []


ESCAPE = "\x1b]0;owned\x07"


def test_what_a_repository_says_is_no_command_of_a_terminal(repository: Path, tmp_path: Path) -> None:
    """A repository names versions with escape sequences; they must not get to the terminal of whoever installs."""
    text = f"<metadata><version>1{ESCAPE}</version><version> 2.0 </version></metadata>"
    (repository / ACME.folder / "maven-metadata.xml").write_text(text)
    (repository / NAME).unlink()
    with pytest.raises(NotFoundError) as caught:
        prepare(tmp_path / "plugins")
    assert "it has 2.0" in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("length", ["rubbish", "-1", "9" * 5000, "\u0661"])
def test_a_length_that_is_none(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: str) -> None:
    """A repository sends a length that is no number; that must end in one sentence, or be passed over."""
    checksum(repository, "sha1")

    def answer(self: Quiet) -> None:
        file = repository / self.path.lstrip("/")
        if not file.exists():
            self.send_error(404, f"none{ESCAPE}")
            return
        self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Length: " + length.encode() + b"\r\n\r\n" + file.read_bytes())

    monkeypatch.setattr(Quiet, "do_GET", answer)
    with suppress(ConnectError):
        assert prepare(tmp_path / "plugins") == ["acme-1.0.jar"]


# -- bombs ------------------------------------------------------------------------------------------------------------


def zip_bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed, packed.open("a.jar", "w") as member:
        for _ in range(80):
            member.write(bytes(MIB))


def overlapping(path: Path) -> None:
    """Members that share their content: each is small, and there are very many."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.jar", bytes(8 * MIB))
        first = packed.filelist[0]
        packed.filelist += [first] * 100


def tar_bomb(path: Path) -> None:
    with tarfile.open(path, "w:gz") as packed:
        info = tarfile.TarInfo("a.jar")
        info.size = 80 * MIB
        packed.addfile(info, io.BytesIO(bytes(info.size)))


def long_header(path: Path) -> None:
    """A header for a name, which is read into memory."""
    with tarfile.open(path, "w:gz", format=tarfile.GNU_FORMAT) as packed:
        packed.addfile(tarfile.TarInfo("a" * 60 * MIB))


def padding(path: Path) -> None:
    """Nothing is in it, and that takes long."""
    with gzip.open(path, "wb") as packed:
        info = tarfile.TarInfo("._rubbish")
        info.size = 80 * MIB
        packed.write(info.tobuf())
        for _ in range(81):
            packed.write(bytes(MIB))


def backwards(path: Path) -> None:
    """A member of less than no bytes: what follows it is itself, for ever, and each time all before it is unpacked."""
    with gzip.open(path, "wb", compresslevel=1) as packed:
        large = tarfile.TarInfo("large")
        large.size = 30 * MIB
        packed.write(large.tobuf() + bytes(large.size))
        info = tarfile.TarInfo("again")
        info.size = -512
        packed.write(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))


def many_files(path: Path) -> None:
    with tarfile.open(path, "w:gz") as packed:
        for number in range(1001):
            packed.addfile(tarfile.TarInfo(str(number)))


def long_name(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("a/" * 1000 + "a.jar", b"")


@pytest.mark.parametrize(
    ("make", "ending", "rule"),
    [
        (zip_bomb, ".zip", "holds more than 67108864 bytes"),
        (overlapping, ".zip", "holds more than 67108864 bytes"),
        (tar_bomb, ".tar.gz", "holds more than 67108864 bytes"),
        (padding, ".tar.gz", "holds more than 67108864 bytes"),
        (long_header, ".tar.gz", "header in it has more than 1048576 bytes"),
        (backwards, ".tar.gz", "has less than no bytes"),
        (many_files, ".tar.gz", "holds more than 1000 files"),
        (long_name, ".zip", "a name in it has more than 1024 bytes"),
    ],
)
def test_a_bomb_fills_neither_disk_nor_memory(
    tmp_path: Path, make: Callable[[Path], None], ending: str, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever makes a plugin's archive packs very much into little; it must be refused, and nothing of it be left."""
    monkeypatch.setattr("kconnect.jvm.unpacking._FILES", 1000)
    archive, directory = tmp_path / f"bomb{ending}", tmp_path / "plugins" / "bomb"
    make(archive)
    assert archive.stat().st_size < 4 * MIB
    with pytest.raises(BadRequestError, match=rule):
        java_installation.source_of(str(archive))
    with pytest.raises(BadRequestError, match=rule), installation.stage(directory) as stage:
        unpacking.unpack(archive, stage)
    assert list((tmp_path / "plugins").rglob("*")) == []


def test_the_control_a_user_may_allow_more(tmp_path: Path) -> None:
    """The control: with `--max-bytes` the bomb goes off."""
    archive = tmp_path / "bomb.zip"
    zip_bomb(archive)
    with installation.stage(tmp_path / "plugins" / "bomb") as stage:
        unpacking.unpack(archive, stage, 400 * MIB)
        assert (stage / "a.jar").stat().st_size == 80 * MIB


# Jars that are there: a worker looks into them when it scans plugin.path.

MANIFEST = "META-INF/services/org.apache.kafka.connect.sink.SinkConnector"


def jar_of(place: Path, *files: tuple[str, bytes]) -> Path:
    """A plugin's directory with a jar."""
    place.mkdir()
    with zipfile.ZipFile(place / "a.jar", "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files:
            packed.writestr(name, content)
    return place


def harmed(place: Path, fields: tuple[tuple[bytes, int], ...], values: bytes) -> None:
    """Write bytes at a distance from each of the marks in a jar."""
    content = bytearray((place / "a.jar").read_bytes())
    for mark, distance in fields:
        at = content.index(mark) + distance
        content[at : at + len(values)] = values
    (place / "a.jar").write_bytes(content)


@pytest.mark.parametrize(
    ("fields", "values"),
    [
        (((b"PK\3\4", 6), (b"PK\1\2", 8)), b"\1\0"),
        (((b"PK\3\4", 8), (b"PK\1\2", 10)), b"\x4d\0"),
        (((MANIFEST.encode(), len(MANIFEST)),), b"\xff" * 8),
        (((b"PK\1\2", 42),), b"\xff\xff\xff\x7f"),
    ],
    ids=["encrypted", "packing", "damaged", "place"],
)
def test_a_jar_that_can_not_be_read_is_a_broken_plugin(
    tmp_path: Path, fields: tuple[tuple[bytes, int], ...], values: bytes
) -> None:
    """Whatever a jar raises is a line in the list of broken plugins: it kept a worker from its start, with all others."""
    place = jar_of(tmp_path / "plugin", (MANIFEST, b"acme.Sink\n"))
    harmed(place, fields, values)
    [found] = scan.found([place])
    assert not found.plugins
    assert "can't be read" in found.problems[0] and found.problems[0].endswith("download it again")


@pytest.mark.parametrize("count", [1, 20])
def test_manifests_in_a_jar_fill_no_memory(tmp_path: Path, count: int) -> None:
    """A manifest of a gigabyte in a jar of a megabyte: the worker itself took ten of them, and minutes. Or many of less."""
    content = b"\n" * (20 * 2**20 // count - 100)
    place = jar_of(tmp_path / "plugin", *((f"{MANIFEST}{number}", content) for number in range(count)))
    [found] = scan.found([place])
    assert not found.plugins and "has more than 1048576 bytes" in found.problems[0]


@pytest.mark.process
def test_what_a_scan_says_fills_no_memory() -> None:
    """The code of a plugin that says the same without an end, while it is looked at: the worker keeps the last of it."""
    code = "import sys; print(sys.stdin.read()); [sys.stderr.write('a' * 2**20) for _ in range(16)]; sys.stderr.write('end')"
    status, answered, said = scan._talk([sys.executable, "-c", code], "order")
    assert (status, answered) == (0, "order\n")
    assert said.endswith("aend") and len(said) == 2**16
