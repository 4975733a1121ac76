"""
Options of a store: those that a config may set by `store.options.*`, and where a store is on this machine.

obstore knows more: files whose text it would send as a token, addresses that it would ask for one, and a command line that it
would run. These say who the worker is, so they come from the worker's environment, where obstore looks for them itself. Used by
`stores.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from kconnect.api import ConfigError
from kconnect.connectors import passthrough
from kconnect.connectors.host_files import HostFiles
from kconnect.connectors.objects import logins, settings

OPTIONS = settings.PASSTHROUGH.prefix

_SAFE = frozenset(
    (
        *(
            "access_key",
            "access_key_id",
            "secret_access_key",
            "secret_key",
            "session_token",
            "token",
            "region",
            "default_region",
        ),
        *(
            "bucket",
            "bucket_name",
            "endpoint",
            "endpoint_url",
            "virtual_hosted_style_request",
            "unsigned_payload",
            "skip_signature",
        ),
        *(
            "checksum_algorithm",
            "conditional_put",
            "copy_if_not_exists",
            "disable_tagging",
            "disable_bulk_delete",
            "s3_express",
        ),
        *("request_payer", "server_side_encryption", "sse_kms_key_id", "sse_bucket_key_enabled", "sse_customer_key_base64"),
        *("account_name", "account_key", "master_key", "storage_account_name", "storage_account_key", "storage_access_key"),
        *("storage_account_master_key", "storage_client_id", "storage_client_secret", "storage_tenant_id", "storage_sas_key"),
        *("storage_sas_token", "storage_token", "storage_use_emulator", "storage_endpoint", "client_id", "client_secret"),
        *("tenant_id", "authority_id", "sas_key", "sas_token", "bearer_token", "container_name", "use_emulator"),
        *("use_fabric_endpoint", "object_id", "encryption_key", "service_account_key", "base_url"),
    )
)
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
_VENDOR = re.compile(r"^(aws|azure|google)_")


class Options(NamedTuple):
    """The options of a store, and of its client."""

    store: dict[str, str]
    client: dict[str, str]


def given(props: Mapping[str, str], files: HostFiles) -> Options:
    """Return the options of a config for its store. Raise ConfigError for one that a config may not set."""
    options = Options({}, {})
    url = props.get(settings.STORE) or "s3://"
    # Settings of S3 that are options of its store.
    s3_options = {"region": props.get(settings.REGION, ""), "secret_access_key": props.get(settings.SECRET_KEY, "")}
    by_name = s3_options if logins.cloud_of(url) == "aws" else {}
    for name, value in passthrough.given(props, settings.PASSTHROUGH).items():
        plain = _VENDOR.sub("", name.strip().lower())
        by_name[plain] = value
        if plain in _CLIENT:
            options.client[plain] = value
            continue
        options.store[name] = value
        if plain in _KEY_FILES:
            files.check(settings.STORE, value)
        elif plain not in _SAFE:
            rule = (
                f"{OPTIONS}{name} is not among the options that a config may set. What reads a token from a file, asks another "
                "address for one or runs a command is set in the environment of the worker's hosts"
            )
            raise ConfigError(settings.STORE, "[hidden]", rule)
    logins.check(url, by_name)
    return options


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
    """Return the folder that a store's URL names on this machine, None if the store is elsewhere."""
    # Parsers of addresses drop these, so that `fi<tab>le://` names a folder, too.
    address = re.sub(r"[\t\n\r]|^[\x00-\x20]+", "", url)
    if not re.match(r"file:", address, re.IGNORECASE):
        return None
    return unquote(urlsplit(address).path)
