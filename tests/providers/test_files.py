"""The providers of files: what they read, and that nothing else is read (CVE-2024-31141)."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest

from kconnect.api import ConfigError, ConfigProvider, ConnectError
from kconnect.providers.directory_config_provider import DirectoryConfigProvider
from kconnect.providers.file_config_provider import FileConfigProvider

SECRET = "canary-outside"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """`allowed` with a file, `outside` with another, and links from the one to the other."""
    for name in ("allowed", "allowed-too", "outside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "db.properties").write_text(f"password={SECRET if name != 'allowed' else 'inside'}\n")
        (tmp_path / name / "password").write_text(SECRET if name != "allowed" else "inside\n")
    allowed = tmp_path / "allowed"
    (allowed / "sub").mkdir()
    (allowed / "link.properties").symlink_to(tmp_path / "outside" / "db.properties")
    (allowed / "link").symlink_to(tmp_path / "outside" / "password")
    (allowed / "linked-folder").symlink_to(tmp_path / "outside")
    (allowed / "two").symlink_to(allowed / "linked-folder")
    # As a secret is mounted into a container: the file is a link, and the folder that it leads to is one too.
    (allowed / "..2024").mkdir()
    (allowed / "..2024" / "token").write_text("inside")
    (allowed / "..data").symlink_to("..2024")
    (allowed / "token").symlink_to("..data/token")
    os.mkfifo(allowed / "pipe")
    return tmp_path


def made(kind: type[ConfigProvider], **parameters: str) -> ConfigProvider:
    provider = kind()
    provider.configure({name.replace("_", "."): value for name, value in parameters.items()})
    return provider


def test_a_key_of_a_properties_file(here: Path) -> None:
    file = here / "allowed" / "more.properties"
    file.write_text("a : 1\n! no\nb=two\\\n  lines\nu=\\u00e9\npassword=p=q\n", "utf-8")
    provider = made(FileConfigProvider, allowed_paths=str(here / "allowed"))
    found = provider.get(str(file), ["a", "b", "u", "password", "nope"])
    assert (found.data, found.ttl) == ({"a": "1", "b": "twolines", "u": "é", "password": "p=q"}, None)


def test_a_file_of_a_directory_is_given_as_it_is(here: Path) -> None:
    provider = made(DirectoryConfigProvider, allowed_paths=str(here / "allowed"))
    found = provider.get(str(here / "allowed"), ["password", "token", "nope"])
    assert found.data == {"password": "inside\n", "token": "inside"}


PATHS = {
    "above": "{0}/allowed/../outside/db.properties",
    "absolute": "{0}/outside/db.properties",
    "relative": "../outside/db.properties",
    "a link to a file": "{0}/allowed/link.properties",
    "a link to a folder": "{0}/allowed/linked-folder/db.properties",
    "a link to a link": "{0}/allowed/two/db.properties",
    "a folder whose name begins alike": "{0}/allowed-too/db.properties",
    "NUL": "{0}/allowed/db.properties\0/../../outside/db.properties",
    "home": "~/db.properties",
    "two slashes": "//{0}/outside/db.properties",
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_no_file_outside_is_read(here: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("HOME", str(here / "outside"))
    monkeypatch.chdir(here / "allowed")
    control = made(FileConfigProvider, allowed_paths=str(here / "allowed"))
    assert control.get(str(here / "allowed" / "db.properties"), ["password"]).data == {"password": "inside"}
    with pytest.raises(ConnectError) as raised:
        control.get(path.format(here), ["password"])
    assert SECRET not in str(raised.value)


KEYS = {
    "above": ("{0}/allowed", "../outside/password"),
    "a link": ("{0}/allowed", "link"),
    "a folder that is a link": ("{0}/allowed/linked-folder", "password"),
    "absolute": ("{0}/allowed", "{0}/outside/password"),
    "a folder outside": ("{0}/outside", "password"),
    "a folder above": ("{0}/allowed/../outside", "password"),
    "NUL": ("{0}/allowed", "password\0"),
    "the folder itself": ("{0}/allowed", ".."),
    "home": ("~", "password"),
    "no path": ("", "password"),
}


@pytest.mark.parametrize(("path", "key"), KEYS.values(), ids=KEYS)
def test_no_directory_outside_is_read(here: Path, monkeypatch: pytest.MonkeyPatch, path: str, key: str) -> None:
    monkeypatch.setenv("HOME", str(here / "outside"))
    monkeypatch.chdir(here / "outside")
    provider = made(DirectoryConfigProvider, allowed_paths=str(here / "allowed"))
    try:
        found = provider.get(path.format(here), [key.format(here)])
    except ConnectError as error:
        assert SECRET not in str(error)
    else:
        assert found.data == {}


def test_whether_a_file_outside_exists_is_not_told(here: Path) -> None:
    provider = made(DirectoryConfigProvider, allowed_paths=str(here / "allowed"))
    answers = []
    for key in ("password", "nope"):
        with pytest.raises(ConnectError) as raised:
            provider.get(str(here / "outside"), [key])
        answers.append(str(raised.value).replace(key, "KEY"))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("name", ["pipe", "sub"])
def test_what_is_no_file_is_not_waited_for(here: Path, name: str) -> None:
    provider = made(FileConfigProvider, allowed_paths=str(here / "allowed"))
    with pytest.raises(ConnectError, match="not a file"):
        provider.get(str(here / "allowed" / name), ["password"])


@pytest.mark.parametrize("kind", [FileConfigProvider, DirectoryConfigProvider])
def test_without_allowed_paths_every_file_is_read_and_that_is_warned_of(
    here: Path, caplog: pytest.LogCaptureFixture, kind: type[ConfigProvider]
) -> None:
    with caplog.at_level(logging.WARNING):
        made(kind, allowed_paths=str(here / "allowed"))
        assert caplog.messages == []
        provider = made(kind)
    path = "outside/db.properties" if kind is FileConfigProvider else "outside"
    assert provider.get(str(here / path), ["password"]).data == {"password": SECRET}
    (message,) = caplog.messages
    assert message.startswith(f"{kind.__name__} has no allowed.paths: whoever may create connectors can read every file")


@pytest.mark.parametrize(
    ("paths", "message"),
    [("secrets", "Path secrets is not absolute"), ("/nowhere/at/all", "Path /nowhere/at/all does not exist")],
)
def test_allowed_paths_that_can_not_be_meant(paths: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        made(FileConfigProvider, allowed_paths=paths)


def test_several_paths_may_be_allowed_and_single_files_too(here: Path) -> None:
    file = here / "outside" / "db.properties"
    provider = made(FileConfigProvider, allowed_paths=f"{here / 'allowed'}, {file},")
    assert provider.get(str(file), ["password"]).data == {"password": SECRET}
    with pytest.raises(ConnectError):
        provider.get(str(here / "outside" / "password"), ["x"])
    with pytest.raises(ConnectError):
        made(FileConfigProvider, allowed_paths=",").get(str(file), ["password"])


def test_a_file_that_is_not_there_or_not_text(here: Path) -> None:
    provider = made(FileConfigProvider, allowed_paths=str(here / "allowed"))
    missing = here / "allowed" / "missing.properties"
    with pytest.raises(ConnectError, match=f"there is no file {missing} here"):
        provider.get(str(missing), ["a"])
    missing.write_bytes(b"a=\xff")
    with pytest.raises(ConnectError, match="is not UTF-8"):
        provider.get(str(missing), ["a"])
    missing.write_text("a=\\u12")
    with pytest.raises(ConnectError, match="malformed"):
        provider.get(str(missing), ["a"])


def test_a_folder_that_is_a_link_for_a_moment_leads_nowhere(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may write below an allowed path has a link there while the file is opened, and a folder before and after."""
    folder, outside = here / "allowed" / "sub", here / "outside"
    (folder / "db.properties").write_text("password=inside\n")
    opened = os.open

    def late(path: str, *arguments: Any, **more: Any) -> int:
        if not str(path).endswith("db.properties"):
            return opened(path, *arguments, **more)
        folder.rename(here / "kept")
        folder.symlink_to(outside)
        try:
            return opened(path, *arguments, **more)
        finally:
            folder.unlink()
            (here / "kept").rename(folder)

    provider = made(FileConfigProvider, **{"allowed.paths": str(here / "allowed")})
    assert provider.get(str(folder / "db.properties"), {"password"}).data == {"password": "inside"}
    monkeypatch.setattr(os, "open", late)
    with pytest.raises(ConnectError, match="is not below a path"):
        provider.get(str(folder / "db.properties"), {"password"})
