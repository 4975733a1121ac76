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


def _with_remedy(line: str, there: Callable[[], list[str]]) -> str:
    if match := _NO_CONNECTOR.match(line):
        reason, name = f"There is no connector class {match[1]} on the worker", match[1]
    elif match := _NO_CLASS.search(line):
        reason, name = line.rstrip("."), match[2]
    else:
        return line
    by_simple_name = {class_name.rpartition(".")[2]: class_name for class_name in there()}
    if (remedy := java_classes.remedy(name)) is not None:
        return remedy
    # Aliases go without the ending.
    short = {**by_simple_name, **{class_name.removesuffix("Connector"): full for class_name, full in by_simple_name.items()}}
    near = difflib.get_close_matches(name.rpartition(".")[2], short, 1)
    return f"{reason}; " + (
        f"did you mean {near[0]} ({short[near[0]]})?" if near else "`kconnect get plugins` lists its classes"
    )
