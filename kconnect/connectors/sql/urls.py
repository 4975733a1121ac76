"""
The URL of a database: JDBC's are turned into SQLAlchemy's, with the parameters that both have.

Called by `database.py`. What is not understood is refused by its name, and no message has a password.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Mapping
from typing import Any

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from kconnect.api import ConfigError
from kconnect.connectors import databases
from kconnect.connectors.sql import settings

_JDBC = re.compile(
    r"jdbc:(postgresql|mysql|mariadb)://(?P<hosts>[^/?]*)(?:/(?P<database>[^?]*))?(?:\?(?P<query>.*))?$", re.DOTALL
)
_DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql", "sqlite": "sqlite"}
_POSTGRESQL = {
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "connectTimeout": "connect_timeout",
    "ApplicationName": "application_name",
    "targetServerType": "target_session_attrs",
}
_TARGETS = {"primary": "read-write", "master": "read-write", "any": "any"}
_HARMLESS = {
    "postgresql": ("reWriteBatchedInserts", "stringtype", "tcpKeepAlive", "loginTimeout", "socketTimeout", "prepareThreshold"),
    "mysql": ("rewriteBatchedStatements", "useUnicode", "characterEncoding", "serverTimezone", "allowPublicKeyRetrieval"),
}
"""What says nothing that matters here."""
_NO_LIMITS: Mapping[str, str] = {}


def url_of(config: Mapping[str, Any], worker: Mapping[str, str] = _NO_LIMITS) -> URL:
    """
    SQLAlchemy's URL, with user and password. ConfigError at `connection.url` if it can't be used. `worker` has the worker's
    limits.
    """
    text: str = config[settings.URL]
    url = _of_jdbc(text) if text.startswith("jdbc:") else _of_sqlalchemy(text)
    databases.check(settings.URL, url, worker)
    if url.get_backend_name() == "sqlite":
        return url  # It knows no users: JDBC's driver takes one, and does not look at it.
    user, password = config[settings.USER], config[settings.PASSWORD].value
    if user:
        url = url.set(username=user)
    return url.set(password=password) if password else url


def _of_sqlalchemy(text: str) -> URL:
    try:
        url = make_url(text)
    except ArgumentError:
        raise _refused("It is no URL of a database, such as jdbc:postgresql://host:5432/shop") from None
    return url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))


def _of_jdbc(text: str) -> URL:
    if text.startswith("jdbc:sqlite:"):
        return URL.create("sqlite", database=text.removeprefix("jdbc:sqlite:").partition("?")[0])
    match = _JDBC.match(text)
    if match is None:
        understood = "jdbc:postgresql, jdbc:mysql, jdbc:mariadb and jdbc:sqlite"
        raise _refused(
            f"URLs of JDBC are understood if they begin with {understood}; for another database write SQLAlchemy's URL"
        )
    kind = match[1]
    host, _, port = match["hosts"].rpartition(":") if re.search(r":\d+$", match["hosts"]) else (match["hosts"], "", "")
    if "," in match["hosts"]:
        raise _refused("It has several hosts, but there may be one")
    parameters = dict(urllib.parse.parse_qsl(match["query"] or "", keep_blank_values=True))
    user, password = parameters.pop("user", None), parameters.pop("password", None)
    query = _postgresql(parameters) if kind == "postgresql" else _mysql(parameters)
    database = urllib.parse.unquote(match["database"] or "") or None
    return URL.create(
        _DRIVERS[kind], user, password, host.strip("[]") or "localhost", int(port) if port else None, database, query
    )


def _postgresql(parameters: dict[str, str]) -> dict[str, str]:
    query: dict[str, str] = {}
    for name, value in parameters.items():
        if name == "currentSchema":
            query["options"] = f"-csearch_path={value}"
        elif name == "ssl":
            query.setdefault("sslmode", "require" if value.lower() in ("", "true") else "disable")
        elif name == "targetServerType" and value not in _TARGETS:
            raise _refused(f"Its targetServerType may be primary or any, but is {value}")
        elif name in _POSTGRESQL:
            query[_POSTGRESQL[name]] = _TARGETS.get(value, value)
        elif name not in _HARMLESS["postgresql"]:
            raise _unknown(name)
    return query


def _mysql(parameters: dict[str, str]) -> dict[str, str]:
    query: dict[str, str] = {"charset": "utf8mb4"}
    for name, value in parameters.items():
        if (name in ("useSSL", "requireSSL") and value.lower() == "true") or (name == "sslMode" and value != "DISABLED"):
            query["ssl"] = "true"
        elif name == "connectTimeout":
            if not value.isdecimal():
                raise _refused(f"Its connectTimeout is a number of ms, but is {value}")
            query["connect_timeout"] = str(max(1, int(value) // 1000))
        elif name not in (*_HARMLESS["mysql"], "useSSL", "requireSSL", "sslMode"):
            raise _unknown(name)
    return query


def _unknown(name: str) -> ConfigError:
    return _refused(f"Its parameter {name} is not understood: leave it out, or write SQLAlchemy's URL with what the driver has")


def _refused(text: str) -> ConfigError:
    # The value may hold a password.
    return ConfigError(settings.URL, "[hidden]", text)
