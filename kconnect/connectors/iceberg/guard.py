"""
A catalog that is not believed: what its answers say is looked at before pyiceberg acts on it.

pyiceberg merges a config's properties with those that a REST catalog answers, for all tables and for each, and with those in a
table's metadata. It then loads the class that a property names (`py-io-impl`), asks the address that one names (`uri`,
`oauth2-server-uri`, `s3.endpoint`), and writes where a location says. So whatever the config does not say itself is checked
here, on the merged properties. `catalogs.py` makes the catalog of `guarded` classes. pyiceberg has no promise for the methods
that are overridden, so its version is bounded.
"""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.io import FileIO
from pyiceberg.table import CommitTableResponse, Table
from requests import PreparedRequest, Response, Session

from kconnect import normal_forms
from kconnect.api import ConfigError
from kconnect.connectors import clouds
from kconnect.connectors.addresses import origin_of
from kconnect.connectors.host_files import HostFiles, is_within
from kconnect.connectors.iceberg import logins, settings
from kconnect.connectors.libraries import Libraries

IMPLEMENTATIONS = frozenset(
    (
        "pyiceberg.io.pyarrow.PyArrowFileIO",
        "pyiceberg.io.fsspec.FsspecFileIO",
        "pyiceberg.table.locations.SimpleLocationProvider",
        "pyiceberg.table.locations.ObjectStoreLocationProvider",
    )
)
"""What pyiceberg itself brings: its files, and where it puts them."""
_CLASSES = {
    "rest": "pyiceberg.catalog.rest.RestCatalog",
    "sql": "pyiceberg.catalog.sql.SqlCatalog",
    "hive": "pyiceberg.catalog.hive.HiveCatalog",
    "glue": "pyiceberg.catalog.glue.GlueCatalog",
    "dynamodb": "pyiceberg.catalog.dynamodb.DynamoDbCatalog",
    "in-memory": "pyiceberg.catalog.memory.InMemoryCatalog",
}
_LOADS = re.compile(r"(?:.*[.\-_])?impl", re.IGNORECASE)
_JAVAS = frozenset(("io-impl", "catalog-impl", "write.location-provider.impl", "metrics-reporter-impl"))
"""Java's clients read these, and pyiceberg does not."""
_STORES = r"(?:s3|client|adls|gcs|hdfs|hf|glue|dynamodb|hive|rest)\."
_ADDRESS = re.compile(
    rf"uri|oauth2-server-uri|{_STORES}(?:.*[.\-_])?(?:ur[il]|endpoint|host|authority|proxy|proxy-uri|connection-string|account-host)",
    re.IGNORECASE,
)
_HADOOP = re.compile(r"(hdfs|viewfs):", re.IGNORECASE)
_PATHS = frozenset(("s3.signer.endpoint",))
"""Addresses by their names, but a path on a host that another property says."""
_IDENTITY = re.compile(
    rf"{_STORES}(?:.*[.\-_])?(?:profile-name|role-arn|role-session-name|sigv4-enabled|kerberos.*)|(?:auth|ssl|hdfs)(?:\..*)?"
    r"|credential|profile_name|botocore_session",
    re.IGNORECASE,
)
"""Who the worker says it is, to whom: a service may not choose that."""
_MOST_REDIRECTS = 5
_LOCATIONS = re.compile(r"warehouse|write\..*path", re.IGNORECASE)
_IN_MEMORY = "file:///tmp/iceberg/warehouse"
"""Where pyiceberg has the tables of a catalog in memory, if nobody says so."""
_BOUNDS = {
    "commit.retry.num-retries": (0, 10),
    "commit.retry.min-wait-ms": (0, 1000),
    "commit.retry.max-wait-ms": (0, 10_000),
    "commit.retry.total-timeout-ms": (0, 60_000),
    "write.target-file-size-bytes": (1024**2, 2**63),
    "write.parquet.row-group-limit": (1000, 2**63),
    "write.parquet.page-size-bytes": (16 * 1024, 2**30),
    "write.parquet.page-row-limit": (1000, 2**30),
}
"""The least and the most of properties of tables that say how long a commit is tried, and how small files are."""


class Rules:
    """
    The rules of one catalog: what the config says itself (`own`), what the hosts' environment says, and what the worker allows
    beyond it.
    """

    def __init__(
        self,
        kind: str,
        own: Mapping[str, str],
        worker: Mapping[str, str],
        environment: Mapping[str, Any] | None = None,
        folders: Sequence[str] = (),
    ) -> None:
        """`folders` are those beside the warehouse where the config has files of its tables."""
        self._own = dict(own)
        self.environment = environment or {}
        self._libraries, self._files = Libraries(worker), HostFiles(worker)
        self._origins = {
            origin_of(value)
            for name, value in own.items()
            if isinstance(value, str) and ("://" in value or _ADDRESS.fullmatch(name)) and origin_of(value)
        }
        self._name_nodes = {_name_node(value) for value in own.values() if isinstance(value, str) and _HADOOP.match(value)} | {
            ""
        }
        place = own.get("warehouse") or (_IN_MEMORY if kind == "in-memory" else "")
        self._folders = [_local_path(folder) for folder in (place, *folders) if _looks_local(folder)]

    def check_own(self, given: Mapping[str, str]) -> None:
        """Raise ConfigError for a property of the config that loads what is not on a list, or names a file out of bounds."""
        for name, value in given.items():
            self._check_loaded(name, value)
        if _looks_local(given.get("warehouse", "")):
            self._files.check(settings.WAREHOUSE, _local_path(given["warehouse"]))

    def check(self, merged: Mapping[str, Any]) -> None:
        """Raise ConfigError for a property that somebody else than the config has set, and that reaches too far."""
        for name, value in merged.items():
            if self._own.get(name) == value:
                continue
            if isinstance(value, dict | list | tuple):
                self._refuse(name, "a service answered a property that is no text")
            text = str(value)
            self._check_loaded(name, text)
            if _IDENTITY.fullmatch(name) and text:
                self._refuse(name, "a service answered it, but the config alone says who logs in, and how")
            if _ADDRESS.fullmatch(name) and name not in _PATHS and text and origin_of(text) not in self._origins:
                self._refuse(name, f"a service answered {_shown(text)}, which is another address than those of the config")
            if name in logins.NAMES and not clouds.is_name(text):
                self._refuse(name, "a service answered a text that is no part of a host's name, and would lead to another host")
            if _LOCATIONS.fullmatch(name) and _looks_local(text):
                self.check_location(text)

    def check_location(self, location: str | None) -> None:
        """
        Raise ConfigError for a file of this machine, unless the config has its tables there, or, if the worker names folders,
        it is in one of these.
        """
        try:
            # pyiceberg looks at what stands where a host would, too.
            normal_forms.check_host(location or "")
        except ValueError as error:
            raise ConfigError(
                settings.WAREHOUSE, "[hidden]", f"A catalog or a table names a file at no address: {error}"
            ) from None
        if location and _is_local(location) and not self._may_be(location):
            rule = (
                "A catalog or a table names a file of this machine. Name the folder as the config's "
                f"{settings.WAREHOUSE} (file:///…), or among the worker's connector.files.allowed.paths"
            )
            raise ConfigError(settings.WAREHOUSE, location, rule)
        if location and _HADOOP.match(location) and _name_node(location) not in self._name_nodes:
            rule = (
                "A catalog or a table names a name node of Hadoop that the config does not name: it would be asked with the "
                f"login of the machine. If it is right, set {settings.WAREHOUSE} to a folder there"
            )
            raise ConfigError(settings.WAREHOUSE, location, rule)

    def check_target(self, response: Response, url: str | None) -> str | None:
        """
        Return where a redirect leads. Raise ConfigError if that is an address that the config does not name, or if a login was
        sent, and it is another one than it was sent to: 307 and 308 would send it there.
        """
        try:
            origin = origin_of(normal_forms.joined(response.url, url)) if url else None
        except ValueError:
            origin = None
        if url and not _is_same(response.url, origin):
            if is_login(response.request):
                self._refuse("oauth2-server-uri", f"a service redirected the request for a token to {_shown(url)}")
            if origin not in self._origins:
                self._refuse("uri", f"a service redirected to {_shown(url)}, which is another address than those of the config")
        return url

    def _may_be(self, location: str) -> bool:
        path = _local_path(location)
        if self._files.limited:
            return self._files.allows(path)
        try:
            return any(path and folder and is_within(folder, path) for folder in self._folders)
        except ValueError:
            # It has a NUL in it.
            return False

    def _check_loaded(self, name: str, value: str) -> None:
        if _LOADS.fullmatch(name) and name not in _JAVAS and value:
            self._libraries.check(f"{settings.CATALOG}{name}", value, IMPLEMENTATIONS, "What pyiceberg loads")

    def _refuse(self, name: str, why: str) -> None:
        text = f"It is refused: {why}. If it is right, set {settings.CATALOG}{name} in the config"
        raise ConfigError(f"{settings.CATALOG}{name}", "[hidden]", text)


class Guarded(Catalog):
    """Mixed into each class of catalog, before it."""

    rules: Rules

    def _create_session(self) -> Session:
        # The first time with the config's properties, and then with those that the catalog has merged into them.
        self.rules.check(self.properties)
        session: Session = super()._create_session()  # type: ignore[misc]
        return session

    def _config_headers(self, session: Session) -> None:
        # What is done first with a session, and before a token is asked for by it.
        watch_redirects(session, self.rules)
        super()._config_headers(session)  # type: ignore[misc]

    def _load_file_io(self, properties: Mapping[str, Any] = {}, location: str | None = None) -> FileIO:
        merged = {**self.properties, **properties}
        self.rules.check(merged)
        self.rules.check_location(location)
        logins.check_files(merged, self.rules.environment)
        return watched(super()._load_file_io(dict(properties), location), self.rules)

    def load_table(self, identifier: Any) -> Table:
        table = super().load_table(identifier)  # type: ignore[safe-super]
        self._check_table(table.metadata, table.metadata_location)
        table.metadata = _bounded(table.metadata)
        table.io = watched(table.io, self.rules)
        return table

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        response = super().commit_table(table, requirements, updates)  # type: ignore[safe-super]
        self._check_table(response.metadata, response.metadata_location)
        return response

    def _check_table(self, metadata: Any, location: str | None) -> None:
        self.rules.check(metadata.properties)
        for place in (metadata.location, location):
            self.rules.check_location(place)
        check_parents({snapshot.snapshot_id: snapshot.parent_snapshot_id for snapshot in metadata.snapshots})


def _bounded(metadata: Any) -> Any:
    """
    Return a table's metadata with properties that neither hold a task up nor have it make a file of each row. pyiceberg goes by
    them, in sleeps that nobody can end.
    """
    properties = dict(metadata.properties)
    for name, (least, most) in _BOUNDS.items():
        with contextlib.suppress(ValueError):
            if name in properties:
                properties[name] = str(max(least, min(int(properties[name]), most)))
    return metadata if properties == metadata.properties else metadata.model_copy(update={"properties": properties})


def watch_redirects(session: Session, rules: Rules) -> None:
    """Have a session follow redirects by the rules only."""
    get_target: Callable[[Response], str | None] = session.get_redirect_target
    session.get_redirect_target = lambda response: rules.check_target(response, get_target(response))  # type: ignore[method-assign, assignment]
    session.max_redirects = _MOST_REDIRECTS


def is_login(request: PreparedRequest) -> bool:
    """Whether a request is one for a token: all others have JSON, or nothing."""
    return str(request.headers.get("Content-Type", "")).lower().startswith("application/x-www-form-urlencoded")


def check_parents(parents: Mapping[int, int | None]) -> None:
    """
    Raise ConfigError if a snapshot of a table is its own ancestor: whoever goes from one to the next, as we and pyiceberg do,
    would never come to an end. `parents` has the parent of each.
    """
    checked: set[int] = set()
    for snapshot in parents:
        at: int | None = snapshot
        way: set[int] = set()
        while at is not None and at in parents and at not in checked:
            if at in way:
                rule = f"A catalog or a table has a snapshot, {at}, that is its own ancestor: such a table can't be read"
                raise ConfigError(settings.URI, "[hidden]", rule)
            way.add(at)
            at = parents[at]
        checked |= way


def guarded(kind: str, rules: Rules) -> type[Catalog]:
    """Return the class of a kind of catalog, with the rules before it. Raise ImportError if it is not installed."""
    module, _, name = _CLASSES[kind].rpartition(".")
    base = getattr(importlib.import_module(module), name)
    return type(f"Guarded{name}", (Guarded, base), {"rules": rules})


def watched(io: FileIO, rules: Rules) -> FileIO:
    """Have all files that are opened or deleted by `io` checked first: manifests name files, too."""
    if getattr(io, "kconnect_rules", None) is not None:
        return io
    for name in ("new_input", "new_output", "delete"):
        setattr(io, name, _checking(getattr(io, name), rules))
    io.kconnect_rules = rules  # type: ignore[attr-defined]
    return io


def _checking(call: Callable[..., Any], rules: Rules) -> Callable[..., Any]:
    def checked(location: Any, *more: Any, **named: Any) -> Any:
        rules.check_location(location if isinstance(location, str) else location.location)
        return call(location, *more, **named)

    return checked


def _is_local(location: str) -> bool:
    """Whether pyiceberg takes a location of a file for one of this machine: without a scheme, too."""
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.\-]*):", location)
    return scheme is None or scheme[1].lower() == "file"


def _name_node(location: str) -> str:
    """Return the name node, with its port, that a location of Hadoop's names; the empty text if it is the machine's own."""
    try:
        return normal_forms.split(location).netloc.lower()
    except ValueError:
        return location


def _looks_local(text: str) -> bool:
    """Whether a text that may as well be a name, such as that of a warehouse, is a path of this machine."""
    return text.startswith("/") or text[:5].lower() == "file:"


def _local_path(location: str) -> str:
    """Return the path that pyiceberg opens for a local location; the empty text, which is allowed nowhere, for odd ones."""
    if location[:5].lower() != "file:":
        return location
    try:
        parts = normal_forms.split(location)
    except ValueError:
        return ""
    return "" if parts.netloc or parts.query or parts.fragment else parts.path


def _is_same(asked: str, origin: tuple[str, str, int] | None) -> bool:
    """Whether a redirect stays on the host: the same origin, or from http to https."""
    asked_origin = origin_of(asked)
    if asked_origin is None or origin is None:
        return False
    return asked_origin == origin or (
        asked_origin[1] == origin[1] and asked_origin[2] == 80 and (origin[0], origin[2]) == ("https", 443)
    )


def _shown(url: str) -> str:
    """Return an address without user, path and query."""
    origin = origin_of(url)
    return "one that can't be read" if origin is None else f"{origin[0]}://{origin[1]}:{origin[2]}"
