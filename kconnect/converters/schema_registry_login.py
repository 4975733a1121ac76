"""
How to reach a schema registry over HTTP: the settings of its URLs, of credentials and of TLS, and what they come to.

They are those of Confluent's converter in Java. Confluent's client for Python has others: files instead of stores and texts of
PEM, one login for all URLs, no SASL_INHERIT. Secrets are in what is handed to it only, never in messages or URLs. Used by
`schema_registry_http.py`.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kconnect import normal_forms, small_files
from kconnect.api.config import ConfigKey, Importance, Password, Type
from kconnect.errors import ConfigError

URL = "schema.registry.url"
BASIC_SOURCE, BASIC_USER = "basic.auth.credentials.source", "basic.auth.user.info"
BEARER_SOURCE, BEARER_TOKEN = "bearer.auth.credentials.source", "bearer.auth.token"
CONNECT_TIMEOUT, READ_TIMEOUT = "http.connect.timeout.ms", "http.read.timeout.ms"
PROXY_HOST, PROXY_PORT = "proxy.host", "proxy.port"
MAX_BYTES = "http.response.max.bytes"
PREFIX = "schema.registry."
SSL = f"{PREFIX}ssl."


def _ssl(name: str, type: Type, doc: str) -> ConfigKey:
    return ConfigKey(f"{SSL}{name}", type, None, Importance.LOW, doc, group="Schema Registry")


def _auth(name: str, type: Type, doc: str, default: Any = None) -> ConfigKey:
    return ConfigKey(name, type, default, Importance.MEDIUM, doc, group="Schema Registry")


CONFIG_KEYS = (
    ConfigKey(
        URL,
        Type.LIST,
        importance=Importance.HIGH,
        doc="Where the schema registry is: URLs that are tried in this order, or mock://scope for one in this process.",
        group="Schema Registry",
    ),
    _auth(
        BASIC_SOURCE,
        Type.STRING,
        "Where user and password come from: URL, USER_INFO (basic.auth.user.info) or SASL_INHERIT (sasl.jaas.config).",
        "URL",
    ),
    _auth(BASIC_USER, Type.PASSWORD, "user:password, for the source USER_INFO."),
    _auth(f"{PREFIX}{BASIC_USER}", Type.PASSWORD, "The same as basic.auth.user.info, by its older name."),
    _auth(BEARER_SOURCE, Type.STRING, "Where a token comes from; of Confluent's sources only STATIC_TOKEN.", "STATIC_TOKEN"),
    _auth(BEARER_TOKEN, Type.PASSWORD, "A token, sent as it is."),
    _auth("sasl.jaas.config", Type.PASSWORD, "The Kafka client's login, for the source SASL_INHERIT."),
    _auth(CONNECT_TIMEOUT, Type.INT, "How long a connection may take, in ms.", 60_000),
    _auth(READ_TIMEOUT, Type.INT, "How long an answer may take, in ms.", 60_000),
    _auth(MAX_BYTES, Type.INT, "How many bytes an answer may have, and so a schema.", 16 * 1024 * 1024),
    _auth(PROXY_HOST, Type.STRING, "The host of an HTTP proxy."),
    _auth(PROXY_PORT, Type.INT, "The port of an HTTP proxy."),
    _ssl("truststore.type", Type.STRING, "PEM; keystores of Java can't be read."),
    _ssl("truststore.location", Type.STRING, "A PEM file of certificates to trust; without, the system's and certifi's."),
    _ssl("truststore.certificates", Type.PASSWORD, "The certificates to trust themselves, in PEM."),
    _ssl("keystore.type", Type.STRING, "PEM; keystores of Java can't be read."),
    _ssl("keystore.location", Type.STRING, "A PEM file of the client's private key and certificates."),
    _ssl("keystore.key", Type.PASSWORD, "The client's private key itself, in PEM."),
    _ssl("keystore.certificate.chain", Type.PASSWORD, "The client's certificates themselves, in PEM."),
    _ssl("key.password", Type.PASSWORD, "The password of the client's private key."),
    _ssl(
        "endpoint.identification.algorithm",
        Type.STRING,
        "Empty to accept a registry's certificate whatever host it is for; https, the default, to check.",
    ),
)


def without_login(url: str) -> tuple[str, str | None]:
    """The URL to show and call, and the `user:password` that was in it."""
    # The text itself stays out of messages: there may be a password in it.
    try:
        parsed = normal_forms.split(url)
        _ = parsed.port
    except ValueError:
        raise ConfigError(f"Invalid value for configuration {URL}: must be a URL like http://host:8081") from None
    user_info, _, place = parsed.netloc.rpartition("@")
    if parsed.scheme not in ("http", "https") or not parsed.hostname:
        shown = f"{parsed.scheme}://{place}"
        raise ConfigError(URL, shown, "must be a URL like http://host:8081, https://host or mock://scope")
    user, _, password = user_info.partition(":")
    login = f"{urllib.parse.unquote(user)}:{urllib.parse.unquote(password)}" if user_info else None
    return f"{parsed.scheme}://{place}{parsed.path}", login


def credentials(settings: Mapping[str, Any], login: str | None) -> tuple[str | None, str | None]:
    """A login as `user:password`, or a token, or neither. `login` is what was in the URL."""
    token: Password | None = settings.get(BEARER_TOKEN)
    if settings[BEARER_SOURCE] not in (None, "", "STATIC_TOKEN"):
        raise ConfigError(BEARER_SOURCE, settings[BEARER_SOURCE], "of its sources only STATIC_TOKEN is supported")
    source = settings[BASIC_SOURCE] or "URL"
    if source == "USER_INFO":
        user_info: Password | None = settings.get(BASIC_USER) or settings.get(f"{PREFIX}{BASIC_USER}")
        if user_info is None or ":" not in user_info.value:
            raise ConfigError(f"{BASIC_SOURCE} is USER_INFO, so {BASIC_USER} must be given as user:password")
        login = user_info.value
    elif source == "SASL_INHERIT":
        login = _sasl_login(settings.get("sasl.jaas.config"))
    elif source != "URL":
        raise ConfigError(BASIC_SOURCE, source, "must be URL, USER_INFO or SASL_INHERIT")
    if token is not None and login is not None:
        raise ConfigError(f"{BEARER_TOKEN} and basic authentication are both set; only one of them can be")
    return login, None if token is None else token.value


def _sasl_login(jaas: Password | None) -> str:
    text = "" if jaas is None else jaas.value
    matches = [re.search(rf'\b{name}\s*=\s*(?:"([^"]*)"|([^\s;"]+))', text) for name in ("username", "password")]
    if None in matches:
        raise ConfigError(f"{BASIC_SOURCE} is SASL_INHERIT, so sasl.jaas.config must be given, with username and password")
    return ":".join(match.group(1) or match.group(2) or "" for match in matches if match is not None)


def tls(settings: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """The client's settings of TLS; what the user gave as text becomes files of the directory."""

    def setting(name: str) -> Any:
        value = settings.get(f"{SSL}{name}")
        return value.value if isinstance(value, Password) else value

    def file(name: str, text: str) -> str:
        path = directory / name
        path.touch(mode=0o600)
        path.write_text(text)
        return str(path)

    conf: dict[str, Any] = {}
    trusted = setting("truststore.certificates") or _pem(settings, "truststore")
    if trusted:
        conf["ssl.ca.location"] = file("trusted.pem", trusted)
    key = setting("keystore.key")
    client_pem = f"{key}\n{setting('keystore.certificate.chain') or ''}" if key else _pem(settings, "keystore")
    if client_pem:
        conf["ssl.certificate.location"] = file("client.pem", client_pem)
        conf["ssl.key.password"] = setting("key.password") or ""
    return conf


def _pem(settings: Mapping[str, Any], store: str) -> str | None:
    name = f"{SSL}{store}.location"
    location = settings.get(name)
    if not location:
        return None
    try:
        content = small_files.read(location)
    except OSError as error:
        raise ConfigError(name, location, f"the file can't be read: {error.strerror}") from error
    if b"-----BEGIN" not in content:
        raise ConfigError(
            name,
            location,
            f"not a PEM file; convert a Java keystore with keytool and openssl, and set {SSL}{store}.type=PEM",
        )
    return content.decode("latin-1")
