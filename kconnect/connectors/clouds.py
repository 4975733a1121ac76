"""
Addresses of the clouds themselves, where the login of a machine may go, whoever names them.

The tokens of a machine (of its environment, its container, its role) are for its cloud. A config must not lead them elsewhere.
Used by `objects/logins.py` and `iceberg/logins.py`.
"""

from __future__ import annotations

import re

_CLOUDS = re.compile(
    r"(https://)?([\w-]+\.)+(core\.(windows\.net|chinacloudapi\.cn|usgovcloudapi\.net)|storage\.azure\.net"
    r"|fabric\.microsoft\.com|googleapis\.com)(:443)?(/[\w./-]*)?",
    re.ASCII,
)
_NAME = re.compile(r"[\w-]*", re.ASCII)


def is_own(address: str) -> bool:
    """Return whether an address, or a host alone, is one of Azure's or Google's stores."""
    return _CLOUDS.fullmatch(address.strip().lower()) is not None


def is_name(text: str) -> bool:
    """Return whether a text may become a part of a host's name: what has a slash in it would be another host."""
    return _NAME.fullmatch(text) is not None
