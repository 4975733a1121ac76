"""
What Java transforms, predicates and converters have in common. Read next: `transforms.py`, `converters.py`.

A Java task has its whole chain in Java (`chain.py`), and takes the Java object `it` of each part. Behind a connector in Python,
and in previews, a part is called as any other: a transform takes batches across (`crossing.py`); a converter by itself takes
one value a call, which is slow, so that tasks have `conversion.py` in its place.
"""

from __future__ import annotations

import jpype

from kconnect.api.config import ConfigDef
from kconnect.jvm import loading, settings
from kconnect.jvm.errors import calling


class JavaPart:
    """A Java object that Connect configures and closes."""

    java_class: str
    java_place: str

    def __init__(self) -> None:
        self.it = loading.new(self.java_class, self.java_place)

    def config(self) -> ConfigDef:
        with calling(self.it):
            definition = self.it.config()
        return ConfigDef() if definition is None else settings.JavaConfigDef(self.it, definition)

    def monitor(self, tag: str, name: str) -> None:
        """Let it make metrics (KIP-877), with this tag. Once it is configured, in a task."""
        with calling(self.it):
            jpype.JClass("kconnect.shim.Monitors").offer(self.it, tag, name)

    def close(self) -> None:
        with calling(self.it):
            self.it.close()
