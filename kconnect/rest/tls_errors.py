"""
What TLS said when a connection failed for it; httpx keeps that as the cause of its own errors.

Asked by `forward.py` and `client.py`, for which a certificate that is not trusted is no worker that isn't there.
"""

from __future__ import annotations

import ssl


def reason(error: BaseException | None) -> str | None:
    """OpenSSL's words; None if the connection failed for something else."""
    cause = _of(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return cause.verify_message
    return None if cause is None else (cause.reason or str(cause)).replace("_", " ").lower()


def untrusted(error: BaseException | None) -> bool:
    """Whether it is the other side's certificate that was refused here."""
    return isinstance(_of(error), ssl.SSLCertVerificationError)


def _of(error: BaseException | None) -> ssl.SSLError | None:
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error
