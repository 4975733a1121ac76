"""
What is said to a schema registry over HTTP.

`Server` is a double of the registry's server, not the real one: it stores schemas and answers as Confluent's does, over real
HTTP, by as much of its protocol as a converter uses. It lacks contexts, rules and metadata, and checks a compatibility of its
own: a record may not change its name.
"""

from __future__ import annotations

import base64
import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from confluent_kafka import schema_registry as registry
from confluent_kafka import serialization
from confluent_kafka.schema_registry import avro
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from kconnect.api.config import ConfigDef
from kconnect.converters.avro import AvroConverter
from kconnect.converters.schema_registries import open_registry
from kconnect.converters.schema_registry import MemoryRegistry, Reference, Registry, texts_of_references
from kconnect.converters.schema_registry_login import CONFIG_KEYS
from kconnect.data import schema as s
from kconnect.data.schema import Struct
from kconnect.errors import ConfigError, ConnectError, DataError, RetriableError
from tests.support import wait_until
from tests.tls.authority import Authority, write

MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"
SECRET = "s3cr3t"


class Server:
    """See the head of this file. `trouble` is a status to answer with, whatever is asked; `users` the logins it takes."""

    def __init__(self, **listener: Any) -> None:
        self.schemas: list[dict[str, Any]] = []
        self.subjects: dict[str, list[int]] = {}
        self.users: set[str] = set()
        self.trouble: int | None = None
        self.asked: list[str] = []
        routes = [
            Route("/subjects/{subject}/versions", self.register, methods=["POST"]),
            Route("/subjects/{subject}", self.lookup, methods=["POST"]),
            Route("/subjects/{subject}/versions/{version}", self.version),
            Route("/schemas/ids/{id:int}", self.schema),
        ]
        config = uvicorn.Config(Starlette(routes=routes), log_config=None, access_log=False, lifespan="off", **listener)
        self._server = uvicorn.Server(config)
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.url = f"http{'s' if listener else ''}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)

    def start(self) -> None:
        self._thread.start()
        wait_until(lambda: self._server.started)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()

    async def register(self, request: Request) -> Response:
        refusal = await self._refusal(request)
        if refusal is not None:
            return refusal
        subject, body = request.path_params["subject"], await request.json()
        id = self._id_of(body)
        if id is None:
            name = _name_of(body["schema"])
            if name is None:
                return _error(422, 42201, "Invalid schema")
            if any(_name_of(self.schemas[known - 1]["schema"]) != name for known in self.subjects.get(subject, [])):
                return _error(409, 409, "Schema being registered is incompatible with an earlier schema")
            self.schemas.append({"schema": body["schema"], "references": body.get("references", [])})
            id = len(self.schemas)
        ids = self.subjects.setdefault(subject, [])
        if id not in ids:
            ids.append(id)
        return JSONResponse({"id": id}, media_type=MEDIA_TYPE)

    async def lookup(self, request: Request) -> Response:
        refusal = await self._refusal(request)
        if refusal is not None:
            return refusal
        subject = request.path_params["subject"]
        if subject not in self.subjects:
            return _error(404, 40401, f"Subject '{subject}' not found.")
        id = self._id_of(await request.json())
        if id not in self.subjects[subject]:
            return _error(404, 40403, "Schema not found")
        return self._described(subject, self.subjects[subject].index(id))

    async def version(self, request: Request) -> Response:
        refusal = await self._refusal(request)
        if refusal is not None:
            return refusal
        subject, version = request.path_params["subject"], request.path_params["version"]
        if subject not in self.subjects:
            return _error(404, 40401, f"Subject '{subject}' not found.")
        index = len(self.subjects[subject]) - 1 if version == "latest" else int(version) - 1
        if not 0 <= index < len(self.subjects[subject]):
            return _error(404, 40402, f"Version {version} not found.")
        return self._described(subject, index)

    async def schema(self, request: Request) -> Response:
        refusal = await self._refusal(request)
        if refusal is not None:
            return refusal
        id = request.path_params["id"]
        if not 0 < id <= len(self.schemas):
            return _error(404, 40403, f"Schema {id} not found")
        return JSONResponse({key: value for key, value in self.schemas[id - 1].items() if value}, media_type=MEDIA_TYPE)

    def _described(self, subject: str, index: int) -> Response:
        id = self.subjects[subject][index]
        return JSONResponse({"subject": subject, "version": index + 1, "id": id, **self.schemas[id - 1]}, media_type=MEDIA_TYPE)

    def _id_of(self, body: dict[str, Any]) -> int | None:
        wanted = {"schema": body["schema"], "references": body.get("references", [])}
        return next((id for id, schema in enumerate(self.schemas, 1) if schema == wanted), None)

    async def _refusal(self, request: Request) -> Response | None:
        query = f"?{request.url.query}" if request.url.query else ""
        self.asked.append(f"{request.method} {request.scope['raw_path'].decode().partition('?')[0]}{query}")
        if self.trouble is not None:
            return _error(self.trouble, self.trouble * 100 + 1, "in trouble")
        if self.users and request.headers.get("Authorization") not in self.users:
            return _error(401, 40101, "Unauthorized")
        return None


def _name_of(text: str) -> str | None:
    try:
        body = json.loads(text)
    except ValueError:
        return None
    return body.get("name", body["type"]) if isinstance(body, dict) else str(body)


def _error(status: int, code: int, message: str) -> Response:
    return JSONResponse({"error_code": code, "message": message}, status, media_type=MEDIA_TYPE)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    made.start()
    yield made
    made.stop()


def settings(url: str, **more: Any) -> dict[str, Any]:
    given = {name.replace("_", "."): value for name, value in more.items()}
    return {"schema.registry.url": url, "http.connect.timeout.ms": "2000", "http.read.timeout.ms": "20000", **given}


def opened(url: str, **more: Any) -> Registry:
    return open_registry(ConfigDef(*CONFIG_KEYS).parse(settings(url, **more)))


def converter(url: str, **more: Any) -> AvroConverter:
    return converter_of(settings(url, **more))


def converter_of(given: dict[str, Any]) -> AvroConverter:
    made = AvroConverter()
    made.configure(given, False)
    return made


POINT = s.struct({"x": s.INT32_SCHEMA}, name="geo.Point")


def test_a_record_there_and_back(server: Server) -> None:
    data = converter(server.url).from_connect_data(":.ctx:t", POINT, Struct(POINT, {"x": 5}))
    assert data == b"\x00\x00\x00\x00\x01\x0a"
    made = converter(server.url)
    for _ in range(3):
        assert made.to_connect_data(":.ctx:t", data) == (
            POINT.replace(version=1),
            Struct(POINT.replace(version=1), {"x": 5}),
        )
    assert server.asked == [
        "POST /subjects/%3A.ctx%3At-value/versions?normalize=False",
        "GET /schemas/ids/1?subject=%3A.ctx%3At-value",
        "POST /subjects/%3A.ctx%3At-value?normalize=False&deleted=False",
    ]


@pytest.mark.parametrize("kind", ["http", "memory"])
def test_both_kinds_of_registry_are_alike(server: Server, kind: str) -> None:
    made = opened(server.url) if kind == "http" else MemoryRegistry()
    enum = '{"type":"enum","name":"E","symbols":["A"]}'
    outer = '{"type":"record","name":"R","fields":[{"name":"e","type":"E"}]}'
    assert made.register("inner", enum, (), False) == 1
    references = (Reference("E", "inner", 1),)
    assert made.register("outer", outer, references, True) == 2
    assert made.register("outer", outer, references, True) == 2
    assert made.register("again", outer, references, False) == 2
    found = made.lookup("outer", outer, references, False)
    assert found is not None
    assert (found.id, found.version, found.text) == (2, 1, outer)
    assert made.lookup("outer", enum, (), False) is None
    assert made.lookup("nowhere", enum, (), False) is None
    assert made.by_id(2).references == references
    assert made.by_version("outer") == made.by_version("outer", 1) == found
    assert texts_of_references(made, found) == [enum]
    for call in (lambda: made.by_id(9), lambda: made.by_version("outer", 9), lambda: made.by_version("nowhere")):
        with pytest.raises(DataError):
            call()


def test_a_normal_form_is_asked_for_if_so_set(server: Server) -> None:
    converter(server.url, normalize_schemas="true").from_connect_data("t", POINT, Struct(POINT, {"x": 5}))
    assert server.asked == ["POST /subjects/t-value/versions?normalize=True"]


def test_a_schema_that_is_refused_is_bad_data(server: Server) -> None:
    made = converter(server.url)
    made.from_connect_data("t", POINT, Struct(POINT, {"x": 5}))
    with pytest.raises(DataError, match=r"register a schema for subject t-value: it is not compatible .*error code: 409"):
        made.from_connect_data("t", s.STRING_SCHEMA, "a")
    with pytest.raises(DataError, match="fetch schema 9: Schema 9 not found; error code: 40403"):
        made.to_connect_data("t", b"\x00\x00\x00\x00\x09")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_trouble_in_the_registry_may_pass(server: Server, status: int) -> None:
    made = converter(server.url)
    server.trouble = status
    with pytest.raises(RetriableError, match=f"in trouble.*error code: {status}01"):
        made.from_connect_data("t", POINT, Struct(POINT, {"x": 5}))
    server.trouble = None
    assert made.from_connect_data("t", POINT, Struct(POINT, {"x": 5})) == b"\x00\x00\x00\x00\x01\x0a"


def test_a_registry_that_is_away_may_come_back() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(RetriableError, match=r"can't be reached.*Check schema\.registry\.url"):
            converter(f"http://127.0.0.1:{taken.getsockname()[1]}").from_connect_data("t", s.STRING_SCHEMA, "a")


def test_the_next_url_is_tried(server: Server) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        made = converter(f"http://127.0.0.1:{taken.getsockname()[1]},{server.url}/")
        assert made.from_connect_data("t", s.STRING_SCHEMA, "a") == b"\x00\x00\x00\x00\x01\x02a"


def basic(login: str) -> str:
    return f"Basic {base64.b64encode(login.encode()).decode()}"


LOGIN = f"ann:{SECRET}"
JAAS = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="{SECRET}";'


@pytest.mark.parametrize(
    ("given", "header"),
    [
        ({"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": LOGIN}, basic(LOGIN)),
        ({"basic.auth.credentials.source": "USER_INFO", "schema.registry.basic.auth.user.info": LOGIN}, basic(LOGIN)),
        ({"basic.auth.credentials.source": "SASL_INHERIT", "sasl.jaas.config": JAAS}, basic(LOGIN)),
        ({"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": SECRET}, f"Bearer {SECRET}"),
        ({"schema.registry.url": f"http://ann:{SECRET}@"}, basic(LOGIN)),
    ],
)
def test_credentials(server: Server, given: dict[str, str], header: str) -> None:
    server.users = {header}
    if "schema.registry.url" in given:
        given = {"schema.registry.url": f"{given['schema.registry.url']}127.0.0.1:{server.port}"}
    made = AvroConverter()
    made.configure({**settings(server.url), **given}, False)
    assert made.from_connect_data("t", s.STRING_SCHEMA, "a") is not None
    assert SECRET not in repr(made._registry)
    # Where they are not accepted, nothing shows them either.
    server.users = {"another"}
    with pytest.raises(ConfigError, match=r"does not accept the credentials.*Check basic") as refused:
        made.from_connect_data("u", s.STRING_SCHEMA, "a")
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"basic.auth.credentials.source": "USER_INFO"}, "so basic.auth.user.info must be given"),
        ({"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": SECRET}, "must be given as user:password"),
        ({"basic.auth.credentials.source": "SASL_INHERIT"}, "so sasl.jaas.config must be given"),
        ({"basic.auth.credentials.source": "MINE"}, "must be URL, USER_INFO or SASL_INHERIT"),
        ({"bearer.auth.credentials.source": "OAUTHBEARER"}, "only STATIC_TOKEN is supported"),
        ({"schema.registry.url": f"http://a:{SECRET}@b", "bearer.auth.token": SECRET}, "only one of them can be"),
        ({"schema.registry.url": f"mock://m,http://a:{SECRET}@b"}, "Only one mock scope"),
        ({"schema.registry.url": f"ftp://a:{SECRET}@b"}, "must be a URL like http://host:8081"),
        ({"schema.registry.url": f"a:{SECRET}@b"}, "must be a URL like http://host:8081"),
        ({"schema.registry.url": f"http://a:{SECRET}@b:port"}, "must be a URL like http://host:8081"),
        ({"schema.registry.url": "https://b", "schema.registry.ssl.truststore.location": "/no/such"}, "can't be read"),
        ({"schema.registry.url": "https://b", "schema.registry.ssl.truststore.location": __file__}, "not a PEM file"),
        (
            {"schema.registry.url": "https://b", "schema.registry.ssl.truststore.certificates": SECRET},
            "certificates or key of schema.registry.ssl.* can't be used",
        ),
    ],
)
def test_settings_that_can_not_be_used(given: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as refused:
        AvroConverter().configure({**settings("http://localhost"), **given}, False)
    assert SECRET not in str(refused.value)


def test_certificates_of_both_sides(tmp_path: Path) -> None:
    ours, theirs = Authority("ours"), Authority("theirs")
    # Its certificate is for another host.
    served, client = ours.issue("registry", host="elsewhere"), theirs.issue("client")
    made = Server(
        ssl_certfile=write(tmp_path / "served.pem", served.pem),
        ssl_keyfile=write(tmp_path / "served.key", served.key_pem),
        ssl_ca_certs=write(tmp_path / "theirs.pem", theirs.root.pem),
        ssl_cert_reqs=ssl.CERT_REQUIRED,
    )
    own = {
        "schema.registry.ssl.keystore.key": client.encrypted_key_pem(SECRET),
        "schema.registry.ssl.keystore.certificate.chain": client.pem,
        "schema.registry.ssl.key.password": SECRET,
    }
    trusting = {"schema.registry.ssl.truststore.location": write(tmp_path / "ours.pem", ours.root.pem)}
    any_host = {"schema.registry.ssl.endpoint.identification.algorithm": ""}
    made.start()
    try:
        for given in ({**own, **any_host}, {**own, **trusting}, {**trusting, **any_host}):
            with pytest.raises(RetriableError, match=r"can't be reached") as refused:
                converter_of({**settings(made.url), **given}).from_connect_data("t", s.STRING_SCHEMA, "a")
            assert SECRET not in str(refused.value)
        data = converter_of({**settings(made.url), **own, **trusting, **any_host}).from_connect_data("t", s.STRING_SCHEMA, "a")
        assert data == b"\x00\x00\x00\x00\x01\x02a"
    finally:
        made.stop()


def test_each_url_has_its_own_login(server: Server) -> None:
    """The first URL's login is not for the second one."""
    server.users = {basic(f"bob:{SECRET}")}
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        away = f"http://ann:{SECRET}1@127.0.0.1:{taken.getsockname()[1]}"
        made = converter(f"{away},http://bob:{SECRET}@127.0.0.1:{server.port}")
        assert made.from_connect_data("t", s.STRING_SCHEMA, "a") is not None


@pytest.mark.process
def test_the_client_is_imported_when_a_registry_is_opened_over_http() -> None:
    program = """if True:
        import sys
        from kconnect.converters.avro import AvroConverter
        AvroConverter().configure({"schema.registry.url": "mock://m"})
        assert "confluent_kafka" not in sys.modules, "opened in this process"
        AvroConverter().configure({"schema.registry.url": "http://localhost:1"})
        assert "confluent_kafka.schema_registry" in sys.modules
    """
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0


def test_what_is_no_registry() -> None:
    async def page(request: Request) -> Response:
        return PlainTextResponse("It works!")

    made = Server()
    made._server.config.app = Starlette(routes=[Route("/site/{path:path}", page, methods=["GET", "POST"])])
    made.start()
    try:
        with pytest.raises(ConnectError, match=r"does not answer as a schema registry does; check schema\.registry\.url"):
            converter(f"{made.url}/site").from_connect_data("t", s.STRING_SCHEMA, "a")
        # That a page is not there does not mean that the schema isn't.
        with pytest.raises(DataError, match="look up a schema of subject t-value: status 404"):
            converter(made.url, auto_register_schemas="false").from_connect_data("t", s.STRING_SCHEMA, "a")
    finally:
        made.stop()


def test_confluent_s_client_and_ours_understand_each_other(server: Server) -> None:
    client = registry.SchemaRegistryClient({"url": server.url})
    context = serialization.SerializationContext("t", serialization.MessageField.VALUE)
    text = json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": ["null", "string", "long"]}]})
    theirs = avro.AvroSerializer(client, text)({"a": 7}, context)
    made = converter(server.url)
    schema, value = made.to_connect_data("t", theirs)
    assert value["a"]["long"] == 7
    assert made.from_connect_data("t", schema, value)[5:] == theirs[5:]  # type: ignore[index]
    ours = made.from_connect_data("t", POINT.replace(name="R"), Struct(POINT.replace(name="R"), {"x": 3}))
    assert avro.AvroDeserializer(client)(ours, context) == {"x": 3}
