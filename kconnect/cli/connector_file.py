"""
What `kconnect preview` and `kconnect test` are given beside a connector's config: worker files, records.

What is wrong in them is an `InputError`: one sentence, and exit status 2. Read next: `manifests.py` for the configs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kconnect.cli.files import InputError, properties_of, reason_of
from kconnect.errors import ConfigError

if TYPE_CHECKING:
    from kconnect.core.settings.worker import WorkerSettings
    from kconnect.plugins.registry import Registry
    from kconnect.preview.preview import Preview


def worker_of(path: Path | None, bootstrap_servers: str | None = None) -> WorkerSettings:
    """A worker file with the environment's `CONNECT_*` on top, or what a preview does with where there is none."""
    if path is None:
        return worker_with({}, "--bootstrap-server", bootstrap_servers)
    return worker_with(properties_of(path), str(path), bootstrap_servers, os.environ)


def worker_with(
    given: Mapping[str, str], where: str, bootstrap_servers: str | None = None, environ: Mapping[str, str] | None = None
) -> WorkerSettings:
    from kconnect.preview import preview

    try:
        return preview.worker_settings(given, environ or {}, bootstrap_servers)
    except ConfigError as error:
        raise InputError(f"{where}: {' '.join(line.strip() for line in str(error).splitlines())}") from None


def has_brokers(path: Path | None) -> bool:
    """Whether a worker file, or the environment on top of it, says where Kafka is."""
    if path is None:
        return False
    return "CONNECT_BOOTSTRAP_SERVERS" in os.environ or "bootstrap.servers" in properties_of(path)


def build(where: str, config: Mapping[str, str], kind: str | None, settings: WorkerSettings, plugins: Registry) -> Preview:
    """A connector's chain. InputError, naming the file, for a setting that can't be used."""
    from kconnect.plugins import environments
    from kconnect.preview import preview

    environments.prepare(environments.directories(plugins, config, settings))
    try:
        return preview.Preview(config, kind or preview.kind_of(config, plugins), settings, plugins)
    except ConfigError as error:
        raise InputError(f"{where}: {' '.join(str(error).split())}") from None


def plugins_of(settings: WorkerSettings) -> Registry:
    from kconnect.plugins.registry import Registry

    return Registry.scan(settings.plugin_path)


def json_lines(name: str, lines: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Each line's place, for messages, and what it holds. InputError for one that is not JSON."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            where = f"{name}, line {number}"
            try:
                yield where, json.loads(line, parse_constant=_no_number)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{where}: not JSON ({reason_of(error)}); each line must hold one record") from None


def _no_number(text: str) -> Any:
    raise ValueError(f'{text} is not JSON; write "{text}"')
