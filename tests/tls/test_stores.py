"""Each kind of store, as OpenSSL's and Java's tools write it, and what is said about one that can't be used."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from kconnect.errors import ConfigError
from kconnect.tls import keytool, stores
from kconnect.tls.settings import Settings
from kconnect.tls.stores import KeyPair

from .authority import KEY_PASSWORD, STORE_PASSWORD, Authority, Issued, java_key_store, java_trust_store, key_store, write

pytestmark = pytest.mark.process

CA = Authority("Test CA")
BETWEEN = CA.issue("Between", authority=True)
SRV = CA.issue("srv", by=BETWEEN)
CHAIN = SRV.pem + BETWEEN.pem
OTHER = Authority("Other CA").root


def ssl(texts: Mapping[str, str], prefix: str = "ssl.") -> Settings:
    return Settings({prefix + name: text for name, text in texts.items()}, "listeners.https.")


def assert_pair(found: KeyPair | None, issued: Issued, certificates: str) -> None:
    assert found is not None
    assert load_pem_private_key(found.key.encode(), None).private_numbers() == issued.key.private_numbers()  # type: ignore[union-attr]
    assert found.certificates == certificates


def refusal(read: object, texts: Mapping[str, str]) -> str:
    with pytest.raises(ConfigError) as caught:
        read(ssl(texts))  # type: ignore[operator]
    text = str(caught.value)
    assert "s3cret" not in text
    assert "PRIVATE KEY-----\nM" not in text
    return text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With one store of each kind in it."""
    made = tmp_path_factory.mktemp("stores")
    write(made / "srv.pem", f"Bag Attributes\n  x: y\n{SRV.key_pem}{CHAIN}")
    ca = write(made / "ca.pem", CA.root.pem)
    java_key_store(made / "srv.jks", key_store(made / "srv.p12", SRV, BETWEEN, CA.root))
    java_trust_store(made / "srv.jks", "JKS", ca)
    java_trust_store(made / "ca.jks", "JKS", ca)
    java_trust_store(made / "ca.p12", "PKCS12", ca)
    write(made / "broken.jks", b"\xfe\xed\xfe\xed" + bytes(30))
    write(made / "text.txt", "hello")
    return made


# --- keystores ---


def test_pem_file(folder: Path) -> None:
    found = stores.key_pair(ssl({"keystore.type": "PEM", "keystore.location": f"{folder}/srv.pem"}))
    assert_pair(found, SRV, CHAIN)
    assert "PRIVATE" not in repr(found)


def test_inline_pem_in_one_line() -> None:
    """As a worker file has it: blanks for line breaks, or none at all."""
    key, chain = SRV.key_pem.replace("\n", " "), CHAIN.replace("\n", "")
    assert_pair(stores.key_pair(ssl({"keystore.key": key, "keystore.certificate.chain": chain})), SRV, CHAIN)


def test_encrypted_key() -> None:
    given = {"keystore.key": SRV.encrypted_key_pem(KEY_PASSWORD), "keystore.certificate.chain": CHAIN}
    assert_pair(stores.key_pair(ssl({**given, "key.password": KEY_PASSWORD})), SRV, CHAIN)
    assert "listeners.https.ssl.key.password: The private key is encrypted" in refusal(stores.key_pair, given)
    wrong = refusal(stores.key_pair, {**given, "key.password": "s3cret-no"})
    assert "Invalid value [hidden] for configuration listeners.https.ssl.key.password: The password does not open" in wrong


@pytest.mark.parametrize("kind", ["PKCS12", "JKS", None])
def test_pkcs12_whatever_the_type_says(folder: Path, kind: str | None) -> None:
    """Java's default type is JKS, with which it reads PKCS12 too."""
    given = {"keystore.location": f"{folder}/srv.p12", "keystore.password": STORE_PASSWORD}
    found = stores.key_pair(ssl(given if kind is None else {**given, "keystore.type": kind}))
    assert_pair(found, SRV, CHAIN + CA.root.pem)


def test_a_chain_is_put_in_order(tmp_path: Path) -> None:
    path = key_store(tmp_path / "srv.p12", SRV, OTHER, CA.root, BETWEEN)
    found = stores.key_pair(ssl({"keystore.location": path, "keystore.password": STORE_PASSWORD}))
    assert_pair(found, SRV, CHAIN + CA.root.pem)


def test_jks(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of its own: other tests, in other processes, have theirs in the common one.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    given = {"keystore.location": f"{folder}/srv.jks", "keystore.password": STORE_PASSWORD, "key.password": KEY_PASSWORD}
    assert_pair(stores.key_pair(ssl(given)), SRV, CHAIN + CA.root.pem)
    assert os.listdir(tmp_path) == []


def test_passwords_are_on_no_command_line(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, said = keytool._program(), tmp_path / "said"
    (tmp_path / "bin").mkdir()
    spy = tmp_path / "bin" / "keytool"
    spy.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {said}\nexec {real} "$@"\n')
    spy.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    given = {"keystore.location": f"{folder}/srv.jks", "keystore.password": STORE_PASSWORD, "key.password": KEY_PASSWORD}
    assert_pair(stores.key_pair(ssl(given)), SRV, CHAIN + CA.root.pem)
    words = said.read_text()
    assert "-srckeypass:env" in words
    assert "s3cret" not in words


def test_nothing_given() -> None:
    assert stores.key_pair(ssl({"keystore.location": " ", "keystore.type": "JKS"})) is None
    assert stores.trusted(ssl({})) is None
    assert stores.trusted_by_keystore(ssl({})) is None


def test_keystores_refused(folder: Path) -> None:
    def said(**texts: str) -> str:
        return refusal(stores.key_pair, {name.replace("_", "."): text for name, text in texts.items()})

    def at(name: str) -> str:
        return f"{folder}/{name}"

    missing = said(keystore_location=at("no"))
    assert f"Invalid value {at('no')} for configuration listeners.https.ssl.keystore.location: The file can't be re" in missing
    assert "is not a store of the types JKS, JCEKS, PKCS12, PEM" in said(keystore_location=at("text.txt"))
    assert "ssl.keystore.type: Stores of the types" in said(keystore_location=at("srv.p12"), keystore_type="BCFKS")
    for store in ("srv.p12", "srv.jks"):
        wrong = said(keystore_location=at(store), keystore_password="s3cret-no")
        assert f"for configuration listeners.https.ssl.keystore.password: The password does not open {at(store)}" in wrong
    assert "ssl.keystore.password: A password is needed" in said(keystore_location=at("srv.jks"))
    assert "ssl.key.password: The password does not open the key srv" in said(
        keystore_location=at("srv.jks"), keystore_password=STORE_PASSWORD, key_password="s3cret-no"
    )
    for store in ("ca.jks", "ca.p12"):
        assert "It holds no private key with a certificate" in said(
            keystore_location=at(store), keystore_password=STORE_PASSWORD
        )
    assert "It holds no private key (-----BEGIN" in said(keystore_location=at("ca.pem"))
    assert "Java's keytool can't read it" in said(keystore_location=at("broken.jks"), keystore_password=STORE_PASSWORD)
    assert "ssl.keystore.certificate.chain: The private key and its" in said(keystore_key=SRV.key_pem)
    both = {"keystore_key": SRV.key_pem, "keystore_certificate_chain": CHAIN}
    assert "remove one of them" in said(**both, keystore_location=at("srv.p12"))
    assert "belongs to another one" in said(**{**both, "keystore_certificate_chain": OTHER.pem})


def test_no_keytool(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    said = refusal(stores.key_pair, {"keystore.location": f"{folder}/srv.jks", "keystore.password": STORE_PASSWORD})
    assert "put Java 17 on the PATH or set JAVA_HOME, or give a store of type PKCS12 or PEM" in said


# --- truststores ---


@pytest.mark.parametrize("store", ["ca.pem", "ca.p12", "ca.jks"])
def test_truststores(folder: Path, store: str) -> None:
    given = {"truststore.location": f"{folder}/{store}", "truststore.password": STORE_PASSWORD}
    assert stores.trusted(ssl(given)) == CA.root.pem


def test_a_truststore_of_java_needs_no_password(folder: Path) -> None:
    assert stores.trusted(ssl({"truststore.location": f"{folder}/ca.jks"})) == CA.root.pem


def test_inline_certificates() -> None:
    given = (CA.root.pem + OTHER.pem).replace("\n", " ")
    assert stores.trusted(ssl({"truststore.certificates": given})) == CA.root.pem + OTHER.pem


def test_of_a_key_its_own_certificate_is_trusted_only(folder: Path) -> None:
    """As in Java: who else the issuer issued for is another matter."""
    for store in ("srv.p12", "srv.jks"):
        found = stores.trusted(ssl({"truststore.location": f"{folder}/{store}", "truststore.password": STORE_PASSWORD}))
        assert found is not None
        assert BETWEEN.pem not in found
        assert SRV.pem in found
        assert (CA.root.pem in found) is (store == "srv.jks"), "there it is an entry of its own"


def test_without_a_truststore_the_keystore_says_whom_to_trust(folder: Path) -> None:
    given = {"keystore.location": f"{folder}/srv.jks", "keystore.password": STORE_PASSWORD, "key.password": KEY_PASSWORD}
    found = stores.trusted_by_keystore(ssl(given))
    assert found is not None
    assert sorted(found.split("-----BEGIN")) == sorted((SRV.pem + CA.root.pem).split("-----BEGIN"))
    assert stores.trusted_by_keystore(ssl({"keystore.location": f"{folder}/srv.pem"})) == SRV.pem


def test_truststores_refused(folder: Path) -> None:
    empty = refusal(stores.trusted, {"truststore.certificates": "-----BEGIN CERTIFICATE-----"})
    assert "ssl.truststore.certificates: It has no certificate to trust" in empty
    damaged = CA.root.pem.replace("M", "N", 1)
    assert "can't be read" in refusal(stores.trusted, {"truststore.certificates": damaged})
    for store in ("ca.p12", "ca.jks"):
        given = {"truststore.location": f"{folder}/{store}", "truststore.password": "s3cret-no"}
        assert "ssl.truststore.password: The password does not open" in refusal(stores.trusted, given)


# --- where the settings come from ---


def test_settings_of_listeners_are_all_prefixed_or_none() -> None:
    worker = {"ssl.keystore.type": "PEM", "ssl.client.auth": "required", "listeners.https.ssl.keystore.type": "JKS"}
    own = Settings.of_listeners(worker, "listeners.https.")
    assert (own.prefix, own.get("ssl.keystore.type"), own.get("ssl.client.auth")) == ("listeners.https.", "JKS", "")
    shared = Settings.of_listeners(worker, "admin.listeners.https.")
    assert (shared.prefix, shared.get("ssl.keystore.type"), shared.get("ssl.client.auth")) == ("", "PEM", "required")


def test_blocks_that_do_not_end_are_left_out() -> None:
    """Whoever may create connectors writes a megabyte of begins into a config: each looked for an end of its own."""
    begins = "-----BEGIN A-----" * 60_000
    assert stores._blocks(begins, "A") == []
    assert stores._blocks(f"{begins}-----END B-----", "A") == []
    block = "-----BEGIN B-----\nYQ==\n-----END B-----\n"
    assert stores._blocks(f"-----BEGIN A-----{block} x {block}-----BEGIN C-----", "B") == [block] * 2
    assert stores._blocks("-----BEGIN A-----BEGIN B-----\nYQ==-----END B-----", "B") == [block]
