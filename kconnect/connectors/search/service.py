"""
The cluster: a client, and what its answers mean.

opensearch-py makes the requests. What may pass is tried again by `task.py`: not here, where an order of records would be lost.
Used by `task.py` and `connector.py`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from opensearchpy import OpenSearch
from opensearchpy.exceptions import ConnectionError as NoConnection
from opensearchpy.exceptions import OpenSearchException, SerializationError, TransportError

from kconnect import small_files
from kconnect.api import ConfigError
from kconnect.connectors.search import settings
from kconnect.connectors.search.connection import Kept, bounded
from kconnect.data.secret_texts import forms, hide

# It logs each request that fails with a traceback; all of them are told by those who made them.
logging.getLogger("opensearch").setLevel(logging.CRITICAL)

PASSING = (429, 502, 503, 504)
_SHOWN, _CAUSES, _SHORTEST = 300, 4, 3
_READ_ONLY = re.compile(r"^index \[[^\]]{1,300}\] blocked by: [^\n]{0,300}\[FORBIDDEN/[58]/")
"""What the cluster says of an index with `index.blocks.read_only` or `index.blocks.write`, as old ones have it (ISM, ILM)."""


def made_client(config: Mapping[str, Any], longest_s: float | None = None, kept: Kept | None = None) -> OpenSearch:
    """Return a client without a connection yet; `kept` has them later. ConfigError for files that can't be read."""
    password = config[settings.PASSWORD].value
    tls = {
        name: config[setting]
        for name, setting in (("ca_certs", settings.CA), ("client_cert", settings.CERTIFICATE), ("client_key", settings.KEY))
        if config[setting]
    }
    for name in (settings.CA, settings.CERTIFICATE, settings.KEY):
        if config[name]:
            try:
                small_files.read(config[name])
            except OSError as error:
                raise ConfigError(name, config[name], f"It can't be read: {error.strerror}") from None
    timeout_s = min(config[settings.TIMEOUT] / 1000, longest_s or float("inf"))
    try:
        return OpenSearch(
            hosts=config[settings.URLS],
            connection_class=bounded(config[settings.MAX_BYTES], timeout_s, kept),
            http_auth=(config[settings.USER], password) if config[settings.USER] else None,
            http_compress=config[settings.COMPRESS],
            timeout=timeout_s,
            max_retries=0,
            **tls,
        )
    except (OSError, OpenSearchException) as error:
        raise ConfigError(settings.CA, config[settings.CA], f"It can't be used: {error}") from None


def passes(error: OpenSearchException) -> bool:
    """Whether another try may succeed."""
    if isinstance(error, NoConnection | SerializationError):
        # Nobody knows what was done.
        return True
    return isinstance(error, TransportError) and error.status_code in (*PASSING, 500)


def reason(error: OpenSearchException) -> str:
    """Return the reason in one line."""
    if isinstance(error, NoConnection):
        return " ".join(str(error.info or error.error).split())[:300]
    info: Any = getattr(error, "info", None)
    if isinstance(info, dict) and isinstance(info.get("error"), dict):
        return told(info["error"])
    status = getattr(error, "status_code", "no answer")
    # What can't be read is quoted, all of it.
    text = f"it answers {status}" if isinstance(error, TransportError) else " ".join(str(error)[: 2 * _SHOWN].split())[:_SHOWN]
    return "".join(letter if letter.isprintable() else " " for letter in text)


def told(error: Mapping[str, Any], depth: int = 0) -> str:
    """Return what an error of the cluster says, with its causes, in one short line."""
    text, cause = f"{error.get('type')}: {error.get('reason')}", error.get("caused_by")
    plain = "".join(character if character.isprintable() else " " for character in text[:_SHOWN])
    return f"{plain} ({told(cause, depth + 1)})" if isinstance(cause, dict) and depth < _CAUSES else plain


def secrets_of(config: Mapping[str, Any]) -> frozenset[str]:
    """Return the password in all forms in which the cluster may quote it."""
    password = config[settings.PASSWORD].value
    return frozenset(forms(password)) if len(password) > _SHORTEST else frozenset()


def without(secrets: frozenset[str], text: str) -> str:
    """Return what the cluster says without what was sent to it."""
    return hide(text, secrets)


def item_passes(status: int, error: Mapping[str, Any]) -> bool:
    """Whether a document may be taken later. A full disk blocks an index, until somebody makes room."""
    return status in PASSING or status >= 500 or error.get("type") == "cluster_block_exception"


def is_kept_from_writes(error: Mapping[str, Any]) -> bool:
    """Whether somebody has made an index one to be read only, which is for good, and not for want of room on a disk."""
    return error.get("type") == "cluster_block_exception" and _READ_ONLY.search(str(error.get("reason"))) is not None


def bulk(client: OpenSearch, lines: Sequence[bytes], count: int) -> list[tuple[int, Mapping[str, Any]]]:
    """
    Send the lines of `count` actions. Return the status and the error of each; none at all if all are done. OpenSearchException
    if the request fails as a whole.
    """
    only = {"filter_path": "errors,items.*.status,items.*.error"}
    answer: Any = client.bulk(body=b"\n".join([*lines, b""]), params=only)
    try:
        if not answer.get("errors"):
            return []
        items = [next(iter(result.values())) for result in answer["items"]]
        outcomes: list[tuple[int, Mapping[str, Any]]] = [(int(item["status"]), dict(item.get("error") or {})) for item in items]
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, StopIteration):
        raise NoConnection("N/A", "its answer is not one to a bulk request", None) from None
    if len(outcomes) != count:
        raise NoConnection("N/A", f"it answers {len(outcomes)} of {count} actions", None)
    return outcomes
