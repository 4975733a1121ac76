"""
What Java plugins ask of the Java and the Connect that they run in: read from their jars, or found out by loading a class.

`releases` is called by `plugins/java_examination.py`. `missing` is called by `plugins/java_installation.py` for a place in
which a scan found no plugin: Connect's scanners only log why a class can't be loaded. It loads them in a process of its own
(`python -m kconnect.jvm.demands`). Read before: `scan.py`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from kconnect import interpreter
from kconnect.errors import ConnectError

_TRIED = 20
_LIKELY = re.compile(r"(?!META-INF/)[\w/]+(?:Connector|Converter|Transformation|Predicate|ConfigProvider)\.class")
"""Files of classes that are meant as plugins, by their names."""
_ABSENT = re.compile(r"(?:NoClassDefFoundError|ClassNotFoundException): (?:Could not initialize class )?([\w/.$]+)")


def releases(place: Path, class_names: Collection[str]) -> dict[str, int]:
    """The oldest Java that can load each of these classes; without those that can't be found."""
    java_versions: dict[str, int] = {}
    class_by_file = {f"{name.replace('.', '/')}.class": name for name in class_names}
    for jar in _jars(place):
        with suppress(OSError, zipfile.BadZipFile, KeyError), zipfile.ZipFile(jar) as archive:
            for file in class_by_file.keys() & set(archive.namelist()):
                with archive.open(file) as content:
                    # Java 17 has the class files of version 61.
                    java_versions.setdefault(class_by_file[file], int.from_bytes(content.read(8)[6:], "big") - 44)
    return java_versions


def missing(place: Path) -> list[str]:
    """Sentences about classes that are meant as plugins, and can't be loaded; none if there are none."""
    names = _meant(place)
    if not names:
        return []
    order = json.dumps({"place": str(place), "classes": names})
    process = subprocess.run(interpreter.command("kconnect.jvm.demands"), input=order, capture_output=True, text=True)
    sentences: dict[str, str] = {}
    with suppress(ValueError):
        for name, error in json.loads(process.stdout).items():
            absent = _ABSENT.search(error)
            what = absent[1].replace("/", ".") if absent else error
            sentences.setdefault(
                what,
                f"{name} needs {what}, which is neither in the plugin nor in Kafka Connect"
                if absent
                else f"{name} can't be loaded: {what}",
            )
    return list(sentences.values())


def _meant(place: Path) -> list[str]:
    listed: dict[str, None] = {}
    likely: dict[str, None] = {}
    for jar in _jars(place):
        with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(jar) as archive:
            for file in archive.namelist():
                if file.startswith("META-INF/services/org.apache.kafka."):
                    lines = archive.read(file).decode("utf-8", "replace").splitlines()
                    listed.update(dict.fromkeys(filter(None, (line.partition("#")[0].strip() for line in lines))))
                elif _LIKELY.fullmatch(file):
                    likely[file.removesuffix(".class").replace("/", ".")] = None
    return list(listed or likely)[:_TRIED]


def _jars(place: Path) -> Iterator[Path]:
    yield from [place] if place.is_file() else sorted(file for file in place.rglob("*") if file.name.lower().endswith(".jar"))


def main() -> None:
    """
    Load classes in a process of its own: they come as JSON on standard input, and so go the errors of those that have one.
    """
    from kconnect.jvm import loading

    order = json.loads(sys.stdin.read())
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    errors = {}
    for name in order["classes"]:
        try:
            # What its methods take and give is looked for when they are asked for.
            loading.find(name, order["place"]).getDeclaredMethods()
        except ConnectError as error:
            errors[name] = " ".join(str(error).split())
        except Exception as error:  # noqa: BLE001 - whatever Java throws is the answer
            errors[name] = " ".join(str(error).split())
    out.write(json.dumps(errors))
    out.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
