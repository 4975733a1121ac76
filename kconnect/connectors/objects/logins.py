"""
Whose login goes where: what the hosts' environment says of a store stays with the cloud that it is for.

A config may lead a store elsewhere: by an address, by a proxy, or by a name that becomes a part of an address. The tokens that
the machine has (of its environment, its container, its role) would go there, too. So such a config brings a login of its own.
S3's requests carry a signature and no secret, so they may go to any address. What the machine has is changed for a key at
Amazon's own, for which proxies and certificates count. Called by `options.py`. Read next: `stores.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from kconnect.api import ConfigError
from kconnect.connectors import clouds
from kconnect.connectors.objects import settings

_NAMES = frozenset(("region", "default_region", "account_name"))
"""Options that become a part of a host's name: what has a slash in it would be another host."""
_ADDRESSES = frozenset(("endpoint", "base_url"))
_WAYS = frozenset(("proxy_url", "proxy_ca_certificate", "root_certificate", "allow_invalid_certificates"))
_OWN = {
    "aws": ({"access_key_id", "secret_access_key"},),
    "azure": ({"account_key"}, {"sas_key"}, {"bearer_token"}, {"client_id", "client_secret", "tenant_id"}),
    "google": ({"service_account"}, {"service_account_key"}, {"application_credentials"}, {"bearer_token"}),
}
"""The options of each cloud by which a config logs in itself, each with what it is nothing without."""
_OF_MACHINE = re.compile(r"(AZURE|GOOGLE)_.*(TOKEN|KEY|SAS|SECRET|CLI|SERVICE_ACCOUNT|CREDENTIAL).*")
"""Variables that count before a config's own login, or may do so."""
_TOKEN = re.compile(r"GOOGLE_.*TOKEN.*")
_OFF = ("", "false", "0", "no")


def check(url: str, options: Mapping[str, str]) -> None:
    """
    Raise ConfigError if a store of this URL would take the machine's login elsewhere. `options` are those of the config, by
    their first names in `options.py`.
    """
    for name in _NAMES & options.keys():
        if not clouds.is_name(options[name]):
            rule = f"The {name.replace('_', ' ')} becomes a part of a host's name: it may have letters, digits, - and _ only"
            raise ConfigError(settings.REGION if "region" in name else settings.STORE, options[name], rule)
    cloud = cloud_of(url)
    if cloud is None:
        return
    names = {name for name in _WAYS & options.keys() if options[name].strip().lower() not in _OFF}
    if cloud != "aws":
        names |= {name for name in _ADDRESSES & options.keys() if not _is_known(cloud, options[name])}
    if cloud == "google" and any(_TOKEN.fullmatch(name) and value for name, value in os.environ.items()):
        # A key says an address, too, and the environment's token counts before it.
        names |= {"service_account", "service_account_key", "application_credentials"} & options.keys()
    # The emulator of Azure has a key that everybody knows, unless the environment has one.
    is_emulator = cloud == "azure" and options.get("use_emulator", "").lower() == "true" and not _shadows(cloud)
    is_anonymous = options.get("skip_signature", "").lower() == "true" or is_emulator
    if not names or is_anonymous or (_has_login(cloud, options) and not _shadows(cloud)):
        return
    raise ConfigError(
        settings.STORE,
        "[hidden]",
        f"The option {min(names)} leads to where the login of the hosts' environment may not go. Give a login of the config's "
        f"own, or set the option in that environment ({cloud.upper()}_…)",
    )


def cloud_of(url: str) -> str | None:
    """Return the cloud whose login a store of this URL would use."""
    # Parsers of addresses drop blanks and controls.
    address = re.sub(r"[\x00-\x20]", "", url).lower()
    scheme = address.partition("://")[0]
    if scheme in ("s3", "s3a"):
        return "aws"
    if scheme in ("gs", "gcs"):
        return "google"
    if scheme in ("az", "adl", "azure", "abfs", "abfss"):
        return "azure"
    if scheme == "https":
        marks = {".core.windows.net": "azure", ".fabric.microsoft.com": "azure", "amazonaws.com": "aws", ".r2.": "aws"}
        return next((cloud for mark, cloud in marks.items() if mark in address), None)
    return None


def _is_known(cloud: str, address: str) -> bool:
    """Return whether an address is the cloud's own, or one that the environment has, too."""
    values = {value for name, value in os.environ.items() if name.startswith(f"{cloud.upper()}_")}
    return address in values or clouds.is_own(address)


def _has_login(cloud: str, options: Mapping[str, str]) -> bool:
    return any(all(options.get(name) for name in names) for names in _OWN[cloud])


def _shadows(cloud: str) -> bool:
    """Return whether the environment has a login that may count before a config's own."""
    return cloud != "aws" and any(
        _OF_MACHINE.fullmatch(name) and name.startswith(f"{cloud.upper()}_") and value for name, value in os.environ.items()
    )
