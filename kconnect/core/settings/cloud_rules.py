"""
What a config may not have of clouds: addresses at which a machine asks for its own login, and logins that lead elsewhere.

A cloud gives each machine a token at an address that answers whoever asks from there, and its libraries get one by themselves.
A config must neither have a connector read it, nor have it sent to a server that the config names. Called by `unsafe.py`. The
same addresses are refused where `connectors/http/dialer.py` dials them, whatever name led there: `connectors/addresses.py`.
Read next: `database_rules.py`, for the logins of databases.
"""

from __future__ import annotations

import binascii
import ipaddress
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from kconnect import normal_forms
from kconnect.data.cloud_addresses import METADATA_SERVICES

METADATA = "cloud.metadata"
"""The name by which the worker's list allows addresses of metadata services."""
CREDENTIALS = "cloud.external.account"
_TOKENS = "sasl.oauthbearer.token.endpoint.url"
"""What the worker's list has to allow anyway: Kafka's clients may get a token from the cloud, and show it to nobody."""
_LOGIN = "sends the machine's own login to a server that is not its cloud's"

_NAMES = frozenset(
    (
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "metadata.tencentyun.com",
        "metadata.oraclecloud.com",
        "instance-data",
        "instance-data.ec2.internal",
    )
)
_HOSTS = re.compile(r"(?:[/\\]{2}|[@=])(?:(?:url|jdbc|https?):)*\[?([^\s/\\@,;?#&=\"'()<>|\]\[]{1,100})")
"""What stands where an address has its host: behind two slashes, a login, or the name of a parameter."""
_NUMERIC = re.compile(r"[0-9a-fx:.%]{1,100}", re.IGNORECASE)
_BASE64 = re.compile(r"(?:base64:)?(?P<text>[A-Za-z0-9+/_\-\s]{40,}={0,2})")
_ACCOUNT = re.compile(r"(?:.*\.)?azure.*\.(storage[._-]?)?account[._-]?name", re.IGNORECASE)
_ENDPOINTS = {
    "gcs.endpoint": r"gcs\.credentials\.(json|path)",
    "cps.endpoint": r"gcp\.credentials\.(json|file\.path)",
    "gcp.spanner.host": r"gcp\.spanner\.credentials\.(json|path)",
}
"""Settings that say where a service of Google's is, and the login that a config has for it."""
_GOOGLES = re.compile(
    r"(?:https?://)?(?:[\w-]+\.)*(?:googleapis\.com|localhost)(?::\d+)?/?|(?:https?://)?127\.[\d.]+(?::\d+)?/?"
)


def dangers(setting: str, value: str) -> Iterator[tuple[str, str]]:
    """Yield what is dangerous about a setting: the name by which the worker's list allows it, and why."""
    if not setting.endswith(_TOKENS) and any(is_metadata_service(host) for host in _hosts(value)):
        yield METADATA, "names an address at which the machine gets its own login from its cloud"
    if _ACCOUNT.fullmatch(setting[-200:]) and re.search(r"[/\\?#@:]", value):
        yield "cloud.account.name", f"becomes a part of a host's name, and would be another host's, so that it {_LOGIN}"
    if _is_external_account(value):
        yield (
            CREDENTIALS,
            "holds credentials of the kind external_account, by which the worker's files and the machine's login are sent to "
            "the address that they name",
        )


def of_config(config: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the addresses to which Google's libraries would take the machine's login: setting, name and reason."""
    stripped = {name.strip().lower(): text.strip() for name, text in config.items()}
    for setting, value in stripped.items():
        login = next((login for end, login in _ENDPOINTS.items() if setting == end or setting.endswith(f".{end}")), None)
        if login is None or not value or _GOOGLES.fullmatch(value.lower()):
            continue
        if not any(text and re.fullmatch(rf"(?:.*\.)?{login}", name) for name, text in stripped.items()):
            yield setting, setting, _LOGIN


def is_metadata_service(host: str) -> bool:
    """Return whether a host, by its name or in any spelling of its address, is one that gives a machine its login."""
    host = host.lower().partition("%")[0].rstrip(".")
    return host in _NAMES or any(address in network for address in _addresses(host) for network in METADATA_SERVICES)


def _hosts(value: str) -> Iterator[str]:
    """Yield what may be the host of an address within a text, or the text itself, if it is a list of hosts."""
    if not value.isascii():
        value = normal_forms.by_letter("NFKC", value).replace("\u3002", ".")
    for text in dict.fromkeys((value, unquote(value), unquote(unquote(value)))):
        for match in _HOSTS.finditer(text):
            yield from _without_port(match[1])
        for part in text.split(","):
            host = part.strip()
            # A number alone may be anything.
            if len(host) <= 100 and not host.isdigit() and host != "metadata":
                yield from _without_port(host.strip("[]"))


def _without_port(text: str) -> Iterator[str]:
    yield text
    if ":" in text:
        yield text.rpartition(":")[0].strip("[]")


def _addresses(host: str) -> Iterator[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """Yield what a literal address means, to whoever reads it: in one to four numbers, of several bases, or within IPv6."""
    if not _NUMERIC.fullmatch(host):
        return
    try:
        six = ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        for as_octal in (False, True):
            number = _number(host.split("."), as_octal)
            if number is not None:
                yield ipaddress.IPv4Address(number)
        return
    yield six
    yield ipaddress.IPv4Address(int(six) & 0xFFFFFFFF)
    if six.sixtofour is not None:
        yield six.sixtofour


def _number(parts: list[str], as_octal: bool) -> int | None:
    if len(parts) > 4:
        return None
    try:
        numbers = [
            int(part, 16) if part[:2] == "0x" else int(part, 8 if as_octal and part[:1] == "0" else 10) for part in parts
        ]
    except ValueError:
        return None
    total = 0
    for number in numbers[:-1]:
        if number > 255:
            return None
        total = total * 256 + number
    total = total * 256 ** (5 - len(parts)) + numbers[-1]
    return total if total < 2**32 else None


def _is_external_account(value: str) -> bool:
    """Return whether a text is the JSON of credentials that are fetched from where it says, and sent where it says."""
    texts = [value]
    if packed := _BASE64.fullmatch(value.strip()):
        texts.append(_unpacked(packed["text"]))
    return any("{" in text and "credential_source" in _unescaped(text) for text in texts)


def _unpacked(text: str) -> str:
    try:
        plain = "".join(text.split()).replace("-", "+").replace("_", "/")
        return binascii.a2b_base64(plain + "=" * (-len(plain.rstrip("=")) % 4)).decode("utf-8", "replace")
    except ValueError:
        return ""


def _unescaped(text: str) -> str:
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)
