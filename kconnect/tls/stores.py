"""
Keystores and truststores as Java's `ssl.*` settings name them, given as PEM texts.

`contexts.py` makes TLS contexts of them; whoever needs the texts themselves, as librdkafka does, asks here too. What kind a
store is, its first bytes say: PEM, PKCS12, or Java's own JKS and JCEKS, for which read `keytool.py`. Imported by who has stores
only: what it takes from `cryptography` is 9 MB in each process.
"""

from __future__ import annotations

import functools
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import pkcs12

from kconnect import small_files
from kconnect.errors import ConfigError
from kconnect.tls import keytool, opening
from kconnect.tls.settings import Settings

_PEM_BEGIN, _PEM_END = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----"), "-----END "
_TYPES = ("JKS", "JCEKS", "PKCS12", "PEM")


@dataclass(frozen=True)
class KeyPair:
    """A private key in PKCS8, not encrypted, and its certificates, the key's own first; both are PEM."""

    key: str = field(repr=False)
    certificates: str


_T = TypeVar("_T")


def _once(read: Callable[[Settings], _T]) -> Callable[[Settings], _T]:
    @functools.wraps(read)
    def known(settings: Settings) -> _T:
        if read.__name__ not in settings.read:
            settings.read[read.__name__] = read(settings)
        result: _T = settings.read[read.__name__]
        return result

    return known


@_once
def key_pair(settings: Settings) -> KeyPair | None:
    """
    Return the key and certificates of `ssl.keystore.*` and `ssl.key.password`; None if they name none.

    ConfigError, naming the setting, for a store that can't be read, has no key, or whose key fits no certificate.
    """
    key, chain = settings.get("ssl.keystore.key"), settings.get("ssl.keystore.certificate.chain")
    if key or chain:
        _not_both(settings, "ssl.keystore.location", "ssl.keystore.key")
        for name, text in (("ssl.keystore.key", key), ("ssl.keystore.certificate.chain", chain)):
            if not text:
                raise settings.error(name, "The private key and its certificate chain are needed together")
        private_key = _private_key(settings, "ssl.keystore.key", key)
        return _pair(settings, "ssl.keystore.certificate.chain", private_key, _certificates(chain))
    store = _Store.of(settings, "ssl.keystore")
    if store is None:
        return None
    if store.kind == "PEM":
        return _pair(settings, store.setting, _private_key(settings, store.setting, store.text), _certificates(store.text))
    if store.kind == "PKCS12":
        return _pkcs12_pair(settings, store.setting, store.data, store.password, "ssl.keystore.password")
    return _java_pair(settings, store)


@_once
def trusted(settings: Settings) -> str | None:
    """
    The certificates that `ssl.truststore.*` trusts, as PEM; None if it names nothing.

    ConfigError, naming the setting, for a store that can't be read, or is empty.
    """
    inline = settings.get("ssl.truststore.certificates")
    if inline:
        _not_both(settings, "ssl.truststore.location", "ssl.truststore.certificates")
        return _some(settings, "ssl.truststore.certificates", _certificates(inline))
    store = _Store.of(settings, "ssl.truststore")
    if store is None:
        return None
    if store.kind == "PEM":
        return _some(settings, store.setting, _certificates(store.text))
    if store.kind == "PKCS12":
        content = _pkcs12(settings, store.data, store.password, "ssl.truststore.location", "ssl.truststore.password")
        if content.key is None:
            certificates = [content.cert] if content.cert else []
            return _some(
                settings,
                store.setting,
                [_pem(certificate.certificate) for certificate in [*certificates, *content.additional_certs]],
            )
    return _some(settings, store.setting, _anchors(store))


@_once
def trusted_by_keystore(settings: Settings) -> str | None:
    """
    Return the certificates that a keystore trusts, where there is no truststore: the key's own certificate, and those it holds
    as trusted.

    Not the rest of the key's chain: its issuer may be anybody's. As Connect's Jetty does.
    """
    store = None if settings.get("ssl.keystore.key") else _Store.of(settings, "ssl.keystore")
    if store is not None and store.kind != "PEM":
        return _some(settings, store.setting, _anchors(store))
    pair = key_pair(settings)
    return None if pair is None else _certificates(pair.certificates)[0]


@dataclass(frozen=True)
class _Store:
    """A file that a setting names, read."""

    settings: Settings = field(repr=False)
    setting: str
    path: str
    kind: str
    data: bytes = field(repr=False)
    password: str | None = field(repr=False)

    @property
    def text(self) -> str:
        return self.data.decode("latin-1")

    @classmethod
    def of(cls, settings: Settings, which: str) -> _Store | None:
        setting = f"{which}.location"
        path = settings.get(setting)
        if settings.get(f"{which}.type", "JKS").upper() not in _TYPES:
            rule = f"Stores of the types {', '.join(_TYPES)} can be read: convert it with {_CONVERT}"
            raise settings.error(f"{which}.type", rule)
        if not path:
            return None
        try:
            data = small_files.read(path)
        except OSError as error:
            raise settings.error(setting, f"The file can't be read: {error.strerror}") from None
        kind = _kind(data)
        if kind is None:
            raise settings.error(setting, f"The file is not a store of the types {', '.join(_TYPES)}")
        return cls(settings, setting, path, kind, data, settings.password(f"{which}.password"))

    def refused(self, error: keytool.KeytoolError) -> ConfigError:
        which = self.setting.removesuffix(".location")
        if error.wrong_password:
            return self.settings.error(f"{which}.password", f"The password does not open {self.path}")
        return self.settings.error(self.setting, f"Java's keytool can't read it: {error}")


_CONVERT = "`keytool -importkeystore -srckeystore … -destkeystore … -deststoretype PKCS12`"


def _kind(data: bytes) -> str | None:
    if data.startswith(b"\xfe\xed\xfe\xed"):
        return "JKS"
    if data.startswith(b"\xce\xce\xce\xce"):
        return "JCEKS"
    if b"-----BEGIN " in data:
        return "PEM"
    return "PKCS12" if data.startswith(b"\x30") else None


def _not_both(settings: Settings, location: str, inline: str) -> None:
    if settings.get(location):
        raise settings.error(location, f"{settings.prefix}{inline} is set, too: remove one of them")


def _pem_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the labels of blocks of PEM, with what is in them. A config may have many begins, and no end of them."""
    last, at, endless = text.rfind(_PEM_END), 0, set[str]()
    while (begin := _PEM_BEGIN.search(text, at)) is not None and begin.end() <= last:
        label = begin[1]
        end_mark = f"{_PEM_END}{label}-----"
        end = -1 if label in endless else text.find(end_mark, begin.end())
        if end < 0:
            endless.add(label)
            at = begin.start() + 1
            continue
        yield label, text[begin.end() : end]
        at = end + len(end_mark)


def _blocks(text: str, label: str) -> list[str]:
    """
    The PEM blocks of `text` whose label ends with `label`, with the line breaks that they ought to have.

    In a worker file they stand in one line, with blanks or nothing at all between their parts.
    """
    blocks = []
    for name, body in _pem_blocks(text):
        if name.endswith(label):
            # With a colon it has headers (an encrypted key of OpenSSL's old form), in which line breaks count.
            lines = body.strip("\n") if ":" in body else "\n".join(textwrap.wrap("".join(body.split()), 64))
            blocks.append(f"-----BEGIN {name}-----\n{lines}\n-----END {name}-----\n")
    return blocks


def _certificates(text: str) -> list[str]:
    return _blocks(text, "CERTIFICATE")


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _some(settings: Settings, setting: str, certificates: list[str]) -> str:
    """The certificates in one text, once each can be read and there is one at all."""
    if not certificates:
        raise settings.error(setting, "It has no certificate to trust")
    for certificate in certificates:
        _read(settings, setting, certificate)
    return "".join(dict.fromkeys(certificates))


def _read(settings: Settings, setting: str, certificate: str) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(certificate.encode())
    except ValueError:
        raise settings.error(setting, "It holds a certificate that can't be read") from None


def _private_key(settings: Settings, setting: str, text: str) -> PrivateKeyTypes:
    blocks = _blocks(text, "PRIVATE KEY")
    if not blocks:
        raise settings.error(setting, "It holds no private key (-----BEGIN PRIVATE KEY-----)")
    block, password = blocks[0].encode(), settings.password("ssl.key.password")
    try:
        return _loaded(block)
    except TypeError:
        # It is encrypted.
        if password is None:
            raise settings.error("ssl.key.password", "The private key is encrypted: its password is needed") from None
    except (ValueError, UnsupportedAlgorithm):
        raise settings.error(setting, "Its private key can't be read: it must be PKCS8 in PEM") from None
    try:
        return _loaded(opening.key(block, password.encode()))
    except opening.OpeningError as error:
        raise settings.error(setting, str(error)) from None
    except (ValueError, UnsupportedAlgorithm):
        raise settings.error("ssl.key.password", "The password does not open the private key") from None


def _loaded(block: bytes) -> PrivateKeyTypes:
    # Whether the numbers of an RSA key are primes takes hours for long ones. Who uses a wrong one fails by itself.
    return serialization.load_pem_private_key(block, None, unsafe_skip_rsa_key_validation=True)


def _pair(settings: Settings, setting: str, key: PrivateKeyTypes, certificates: list[str]) -> KeyPair:
    if not certificates:
        raise settings.error(setting, "It holds no certificate for the private key (-----BEGIN CERTIFICATE-----)")
    for certificate in reversed(certificates):
        first = _read(settings, setting, certificate)
    if _public(first) != _public(key):
        raise settings.error(setting, "Its first certificate must belong to the private key, but belongs to another one")
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    return KeyPair(text, "".join(certificates))


def _public(of: PrivateKeyTypes | x509.Certificate) -> bytes:
    return of.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def _pkcs12(
    settings: Settings, data: bytes, password: str | None, location: str, password_setting: str
) -> pkcs12.PKCS12KeyAndCertificates:
    try:
        return pkcs12.load_pkcs12(opening.store(data, None if password is None else password.encode()), None)
    except opening.OpeningError as error:
        raise settings.error(location, str(error)) from None
    except UnsupportedAlgorithm as error:
        rule = f"It is encrypted in a way that can't be read ({error}): write it anew with {_CONVERT}"
        raise settings.error(location, rule) from None
    except ValueError:
        # The library says the same of a damaged file.
        raise settings.error(password_setting, f"The password does not open {settings.get(location)}") from None


def _pkcs12_pair(settings: Settings, setting: str, data: bytes, password: str | None, password_setting: str) -> KeyPair:
    content = _pkcs12(settings, data, password, setting, password_setting)
    if content.key is None or content.cert is None:
        raise settings.error(setting, "It holds no private key with a certificate")
    return _pair(settings, setting, content.key, _chain(content.cert, content.additional_certs))


def _chain(leaf: pkcs12.PKCS12Certificate, other_certificates: list[pkcs12.PKCS12Certificate]) -> list[str]:
    """
    Return the chain from the key's own certificate on, each followed by its issuer: the store may hold other certificates, too.
    """
    chain, candidates = [leaf.certificate], [certificate.certificate for certificate in other_certificates]
    while issuer := next(
        (candidate for candidate in candidates if candidate.subject == chain[-1].issuer and candidate not in chain), None
    ):
        chain.append(issuer)
    return [_pem(certificate) for certificate in chain]


def _java_pair(settings: Settings, store: _Store) -> KeyPair:
    if store.password is None:
        raise settings.error("ssl.keystore.password", f"A password is needed to read {store.path}")
    try:
        entry = next(
            (candidate for candidate in keytool.entries(store.path, store.kind, store.password) if candidate.is_key), None
        )
    except keytool.KeytoolError as error:
        raise store.refused(error) from None
    if entry is None:
        raise settings.error(store.setting, "It holds no private key with a certificate")
    key_password = settings.password("ssl.key.password") or store.password
    try:
        data, password = keytool.converted(store.path, store.kind, store.password, entry.alias, key_password)
    except keytool.KeytoolError as error:
        if error.wrong_password:
            raise settings.error("ssl.key.password", f"The password does not open the key {entry.alias}") from None
        raise store.refused(error) from None
    return _pkcs12_pair(settings, store.setting, data, password, "ssl.keystore.password")


def _anchors(store: _Store) -> list[str]:
    """Return what Java trusts of a store: the entries that are trusted certificates, and of a key its own certificate only."""
    try:
        entries = keytool.entries(store.path, store.kind, store.password)
    except keytool.KeytoolError as error:
        raise store.refused(error) from None
    return [_certificates(entry.certificates)[0] for entry in entries if _certificates(entry.certificates)]
