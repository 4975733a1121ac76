"""The built-in plugins by their Java names; a missing one makes the case fail."""

from __future__ import annotations

import functools
from typing import Any

from kconnect.plugins.registry import Registry


@functools.cache
def _registry() -> Registry:
    return Registry.scan(None)


@functools.cache
def load(name: str, kind: str) -> Any:
    """The class that stands for a Java class."""
    return _registry().load(name, kind)


def validation(plugin: Any, config: dict[str, Any]) -> dict[str, list[str]]:
    """The messages for each setting that has any, of validating a config."""
    return {value.name: list(value.errors) for value in plugin.config().validate(config) if value.errors}
