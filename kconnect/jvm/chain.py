"""
The transforms and converters of one task, in Java (`shim/Chain.java`). Put together by `units/java_chain.py`.
"""

from __future__ import annotations

from typing import Any

import jpype

from kconnect.jvm.errors import translated
from kconnect.jvm.parts import JavaPart


class Chain:
    """All parts are configured already. Without converters it is a part of a chain, for `crossing.py`."""

    def __init__(
        self,
        key: JavaPart | None = None,
        value: JavaPart | None = None,
        header: JavaPart | None = None,
    ) -> None:
        parts = (None if converter is None else converter.it for converter in (key, value, header))
        self.it: Any = jpype.JClass("kconnect.shim.Chain")(*parts)

    def add(self, alias: str, transformation: JavaPart, predicate: JavaPart | None, negate: bool) -> None:
        """The next transform; without a predicate it is for every record."""
        self.it.add(alias, transformation.it, None if predicate is None else predicate.it, negate)

    def close(self) -> None:
        """Close all parts. What Java throws comes as an error of ours."""
        try:
            self.it.close()
        except jpype.JException as thrown:
            raise translated(thrown) from None
