"""
A schema registry over HTTP: Confluent's client, and what becomes of its answers and errors. Opened by `schema_registries.py`.

The client is asked once for each thing and keeps nothing, as retries are the task's (`errors.retry.timeout`) and caches the
converter's (`schemas.cache.config`). Beside the client this module has a login for each URL, the URL that answered last
tried first, and errors that say what to do. Read next: `schema_registry_login.py`.
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient, SchemaRegistryError

from kconnect.converters import answers
from kconnect.converters.schema_registry import Reference, RegisteredSchema
from kconnect.converters.schema_registry_login import (
    BASIC_SOURCE,
    BASIC_USER,
    BEARER_TOKEN,
    CONNECT_TIMEOUT,
    MAX_BYTES,
    PROXY_HOST,
    PROXY_PORT,
    READ_TIMEOUT,
    SSL,
    URL,
    credentials,
    tls,
    without_login,
)
from kconnect.errors import ConfigError, ConnectError, DataError, RetriableError

T = TypeVar("T")

_SHOWN = 1000
_AGAIN = frozenset((408, 429, 500, 502, 503, 504))
_MOST_ID, _MOST_VERSION = 2**32 - 1, 2**31 - 1
_UNKNOWN = frozenset((40401, 40403))
"""There is no such subject; no such schema. A bare 404 may be a wrong URL."""


class HttpRegistry:
    """
    A registry behind one or more URLs: the next is tried where one can't be reached or is in trouble.

    Each URL has a client of its own: one for all would send the first one's login to the others.
    """

    def __init__(self, urls: list[str], settings: Mapping[str, Any]) -> None:
        self._clients = [_client(url, settings) for url in urls]
        self._first = 0

    def __repr__(self) -> str:
        return f"HttpRegistry({', '.join(base for base, _ in self._clients)})"

    def register(self, subject: str, text: str, references: tuple[Reference, ...] = (), normalize: bool = False) -> int:
        schema = _schema(text, references)
        return self._call(
            f"register a schema for subject {subject}",
            lambda client: _number(client.register_schema(subject, schema, normalize), 0, _MOST_ID),
            subject,
        )

    def lookup(
        self, subject: str, text: str, references: tuple[Reference, ...] = (), normalize: bool = False
    ) -> RegisteredSchema | None:
        schema = _schema(text, references)

        def ask(client: SchemaRegistryClient) -> RegisteredSchema | None:
            try:
                registered = client.lookup_schema(subject, schema, normalize)
            except SchemaRegistryError as refusal:
                if refusal.http_status_code == 404 and refusal.error_code in _UNKNOWN:
                    return None
                raise
            return _registered(registered.schema, registered.schema_id, registered.version)

        return self._call(f"look up a schema of subject {subject}", ask, subject)

    def by_id(self, id: int, subject: str | None = None) -> RegisteredSchema:
        # With its subject, a registry of several contexts knows in which of them to look.
        return self._call(f"fetch schema {id}", lambda client: _registered(client.get_schema(id, subject), id, 0))

    def by_version(self, subject: str, version: int | None = None) -> RegisteredSchema:
        name: Any = "latest" if version is None else version

        def ask(client: SchemaRegistryClient) -> RegisteredSchema:
            registered = client.get_version(subject, name)
            return _registered(registered.schema, registered.schema_id, registered.version)

        return self._call(f"fetch version {name} of subject {subject}", ask, subject)

    def _call(self, what: str, ask: Callable[[SchemaRegistryClient], T], subject: str = "any") -> T:
        if subject in ("", ".", ".."):
            # As a segment of an address it would be another address.
            raise DataError(f"Failed to {what}: it is no name of a subject")
        trouble = ""
        for turn in range(len(self._clients)):
            index = (self._first + turn) % len(self._clients)
            base, client = self._clients[index]
            try:
                answer = ask(client)
            except SchemaRegistryError as refusal:
                if refusal.http_status_code in _AGAIN:
                    trouble = f"{base}: {_said(refusal)}"
                    continue
                self._first = index
                raise _error(refusal, what, base) from None
            except answers.TooMuchError as error:
                raise DataError(f"Failed to {what}: {base}: {error}") from None
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                raise ConnectError(
                    f"Failed to {what}: {base} does not answer as a schema registry does; check {URL}"
                ) from error
            except Exception as error:  # noqa: BLE001
                # Which HTTP library the client uses is its own affair (httpx, or httpx2), and so are that one's errors.
                trouble = f"{base}: {type(error).__name__} {error}"
                continue
            # It keeps all it has ever seen; our callers keep as much as schemas.cache.config says.
            client.clear_caches()
            self._first = index
            return answer
        raise RetriableError(
            f"Failed to {what}: the schema registry can't be reached or is in trouble ({trouble}). Check {URL}, and that the "
            "registry runs; errors.retry.timeout lets a task wait for it"
        )


def _client(url: str, settings: Mapping[str, Any]) -> tuple[str, SchemaRegistryClient]:
    """The URL to show, and a client for it that asks once: whoever calls it decides what comes next. ConfigError."""
    base, login = without_login(url)
    login, token = credentials(settings, login)
    connect, read = settings[CONNECT_TIMEOUT] / 1000, settings[READ_TIMEOUT] / 1000
    conf: dict[str, Any] = {
        "url": base,
        "max.retries": 0,
        # Its HTTP library takes a tuple too: to connect, to read, to write, and to wait for a free connection.
        "timeout": (connect, read, read, read),
        # Without TLS it has no certificates to load.
        "ssl.ca.location": None if base.startswith("https:") else False,
    }
    if login is not None:
        conf["basic.auth.user.info"] = login
    if settings.get(PROXY_HOST):
        conf["proxy"] = f"http://{settings[PROXY_HOST]}:{settings.get(PROXY_PORT) or 80}"
    try:
        # It takes certificates and keys from files only, and reads them at once.
        with tempfile.TemporaryDirectory() as directory:
            if base.startswith("https:"):
                conf.update(tls(settings, Path(directory)))
            client = SchemaRegistryClient(conf)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"The certificates or key of {SSL}* can't be used: {error}") from None
    # It has no setting for these three: its static token wants a cluster of Confluent's cloud, whose name it sends along.
    rest = client._rest_client
    answers.bound(rest.session, MAX_BYTES, settings[MAX_BYTES], READ_TIMEOUT, read)
    if token is not None:
        rest.session.headers["Authorization"] = f"Bearer {token}"
    if base.startswith("https:"):
        if conf["ssl.ca.location"] is None:
            rest.verify.load_default_certs()
        if settings.get(f"{SSL}endpoint.identification.algorithm") == "":
            rest.verify.check_hostname = False
    return base, client


def _error(refusal: SchemaRegistryError, what: str, base: str) -> ConnectError:
    if refusal.http_status_code in (401, 403):
        return ConfigError(
            f"Failed to {what}: {base} does not accept the credentials, {_said(refusal)}. "
            f"Check {BASIC_SOURCE} and {BASIC_USER}, or {BEARER_TOKEN}, and the user's rights"
        )
    if refusal.http_status_code == 409:
        return DataError(
            f"Failed to {what}: it is not compatible with the versions there, {_said(refusal)}. "
            "Change the schema, or the compatibility of the subject"
        )
    return DataError(f"Failed to {what}: {_said(refusal)}")


def _said(refusal: SchemaRegistryError) -> str:
    """Return the text of a refusal, without what was sent. -1 is the client's code for a page that is not the registry's."""
    if refusal.error_code == -1 or not isinstance(refusal.error_message, str):
        return f"status {refusal.http_status_code}"
    code = refusal.error_code if isinstance(refusal.error_code, int) else refusal.http_status_code
    text = "".join(character if character.isprintable() else " " for character in refusal.error_message[:_SHOWN])
    return f"{text}; error code: {code}"


def _schema(text: str, references: tuple[Reference, ...]) -> Schema:
    return Schema(text, "AVRO", [SchemaReference(*reference) for reference in references])


def _registered(schema: Schema, id: int | None, version: int | None) -> RegisteredSchema:
    if schema.schema_str is None:
        raise ValueError("no schema")
    references = tuple(
        Reference(_text(each.name), _text(each.subject), _number(each.version, -1, _MOST_VERSION))
        for each in schema.references or ()
    )
    kind = _text(schema.schema_type or "AVRO")
    return RegisteredSchema(
        _text(schema.schema_str), _number(id or 0, 0, _MOST_ID), _number(version or 0, -1, _MOST_VERSION), kind, references
    )


def _number(value: Any, least: int, most: int) -> int:
    """
    Return a number of an answer. ValueError for anything else: the client takes what comes, and a version is a part of the next
    address, and of schemas.
    """
    if type(value) is not int or not least <= value <= most:
        raise ValueError("an id or a version is none")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a name or a text is none")
    return value
