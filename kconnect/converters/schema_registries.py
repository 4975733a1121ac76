"""
Opens the schema registry that settings name: one over HTTP, or one in memory. Called by `avro.py` and `subjects.py`.

Read next: `schema_registry.py`, `schema_registry_http.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.converters.schema_registry import MemoryRegistry, Registry
from kconnect.converters.schema_registry_login import URL
from kconnect.errors import ConfigError


def open_registry(settings: Mapping[str, Any]) -> Registry:
    """
    Return the registry that the settings name, as `schema_registry_login.CONFIG_KEYS` has parsed them. Raise ConfigError if
    they can't be used.
    """
    urls = [url.rstrip("/") for url in settings[URL] if url]
    if not urls:
        raise ConfigError(URL, settings[URL], "No schema registry is named; give its URL, such as http://localhost:8081")
    scopes = {url[len("mock://") :] for url in urls if url.startswith("mock://")}
    if scopes:
        if len(scopes) > 1 or not all(url.startswith("mock://") for url in urls):
            # Their texts stay out of it: there may be a password in one.
            raise ConfigError(f"Only one mock scope is permitted for '{URL}', and no other URLs beside it")
        return MemoryRegistry.of(scopes.pop())
    # Here, for it takes 20 MB and longer to import than all else of AvroConverter: who has none over HTTP does without.
    from kconnect.converters.schema_registry_http import HttpRegistry

    return HttpRegistry(urls, settings)
