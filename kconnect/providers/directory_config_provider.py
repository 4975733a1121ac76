"""
The provider of values that are files of their own, as secrets in containers are: `${dir:/run/secrets:db-password}`.

Found by its entry point, or by its Java name. Read next: `common.py`.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from kconnect.api import ConfigData, ConfigProvider
from kconnect.providers.common import ALLOWED_PATHS, AllowedPaths, text


class DirectoryConfigProvider(ConfigProvider):
    """The path is that of a directory, the key the name of a file in it, the value all that the file holds."""

    def configure(self, configs: Mapping[str, str]) -> None:
        self._allowed = AllowedPaths(configs.get(ALLOWED_PATHS), type(self).__name__)

    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        texts = {}
        for key in keys:
            # A key is a name: what would lead out of the directory is none.
            if not path or not key or key in (".", "..") or "/" in key or "\0" in key + path:
                continue
            file = os.path.join(path, key)
            data = self._allowed.read(file)
            if data is not None:
                texts[key] = text(file, data)
        return ConfigData(texts)
