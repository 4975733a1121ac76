"""
Addresses of machines: which are public, so that a service may name them, which are inside, and which no config may name.

Called by `http/service.py` for its dialers, with what a name resolves to; by `iceberg/guard.py` and, in Spark's Python,
`spark/session/catalogs.py` for what catalogs answer. `core/settings/cloud_rules.py` has the same list of metadata services, for
what stands in a config.
"""

from __future__ import annotations

import ipaddress
import re

from kconnect import normal_forms
from kconnect.data.cloud_addresses import METADATA_SERVICES

_INSIDE = tuple(
    ipaddress.ip_network(each)
    for each in (
        # Azure's machines ask it for their secrets, though it is an address of the internet.
        "168.63.129.16/32",
        # Carriers' and clouds' own, and protocols'; what Python says of them has changed.
        "100.64.0.0/10",
        "192.0.0.0/24",
        "fec0::/10",
    )
)
_NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
_READ_DIFFERENTLY = re.compile(r"[\\\s\x00-\x20\x7f]")


def origin_of(url: str) -> tuple[str, str, int] | None:
    """
    Return scheme, host and port of an address; None for a text that is none. A host alone counts as https.

    None, too, for one that clients read differently: before a backslash, a blank or a second @ some see a host, others a user.
    """
    if _READ_DIFFERENTLY.search(url) or url.partition("://")[2].count("@") > 1:
        return None
    try:
        parts = normal_forms.split(url if "://" in url else f"https://{url}")
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or not re.fullmatch(r"[\w.\-:%]+", host):
        return None
    return parts.scheme.lower(), host.lower(), port or {"http": 80, "https": 443}.get(parts.scheme.lower(), 0)


def is_public(address: str) -> bool:
    """Return whether the whole internet has it: no loopback, no private network, no metadata service, nothing reserved."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = _embedded(parsed)
        if inner is not None:
            return is_public(str(inner))
    if any(parsed in network for network in _INSIDE if network.version == parsed.version):
        return False
    special = parsed.is_multicast or parsed.is_reserved or parsed.is_unspecified or parsed.is_link_local or parsed.is_loopback
    return parsed.is_global and not special


def is_metadata_service(address: str) -> bool:
    """Return whether a cloud may answer at an address, and give the machine that asks its own login."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    inner = _embedded(parsed) if isinstance(parsed, ipaddress.IPv6Address) else None
    if inner is not None:
        return is_metadata_service(str(inner))
    return any(parsed in network for network in METADATA_SERVICES if network.version == parsed.version)


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that packets to this one go to, if it is one of the kinds that have one inside."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if any(address in network for network in _NAT64):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if int(address) >> 32 == 0 and int(address) > 1:
        # ::a.b.c.d, which some systems still take for the IPv4 address.
        return ipaddress.IPv4Address(int(address))
    return None
