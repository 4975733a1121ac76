"""
The connector of a frame, by the REST API: created if its config is given and it does not exist, waited for, asked for its
topics.

Called by `frame.py`, on the driver. What stands in a connector's config was written by whoever may create connectors: it says
by which of kconnect's own converters its topics are read, and no reference in it is resolved here. Read next: `rest/client.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kconnect.errors import ConfigError, ConflictError, ConnectError, NotFoundError, RequestTimeoutError
from kconnect.pyspark.options import Options

if TYPE_CHECKING:
    from kconnect.pyspark.cluster import Cluster
    from kconnect.rest.client import ConnectClient

_PAUSE_S, _ANSWER_S = 0.5, 95.0


@contextmanager
def connected(options: Options) -> Iterator[ConnectClient]:
    """Yield a client for a worker of the frame's Connect cluster, by `rest.url` or the context."""
    import click

    from kconnect.cli import connection

    try:
        with connection.named(options.url or options.context or "", None).connect(_ANSWER_S) as client:
            yield client
    except click.ClickException as error:
        raise ConfigError(error.format_message()) from None


def ensure(client: ConnectClient, options: Options) -> None:
    """
    Create the connector if its config is given and it does not exist, and wait until it and its tasks run. One that has the
    same config is left as it is, in whatever state: what it has written can be read. One that is paused or stopped stays so.

    Raises:
        ConflictError: it exists with another config, and `connector.update` is not true
        NotFoundError: it does not exist, and no config is given
        WaitError: it has failed, or does not run in time
    """
    from kconnect.rest.client import RestError

    name, config = options.connector or "", options.config
    existing = _existing(client, name)
    if config is None:
        if existing is None:
            raise NotFoundError(
                f"There is no connector {name} at {client.url}: check its name, or give its config in the option "
                "connector.config, which creates it"
            )
        return
    if existing is None:
        try:
            client.create(name, _named(name, config))
        except RestError as error:
            # Another notebook may have created it at this moment.
            existing = _existing(client, name) if error.status == 409 else None
            if existing is None:
                raise
    if existing is not None:
        changed = _differences(existing, _named(name, config))
        if not changed:
            return
        if not options.update:
            raise ConflictError(
                f"The connector {name} exists with another config: it differs in {', '.join(changed)}. Remove the options "
                "connector.config to read its topics as it is, or set connector.update=true to give it this config"
            )
        client.put_config(name, _named(name, config))
        if client.status(name)["connector"]["state"] in ("PAUSED", "STOPPED"):
            return
    client.wait_for(name, "RUNNING", timeout=options.wait_ms / 1000, fail_fast=True)


def _existing(client: ConnectClient, name: str) -> Mapping[str, str | None] | None:
    from kconnect.rest.client import RestError

    try:
        return client.get_config(name)
    except RestError as error:
        if error.status != 404:
            raise
        return None


def _named(name: str, config: Mapping[str, str]) -> dict[str, str]:
    return {**config, "name": name}


def _differences(existing: Mapping[str, str | None], config: Mapping[str, str]) -> list[str]:
    """Return the names of the settings that differ. Their values may be secret."""
    return sorted(name for name in existing.keys() | config.keys() if existing.get(name) != config.get(name))


def wait_for_records(client: ConnectClient, options: Options, cluster: Cluster) -> list[str]:
    """
    Return the topics that the connector has used, once one of the topics to read has a committed record. Raise
    RequestTimeoutError, with what is missing, if that takes longer than `connector.wait.ms`, and ConnectError if the connector
    has failed.
    """
    from kconnect.rest.client import summary

    name = options.connector or ""
    deadline = time.monotonic() + options.wait_ms / 1000
    while True:
        used = client.topics(name)
        known = cluster.known(cluster.topics(used))
        if any(known.begins[at] < end for at, end in known.ends.items()):
            return used
        status = client.status(name)
        if "FAILED" in (status["connector"]["state"], *(task["state"] for task in status["tasks"])):
            raise ConnectError(
                f"The connector {name} has failed, and its topics have no records: {summary(status)}. Look at it by `kconnect "
                f"describe connector {name}`"
            )
        if time.monotonic() > deadline:
            missing = f"its topics have no records ({', '.join(used)})" if used else "it has not used a topic"
            raise RequestTimeoutError(
                f"The connector {name} is {status['connector']['state']}, and {missing} after {options.wait_ms / 1000:g} s. "
                f"Look at it by `kconnect describe connector {name}`, or wait longer by the option connector.wait.ms"
            )
        time.sleep(_PAUSE_S)


def converter(config: Mapping[str, str | None], which: str) -> dict[str, str] | None:
    """
    Return the settings of a converter (`key.converter` or `value.converter`) by the connector's config, its name as `""`; None
    if the config names none. Raise ConfigError, with the remedy, for one that can't be used here.
    """
    from kconnect.core.settings import references, unsafe

    prefix = f"{which}."
    name = config.get(which)
    if not name:
        return None
    settings = {key[len(prefix) :]: text for key, text in config.items() if key.startswith(prefix) and text is not None}
    remedy = f"give {which} and its settings as options of the frame"
    for key, text in {"": name, **settings}.items():
        setting = f"{prefix}{key}" if key else which
        if references.find(text):
            raise ConfigError(f"The connector's {setting} has a reference, which only its workers resolve: {remedy}")
        for danger in unsafe.dangers(setting, text):
            raise ConfigError(f"The connector's {setting} {danger.reason}: {remedy}")
    return {"": name.strip(), **settings}
