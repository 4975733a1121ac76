"""
What `scripts/release` puts beside the distributions, and what it asks of what they depend on.

    release_parts.py notes CHANGELOG VERSION        # what an upgrade has to look at, to standard output
    release_parts.py licences SBOM                  # fails for a licence that nobody has agreed to
    release_parts.py sbom SBOM                      # takes out what only this machine knows
    release_parts.py again SDIST SECONDS            # packs an sdist anew, so that it has the same bytes each time
    release_parts.py head CHANGELOG                 # the newest version that has a date
    release_parts.py client TREE                    # makes a tree that of kconnect-client
    release_parts.py whole TREE                     # makes a tree that of kconnect, which needs kconnect-client

Exit status: 0, or 1 with a line for each thing that is wrong.
"""

from __future__ import annotations

import configparser
import gzip
import io
import json
import re
import shutil
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_HEAD = re.compile(r"^## \[(?P<version>[^\]]+)\](?: - (?P<date>\d{4}-\d\d-\d\d))?.*$", re.MULTILINE)
_PARTS = ("Security", "Breaking", "Changed")
"""What somebody who upgrades has to read; what was mended or is new waits."""

AGREED = re.compile(
    r"apache|\bmit\b|bsd|\bisc\b|python software foundation|psf|\bzpl|unlicense|\b0bsd\b|hpnd|mpl[- ]2|mozilla public license 2"
    r"|lgpl|lesser general public|cnri|zlib",
    re.IGNORECASE,
)
"""Licences that a program under Apache 2.0 may depend on, without what is linked into it."""


KNOWN = {"protobuf": "BSD-3-Clause"}
"""What packages have in their files, and not in their metadata."""


def parts(changelog: str) -> dict[str, tuple[str, str]]:
    """Return the date, empty if there is none, and the text of each version, the newest first."""
    heads = list(_HEAD.finditer(changelog))
    ends = [head.start() for head in heads[1:]] + [len(changelog)]
    return {head["version"]: (head["date"] or "", changelog[head.end() : end].strip()) for head, end in zip(heads, ends)}


def notes(changelog: str, version: str) -> str:
    """Raise KeyError if the changelog has no part for the version."""
    date, text = parts(changelog)[version]
    sections = {
        section.partition("\n")[0].strip(): section.partition("\n")[2].strip()
        for section in re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    }
    chosen = [(title, body) for title, body in sections.items() if title.partition(",")[0] in _PARTS]
    lines = [f"# Upgrading to kconnect {version}{date and f' ({date})'}", ""]
    lines += ["`kconnect doctor` names the running connectors that a new rule concerns. Upgrade one worker after the other."]
    for title, body in chosen:
        lines += ["", f"## {title}", "", body]
    if not chosen:
        lines += ["", "There is nothing to look at."]
    return "\n".join(lines) + "\n"


def newest(changelog: str) -> str | None:
    """Return the newest version that has a date; None if changes that are not released stand above it, or there is none."""
    for version, (date, text) in parts(changelog).items():
        if date:
            return version
        if text:
            return None
    return None


def of_client(settings: str) -> str:
    """Return setup.cfg for kconnect-client: all code, and nothing that only workers need."""
    needed = _values(settings, "kconnect.worker", "requires")
    everything = _values(settings, "options", "install_requires")
    kept = [each for each in everything if _name(each) not in needed]
    if len(kept) + len(needed) != len(everything):
        raise ValueError("[kconnect.worker] names what install_requires has not")
    text = _with(settings, "options", "install_requires", kept)
    # What tests need is kconnect's.
    return _without_extra(_with_name(text, "kconnect-client"), "test")


def of_whole(settings: str) -> str:
    """Return setup.cfg for kconnect: no code, and what needs the client, the rest and all extras."""
    needed = _values(settings, "kconnect.worker", "requires")
    version = re.search(r"^version = (\S+)$", settings, re.MULTILINE)
    assert version is not None
    rest = [each for each in _values(settings, "options", "install_requires") if _name(each) in needed]
    text = _with(settings, "options", "install_requires", [f"kconnect-client=={version[1]}", *rest])
    text = text.replace("packages = find:\n", "packages =\n", 1)
    for section in ("options.packages.find", "options.package_data", "options.entry_points"):
        text = re.sub(rf"^\[{re.escape(section)}\]\n.*?(?=^\[)", "", text, flags=re.MULTILINE | re.DOTALL)
    return _without_extra(text, "test")


def _values(settings: str, section: str, key: str) -> list[str]:
    config = configparser.ConfigParser(interpolation=None)
    config.read_string(settings)
    return [line.strip() for line in config[section][key].splitlines() if line.strip() and not line.strip().startswith("#")]


def _with(settings: str, section: str, key: str, values: Sequence[str]) -> str:
    pattern = rf"(^\[{re.escape(section)}\]\n(?:(?!^\[).*\n)*?^{key} =\n)(?:[ \t]+.*\n)+"
    text, count = re.subn(
        pattern, lambda found: found[1] + "".join(f"    {each}\n" for each in values), settings, flags=re.MULTILINE
    )
    assert count == 1, f"{section} has {count} times {key}"
    return text


def _with_name(settings: str, name: str) -> str:
    return re.sub(r"^name = kconnect$", f"name = {name}", settings, count=1, flags=re.MULTILINE)


def _without_extra(settings: str, extra: str) -> str:
    return re.sub(rf"(?<=\n){extra} =\n(?:[ \t]+.*\n)+", "", settings, count=1)


def _name(requirement: str) -> str:
    return re.split(r"[\s<>=!~\[;]", requirement, maxsplit=1)[0]


def licence_problems(sbom: dict[str, Any]) -> Iterator[str]:
    for component in sbom.get("components", ()):
        names = sorted(set(_licences(component)))
        if not names:
            yield f"{component['name']} {component.get('version')} names no licence: look at it, and note it in KNOWN"
        elif not any(all(AGREED.search(part) for part in re.split(r"\bAND\b", name)) for name in names):
            yield f"{component['name']} {component.get('version')} is under {', '.join(names)}, which nobody has agreed to"


def _licences(component: dict[str, Any]) -> Iterator[str]:
    if component["name"] in KNOWN:
        yield KNOWN[component["name"]]
    for entry in component.get("licenses", ()):
        licence = entry.get("license", {})
        text = entry.get("expression") or licence.get("id") or licence.get("name")
        if text:
            # Some packages have the whole text there.
            yield text[:200]


def of_no_machine(sbom: dict[str, Any]) -> dict[str, Any]:
    """Return a bill of materials without the places of files on the machine that made it."""
    components = []
    for each in sbom.get("components", ()):
        references = [one for one in each.get("externalReferences", ()) if not one["url"].startswith("file:")]
        others = {key: value for key, value in each.items() if key != "externalReferences"}
        components.append({**others, "externalReferences": references} if references else others)
    return {**sbom, "components": components}


def again(sdist: Path, seconds: int) -> None:
    """Write an sdist anew: names in order, all of one time and nobody's."""
    with tarfile.open(sdist) as archive:
        members = [(each, _bytes(archive, each)) for each in sorted(archive.getmembers(), key=lambda each: each.name)]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member, data in members:
            member.mtime, member.uid, member.gid, member.uname, member.gname = seconds, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            archive.addfile(member, io.BytesIO(data) if member.isfile() else None)
    with sdist.open("wb") as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=seconds) as file:
        file.write(packed.getvalue())


def _bytes(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member) if member.isfile() else None
    return b"" if file is None else file.read()


def main(arguments: Sequence[str]) -> int:
    match arguments:
        case ["notes", changelog, version]:
            print(notes(Path(changelog).read_text("utf-8"), version), end="")
        case ["head", changelog]:
            version_of_head = newest(Path(changelog).read_text("utf-8"))
            if version_of_head is None:
                print("release: the head of CHANGELOG.md has no date, or changes stand above it", file=sys.stderr)
                return 1
            print(version_of_head)
        case ["licences", sbom]:
            problems = list(licence_problems(json.loads(Path(sbom).read_text("utf-8"))))
            for problem in problems:
                print(f"release: {problem}", file=sys.stderr)
            return 1 if problems else 0
        case ["sbom", bill]:
            path = Path(bill)
            cleaned = of_no_machine(json.loads(path.read_text("utf-8")))
            path.write_text(json.dumps(cleaned, indent=2, sort_keys=True) + "\n", "utf-8")
        case ["client" | "whole" as which, tree]:
            file = Path(tree) / "setup.cfg"
            settings = file.read_text("utf-8")
            file.write_text(of_client(settings) if which == "client" else of_whole(settings), "utf-8")
            # Setuptools looks for packages by itself where none is named.
            for folder in ("kconnect", "tests", "scripts", "docker") if which == "whole" else ():
                shutil.rmtree(file.parent / folder)
        case ["again", sdist, seconds]:
            again(Path(sdist), int(seconds))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
