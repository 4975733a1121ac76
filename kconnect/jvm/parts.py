"""
Java transforms, predicates and converters: what is asked of them by validation, and the Java object for a chain in Java.

Made by `classes.py`; `chain.py` puts them together. Their `apply`, `test` and conversions are not called from Python: a chain
of which one part is Java's runs in Java as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api.config import ConfigDef
from kconnect.jvm import classes, machine, settings
from kconnect.jvm.errors import calling


class _JavaPart:
    java_class: str
    java_place: str

    def __init__(self) -> None:
        self.it = classes.new(self.java_class, self.java_place)

    def config(self) -> ConfigDef:
        with calling(self.it):
            found = self.it.config()
        return ConfigDef() if found is None else settings.JavaConfigDef(self.it, found)

    def close(self) -> None:
        with calling(self.it):
            self.it.close()


class JavaTransformation(_JavaPart):
    def configure(self, props: Mapping[str, Any]) -> None:
        with calling(self.it):
            self.it.configure(machine.to_map(dict(props)))


class JavaPredicate(JavaTransformation):
    pass


class JavaConverter(_JavaPart):
    def configure(self, props: Mapping[str, Any], is_key: bool) -> None:
        with calling(self.it):
            self.it.configure(machine.to_map(dict(props)), is_key)


class JavaHeaderConverter(JavaTransformation):
    pass
