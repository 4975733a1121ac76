"""
The provider of values in properties files: `${file:/run/secrets/db.properties:password}`.

Found by its entry point, or by its Java name. Read next: `common.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kconnect.api import ConfigData, ConfigError, ConfigProvider, ConnectError
from kconnect.java import properties
from kconnect.providers.common import ALLOWED_PATHS, AllowedPaths, text


class FileConfigProvider(ConfigProvider):
    """The path is that of a file in Java's properties format, the key a key in it. Files are read at each start."""

    def configure(self, configs: Mapping[str, str]) -> None:
        self._allowed = AllowedPaths(configs.get(ALLOWED_PATHS), type(self).__name__)

    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        if not path:
            return ConfigData({})
        data = self._allowed.read(path)
        if data is None:
            raise ConnectError(f"there is no file {path} here")
        try:
            entries = properties.load(text(path, data))
        except ConfigError as error:
            raise ConnectError(f"{path} can't be read: {error}") from None
        return ConfigData({key: entries[key] for key in keys if key in entries})
