"""
Java plugins on their way into a directory of `plugin.path`: what the user means, its name and version, and its files.

Called by `cli/plugins/install_java.py`. One is named by Maven coordinates, or by what a vendor's page gives: an archive, a jar,
a folder. Which of these are for Python `source_of` tells. Read next: `installation.py`, which puts the directory in its place;
`jvm/maven.py`, `jvm/unpacking.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kconnect.errors import BadRequestError
from kconnect.java import versions
from kconnect.jvm import demands, maven, unpacking
from kconnect.jvm import scan as jvm
from kconnect.jvm.maven import Coordinates
from kconnect.plugins import installation
from kconnect.plugins.registry import PluginDesc

_OF_PYTHON = ("pyproject.toml", "setup.py", "setup.cfg", "PKG-INFO")
_OF_SOURCES = ("pom.xml", "build.gradle", "build.gradle.kts")
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*", re.ASCII)

_OF_WORKER = {artefact for _, artefact in maven.FRAMEWORK} - {"connect-json", "connect-transforms"}
"""Of these two a vendor's archive may need its own, which Connect loads apart from the worker's."""

Source = Coordinates | Path
"""Where a plugin comes from."""


@dataclass(frozen=True)
class JavaPlan:
    """
    The Java plugin to install. The version is empty as long as nothing tells it. `there` is the directory that this would
    replace.
    """

    name: str
    version: str
    plugin_path: Path

    @property
    def target(self) -> Path:
        return self.plugin_path / (f"{self.name}-{self.version}" if self.version else self.name)

    @property
    def replaced(self) -> Path | None:
        return self.target if os.path.lexists(self.target) else None

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


def source_of(text: str, most: int | None = None) -> Source | None:
    """
    Return where the Java plugin comes from that the user means; None if it is none of Java's. `most` is as in
    `unpacking.unpack`.

    Raises:
        BadRequestError: it is meant to be Java's, but is no coordinate or no archive of a plugin
    """
    coordinates = maven.coordinates(text)
    if coordinates is not None:
        return coordinates
    path = Path(text).expanduser()
    if "://" in text or not path.exists():
        return None
    if path.is_dir():
        # As with pip, a directory is known by its slash.
        is_ours = (os.sep in text or text.startswith(".")) and not any((path / name).exists() for name in _OF_PYTHON)
        return path.absolute() if is_ours and jvm.is_java(path) else None
    if path.name.lower().endswith(".jar"):
        return path.absolute()
    if not unpacking.is_archive(path):
        return None
    names = unpacking.names(path, most)
    if any(PurePosixPath(name).name in _OF_PYTHON and len(PurePosixPath(name).parts) <= 2 for name in names):
        return None
    if not any(name.lower().endswith(".jar") for name in names):
        raise BadRequestError(
            f"{text} is not a plugin: it holds neither jars, as a plugin for Java does, nor a Python package. "
            f"{_sources(names) or 'Look for another download on the page that it is from'}"
        )
    return path.absolute()


def planned(source: Source, plugin_path: Path) -> JavaPlan:
    """Return a plan by what the source is called; `prepare` finds out more."""
    if isinstance(source, Coordinates):
        return JavaPlan(source.artefact, source.version, plugin_path)
    name = source.name
    for ending in (*unpacking.ENDINGS, ".jar"):
        if source.is_file() and name.lower().endswith(ending):
            name = name[: -len(ending)]
            break
    return _plan(*installation.parts_of(name.removesuffix("-plugin")), plugin_path, source)


def prepare(
    source: Source, planned: JavaPlan, directory: Path, tell: Callable[[str], None], most: int | None = None
) -> JavaPlan:
    """
    Put the plugin's files into a directory that is empty; gives the plan, with name and version as its own manifest has them.
    `most`: as `unpacking.unpack` has it.

    Raises:
        BadRequestError: an archive is damaged, holds too much, or would write elsewhere
        NotFoundError: the repository has no such artefact
        ConnectError: it can't be reached
    """
    if isinstance(source, Coordinates):
        tell(f"Looking for {source}")
        fetched = maven.archive(source, directory.parent, tell)
        if fetched is None:
            maven.jars_of(source, directory, tell)
            return planned
        unpacking.unpack(fetched, directory, most)
        fetched.unlink()
        return planned
    tell(f"Unpacking {source.name}")
    if source.is_file() and unpacking.is_archive(source):
        unpacking.unpack(source, directory, most)
    else:
        unpacking.copy(source, directory)
    named = unpacking.manifest(directory)
    return planned if named is None else _plan(*named, planned.plugin_path, directory / "manifest.json")


def of_worker(directory: Path) -> list[Path]:
    """
    The jars in a plugin's directory that it has from the worker, whatever it brings: they would only seem to be plugins, as
    `StringConverter` and `FileConfigProvider`, or to be a log's binding.
    """
    worker_jars = []
    for file in sorted(directory.rglob("*.jar")):
        name, version = installation.parts_of(file.stem)
        if version and name in _OF_WORKER:
            worker_jars.append(file)
    return worker_jars


def versioned(planned: JavaPlan, plugins: Iterable[PluginDesc]) -> JavaPlan:
    """Return the plan with the version of the plugin's classes, if they agree and nothing else has told one."""
    of_classes = {plugin.version for plugin in plugins}
    if len(of_classes) != 1 or not _NAME.fullmatch(version := of_classes.pop()):
        return planned
    return planned if version == versions.UNDEFINED else JavaPlan(planned.name, version, planned.plugin_path)


def why_nothing(directory: Path) -> str:
    """Return a sentence that explains why no plugin was found in `directory`."""
    missing = demands.missing(directory)
    if missing:
        return "; ".join(missing)
    names = [str(file.relative_to(directory)) for file in directory.rglob("*")]
    return (
        "none of its classes is a connector, converter, transform, predicate or config provider. "
        f"{_sources(names) or 'It may be a library that plugins use, or the download of something else'}"
    )


def _sources(names: Iterable[str]) -> str:
    if any(PurePosixPath(name).name in _OF_SOURCES for name in names):
        return "It looks like the project's sources: download its release, which has jars"
    return ""


def _plan(name: str, version: str, plugin_path: Path, source: Path) -> JavaPlan:
    for what, text in (("name", name), ("version", version)):
        if text and not _NAME.fullmatch(text):
            raise BadRequestError(
                f"{source} gives the {what} {text!r}, which can't be a part of a directory's name: use letters, digits, dots "
                "and dashes"
            )
    if not name:
        raise BadRequestError(f"{source} gives no name for the plugin: rename it to NAME-VERSION")
    return JavaPlan(name, version, plugin_path)
