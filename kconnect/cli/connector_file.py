"""
Files that `kconnect preview` and `kconnect test` are given: connectors' configs, worker files, records.

What is wrong in them is an `InputError`: one sentence, and exit status 2.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kconnect.api.errors import ConfigError, ConnectError
from kconnect.core.settings import properties
from kconnect.core.settings.worker import WorkerSettings
from kconnect.plugins.registry import Registry
from kconnect.worker import preview

_REMEDY = 'it must hold {"name": …, "config": {…}} as REST takes it, or the settings alone'


class InputError(ConnectError):
    exit_code = 2


def config_of(path: Path) -> dict[str, str]:
    """A connector's settings: JSON as REST takes it, the same in YAML, or a properties file."""
    text = text_of(path)
    if path.suffix == ".properties":
        return _properties(path, text)
    try:
        if path.suffix in (".yaml", ".yml"):
            from kconnect.cli import yaml_file

            body = yaml_file.load(text, numbers=False)
        else:
            # Numbers stay as they are written.
            body = json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: this is not {'YAML' if path.suffix != '.json' else 'JSON'} ({error}); {_REMEDY}") from None
    return as_config(body, str(path))


def as_config(body: Any, where: str) -> dict[str, str]:
    """The settings of a connector, whether they stand alone or below `config`."""
    name = None
    if isinstance(body, dict) and isinstance(body.get("config"), dict):
        name, body = body.get("name"), body["config"]
    if not isinstance(body, dict) or not body:
        raise InputError(f"{where}: there is no connector's config; {_REMEDY}")
    found = {} if name is None else {"name": str(name)}
    for setting, value in body.items():
        if isinstance(value, dict | list):
            kind = "an object" if isinstance(value, dict) else "a list"
            raise InputError(f"{where}: the setting {setting} is {kind}, but settings are texts: write it as one text")
        if isinstance(value, bool):
            found[str(setting)] = "true" if value else "false"
        elif value is not None:
            found[str(setting)] = str(value)
    return found


def worker_of(path: Path | None, bootstrap_servers: str | None = None) -> WorkerSettings:
    """A worker file with the environment's `CONNECT_*` on top, or what a preview does with where there is none."""
    if path is None:
        return worker_with({}, "--bootstrap-server", bootstrap_servers)
    return worker_with(_properties(path, text_of(path)), str(path), bootstrap_servers, os.environ)


def worker_with(
    given: Mapping[str, str], where: str, bootstrap_servers: str | None = None, environ: Mapping[str, str] | None = None
) -> WorkerSettings:
    try:
        return preview.worker_settings(given, environ or {}, bootstrap_servers)
    except ConfigError as error:
        raise InputError(f"{where}: {' '.join(line.strip() for line in str(error).splitlines())}") from None


def has_brokers(path: Path | None) -> bool:
    """Whether a worker file, or the environment on top of it, says where Kafka is."""
    if path is None:
        return False
    return "CONNECT_BOOTSTRAP_SERVERS" in os.environ or "bootstrap.servers" in _properties(path, text_of(path))


def build(
    where: str, config: Mapping[str, str], kind: str | None, settings: WorkerSettings, plugins: Registry
) -> preview.Preview:
    """A connector's chain. InputError, naming the file, for a setting that can't be used."""
    try:
        return preview.Preview(config, kind or preview.kind_of(config, plugins), settings, plugins)
    except ConfigError as error:
        raise InputError(f"{where}: {' '.join(str(error).split())}") from None


def plugins_of(settings: WorkerSettings) -> Registry:
    return Registry.scan(settings.plugin_path)


def json_lines(name: str, lines: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Each line's place, for messages, and what it holds. InputError for one that is not JSON."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            where = f"{name}, line {number}"
            try:
                yield where, json.loads(line, parse_constant=_no_number)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{where}: not JSON ({error}); each line must hold one record") from None


def _no_number(text: str) -> Any:
    raise ValueError(f'{text} is no JSON; write "{text}"')


def text_of(path: Path) -> str:
    """InputError if it can't be read."""
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: this is not UTF-8 ({error.reason} at byte {error.start})") from None


def _properties(path: Path, text: str) -> dict[str, str]:
    try:
        return properties.load(text)
    except ConfigError as error:
        raise InputError(f"{path}: {error}") from None
