"""
Signatures of what workers ask of each other (KIP-507): made by `forward.py`, checked by the internal resources.

The headers are Kafka Connect's, `X-Connect-Authorization` with the MAC of the body under the cluster's session key, and
`X-Connect-Request-Signature-Algorithm`. As that signs neither method nor path, a body taken from one request would pass in
another: `X-Kconnect-Signature` binds method, path, time and body, and is asked for as well. The key is the config topic's
newest `session-key` record; the one before it is still good for what was signed while the key changed.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import time
from collections.abc import Mapping, Sequence

from kconnect.api.errors import BadRequestError, ForbiddenError, UnavailableError
from kconnect.core.settings.worker import MAC_DIGESTS
from kconnect.core.state.records import SessionKey

BODY, ALGORITHM, WHOLE = "X-Connect-Authorization", "X-Connect-Request-Signature-Algorithm", "X-Kconnect-Signature"

_VALID_MS = 60_000
"""How long a signature is good for; clocks of workers may differ by as much."""


def sign(key: SessionKey, algorithm: str, method: str, path: str, body: bytes) -> dict[str, str]:
    """The headers of a request; `path` is as sent, with its query."""
    now = str(int(time.time() * 1000))
    return {
        ALGORITHM: algorithm,
        BODY: _text(_mac(key, algorithm, body)),
        WHOLE: f"{now}:{_text(_mac(key, algorithm, _whole(method, path, now, body)))}",
    }


def check(
    keys: Sequence[SessionKey],
    algorithms: Sequence[str],
    headers: Mapping[str, str],
    method: str,
    path: str,
    body: bytes,
) -> None:
    """
    Pass a request that one of `keys` has signed.

    BadRequestError without a signature or with an unreadable one, UnavailableError while no key is known, ForbiddenError
    if the signature is wrong, too old, or of another request.
    """
    given, algorithm = headers.get(BODY), headers.get(ALGORITHM)
    if given is None or algorithm is None:
        raise BadRequestError("Internal request missing required signature")
    if algorithm not in algorithms:
        raise BadRequestError(
            f"This worker does not support the '{algorithm}' key signing algorithm used by other workers. This worker is "
            f"currently configured to use: [{', '.join(algorithms)}]. Check that all workers' configuration files permit "
            "the same set of signature algorithms, and correct any misconfigured worker and restart it."
        )
    time_text, _, whole = headers.get(WHOLE, "").partition(":")
    try:
        macs = base64.b64decode(given, validate=True), base64.b64decode(whole, validate=True)
        age = time.time() * 1000 - int(time_text or 0)
    except (binascii.Error, ValueError) as error:
        raise BadRequestError(f"Internal request with a signature that can't be read: {error}") from None
    if not keys:
        raise UnavailableError(
            "This worker is still starting up and has not been able to read a session key from the config topic yet"
        )
    signed = (body, _whole(method, path, time_text, body))
    for key in keys if abs(age) <= _VALID_MS else ():
        if all(hmac.compare_digest(mac, _mac(key, algorithm, data)) for mac, data in zip(macs, signed, strict=True)):
            return
    raise ForbiddenError("Internal request contained invalid signature.")


def _whole(method: str, path: str, now: str, body: bytes) -> bytes:
    return f"{method} {path}\n{now}\n".encode() + body


def _mac(key: SessionKey, algorithm: str, data: bytes) -> bytes:
    return hmac.digest(base64.b64decode(key.key), data, MAC_DIGESTS[algorithm])


def _text(mac: bytes) -> str:
    return base64.b64encode(mac).decode()
