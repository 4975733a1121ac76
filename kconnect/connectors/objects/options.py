"""
Options of a store: those that a config may set by `store.options.*`, and where a store is on this machine.

obstore knows more: files whose text it would send as a token, addresses that it would ask for one, and a command line that it
would run. These say who the worker is, so they come from the worker's environment, where obstore looks for them itself. Used by
`stores.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from kconnect import normal_forms
from kconnect.api import ConfigError
from kconnect.connectors import passthrough
from kconnect.connectors.host_files import HostFiles
from kconnect.connectors.objects import logins, settings

OPTIONS = settings.PASSTHROUGH.prefix

SAFE = {
    "aws": (
        *("access_key_id", "secret_access_key", "session_token token", "region", "default_region", "bucket_name bucket"),
        *("endpoint endpoint_url", "virtual_hosted_style_request", "unsigned_payload", "skip_signature", "checksum_algorithm"),
        *("conditional_put", "copy_if_not_exists", "disable_tagging", "disable_bulk_delete", "s3_express", "request_payer"),
        *("server_side_encryption", "sse_kms_key_id", "sse_bucket_key_enabled", "sse_customer_key_base64"),
    ),
    "azure": (
        *("account_name", "account_key access_key master_key", "sas_key sas_token", "bearer_token token"),
        *("client_id", "client_secret", "tenant_id authority_id", "object_id", "container_name", "endpoint", "skip_signature"),
        *("use_emulator", "use_fabric_endpoint", "disable_tagging", "encryption_key"),
    ),
    "google": (
        *("service_account service_account_path", "service_account_key", "application_credentials", "bearer_token"),
        *("bucket_name bucket", "base_url", "skip_signature"),
    ),
}
"""
The options that a config may set, by cloud; each with its other names after it. They reach a library by their first names: what
a library does not know, one says and another one passes over, and what a config seems to say counts for its login.
"""
UNKNOWN_TO_DELTA = frozenset(("google_bearer_token", "azure_encryption_key", "aws_disable_bulk_delete"))
"""Those of obstore that the library of DeltaSink has not: it passes them over."""
_FIRST_NAMES = {
    cloud: {name: names.split()[0] for names in options for name in names.split()} for cloud, options in SAFE.items()
}
_OF_ANY = {name: name for names in _FIRST_NAMES.values() for name in names}
"""For what is no cloud's."""
_CLIENT = frozenset(
    (
        *("allow_http", "allow_invalid_certificates", "connect_timeout", "timeout", "read_timeout", "user_agent", "proxy_url"),
        *("proxy_ca_certificate", "proxy_excludes", "root_certificate", "pool_idle_timeout", "pool_max_idle_per_host"),
        *("default_content_type", "http1_only", "http2_only", "randomize_addresses"),
    )
)
"""Of the client of HTTP, which obstore takes apart from the store's."""
_KEY_FILES = frozenset(("service_account", "service_account_path", "application_credentials"))
"""Files with a key: what they hold is used to sign, and never sent."""
_CLOUDS = {"aws": "S3", "azure": "Azure", "google": "Google"}
_VENDOR = re.compile(r"^(aws|azure|google)_(storage_)?")


class Options(NamedTuple):
    """The options of a store, and of its client."""

    store: dict[str, str]
    client: dict[str, str]


def given(props: Mapping[str, str], files: HostFiles, unknown: Collection[str] = ()) -> Options:
    """
    Return the options of a config for its store, each by one name. Raise ConfigError for one that a config may not set, and for
    one that is `unknown` to the library that gets them: it would pass it over.
    """
    options = Options({}, {})
    url = props.get(settings.STORE) or "s3://"
    cloud = logins.cloud_of(url)
    # Settings of S3 that are options of its store.
    s3_settings = {"region": settings.REGION, "access_key_id": settings.ACCESS_KEY, "secret_access_key": settings.SECRET_KEY}
    by_name = {name: props.get(setting, "") for name, setting in s3_settings.items()} if cloud == "aws" else {}
    first_names = _OF_ANY if cloud is None else _FIRST_NAMES[cloud]
    names: dict[str, str] = {}
    for name, value in passthrough.given(props, settings.PASSTHROUGH).items():
        plain = _plain(name, cloud)
        first = plain if plain in _CLIENT else first_names.get(plain)
        if first is None or f"{cloud}_{first}" in unknown:
            raise ConfigError(settings.STORE, "[hidden]", _refusal(name, cloud))
        if first in names:
            rule = f"{OPTIONS}{names[first]} and {OPTIONS}{name} are one option. Leave one of them out"
            raise ConfigError(settings.STORE, "[hidden]", rule)
        names[first], by_name[first] = name, value
        if first in _CLIENT:
            options.client[first] = value
            continue
        # As the settings of S3 call them, which an option replaces.
        options.store[f"aws_{first}" if cloud == "aws" else first] = value
        if first in _KEY_FILES:
            files.check(settings.STORE, value)
    logins.check(url, by_name)
    return options


def _plain(name: str, cloud: str | None) -> str:
    """Return the name of an option without its cloud's; as it is if that is another one's."""
    lower = name.strip().lower()
    vendor = _VENDOR.match(lower)
    return lower if vendor is None or cloud not in (None, vendor[1]) else lower[vendor.end() :]


def _refusal(name: str, cloud: str | None) -> str:
    whose = "" if cloud is None else f" for a store of {_CLOUDS[cloud]}"
    return (
        f"{OPTIONS}{name} is not among the options that a config may set{whose}. What reads a token from a file, asks another "
        "address for one or runs a command is set in the environment of the worker's hosts"
    )


def of_s3(config: Mapping[str, Any]) -> tuple[dict[str, Any], bool | None]:
    """Return the options of a store that the settings of S3 say, and whether it is asked without TLS, if an address says so."""
    options: dict[str, Any] = {"aws_region": config[settings.REGION]}
    endpoint = config[settings.ENDPOINT]
    if endpoint:
        options["aws_endpoint"] = endpoint
    for name, setting in (("aws_access_key_id", settings.ACCESS_KEY), ("aws_secret_access_key", settings.SECRET_KEY)):
        if config[setting].value:
            options[name] = config[setting].value
    options["aws_virtual_hosted_style_request"] = not config[settings.PATH_STYLE]
    return options, endpoint.startswith("http://") if endpoint else None


def local_path(url: str) -> str | None:
    """Return the folder that a store's URL names on this machine, None if it is elsewhere. ConfigError for no address."""
    # Parsers of addresses drop these, so that `fi<tab>le://` names a folder, too.
    address = re.sub(r"[\t\n\r]|^[\x00-\x20]+", "", url)
    if not re.match(r"file:", address, re.IGNORECASE):
        return None
    try:
        return unquote(normal_forms.split(address).path)
    except ValueError as error:
        raise ConfigError(settings.STORE, url, f"It must be an address: {error}") from None
