"""
Python's TLS contexts of Java's `ssl.*` settings: one for a server, one for who calls it.

`worker/rest.py` makes both when a worker starts, so that whatever is wrong with a store is said then. Read next: `stores.py`.
"""

from __future__ import annotations

import logging
import os
import secrets
import ssl
import tempfile

from cryptography.hazmat.primitives import serialization

from kconnect.tls import stores, suites
from kconnect.tls.settings import Settings
from kconnect.tls.stores import KeyPair

log = logging.getLogger(__name__)

_CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_OLD = ("SSL", "SSLv2", "SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1")


def server(settings: Settings) -> ssl.SSLContext:
    """The context of https listeners. ConfigError, naming the setting, for whatever it can't be made of."""
    pair = stores.key_pair(settings)
    if pair is None:
        raise settings.error(
            "ssl.keystore.location",
            "An https listener needs a private key and its certificate: name a keystore of type JKS, PKCS12 or PEM, or give "
            f"{settings.prefix}ssl.keystore.key and {settings.prefix}ssl.keystore.certificate.chain",
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION
    _restrict(context, settings)
    _present(context, settings, pair)
    asked = settings.get("ssl.client.auth", "none")
    if asked.lower() not in _CLIENT_AUTH:
        raise settings.error("ssl.client.auth", f"Must be one of: {', '.join(_CLIENT_AUTH)}")
    context.verify_mode = _CLIENT_AUTH[asked.lower()]
    if context.verify_mode is not ssl.CERT_NONE:
        _trust(context, stores.trusted(settings) or stores.trusted_by_keystore(settings))
    return context


def client(settings: Settings) -> ssl.SSLContext:
    """
    The context for calling such a server: trusts the truststore, and presents the keystore's certificate.

    Without a truststore it trusts what the keystore does, and without either the system's certificates.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _restrict(context, settings)
    identification = settings.given("ssl.endpoint.identification.algorithm")
    if identification is not None and identification.lower() not in ("https", ""):
        raise settings.error(
            "ssl.endpoint.identification.algorithm", "Must be https, or empty for not checking the names in certificates"
        )
    context.check_hostname = identification != ""
    pair = stores.key_pair(settings)
    if pair is not None:
        _present(context, settings, pair)
    anchors = stores.trusted(settings) or stores.trusted_by_keystore(settings)
    if anchors is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    else:
        _trust(context, anchors)
    return context


def _restrict(context: ssl.SSLContext, settings: Settings) -> None:
    """Protocols and cipher suites. TLS 1.2 and 1.3 are what Java has on by default, too."""
    asked = [name.strip() for name in settings.get("ssl.enabled.protocols", ",".join(_VERSIONS)).split(",")]
    for name in asked:
        if name not in _VERSIONS and name not in _OLD:
            raise settings.error("ssl.enabled.protocols", f"{name} is not known; known are {', '.join(_VERSIONS)}")
    versions = [_VERSIONS[name] for name in asked if name in _VERSIONS]
    if not versions:
        raise settings.error("ssl.enabled.protocols", f"These are insecure and not supported: add {' or '.join(_VERSIONS)}")
    old = [name for name in asked if name in _OLD]
    if old:
        log.warning("%sssl.enabled.protocols: %s is insecure and stays off", settings.prefix, ", ".join(old))
    names = [name.strip() for name in settings.get("ssl.cipher.suites").split(",") if name.strip()]
    if names:
        versions = _choose(context, settings, names, versions)
    context.minimum_version, context.maximum_version = min(versions), max(versions)


def _choose(
    context: ssl.SSLContext, settings: Settings, names: list[str], versions: list[ssl.TLSVersion]
) -> list[ssl.TLSVersion]:
    """Set the cipher suites; gives those of the versions for which there is one."""
    unknown = [name for name in names if name not in suites.TLS_1_3 and not suites.known(name)]
    if unknown:
        raise settings.error("ssl.cipher.suites", f"Not known to {ssl.OPENSSL_VERSION}: {', '.join(unknown)}")
    newer, older = suites.split(names)
    if older:
        context.set_ciphers(":".join(older))
    if newer and ssl.TLSVersion.TLSv1_3 in versions and set(newer) != set(suites.TLS_1_3):
        log.warning(
            "%sssl.cipher.suites: those of TLS 1.3 can't be chosen one by one here; %s are all on",
            settings.prefix,
            ", ".join(suites.TLS_1_3),
        )
    usable = {ssl.TLSVersion.TLSv1_2: older, ssl.TLSVersion.TLSv1_3: newer}
    remaining = [version for version in versions if usable[version]]
    if not remaining:
        raise settings.error("ssl.cipher.suites", "None of these is for a protocol of ssl.enabled.protocols")
    return remaining


def _trust(context: ssl.SSLContext, anchors: str | None) -> None:
    if anchors is not None:
        context.load_verify_locations(cadata=anchors)
        # In Java each certificate of a truststore is trusted, also one that somebody else has issued.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN


def _present(context: ssl.SSLContext, settings: Settings, pair: KeyPair) -> None:
    """OpenSSL takes a key from a file only: it lies there encrypted, for a moment, and for this user alone."""
    password = secrets.token_urlsafe(24)
    key = serialization.load_pem_private_key(pair.key.encode(), None)
    encrypted = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password.encode()),
    )
    descriptor, path = tempfile.mkstemp(prefix="kconnect-", suffix=".pem")
    try:
        with open(descriptor, "wb") as file:
            file.write(encrypted + pair.certificates.encode())
        context.load_cert_chain(path, password=password)
    except ssl.SSLError as error:
        reason = error.reason or str(error)
        raise settings.error("ssl.keystore.location", f"OpenSSL refuses its key or certificate: {reason}") from None
    finally:
        os.unlink(path)
