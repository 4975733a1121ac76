"""
The chains that letters are tried on here, with the configs as a worker tells them, and the connectors that name a queue. See
`kconnect/dlq/chains.py` and `kconnect/dlq/origins.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from kconnect.cli import connector_file
from kconnect.cli.brokers import Brokers
from kconnect.cli.connection import Target
from kconnect.dlq.chains import Chains, anywhere, nowhere, own
from kconnect.dlq.origins import Reporter, Reporters, queue_elsewhere, reporter
from kconnect.dlq.queue import owners_in
from kconnect.errors import NotFoundError
from kconnect.plugins.registry import Registry
from kconnect.preview.preview import Preview
from kconnect.rest.client import ConnectClient, RestError

_STEPS = ("transforms", "predicates")


def reporters(brokers: Brokers, target: Target, queue: str, connector: str | None = None) -> Reporters:
    """
    Ask a worker for the connectors that name the queue at these brokers, or only for `connector`, whatever queue it names.

    Raises RestError if no worker answers, and NotFoundError if there is no such connector.
    """
    remedy = "name the topic with --to-topic, or the connector with --through-chain --chain-of"
    with target.connect() as client:
        infos = {name: entry["info"] for name, entry in client.connectors("info").items()}
        if connector is not None and connector not in infos:
            raise NotFoundError(f"There is no connector {connector} at {target.url}: name another with --chain-of")
        configs = {name: info["config"] for name, info in infos.items()}

        def described(name: str) -> Reporter:
            used = _used_topics(client, name)
            return reporter(name, infos[name]["type"], configs[name], used, brokers.address, brokers.told)

        if connector is not None:
            return Reporters((), remedy, described(connector))
        names = [owner.connector for owner in owners_in(configs) if owner.queue == queue]
        return Reporters([described(name) for name in names if queue_elsewhere(configs[name], brokers.address) is None], remedy)


def _used_topics(client: ConnectClient, connector: str) -> list[str]:
    try:
        return client.topics(connector)
    except RestError as error:
        if error.status not in (403, 404):
            raise
        # The worker does not track topics, or the connector has just been deleted.
        return []


def chains(brokers: Brokers, target: Target, known: Reporters, named: bool = False) -> Chains:
    """Make the chains of `known` connectors, for a replay. `named`: the caller names the topic to write to."""
    return Chains(known, _Asked(brokers, target, True).build, anywhere if named else own)


def readers(brokers: Brokers, target: Target, known: Reporters) -> Chains:
    """Make the converters of `known` connectors, without transforms and predicates, to look at letters."""
    return Chains(known, _Asked(brokers, target, False).build, nowhere)


class _Asked:
    def __init__(self, brokers: Brokers, target: Target, whole: bool) -> None:
        self._settings = brokers.settings if brokers.known else connector_file.worker_of(None)
        self._target, self._whole = target, whole
        self._plugins: Registry | None = None

    def build(self, connector: str, kind: str) -> Preview:
        config = self._config(connector)
        if self._plugins is None:
            self._plugins = connector_file.plugins_of(self._settings)
        return connector_file.build(f"the config of {connector}", config, kind, self._settings, self._plugins)

    def _config(self, connector: str) -> dict[str, str]:
        try:
            with self._target.connect() as client:
                config = client.get_config(connector)
        except RestError as error:
            if error.status == 404:
                raise NotFoundError(
                    f"The connector {connector}, which wrote the letter, no longer exists: name another with --chain-of"
                ) from None
            raise
        return settings_of(config, self._whole)


def settings_of(config: Mapping[str, str | None], whole: bool) -> dict[str, str]:
    settings = {name: text for name, text in config.items() if text is not None}
    return settings if whole else {name: text for name, text in settings.items() if not name.startswith(_STEPS)}
