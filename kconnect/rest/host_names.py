"""
Under which names a worker without a login answers browsers: its own, and those of the worker setting `rest.hosts.allowed`.

A browser takes all answers under one name for one site. So whoever owns a name can first send it a page, and then let the name
stand for a worker's address (DNS rebinding): to the browser, what the page asks the worker is same-origin. Only the name in
`Host` gives that away. `resource.py` asks `check` before anything else; `worker/rest.py` knows the names. Programs other than
browsers are served under any name, as by Kafka Connect. Read next: `browsers.py`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from starlette.requests import HTTPConnection

from kconnect.errors import ForbiddenError

SETTING = "rest.hosts.allowed"
_HOST = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::\d*)?")
_FORWARDED = re.compile(r'host\s*=\s*("[^"]*"|[^;,\s]*)', re.IGNORECASE)


class HostNames:
    """Names of hosts: whole ones, `*.example.com` for all that end so, or `*` for every name."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = {_plain(name) for name in names if name}

    def __contains__(self, host: str) -> bool:
        name = _plain(host)
        if name == "localhost" or _is_address(name) or not self._names.isdisjoint((name, "*")):
            return True
        return any(pattern.startswith("*.") and name.endswith(pattern[1:]) for pattern in self._names)


def check(http: HTTPConnection, names: HostNames) -> None:
    """Raise ForbiddenError if a browser asks under a name that is not this worker's."""
    if not _is_browser(http):
        return
    for host in _hosts(http):
        match = _HOST.fullmatch(host.strip())
        if match is None or match[1] not in names:
            raise ForbiddenError(
                f"Browsers may not reach this worker as {(host or 'a host without a name')[:200]}. The worker needs no login, "
                f"and is not known by this name, so a page of somebody else may be asking (DNS rebinding). If the name is the "
                f"worker's, or that of a proxy before it, add it to the worker setting {SETTING}, or set up users "
                "(rest.authentication.file)."
            )


def _is_browser(http: HTTPConnection) -> bool:
    """
    Whether a browser may have sent this.

    Pages can leave out or change some of what gives a browser away, `User-Agent` too, but not all of it at once: none can take
    `Accept-Language` off. Node's own `fetch` sends `Sec-Fetch-Mode` alone, which no browser does and no page can do.
    """
    headers = http.headers
    agent = headers.get("user-agent", "").lower()
    # PowerShell says that it is Mozilla, too. What a page says so is given away by what it can't leave out.
    if "origin" in headers or "cookie" in headers or ("mozilla/" in agent and "powershell/" not in agent):
        return True
    marks = {name for name in headers if name.startswith("sec-") or name == "accept-language"}
    return bool(marks) and ("sec-fetch-mode" not in marks or not marks <= {"sec-fetch-mode", "accept-language"})


def _hosts(http: HTTPConnection) -> list[str]:
    """The names that the caller and the proxies before this worker say. A page may add headers, so each must be allowed."""
    headers = http.headers
    forwarded = [name for text in headers.getlist("x-forwarded-host") for name in text.split(",")]
    forwarded += [name.strip('"') for text in headers.getlist("forwarded") for name in _FORWARDED.findall(text)]
    return [*(headers.getlist("host") or [""]), *forwarded]


def _plain(name: str) -> str:
    return name.strip().lower().strip("[]").removesuffix(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
