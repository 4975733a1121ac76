"""
Config providers in Java, seen as `kconnect.api` has them. Made by `classes.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import jpype

from kconnect.api.config_provider import ConfigData, ConfigProvider
from kconnect.errors import ConfigError, ConnectError
from kconnect.jvm import loading, machine
from kconnect.jvm.errors import JavaError, calling


class JavaConfigProvider(ConfigProvider):
    java_class: str
    java_place: str

    def __init__(self) -> None:
        self._it = loading.new(self.java_class, self.java_place)

    def configure(self, configs: Mapping[str, str]) -> None:
        with calling(self._it):
            self._it.configure(machine.to_map(configs))

    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        java_keys = jpype.JClass("java.util.HashSet")()
        for key in keys:
            java_keys.add(key)
        try:
            with calling(self._it):
                answer = self._it.get(path, java_keys)
                data, ttl = machine.of_map(answer.data()), answer.ttl()
        except JavaError as error:
            # Users see the text, and only of this kind is it made for them: of others it may quote what was read.
            if isinstance(error, ConfigError):
                raise
            raise ConnectError(error.shown_as) from None
        return ConfigData(data, None if ttl is None else int(ttl))

    def close(self) -> None:
        with calling(self._it):
            self._it.close()
