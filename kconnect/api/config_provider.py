"""
Config providers: they supply the values of references such as `${vault:db/orders:password}` (KIP-297). Plugin authors
implement them; `config.providers` in the worker file names them.

One instance serves all units of a process. Configs are stored and shown with their references. A value from a provider reaches
only the code that is configured with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ConfigData:
    """
    The values that a provider found, by key. A key that the provider does not have is left out.

    `ttl` says for how many milliseconds the values are valid; None means for ever. After that time the connectors and tasks
    that were started with the values are restarted, unless the connector's `config.action.reload` is `none`.

    `repr()` shows only the keys, because the values may be secrets.
    """

    data: Mapping[str, str]
    ttl: int | None = None

    def __repr__(self) -> str:
        return f"ConfigData({', '.join(sorted(map(str, self.data)))})"


class ConfigProvider(ABC):
    """
    Supplies values for references.

    `get` may be called from several threads at once. The caller stops waiting after a while and discards a later answer.

    If `get` raises a ConnectError, its text is shown to users, so the text must not quote a value. Of any other error only the
    class is shown.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, str]) -> None:
        """Called once, before the first `get`, with `config.providers.<name>.param.*` without that prefix."""

    @abstractmethod
    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        """The values of `keys` at `path`; `path` is empty if the reference has none. Raise ConnectError if it can't be read."""

    def version(self) -> str:
        return "undefined"

    def close(self) -> None:
        """Release what `configure` acquired."""
