"""
What the makers of a chain in Python and of one in Java have to say of an alias alike.

Called by `transforms.py` and `java_chain.py`. Read next: `core/settings/aliases.py`, for how a config names transforms and
predicates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kconnect.core.settings.aliases import Alias
from kconnect.errors import ConfigError, ConnectError


def named(alias: Alias) -> str:
    return f"{alias.prefix.rstrip('.')} ({alias.type})"


@contextmanager
def configuring(alias: Alias) -> Iterator[None]:
    """Name the alias in the ConfigError that comes of any error in the block. One without a type is refused before it."""
    if not alias.type:
        raise ConfigError(f'Missing required configuration "{alias.prefix}type" which has no default value.')
    try:
        yield
    except ConnectError as error:
        raise ConfigError(f"{named(alias)} can't be used: {error}") from error


def predicate_of(transform: Alias, predicates: Mapping[str, Alias]) -> Alias | None:
    """Return the predicate of a transform, None if it has none. ConfigError for one that the config does not define."""
    if transform.predicate is None:
        return None
    if transform.predicate not in predicates:
        raise ConfigError(f"{transform.prefix}predicate", transform.predicate, "there is no predicate of that alias")
    return predicates[transform.predicate]
