"""
Java transforms and predicates, seen as `kconnect.api` has them. Made by `classes.py`. Read next: `parts.py`, `crossing.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kconnect.api.predicate import Predicate
from kconnect.api.transformation import Transformation
from kconnect.jvm import loading, machine
from kconnect.jvm.chain import Chain
from kconnect.jvm.crossing import JavaSteps
from kconnect.jvm.errors import calling
from kconnect.jvm.parts import JavaPart


class JavaTransformation(JavaPart, Transformation[Any]):
    _steps: Any = None
    _predicate: JavaPredicate | None = None
    _negate = False

    def configure(self, props: Mapping[str, Any]) -> None:
        with calling(self.it):
            self.it.configure(machine.to_map(dict(props)))

    def only(self, predicate: JavaPredicate, negate: bool) -> None:
        """Take those records only that a predicate in Java is, or is not, true of. Before the first record."""
        self._predicate, self._negate = predicate, negate

    def apply(self, record: Any) -> Any:
        return self._in_java().apply(record)

    def apply_all(self, records: Sequence[Any]) -> list[Any]:
        return list(self._in_java().apply_all(records))

    def _in_java(self) -> Any:
        if self._steps is None:
            chain = Chain()
            chain.add("", self, self._predicate, self._negate)
            self._steps = JavaSteps(chain)
        return self._steps


class JavaPredicate(JavaPart, Predicate):
    """
    A predicate in Java. For a transform in Java it is asked there (`JavaTransformation.only`); for one in Python a record
    crosses a call.
    """

    _steps: Any = None

    def configure(self, props: Mapping[str, Any]) -> None:
        with calling(self.it):
            self.it.configure(machine.to_map(dict(props)))

    def test(self, record: Any) -> bool:
        if self._steps is None:
            chain = Chain()
            chain.add("", loading.of_connect(JavaTransformation, "org.apache.kafka.connect.transforms.Filter")(), self, True)
            self._steps = JavaSteps(chain)
        # What the predicate is not true of is dropped.
        return self._steps.apply(record) is not None
