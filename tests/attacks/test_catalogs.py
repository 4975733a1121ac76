"""What a lake's catalog, its tables and the config of a sink may have pyiceberg load, ask and write."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from botocore.awsrequest import AWSRequest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import RESTError
from pyiceberg.io.fsspec import S3V4RestSigner
from pyiceberg.utils.config import Config

from kconnect.api import ConfigError, ConnectError, SinkRecord
from kconnect.connectors.iceberg import answers, catalogs, settings
from kconnect.connectors.iceberg.connector import IcebergSinkConnector
from kconnect.connectors.iceberg.guard import Rules
from kconnect.connectors.iceberg.task import IcebergSinkTask
from kconnect.core.settings.validation import errors_of
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from kconnect.testing import SinkRunner
from tests.attacks import endless_databases as endless
from tests.attacks import hostile
from tests.attacks.hostile import Asked, Hostile, Reply, bomb
from tests.support import wait_until

SWITCH = "connector.library.implementations.allowed"
POPEN = "subprocess.Popen"


class Catalog(Hostile):
    """A REST catalog with one table, shop.orders, that answers whatever properties it is told to."""

    def __enter__(self) -> Catalog:
        return self

    def __init__(self, location: str = "s3://lake/orders") -> None:
        super().__init__()
        self.config: dict[str, Any] = {"defaults": {}, "overrides": {}}
        self.table: dict[str, Any] = {}
        self.properties: dict[str, Any] = {}
        self.snapshots: dict[str, Any] = {}
        self.location = location
        self.paths["/v1/config"] = lambda asked: _json(self.config)
        self.paths["/v1/namespaces"] = lambda asked: _json({"namespaces": [["shop"]]})
        self.default = self._table

    def _table(self, asked: Asked) -> Reply:
        return _json(
            {
                "metadata-location": f"{self.location}/metadata/1.json",
                "metadata": metadata(self.location, self.properties) | self.snapshots,
                "config": self.table,
            }
        )


def _json(body: Any) -> Reply:
    return Reply(200, {"Content-Type": "application/json"}, json.dumps(body).encode())


def metadata(location: str, properties: dict[str, Any]) -> dict[str, Any]:
    field = {"id": 1, "name": "id", "required": False, "type": "int"}
    return {
        "format-version": 2,
        "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
        "location": location,
        "last-sequence-number": 0,
        "last-updated-ms": 1602638573590,
        "last-column-id": 1,
        "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [field]}],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "last-partition-id": 999,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": properties,
        "snapshots": [],
    }


@pytest.fixture
def catalog() -> Iterator[Catalog]:
    with Catalog() as made:
        yield made


@pytest.fixture
def other() -> Iterator[Hostile]:
    """A service that the config does not name."""
    with Hostile() as made:
        yield made


def config(**more: str) -> dict[str, str]:
    return {
        "name": "lake",
        "connector.class": "IcebergSink",
        "topics": "orders",
        "iceberg.tables": "shop.orders",
        **{name.replace("__", "."): value for name, value in more.items()},
    }


def validated(given: dict[str, str], **settings: str) -> list[str]:
    """Have a worker's sandbox validate a config. Return all messages."""
    sandbox = Sandbox(Registry.scan(None), plugin_settings=settings)
    try:
        infos = sandbox.validate("IcebergSink", given)
    finally:
        sandbox.close()
    return [message for row in infos["configs"] for message in errors_of(row)]


def problems(given: dict[str, str], **worker: str) -> list[str]:
    """Have the connector validate a config in this process. Return its messages."""
    connector = IcebergSinkConnector()
    connector.worker = worker
    return [message for value in connector.validate(given).values for message in value.errors]


def shell(file: Path) -> dict[str, str]:
    """Properties whose names are the arguments of a shell that makes a file."""
    return {"sh": "x", "-c": "x", f"touch {file}; exit 0": "x"}


def of_rest(catalog: Catalog, **more: str) -> dict[str, str]:
    return config(**{"iceberg.catalog.type": "rest", "iceberg.catalog.uri": catalog.url, **more})


@pytest.mark.process
def test_a_catalog_s_answer_runs_no_command(catalog: Catalog, tmp_path: Path) -> None:
    """Whoever is the REST catalog answers properties that name subprocess.Popen: no validation and no task runs it."""
    file = tmp_path / "ran"
    catalog.config = {"defaults": shell(file), "overrides": {"py-io-impl": POPEN}}

    def ran() -> bool:
        # On a slow machine a validation's time may be over before it comes so far.
        with contextlib.suppress(ConnectError):
            validated(of_rest(catalog), **{SWITCH: POPEN})
        return file.exists()

    wait_until(ran, 240, "the control: with the switch open, the command did not run")
    file.unlink()
    [message] = validated(of_rest(catalog))
    assert "What pyiceberg loads must be one of" in message
    assert SWITCH in message
    assert not file.exists()


@pytest.mark.process
def test_a_sink_s_config_runs_no_command(tmp_path: Path) -> None:
    """Whoever may create connectors names subprocess.Popen as the class for files: neither validation nor a task runs it."""
    file = tmp_path / "ran"
    (tmp_path / "lake").mkdir()
    place = {"iceberg.catalog.uri": f"sqlite:///{tmp_path}/c.db", "iceberg.catalog.warehouse": f"file://{tmp_path}/lake"}
    given = config(
        **{f"iceberg.catalog.{name}": value for name, value in shell(file).items()},
        **{"iceberg.catalog.type": "sql", **place, "iceberg.catalog.py-io-impl": POPEN},
        **{"iceberg.tables.auto-create-enabled": "true", "iceberg.control.commit.interval-ms": "0"},
    )
    with pytest.raises(Exception, match=r"pyiceberg loads|Popen"):
        SinkRunner(IcebergSinkConnector, given)
    task = IcebergSinkTask()
    with pytest.raises(ConfigError, match="What pyiceberg loads must be one of"):
        task.start(given)
    assert not file.exists()
    task.worker = {SWITCH: POPEN}
    task.start(given)
    with pytest.raises(AttributeError, match="Popen"):
        task._lake.ensure("shop.orders", pa.schema([pa.field("id", pa.int32())]), False)
    wait_until(file.exists, message="the control: with the switch open, the command did not run")


LOADS = {
    "for all tables": lambda catalog, own: catalog.config["overrides"].update(own),
    "for one table": lambda catalog, own: catalog.table.update(own),
    "in a table's metadata": lambda catalog, own: catalog.properties.update(own),
}
NAMES = ("py-io-impl", "s3.retry-strategy-impl", "write.py-location-provider.impl", "py-catalog-impl", "S3.SIGNER-IMPL")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("where", LOADS)
def test_no_name_in_an_answer_is_loaded(catalog: Catalog, where: str, name: str) -> None:
    """Whoever is the catalog names a class anywhere in its answers: it is not loaded."""
    LOADS[where](catalog, {name: "antigravity.Anything"})
    [message] = problems(of_rest(catalog))
    assert "What pyiceberg loads must be one of" in message
    assert name in message


@pytest.mark.process
def test_an_answer_with_more_than_texts_is_refused(catalog: Catalog, tmp_path: Path) -> None:
    """Whoever is the catalog answers a login of its own, as an object that names a class: it is not loaded."""
    file = tmp_path / "ran"
    own = {"type": "custom", "impl": POPEN, "custom": {"args": ["touch", str(file)]}}
    catalog.config["defaults"]["auth"] = own
    with pytest.raises(Exception, match="Popen"):
        load_catalog("lake", type="rest", uri=catalog.url).list_namespaces()
    wait_until(file.exists, message="the control: pyiceberg alone did not run the command")
    file.unlink()
    [message] = problems(of_rest(catalog))
    assert "a service answered a property that is no text" in message
    assert not file.exists()


ELSEWHERE = (
    "uri",
    "oauth2-server-uri",
    "s3.endpoint",
    "s3.signer.uri",
    "s3.proxy-uri",
    "adls.account-host",
    "gcs.service.host",
)


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize("where", LOADS)
def test_no_answer_leads_to_another_address(catalog: Catalog, other: Hostile, where: str, name: str) -> None:
    """Whoever is the catalog answers another address for the catalog, the login or the files: it is never asked."""
    LOADS[where](catalog, {name: other.url})
    secret = "id:canary-33-secret"
    [message] = problems(of_rest(catalog, **{"iceberg.catalog.token": "t", "iceberg.catalog.credential2": secret}))
    assert f"a service answered {other.url}, which is another address" in message
    assert f"set iceberg.catalog.{name} in the config" in message
    assert other.asked == []
    if name != "uri":
        # Where another login would be the machine's, it has its own.
        own = {"iceberg.catalog.token": "t", "iceberg.catalog.adls.sas-token": "s", "iceberg.catalog.gcs.oauth2.token": "t"}
        named = of_rest(catalog, **{**own, f"iceberg.catalog.{name}": other.url})
        assert problems(named) == [], "the control: the config names it"


@pytest.mark.parametrize("name", ["rest.sigv4-enabled", "client.profile-name", "s3.role-arn", "credential", "ssl"])
def test_no_answer_says_who_logs_in(catalog: Catalog, name: str) -> None:
    """Whoever is the catalog tells the worker to log in as somebody else, by the machine's own credentials: it does not."""
    catalog.config["overrides"][name] = "true"
    [message] = problems(of_rest(catalog))
    assert "the config alone says who logs in" in message


def test_a_redirect_does_not_lead_elsewhere(catalog: Catalog, other: Hostile) -> None:
    """Whoever is the catalog redirects to another address, with the config's headers: that is never asked."""
    catalog.paths["/v1/config"] = lambda asked: Reply(302, {"Location": f"{other.url}/internal"})
    given = of_rest(catalog, **{"iceberg.catalog.header.X-Api-Key": "canary-33-secret"})
    with contextlib.suppress(ValueError):
        load_catalog("lake", type="rest", uri=catalog.url, **{"header.X-Api-Key": "canary-33-secret"})
    assert "canary-33-secret" in str(other.asked), "the control"
    other.asked.clear()
    [message] = problems(given)
    assert "a service redirected to" in message
    assert other.asked == []


CREDENTIAL = "id:canary-33-secret"
TOKENS = "/v1/oauth/tokens"


@pytest.mark.parametrize("status", [302, 307])
@pytest.mark.parametrize("named", [False, True], ids=["of nobody", "of the config"])
def test_a_request_for_a_token_is_not_redirected_elsewhere(catalog: Catalog, other: Hostile, status: int, named: bool) -> None:
    """Whoever is the catalog redirects the request that has the secret: no other address gets it, those of files neither."""
    catalog.paths[TOKENS] = lambda asked: Reply(status, {"Location": f"{other.url}/internal"})
    with contextlib.suppress(ValueError, RESTError):
        load_catalog("lake", type="rest", uri=catalog.url, credential=CREDENTIAL)
    assert other.asked, "the control: pyiceberg goes there"
    assert ("canary-33-secret" in str(other.asked)) == (status == 307)
    other.asked.clear()
    given = of_rest(catalog, **{"iceberg.catalog.credential": CREDENTIAL})
    if named:
        given["iceberg.catalog.s3.endpoint"] = other.url
    [message] = problems(given)
    assert f"a service redirected the request for a token to {other.url}" in message
    assert other.asked == []
    catalog.paths[TOKENS] = lambda asked: Reply(status, {"Location": f"{catalog.url}/token"})
    catalog.paths["/token"] = lambda asked: _json({"access_token": "t", "token_type": "bearer"})
    assert problems(given) == [], "the control: it may be redirected on its host"


def test_a_later_request_for_a_token_is_not_redirected_elsewhere(catalog: Catalog, other: Hostile) -> None:
    """Whoever is the catalog gives a token, calls it too old, and redirects the request for the next one."""
    catalog.paths[TOKENS] = lambda asked: _json({"access_token": "t", "token_type": "bearer"})
    task = IcebergSinkTask()
    task.start(of_rest(catalog, **{"iceberg.catalog.credential": CREDENTIAL}))
    catalog.paths[TOKENS] = lambda asked: Reply(307, {"Location": f"{other.url}/internal"})
    catalog.default = lambda asked: Reply(419)
    with pytest.raises(ConfigError, match="redirected the request for a token"):
        task._lake.existing("shop.orders")
    assert other.asked == []


@pytest.mark.parametrize("kind", ["elsewhere", "bomb", "silent"])
def test_the_environment_s_own_service_for_tokens_is_not_believed(
    catalog: Catalog, other: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Whoever is the service that the hosts' environment names for tokens redirects, packs a bomb, or says nothing."""
    own = {"client_id": "id", "client_secret": "canary-33-secret", "token_url": f"{catalog.url}/token"}
    named = {"uri": catalog.url, "auth": {"type": "oauth2", "oauth2": own}}
    (tmp_path / ".pyiceberg.yaml").write_text(yaml.safe_dump({"catalog": {"prod": named}}))
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path))
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
    given = {**of_rest(catalog), "iceberg.catalog": "prod"}
    catalog.paths["/token"] = lambda asked: _json({"access_token": "t", "expires_in": 600})
    assert problems(given) == [], "the control"
    monkeypatch.setattr(answers, "WHOLE_S", 0.3)
    catalog.paths["/token"] = {
        "elsewhere": lambda asked: Reply(307, {"Location": f"{other.url}/internal"}),
        "bomb": bomb(16_000_000),
        "silent": catalog.silent(),
    }[kind]
    [message] = problems(given)
    assert {"elsewhere": "redirected", "bomb": "has more than", "silent": "takes longer"}[kind] in message
    assert other.asked == []


def test_a_service_that_signs_leads_nowhere_else(catalog: Catalog, other: Hostile) -> None:
    """Whoever is the service that signs requests for files redirects what it is asked, with the catalog's token."""
    assert problems(of_rest(catalog)) == []
    signer = S3V4RestSigner({"uri": catalog.url, "token": "canary-33-secret"})
    request = AWSRequest("GET", "https://lake/orders")
    request.context["client_region"] = "eu-west-1"
    catalog.default = lambda asked: Reply(307, {"Location": f"{other.url}/internal"})
    with pytest.raises(ConfigError, match="a service redirected to"):
        signer(request)
    assert other.asked == []


def test_requests_that_aws_signs_are_read_within_limits(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is a catalog whose requests AWS's rules sign packs a bomb: connections for these are mounted last."""
    monkeypatch.setattr(answers, "MOST_BYTES", 1_000_000)
    aws = {"rest.sigv4-enabled": "true", "rest.signing-region": "eu-west-1", "client.access-key-id": "a"}
    aws |= {"client.secret-access-key": "b", "client.region": "eu-west-1"}
    given = of_rest(catalog, **{f"iceberg.catalog.{name}": value for name, value in aws.items()})
    assert problems(given) == [], "the control"
    assert "AWS4-HMAC-SHA256" in catalog.asked[0].headers["authorization"]
    catalog.paths["/v1/config"] = bomb(16_000_000)
    [message] = problems(given)
    assert "has more than 1000000 bytes" in message


def test_no_address_is_read_in_two_ways(catalog: Catalog, other: Hostile) -> None:
    """Whoever is the catalog answers or redirects to an address whose host one parser sees as a user's name: never asked."""
    double = f"{other.url}\\@127.0.0.1:{catalog.port}"
    catalog.config["overrides"]["uri"] = double
    with contextlib.suppress(ValueError):
        load_catalog("lake", type="rest", uri=catalog.url, token="canary-33-secret").list_namespaces()
    assert "canary-33-secret" in str(other.asked), "the control: pyiceberg takes the login there"
    other.asked.clear()
    given = of_rest(catalog, **{"iceberg.catalog.token": "canary-33-secret"})
    [message] = problems(given)
    assert "which is another address" in message
    catalog.config["overrides"].clear()
    catalog.paths["/v1/config"] = lambda asked: Reply(302, {"Location": f"{double}/internal"})
    [message] = problems(given)
    assert "a service redirected to" in message
    assert other.asked == []


LOCAL = ("file:///{}", "{}", "FILE:{}", "file://localhost{}")


@pytest.mark.parametrize("form", LOCAL)
def test_a_catalog_has_no_files_written_on_this_machine(tmp_path: Path, form: str) -> None:
    """Whoever is the catalog says that a table is in a folder of the worker's machine: nothing is written there."""
    with Catalog(form.format(tmp_path)) as catalog:
        task = IcebergSinkTask()
        task.start(of_rest(catalog))
        with pytest.raises(ConfigError, match="A catalog or a table names a file of this machine"):
            task._lake.existing("shop.orders")
        task.worker = {"connector.files.allowed.paths": str(tmp_path / "other")}
        task.start(of_rest(catalog))
        with pytest.raises(ConfigError, match="A catalog or a table names a file of this machine"):
            task._lake.existing("shop.orders")
    assert not list(tmp_path.iterdir())


def test_a_table_s_files_stay_where_the_config_says(tmp_path: Path) -> None:
    """Whoever may write to the catalog has a manifest name a file outside of the allowed folders: it is not opened."""
    (tmp_path / "lake").mkdir()
    (tmp_path / "secret").write_text("canary")
    with Catalog(f"file://{tmp_path}/lake") as catalog:
        task = IcebergSinkTask()
        task.worker = {"connector.files.allowed.paths": f"{tmp_path}/lake"}
        task.start(of_rest(catalog))
        table = task._lake.existing("shop.orders")
        assert table is not None
        table.io.new_input(f"file://{tmp_path}/lake/a")
        (tmp_path / "lake" / "link").symlink_to(tmp_path)
        for place in (
            f"{tmp_path}/secret",
            "lake/../secret",
            f"file:{tmp_path}/lake/../secret",
            f"{tmp_path}/lake/link/secret",
        ):
            for call in (table.io.new_input, table.io.new_output, table.io.delete):
                with pytest.raises(ConfigError, match="names a file of this machine"):
                    call(place)
    assert (tmp_path / "secret").exists()


def test_an_answer_to_a_commit_is_looked_at_too(catalog: Catalog) -> None:
    """Whoever is the catalog names a class in the answer to a commit: the next commit does not load it."""
    task = IcebergSinkTask()
    task.start(of_rest(catalog))
    table = task._lake.existing("shop.orders")
    assert table is not None
    catalog.properties["write.py-location-provider.impl"] = "antigravity.Anything"
    with pytest.raises(ConfigError, match="What pyiceberg loads must be one of"):
        table.transaction().set_properties({"a": "b"}).commit_transaction()


def test_a_login_of_the_environment_is_not_taken_elsewhere(
    catalog: Catalog, other: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may create connectors names a catalog that the hosts have a login for, elsewhere: no token goes there."""
    named = {"uri": "https://catalog.example.com", "token": "canary-33-secret"}
    for name, value in named.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__PROD__{name.upper()}", value)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
    [message] = problems({**of_rest(catalog), "iceberg.catalog": "prod"})
    assert "name the catalog differently" in message
    assert catalog.asked == []


def test_a_login_of_the_environment_gets_its_token_nowhere_else(
    catalog: Catalog, other: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may create connectors names a catalog that the hosts have a login for, and another address for its token."""
    for name, value in {"uri": catalog.url, "credential": "id:canary-33-secret"}.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__PROD__{name.upper()}", value)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())
    given = of_rest(catalog, **{"iceberg.catalog": "prod", "iceberg.catalog.oauth2-server-uri": f"{other.url}/token"})
    [message] = problems(given)
    assert "name the catalog differently" in message
    assert other.asked == []


def test_what_a_service_may_say(catalog: Catalog) -> None:
    """Control for all of these: credentials for the files, regions and prefixes are a catalog's to say."""
    catalog.config = {
        "defaults": {"s3.region": "eu-west-1"},
        "overrides": {"prefix": "", "warehouse": "lake", "owner-url": "x"},
    }
    catalog.table = {"s3.access-key-id": "a", "s3.secret-access-key": "b", "s3.session-token": "c", "token": "d"}
    catalog.table["s3.endpoint"] = catalog.url
    catalog.properties = {"write.object-storage.enabled": "true", "wiki.url": "https://wiki.example.com", "io-impl": "a.B"}
    assert problems(of_rest(catalog)) == []


def test_no_location_leads_to_another_name_node() -> None:
    """Whoever is the catalog says that a table is at a name node of theirs, which would be asked with the machine's login."""
    rules = Rules("rest", {"uri": "https://catalog", "warehouse": "hdfs://node-1:8020/lake"}, {})
    for location in ("hdfs://node-1:8020/lake/t", "HDFS://Node-1:8020/x", "hdfs:///lake/t", "s3://lake/t", None):
        rules.check_location(location)
    for location in ("hdfs://evil:8020/lake/t", "hdfs://node-1:9000/x", "viewfs://evil/x", "hdfs://node-1:8020@evil/x"):
        with pytest.raises(ConfigError, match="a name node of Hadoop that the config does not name"):
            rules.check_location(location)
    with pytest.raises(ConfigError):
        Rules("rest", {"uri": "https://catalog", "warehouse": "lake"}, {}).check_location("hdfs://evil/x")


@pytest.mark.parametrize("parents", [{1: 2, 2: 1}, {1: 1}, {1: 2, 2: 3, 3: 4, 4: 2}], ids=["two", "itself", "behind others"])
def test_snapshots_that_are_their_own_ancestors_hold_up_nobody(catalog: Catalog, parents: dict[int, int]) -> None:
    """Whoever is the catalog makes a ring of a table's snapshots: the task fails, where it never came to an end."""
    snapshots = [
        {
            "snapshot-id": snapshot,
            "parent-snapshot-id": parent,
            "sequence-number": 1,
            "timestamp-ms": 1602638573590,
            "manifest-list": f"{catalog.location}/metadata/list.avro",
            "summary": {"operation": "append"},
        }
        for snapshot, parent in parents.items()
    ]
    refs = {"main": {"snapshot-id": 1, "type": "branch"}}
    catalog.snapshots = {"snapshots": snapshots, "current-snapshot-id": 1, "last-sequence-number": 1, "refs": refs}
    with (
        pytest.raises(ConnectError, match="that is its own ancestor"),
        SinkRunner(IcebergSinkConnector, of_rest(catalog)) as runner,
    ):
        runner.put([])


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ((), "not answered within 0.3 s"),
        (itertools.chain([endless.ROWS], endless.without_end(endless.ROW)), "more than memory"),
    ],
    ids=["silent", "endless"],
)
def test_a_catalog_in_a_database_has_limits(pieces: Iterable[bytes], text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database of a catalog says nothing behind a login, or answers the first statement without an end."""
    monkeypatch.setattr(answers, "WHOLE_S", 0.3 if not pieces else 100.0)
    monkeypatch.setattr(answers, "MOST_BYTES", 4 * 1024 * 1024)
    server = endless.PostgreSQL(pieces)
    uri = server.url.replace("postgresql:", "postgresql+psycopg:")
    props = {"iceberg.catalog.type": "sql", "iceberg.catalog.uri": uri, "topics": "t", "iceberg.tables": "a.b"}
    with contextlib.closing(server), pytest.raises(ConfigError, match=text):
        catalogs.made_catalog(settings.CONFIG.parse(props), props, {})


@pytest.mark.parametrize("name", ["adls.account-name", "s3.region", "client.region"])
@pytest.mark.parametrize("where", LOADS)
def test_no_part_of_a_host_s_name_leads_to_another_host(catalog: Catalog, where: str, name: str) -> None:
    """Whoever is the catalog answers the name of an account with a slash in it: the machine's own token went to that host."""
    LOADS[where](catalog, {name: "evil.example.com/x"})
    [message] = problems(of_rest(catalog))
    assert f"set iceberg.catalog.{name} in the config" in message
    assert "would lead to another host" in message
    LOADS[where](catalog, {name: "lake-1"})
    assert problems(of_rest(catalog)) == [], "the control"


def test_no_table_has_a_task_sleep_for_years(catalog: Catalog) -> None:
    """
    Whoever is the catalog, or owns a table, says by its properties how long pyiceberg sleeps before it commits again, and how
    small files are: its task could not be stopped, and made a file of each row.
    """
    given = {
        "commit.retry.num-retries": "1000000",
        "commit.retry.min-wait-ms": "1000000000000",
        "commit.retry.max-wait-ms": "1000000000000",
        "commit.retry.total-timeout-ms": "30000",
        "write.target-file-size-bytes": "1",
        "write.parquet.row-group-limit": "-1",
        "write.parquet.page-size-bytes": "many",
        "owner": "me",
    }
    catalog.properties.update(given)
    task = IcebergSinkTask()
    task.start(of_rest(catalog))
    table = task._lake.existing("shop.orders")
    assert table is not None
    for _ in range(2):
        assert table.properties == {
            "commit.retry.num-retries": "10",
            "commit.retry.min-wait-ms": "1000",
            "commit.retry.max-wait-ms": "10000",
            "commit.retry.total-timeout-ms": "30000",
            "write.target-file-size-bytes": "1048576",
            "write.parquet.row-group-limit": "1000",
            "write.parquet.page-size-bytes": "many",
            "owner": "me",
        }
        table.refresh()


@pytest.mark.parametrize("where", ["/v1/config", "the table"])
def test_a_task_that_waits_for_a_catalog_can_be_stopped(catalog: Catalog, where: str) -> None:
    """Whoever is the catalog says nothing: the task is stopped all the same, within the time that hosts wait for one."""
    ended = threading.Event()
    task = IcebergSinkTask()

    def run() -> None:
        # A catalog that is away is told in several ways.
        with contextlib.suppress(Exception):
            task.start(of_rest(catalog))
            task.put([SinkRecord("orders", 0, None, None, None, {"id": 1}, 0)])
        ended.set()

    if where == "the table":
        catalog.default = catalog.silent()
    else:
        catalog.paths[where] = catalog.silent()
    threading.Thread(target=run, daemon=True).start()
    wait_until(lambda: bool(catalog.asked) and (where != "the table" or len(catalog.asked) > 1))
    task.interrupt()
    assert ended.wait(60)


def glue(service: Hostile, **more: str) -> dict[str, str]:
    """A config with a catalog in Glue, which a service stands for."""
    own = {"glue.endpoint": service.url, "glue.region": "us-east-1", "glue.access-key-id": "a", "glue.secret-access-key": "b"}
    given = {"iceberg.catalog.type": "glue", **{f"iceberg.catalog.{name}": value for name, value in own.items()}}
    return config(**given, **more)


@pytest.mark.parametrize("form", ["endless", "dripping", "silent"])
def test_answers_of_aws_have_an_end(other: Hostile, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is Glue, or DynamoDB, answers without an end: the host ended by its memory, or waited for ever."""
    monkeypatch.setattr(answers, "MOST_BYTES", 1024 * 1024)
    monkeypatch.setattr(answers, "WHOLE_S", 30.0 if form == "endless" else 0.5)
    other.default = {"endless": other.endless, "dripping": other.dripping, "silent": other.silent}[form]()
    given = glue(other)
    made = catalogs.made_catalog(settings.CONFIG.parse(given), given, {})
    match = "has more than 1048576 bytes" if form == "endless" else "takes longer than 0.5 s"
    with pytest.raises(OSError, match=match):
        made.load_table("shop.orders")
    assert len(other.asked) == 1, "boto3 tries nothing again by itself"


def test_a_task_that_waits_for_aws_can_be_stopped(other: Hostile) -> None:
    """Whoever is Glue says nothing: the task is stopped all the same."""
    ended = threading.Event()
    other.default = other.silent()
    task = IcebergSinkTask()

    def run() -> None:
        with contextlib.suppress(Exception):
            task.start(glue(other))
            task.put([SinkRecord("orders", 0, None, None, None, {"id": 1}, 0)])
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    wait_until(lambda: bool(other.asked))
    task.interrupt()
    assert ended.wait(20)


def test_what_aws_answers_is_read(other: Hostile) -> None:
    """The control, with a refusal: pyiceberg knows it by its name."""
    other.default = hostile.given({"__type": "EntityNotFoundException", "Message": "x"}, 400)
    given = glue(other)
    made = catalogs.made_catalog(settings.CONFIG.parse(given), given, {})
    assert not made.table_exists("shop.orders")
    other.default = hostile.given({"DatabaseList": [{"Name": "shop"}], "NextToken": "for ever"})
    assert catalogs.lets_in(made), "of very many pages one will do"
