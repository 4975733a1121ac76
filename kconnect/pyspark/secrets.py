"""
Secrets of a frame: options that hold one as it is are refused, and references are resolved where the secret is used.

Spark shows the options of a data source in its plans, its UI and its event log, as they were given. So an option has a
reference, `${env:KAFKA_PASSWORD}`, `${file:/run/secrets/kafka.properties:password}` or `${dir:/run/secrets:password}`, and each
process of the driver and the executors asks for itself what it stands for, by kconnect's own config providers. Called by
`options.py` and `cluster.py`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping

from kconnect.core.settings import references
from kconnect.core.settings import secrets as settings
from kconnect.core.settings.references import Reference, Resolved
from kconnect.errors import ConfigError, ConnectError

REMEDY = (
    "Write a reference instead, which each machine resolves for itself, such as ${env:KAFKA_PASSWORD} or "
    "${file:/run/secrets/kafka.properties:password}; or name a file with it in credentials.file, or a context of the CLI in "
    "context"
)
_OF_FILE = ("kafka.", "key.converter.", "value.converter.")
_WITHIN = re.compile(r"(password|secret|token)\s*=\s*(\"[^\"]|'[^']|[^\s\"';])", re.IGNORECASE)
"""In a login line of Java's, an option with a value that is no reference: those have been taken out."""


def is_literal(name: str, text: str) -> bool:
    """Whether an option, or a setting, holds a secret as it is rather than a reference."""
    if name.lower().endswith("sasl.jaas.config"):
        return _WITHIN.search("".join(references.literals(text))) is not None
    if settings.is_secret(name):
        return any(part.strip(" :") for part in references.literals(text))
    return bool(settings.plain({"": text}))


def resolved(options: Mapping[str, str]) -> dict[str, str]:
    """
    Return settings with their references replaced, as this process may read them. Raise ConfigError, naming setting, reference
    and machine, for one that can't be had.
    """
    found = {ref for text in options.values() for ref in references.find(text)}
    values: dict[Reference, str] = {}
    failures: dict[Reference, str] = {}
    for ref in found:
        try:
            values[ref] = _value(ref)
        except ConnectError as error:
            failures[ref] = f"{error} (on {socket.gethostname()})"
    return Resolved(values, failures).config(options)


def _value(ref: Reference) -> str:
    from kconnect.providers.directory_config_provider import DirectoryConfigProvider
    from kconnect.providers.env_config_provider import EnvVarConfigProvider
    from kconnect.providers.file_config_provider import FileConfigProvider

    # Whoever writes a frame's options runs code in this process: the providers' limits are for those who may not.
    providers = {
        "env": (EnvVarConfigProvider, {"allowlist.pattern": ".*"}),
        "file": (FileConfigProvider, {"allowed.paths": "/"}),
        "dir": (DirectoryConfigProvider, {"allowed.paths": "/"}),
    }
    if ref.provider not in providers:
        raise ConnectError(f"there is no provider {ref.provider}: use env, file or dir")
    kind, parameters = providers[ref.provider]
    provider = kind()
    provider.configure(parameters)
    value = provider.get(ref.path, [ref.key]).data.get(ref.key)
    if value is None:
        place = f" at the path {ref.path}" if ref.path else ""
        raise ConnectError(f"the provider {ref.provider} has no {ref.key}{place}")
    return value.rstrip("\n") if ref.provider == "dir" else value


def of_file(path: str) -> dict[str, str]:
    """Return the options of a properties file. Raise ConfigError if this machine has no such file, or can't read it."""
    from kconnect.java import properties
    from kconnect.providers.common import AllowedPaths, text

    try:
        data = AllowedPaths("/", "credentials.file").read(path)
        if data is None:
            raise ConnectError("there is no such file")
        options = {name.lower(): value for name, value in properties.load(text(path, data)).items()}
    except ConnectError as error:
        raise ConfigError(
            "credentials.file", path, f"{error} (on {socket.gethostname()}). Each machine that runs Spark needs it"
        ) from None
    for name in options:
        if not name.startswith(_OF_FILE):
            raise ConfigError(
                "credentials.file", path, f"it has {name}, and may have {', '.join(f'{part}*' for part in _OF_FILE)}"
            )
    return options
