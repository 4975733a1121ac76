"""
Java's `ssl.*` settings of one purpose. Made by `worker/rest.py` and `kafka/logins.py`. Read next: `stores.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kconnect.api.config import HIDDEN
from kconnect.errors import ConfigError

_SECRET = re.compile(r"password$|keystore\.key$")


class Settings:
    """
    The `ssl.*` settings of one purpose; errors name them as the user wrote them, with `prefix`.

    An empty text counts as not given, as does a missing one; `given` tells them apart. What has been read of its stores is
    kept in `read`: a server's context and a client's want the same, and Java's keytool takes half a second each time.
    """

    def __init__(self, texts: Mapping[str, str | None], prefix: str = "") -> None:
        self.prefix = prefix
        self.read: dict[str, Any] = {}
        self._texts = texts

    @classmethod
    def of_listeners(cls, worker: Mapping[str, str | None], prefix: str) -> Settings:
        """
        Return the settings of a worker's listeners, as Connect does: all that begin with `prefix`, or, if none does, those
        without a prefix.
        """
        prefixed = {name[len(prefix) :]: text for name, text in worker.items() if name.startswith(prefix)}
        return cls(prefixed, prefix) if prefixed else cls(worker)

    def given(self, name: str) -> str | None:
        text = self._texts.get(name)
        return None if text is None else text.strip()

    def get(self, name: str, default: str = "") -> str:
        return self.given(name) or default

    def password(self, name: str) -> str | None:
        """A password may begin with a blank."""
        return self._texts.get(name) or None

    def error(self, name: str, rule: str) -> ConfigError:
        shown = self.given(name)
        return ConfigError(self.prefix + name, HIDDEN if shown and _SECRET.search(name) else shown, rule)
