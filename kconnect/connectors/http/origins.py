"""
Origins: which servers the address of a next page may lead to.

What a service answers decides no more than that. The origin of the config's own address is always allowed, another one only if
the config names it, and then it is asked as a stranger would ask it. Used by `pages.py`; what such a request has not:
`service.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx

from kconnect.api import ConfigError, ConnectError
from kconnect.connectors.http.address import origin_of
from kconnect.connectors.names import shown

Origin = tuple[str, str, int]


def are_origins(name: str, value: Any) -> None:
    """Validate the list of origins."""
    for text in value or ():
        _parsed(name, text)


def _parsed(name: str, text: str) -> Origin:
    try:
        url = httpx.URL(text.strip())
    except httpx.InvalidURL:
        url = httpx.URL("")
    plain = url.scheme in ("http", "https") and url.host and url.raw_path == b"/" and not url.userinfo and not url.fragment
    if not plain or "*" in url.host:
        raise ConfigError(name, text, "It must be a list of origins, each a scheme, a host and maybe a port: https://host:8443")
    return origin_of(url)


class Origins:
    def __init__(self, setting: str, own: str, others: Sequence[str], uses_get: bool) -> None:
        """`own` is the config's address; `others` are what `setting` says. `uses_get`: whether requests have no bodies."""
        self._own = origin_of(httpx.URL(own))
        self._setting, self._uses_get = setting, uses_get
        self._others = {_parsed(setting, text) for text in others}

    def is_own(self, url: httpx.URL) -> bool:
        return origin_of(url) == self._own

    def check(self, url: httpx.URL) -> None:
        """Raise ConnectError, naming the setting, for an address of an origin that may not be asked."""
        if self.is_own(url):
            return
        scheme, host, port = origin_of(url)
        where = shown(f"{scheme}://{host}:{port}")
        if (scheme, host, port) not in self._others:
            raise ConnectError(
                f"The service leads to {where}, which is another server than the one that the config names. If that is right, "
                f"name it in {self._setting}"
            )
        if not self._uses_get:
            raise ConnectError(f"The service leads to {where}: of what {self._setting} names only GET requests are made")
