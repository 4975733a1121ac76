"""
Which files of kconnect something passes: CONTRIBUTING's walks name them all, and `test_walks.py` compares.

A file is passed if one of its functions takes the thing, returns it, or has it returned by another function. The thing is known
by a text that nothing else holds: a record's value, a connector's name.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import kconnect

ROOT = Path(kconnect.__file__).parents[1]
PACKAGE = f"{ROOT}/kconnect/"
_LOGS = f"{PACKAGE}processes/"
"""Sees what others log, if a test before has set up the log."""

_DEEP, _MANY = 5, 64
_FILE = re.compile(r"`((?:kconnect/[\w/]+/)?)(\w+\.(?:py|java))`")


class Walk:
    """The files that a thing passes in the threads that `watched` sees."""

    def __init__(self, text: str) -> None:
        self._text, self._bytes = text, text.encode()
        self.files: set[str] = set()

    def _looks(self, frame: FrameType, event: str, value: Any) -> None:
        code = frame.f_code
        if not _counts(code.co_filename):
            return
        if event == "call":
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 2]
            arguments = {name: value for name, value in frame.f_locals.items() if name in names and name != "self"}
            if self._holds(arguments):
                self.files.add(_name(code.co_filename))
        elif event == "return" and self._holds(value):
            self.files.add(_name(code.co_filename))
            caller = frame.f_back
            if caller is not None and _counts(caller.f_code.co_filename):
                self.files.add(_name(caller.f_code.co_filename))

    def _holds(self, value: Any, depth: int = _DEEP) -> bool:
        kind = type(value)
        if kind is str:
            return self._text in value
        if kind in (bytes, bytearray):
            return self._bytes in value
        if not depth:
            return False
        if isinstance(value, list | tuple | set | frozenset):
            return any(self._holds(element, depth - 1) for element in list(value)[:_MANY])
        if isinstance(value, dict):
            return any(self._holds(pair, depth - 1) for pair in list(value.items())[:_MANY])
        if kind.__name__ == "Message" and kind.__module__.startswith("confluent_kafka"):
            return self._holds(value.value(), depth - 1)
        if kind.__module__ == "starlette.requests":
            return self._holds(value.scope["path"])
        return _carries(kind) and any(self._holds(field, depth - 1) for field in _fields(value))


def _counts(path: str) -> bool:
    return path.startswith(PACKAGE) and not path.startswith(_LOGS)


def _name(path: str) -> str:
    return path[len(str(ROOT)) + 1 :]


def _carries(kind: type[Any]) -> bool:
    """Return whether what an object holds is what it is: records, columns, requests, and not the machines that see them."""
    places = ("kconnect.api.record", "kconnect.core.task.batch", "kconnect.data.column")
    return kind.__module__ in places or (dataclasses.is_dataclass(kind) and kind.__module__.startswith("kconnect."))


def _fields(value: Any) -> Iterator[Any]:
    for kind in type(value).__mro__:
        for name in getattr(kind, "__slots__", ()):
            yield getattr(value, name, None)
    yield from getattr(value, "__dict__", {}).values()


@contextmanager
def watched(text: str) -> Iterator[Walk]:
    """Watch this thread, and those that start in the block, for what holds `text`."""
    walk = Walk(text)
    before = sys.getprofile()
    threading.setprofile(walk._looks)
    sys.setprofile(walk._looks)
    try:
        yield walk
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def section(title: str) -> str:
    """Return the part of CONTRIBUTING under a heading that begins with `title`."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    return re.split(r"^#{2,3} ", text.partition(f"\n### {title}")[2], maxsplit=1, flags=re.M)[0]


def files(text: str) -> list[str]:
    """
    Return the files that a text names, each once, in its order. A name without a folder is in the folder of the file before it.
    """
    folder, paths = "", dict[str, None]()
    for named, file in _FILE.findall(text):
        folder = named or folder
        paths[folder + file] = None
    return list(paths)


def steps(title: str) -> list[str]:
    """Return the files that the numbered steps of a walk name."""
    items = re.findall(r"^\d+\. .*?(?=^\d+\. |^$)", section(title), flags=re.M | re.S)
    return files("".join(items))


def imports(path: str) -> set[str]:
    """Return the files of kconnect that a file imports, at its top or in a function."""
    named: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            named |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in (f"{module.replace('.', '/')}.py" for module in named) if (ROOT / name).is_file()}
