"""
The catalog, and what its errors and those of the files mean.

Used by the task, which tries again what may pass, and by `connector.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pydantic
import requests
from pyiceberg import catalog as catalog_module
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import Endpoints, RestCatalog
from pyiceberg.exceptions import (
    AuthorizationExpiredError,
    BadRequestError,
    CommitFailedException,
    ForbiddenError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NotInstalledError,
    OAuthError,
    RESTError,
    UnauthorizedError,
    ValidationException,
)
from pyiceberg.utils.config import merge_config

from kconnect.api import ConfigError
from kconnect.connectors.iceberg import answers, aws, data_files, ends, environment, files, guard, hive, logins, settings

environment.forget_here()
files.bound()
data_files.bind()
# It warns of each commit that it tries again.
logging.getLogger("pyiceberg").setLevel(logging.ERROR)

ERRORS: tuple[type[Exception], ...] = (
    RESTError,
    CommitFailedException,
    ValidationException,
    NoSuchTableError,
    NoSuchNamespaceError,
    requests.RequestException,
    pydantic.ValidationError,
    OSError,
)
"""What catalogs and files raise; `errors` adds those of a catalog in a database or in Hive."""
_FINAL = (
    UnauthorizedError,
    ForbiddenError,
    AuthorizationExpiredError,
    OAuthError,
    BadRequestError,
    NoSuchTableError,
    NoSuchNamespaceError,
    PermissionError,
)


class AwayError(ConfigError):
    """The catalog can't be reached, or is busy: it may be made later."""


def made_catalog(config: Mapping[str, Any], props: Mapping[str, str], worker: Mapping[str, str]) -> Catalog:
    """
    ConfigError if it can't be made, an AwayError if another try may succeed; one in a database makes its tables. `worker` has
    the worker's limits, which hold for what the catalog answers, too.
    """
    given_properties = settings.catalog_properties(config, props)
    kind = given_properties["type"]
    try:
        properties: dict[str, Any] = _with_environment(config[settings.NAME], given_properties)
        if kind in aws.KINDS:
            properties[aws.SESSION] = aws.session()
        folders = config[settings.LOCATIONS]
        rules = guard.Rules(kind, properties, worker, _of_environment(config[settings.NAME]), folders)
        rules.check_own(given_properties)
        if kind in ("sql", "in-memory") and given_properties.get("uri"):
            properties["uri"] = _database(given_properties["uri"], worker)
        answers.bind()
        catalog_class = guard.guarded(kind, rules)
        if kind in ("rest", "sql"):
            catalog_class = answers.bounded(catalog_class) if kind == "rest" else _bounded_database(catalog_class)
        elif kind == "hive":
            catalog_class = hive.bounded(catalog_class)
        return catalog_class(config[settings.NAME], **properties)
    except (NotInstalledError, ImportError) as error:
        text = f"What this kind of catalog needs is not installed here: {error}"
        raise ConfigError(settings.KIND, config[settings.KIND], text) from None
    except (UnauthorizedError, ForbiddenError, OAuthError) as error:
        raise ConfigError(settings.CREDENTIAL, "[hidden]", reason(error)) from None
    except ConfigError as error:
        # At a setting that the connector has declared: the property may be a service's.
        raise error if error.name in settings.CONFIG.keys else ConfigError(settings.URI, "[hidden]", str(error)) from None
    except Exception as error:  # noqa: BLE001 - each kind of catalog has errors of its own
        kind_of_error = AwayError if isinstance(error, errors()) and passes(error) else ConfigError
        raise kind_of_error(settings.URI, "[hidden]", f"The catalog can't be used: {reason(error)}") from None


def _with_environment(name: str, properties_given: Mapping[str, str]) -> dict[str, str]:
    """
    Add what the host's environment, or its file .pyiceberg.yaml, says about a catalog of that name, as pyiceberg does. Raise
    ConfigError if that is for another address: a config is not to take its login elsewhere.
    """
    from_environment = _of_environment(name)
    uri = from_environment.get("uri")
    if uri and properties_given.get("uri", uri) != uri:
        rule = (
            f"The environment of the hosts has a login for the catalog {name} at another address: name the catalog differently"
        )
        raise ConfigError(settings.NAME, name, rule)
    logins.check(properties_given, from_environment)
    properties: Any = merge_config(from_environment, dict(properties_given))
    if _needs_address(properties_given["type"]) and "uri" not in properties:
        raise ConfigError(settings.URI, None, "It is missing")
    return dict(properties)


def _of_environment(name: str) -> Any:
    """Return what the hosts' environment says of the catalog of a name."""
    return catalog_module._ENV_CONFIG.get_catalog_config(name) or {}


def _needs_address(kind: str) -> bool:
    """Whether a kind of catalog is reached by an address that must be named."""
    return kind in ("rest", "hive", "sql")


def _database(uri: str, worker: Mapping[str, str]) -> str:
    """Return the URL of a catalog's database. Raise ConfigError if it may not be used."""
    from sqlalchemy import make_url

    from kconnect.connectors import databases

    url = make_url(uri)
    databases.check(settings.URI, url, worker)
    databases.check_login(settings.URI, url)
    if url.get_driver_name() == "mysqldb":
        url = url.update_query_dict({"local_infile": "false"})
    return url.render_as_string(hide_password=False)


def _bounded_database(kind: type[Catalog]) -> type[Catalog]:
    """Return a class like that of a catalog in a database, whose answers have the limits that those of a service have."""

    def init(self: Any) -> None:
        from sqlalchemy import event

        from kconnect.connectors.sql import owners
        from kconnect.connectors.sql.answers import Limits
        from kconnect.connectors.sql.connections import Connections

        limits = Limits(answers.MOST_BYTES, answers.WHOLE_S, are_set=False)
        connections = Connections()
        connections.attach(self.engine, limits, answers.SILENT_S)
        ends.note(connections)
        place = f"the database of {settings.URI}"
        event.listen(self.engine, "begin", lambda connection: owners.warn_of_open_schemas(connection, place), once=True)
        super(bounded_kind, self)._init_catalog()

    bounded_kind: type[Catalog] = type(f"Bounded{kind.__name__}", (kind,), {"_init_catalog": init})
    return bounded_kind


def lets_in(catalog: Catalog) -> bool:
    """Whether the catalog answers this user at all. What it raises is in `errors`."""
    if isinstance(catalog, RestCatalog):
        # A page of its namespaces will do: there may be ever more of them.
        return bool(catalog._session.get(catalog.url(Endpoints.list_namespaces), params={"pageSize": "1"}).ok)
    glue = getattr(catalog, "glue", None)
    if glue is not None:
        glue.get_databases(MaxResults=1)
    else:
        catalog.list_namespaces()
    return True


def errors() -> tuple[type[Exception], ...]:
    """Return the errors that catalogs and files raise."""
    try:
        from sqlalchemy.exc import SQLAlchemyError
    except ImportError:
        return (*ERRORS, *hive.errors())
    return (*ERRORS, *hive.errors(), SQLAlchemyError)


def passes(error: Exception) -> bool:
    """Whether another try may succeed. A password that a catalog's database refuses is not sent again."""
    if type(error).__module__.startswith("sqlalchemy."):
        from kconnect.connectors.sql import database

        return not database.refuses_login(error)
    return not isinstance(error, _FINAL)


def reason(error: Exception) -> str:
    """Return the reason in one line, without what a database's statement had."""
    original = getattr(error, "orig", None) or error
    return " ".join(str(original).split())[:500] or type(original).__name__
