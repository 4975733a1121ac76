"""
What a worker's refusal of a config says to people: one line for each fault, and what is nearest to a class that is not there.

Called around what writes configs, by `cli/apply/run.py` and `cli/connectors/patch.py`; `main.py` shows the lines. A worker's
own words are Kafka Connect's, and made for REST.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from kconnect.cli import java_classes
from kconnect.rest.client import ConnectClient, RestError

_FRAME = ("Connector configuration is invalid and contains", "You can also find the above list of errors at the endpoint")
_NULL = re.compile(r"Invalid value null for configuration (\S+): ")
_NO_CONNECTOR = re.compile(r"Failed to find any class that implements Connector and which name matches (\S+), available")
_NO_CLASS = re.compile(r"(Class (\S+) could not be found\.)")
_SETTING = re.compile(r" for configuration (\S+): ")
_CONNECTOR = re.compile(r"con+ect[eo]r$")
"""Also as it is often misspelt."""
_ALIKE = 0.8


class Refusal(RestError):
    """`faults` has a line for each."""

    def __init__(self, error: RestError, faults: list[str]) -> None:
        super().__init__(error.status, "\n".join(faults))
        self.faults = faults


@contextmanager
def explained(client: ConnectClient) -> Iterator[None]:
    """A refusal of a config, or a class that is not there, comes out as a Refusal; another RestError as it is."""
    try:
        yield
    except RestError as error:
        if (error.status == 400 and error.message.startswith(_FRAME[0])) or _NO_CONNECTOR.match(error.message):
            raise Refusal(error, problems(client, error.message.splitlines())) from error
        raise


def problems(client: ConnectClient, lines: Iterable[str]) -> list[str]:
    """Each fault once, in a line."""
    texts = [line for line in dict.fromkeys(" ".join(line.split()) for line in lines) if line and not line.startswith(_FRAME)]
    # What could not be read is null then, and refused once more as that.
    unread = [line for line in texts if not _NULL.match(line)]
    texts = [
        line
        for line in texts
        if not (null := _NULL.match(line)) or not any(f" for configuration {null[1]}: " in text for text in unread)
    ]
    names: list[str] | None = None

    def there() -> list[str]:
        nonlocal names
        if names is None:
            try:
                names = [plugin["class"] for plugin in client.plugins(connectors_only=False)]
            except RestError:
                names = []
        return names

    return [_with_remedy(line, there) for line in texts]


def _with_remedy(line: str, list_names: Callable[[], list[str]]) -> str:
    setting = ""
    if match := _NO_CONNECTOR.match(line):
        reason, name = f"There is no connector class {match[1]} on the worker", match[1]
    elif match := _NO_CLASS.search(line):
        reason, name = line.rstrip("."), match[2]
        if place := _SETTING.search(line):
            setting = f"{place[1]}: "
    else:
        return line
    if (near := _nearest(name, list_names())) is not None:
        short = near.rpartition(".")[2]
        # As the user has it: configs may leave the ending out.
        short = short if _CONNECTOR.search(name.lower()) else short.removesuffix("Connector")
        return f"{reason}; did you mean {short} ({near})?"
    if (remedy := java_classes.remedy(name)) is not None:
        return setting + remedy
    return f"{reason}; `kconnect get plugins` lists its classes, and `kconnect plugin install` adds others (docs/plugins.md)"


def _nearest(name: str, class_names: Iterable[str]) -> str | None:
    """
    Return the class that `name` probably means: one of the same project, or any if `name` has no package.

    The endings that all connectors have make names alike that have nothing to do with each other, such as RedisSinkConnector
    and SqlSinkConnector, so that they do not count.
    """
    package, _, simple_name = name.rpartition(".")
    project = package.split(".")[:2]
    likeness: dict[str, float] = {}
    for class_name in class_names:
        their_package, _, their_name = class_name.rpartition(".")
        if not package or their_package.split(".")[:2] == project:
            likeness[class_name] = _likeness(simple_name, their_name)
    best = max(likeness, key=lambda class_name: (likeness[class_name], -len(class_name)), default=None)
    return best if best is not None and likeness[best] > _ALIKE else None


def _likeness(name: str, other: str) -> float:
    """Return how alike two classes' own names are, from 0 to 1: 0 for a source beside a sink."""
    (own_part, kind), (other_part, other_kind) = _parted(name), _parted(other)
    if kind and other_kind:
        return difflib.SequenceMatcher(None, own_part, other_part).ratio() if kind == other_kind else 0.0
    # The kind itself may be misspelt.
    return difflib.SequenceMatcher(None, own_part + kind, other_part + other_kind).ratio()


def _parted(name: str) -> tuple[str, str]:
    """Part a class's own name: what is its own, and which kind of connector it says that it is. Without regard to case."""
    own_part = name.lower()
    own_part = _CONNECTOR.sub("", own_part)
    kind = next((kind for kind in ("source", "sink") if own_part.endswith(kind)), "")
    return own_part.removesuffix(kind), kind
