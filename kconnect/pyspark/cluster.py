"""
The Kafka cluster of a frame: its address and logins, by the options and a context of the CLI, and what is asked of it.

Made by `frame.py`, on the driver and in each executor, where it is used: it holds secrets, and is part of no plan. Settings of
clients go through `kafka/clients.py`, as those of connectors do. Read next: `kafka/ranges.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kconnect.connectors.patterns import Pattern
from kconnect.core.settings import lent_logins, unsafe
from kconnect.errors import ConfigError, NotFoundError
from kconnect.kafka import clients, ranges, translation
from kconnect.pyspark import secrets
from kconnect.pyspark.options import Options
from kconnect.pyspark.places import At, Known, Place, Range

if TYPE_CHECKING:
    from kconnect.cli.brokers import Brokers
    from kconnect.core.settings.worker import WorkerSettings

_NAME = "pyspark"
_SERVERS = "bootstrap.servers"


class Cluster:
    """The cluster that a frame's options name. ConfigError if they name none, or a setting can't be used."""

    def __init__(self, options: Options) -> None:
        self._options = options

    @cached_property
    def _file(self) -> Mapping[str, str]:
        path = self._options.credentials
        return {} if path is None else secrets.of_file(path)

    def settings_of(self, prefix: str, given: Mapping[str, str]) -> dict[str, str]:
        """Return settings by the options and the file of credentials, with their references resolved."""
        of_file = {name[len(prefix) :]: text for name, text in self._file.items() if name.startswith(prefix)}
        named = {f"{prefix}{name}": text for name, text in {**of_file, **given}.items()}
        return {name[len(prefix) :]: text for name, text in secrets.resolved(named).items()}

    @property
    def worker(self) -> WorkerSettings:
        """The settings of the context, or of the current one if no brokers are named, as a worker would have them."""
        import click

        try:
            return self._brokers.settings
        except click.ClickException as error:
            raise ConfigError(error.format_message()) from None

    def worker_converter(self, which: str) -> dict[str, str] | None:
        """Return the settings of a converter by the context's worker file, its name as `""`; None if that names none."""
        told = self._brokers.told
        if not told.get(which):
            return None
        prefix = f"{which}."
        return {"": told[which].strip(), **{name[len(prefix) :]: told[name] for name in told if name.startswith(prefix)}}

    @cached_property
    def _brokers(self) -> Brokers:
        import click

        from kconnect.cli import contexts
        from kconnect.cli.brokers import Brokers

        try:
            named = self._options.context
            servers = self._kafka.get(_SERVERS)
            context = contexts.Context() if named is None and servers else contexts.load().get(named)
            brokers = Brokers(
                context.bootstrap_server or (None if context.worker_file or context.command_config else servers),
                context.command_config,
                context.worker_file,
            )
            if not brokers.known:
                raise ConfigError(
                    "Kafka's address is not known: give the option kafka.bootstrap.servers, or a context that has one "
                    "(`kconnect context set NAME --bootstrap-server HOST:PORT`), also on the machines of Spark's executors"
                )
            return brokers
        except click.ClickException as error:
            raise ConfigError(error.format_message()) from None

    @cached_property
    def _kafka(self) -> dict[str, str]:
        return self.settings_of("kafka.", self._options.kafka)

    @cached_property
    def _config(self) -> dict[str, str]:
        """Return what the options say of clients as a connector's config would: the same guards hold for it."""
        # The worker's settings are this very address then, and what is no override needs no login of its own.
        own = {name: text for name, text in self._kafka.items() if name != _SERVERS or text != self.worker.bootstrap_servers}
        for name, text in own.items():
            near = translation.meant(name)
            if near is not None:
                raise ConfigError(f"No client of Kafka has the setting of the option kafka.{name}: do you mean kafka.{near}?")
            for danger in unsafe.dangers(f"consumer.override.{name}", text):
                raise ConfigError(
                    f"The option kafka.{name} {danger.reason}, which no option of a frame may. If it is yours, write it into "
                    "the properties file of a context (`kconnect context set NAME --command-config FILE`)"
                )
        if lent_logins.problem(self.worker.raw, "consumer.", own) is not None:
            raise ConfigError(
                "The option kafka.bootstrap.servers names other brokers than the context, whose login would go there. Leave "
                "out one of the two, or give a login for these brokers in kafka.sasl.jaas.config"
            )
        return {**{f"consumer.override.{name}": text for name, text in own.items()}, "name": _NAME}

    @cached_property
    def client(self) -> dict[str, Any]:
        """librdkafka's settings for a consumer. They hold secrets."""
        try:
            client = clients.apart(clients.consumer(self.worker, _NAME, 0, self._config))
        except ConfigError as error:
            raise ConfigError(str(error).replace("consumer.override.", "kafka.")) from None
        # Nothing is committed, but the client looks for the group's coordinator, which takes a right of its own.
        return {**client, "client.id": "kconnect-pyspark", "group.id": self._kafka.get("group.id", "kconnect-pyspark")}

    @cached_property
    def _partitions(self) -> ranges.Partitions:
        return ranges.Partitions(self.client)

    def topics(self, of_connector: Collection[str] = ()) -> list[str]:
        """
        Return the names of the topics to read, in order: those that the options name, whether they exist or not, those of the
        connector, and those that exist and match the pattern. ConfigError for an internal topic that is named.
        """
        internal = self.worker.internal_topics
        for topic in self._options.topics:
            internal.require_data("topics", topic)
        names = [*self._options.topics, *(topic for topic in of_connector if not internal.protects(topic))]
        if self._options.pattern is not None:
            # Who may make topics names them.
            pattern = Pattern(self._options.pattern)
            names += [topic for topic in self._partitions.there() if pattern.fullmatch(topic) and not internal.protects(topic)]
        return sorted(set(names))

    def known(self, topics: Collection[str]) -> Known:
        """Return what brokers say of the partitions of these topics, as far as they exist."""
        places = self._places(topics)
        return Known(self._partitions.begins(places), self._partitions.ends(places))

    def existing(self, topics: Collection[str]) -> list[str]:
        """Return those of the topics that exist. Raise NotFoundError if one that the options name does not."""
        there = self._partitions.there(topics)
        for topic in sorted(set(self._options.topics) - there.keys()):
            raise NotFoundError(f"There is no topic {topic} at {self.client['bootstrap.servers']}: check the name in topics")
        return sorted(there)

    def by_time(self, place: Place, known: Known) -> dict[At, int]:
        """Return the first offsets at or after a place's time, none if it has no time."""
        return {} if place.time_ms is None else self._partitions.at_time(list(known.ends), place.time_ms)

    def newest(self, topic: str, most: int) -> list[Any]:
        """
        Return about `most` of the newest committed messages of a topic, in the order of their times; of the oldest ones if all
        of the newest were aborted. Each partition has the same share.
        """
        known = self.known([topic])
        share = -(-most // max(1, len(known.ends)))
        for from_end in (True, False):
            wanted = []
            for (_, partition), end in known.ends.items():
                begin = known.begins[topic, partition]
                first = max(begin, end - share) if from_end else begin
                wanted.append(Range(topic, partition, first, min(end, first + share)))
            # To its end: where records come without a pause, there is no end to be waited for.
            lists = [batch for part in wanted if part.begin < part.end for batch in self.messages(part)]
            if lists:
                return sorted(itertools.chain.from_iterable(lists), key=lambda message: message.timestamp()[1])
        return []

    def messages(self, wanted: Range) -> Iterator[list[Any]]:
        """Yield the messages of a range."""
        options = self._options
        place = (wanted.topic, wanted.partition)
        return ranges.messages(self.client, place, wanted.begin, wanted.end, options.read_ms / 1000, options.fails_on_loss)

    def _places(self, topics: Collection[str]) -> list[At]:
        if not topics:
            return []
        there = self._partitions.there(topics)
        return [(topic, number) for topic, numbers in there.items() for number in numbers]
