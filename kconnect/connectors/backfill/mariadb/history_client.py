"""
The settings of the client that writes Debezium's history of schemas, from those of Debezium's own, which are Java's.

Called by `history.py`, and by `source.py` when a config is checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kconnect import small_files
from kconnect.api import ConfigError
from kconnect.connectors import passthrough
from kconnect.connectors.backfill.mariadb import settings

_PLAIN = frozenset(("security.protocol", "sasl.mechanism", "ssl.endpoint.identification.algorithm"))
"""Settings that librdkafka takes as Java's client does."""
_TRUST = ("ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.certificates")
_JAAS = "sasl.jaas.config"
_LOGIN = re.compile(r"(?:[\w.]+\.)?(?:Plain|Scram)LoginModule\s+required\b(.*);\s*", re.DOTALL)
_OPTION = re.compile(r"""(?<!\w)(username|password)\s*=\s*"((?:[^"\\]|\\.)*)\"""")
_OF_LOGINS = re.compile(r"(?:sasl|ssl|security)\.")
"""Other settings are of speed and patience, and change nothing of what is written."""


def client_settings(brokers: str, props: Mapping[str, str]) -> dict[str, Any]:
    """Return librdkafka's settings for Debezium's of its history's producer. ConfigError for what can't be carried over."""
    passthrough.check_brokers(settings.HISTORY_BROKERS, brokers)
    own = passthrough.given(props, settings.PASSTHROUGH)
    java = {name: text for name, value in own.items() if (text := value.strip())}
    client: dict[str, Any] = {"bootstrap.servers": brokers}
    for name, value in java.items():
        if name in _PLAIN:
            client[name] = value
        elif name == _JAAS:
            client |= _login(value)
        elif name not in _TRUST and _OF_LOGINS.match(name):
            raise ConfigError(
                f"{settings.HISTORY_CLIENT}{name}",
                "[hidden]",
                "A backfill can't carry it over to its own client: logins are by PLAIN or SCRAM, and a truststore is in PEM",
            )
    client |= _trust(java)
    small_files.require(client, settings.HISTORY_CLIENT)
    return client


def _login(line: str) -> dict[str, str]:
    match = _LOGIN.fullmatch(line.strip())
    options = dict(_OPTION.findall(match[1])) if match else {}
    if set(options) != {"username", "password"}:
        raise ConfigError(
            f"{settings.HISTORY_CLIENT}{_JAAS}",
            "[hidden]",
            'It must be a PlainLoginModule or ScramLoginModule with username="…" and password="…"',
        )
    return {f"sasl.{name}": re.sub(r"\\(.)", r"\1", value) for name, value in options.items()}


def _trust(java: Mapping[str, str]) -> dict[str, str]:
    kind, location, certificates = (java.get(name, "") for name in _TRUST)
    if not location and not certificates:
        return {}
    if kind.upper() != "PEM":
        raise ConfigError(
            f"{settings.HISTORY_CLIENT}ssl.truststore.type", kind, "A backfill reads a truststore of the type PEM only"
        )
    return {"ssl.ca.location": location} if location else {"ssl.ca.pem": certificates}
