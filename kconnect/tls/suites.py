"""
Names of cipher suites: Java's are those of the standard, OpenSSL has its own.

Called by `contexts.py`. OpenSSL before 3.2 does not know the standard's names, so they are translated here.
"""

from __future__ import annotations

import re
import ssl

TLS_1_3 = ("TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256")
"""Those of TLS 1.3 that OpenSSL has on; Python can't choose among them."""


def split(names: list[str]) -> tuple[list[str], list[str]]:
    """Return the suites of TLS 1.3, and the others under OpenSSL's names."""
    return [name for name in names if name in TLS_1_3], [openssl(name) for name in names if name not in TLS_1_3]


def known(name: str) -> bool:
    """Whether this OpenSSL has the suite at all."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(openssl(name))
    except ssl.SSLError:
        return False
    # A word like ALL would be taken as well, and means many.
    return re.fullmatch(r"TLS_[A-Z0-9_]+|[A-Z0-9]+(-[A-Z0-9]+)+", name) is not None


def openssl(name: str) -> str:
    """`TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384` is `ECDHE-RSA-AES256-GCM-SHA384`; another form stays as it is."""
    match = re.fullmatch(r"TLS_(\w+)_WITH_(\w+)", name)
    if match is None:
        return name
    exchange, cipher = match[1].replace("_", "-"), match[2]
    cipher = re.sub(r"(AES|CAMELLIA|ARIA)_(\d+)", r"\1\2", cipher).replace("_CBC_SHA", "_SHA")
    cipher = cipher.replace("POLY1305_SHA256", "POLY1305")
    return ("" if exchange == "RSA" else f"{exchange}-") + cipher.replace("_", "-")
