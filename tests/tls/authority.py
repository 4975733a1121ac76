"""Certificates for tests: an authority of its own, what it issues, and both in the stores that Java's users have."""

from __future__ import annotations

import datetime
import ipaddress
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

STORE_PASSWORD, KEY_PASSWORD = "store-s3cret", "key-s3cret"
NOW = datetime.datetime.now(datetime.timezone.utc)


@dataclass(frozen=True)
class Issued:
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def key_pem(self) -> str:
        return self._key(serialization.NoEncryption())

    def encrypted_key_pem(self, password: str) -> str:
        return self._key(serialization.BestAvailableEncryption(password.encode()))

    def _key(self, encryption: serialization.KeySerializationEncryption) -> str:
        return self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption).decode()

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()


class Authority:
    """Issues for `127.0.0.1` and `localhost`, or for another name."""

    def __init__(self, name: str) -> None:
        self.root = _issue(name, None, None, authority=True)

    def issue(
        self, name: str, host: str | None = None, authority: bool = False, by: Issued | None = None, hours: int = 720
    ) -> Issued:
        """Issue a certificate that is good for so many hours from now on."""
        return _issue(name, host, by or self.root, authority, hours)


def _issue(name: str, host: str | None, by: Issued | None, authority: bool, hours: int = 720) -> Issued:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names: list[x509.GeneralName] = (
        [x509.DNSName(host)]
        if host
        else [
            x509.DNSName("localhost"),
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        ]
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.certificate.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - datetime.timedelta(days=1))
        .not_valid_after(NOW + datetime.timedelta(hours=hours))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )
    return Issued(key, builder.sign(by.key if by else key, hashes.SHA256()))


def write(path: Path, text: str | bytes) -> str:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def key_store(path: Path, issued: Issued, *chain: Issued, password: str = STORE_PASSWORD) -> str:
    """PKCS12 with one key."""
    encryption = serialization.BestAvailableEncryption(password.encode())
    others = [each.certificate for each in chain]
    return write(path, pkcs12.serialize_key_and_certificates(b"srv", issued.key, issued.certificate, others, encryption))


def java_key_store(path: Path, source: str, alias: str = "srv") -> str:
    """JKS with the key of a PKCS12 store; the key has a password of its own, as JKS allows."""
    _keytool(
        *("-importkeystore", "-noprompt", "-srckeystore", source, "-srcstorepass", STORE_PASSWORD, "-srcalias", alias),
        *("-destkeystore", str(path), "-deststoretype", "JKS", "-deststorepass", STORE_PASSWORD),
        *("-destkeypass", KEY_PASSWORD),
    )
    return str(path)


def java_trust_store(path: Path, kind: str, certificate: str, alias: str = "ca") -> str:
    """Add one trusted certificate, a PEM file, to a store that Java makes."""
    store = ("-keystore", str(path), "-storetype", kind, "-storepass", STORE_PASSWORD)
    _keytool("-importcert", "-noprompt", "-alias", alias, "-file", certificate, *store)
    return str(path)


def _keytool(*arguments: str) -> None:
    subprocess.run(["keytool", "-J-XX:TieredStopAtLevel=1", *arguments], check=True, capture_output=True)
