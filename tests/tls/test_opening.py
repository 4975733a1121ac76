"""Keys and stores that a password opens, if whoever made them wants nobody to get there."""

from __future__ import annotations

import base64
import itertools
import threading
import time

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)

from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConfigError
from kconnect.kafka import clients
from kconnect.tls import opening, stores
from kconnect.tls.settings import Settings
from tests.kafka.test_clients import WORKER

from .authority import Authority

pytestmark = pytest.mark.process

MANY = 2**31 - 1
_PBES2, _PBKDF2 = "2a864886f70d01050d", "2a864886f70d01050c"
_HMAC_SHA256, _AES_256_CBC = "2a864886f70d0209", "60864801650304012a"
CA = Authority("Slow CA")


def der(tag: int, content: bytes) -> bytes:
    length = len(content)
    size = bytes((length,)) if length < 128 else bytes((0x81, length)) if length < 256 else b"\x82" + length.to_bytes(2, "big")
    return bytes((tag,)) + size + content


def sequence(*parts: bytes) -> bytes:
    return der(0x30, b"".join(parts))


def name(oid: str) -> bytes:
    return der(0x06, bytes.fromhex(oid))


def slow_key(rounds: int = MANY) -> str:
    """An encrypted key in PEM: its password is to be hashed so many times."""
    function = sequence(name(_HMAC_SHA256), der(0x05, b""))
    hashing = sequence(der(0x04, b"saltsalt"), der(0x02, rounds.to_bytes(4, "big")), function)
    cipher = sequence(name(_AES_256_CBC), der(0x04, bytes(16)))
    how = sequence(name(_PBES2), sequence(sequence(name(_PBKDF2), hashing), cipher))
    text = base64.encodebytes(sequence(how, der(0x04, bytes(160)))).decode()
    return f"-----BEGIN ENCRYPTED PRIVATE KEY-----\n{text}-----END ENCRYPTED PRIVATE KEY-----\n"


def test_a_password_that_is_hashed_for_hours_keeps_no_thread_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stopped the worker, or the host, in whose config it was."""
    monkeypatch.setattr(opening, "_CPU_S", 1)
    ticks: list[float] = []
    ended = threading.Event()

    def tick() -> None:
        while not ended.wait(0.02):
            # Of this process alone: a machine with much else to do keeps it from ticking, too.
            ticks.append(time.process_time())

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        given = {"ssl.keystore.key": slow_key(), "ssl.keystore.certificate.chain": CA.root.pem, "ssl.key.password": "x"}
        with pytest.raises(ConfigError, match=r"ssl\.keystore\.key: To open it takes longer than 1 s"):
            stores.key_pair(Settings(given))
        # As a config says it of a client of librdkafka's.
        config = {f"admin.override.{name}": text for name, text in {**given, "security.protocol": "SSL"}.items()}
        with pytest.raises(ConfigError, match="To open it takes longer than 1 s"):
            clients.admin(WorkerSettings.from_properties(WORKER, {}), "c", config)
    finally:
        ended.set()
        thread.join()
    gaps = [later - earlier for earlier, later in itertools.pairwise(ticks)]
    # Each waits for two seconds of a processor, and longer where there are few.
    assert len(ticks) > 20
    assert max(gaps) < 0.5


def test_what_a_password_opens_comes_as_it_was() -> None:
    own = ec.generate_private_key(ec.SECP256R1())
    block = own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"pw"))
    assert load_pem_private_key(opening.key(block, b"pw"), None).private_numbers() == own.private_numbers()  # type: ignore[union-attr]
    with pytest.raises(ValueError):
        opening.key(block, b"other")
    leaf = CA.issue("leaf")
    packed = pkcs12.serialize_key_and_certificates(
        b"n", leaf.key, leaf.certificate, [CA.root.certificate], BestAvailableEncryption(b"pw")
    )
    content = pkcs12.load_pkcs12(opening.store(packed, b"pw"), None)
    assert content.cert is not None
    assert (content.cert.certificate, [each.certificate for each in content.additional_certs]) == (
        leaf.certificate,
        [CA.root.certificate],
    )
    with pytest.raises(ValueError):
        opening.store(packed, b"other")
