"""Which files of the worker's machine a config may name: with connector.files.allowed.paths, those below its folders."""

from __future__ import annotations

import ctypes
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import obstore
import pytest
import sqlalchemy as sa
from obstore.store import from_url

from kconnect.api import ConfigError, ConnectError, SinkRecord
from kconnect.connectors import databases
from kconnect.connectors.datagen.connector import DatagenSourceConnector
from kconnect.connectors.file_sink import FileStreamSinkTask
from kconnect.connectors.file_source import FileStreamSourceConnector, FileStreamSourceTask
from kconnect.connectors.host_files import ALLOWED_PATHS as ALLOWED
from kconnect.connectors.host_files import LINKS, AstrayError, HostFiles
from kconnect.connectors.objects import opening, options
from kconnect.connectors.objects.connector import ObjectStoreSinkConnector
from kconnect.connectors.objects.settings import CONFIG
from kconnect.connectors.objects.source import ObjectStoreSourceConnector
from kconnect.core.settings.validation import errors_of
from kconnect.plugins.reach import Reach
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from kconnect.testing import SourceRunner
from kconnect.units.unit import Unit
from tests.integration.units import MemoryHost, Numbers, Plugins, end, source_of, until
from tests.support import wait_until


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder `in` that is allowed, with links that lead out of it; `secret` is outside."""
    inside = tmp_path / "in"
    inside.mkdir()
    (tmp_path / "secret").write_text("canary\n")
    (inside / "file").symlink_to(tmp_path / "secret")
    (inside / "folder").symlink_to(tmp_path)
    yield tmp_path


WAYS = (
    "{}/secret",
    "{}/in/file",
    "{}/in/folder/secret",
    "{}/in/../secret",
    "{}/in//./folder/../{}/secret",
    "secret",
    "{}/in2/x",
)


def astray(place: Path) -> list[str]:
    return [way.format(*[place] * way.count("{}")) for way in WAYS]


class Reader:
    """What a source's task is told of stored offsets: none."""

    def offset(self, partition: Any) -> None:
        return None


def source(path: str, worker: dict[str, str]) -> FileStreamSourceTask:
    task: Any = FileStreamSourceTask()
    task.worker = worker
    task.context = type("Context", (), {"offsets": Reader(), "waits_for": lambda self, what: None})()
    task.start({"file": path, "topic": "t"})
    return task


def test_no_file_of_a_connector_is_a_journal_of_sqlites(place: Path) -> None:
    """
    Whoever may create connectors has one write a journal in an allowed folder, as a file or as a database, and another one open
    the database of that name: SQLite would delete what the journal names, outside.
    """
    worker, path = {ALLOWED: f"{place}/in"}, f"{place}/in/shop.db-journal"
    sink = FileStreamSinkTask()
    sink.worker = worker
    with pytest.raises(ConfigError, match="a file that ends with -journal"):
        sink.start({"file": path})
    for url in (f"sqlite:///{path}", f"sqlite:///file:{place}/in/shop.db%2Djournal?uri=true"):
        with pytest.raises(ConfigError, match="a file that ends with -journal"):
            databases.check("connection.url", sa.make_url(url), worker)
    config = {"topics": "t", "format.class": "ByteArrayFormat", "store.url": f"file://{place}/in", "flush.size": "1"}
    with pytest.raises(ConfigError, match="It must not end with -journal"):
        CONFIG.parse({**config, "format.bytearray.extension": "-journal"})
    # Java's connectors, too.
    problems = dict(Reach(folders=[f"{place}/in"]).problems({"connection.url": f"jdbc:sqlite:{path}", "file": path}))
    assert problems.keys() == {"connection.url", "file"}


def test_file_connectors_stay_below_the_allowed_folders(place: Path) -> None:
    """Whoever may create connectors names a file outside, by whatever way: it is neither read nor written."""
    [record] = source(f"{place}/secret", {}).poll() or []
    assert record.value == "canary", "the control: without the setting it is read"
    worker = {ALLOWED: f"{place}/in"}
    for path in astray(place):
        with pytest.raises(ConnectError, match=ALLOWED):
            source(path, worker).poll()
        sink = FileStreamSinkTask()
        sink.worker = worker
        with pytest.raises(ConfigError, match=ALLOWED):
            sink.start({"file": path})
    assert (place / "secret").read_text() == "canary\n"
    sink = FileStreamSinkTask()
    sink.worker = worker
    sink.start({"file": f"{place}/in/own"})
    sink.put([SinkRecord("t", 0, None, None, None, "mine", 0)])
    sink.stop()
    [record] = source(f"{place}/in/own", worker).poll() or []
    assert record.value == "mine", "the control: what is inside"


OWN = ("cache/jars/connect/0.jar", "plugins/acme/x.py", "functions/f.py", "tmp/spark-1/userFiles-2/yaml.py", "path/yaml.py")


@pytest.mark.parametrize("own", OWN)
def test_what_kconnect_loads_is_no_file_of_a_connector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str) -> None:
    """
    Whoever may create connectors has a jar, or a module, written to where the worker's processes load code from, which lies
    below an allowed folder, as /tmp is one: by a sink of files, into a store, or as a database. Java's sinks are no exception.
    """
    real = os.path.realpath(tmp_path)
    monkeypatch.setenv("KCONNECT_CACHE", f"{tmp_path}/cache")
    monkeypatch.setattr("tempfile.tempdir", f"{tmp_path}/tmp")
    monkeypatch.syspath_prepend(f"{real}/path")
    worker = {
        ALLOWED: str(tmp_path),
        "plugin.path": f"/opt/none, {tmp_path}/plugins",
        "python.transform.path": f"{real}/functions",
    }
    (tmp_path / own).parent.mkdir(parents=True)
    (tmp_path / "link").symlink_to((tmp_path / own).parent)
    for path in (f"{tmp_path}/{own}", f"{tmp_path}/x/../{own}", f"{tmp_path}/link/{Path(own).name}"):
        sink = FileStreamSinkTask()
        sink.worker = worker
        with pytest.raises(ConfigError, match="kconnect keeps what it loads itself there"):
            sink.start({"file": path})
        [(setting, why)] = Reach.of_worker({"settings": worker}).problems({"file": path})
        assert (setting, "kconnect keeps" in why) == ("file", True)
        with pytest.raises(ConfigError, match="kconnect keeps"):
            databases.check("connection.url", sa.make_url(f"sqlite:///{path}"), worker)
        with pytest.raises(ConfigError, match="kconnect keeps"):
            source(path, worker).poll()
    top = store(f"file://{tmp_path}", worker)
    (tmp_path / "new").write_text("x")
    with pytest.raises(AstrayError, match="kconnect keeps"):
        top.put(own, tmp_path / "new")
    assert not (tmp_path / own).exists()
    top.put("beside", tmp_path / "new")
    assert (tmp_path / "beside").read_text() == "x", "the control: the rest of the folder"


def test_a_folder_among_kconnect_s_own_may_be_named_on_purpose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: who names a folder below the cache, or one of ours in /tmp, means it."""
    monkeypatch.setenv("KCONNECT_CACHE", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "kconnect-data").mkdir()
    sink = FileStreamSinkTask()
    sink.worker = {ALLOWED: f"{tmp_path}/kconnect-data"}
    sink.start({"file": f"{tmp_path}/kconnect-data/out"})
    sink.stop()
    assert (tmp_path / "kconnect-data" / "out").exists()


def test_a_line_without_an_end_takes_no_memory(tmp_path: Path) -> None:
    """Who may write the file makes it a terabyte without a line's end, which takes a moment: the task fails, and says so."""
    file = tmp_path / "in.txt"
    file.write_bytes(b"a\n")
    with SourceRunner(FileStreamSourceConnector, {"file": str(file), "topic": "t"}) as runner:
        assert [each.value for each in runner.poll()] == ["a"]
        os.truncate(file, 1 << 40)
        with pytest.raises(ConnectError, match=r"a line of more than 67108864 bytes, from position 2 on.*kconnect offsets set"):
            runner.poll()


def test_a_line_may_come_in_many_pieces() -> None:
    """Control: a line that grows little by little is whole in the end."""
    task = FileStreamSourceTask()
    for _ in range(1000):
        assert not task._split(b"ab")
    assert task._split(b"\n")
    assert task._texts == ["ab" * 1000]


def test_a_schema_is_read_from_an_allowed_folder_only(place: Path) -> None:
    """Whoever may create connectors has Datagen read its schema from a file outside: it is not opened, and not quoted."""
    worker = {ALLOWED: f"{place}/in"}
    for path in astray(place):
        connector = DatagenSourceConnector()
        connector.worker = worker
        values = connector.validate({"name": "c", "kafka.topic": "t", "schema.filename": path}).values
        [message] = [message for value in values for message in value.errors]
        assert ALLOWED in message
        assert "canary" not in message


def test_a_link_that_comes_in_between_is_not_followed(place: Path) -> None:
    """Whoever may write to an allowed folder puts a link in place of a part of the path after it was looked at."""
    (place / "in" / "a").mkdir()
    (place / "in" / "a" / "secret").write_text("mine")
    files = HostFiles({ALLOWED: f"{place}/in"})
    path = f"{place}/in/a/secret"
    real = files.check("file", path)
    (place / "in" / "a" / "secret").unlink()
    (place / "in" / "a").rmdir()
    (place / "in" / "a").symlink_to(place)

    class Late(HostFiles):
        def check(self, setting: str, path: str) -> str:
            return real

    opener = Late({ALLOWED: f"{place}/in"}).opener("file")
    with pytest.raises(ConfigError, match=ALLOWED):
        opener(path, os.O_RDONLY)
    (place / "in" / "a").unlink()
    (place / "in" / "a").mkdir()
    (place / "in" / "a" / "secret").symlink_to(place / "secret")
    with pytest.raises(OSError, match="symbolic links"):
        opener(path, os.O_RDONLY)


def store(url: str, worker: dict[str, str], **more: str) -> Any:
    props = {"store": url, "format.class": "JsonFormat", "flush.size": "1", **{k.replace("_", "."): v for k, v in more.items()}}
    return opening.opened(CONFIG.parse(props), props, worker)


@pytest.mark.parametrize("form", ["file://{}", "FILE://{}", "file:{}", "file://localhost{}", "file:///{}"])
def test_stores_stay_below_the_allowed_folders(place: Path, form: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whoever may create connectors names a folder outside as a store, or a link inside leads out of it: nothing is written."""
    worker, file = {ALLOWED: f"{place}/in"}, tmp_path_factory.mktemp("own") / "x"
    file.write_text("x")
    for outside in (f"{place}", f"{place}/in/folder", f"{place}/in/..", f"{place}/%69n/%2e%2e"):
        with pytest.raises(ConfigError, match=ALLOWED):
            store(form.format(outside), worker)
    with pytest.raises(ConfigError, match=ALLOWED):
        store(form.format(f"{place}/in"), worker, spool_dir=str(place))
    (place / "in" / "lake").mkdir()
    made = store(form.format(f"{place}/in/lake"), worker)
    (place / "in" / "lake" / "out").symlink_to(place)
    with pytest.raises(AstrayError, match=LINKS):
        made.put("out/secret", file)
    with pytest.raises(AstrayError, match=LINKS), open(file, "wb") as target:
        made.get("out/secret", target)
    assert (place / "secret").read_text() == "canary\n"
    file.write_text("x")
    made.put("fine", file)
    assert (place / "in" / "lake" / "fine").read_text() == "x", "the control"


ALL = {LINKS: "true"}


@pytest.mark.parametrize(
    ("worker", "leads"),
    [({}, False), (ALL, True), ({ALLOWED: "{}"}, False), ({**ALL, ALLOWED: "{}"}, True), ({**ALL, ALLOWED: "{}/in"}, False)],
)
def test_a_link_leads_nothing_out_of_a_store(place: Path, worker: dict[str, str], leads: bool) -> None:
    """Whoever may put a link into a store's folder has files of the host published, and files written: by neither."""
    worker = {name: text.format(place) for name, text in worker.items()}
    lake, outside, own = place / "in" / "lake", place / "outside", place / "own"
    for folder in (lake, outside):
        folder.mkdir()
    (place / "top").symlink_to(lake)
    (outside / "a").write_text("canary")
    (lake / "kept").mkdir()
    (lake / "kept" / "b").write_text("b")
    (lake / "again").symlink_to(lake / "kept" / "b")
    (lake / "folder").symlink_to(outside)
    (lake / "file").symlink_to(place / "secret")
    own.write_text("x")
    allowed = worker.get(ALLOWED)
    made = store(f"file://{lake if allowed == f'{place}/in' else place / 'top'}", worker)
    listed = {each.name for each in made.names("")}
    assert listed == {"kept/b", "again", *(("folder/a", "file") if leads else ())}
    for name, content in (("again", "b"), ("folder/a", "canary"), ("file", "canary\n")):
        target = io.BytesIO()
        if name == "again" or leads:
            made.get(name, target)
            assert target.getvalue().decode() == content
        else:
            with pytest.raises(AstrayError, match=LINKS):
                made.get(name, target)
            assert target.getvalue() == b""
    if leads:
        made.put("folder/new/b", own)
    else:
        with pytest.raises(AstrayError, match=LINKS):
            made.put("folder/new/b", own)
    assert (outside / "new" / "b").exists() is leads
    # What is a link itself is replaced, as what was a file is.
    made.put("file", own)
    assert (place / "secret").read_text() == "canary\n"
    assert (lake / "file").read_text() == "x"


ODD_NAMES = ("a b", "a%20b", "ü", "a=b+c", "x:y", "[x]", "a#b", "~", "{}", "a/b/c", "a?b", "a'b", 'a"b', "a&b", "a|b", "a\\b")


@pytest.mark.parametrize("name", ODD_NAMES)
def test_files_have_the_names_that_they_had(tmp_path: Path, name: str) -> None:
    """Control: those that obstore gave them, so that a file which is sent again after an upgrade is the same one."""
    own = tmp_path / "own"
    own.write_text("x")
    store(f"file://{tmp_path}/new", {}).put(name, own)
    obstore.put(from_url(f"file://{tmp_path}/old", mkdir=True), name, own)
    new, old = ([path.relative_to(tmp_path / at) for path in (tmp_path / at).rglob("*")] for at in ("new", "old"))
    assert sorted(new) == sorted(old)


def exchanged(one: Path, other: Path) -> None:
    """Exchange two names at once, as whoever waits for the moment does."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.renameat2(-100, bytes(one), -100, bytes(other), 2) == 0, os.strerror(ctypes.get_errno())


def test_a_link_that_takes_a_folder_s_place_after_the_look_is_not_followed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write into a store's folder exchanges a folder of it for a link, just after it was looked at."""
    lake, outside, own = place / "in" / "lake", place / "outside", place / "own"
    for folder in (lake / "d", outside):
        folder.mkdir(parents=True)
        (folder / "a").write_text(folder.name)
    own.write_text("x")
    (place / "link").symlink_to(outside)
    made = store(f"file://{lake}", {})
    looked = HostFiles.check_link

    def late(files: HostFiles, setting: str, top: str, path: str) -> str:
        real = looked(files, setting, top, path)
        if not (lake / "d").is_symlink():
            exchanged(lake / "d", place / "link")
        return real

    target = io.BytesIO()
    for act in (lambda: made.get("d/a", target), lambda: made.put("d/b", own)):
        with monkeypatch.context() as patch:
            patch.setattr(HostFiles, "check_link", late)
            with pytest.raises((AstrayError, OSError)):
                act()
        assert target.getvalue() == b""
        exchanged(lake / "d", place / "link")
    assert [path.name for path in outside.iterdir()] == ["a"]


def test_a_link_that_comes_after_the_listing_does_not_end_a_source(tmp_path: Path) -> None:
    """Whoever may write into the folder puts a link in a file's place once it was listed: that one is not read, others are."""
    drop = tmp_path / "drop"
    drop.mkdir()
    (tmp_path / "secret").write_text("canary\n")
    for name in ("a.txt", "b.txt", "c.txt"):
        (drop / name).write_text(f"{name}\n")
    config = {
        **{"store": f"file://{drop}", "format.class": "ByteArrayFormat", "mode": "GENERIC", "topic.regex.list": "t:.*"},
        **{"record.batch.max.size": "1", "s3.poll.interval.ms": "100", "topics.dir": ""},
    }
    with SourceRunner(ObjectStoreSourceConnector, config) as runner:
        found = list(runner.poll())
        (drop / "b.txt").unlink()
        (drop / "b.txt").symlink_to(tmp_path / "secret")
        wait_until(lambda: found.extend(runner.poll()) or len(found) >= 2, 30, "the other file is not read")
        assert [each.value for each in found] == [b"a.txt", b"c.txt"]
        (drop / "b.txt").unlink()
        (drop / "b.txt").write_text("b again\n")
        wait_until(lambda: found.extend(runner.poll()) or len(found) >= 3, 30, "the file that is there again is not read")
        assert found[2].value == b"b again"


OPTIONS = (
    "aws_web_identity_token_file",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "web_identity_token_file",
    "aws_container_credentials_full_uri",
    "container_authorization_token_file",
    "metadata_endpoint",
    "endpoint_url_sts",
    "azure_federated_token_file",
    "azure_authority_host",
    "azure_use_azure_cli",
    "identity_endpoint",
    "fabric_token_service_url",
)


@pytest.mark.parametrize("option", OPTIONS)
def test_a_store_s_options_read_no_token_and_run_nothing(option: str) -> None:
    """Whoever may create connectors has a store send a file as a token, ask an address for one, or run a command: refused."""
    common = {"name": "c", "store": "s3://b", "format.class": "JsonFormat", f"store.options.{option}": "/etc/passwd"}
    for connector, more in ((ObjectStoreSinkConnector, {"topics": "t", "flush.size": "1"}), (ObjectStoreSourceConnector, {})):
        found = [message for value in connector().validate({**common, **more}).values for message in value.errors]
        assert "is not among the options that a config may set" in str(found), found


JAVAS = (
    ("file", "{}/secret"),
    ("schema.history.internal.file.filename", "{}/in/folder/history"),
    ("offset.storage.file.filename", "{}/x"),
    ("x.ssl.truststore.location", "{}/trust.jks"),
    ("connection.url", "jdbc:sqlite:{}/x.db"),
    ("any", "file:{}/x"),
    ("store", "fi\tle://{}/x"),
    ("store", "\x01file://{}/x"),
    ("any", "url:file:{}/x"),
    ("file", "{}/a://../x"),
    ("gcs.credentials.path", "{}/x"),
)


@pytest.mark.parametrize(("setting", "form"), JAVAS)
def test_what_java_s_connectors_are_given_is_looked_at(place: Path, setting: str, form: str) -> None:
    """Whoever may create connectors names a file outside to a connector in Java: refused when submitted, and when started."""
    config = {"name": "c", "connector.class": "Watched", "topic": "t", setting: form.format(place)}
    assert list(Reach().problems(config)) == [], "the control: without the setting it is allowed"
    limited = Reach(folders=[f"{place}/in"])
    [(named, message)] = limited.problems(config)
    assert named == setting
    assert ALLOWED in message
    assert list(limited.problems({**config, setting: form.replace("/folder", "").format(f"{place}/in")})) == []
    started: list[str] = []

    class Watched(source_of(Numbers)):  # type: ignore[misc]
        def start(self, props: dict[str, str]) -> None:
            started.append("x")

    host = MemoryHost("127.0.0.1:1", Plugins(Watched=Watched), **{ALLOWED: f"{place}/in"})
    unit: Unit = host.unit(config, task=None)
    until(lambda: "FAILED" in host.states)
    end(unit)
    assert ALLOWED in (host.statuses[-1][1] or "")
    assert started == []


@pytest.mark.process
def test_validation_says_so_at_the_setting(place: Path) -> None:
    """Whoever may create connectors submits a file outside: the answer is at the setting, and names the worker's."""
    sandbox = Sandbox(Registry.scan(None), plugin_settings={ALLOWED: f"{place}/in"})
    try:
        config = {"name": "c", "connector.class": "FileStreamSource", "topic": "t", "file": f"{place}/in/file"}
        infos = sandbox.validate("FileStreamSource", config)
        assert infos["error_count"] == 1
        [(name, [message])] = [(r["value"]["name"], errors_of(r)) for r in infos["configs"] if errors_of(r)]
        assert name == "file"
        assert ALLOWED in message
        fine = sandbox.validate("FileStreamSource", {**config, "file": f"{place}/in/own"})
        assert fine["error_count"] == 0
    finally:
        sandbox.close()


@pytest.mark.parametrize("url", ["fi\tle:///etc", "\x01file:///etc", " file:///etc", "FILE:///etc", "f\nile:///etc"])
def test_a_store_of_this_machine_is_known_in_any_spelling(url: str) -> None:
    """Whoever may create connectors spells a store's address so that only a parser of addresses takes it for a folder."""
    assert options.local_path(url) == "/etc"
    assert options.local_path("s3://bucket/file:/etc") is None
