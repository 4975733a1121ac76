"""
Connectors: they divide a job into tasks. Plugin authors implement them.

Order of calls: the constructor without arguments, `initialize`, `start`, `task_class`, `task_configs`, and `stop`. `config`,
`validate`, `alter_offsets`, `exactly_once_support` and `can_define_transaction_boundaries` are called on an instance that was
never started, in a process of its own. They must not depend on `start`. An error from `start` or `task_configs` fails the
connector. Read next: `task.py`.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from kconnect.api.config import Config, ConfigDef
from kconnect.api.record import TopicPartition
from kconnect.api.task import OffsetReader, Task


class ExactlyOnceSupport(enum.Enum):
    SUPPORTED = "SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"


class ConnectorContext(Protocol):
    """The framework, as a running connector may call it, from any thread."""

    def request_task_reconfiguration(self) -> None:
        """Ask the framework to call `task_configs` again, for example because the outside system has changed."""
        ...

    def raise_error(self, error: Exception) -> None:
        """Fail the connector. For errors in threads that the connector started, which have no other way to report them."""
        ...

    @property
    def offsets(self) -> OffsetReader:
        """The stored offsets; for source connectors only."""
        ...


class Connector(ABC):
    """
    The methods that source and sink connectors share. The framework calls each instance from one thread, which belongs to it.
    """

    context: ConnectorContext

    @abstractmethod
    def version(self) -> str:
        """The plugin's version."""

    def initialize(self, context: ConnectorContext) -> None:
        """Called once before `start`."""
        self.context = context

    @abstractmethod
    def start(self, props: dict[str, str]) -> None:
        """Start. `props` is the connector's config, with references to secrets resolved."""

    @abstractmethod
    def stop(self) -> None:
        """Stop, and release what `start` acquired. Called once, also if `initialize` or `start` has failed."""

    def reconfigure(self, props: dict[str, str]) -> None:
        """
        Continue with another config. kconnect does not call it: when a config changes, kconnect makes a new instance. The
        method is for other code that runs a connector, and for connectors that call it themselves.
        """
        self.stop()
        self.start(props)

    @abstractmethod
    def task_class(self) -> type[Task]:
        """The class of this connector's tasks."""

    @abstractmethod
    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """
        Return one config for each task, at most `max_tasks`. The framework adds `task.class`. If the connector can't make the
        configs now, raise an error: the framework calls again, after pauses that grow, and fails the connector after about five
        minutes.
        """

    @abstractmethod
    def config(self) -> ConfigDef:
        """The settings of this connector, in addition to the framework's."""

    def validate(self, props: dict[str, str]) -> Config:
        """Check a config and offer values. Override it to check settings against each other, and call this method first."""
        return Config(self.config().validate(props))


class SourceConnector(Connector):
    """Brings data into Kafka."""

    def exactly_once_support(self, props: dict[str, str]) -> ExactlyOnceSupport | None:
        """Whether this connector supports exactly-once with this config; None if it doesn't say."""
        return None

    def can_define_transaction_boundaries(self, props: dict[str, str]) -> bool:
        return False

    def alter_offsets(
        self,
        connector_config: dict[str, str],
        offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]],
    ) -> bool:
        """
        Check a change of offsets that a user asks for, or carry it out in the outside system (KIP-875).

        `offsets` are pairs of source partition and new offset; None as an offset resets the partition. Return True if the
        change was made or there was nothing to do. Return False if this connector does not know; the user is told so. Raise
        ConnectError to refuse the change; the user sees its text. Raise NotImplementedError if users can't change this
        connector's offsets. The method may be called twice for one change.
        """
        return False


class SinkConnector(Connector):
    """Takes data out of Kafka."""

    def alter_offsets(self, connector_config: dict[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Like `SourceConnector.alter_offsets`, but for partitions of Kafka topics."""
        return False
