"""
The chains that letters are tried on here, with the configs as a worker tells them. See `kconnect/dlq/chains.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from kconnect.cli import connector_file
from kconnect.cli.brokers import Brokers
from kconnect.cli.connection import Target
from kconnect.cli.dlq import queues
from kconnect.dlq.chains import Chains
from kconnect.dlq.letters import Letter
from kconnect.errors import ConnectError, NotFoundError
from kconnect.plugins.registry import Registry
from kconnect.preview.preview import Preview
from kconnect.rest.client import RestError

_STEPS = ("transforms", "predicates")


def chains(brokers: Brokers, target: Target, queue: str, connector: str | None = None, whole: bool = True) -> Chains:
    """`connector`: whose chain is meant, whatever the letters say. `whole` false leaves out transforms and predicates."""
    asked = _Asked(brokers, target, queue, connector, whole)
    return Chains(asked.whose, asked.build)


class _Asked:
    def __init__(self, brokers: Brokers, target: Target, queue: str, connector: str | None, whole: bool) -> None:
        self._settings = brokers.settings if brokers.known else connector_file.worker_of(None)
        self._target, self._queue, self._connector, self._whole = target, queue, connector, whole
        self._plugins: Registry | None = None
        self._only: str | None = None

    def build(self, connector: str, kind: str) -> Preview:
        config = self._config(connector)
        if self._plugins is None:
            self._plugins = connector_file.plugins_of(self._settings)
        return connector_file.build(f"the config of {connector}", config, kind, self._settings, self._plugins)

    def whose(self, letter: Letter) -> str:
        asked = self._connector or letter.connector
        if asked is not None:
            return asked
        if self._only is None:
            there = [owner.connector for owner in queues.owners(self._target) if owner.queue == self._queue]
            if len(there) != 1:
                who = f"{', '.join(there)} all write to it" if there else "no connector names this queue"
                raise ConnectError(
                    f"The headers of {letter.place} do not name its connector, and {who}: name a connector with --chain-of"
                )
            self._only = there[0]
        return self._only

    def _config(self, connector: str) -> dict[str, str]:
        try:
            with self._target.connect() as client:
                found = client.get_config(connector)
        except RestError as error:
            if error.status == 404:
                raise NotFoundError(
                    f"The connector {connector}, which wrote the letter, no longer exists: name another with --chain-of"
                ) from None
            raise
        return settings_of(found, self._whole)


def settings_of(config: Mapping[str, str | None], whole: bool) -> dict[str, str]:
    given = {name: text for name, text in config.items() if text is not None}
    return given if whole else {name: text for name, text in given.items() if not name.startswith(_STEPS)}
