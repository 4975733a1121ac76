"""What a database's URL may have a driver load, run or read: by who may create connectors, and by the server that is named."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from kconnect.api import ConfigError
from kconnect.connectors import databases
from kconnect.connectors.iceberg.catalogs import _database
from kconnect.connectors.iceberg.connector import IcebergSinkConnector
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.connectors.sql.database import _arguments
from kconnect.connectors.sql.source import SqlSourceConnector

ALLOWED, LIBRARIES = "connector.files.allowed.paths", "connector.library.implementations.allowed"

REFUSED = (
    "sqlite:////x.db?plugin=evil",
    "sqlite:////x.db?vfs=unix-evil",
    "evil://h/x",
    "postgresql+evil://h/x",
    "mssql+pyodbc://h/x?driver=/tmp/evil.so",
    "duckdb:////etc/passwd",
    "postgresql://h/x?service=prod",
    "postgresql://h/x?passfile=/home/worker/.pgpass",
    "postgresql://h/x?servicefile=/x",
    "postgresql://h/x?sslkey=engine:key",
    "postgresql://h/x?oauth_issuer=http://evil",
    "postgresql://h/x?unknown=1",
    "mysql://h/x?local_infile=1",
    "mysql://h/x?read_default_file=/etc/my.cnf",
    "mysql://h/x?read_default_group=x",
    "mysql://h/x?init_command=select+1",
    "mysql+mysqldb://h/x?local_infile=1",
    "mysql+mysqldb://h/x?plugin_dir=/tmp",
    "mariadb+pymysql://h/x?client_flag=128",
)


def messages(connector: Any, config: dict[str, str], **worker: str) -> list[str]:
    made = connector()
    made.worker = worker
    return [message for value in made.validate(config).values for message in value.errors]


@pytest.mark.parametrize("url", REFUSED)
def test_no_url_loads_code_or_reads_files(url: str) -> None:
    """Whoever may create connectors puts it into the URL of a database, for any connector that takes one: it is refused."""
    sink = {"name": "c", "topics": "t", "connection.url": url}
    source = {"name": "c", "connection.url": url, "mode": "bulk", "topic.prefix": "p"}
    lake = {"name": "c", "topics": "t", "iceberg.tables": "a.b", "iceberg.catalog.type": "sql", "iceberg.catalog.uri": url}
    for connector, config in ((SqlSinkConnector, sink), (SqlSourceConnector, source), (IcebergSinkConnector, lake)):
        [message] = messages(connector, config)
        assert "may not be used" in message or "must be one of" in message or "names an engine" in message, message
        assert url not in message


def test_the_worker_s_file_adds_drivers_but_never_plugins() -> None:
    """Control: a driver that the worker's file names is used, with its parameters."""
    worker = {LIBRARIES: "mssql+pyodbc, oracle+oracledb"}
    databases.check("s", make_url("mssql+pyodbc://h/x?driver=ODBC"), worker)
    with pytest.raises(ConfigError, match="Plugins of SQLAlchemy are never loaded"):
        databases.check("s", make_url("mssql+pyodbc://h/x?plugin=x"), worker)


def test_no_server_reads_files_by_a_driver_that_would_let_it() -> None:
    """Whoever is the server of a database asks mysqlclient's library for a file: it gives none, for any connector."""
    made = _database("mysql+mysqldb://u:p%40@h/x", {})
    assert make_url(made).query == {"local_infile": "false"}
    assert make_url(made).password == "p@"
    assert _arguments(make_url("mysql+mysqldb://h/x"), 5.0, True)["local_infile"] == 0


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://u:p@h:5432/x?sslmode=verify-full&sslrootcert=/certs/ca.pem&connect_timeout=5&options=-csearch_path%3Ds",
        "mysql+pymysql://h/x?charset=utf8mb4&ssl_ca=/certs/ca.pem",
        "sqlite:////x.db?timeout=5",
        "sqlite://",
        "postgresql:///x?host=/var/run/postgresql",
    ],
)
def test_what_is_ordinary(url: str) -> None:
    """Control: what people have in their URLs."""
    databases.check("s", make_url(url), {})


@pytest.mark.parametrize(
    "form",
    [
        "sqlite:///{}/x.db",
        "sqlite:///{}/in/../x.db",
        "sqlite:///{}/in/link/x.db",
        "sqlite:///file:{}/x.db?uri=true",
        "sqlite:///x.db",
        "postgresql://h/x?sslrootcert={}/ca.pem",
        "postgresql://h/x?host={}",
        "postgresql://h/x?host=h,{}",
        "mysql://h/x?unix_socket={}/x.sock",
        "mysql://h/x?ssl_ca={}/ca.pem",
    ],
)
def test_files_of_a_url_are_below_the_allowed_folders(tmp_path: Path, form: str) -> None:
    """Whoever may create connectors names a database, a socket or a certificate outside of the folders: it is refused."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path)
    url = make_url(form.format(tmp_path))
    databases.check("s", url, {})
    with pytest.raises(ConfigError, match=ALLOWED):
        databases.check("s", url, {ALLOWED: f"{tmp_path}/in"})
    databases.check(
        "s", make_url(form.format(f"{tmp_path}/in").replace("///x.db", f"///{tmp_path}/in/x.db")), {ALLOWED: str(tmp_path)}
    )


SPELLINGS = (
    "sqlite:///file:{}/secret.db#/../in/z?uri=true",
    "sqlite:///file:{}/in/%252e%252e/secret.db?uri=true",
    "sqlite:///{}/secret.db?mode=memory",
    "sqlite:///{}/in/x?uri=true&cache=/../../secret.db",
    "sqlite:///file:{}/in/../secret.db%3Fx?uri=true",
)


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning", "ignore::sqlalchemy.exc.SADeprecationWarning")
@pytest.mark.parametrize("form", SPELLINGS)
def test_sqlite_opens_the_file_that_was_looked_at(tmp_path: Path, form: str) -> None:
    """Whoever may create connectors spells a file outside so that SQLite sees another than who checks: it is refused."""
    (tmp_path / "in").mkdir()
    with contextlib.closing(sqlite3.connect(tmp_path / "secret.db")) as made:
        made.execute("create table canary (a)")
    url = form.format(tmp_path)
    with create_engine(url).connect() as opened:
        assert opened.execute(text("select name from sqlite_master")).scalar() == "canary", "the control: it is that file"
    with pytest.raises(ConfigError):
        databases.check("s", make_url(url), {ALLOWED: f"{tmp_path}/in"})


@pytest.mark.parametrize("form", ["sqlite:///file:{}/x.db?uri=true", "sqlite:///file:x?uri=true&mode=memory", "sqlite://"])
def test_sqlite_within_the_folders(tmp_path: Path, form: str) -> None:
    """Control: what is within, or in memory."""
    databases.check("s", make_url(form.format(tmp_path)), {ALLOWED: str(tmp_path)})
