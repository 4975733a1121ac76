"""
One of the two clusters of a move: what it shows of a connector, and requests that are tried again while it has no answer.

Made by `cli/migrate/migrate.py`, used by `checks.py` and `move.py`. Apache Kafka Connect and kconnect look alike here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from kconnect.cli.migrate.journal import Offsets
from kconnect.rest.client import ConnectClient, RestError, WaitError

if TYPE_CHECKING:
    from kconnect.rest.answers import ConnectorStateInfo

T = TypeVar("T")
_PAUSE_S = 0.2
_FIRST_ATTEMPTS = 3


@dataclass(frozen=True)
class Seen:
    """
    A cluster's view of a connector; `config` and `state` are None if it has none of that name.

    `offsets` are None if they can't be read, then `no_offsets` is why. `worker` is where the connector itself was last.
    """

    config: dict[str, Any] | None = None
    state: str | None = None
    tasks: tuple[str, ...] = ()
    type: str = "unknown"
    worker: str = ""
    offsets: Offsets | None = None
    no_offsets: str = ""

    @property
    def there(self) -> bool:
        return self.config is not None

    @property
    def at_rest(self) -> bool:
        """Whether it is stopped, and nothing of it is left."""
        return self.state == "STOPPED" and not self.tasks

    @property
    def between(self) -> bool:
        """No worker has it at the moment, so its state, as of one that is paused or stopped, is not shown."""
        return self.state == "UNASSIGNED" or (self.state == "STOPPED" and "UNASSIGNED" in self.tasks)

    @property
    def connector_class(self) -> str:
        return str((self.config or {}).get("connector.class") or "")


class Side:
    """`limit` is how long a request is tried again, in seconds, and how long a state is waited for."""

    def __init__(self, client: ConnectClient, limit: float = 120.0) -> None:
        self.client = client
        self.url = client.url
        self.limit = limit
        # Nothing was begun, and who has mistyped a URL need not wait to hear of it.
        root = self.ask(client.root, attempts=_FIRST_ATTEMPTS)
        self.kafka_cluster = str(root.get("kafka_cluster_id") or "")
        self.version = str(root.get("version") or "")
        self.is_kconnect = self._is_kconnect()

    def _is_kconnect(self) -> bool:
        try:
            self.ask(self.client.cluster)
        except RestError as error:
            if error.status in (403, 404):
                return error.status == 403
            raise
        return True

    def ask(self, do: Callable[[], T], attempts: int | None = None) -> T:
        """
        Return the result of `do`. It is done again after no answer, in an election and in a rebalance: it must be harmless
        twice. `attempts`: not more often than that.
        """
        end = time.monotonic() + self.limit
        tries = 0
        while True:
            try:
                return do()
            except RestError as error:
                tries += 1
                over = tries == attempts or time.monotonic() > end
                if isinstance(error, WaitError) or not _passes(error) or over:
                    raise
            time.sleep(_PAUSE_S)

    def look(self, name: str) -> Seen:
        """RestError if its state is not shown within the limit."""
        config = self._or_none(lambda: self.client.get_config(name))
        if config is None:
            return Seen()
        status = self._status(name)
        offsets, reason = self.offsets(name)
        try:
            return Seen(
                dict(config),
                str(status["connector"]["state"]),
                tuple(str(task["state"]) for task in status["tasks"]),
                str(status.get("type") or "unknown"),
                str(status["connector"].get("worker_id") or ""),
                offsets,
                reason,
            )
        except (AttributeError, KeyError, TypeError, ValueError):
            raise self._odd(name) from None

    def settled(self, name: str) -> Seen:
        """Wait until the connector is not between workers any more, for at most the limit, and return what `look` returns."""
        end = time.monotonic() + self.limit
        while (state := self.look(name)).between and time.monotonic() < end:
            time.sleep(_PAUSE_S)
        return state

    def _status(self, name: str) -> ConnectorStateInfo:
        """A connector that was just created has none for a moment."""
        end = time.monotonic() + self.limit
        while (status := self._or_none(lambda: self.client.status(name))) is None:
            if time.monotonic() > end:
                raise WaitError(f"{self.url} did not show a status of the connector {name} within {self.limit:g} s", None)
            time.sleep(_PAUSE_S)
        return status

    def offsets(self, name: str) -> tuple[Offsets | None, str]:
        """Return a connector's offsets, or None and why there are none. RestError if they are of another form."""
        try:
            offsets = self.ask(lambda: self.client.offsets(name))
        except RestError as error:
            return None, error.message
        except (KeyError, TypeError):
            raise self._odd(name) from None
        try:
            by_partition(offsets)
        except (KeyError, TypeError):
            raise self._odd(name) from None
        return offsets, ""

    def _odd(self, name: str) -> RestError:
        return RestError(200, f"{self.url} does not answer as a worker does: what it shows of {name!r} has another form")

    def at_rest(self, name: str) -> Seen:
        """Wait until it is stopped and nothing of it is left; WaitError if that takes longer than the limit."""
        self.ask(lambda: self.client.wait_for(name, "STOPPED", tasks=0, timeout=self.limit))
        return self.look(name)

    def _or_none(self, do: Callable[[], T]) -> T | None:
        try:
            return self.ask(do)
        except RestError as error:
            if error.status == 404:
                return None
            raise


def _passes(error: RestError) -> bool:
    if error.status == 409:
        return "already exists" not in error.message
    return error.status in (None, 503) or (error.status == 500 and "rebalance" in error.message)


def same_offsets(one: Offsets | None, other: Offsets | None) -> bool:
    """Whether both mean the same places, in any order."""
    return one is not None and other is not None and by_partition(one) == by_partition(other)


def by_partition(offsets: Offsets) -> dict[str, Any]:
    """Return offsets by a text of the partition, since objects of JSON can't be keys."""
    # Imported here for what only asks for help.
    import orjson

    return {
        orjson.dumps(row["partition"], option=orjson.OPT_SORT_KEYS).decode(): row["offset"]
        for row in offsets
        if row["offset"] is not None
    }
