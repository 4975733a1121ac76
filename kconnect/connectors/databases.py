"""
Which URLs of databases may be used: dialects and drivers of a list, and parameters that neither load code nor read files as
data.

SQLAlchemy loads the dialect and the driver that a URL names, and plugins, and gives the driver all parameters. So these are
known by name for each driver here; a driver that the worker's file adds gets all but plugins. Called for the SQL connectors
(`sql/urls.py`) and for a catalog of Iceberg that is in a database. Read next: `libraries.py`, `host_files.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import unquote

from sqlalchemy import URL

from kconnect.api import ConfigError
from kconnect.connectors.host_files import HostFiles
from kconnect.connectors.libraries import Libraries

_LIBPQ = frozenset(
    (
        *("host", "port", "dbname", "user", "password", "options", "application_name", "client_encoding", "connect_timeout"),
        *("sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "sslpassword", "sslcompression", "sslsni", "sslnegotiation"),
        *("ssl_min_protocol_version", "ssl_max_protocol_version", "channel_binding", "gssencmode", "krbsrvname"),
        *("keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"),
        *("target_session_attrs", "load_balance_hosts", "prepare_threshold", "require_auth"),
    )
)
"""Not: passfile, service, servicefile (files of the worker's user), sslcertdir, oauth_* (addresses), and what is not known."""
_PYMYSQL = frozenset(
    (
        *("charset", "collation", "connect_timeout", "read_timeout", "write_timeout", "program_name", "max_allowed_packet"),
        *(
            "ssl",
            "ssl_ca",
            "ssl_cert",
            "ssl_key",
            "ssl_disabled",
            "ssl_verify_cert",
            "ssl_verify_identity",
            "ssl_check_hostname",
        ),
        *("sql_mode", "unix_socket", "use_unicode"),
    )
)
"""Not: local_infile (the server would read files), read_default_file, init_command, and what is not known."""
_SQLITE = frozenset(("uri", "mode", "cache", "timeout", "nolock", "immutable", "check_same_thread", "psow"))
_DRIVERS: Mapping[str, frozenset[str]] = {
    "sqlite": _SQLITE,
    "sqlite+pysqlite": _SQLITE,
    "postgresql": _LIBPQ,
    "postgresql+psycopg": _LIBPQ,
    "postgresql+psycopg2": _LIBPQ,
    "mysql": _PYMYSQL,
    # It would let a server read files if nobody said no: `sql/database.py` does.
    "mysql+mysqldb": _PYMYSQL,
    "mariadb+mysqldb": _PYMYSQL,
    "mysql+pymysql": _PYMYSQL,
    "mariadb": _PYMYSQL,
    "mariadb+pymysql": _PYMYSQL,
}
_LENT: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("psycopg", "psycopg2"), ("PGPASSWORD", "PGHOST")),
    "mysqldb": ("MYSQL_PWD", "MYSQL_HOST"),
}
"""The variables with a password that the libraries of drivers look for, and those with the server that it is for."""
_FILES = frozenset(("sslrootcert", "sslcert", "sslkey", "sslcrl", "ssl_ca", "ssl_cert", "ssl_key", "unix_socket"))
_NO_FILES = frozenset(("system", "", "true", "false"))
_ENGINE = re.compile(r"^[\w-]+:")
"""libpq takes the name of an OpenSSL engine before a colon, and loads it."""


def check(setting: str, url: URL, worker: Mapping[str, str]) -> None:
    """Raise ConfigError, naming the setting but never the URL, if the database may not be reached by this URL."""
    libraries, files = Libraries(worker), HostFiles(worker)
    libraries.check(setting, url.drivername, _DRIVERS.keys(), "The URL's dialect, with its driver,", "[hidden]")
    known_parameters = _DRIVERS.get(url.drivername)
    for name, value in url.query.items():
        values = (value,) if isinstance(value, str) else value
        if name == "plugin" or (known_parameters is not None and name not in known_parameters):
            raise ConfigError(
                setting, "[hidden]", f"Its parameter {name} may not be used. {_remedy(url, name, known_parameters)}"
            )
        for text in values:
            if name == "sslkey" and _ENGINE.match(text):
                raise ConfigError(setting, "[hidden]", "Its parameter sslkey names an engine: name a file")
            if name in _FILES and text not in _NO_FILES:
                files.check(f"{setting} ({name})", text)
            if name == "host":
                # libpq tries one after the other; what begins with a slash is the folder of a socket.
                for host in text.split(","):
                    if host.startswith("/"):
                        files.check(f"{setting} ({name})", host)
    if url.get_backend_name() == "sqlite":
        _check_sqlite(setting, url, files)
    elif url.host and url.host.startswith("/"):
        files.check(setting, url.host)


def check_login(setting: str, url: URL) -> None:
    """
    Raise ConfigError if a driver would send the password of the hosts' environment to a server that only the URL names. `url`
    has the config's own password, if there is one.
    """
    password, variable = _LENT.get(url.get_driver_name(), ("", ""))
    if not os.environ.get(password) or url.password or url.query.get("password"):
        return
    host = url.query.get("host") or url.host or ""
    if host and host != os.environ.get(variable):
        rule = (
            f"The environment of the hosts has a password ({password}), which would go to the URL's server. Give a "
            f"password of the config's own, or name the server in that environment, too ({variable})"
        )
        raise ConfigError(setting, "[hidden]", rule)


def _remedy(url: URL, name: str, known_parameters: frozenset[str] | None) -> str:
    if name == "plugin" or known_parameters is None:
        return "Plugins of SQLAlchemy are never loaded: leave it out"
    return f"Those of {url.drivername} are: {', '.join(sorted(known_parameters))}"


def _check_sqlite(setting: str, url: URL, files: HostFiles) -> None:
    """
    Raise ConfigError for a file out of bounds: of the text that SQLite is given, by SQLite's own rules.

    Those of `uri=true` hold only then; without it SQLAlchemy drops all parameters, `mode=memory` too.
    """
    name = url.database or ""
    if name in ("", ":memory:"):
        return
    if not _has_uri(url):
        files.check(setting, name)
    elif not name.startswith("file:"):
        # It is a path, and the parameters that stand behind it are part of it.
        parameters = "".join(map(str, url.query.values()))
        files.check(setting, "" if "/" in parameters and files.limited else name)
    elif "?" in name or "#" in name:
        # The path ends there, and what follows may be parameters that are not known here.
        raise ConfigError(setting, "[hidden]", "The path of a SQLite database with uri=true has neither ? nor #")
    elif url.query.get("mode") != "memory":
        files.check(setting, unquote(re.sub("^//[^/]*", "", name.removeprefix("file:")), errors="surrogateescape"))


def _has_uri(url: URL) -> bool:
    """Whether SQLAlchemy has SQLite take the name for an address."""
    return str(url.query.get("uri", "false")).strip().lower() not in ("false", "no", "off", "n", "f", "0")
