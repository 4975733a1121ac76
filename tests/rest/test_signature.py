"""Who may make an internal request: signatures of body, method, path and time, and the change of keys (F21)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from dataclasses import replace

import pytest

from kconnect.core.state.records import SessionKey
from kconnect.errors import BadRequestError, ForbiddenError, UnavailableError
from kconnect.rest import signature
from kconnect.worker.session_key import renewed

OLD, KEY, OTHER = (SessionKey(base64.b64encode(bytes([n]) * 32).decode(), "HmacSHA256", 0) for n in (1, 2, 3))
ME, PATH, BODY = "worker-1:8083", "/connectors/x/tasks?forward=true", b"[]"


def check(
    headers: dict[str, str],
    keys: tuple[SessionKey, ...] = (KEY, OLD),
    path: str = PATH,
    body: bytes = BODY,
    seen: signature.Seen | None = None,
) -> None:
    given = signature.given(["HmacSHA256"], headers)
    signature.check(keys, given, ME, "POST", path, body, signature.Seen(since=0) if seen is None else seen)


def signed(key: SessionKey = KEY, worker: str = ME) -> dict[str, str]:
    return signature.sign(key, "HmacSHA256", worker, "POST", PATH, BODY)


def test_the_body_s_signature_is_connect_s() -> None:
    mac = hmac.new(bytes([2]) * 32, BODY, hashlib.sha256).digest()
    assert signed()["X-Connect-Authorization"] == base64.b64encode(mac).decode()
    assert signed()["X-Connect-Request-Signature-Algorithm"] == "HmacSHA256"


def test_what_a_worker_signed_passes_with_the_new_key_and_for_minutes_with_the_one_before() -> None:
    """Who was taken out of the cluster has the key of before, and must not have an hour to use it."""
    now = int(time.time() * 1000)
    check(signed())
    check(signed(OLD), keys=(replace(KEY, created_ms=now - 200_000), OLD))
    changed_long_ago = (replace(KEY, created_ms=now - 400_000), OLD)
    check(signed(), keys=changed_long_ago)
    with pytest.raises(ForbiddenError):
        check(signed(OLD), keys=changed_long_ago)


@pytest.mark.parametrize("missing", ["X-Connect-Authorization", "X-Connect-Request-Signature-Algorithm"])
def test_without_a_signature(missing: str) -> None:
    headers = signed()
    del headers[missing]
    with pytest.raises(BadRequestError, match="missing required signature"):
        check(headers)


def test_with_a_wrong_key_body_method_or_path() -> None:
    for wrong in (
        lambda: check(signed(OTHER)),
        lambda: check(signed(), body=b"[{}]"),
        lambda: check(signed(), path="/connectors/y/tasks?forward=true"),
        lambda: check({**signed(), **signature.sign(KEY, "HmacSHA256", ME, "PUT", PATH, BODY)}),
    ):
        with pytest.raises(ForbiddenError, match="invalid signature"):
            wrong()


def test_a_body_s_signature_alone_is_not_enough() -> None:
    headers = signed()
    del headers["X-Kconnect-Signature"]
    with pytest.raises(ForbiddenError):
        check(headers)


def test_an_old_signature_is_of_no_use(monkeypatch: pytest.MonkeyPatch) -> None:
    headers = signed()
    check(headers)
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    with pytest.raises(ForbiddenError):
        check(headers)


def test_a_signature_is_for_one_worker() -> None:
    assert signature.worker_at(f"http://{ME}/") == ME
    check(signed())
    with pytest.raises(ForbiddenError, match="invalid signature"):
        check(signed(worker="worker-2:8083"))


def test_what_was_signed_before_a_worker_s_start_is_of_no_use_to_it() -> None:
    headers = signed()
    now = int(time.time() * 1000)
    check(headers, seen=signature.Seen(since=now - 60_000))
    with pytest.raises(ForbiddenError, match="invalid signature"):
        check(headers, seen=signature.Seen(since=now + 1000))


def test_a_signature_passes_once() -> None:
    now = 0.0
    seen = signature.Seen(lambda: now, since=0)
    headers = signed()
    check(headers, seen=seen)
    with pytest.raises(ForbiddenError):
        check(headers, seen=seen)
    with pytest.raises(ForbiddenError):
        check(signed(OTHER), seen=seen)
    check({**signed(), **signature.sign(KEY, "HmacSHA256", ME, "POST", "/y", BODY)}, path="/y", seen=seen)
    assert len(seen) == 2, "wrong ones are not kept"
    now = 121.0
    check(signed(), seen=seen)
    assert len(seen) == 1, "what is too old anyway is forgotten"


def test_unreadable_or_foreign() -> None:
    with pytest.raises(BadRequestError, match="can't be read"):
        check({**signed(), "X-Connect-Authorization": "%%%"})
    with pytest.raises(BadRequestError, match="can't be read"):
        check({**signed(), "X-Kconnect-Signature": "soon:abcd"})
    with pytest.raises(BadRequestError, match="does not support the 'HmacMD5' key signing algorithm"):
        check({**signed(), "X-Connect-Request-Signature-Algorithm": "HmacMD5"})


def test_before_a_key_is_known() -> None:
    with pytest.raises(UnavailableError, match="has not been able to read a session key"):
        check(signed(), keys=())


def test_when_a_key_is_made() -> None:
    made = renewed(None, "HmacSHA256", None, 1000, 5000)
    assert made is not None
    assert len(base64.b64decode(made.key)) == 32
    assert made.created_ms == 5000
    assert renewed(made, "HmacSHA256", None, 1000, 5999) is None
    newer = renewed(made, "HmacSHA256", None, 1000, 6000)
    assert newer is not None
    assert newer.key != made.key
    assert renewed(made, "HmacSHA1", None, 1000, 5001) is not None
    for useless in ("", "not base64!"):
        assert renewed(replace(made, key=useless), "HmacSHA256", None, 1000, 5001) is not None
    smaller = renewed(made, "HmacSHA256", 128, 1000, 5001)
    assert smaller is not None
    assert len(base64.b64decode(smaller.key)) == 16
    assert renewed(smaller, "HmacSHA256", 128, 1000, 5002) is None
    assert renewed(SessionKey("!", "HmacSHA256", 5000), "HmacSHA256", 128, 1000, 5001) is not None
