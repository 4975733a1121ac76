"""
How commands reach Kafka itself, with no worker alive: what `connection.kafka_options` collects, as settings of Kafka clients.

A worker's file is read as the worker reads it, with the environment's `CONNECT_*` on top; a file as Kafka's own tools take with
`--command-config` on top of that. Read next: `kafka/clients.py`.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from kconnect.core.settings.internal_topics import InternalTopics
    from kconnect.core.settings.worker import WorkerSettings

_OPTIONS = {
    "config": ("config.storage.topic", "config_topic"),
    "offset": ("offset.storage.topic", "offset_topic"),
    "status": ("status.storage.topic", "status_topic"),
    "group": ("group.id", "group"),
}


def told_once(context: click.Context) -> None:
    """Keep silent, until a command has ended, what clients log of brokers that are away: the command's error says it, too."""
    for name in ("kconnect.kafka.client", "kconnect.kafka.clients"):
        logger = logging.getLogger(name)
        context.call_on_close(functools.partial(logger.setLevel, logger.level))
        logger.setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class Brokers:
    """
    A Kafka cluster, and the topics of a Connect cluster on it, as far as the options, the files and the context tell.

    Nothing is read before it is used. Its text names no setting: files hold secrets.
    """

    bootstrap_server: str | None = None
    command_config: str | None = None
    worker_file: str | None = None
    own: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    """What `--config-topic`, `--offset-topic`, `--status-topic` and `--group` say."""

    @property
    def known(self) -> bool:
        """Whether anything says where Kafka is."""
        return "bootstrap.servers" in self._texts

    @property
    def address(self) -> str:
        """`bootstrap.servers`; UsageError if nothing says it."""
        self._require()
        return self._told["bootstrap.servers"]

    @functools.cached_property
    def settings(self) -> WorkerSettings:
        """
        A worker's settings, with what nobody said made up: use it for `kafka.clients`, and `topics` for names.

        UsageError if nothing says where Kafka is, InputError for a setting that can't be used.
        """

        from kconnect.cli import connector_file

        self._require()
        return connector_file.worker_with(self._texts, self.worker_file or self.command_config or "--bootstrap-server")

    def client_config(self, kind: str = "admin") -> dict[str, Any]:
        """
        librdkafka's settings for an `admin`, `consumer` or `producer`: the worker's own for its internal topics, so that
        `producer.` and the like don't count. A new dict each time; it holds secrets.
        """
        from kconnect.kafka import clients

        return clients.plain(self.settings, kind, "cli")

    @property
    def told(self) -> Mapping[str, str]:
        """The settings of the files and the environment, with references replaced and nothing made up. They hold secrets."""
        return {name: self._told[name] for name in self._texts}

    @property
    def topics(self) -> Topics:
        return Topics(
            {name: self.own.get(option) or self._told.get(setting) for name, (setting, option) in _OPTIONS.items()},
            self._told,
        )

    @property
    def internal_topics(self) -> InternalTopics:
        """The topics that are no data, as far as anything tells their names: Kafka's own at least."""
        from kconnect.core.settings.internal_topics import InternalTopics

        names = self.topics.known()
        of_kconnect = [self.topics.assignment, self.topics.metrics, self.topics.schemas] if "config" in names else []
        return InternalTopics(frozenset([*names.values(), *of_kconnect]))

    def _require(self) -> None:
        if not self.known:
            raise click.UsageError(
                "Kafka's address is not known: give --bootstrap-server HOST:PORT, --worker-file FILE, or a --context that has "
                "one of them."
            )

    @functools.cached_property
    def _told(self) -> Mapping[str, str]:
        """The settings of the files, with their references replaced; these are looked up only where there are some."""
        from kconnect.core.settings import references

        refers = self.known and any(references.find(text) for text in self._texts.values())
        return self.settings.raw if refers else self._texts

    @functools.cached_property
    def _texts(self) -> dict[str, str]:
        from kconnect.core.settings.worker import with_environment

        texts = with_environment(_properties(self.worker_file), os.environ) if self.worker_file else {}
        # Files of consumers have a group of their own, which is not the workers'.
        texts |= {name: text for name, text in _properties(self.command_config).items() if name != "group.id"}
        return {**texts, "bootstrap.servers": self.bootstrap_server} if self.bootstrap_server else texts


@dataclass(frozen=True)
class Topics:
    """The names of a Connect cluster's internal topics. One that nothing tells is a UsageError where it is used."""

    _named: Mapping[str, str | None]
    _texts: Mapping[str, str] = field(repr=False)

    @property
    def config(self) -> str:
        return self._get("config")

    @property
    def offset(self) -> str:
        return self._get("offset")

    @property
    def status(self) -> str:
        return self._get("status")

    @property
    def group(self) -> str:
        """The workers' `group.id`."""
        return self._get("group")

    @property
    def assignment(self) -> str:
        """kconnect's own, which Connect has not."""
        return self._texts.get("assignment.storage.topic") or f"{self.config}-assignments"

    @property
    def metrics(self) -> str:
        """kconnect's own, which Connect has not."""
        return self._texts.get("metrics.storage.topic") or f"{self.config}-metrics"

    @property
    def logs(self) -> str:
        """kconnect's own; empty if there is none."""
        return self._texts.get("log.storage.topic", f"{self.config}-logs")

    @property
    def schemas(self) -> str:
        """kconnect's own, which Connect has not."""
        return self._texts.get("schema.storage.topic") or f"{self.config}-schemas"

    @property
    def known_group(self) -> str | None:
        return self._named["group"]

    def known(self) -> dict[str, str]:
        """
        Return the names of the internal topics that the options or the worker file tell, by `config`, `offset` and `status`.
        """
        return {name: text for name, text in self._named.items() if text and name != "group"}

    def _get(self, name: str) -> str:
        topic = self._named[name]
        if not topic:
            setting, option = _OPTIONS[name]
            raise click.UsageError(
                f"The workers' {setting} is not known: give --{option.replace('_', '-')} NAME, or their --worker-file."
            )
        return topic


def _properties(path: str | None) -> dict[str, str]:
    from kconnect.cli import files

    return {} if path is None else files.properties_of(Path(path))
