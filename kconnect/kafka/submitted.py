"""
What is wrong with the settings of Kafka clients in a config that is submitted: what the tasks would fail on later.

Called by `plugins/validation.py`, in the process that plugins are asked in, so no login and no file is looked at here, and the
worker's own settings come without them. A stored config is not asked: `clients.py` refuses what no client can be made of, and
logs the rest. Read next: `fitting.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from kconnect.core.settings.client_config import CLIENTS
from kconnect.core.settings.source import BOUNDARY_INTERVAL
from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConfigError
from kconnect.kafka import clients, fitting
from kconnect.kafka.translation import translate

_NOT_HERE = re.compile(r"(sasl|ssl|security)\..*|bootstrap\.servers|metadata\.broker\.list|client\.id|group\.id|debug")
"""Logins, what is compared elsewhere, and what would have a client write to the log."""
_SESSION, _LONGEST_SESSION_MS = "session.timeout.ms", 3_600_000
_CONNECTOR = "-"


def problems(
    worker: Mapping[str, str], kind: str, config: Mapping[str, str], used: Collection[str]
) -> Iterator[tuple[str, str]]:
    """
    Yield settings of a `source` or `sink` with what is wrong with them. `worker` are texts of the worker file, as
    `core/settings/worker.py` picks them, and `used` the clients that the connector has.
    """
    settings = WorkerSettings.from_properties(worker, {})
    for client in CLIENTS:
        prefix = f"{client}.override."
        overrides = {name: text for name, text in config.items() if name.startswith(prefix)}
        overrides = {name: text for name, text in overrides.items() if not _NOT_HERE.fullmatch(name.removeprefix(prefix))}
        if not overrides or client not in used:
            continue
        wrong = list(_one_by_one(client, {name.removeprefix(prefix): text for name, text in overrides.items()}))
        if wrong:
            for name, message in wrong:
                yield prefix + name, message.replace(f"configuration {name}:", f"configuration {prefix}{name}:")
            continue
        try:
            _together(settings, client, kind, overrides, _longest_ms(config))
        except ConfigError as error:
            yield (error.name if error.name in overrides else next(iter(overrides))), str(error)


def _one_by_one(client: str, overrides: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, text in overrides.items():
        try:
            translate({name: text}, client)
        except ConfigError as error:
            yield name, str(error)
    text = overrides.get(_SESSION, "").strip()
    if text.isdecimal() and int(text) > _LONGEST_SESSION_MS:
        rule = (
            f"Value must be no more than {_LONGEST_SESSION_MS}, for kconnect's Kafka clients, and no more than the brokers' "
            "group.max.session.timeout.ms (1800000 by default)"
        )
        yield _SESSION, str(ConfigError(_SESSION, text, rule))


def _together(settings: WorkerSettings, client: str, kind: str, overrides: Mapping[str, str], longest_ms: int) -> None:
    if client == "consumer":
        client_settings = clients.consumer(settings, _CONNECTOR, 0, overrides)
        for doubt in fitting.doubts(client_settings, clients.origin(settings, "consumer.", overrides)):
            raise doubt
    elif client == "admin":
        clients.admin(settings, _CONNECTOR, overrides)
    elif kind == "source" and settings.exactly_once_enabled:
        clients.transactional_producer(settings, _CONNECTOR, 0, overrides, longest_ms)
    else:
        clients.producer(settings, _CONNECTOR, 0, overrides)


def _longest_ms(config: Mapping[str, str]) -> int:
    try:
        return int(BOUNDARY_INTERVAL.read(config) or 0)
    except ConfigError:
        return 0
