"""
Config providers: where the values of references such as `${vault:db/orders:password}` come from (KIP-297). Implemented by
plugin authors, named in the worker file as `config.providers`.

One instance serves all units of a process. Configs are stored and shown with their references; what a provider gives reaches
nothing but the code that is configured with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ConfigData:
    """
    What a provider found: texts by key; a key that it does not have is left out. `ttl` says for how many milliseconds they
    hold, None for ever: what was started with them is started anew then, unless its `config.action.reload` is `none`.

    Its text shows keys only: the values may be secrets.
    """

    data: Mapping[str, str]
    ttl: int | None = None

    def __repr__(self) -> str:
        return f"ConfigData({', '.join(sorted(map(str, self.data)))})"


class ConfigProvider(ABC):
    """
    `get` may be called from several threads at once, and is given up after a while: an answer that comes later is thrown away.

    The text of a ConnectError that it raises is shown to users, and must not quote a value. Of any other error only the class
    is shown.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, str]) -> None:
        """Called once, before the first `get`, with `config.providers.<name>.param.*` without that prefix."""

    @abstractmethod
    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        """The values of `keys` at `path`, which is empty for a reference that has none. ConnectError if it can't be read."""

    def version(self) -> str:
        return "undefined"

    def close(self) -> None:
        """Give up what `configure` took."""
