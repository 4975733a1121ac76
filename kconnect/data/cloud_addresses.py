"""
The addresses at which a cloud gives each machine that asks its own login.

Refused in configs by `core/settings/cloud_rules.py`, and when they are dialled by `connectors/addresses.py`.
"""

from __future__ import annotations

import ipaddress

METADATA_SERVICES = tuple(
    ipaddress.ip_network(network)
    for network in (
        "169.254.0.0/16",
        "fe80::/10",
        # Amazon's by IPv6, Azure's, Alibaba's and Oracle's: not link-local.
        "fd00:ec2::/32",
        "168.63.129.16/32",
        "100.100.100.200/32",
        "192.0.0.192/32",
    )
)
"""Link-local addresses, and those of clouds that are not."""
