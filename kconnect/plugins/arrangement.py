"""
How the directories of an environment can live in one process, told from listing them alone: nothing is imported.

Each is searched in its turn. One that brings what an earlier one has brought already is a realm instead (`realms.py`).
Called by `environments.py`, and by who wants to tell of conflicts before anything runs.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import machinery
from pathlib import Path

OURS = frozenset(("kconnect", "pyspark", "py4j"))
"""Whose classes would not be ours if a plugin brought them along."""

PROTECTED = OURS | sys.stdlib_module_names
"""Never imported from a plugin's directory."""

_SUFFIXES = sorted(machinery.all_suffixes(), key=len, reverse=True)
_EXTENSIONS = tuple(machinery.EXTENSION_SUFFIXES)
_DEEPEST = 4
"""Of namespace packages in each other. What lies deeper in directories without modules is data."""


@dataclass(frozen=True)
class Layout:
    """
    The modules that one directory gives. Names are dotted where they are parts of a namespace package.

    `public` are imported under their own names, and `private` in a realm, if there are any. `clashes` says of each name that
    an earlier directory has brought which one that is; `ignored` are names that no plugin may bring.
    """

    directory: str
    public: frozenset[str]
    private: frozenset[str] = frozenset()
    clashes: Mapping[str, str] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()

    @property
    def is_realm(self) -> bool:
        return bool(self.private)


def arrange(directories: Iterable[str], taken: Mapping[str, str] | None = None) -> list[Layout]:
    """`directories` in their order. `taken` are names that have been brought before, and from where."""
    origins = dict(taken or {})
    layouts = []
    for directory in directories:
        layout = _layout(directory, origins)
        layouts.append(layout)
        for name in layout.public:
            origins.setdefault(name, directory)
    return layouts


def names(directory: str) -> frozenset[str]:
    """Return the names that can be imported from a directory: modules, packages, and the parts of namespace packages."""
    return frozenset(_names(directory, "", _DEEPEST))


def and_above(name: str) -> Iterator[str]:
    """A dotted name and those above it, the first part first."""
    parts = name.split(".")
    return (".".join(parts[: end + 1]) for end in range(len(parts)))


def brings(brought: Container[str], name: str) -> bool:
    """Whether a dotted name is among `brought`, or below one of them."""
    return any(prefix in brought for prefix in and_above(name))


def _layout(directory: str, origins: Mapping[str, str]) -> Layout:
    brought = names(directory)
    ignored = frozenset(name for name in brought if name.partition(".")[0] in PROTECTED)
    brought -= ignored
    clashes = {}
    for name in brought:
        owner = _clash(name, origins)
        if owner is not None and not _same(name, directory, owner):
            clashes[name] = owner
    if not clashes:
        return Layout(directory, brought, ignored=ignored)
    # What the earlier directory has in the same version of the same distribution is taken from there.
    private = {name for name in brought if name in clashes or _clash(name, origins) is None}
    if any(_has_extension(directory, name) for name in clashes):
        return Layout(directory, frozenset(), frozenset(private), clashes, ignored)
    # C extensions can't be in a realm; those that are nobody else's need not.
    public = {name for name in private - clashes.keys() if "." not in name and _has_extension(directory, name)}
    return Layout(directory, frozenset(public), frozenset(private - public), clashes, ignored)


def _names(directory: str, prefix: str, depth: int) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.isidentifier() and entry.is_dir():
            if any(os.path.exists(os.path.join(entry.path, f"__init__{suffix}")) for suffix in _SUFFIXES):
                yield prefix + entry.name
            # What scripts there are is no module of a package `bin`.
            elif depth > 1 and entry.name not in ("__pycache__", "bin"):
                yield from _names(entry.path, f"{prefix}{entry.name}.", depth - 1)
            continue
        suffix = next((ending for ending in _SUFFIXES if entry.name.endswith(ending)), None)
        if suffix is not None and entry.name[: -len(suffix)].isidentifier():
            yield prefix + entry.name[: -len(suffix)]


def _clash(name: str, origins: Mapping[str, str]) -> str | None:
    """Return where that name, one above it or one below it has come from; None if from nowhere."""
    above = next((candidate for candidate in and_above(name) if candidate in origins), None)
    if above is not None:
        return origins[above]
    return next((place for known_name, place in origins.items() if known_name.startswith(f"{name}.")), None)


def _has_extension(directory: str, name: str) -> bool:
    path = os.path.join(directory, *name.split("."))
    if not os.path.isdir(path):
        return any(os.path.exists(path + suffix) for suffix in _EXTENSIONS)
    return any(file.endswith(_EXTENSIONS) for _, _, files in os.walk(path) for file in files)


def _same(name: str, first: str, second: str) -> bool:
    """Whether both have a name from the same version of the same distribution: then one copy serves both."""
    owners = _owners(name, first)
    return bool(owners) and owners == _owners(name, second)


def _owners(name: str, directory: str) -> set[tuple[str, str]]:
    """Distribution and version of what has installed a name there, as the RECORD files say."""
    path = name.replace(".", "/")
    line = re.compile(f'^"?{re.escape(path)}(/|{"|".join(map(re.escape, _SUFFIXES))})', re.MULTILINE)
    distributions = set()
    for record in Path(directory).glob("*.dist-info/RECORD"):
        try:
            text = record.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if line.search(text):
            distribution, _, version = record.parent.name.removesuffix(".dist-info").rpartition("-")
            distributions.add((distribution, version))
    return distributions
