"""
A schema registry as converters need it: ids of schemas by subject, and schemas by id.

`schema_registry_http.py` asks one over HTTP, by Confluent's client; `MemoryRegistry` is one in this process, shared by all who
name the same `mock://` scope, for tests. `schema_registries.py` chooses. Both keep nothing: their callers cache. Used by
`avro.py`; nothing here knows of Avro but the name of the type.

The mock of Confluent's client is not used for `mock://`. Tried with 2.16: each client has a registry of its own, whatever the
scope; an equal schema gets another id in each subject; a blank makes another schema; two threads both register version 1.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from kconnect.errors import DataError

_MOST_REFERENCES, _DEEPEST = 1000, 50
"""Each is a request; a registry may answer with ever more of them."""
_LONGEST = 16 * 1024 * 1024
"""Of the texts of all of them, in characters: as long as a single answer may be."""


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
        """Return a version of a subject; the newest if `version` is None."""


def texts_of_references(registry: Registry, schema: RegisteredSchema) -> list[str]:
    """The texts of all schemas that this one uses, each after those that it uses itself."""
    texts: dict[tuple[str, int], str] = {}

    asked: set[tuple[str, int]] = set()
    length = 0

    def visit(references: tuple[Reference, ...], depth: int) -> None:
        for reference in references:
            key = (reference.subject, reference.version)
            if key in asked:
                continue
            asked.add(key)
            if depth > _DEEPEST or len(asked) > _MOST_REFERENCES:
                raise DataError(
                    f"Schema {schema.id} refers to more than {_MOST_REFERENCES} schemas, or by more than {_DEEPEST} steps"
                )
            registered = registry.by_version(*key)
            nonlocal length
            length += len(registered.text)
            if length > _LONGEST:
                raise DataError(f"Schema {schema.id} refers to schemas of more than {_LONGEST} characters together")
            visit(registered.references, depth + 1)
            texts.setdefault(key, registered.text)

    visit(schema.references, 1)
    return list(texts.values())


class MemoryRegistry:
    """
    A registry in memory. It checks no compatibility, and never forgets: what `mock://` means in Confluent's clients too.
    """

    _scopes: dict[str, MemoryRegistry] = {}
    _lock = threading.Lock()

    def __init__(self) -> None:
        self._schemas: list[RegisteredSchema] = []
        self._ids: dict[tuple[tuple[Reference, ...], str], int] = {}
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

    def register(self, subject: str, text: str, references: tuple[Reference, ...] = (), normalize: bool = False) -> int:
        with self._mutex:
            id = self._id_of(text, references)
            if id is None:
                id = self._ids[references, _canonical(text)] = len(self._schemas) + 1
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

    def _version(self, id: int, version: int) -> RegisteredSchema:
        registered = self._schemas[id - 1]
        return RegisteredSchema(registered.text, id, version, registered.type, registered.references)

    def _id_of(self, text: str, references: tuple[Reference, ...]) -> int | None:
        return self._ids.get((references, _canonical(text)))


def _canonical(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text
