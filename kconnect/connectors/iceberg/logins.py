"""
Whose login goes where: what the hosts have for a catalog, and for the files of tables, is not led elsewhere by a config.

A config names a catalog, and gets the login that the hosts' environment has for it (`.pyiceberg.yaml`, `PYICEBERG_CATALOG__…`);
without one, the clouds' libraries take that of the machine. S3's requests carry a signature and no secret, so they may go
anywhere. Called by `catalogs.py` before a catalog is made. What a service answers is looked at by `guard.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from kconnect.api import ConfigError
from kconnect.connectors import clouds
from kconnect.connectors.iceberg import settings

NAMES = frozenset(("s3.region", "client.region", "glue.region", "rest.signing-region", "adls.account-name"))
"""Properties that become a part of a host's name."""
_REST = "rest"
_ADDRESSES = {
    _REST: re.compile(r"uri|oauth2-server-uri|s3\.signer\.(uri|endpoint)"),
    "adls": re.compile(r"adls\.(account-host|(blob|dfs)-storage-(authority|scheme)|connection-string)"),
    "gcs": re.compile(r"gcs\.(service\.host|session-kwargs)"),
    "hf": re.compile(r"hf\.endpoint"),
}
_LENT = {
    _REST: re.compile(r"credential|token|header\..*|auth(\..*)?"),
    "adls": re.compile(r"adls\.(connection-string|account-key|sas-token.*|client-secret|token|credential)"),
    "gcs": re.compile(r"gcs\.oauth2\.token"),
    "hf": re.compile(r"hf\.token"),
}
_OWN = {
    "adls": ({"adls.account-key"}, {"adls.sas-token"}, {"adls.client-id", "adls.client-secret", "adls.tenant-id"}),
    "gcs": ({"gcs.oauth2.token"},),
    "hf": ({"hf.token"},),
}
"""The properties that keep each library from looking for the machine's login, each with what it is nothing without."""


def check(given: Mapping[str, str], environment: Mapping[str, Any]) -> None:
    """
    Raise ConfigError if a config would take a login elsewhere that the hosts' environment has for the catalog.
    """
    for name in NAMES & given.keys():
        if not clouds.is_name(given[name]):
            rule = "It becomes a part of a host's name: it may have letters, digits, - and _ only"
            raise ConfigError(f"{settings.CATALOG}{name}", given[name], rule)
    for kind, name in _addresses(given):
        if environment.get(name) != given[name] and _has(_LENT[kind], environment):
            _refuse(name, f"the config's own, and name the catalog differently ({settings.NAME})")


def check_files(properties: Mapping[str, Any], environment: Mapping[str, Any]) -> None:
    """
    Raise ConfigError if files would be asked for elsewhere with the login of the machine: a cloud's library looks for that if
    neither a config nor its catalog gives one.
    """
    for kind, name in _addresses(properties):
        is_own = environment.get(name) == properties[name] or name == "adls.connection-string"
        if kind in _OWN and not is_own and not _has_own(kind, properties):
            _refuse(name, f"the config's own, such as {settings.CATALOG}{_EXAMPLES[kind]}")


_EXAMPLES = {"adls": "adls.sas-token", "gcs": "gcs.oauth2.token", "hf": "hf.token"}


def _addresses(properties: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the names of properties with an address that is none of the clouds' own, each with whose login goes there."""
    for name, value in properties.items():
        text = str(value).lstrip(".")
        for kind, pattern in _ADDRESSES.items():
            is_clouds = kind in ("adls", "gcs") and (text in ("", "https") or clouds.is_own(text))
            if pattern.fullmatch(name) and not is_clouds:
                yield kind, name


def _has(pattern: re.Pattern[str], properties: Mapping[str, Any]) -> bool:
    return any(value and pattern.fullmatch(name) for name, value in properties.items())


def _has_own(kind: str, properties: Mapping[str, Any]) -> bool:
    return any(all(properties.get(name) for name in names) for names in _OWN[kind])


def _refuse(name: str, remedy: str) -> NoReturn:
    rule = f"It leads to where the login of the hosts' environment may not go. Give a login of {remedy}"
    raise ConfigError(f"{settings.CATALOG}{name}", "[hidden]", rule)
