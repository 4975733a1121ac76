"""
The catalog, and what its errors and those of the files mean.

Used by the task, which tries again what may pass, and by `connector.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import requests
from pyiceberg.catalog import Catalog, load_catalog
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

from kconnect.api import ConfigError
from kconnect.connectors.iceberg import settings

# It warns of each commit that it tries again.
logging.getLogger("pyiceberg").setLevel(logging.ERROR)

ERRORS: tuple[type[Exception], ...] = (
    RESTError,
    CommitFailedException,
    ValidationException,
    NoSuchTableError,
    NoSuchNamespaceError,
    requests.RequestException,
    OSError,
)
"""What catalogs and files raise; `errors` adds those of a catalog in a database."""
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


def made_catalog(config: Mapping[str, Any], props: Mapping[str, str]) -> Catalog:
    """ConfigError if it can't be made, or does not answer; one in a database makes its tables."""
    properties = settings.catalog_properties(config, props)
    try:
        return load_catalog(config[settings.NAME], **properties)
    except (NotInstalledError, ImportError) as error:
        text = f"What this kind of catalog needs is not installed here: {error}"
        raise ConfigError(settings.KIND, config[settings.KIND], text) from None
    except (UnauthorizedError, ForbiddenError, OAuthError) as error:
        raise ConfigError(settings.CREDENTIAL, "[hidden]", reason(error)) from None
    except Exception as error:  # noqa: BLE001 - each kind of catalog has errors of its own
        raise ConfigError(settings.URI, "[hidden]", f"The catalog can't be used: {reason(error)}") from None


def errors() -> tuple[type[Exception], ...]:
    """Of catalogs and files."""
    try:
        from sqlalchemy.exc import SQLAlchemyError
    except ImportError:
        return ERRORS
    return (*ERRORS, SQLAlchemyError)


def passes(error: Exception) -> bool:
    """Whether another try may succeed."""
    return not isinstance(error, _FINAL)


def reason(error: Exception) -> str:
    """In one line, without what a database's statement had."""
    original = getattr(error, "orig", None) or error
    return " ".join(str(original).split())[:500] or type(original).__name__
