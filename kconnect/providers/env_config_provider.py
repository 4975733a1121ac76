"""
The provider of environment variables: `${env:DB_PASSWORD}`. They are those of the process that starts the connector or task.

Found by its entry point, or by its Java name.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping

from kconnect.api import ConfigData, ConfigError, ConfigProvider, ConnectError
from kconnect.java import regex

log = logging.getLogger(__name__)

_ALLOWLIST = "allowlist.pattern"


class EnvVarConfigProvider(ConfigProvider):
    """The provider of environment variables whose whole name the Java pattern `allowlist.pattern` matches. It has no paths."""

    def configure(self, configs: Mapping[str, str]) -> None:
        pattern = configs.get(_ALLOWLIST)
        if pattern is None:
            log.warning(
                "%s has no %s: whoever may create connectors can read every environment variable of this worker",
                type(self).__name__,
                _ALLOWLIST,
            )
        try:
            self._pattern = regex.compile(".*" if pattern is None else pattern)
        except (regex.PatternSyntaxError, regex.UnsupportedPatternError) as error:
            raise ConfigError(_ALLOWLIST, pattern, str(error)) from None

    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        if path:
            raise ConnectError("environment variables have no path: write ${provider:NAME}")
        allowed = [key for key in keys if self._pattern.matches(key) is not None]
        return ConfigData({key: os.environ[key] for key in allowed if key in os.environ})
