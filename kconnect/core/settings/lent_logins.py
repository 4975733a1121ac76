"""
Logins that a connector would carry away: the worker's own, to brokers that only the connector names.

A client of a task inherits how the worker logs in to Kafka. Whoever may create connectors could name brokers of their own in
`producer.override.bootstrap.servers`, and would be sent the worker's password. So other brokers need a login of the config's
own, unless the worker's file says otherwise. Asked by `kafka/clients.py` where a client is made, and by `kconnect doctor`;
`herder/quarantine.py` asks who names brokers at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kconnect.core.settings.unsafe import UNSAFE_ALLOWLIST

LOGIN = re.compile(r"sasl\.(jaas\.config|username|password|oauthbearer\..*)")
"""Settings by which a client proves who it is. A certificate stays with its client."""
SERVERS = "bootstrap.servers"
# librdkafka has two names for them.
SERVER_NAMES = (SERVERS, "metadata.broker.list")
_OWN = re.compile(r"((producer|consumer|admin)\.override|reporter)\.(bootstrap\.servers|metadata\.broker\.list)")


def leads_elsewhere(worker: Mapping[str, str], prefix: str, own: Mapping[str, str]) -> bool:
    """
    Return whether a connector's overrides `own` of a client name brokers that the worker's file does not. `prefix` is that of
    the worker's settings of such clients, such as `producer.`.
    """
    worker_servers = server_list(worker.get(SERVERS)) | server_list(worker.get(prefix + SERVERS))
    return any(not server_list(own.get(name)) <= worker_servers for name in SERVER_NAMES)


def names_brokers(config: Iterable[str]) -> bool:
    """Return whether a config with these settings names brokers for its clients in the hosts, be they the worker's or not."""
    return any(_OWN.fullmatch(name) for name in config)


def lent(worker: Mapping[str, str], prefix: str, own: Mapping[str, str]) -> frozenset[str]:
    """Return the parts of the worker's login that a client with these overrides would take to brokers of others."""
    if not leads_elsewhere(worker, prefix, own):
        return frozenset()
    inherited = {*worker, *(name.removeprefix(prefix) for name in worker if name.startswith(prefix))}
    return frozenset(name for name in inherited if LOGIN.fullmatch(name) and name not in own)


def problem(worker: Mapping[str, str], prefix: str, own: Mapping[str, str]) -> str | None:
    """Return why a connector's overrides of a client can't be used, or None if it has a login of its own, or needs none."""
    names = lent(worker, prefix, own)
    protocol = _of_client(worker, prefix, own, "security.protocol")
    mechanism = _of_client(worker, prefix, own, "sasl.mechanism", "sasl.mechanisms")
    if not names or _has_login(own, mechanism) or not protocol.startswith("SASL"):
        return None
    return (
        f"{prefix}override.{SERVERS} names brokers that are not the worker's, and the client would log in there as the worker "
        f"does ({', '.join(sorted(names))}). Give the login for these brokers in {prefix}override.sasl.jaas.config, or, if "
        f"they may have the worker's, add {SERVERS} to the worker's {UNSAFE_ALLOWLIST}"
    )


def _has_login(settings: Mapping[str, str], mechanism: str) -> bool:
    # Settings of tokens are no login where the client logs in by a password.
    by_password = mechanism == "PLAIN" or mechanism.startswith("SCRAM-")
    by_token = not by_password and any(name.startswith("sasl.oauthbearer.") and "client" in name for name in settings)
    return "sasl.jaas.config" in settings or {"sasl.username", "sasl.password"} <= settings.keys() or by_token


def _of_client(worker: Mapping[str, str], prefix: str, own: Mapping[str, str], *names: str) -> str:
    """Return a setting of a client, by any of its names: the connector's, that of the worker's clients, or the worker's."""
    places = ((own, ""), (worker, prefix), (worker, ""))
    texts = (place.get(begin + name, "").strip() for place, begin in places for name in names)
    return next((text.upper() for text in texts if text), "")


def server_list(text: str | None) -> frozenset[str]:
    """Return the brokers of a list, each once, however it is written."""
    return frozenset(part.strip().lower() for part in (text or "").split(",") if part.strip())
