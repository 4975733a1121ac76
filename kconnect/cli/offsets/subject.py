"""The connector whose offsets a command is about, and where the topics that it reads begin and end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kconnect.cli.offsets import stopped
from kconnect.cli.offsets.entries import Entries, Entry, place_of, text
from kconnect.errors import BadRequestError, ConfigError

if TYPE_CHECKING:
    from kconnect.cli.brokers import Brokers
    from kconnect.kafka.positions import Positions
    from kconnect.rest.client import ConnectClient

_ELSEWHERE = "consumer.override.bootstrap.servers"


@dataclass(frozen=True)
class Subject:
    """`kind` is source or sink."""

    name: str
    kind: str
    config: dict[str, Any]

    @property
    def plugin(self) -> str:
        return str(self.config.get("connector.class", ""))

    def offsets(self, client: ConnectClient) -> Entries:
        """Return the offsets as the worker has them now, a sink's by topic and partition."""
        from kconnect.rest.client import RestError

        try:
            stored = client.offsets(self.name)
        except RestError as error:
            raise stopped.explained(client, self.name, error) from error
        return sorted(stored, key=_order)

    def topics(self, client: ConnectClient, read: Entries) -> set[str]:
        """
        Return a sink's topics: those that it names, or, where it names a pattern, those that it has read or has offsets of.
        """
        named = {topic.strip() for topic in str(self.config.get("topics") or "").split(",") if topic.strip()}
        if named:
            return named
        return {place.topic for entry in read if (place := place_of(entry["partition"]))} | set(client.topics(self.name))

    def positions(self, brokers: Brokers) -> Positions:
        """
        Return the positions of the Kafka cluster that it reads from. Raise BadRequestError if that is another one than the user
        names.
        """
        from kconnect.kafka.positions import Positions

        servers = str(self.config.get(_ELSEWHERE) or "").strip()
        if servers and _servers(servers) != _servers(brokers.address):
            raise BadRequestError(
                f"{self.name} reads from the Kafka cluster of its {_ELSEWHERE}={servers}, not from {brokers.address}: give "
                f"--bootstrap-server {servers}, and --command-config if these brokers need a login"
            )
        try:
            return Positions(brokers.client_config("admin"))
        except ValueError as error:
            raise ConfigError(f"The settings of the Kafka client can't be used: {error}") from None


def of(client: ConnectClient, name: str) -> Subject:
    """NotFoundError if there is none, in the worker's words."""
    info = client.connector(name)
    config = info["config"]
    return Subject(name, str(info.get("type")), config)


def _order(entry: Entry) -> tuple[str, int, str]:
    place = place_of(entry["partition"])
    return (place.topic, place.partition, "") if place else ("", 0, text(entry["partition"]))


def _servers(text: str) -> set[str]:
    return {part.strip() for part in text.split(",")}
