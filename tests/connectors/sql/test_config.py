"""What the SQL sink says to a config: URLs of JDBC, settings that do not fit, and what the database answers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kconnect.api import ConfigError
from kconnect.connectors.sql import settings
from kconnect.connectors.sql.connector import SqlSinkConnector
from kconnect.connectors.sql.urls import url_of
from kconnect.testing import config_errors
from tests.connectors.sql.conftest import EVERY
from tests.connectors.sql.databases import Database
from tests.rig.systems.postgres import Postgres


def url(text: str, user: str = "", password: str = "") -> str:
    config = settings.CONFIG.parse({"connection.url": text, "connection.user": user, "connection.password": password})
    return url_of(config).render_as_string(hide_password=False)


@pytest.mark.parametrize(
    ("jdbc", "ours"),
    [
        ("jdbc:postgresql://h:5433/shop", "postgresql+psycopg://h:5433/shop"),
        ("jdbc:postgresql://h/shop?user=u&password=p%26q", "postgresql+psycopg://u:p%26q@h/shop"),
        (
            "jdbc:postgresql://h/shop?currentSchema=s&sslmode=require",
            "postgresql+psycopg://h/shop?options=-csearch_path%3Ds&sslmode=require",
        ),
        ("jdbc:postgresql://[::1]:5432/shop?reWriteBatchedInserts=true", "postgresql+psycopg://[::1]:5432/shop"),
        ("jdbc:mysql://h/shop?useSSL=false&serverTimezone=UTC", "mysql+pymysql://h/shop?charset=utf8mb4"),
        ("jdbc:mariadb://h:3307/shop?connectTimeout=2500", "mariadb+pymysql://h:3307/shop?charset=utf8mb4&connect_timeout=2"),
        ("jdbc:sqlite:/var/shop.db", "sqlite:////var/shop.db"),
        ("postgresql://h/shop", "postgresql+psycopg://h/shop"),
        ("mysql+mysqldb://h/shop", "mysql+mysqldb://h/shop"),
    ],
)
def test_urls(jdbc: str, ours: str) -> None:
    assert url(jdbc) == ours


def test_user_and_password_of_the_config_go_before_those_of_the_url() -> None:
    assert url("jdbc:postgresql://h/shop?user=u&password=p", "me", "it@s") == "postgresql+psycopg://me:it%40s@h/shop"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("jdbc:oracle:thin:@h:1521/x", "jdbc:postgresql, jdbc:mysql, jdbc:mariadb and jdbc:sqlite"),
        ("jdbc:postgresql://a,b/shop", "several hosts"),
        ("jdbc:postgresql://h/shop?preferQueryMode=simple", "parameter preferQueryMode is not understood"),
        ("no url", "no URL of a database"),
    ],
)
def test_urls_that_are_refused(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        url(text)


@pytest.mark.parametrize(
    ("config", "setting", "text"),
    [
        ({"insert.mode": "upsert"}, "pk.mode", "insert.mode=upsert needs a primary key"),
        ({"insert.mode": "replace"}, "insert.mode", "insert, upsert, update"),
        ({"delete.enabled": "true"}, "delete.enabled", "pk.mode=record_key only"),
        ({"pk.mode": "kafka", "pk.fields": "a,b"}, "pk.fields", "there are three"),
        ({"db.timezone": "Mars/Base"}, "db.timezone", "no such time zone"),
        ({"batch.size": "0"}, "batch.size", "at least 1"),
        ({"connection.url": "jdbc:db2://h/x"}, "connection.url", "URLs of JDBC"),
        ({"connection.url": "oracle+nothing://h/x"}, "connection.url", "dialect"),
        ({"connection.url": "jdbc:sqlite:/no/such/place.db"}, "connection.url", "unable to open database file"),
        ({"auto.create": "false"}, "table.name.format", "There is no table t: create it"),
        ({"auto.create": "false", "table.name.format": "x_${topic}"}, "table.name.format", "There is no table x_t"),
    ],
)
def test_what_is_wrong_is_said_at_the_setting(tmp_path: Path, config: dict[str, str], setting: str, text: str) -> None:
    base = {"topics": "t", "connection.url": f"jdbc:sqlite:{tmp_path}/d.db", "auto.create": "true"}
    errors = config_errors(SqlSinkConnector, {**base, **config})
    assert list(errors) == [setting]
    assert text in errors[setting][0]


def test_all_is_well(database: Database) -> None:
    assert config_errors(SqlSinkConnector, {"topics": "t", **database.config, "auto.create": "true"}) == {}


@pytest.mark.parametrize("database", EVERY[1:], indirect=True)
@pytest.mark.parametrize(
    ("change", "setting", "text"),
    [
        ({"connection.password": "canary-wrong"}, "connection.password", ""),
        ({"connection.url": "/nowhere"}, "connection.url", "nowhere"),
        ({"connection.url": ":1/"}, "connection.url", ""),
    ],
)
def test_what_a_server_says(database: Database, change: dict[str, str], setting: str, text: str) -> None:
    place = database.config["connection.url"]
    end = change.get("connection.url", "")
    if end:
        before = place.rpartition("/")[0]
        change = {"connection.url": before + end if end.startswith("/") else before.rpartition(":")[0] + end + "x"}
    errors = config_errors(SqlSinkConnector, {"topics": "t", **database.config, **change, "auto.create": "true"})
    assert list(errors) == [setting]
    assert text in errors[setting][0]
    assert "canary" not in str(errors) and database.config["connection.password"] not in str(errors)


@pytest.mark.process
def test_an_unknown_user(postgres: Postgres) -> None:
    config = {
        "topics": "t",
        "connection.url": postgres.jdbc_url("postgres"),
        "connection.user": "nobody-7",
        "auto.create": "true",
    }
    errors = config_errors(SqlSinkConnector, config)
    assert list(errors) == ["connection.password"]


@pytest.mark.process
def test_rights_are_asked_for(postgres: Postgres) -> None:
    postgres.execute(
        "create role may_read login password 'p'; create table rights (id int primary key, note text); "
        "grant select, insert on rights to may_read;"
    )
    login = {"connection.url": postgres.jdbc_url("postgres"), "connection.user": "may_read", "connection.password": "p"}
    config = {"topics": "rights", "pk.mode": "record_key", "pk.fields": "id", **login}
    assert config_errors(SqlSinkConnector, config) == {}
    for more in ({"insert.mode": "upsert"}, {"delete.enabled": "true"}):
        errors = config_errors(SqlSinkConnector, {**config, **more})
        assert errors == {"connection.user": ["The user may not write the table rights: permission denied for table rights."]}
    assert postgres.rows("select count(*) from rights") == [("0",)]


def test_without_sqlalchemy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("kconnect.connectors.sql.d")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    import kconnect.connectors.sql as package

    monkeypatch.delattr(package, "database", raising=False)
    errors = config_errors(SqlSinkConnector, {"topics": "t", "connection.url": "jdbc:sqlite:x"})
    assert "pip install 'kconnect[sql]'" in errors["connection.url"][0]
