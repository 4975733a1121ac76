"""
Connectors: what divides a job into tasks. Implemented by plugin authors.

Order of calls: the constructor without arguments, `initialize`, `start`, `task_class`, `task_configs`, and `stop`. `config`,
`validate`, `alter_offsets` and the two `..._support` questions are asked of an instance that was never started, in a
process of its own, and must not depend on `start`. An error from `start` or `task_configs` fails the connector.
Read next: `task.py`.
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
    """What a running connector may ask of the framework, from any thread."""

    def request_task_reconfiguration(self) -> None:
        """Have `task_configs` called again, because what is outside has changed."""
        ...

    def raise_error(self, error: Exception) -> None:
        """Fail the connector, from a thread of its own that has no other way to say so."""
        ...

    @property
    def offsets(self) -> OffsetReader:
        """Stored offsets; for source connectors only."""
        ...


class Connector(ABC):
    """What source and sink connectors share. All calls of one instance come from one thread, its own."""

    context: ConnectorContext

    @abstractmethod
    def version(self) -> str:
        """The plugin's version."""

    def initialize(self, context: ConnectorContext) -> None:
        """Called once before `start`."""
        self.context = context

    @abstractmethod
    def start(self, props: dict[str, str]) -> None:
        """Begin. `props` is the connector's config with references to secrets resolved."""

    @abstractmethod
    def stop(self) -> None:
        """End; give up what `start` took."""

    def reconfigure(self, props: dict[str, str]) -> None:
        """
        Go on with another config. kconnect does not call it: a changed connector is a new instance. It is there for
        code that runs a connector by itself, and for connectors that call it themselves.
        """
        self.stop()
        self.start(props)

    @abstractmethod
    def task_class(self) -> type[Task]:
        """The class of this connector's tasks."""

    @abstractmethod
    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """The config of each task, at most `max_tasks` of them. The framework adds `task.class`."""

    @abstractmethod
    def config(self) -> ConfigDef:
        """The settings of this connector, beyond the framework's."""

    def validate(self, props: dict[str, str]) -> Config:
        """Check a config and offer values. Override to check settings against each other; call this one first."""
        return Config(self.config().validate(props))


class SourceConnector(Connector):
    """Brings data into Kafka."""

    def exactly_once_support(self, props: dict[str, str]) -> ExactlyOnceSupport | None:
        """Whether this connector is exactly-once with that config; None if it doesn't say."""
        return None

    def can_define_transaction_boundaries(self, props: dict[str, str]) -> bool:
        return False

    def alter_offsets(
        self,
        connector_config: dict[str, str],
        offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]],
    ) -> bool:
        """
        Check, or carry out outside, a change of offsets that a user asks for (KIP-875).

        `offsets` are pairs of source partition and new offset; None as an offset resets the partition. True: done, or
        nothing to do; False: this connector does not know, and the user is told so. A ConnectError refuses the change, with
        its text; NotImplementedError says that offsets can't be changed from outside. It may be asked twice for one change.
        """
        return False


class SinkConnector(Connector):
    """Takes data out of Kafka."""

    def alter_offsets(self, connector_config: dict[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """As `SourceConnector.alter_offsets`, by partitions of Kafka."""
        return False
