"""
What `kconnect topics check` says: findings, each with how bad it is, what it means, and what helps.

Made by `checking.py` and `settings.py`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kconnect.core.state.records import Topic

_AGREEMENT = re.compile(r"<([^<>|]*)\|([^<>|]*)>")


class Severity(enum.Enum):
    """
    An error is what a worker fails or goes wrong on, a warning what it may go wrong on, or after a while; a note is what
    somebody who looks for something wants to know.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    def finding(self, kind: str, topic: Topic, text: str, remedy: str = "", names: Sequence[str] = ()) -> Finding:
        return Finding(self, kind, topic, text, remedy, names)

    def about(self, kind: str, topic: Topic, names: Iterable[str], sentence: str, remedy: str = "") -> list[Finding]:
        """
        Return one finding for all of `names`, none if there are none. The sentence has `{names}`, and words that depend on how
        many there are: `<is|are>`.
        """
        distinct = list(dict.fromkeys(names))
        if not distinct:
            return []
        agreeing = _AGREEMENT.sub(r"\2" if len(distinct) > 1 else r"\1", sentence)
        return [Finding(self, kind, topic, agreeing.replace("{names}", listed(distinct)), remedy, distinct)]


@dataclass(frozen=True)
class Finding:
    """`kind` is a stable word for programs; `names` are the connectors, keys or workers that it is about."""

    severity: Severity
    kind: str
    topic: Topic
    text: str
    remedy: str = ""
    names: Sequence[str] = field(default_factory=tuple)

    @property
    def data(self) -> dict[str, Any]:
        return {
            "severity": self.severity.value,
            "kind": self.kind,
            "topic": self.topic.value,
            "text": self.text,
            "remedy": self.remedy,
            "names": list(self.names),
        }


ORDER = {severity: number for number, severity in enumerate(Severity)}

_MOST_NAMES = 5


def listed(names: Iterable[object]) -> str:
    """The first of them, and how many more there are."""
    texts = [str(name) for name in names]
    more = len(texts) - _MOST_NAMES
    return ", ".join(texts[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
