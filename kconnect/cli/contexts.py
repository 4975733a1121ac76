"""
The file of contexts: clusters by name, so that nobody types a URL twice. `kconnect context` writes it, `connection.py`
reads it.

It never holds a password or a token: those come from the environment, or are asked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from kconnect.errors import ConnectError


class ContextError(ConnectError):
    """An error that the contexts' file can't be used, or that the context does not exist."""

    exit_code = 2


@dataclass(frozen=True)
class Context:
    """The way to reach one cluster; None is not said."""

    url: str | None = None
    user: str | None = None
    bootstrap_server: str | None = None
    command_config: str | None = None
    worker_file: str | None = None

    def given(self) -> dict[str, str]:
        return {name: value for name, value in asdict(self).items() if value is not None}


NAMES = tuple(each.name for each in fields(Context))


@dataclass(frozen=True)
class Contexts:
    """The contexts of the file. `current` is used where nobody says otherwise."""

    current: str | None = None
    by_name: Mapping[str, Context] = field(default_factory=dict)

    def get(self, name: str | None = None) -> Context:
        """The context of that name, else the current one, else an empty one. ContextError if there is none of that name."""
        chosen = name or self.current
        if chosen is None:
            return Context()
        if chosen not in self.by_name:
            names = ", ".join(self.by_name) or "none"
            which = "context" if name else "current context"
            raise ContextError(f"There is no {which} {chosen}; known: {names}. `kconnect context set` creates one")
        return self.by_name[chosen]


def file() -> Path:
    path_set = os.environ.get("KCONNECT_CONFIG")
    return Path(path_set).expanduser() if path_set else Path(click.get_app_dir("kconnect")) / "config.yaml"


def load() -> Contexts:
    """No file is no context. ContextError, naming the file, for one that can't be read."""
    path = file()
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return Contexts()
    except (OSError, UnicodeDecodeError) as error:
        raise ContextError(f"{path}, the file of contexts, can't be read: {error}") from None
    from kconnect.cli import yaml_file

    try:
        return _of(yaml_file.load(text) or {})
    except ValueError as error:
        raise ContextError(f"{path}, the file of contexts: {error}. `kconnect context set` writes it") from None


def save(contexts: Contexts) -> Path:
    """Whole or not at all; others on this machine can't read who uses which cluster."""
    import yaml

    path = file()
    document = {"current": contexts.current, "contexts": {name: context.given() for name, context in contexts.by_name.items()}}
    new = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            yaml.safe_dump(document, out, sort_keys=False, allow_unicode=True)
        new.replace(path)
    except OSError as error:
        reason = error.strerror or error
        raise ContextError(
            f"{path}, the file of contexts, can't be written ({reason}): name another place in KCONNECT_CONFIG"
        ) from None
    return path


def check_url(url: str) -> str:
    """The URL, if a client can use it and nothing in it is secret; UsageError."""
    # First, and anywhere: what can't be read is shown below, and may hold one as well.
    if "@" in url:
        raise click.UsageError("A URL must not hold a password: give --user NAME, and the password in KCONNECT_PASSWORD.")
    if not _can_be_asked(url):
        raise click.UsageError(f"{url} is not a worker's URL. Give one like http://localhost:8083.")
    return url


def _can_be_asked(url: str) -> bool:
    try:
        parts = urlsplit(url)
        # A port that is no number, and a host with an empty or too long label, are found here rather than by the client.
        (parts.hostname or "").encode("idna")
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and _is_plain(url)
    except ValueError:
        return False


def _is_plain(url: str) -> bool:
    """Whether paths can be appended to the URL: whatever is behind a `?` or a `#` would swallow them."""
    return url.isprintable() and not {"?", "#", " "} & set(url)


def _of(body: Any) -> Contexts:
    if not isinstance(body, dict) or not isinstance(body.get("contexts") or {}, dict):
        raise ValueError("it must hold `current: NAME` and `contexts: {NAME: {url: …}}`")
    by_name = {}
    for name, settings in (body.get("contexts") or {}).items():
        if not isinstance(settings, dict):
            raise ValueError(f"the context {name} must hold settings, such as `url: http://localhost:8083`")
        if unknown := [key for key in settings if key not in NAMES]:
            # Not its value: somebody may have tried to keep a password here.
            raise ValueError(f"the context {name} has the unknown setting {unknown[0]}: use {', '.join(NAMES)}")
        by_name[str(name)] = Context(**{key: str(value) for key, value in settings.items() if value is not None})
    current = body.get("current")
    return Contexts(None if current is None else str(current), by_name)
