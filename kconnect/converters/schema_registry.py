"""
A schema registry as converters need it: ids of schemas by subject, and schemas by id.

`HttpRegistry` speaks the REST protocol of Confluent's, which others speak too; `MemoryRegistry` is one in this process, shared
by all who name the same `mock://` scope, for tests. `open_registry` chooses. Both keep nothing: their callers cache. Used by
`avro.py`; nothing here knows of Avro but the name of the type. Read next: `schema_registry_login.py`.
"""

from __future__ import annotations

import json
import threading
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import httpx

from kconnect.converters.schema_registry_login import (
    BASIC_SOURCE,
    BASIC_USER,
    BEARER_TOKEN,
    CONNECT_TIMEOUT,
    PROXY_HOST,
    PROXY_PORT,
    READ_TIMEOUT,
    URL,
    authorization,
    tls,
    without_login,
)
from kconnect.errors import ConfigError, ConnectError, DataError, RetriableError


class Reference(NamedTuple):
    """A schema that another one uses: `name` is how that calls it."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema as the registry has it; `id` and `version` are 0 where it was not asked by them."""

    text: str
    id: int = 0
    version: int = 0
    type: str = "AVRO"
    references: tuple[Reference, ...] = ()


class Registry(Protocol):
    """
    Called from the task's thread; every call may take the time of a request.

    RetriableError if the registry can't be reached or is in trouble itself; DataError if it knows no such thing or refuses;
    ConfigError if it doesn't accept the credentials.
    """

    def register(self, subject: str, text: str, references: tuple[Reference, ...], normalize: bool) -> int:
        """The id of a schema, which from now on is the subject's newest, unless it was one of it already."""

    def lookup(self, subject: str, text: str, references: tuple[Reference, ...], normalize: bool) -> RegisteredSchema | None:
        """A schema's id and version, or None if it is none of the subject's."""

    def by_id(self, id: int, subject: str | None = None) -> RegisteredSchema: ...

    def by_version(self, subject: str, version: int | None = None) -> RegisteredSchema:
        """One version of a subject; the newest if None."""

    def close(self) -> None: ...


def open_registry(settings: Mapping[str, Any]) -> Registry:
    """What the settings, parsed by `schema_registry_login.CONFIG_KEYS`, name. ConfigError if they can't be used."""
    urls = [url.rstrip("/") for url in settings[URL] if url]
    if not urls:
        raise ConfigError(URL, settings[URL], "No schema registry is named; give its URL, such as http://localhost:8081")
    scopes = {url[len("mock://") :] for url in urls if url.startswith("mock://")}
    if scopes:
        if len(scopes) > 1 or not all(url.startswith("mock://") for url in urls):
            # Their texts stay out of it: there may be a password in one.
            raise ConfigError(f"Only one mock scope is permitted for '{URL}', and no other URLs beside it")
        return MemoryRegistry.of(scopes.pop())
    return HttpRegistry(urls, settings)


def texts_of_references(registry: Registry, schema: RegisteredSchema) -> list[str]:
    """The texts of all schemas that this one uses, each after those that it uses itself."""
    seen: dict[tuple[str, int], str] = {}

    def visit(references: tuple[Reference, ...]) -> None:
        for reference in references:
            key = (reference.subject, reference.version)
            if key not in seen:
                found = registry.by_version(*key)
                visit(found.references)
                seen.setdefault(key, found.text)

    visit(schema.references)
    return list(seen.values())


# --- in this process ---


class MemoryRegistry:
    """
    A registry in memory. It checks no compatibility, and never forgets: what `mock://` means in Confluent's clients too.
    """

    _scopes: dict[str, MemoryRegistry] = {}
    _lock = threading.Lock()

    def __init__(self) -> None:
        self._schemas: list[RegisteredSchema] = []
        self._subjects: dict[str, list[int]] = {}
        self._mutex = threading.Lock()

    @classmethod
    def of(cls, scope: str) -> MemoryRegistry:
        """The registry of a scope, the same for all in this process."""
        with cls._lock:
            return cls._scopes.setdefault(scope, cls())

    @classmethod
    def drop(cls, scope: str) -> None:
        """Forget a scope; who has its registry keeps it."""
        with cls._lock:
            cls._scopes.pop(scope, None)

    @property
    def subjects(self) -> dict[str, list[RegisteredSchema]]:
        """All there is: by subject, in the order of versions."""
        with self._mutex:
            return {subject: [self._schemas[id - 1] for id in ids] for subject, ids in self._subjects.items()}

    def register(
        self, subject: str, text: str, references: tuple[Reference, ...] = (), normalize: bool = False
    ) -> int:
        with self._mutex:
            id = self._id_of(text, references)
            if id is None:
                id = len(self._schemas) + 1
                self._schemas.append(RegisteredSchema(text, id, references=references))
            ids = self._subjects.setdefault(subject, [])
            if id not in ids:
                ids.append(id)
            return id

    def lookup(
        self, subject: str, text: str, references: tuple[Reference, ...] = (), normalize: bool = False
    ) -> RegisteredSchema | None:
        with self._mutex:
            id, ids = self._id_of(text, references), self._subjects.get(subject, [])
            if id is None or id not in ids:
                return None
            return self._version(id, ids.index(id) + 1)

    def by_id(self, id: int, subject: str | None = None) -> RegisteredSchema:
        with self._mutex:
            if not 0 < id <= len(self._schemas):
                raise DataError(f"The schema registry has no schema {id}: Schema {id} not found; error code: 40403")
            return self._schemas[id - 1]

    def by_version(self, subject: str, version: int | None = None) -> RegisteredSchema:
        with self._mutex:
            ids = self._subjects.get(subject, [])
            number = len(ids) if version is None else version
            if not 0 < number <= len(ids):
                raise DataError(
                    f"The schema registry has no version {version or 'latest'} of subject {subject}; register a schema "
                    "there first"
                )
            return self._version(ids[number - 1], number)

    def close(self) -> None:
        """The scope stays."""

    def _version(self, id: int, version: int) -> RegisteredSchema:
        found = self._schemas[id - 1]
        return RegisteredSchema(found.text, id, version, found.type, found.references)

    def _id_of(self, text: str, references: tuple[Reference, ...]) -> int | None:
        wanted = _canonical(text)
        for schema in self._schemas:
            if schema.references == references and _canonical(schema.text) == wanted:
                return schema.id
        return None


def _canonical(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text


# --- over HTTP ---

_MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
_AGAIN = frozenset((408, 429, 500, 502, 503, 504))
_UNKNOWN = frozenset((40401, 40403))
"""There is no such subject; no such schema. A bare 404 may be a wrong URL."""


class HttpRegistry:
    """
    A registry behind one or more URLs: the next is tried where one can't be reached or is in trouble.
    """

    def __init__(self, urls: list[str], settings: Mapping[str, Any]) -> None:
        self._bases: list[httpx.URL] = []
        self._headers: list[dict[str, str]] = []
        for url in urls:
            base, login = without_login(url)
            self._bases.append(base)
            self._headers.append(authorization(settings, login))
        proxy = None
        if settings.get(PROXY_HOST):
            proxy = f"http://{settings[PROXY_HOST]}:{settings.get(PROXY_PORT) or 80}"
        self._client = httpx.Client(
            headers={"Accept": f"{_MEDIA_TYPE}, application/json", "Content-Type": _MEDIA_TYPE},
            timeout=httpx.Timeout(settings[READ_TIMEOUT] / 1000, connect=settings[CONNECT_TIMEOUT] / 1000),
            verify=tls(settings) if any(base.scheme == "https" for base in self._bases) else False,
            proxy=proxy,
        )
        self._first = 0

    def __repr__(self) -> str:
        return f"HttpRegistry({', '.join(map(str, self._bases))})"

    def register(
        self, subject: str, text: str, references: tuple[Reference, ...] = (), normalize: bool = False
    ) -> int:
        what = f"register a schema for subject {subject}"
        found = self._call("POST", f"/subjects/{_quoted(subject)}/versions", what, _body(text, references), normalize)
        return int(found["id"])

    def lookup(
        self, subject: str, text: str, references: tuple[Reference, ...] = (), normalize: bool = False
    ) -> RegisteredSchema | None:
        what = f"look up a schema of subject {subject}"
        path = f"/subjects/{_quoted(subject)}"
        found = self._call("POST", path, what, _body(text, references), normalize, may_be_missing=True)
        return None if found is None else _schema(found)

    def by_id(self, id: int, subject: str | None = None) -> RegisteredSchema:
        # With its subject, a registry of several contexts knows in which of them to look.
        query = {"subject": subject} if subject else {}
        return _schema({**self._call("GET", f"/schemas/ids/{id}", f"fetch schema {id}", query=query), "id": id})

    def by_version(self, subject: str, version: int | None = None) -> RegisteredSchema:
        name = "latest" if version is None else str(version)
        what = f"fetch version {name} of subject {subject}"
        return _schema(self._call("GET", f"/subjects/{_quoted(subject)}/versions/{name}", what))

    def close(self) -> None:
        self._client.close()

    def _call(
        self,
        method: str,
        path: str,
        what: str,
        body: dict[str, Any] | None = None,
        normalize: bool = False,
        may_be_missing: bool = False,
        query: Mapping[str, str] | None = None,
    ) -> Any:
        params = {**(query or {}), **({"normalize": "true"} if normalize else {})}
        trouble = ""
        for turn in range(len(self._bases)):
            index = (self._first + turn) % len(self._bases)
            base = self._bases[index]
            try:
                answer = self._client.request(
                    method,
                    f"{str(base).rstrip('/')}{path}",
                    params=params,
                    content=None if body is None else json.dumps(body).encode(),
                    headers=self._headers[index],
                )
            except (httpx.TransportError, httpx.InvalidURL) as error:
                trouble = f"{base}: {type(error).__name__} {error}"
                continue
            if answer.status_code in _AGAIN:
                trouble = f"{base}: {_said(answer)}"
                continue
            self._first = index
            return self._answer(answer, what, base, may_be_missing)
        raise RetriableError(
            f"Failed to {what}: the schema registry can't be reached or is in trouble ({trouble}). Check {URL}, and that the "
            "registry runs; errors.retry.timeout lets a task wait for it"
        )

    def _answer(self, answer: httpx.Response, what: str, base: httpx.URL, may_be_missing: bool) -> Any:
        status = answer.status_code
        if status == 404 and may_be_missing and _code(answer) in _UNKNOWN:
            return None
        if status in (401, 403):
            raise ConfigError(
                f"Failed to {what}: {base} does not accept the credentials, {_said(answer)}. "
                f"Check {BASIC_SOURCE} and {BASIC_USER}, or {BEARER_TOKEN}, and the user's rights"
            )
        if status == 409:
            raise DataError(
                f"Failed to {what}: it is not compatible with the versions there, {_said(answer)}. "
                "Change the schema, or the compatibility of the subject"
            )
        if not answer.is_success:
            raise DataError(f"Failed to {what}: {_said(answer)}")
        try:
            found = answer.json()
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ConnectError(f"Failed to {what}: {base} answers with no JSON object; is {URL} that of a schema registry?")
        return found


def _said(answer: httpx.Response) -> str:
    """What a refusal says, without what was sent."""
    try:
        return f"{answer.json()['message']}; error code: {_code(answer)}"
    except (ValueError, KeyError, TypeError):
        return f"status {answer.status_code}"


def _code(answer: httpx.Response) -> int:
    """The registry's own code for a refusal, or else the status."""
    try:
        return int(answer.json()["error_code"])
    except (ValueError, KeyError, TypeError):
        return answer.status_code


def _quoted(subject: str) -> str:
    return urllib.parse.quote(subject, safe="")


def _body(text: str, references: tuple[Reference, ...]) -> dict[str, Any]:
    body: dict[str, Any] = {"schema": text}
    if references:
        body["references"] = [reference._asdict() for reference in references]
    return body


def _schema(found: Mapping[str, Any]) -> RegisteredSchema:
    try:
        return RegisteredSchema(
            found["schema"],
            int(found.get("id", 0)),
            int(found.get("version", 0)),
            found.get("schemaType") or "AVRO",
            tuple(Reference(each["name"], each["subject"], each["version"]) for each in found.get("references") or ()),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ConnectError(f"The schema registry's answer is no schema: {error!r} in {sorted(found)}") from error
