"""
Java's keystores, truststores and login lines in librdkafka's terms, which takes PEM texts, users and passwords.

Called by `translation.py`. Stores of every kind that Java reads are read by `kconnect.tls.stores`, once for each content.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from functools import lru_cache

from kconnect.core.settings.client_config import unfit
from kconnect.errors import ConfigError
from kconnect.tls.settings import Settings

_STORES = (
    "ssl.keystore.location",
    "ssl.keystore.type",
    "ssl.keystore.password",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
    "ssl.key.password",
    "ssl.truststore.location",
    "ssl.truststore.type",
    "ssl.truststore.password",
    "ssl.truststore.certificates",
)
_JAAS = "sasl.jaas.config"
NAMES = frozenset((*_STORES, _JAAS))

_reading = threading.Lock()

_OPTION = re.compile(r"""(?<!\w)(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";]+))""")
_OAUTH = {"clientId": "sasl.oauthbearer.client.id", "clientSecret": "sasl.oauthbearer.client.secret"}
_KERBEROS = {"principal": "sasl.kerberos.principal", "keyTab": "sasl.kerberos.keytab"}
_LOGINS = {
    "PlainLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "ScramLoginModule": {"username": "sasl.username", "password": "sasl.password"},
    "OAuthBearerLoginModule": {**_OAUTH, "scope": "sasl.oauthbearer.scope"},
    "Krb5LoginModule": {**_KERBEROS, "serviceName": "sasl.kerberos.service.name"},
}


def of(given: Mapping[str, str]) -> dict[str, str]:
    """librdkafka's settings for those of `NAMES` that are given. ConfigError, naming the setting, for what can't be used."""
    settings = {}
    if _JAAS in given:
        settings.update(_login(given[_JAAS], given))
    store_settings = tuple((name, given[name]) for name in _STORES if name in given)
    # Java reads stores only where it needs them, and a worker file may have some that are for REST alone.
    if store_settings and given.get("security.protocol", "").lower().endswith("ssl"):
        stamps = tuple(_stamp(given.get(f"ssl.{which}store.location")) for which in ("key", "trust"))
        # When a host starts, all its units ask at once, and for some stores each reading is a JVM of Java's keytool.
        with _reading:
            settings.update(_stores(store_settings, stamps))
    return settings


def _login(line: str, settings: Mapping[str, str]) -> dict[str, str]:
    words = line.split()
    module = words[0].rsplit(".", 1)[-1] if words else ""
    names = _LOGINS.get(module)
    if names is None:
        raise ConfigError(
            _JAAS,
            "[hidden]",
            (f"The login module must be one of {', '.join(_LOGINS)}: Java's other login modules can't run here"),
        )
    options = {match[1]: _unescaped(match[2]) if match[2] is not None else match[3] for match in _OPTION.finditer(line)}
    login = {setting: options[option] for option, setting in names.items() if option in options}
    for setting, value in login.items():
        if reason := unfit(setting, value):
            raise ConfigError(_JAAS, "[hidden]", f"What it says for {setting} can't be used: {reason}")
    if module == "OAuthBearerLoginModule" and settings.get("sasl.oauthbearer.token.endpoint.url"):
        login["sasl.oauthbearer.method"] = "oidc"
    return login


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _stamp(location: str | None) -> tuple[int, int] | None:
    """Tells one content of a file from another."""
    if not location:
        return None
    try:
        status = os.stat(location)
    except OSError:
        return None  # Whoever reads it says what is wrong.
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=64)
def _stores(texts: tuple[tuple[str, str], ...], stamps: tuple[tuple[int, int] | None, ...]) -> dict[str, str]:
    from kconnect.tls import stores

    settings = Settings(dict(texts))
    pems = {}
    pair, anchors = stores.key_pair(settings), stores.trusted(settings)
    if pair is not None:
        pems["ssl.key.pem"] = pair.key
        # With those between it and the root, which brokers may need: librdkafka sends all that the text has.
        pems["ssl.certificate.pem"] = pair.certificates
    if anchors is not None:
        pems["ssl.ca.pem"] = anchors
    return pems
