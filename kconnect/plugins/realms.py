"""
A realm: modules of a directory whose names are taken already in this process, under other names.

The module `flat` of realm 1 is `_realm_1.flat` wherever Python keeps names (`__name__`, `__package__`, `sys.modules`), so
relative imports, dataclasses and pickle find what belongs to them. Absolute imports are what needs help: the realm's modules
have an `__import__` of their own, which takes what the realm has from the realm. C extensions are refused: they have one name,
and many of them one state, in a process. Made by `environments.py`. What code in a realm sees of `importlib`: `_Views`.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.metadata
import importlib.resources
import importlib.util
import pkgutil
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader
from importlib.machinery import (
    ExtensionFileLoader,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from types import ModuleType
from typing import Any

from kconnect.plugins import arrangement

_PREFIX = re.compile(r"^_realm_\d+\.")


def plain_name(module: str) -> str:
    """A module's name as its author knows it, without that of its realm."""
    return _PREFIX.sub("", module)


class Realm:
    """
    `names`, dotted, are what it has, to be found in `paths`. `clashes` says of some of them who else has them; `reason`, for
    errors, why its directory is a realm. Numbers are used once in a process.
    """

    def __init__(
        self, number: int, paths: Sequence[str], names: frozenset[str], clashes: Mapping[str, str], reason: str
    ) -> None:
        self.name = f"_realm_{number}"
        self.paths = list(paths)
        self._names, self._clashes, self._reason = names, clashes, reason
        # `google` of `google.cloud`: a namespace package that is in the realm and outside of it.
        self._above = {name.rsplit(".", depth)[0] for name in names for depth in range(1, name.count(".") + 1)}
        self._views = _Views(self)
        self._builtins = {**vars(builtins), "__import__": self._import}
        package = ModuleType(self.name)
        package.__path__ = self.paths
        package.__spec__ = ModuleSpec(self.name, None, is_package=True)
        sys.modules[self.name] = package

    def has(self, name: str) -> bool:
        return arrangement.brings(self._names, name)

    def mapped(self, name: str) -> str:
        """The name under which this process knows what the realm's code calls so."""
        return f"{self.name}.{name}" if self.has(name) or name in self._above else name

    def import_module(self, name: str) -> ModuleType:
        return importlib.import_module(self.mapped(name))

    def find_spec(self, name: str, path: Sequence[str] | None) -> ModuleSpec | None:
        """Return the spec of a module of the realm by its full name; for the finder on `sys.meta_path`."""
        spec = PathFinder.find_spec(name, self.paths if path is None else path)
        if spec is None or spec.loader is None:
            return spec
        if isinstance(spec.loader, ExtensionFileLoader):
            spec.loader = _Refused(self._refusal(name, spec.origin or "?"))
        elif isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Source(spec.loader.name, spec.loader.path)
            spec.loader.builtins = self._builtins
        elif isinstance(spec.loader, SourcelessFileLoader):
            spec.loader = _Sourceless(spec.loader.name, spec.loader.path)
            spec.loader.builtins = self._builtins
        return spec

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        """Import a module for the realm's modules, in the place of `__import__`. A relative import needs no help."""
        fromlist = fromlist or ()
        if level == 0 and self._is_meant(name, fromlist):
            module = builtins.__import__(f"{self.name}.{name}", globals, locals, fromlist, 0)
            return module if fromlist else sys.modules[f"{self.name}.{name.partition('.')[0]}"]
        module = builtins.__import__(name, globals, locals, fromlist, level)
        return self._views.get(module)

    def _is_meant(self, name: str, fromlist: Sequence[str]) -> bool:
        if name in self._above:
            return not fromlist or any(self.has(f"{name}.{attribute}") for attribute in fromlist)
        return self.has(name)

    def _refusal(self, name: str, file: str) -> str:
        module_name = plain_name(name)
        owner = next((place for clash, place in self._clashes.items() if arrangement.brings((clash,), module_name)), None)
        both = f"{module_name.partition('.')[0]} is in {owner}, too, and {file}" if owner else file
        return (
            f"{both} is a C extension, which can't be loaded beside others of its name in one process. {self._reason} Use "
            "versions of these plugins that need the same version of it, or install them into one directory of plugin.path"
        )


class _Source(SourceFileLoader):
    builtins: dict[str, Any]

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self.builtins
        super().exec_module(module)


class _Sourceless(SourcelessFileLoader):
    builtins: dict[str, Any]

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = self.builtins
        super().exec_module(module)


class _Refused(Loader):
    """
    A loader that refuses a C extension. The error is the import's, and not the search's: code that asks whether there is one
    gets an answer, and code that can do without goes on.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        raise ImportError(self._text, name=spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Never called: there is no module."""


class _View(ModuleType):
    """A module as the realm's code sees it: some functions are the realm's, the rest is the module's own."""

    def __init__(self, module: ModuleType, own: Mapping[str, Any]) -> None:
        super().__init__(module.__name__, module.__doc__)
        self.__dict__.update(own)
        self.__dict__["_viewed"] = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_viewed"], name)


class _Views:
    """Views of the modules of the standard library that look up modules or distributions by their names."""

    def __init__(self, realm: Realm) -> None:
        def mapped(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(name: Any, *args: Any, **kwargs: Any) -> Any:
                return function(realm.mapped(name) if isinstance(name, str) else name, *args, **kwargs)

            return call

        def import_module(name: str, package: str | None = None) -> ModuleType:
            if name.startswith("."):
                return importlib.import_module(name, None if package is None else realm.mapped(package))
            return realm.import_module(name)

        def distribution(distribution_name: str) -> importlib.metadata.Distribution:
            distributions = importlib.metadata.distributions(name=distribution_name, path=realm.paths)
            return next(iter(distributions), None) or importlib.metadata.distribution(distribution_name)

        def requires(distribution_name: str) -> list[str] | None:
            return distribution(distribution_name).requires

        resources = importlib.resources
        names = [name for name in ("files", "read_text", "read_binary", "open_text", "open_binary", "path", "contents",
                                   "is_resource") if hasattr(resources, name)]  # fmt: skip
        metadata = {
            "distribution": distribution,
            "version": lambda distribution_name: distribution(distribution_name).version,
            "metadata": lambda distribution_name: distribution(distribution_name).metadata,
            "files": lambda distribution_name: distribution(distribution_name).files,
            "requires": requires,
        }
        views = {
            "importlib.metadata": _View(importlib.metadata, metadata),
            "importlib.resources": _View(resources, {name: mapped(getattr(resources, name)) for name in names}),
            "importlib.util": _View(importlib.util, {"find_spec": mapped(importlib.util.find_spec)}),
            "pkgutil": _View(pkgutil, {"get_data": mapped(pkgutil.get_data)}),
        }
        below = {name.partition(".")[2]: view for name, view in views.items() if name.startswith("importlib.")}
        views["importlib"] = _View(importlib, {"import_module": import_module, **below})
        self._views = views

    def get(self, module: Any) -> Any:
        return self._views.get(getattr(module, "__name__", ""), module)
