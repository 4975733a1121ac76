"""
The transform Python: a function of the worker's operator, from a folder that the worker's file allows.

Off unless the worker's `python.transform.path` names folders, because such a function may do all that the worker may. The
framework gives that setting as `worker`, before `configure`; a connector's config can't reach it. Called by the task chain,
and for validation in the sandbox's children, never in the worker's own process.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from kconnect.api import (
    NO_DEFAULT,
    ConfigDef,
    ConfigError,
    ConfigKey,
    DataError,
    Importance,
    SinkRecord,
    SourceRecord,
    Transformation,
    Type,
)

PATH = "python.transform.path"

_NAME = "[A-Za-z_][A-Za-z0-9_]*"
_MODULE = re.compile(rf"{_NAME}(?:\.{_NAME})*", re.ASCII)
_FILE = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)*[A-Za-z0-9_][A-Za-z0-9_.-]*\.py", re.ASCII)
_FUNCTION = re.compile(_NAME, re.ASCII)


class Python(Transformation[Any]):
    worker_settings = (PATH,)
    """The worker's settings that the framework is asked for, as texts in `worker`."""

    worker: Mapping[str, str] = {}

    def config(self) -> ConfigDef:
        return self.config_for({})

    def config_for(self, configs: Mapping[str, Any]) -> ConfigDef:
        """`config()`, and a row for each setting that is the function's."""

        def check(name: str, value: Any) -> None:
            if value is not None:
                self._load(str(value), {name: str(text) for name, text in configs.items() if name not in _FRAMEWORK})

        return ConfigDef(
            ConfigKey(
                "function",
                Type.STRING,
                NO_DEFAULT,
                Importance.HIGH,
                "What to call for each record: `module:function`, or `folder/file.py:function`, within one of the folders that "
                f"the worker's setting {PATH} names. It gets the record and gives it, another, or None to drop it. All other "
                "settings of this transform are handed to it by their names, as texts.",
                check,
            ),
            *(
                ConfigKey(name, Type.STRING, NO_DEFAULT, Importance.MEDIUM, "A setting of the function's own.")
                for name in configs
                if name not in _FRAMEWORK
            ),
        )

    def configure(self, configs: Mapping[str, str]) -> None:
        texts = dict(configs)
        if "function" not in texts:
            raise ConfigError('Missing required configuration "function" which has no default value.')
        self._settings = {name: text for name, text in texts.items() if name not in _FRAMEWORK}
        self._name = texts["function"].strip()
        self._function = self._load(self._name, self._settings)
        self._batch = getattr(self._function, "batch", None)

    def apply(self, record: Any) -> Any:
        return self._checked(self._function(record, **self._settings))

    def apply_all(self, records: Sequence[Any]) -> Sequence[Any]:
        if self._batch is None:
            # So that they are taken one by one: a function with effects of its own must not see a record twice.
            raise NotImplementedError
        results = self._batch(list(records), **self._settings)
        return [self._checked(record) for record in results]

    def _checked(self, record: Any) -> Any:
        if record is None or isinstance(record, SourceRecord | SinkRecord):
            return record
        raise DataError(f"{self._name} must return a record or None, but returned a {type(record).__name__}")

    def _load(self, name: str, settings: Mapping[str, str]) -> Callable[..., Any]:
        folders = [folder.strip() for folder in self.worker.get(PATH, "").split(",") if folder.strip()]
        if not folders:
            raise ConfigError(
                "function",
                name,
                f"Python functions are off on this worker: the worker setting {PATH} names no folder, and only the worker's "
                "administrator can change that. The transform Expression needs no permission",
            )
        file, attribute = _place(name)
        module = _module(name, file, folders)
        function: Callable[..., Any] | None = getattr(module, attribute, None)
        if not callable(function):
            raise ConfigError("function", name, f"{file} has no function {attribute}")
        _check_settings(name, function, settings)
        batch = getattr(function, "batch", None)
        if batch is not None and not callable(batch):
            raise ConfigError("function", name, f"{attribute}.batch must be a function of a list of records")
        return function


_FRAMEWORK = frozenset(("function", "type", "plugin.version", "predicate", "negate"))
"""What validation shows besides the function's own settings; tasks leave all but the first away."""


def _place(name: str) -> tuple[str, str]:
    """The file, relative to a folder, and the function's name."""
    where, separator, attribute = name.strip().rpartition(":")
    if not separator or not _FUNCTION.fullmatch(attribute):
        raise ConfigError("function", name, "it must be module:function or folder/file.py:function")
    if _FILE.fullmatch(where) and ".." not in where:
        return where, attribute
    if _MODULE.fullmatch(where):
        return f"{where.replace('.', '/')}.py", attribute
    raise ConfigError(
        "function",
        name,
        f"it must be module:function or folder/file.py:function, of plain names, within a folder of the worker's {PATH}",
    )


def _module(name: str, file: str, folders: Sequence[str]) -> ModuleType:
    for folder in folders:
        # Both sides are resolved: a link, wherever on the way, that leads out of the folder is no file of it.
        root = os.path.realpath(folder)
        path = os.path.realpath(os.path.join(root, file))
        if os.path.commonpath((root, path)) == root and os.path.isfile(path):
            return _imported(name, path, root)
    raise ConfigError("function", name, f"there is no {file} in the folders of the worker's {PATH}")


def _imported(name: str, path: str, root: str) -> ModuleType:
    """The file as a module of its own, read anew: a changed one counts for tasks that start after that."""
    if root not in sys.path:
        # At the end: what it imports may lie beside it, but nothing there takes the place of a library.
        sys.path.append(root)
    module_name = f"kconnect_transform_{hashlib.sha256(path.encode()).hexdigest()[:16]}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ConfigError("function", name, f"{path} can't be imported: {type(error).__name__}: {error}") from error
    return module


def _check_settings(name: str, function: Callable[..., Any], settings: Mapping[str, str]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(None, **settings)
    except TypeError as error:
        raise ConfigError(
            "function", name, f"it can't be called with a record and these settings ({', '.join(settings) or 'none'}): {error}"
        ) from None
