"""REST over TLS, on real sockets: who is let in, which protocols are spoken, and what workers ask of each other."""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from kconnect.errors import ConfigError
from kconnect.rest.app import RestSettings, build
from kconnect.rest.client import ConnectClient, RestError
from kconnect.rest.forward import Forwarder
from kconnect.rest.server import Server
from kconnect.tls import contexts
from kconnect.tls.settings import Settings

from ..tls.authority import STORE_PASSWORD, Authority, Issued, java_key_store, key_store, write
from .conftest import FILE_SOURCE
from .herder import MemoryHerder
from .test_forward import Follower

CA, STRANGERS = Authority("Test CA"), Authority("Another CA")
SRV, CLIENT = CA.issue("srv"), CA.issue("client", "client.test")
HTTPS, HTTP = "https://127.0.0.1:0", "http://127.0.0.1:0"


def pem(own: Issued | None = SRV, trusts: Authority | None = CA, **more: str) -> dict[str, str]:
    """`ssl.*` of a worker that has these as PEM texts."""
    texts = {f"ssl.{name.replace('_', '.')}": value for name, value in more.items()}
    if own is not None:
        texts |= {"ssl.keystore.key": own.key_pem, "ssl.keystore.certificate.chain": own.pem}
    if trusts is not None:
        texts["ssl.truststore.certificates"] = trusts.root.pem
    return texts


def caller(own: Issued | None = None, trusts: Authority = CA) -> httpx.Client:
    """Somebody with a browser or curl."""
    return httpx.Client(verify=contexts.client(Settings(pem(own, trusts))), timeout=60)


@pytest.fixture
def serve(herder: MemoryHerder) -> Iterator[Callable[..., Server]]:
    started: list[Server] = []

    def start(
        texts: dict[str, str], *listeners: str, herder: MemoryHerder = herder, stop_limit: int = 5, **more: Any
    ) -> Server:
        app = build(herder, RestSettings("https://127.0.0.1:0/", request_timeout=60), forwarder=Forwarder(**more))
        server = Server(app, list(listeners or [HTTPS]), stop_limit=stop_limit, tls=contexts.server(Settings(texts)))
        started.append(server)
        server.start()
        return server

    yield start
    for server in started:
        server.stop()


def url(server: Server) -> str:
    return f"https://127.0.0.1:{server.port}/"


def connected(server: Server, context: ssl.SSLContext) -> ssl.SSLSocket:
    return context.wrap_socket(socket.create_connection(("127.0.0.1", server.port), 20), server_hostname="localhost")


def assert_shut(client: httpx.Client, server: Server) -> None:
    with pytest.raises((httpx.ConnectError, httpx.ReadError, httpx.RemoteProtocolError)):
        client.get(url(server))


def test_https_beside_http(serve: Callable[..., Server]) -> None:
    server = serve(pem(), HTTPS, HTTP)
    secure, plain = server.ports
    with caller() as client:
        assert client.get(f"https://127.0.0.1:{secure}/connectors").json() == []
        assert client.get(f"http://127.0.0.1:{plain}/connectors").json() == []
        with pytest.raises(httpx.HTTPError):
            client.get(f"http://127.0.0.1:{secure}/connectors")
        with pytest.raises(httpx.ConnectError, match="SSL"):
            client.get(f"https://127.0.0.1:{plain}/connectors")
        made = client.post(f"https://127.0.0.1:{secure}/connectors", json={"name": "x", "config": FILE_SOURCE})
        assert made.headers["location"] == f"https://127.0.0.1:{secure}/connectors/x"


@pytest.mark.process
def test_a_jks_keystore_serves(serve: Callable[..., Server], tmp_path: Path) -> None:
    store = java_key_store(tmp_path / "srv.jks", key_store(tmp_path / "srv.p12", SRV, CA.root))
    own = {"keystore_location": store, "keystore_password": STORE_PASSWORD, "key_password": "key-s3cret"}
    with caller() as client:
        assert client.get(url(serve(pem(None, CA, **own)))).status_code == 200


def test_an_untrusted_server_is_refused(serve: Callable[..., Server]) -> None:
    server = serve(pem())
    with caller() as client:
        assert client.get(url(server)).status_code == 200
    with caller(trusts=STRANGERS) as client:
        assert_shut(client, server)


@pytest.mark.parametrize(
    ("asks", "with_own", "with_none", "with_strange"),
    [("none", True, True, True), ("requested", True, True, False), ("REQUIRED", True, False, False)],
)
def test_client_certificates(
    serve: Callable[..., Server], asks: str, with_own: bool, with_none: bool, with_strange: bool
) -> None:
    server = serve(pem(client_auth=asks))
    for own, allowed in ((CLIENT, with_own), (None, with_none), (STRANGERS.issue("stranger"), with_strange)):
        with caller(own) as client:
            if allowed:
                assert client.get(url(server)).status_code == 200
            else:
                assert_shut(client, server)


def test_without_a_truststore_clients_need_the_keystore_s_own_certificate(serve: Callable[..., Server]) -> None:
    server = serve(pem(SRV, None, client_auth="required"))
    with caller(SRV) as client:
        assert client.get(url(server)).status_code == 200
    with caller(CLIENT) as client:
        assert_shut(client, server)


def test_protocols(serve: Callable[..., Server]) -> None:
    def spoken(server: Server, version: ssl.TLSVersion) -> str | None:
        context = contexts.client(Settings(pem(None)))
        context.minimum_version = context.maximum_version = version
        try:
            with connected(server, context) as secure:
                return secure.version()
        except ssl.SSLError:
            return None

    both, old, new = serve(pem()), serve(pem(enabled_protocols="TLSv1.2,TLSv1")), serve(pem(enabled_protocols="TLSv1.3"))
    versions = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
    found = [[spoken(server, version) for version in versions] for server in (both, old, new)]
    assert found == [["TLSv1.2", "TLSv1.3"], ["TLSv1.2", None], [None, "TLSv1.3"]]


def test_cipher_suites(serve: Callable[..., Server]) -> None:
    server = serve(pem(cipher_suites="TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"))
    with connected(server, contexts.client(Settings(pem(None)))) as secure:
        assert secure.cipher() == ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2", 128), "none of TLS 1.3 was named"


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"own": None}, "ssl.keystore.location: An https listener needs a private key"),
        ({"client_auth": "maybe"}, "Invalid value maybe for configuration ssl.client.auth: Must be one of: none, requ"),
        ({"enabled_protocols": "TLSv1.4"}, "ssl.enabled.protocols: TLSv1.4 is not known"),
        ({"enabled_protocols": "TLSv1.1"}, "ssl.enabled.protocols: These are insecure"),
        ({"cipher_suites": "TLS_FOO"}, "ssl.cipher.suites: Not known to OpenSSL"),
        ({"cipher_suites": "ALL"}, "ssl.cipher.suites: Not known to OpenSSL"),
        ({"cipher_suites": "TLS_AES_256_GCM_SHA384", "enabled_protocols": "TLSv1.2"}, "ssl.cipher.suites: None of these"),
    ],
)
def test_settings_refused(texts: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        contexts.server(Settings(pem(**texts)))
    assert said in str(caught.value)


def test_an_idle_connection_does_not_hold_up_the_end(serve: Callable[..., Server]) -> None:
    server = serve(pem(), stop_limit=60)
    with caller() as client:
        client.get(url(server))
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 30, "less than the time after which requests are cut off"


def test_a_connection_that_was_closed_for_idleness_does_not_either(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kconnect.rest.server._KEEP_ALIVE_S", 1)
    server = serve(pem(), stop_limit=60)
    with connected(server, contexts.client(Settings(pem(None)))) as secure:
        secure.sendall(b"GET /nope HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = b""
        while not answer.endswith(b"}"):
            answer += secure.recv(4096)
        assert select.select([secure], [], [], 20)[0], "TLS's goodbye, which is left unread"
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 30


# --- between workers ---


def forwarded(serve: Callable[..., Server], leader: Server, **asks: Any) -> httpx.Response:
    tls = contexts.client(Settings(asks.pop("texts")))
    follower = serve(pem(), herder=Follower(asks.get("leader", url(leader))), tls=tls)
    with caller(CLIENT) as client:
        return client.post(f"{url(follower)}connectors", json={"name": "x", "config": FILE_SOURCE})


def test_forwarding_presents_this_worker_s_certificate(serve: Callable[..., Server], herder: MemoryHerder) -> None:
    leader = serve(pem(client_auth="required"))
    assert forwarded(serve, leader, texts=pem()).status_code == 201
    assert list(herder.configs) == ["x"]
    refused = forwarded(serve, leader, texts=pem(None))
    assert refused.status_code == 500
    assert refused.json()["message"].startswith("IO Error trying to forward REST request: ")


def test_forwarding_trusts_nobody_else(serve: Callable[..., Server], herder: MemoryHerder) -> None:
    refused = forwarded(serve, serve(pem()), texts=pem(SRV, STRANGERS))
    assert refused.status_code == 500
    assert "no TLS with https://127.0.0.1:" in refused.json()["message"]
    assert refused.json()["message"].endswith("unable to get local issuer certificate")
    assert not herder.seen


def test_names_in_certificates_are_checked_unless_switched_off(serve: Callable[..., Server]) -> None:
    leader = serve(pem(CA.issue("elsewhere", "elsewhere.test")))
    refused = forwarded(serve, leader, texts=pem())
    assert "certificate is not valid for '127.0.0.1'" in refused.json()["message"]
    assert forwarded(serve, leader, texts=pem(endpoint_identification_algorithm="HTTPS")).status_code == 500
    assert forwarded(serve, leader, texts=pem(endpoint_identification_algorithm="")).status_code == 201


@pytest.mark.process
def test_workers_with_one_self_signed_keystore_and_no_truststore(serve: Callable[..., Server], tmp_path: Path) -> None:
    """The least that people set: the same keystore everywhere."""
    shared = key_store(tmp_path / "shared.p12", Authority("Shared").root)
    own = pem(None, None, keystore_location=shared, keystore_password=STORE_PASSWORD, client_auth="required")
    assert forwarded(serve, serve(own), texts=own).status_code == 201


# --- the client of the command line ---


def test_the_cli_s_client_trusts_ssl_cert_file(
    serve: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(pem())
    with ConnectClient(url(server)) as client, pytest.raises(RestError, match="SSL_CERT_FILE") as caught:
        client.connectors()
    assert caught.value.exit_code == 3
    monkeypatch.setenv("SSL_CERT_FILE", write(tmp_path / "ca.pem", CA.root.pem))
    with ConnectClient(url(server)) as client:
        assert client.connectors() == []


def test_the_cli_s_client_presents_a_certificate(
    serve: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(pem(client_auth="required"))
    monkeypatch.setenv("SSL_CERT_FILE", write(tmp_path / "ca.pem", CA.root.pem))
    with ConnectClient(url(server)) as client, pytest.raises(RestError, match="KCONNECT_CLIENT_CERT"):
        client.connectors()
    monkeypatch.setenv("KCONNECT_CLIENT_CERT", write(tmp_path / "client.pem", CLIENT.key_pem + CLIENT.pem))
    with ConnectClient(url(server)) as client:
        assert client.connectors() == []
    monkeypatch.setenv("KCONNECT_CLIENT_CERT", str(tmp_path / "missing.pem"))
    with pytest.raises(ConfigError, match=r"missing\.pem.*KCONNECT_CLIENT_CERT"):
        ConnectClient(url(server))
