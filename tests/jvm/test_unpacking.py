"""Archives of Java plugins as vendors pack them, and as nobody should."""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from kconnect.errors import BadRequestError
from kconnect.jvm import unpacking


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "stage" / "plugin"
    made.mkdir(parents=True)
    return made


def packed(path: Path, *members: str) -> Path:
    """An archive with these files; each holds its own name."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name in members:
                archive.writestr(name, "" if name.endswith("/") else name)
    else:
        with tarfile.open(path, "w:gz") as tar:
            for name in members:
                info = tarfile.TarInfo(name)
                info.size = len(name)
                tar.addfile(info, io.BytesIO(name.encode()))
    return path


def files(directory: Path) -> list[str]:
    return sorted(str(file.relative_to(directory)) for file in directory.rglob("*") if file.is_file())


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.tgz", "A.ZIP"])
@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (["a.jar", "LICENSE"], ["LICENSE", "a.jar"]),
        (["acme/a.jar", "acme/LICENSE"], ["LICENSE", "a.jar"]),
        (["./acme/deep/a.jar", ".DS_Store", "__MACOSX/._a", "acme/._deep"], ["a.jar"]),
        (["acme/manifest.json", "acme/lib/a.jar", "acme/doc/x"], ["doc/x", "lib/a.jar", "manifest.json"]),
        # A folder that has the name of the one around it.
        (["acme/acme/a.jar", "acme/acme/acme"], ["a.jar", "acme"]),
    ],
    ids=["flat", "folder", "rubbish", "hub", "same name"],
)
def test_folders_around_all_of_it_are_taken_away(
    tmp_path: Path, directory: Path, name: str, members: list[str], expected: list[str]
) -> None:
    lower = packed(tmp_path / name.lower(), *members)
    unpacking.unpack(lower.rename(tmp_path / name), directory)
    assert files(directory) == expected
    assert (directory / expected[-1]).read_text().endswith(expected[-1])
    assert [child.name for child in directory.parent.iterdir()] == ["plugin"]


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
@pytest.mark.parametrize("member", ["../evil.jar", "acme/../../evil.jar", "/tmp/evil.jar", "..\\evil.jar"])
def test_what_would_land_elsewhere_is_refused(tmp_path: Path, directory: Path, name: str, member: str) -> None:
    archive = packed(tmp_path / name, "a.jar", member)
    with pytest.raises(BadRequestError, match=r"is refused: its member .* would land outside of the plugin's directory\. Get "):
        unpacking.unpack(archive, directory)
    assert not list(tmp_path.rglob("evil*"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, directory: Path, kind: bytes) -> None:
    archive = tmp_path / "a.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        info = tarfile.TarInfo("a.jar")
        info.type, info.linkname = kind, "/etc/passwd"
        tar.addfile(info)
    with pytest.raises(BadRequestError, match=r"its member 'a\.jar' is a link or a device"):
        unpacking.unpack(archive, directory)
    assert files(directory) == []


def test_a_link_in_a_zip_is_refused(tmp_path: Path, directory: Path) -> None:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as packed_zip:
        info = zipfile.ZipInfo("a.jar")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed_zip.writestr(info, "/etc/passwd")
    with pytest.raises(BadRequestError, match=r"its member 'a\.jar' is a link or a device"):
        unpacking.unpack(archive, directory)


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
@pytest.mark.parametrize("harm", ["cut off", "a page", "empty"])
def test_a_damaged_archive_says_so(tmp_path: Path, directory: Path, name: str, harm: str) -> None:
    archive = packed(tmp_path / name, *(f"{number}.jar" for number in range(100)))
    whole = archive.read_bytes()
    archive.write_bytes({"cut off": whole[: len(whole) // 2], "a page": b"<html>Not found</html>", "empty": b""}[harm])
    for act in (lambda: unpacking.names(archive), lambda: unpacking.unpack(archive, directory)):
        with pytest.raises(BadRequestError, match=rf"{name} is damaged or not whole \(.*\): download it again$"):
            act()


def test_a_member_that_was_changed_is_noticed(tmp_path: Path, directory: Path) -> None:
    archive = packed(tmp_path / "a.zip", "some-member.jar")
    archive.write_bytes(archive.read_bytes().replace(b"some-member.jarPK", b"same-member.jarPK", 1))
    with pytest.raises(BadRequestError, match=r"damaged or not whole .*CRC"):
        unpacking.unpack(archive, directory)


def test_a_folder_is_copied_with_what_its_links_lead_to(tmp_path: Path, directory: Path) -> None:
    source = tmp_path / "acme"
    (source / "lib").mkdir(parents=True)
    (tmp_path / "shared.jar").write_text("shared")
    (source / "lib" / "shared.jar").symlink_to(tmp_path / "shared.jar")
    (source / ".DS_Store").touch()
    unpacking.copy(source, directory)
    assert files(directory) == ["shared.jar"]
    assert not (directory / "shared.jar").is_symlink()
    (source / "lib" / "lost.jar").symlink_to(tmp_path / "lost")
    with pytest.raises(BadRequestError, match=r"acme can't be copied: .*lost"):
        unpacking.copy(source, directory)


@pytest.mark.parametrize(
    ("text", "expected"),
    [('{"name": "kafka-connect-x", "version": "1.2"}', ("kafka-connect-x", "1.2")), ("{", None), ('{"name": 1}', None)],
)
def test_the_manifest_of_confluent_hub(directory: Path, text: str, expected: tuple[str, str] | None) -> None:
    assert unpacking.manifest(directory) is None
    (directory / "manifest.json").write_text(text)
    assert unpacking.manifest(directory) == expected
