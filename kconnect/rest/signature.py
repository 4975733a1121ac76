"""
Signatures of what workers ask of each other (KIP-507): made by `forward.py`, checked by the internal resources.

The headers are Kafka Connect's, `X-Connect-Authorization` with the MAC of the body under the cluster's session key, and
`X-Connect-Request-Signature-Algorithm`. As that signs neither method nor path, a body taken from one request would pass in
another: `X-Kconnect-Signature` binds the worker that is asked, method, path, time and body, passes once, and is asked for as
well. The key is the config topic's newest `session-key` record; the one before it is still good for what was signed while the
key changed.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kconnect.core.settings.worker import MAC_DIGESTS
from kconnect.core.state.records import SessionKey
from kconnect.errors import BadRequestError, ForbiddenError, UnavailableError

BODY, ALGORITHM, WHOLE = "X-Connect-Authorization", "X-Connect-Request-Signature-Algorithm", "X-Kconnect-Signature"

_VALID_MS = 60_000
"""How long a signature is good for; clocks of workers may differ by as much."""
_OLD_KEY_MS = 300_000
"""How long a key is still good for once there is another: a worker may have to catch up with the config topic first."""


class Seen:
    """
    The signatures that have passed, as long as they would pass again. Used on the server's event loop. Of one from before
    `since`, in milliseconds, nobody knows whether it has passed.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, since: int | None = None) -> None:
        self._clock = clock
        self.since = int(time.time() * 1000) if since is None else since
        self._until: dict[bytes, float] = {}

    def __len__(self) -> int:
        return len(self._until)

    def is_new(self, mac: bytes) -> bool:
        """Whether this one has not been asked about; from now on it has."""
        now = self._clock()
        while self._until and (oldest := next(iter(self._until.items())))[1] < now:
            del self._until[oldest[0]]
        if mac in self._until:
            return False
        # Twice, because it may have been signed by a clock that is ahead.
        self._until[mac] = now + 2 * _VALID_MS / 1000
        return True


@dataclass(frozen=True, slots=True)
class Given:
    """The signature in the headers of a request. It is not yet verified: `check` does that."""

    algorithm: str
    body: bytes
    whole: bytes
    stamp: str
    signed_ms: int


def worker_at(url: str) -> str:
    """The id of the worker that advertises this address."""
    return url.partition("://")[2].rstrip("/")


def sign(key: SessionKey, algorithm: str, worker: str, method: str, path: str, body: bytes) -> dict[str, str]:
    """The headers of a request to `worker`; `path` is as sent, with its query."""
    # With a random part, because a signature passes once, and two requests may be alike.
    stamp = f"{int(time.time() * 1000)}.{secrets.token_hex(8)}"
    return {
        ALGORITHM: algorithm,
        BODY: _text(_mac(key, algorithm, body)),
        WHOLE: f"{stamp}:{_text(_mac(key, algorithm, _whole(worker, method, path, stamp, body)))}",
    }


def given(algorithms: Sequence[str], headers: Mapping[str, str]) -> Given:
    """
    Read the signature from a request's headers, before anything of the body is read. Raise BadRequestError without a signature,
    or for one that can't be read.
    """
    body, algorithm = headers.get(BODY), headers.get(ALGORITHM)
    if body is None or algorithm is None:
        raise BadRequestError("Internal request missing required signature")
    if algorithm not in algorithms:
        raise BadRequestError(
            f"This worker does not support the '{algorithm}' key signing algorithm used by other workers. This worker is "
            f"currently configured to use: [{', '.join(algorithms)}]. Check that all workers' configuration files permit "
            "the same set of signature algorithms, and correct any misconfigured worker and restart it."
        )
    stamp, _, whole = headers.get(WHOLE, "").partition(":")
    try:
        macs = base64.b64decode(body, validate=True), base64.b64decode(whole, validate=True)
        return Given(algorithm, *macs, stamp, int(stamp.partition(".")[0] or 0))
    except (binascii.Error, ValueError) as error:
        raise BadRequestError(f"Internal request with a signature that can't be read: {error}") from None


def check(keys: Sequence[SessionKey], given: Given, worker: str, method: str, path: str, body: bytes, seen: Seen) -> None:
    """
    Pass a request to `worker`, which is this one, that one of `keys` has signed, once.

    UnavailableError while no key is known, ForbiddenError if the signature is wrong, too old, of another request, of one to
    another worker, or `seen` before.
    """
    if not keys:
        raise UnavailableError(
            "This worker is still starting up and has not been able to read a session key from the config topic yet"
        )
    signed = ((given.body, body), (given.whole, _whole(worker, method, path, given.stamp, body)))
    in_time = abs(time.time() * 1000 - given.signed_ms) <= _VALID_MS and given.signed_ms >= seen.since
    # Who has left the cluster keeps its last key.
    is_old_good = given.signed_ms <= keys[0].created_ms + _OLD_KEY_MS
    good = keys if is_old_good else keys[:1]
    for key in good if in_time else ():
        if all(hmac.compare_digest(mac, _mac(key, given.algorithm, data)) for mac, data in signed):
            if seen.is_new(given.whole):
                return
            break
    raise ForbiddenError("Internal request contained invalid signature.")


def _whole(worker: str, method: str, path: str, stamp: str, body: bytes) -> bytes:
    return f"{worker} {method} {path}\n{stamp}\n".encode() + body


def _mac(key: SessionKey, algorithm: str, data: bytes) -> bytes:
    return hmac.digest(base64.b64decode(key.key), data, MAC_DIGESTS[algorithm])


def _text(mac: bytes) -> str:
    return base64.b64encode(mac).decode()
