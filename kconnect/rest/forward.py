"""
Sends a request on to the worker that can answer it: the leader, or the owner of a task.

`resource.py` calls `forward` when the herder names another worker. A request makes at most two hops, which the query
parameter `forward` counts as in Kafka Connect; it goes to a live member's advertised address only, follows no redirect, uses
no proxy, and takes nothing along of the caller's headers but `Authorization`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import orjson
from starlette.responses import Response

from kconnect.core.herder.desk import BUSY
from kconnect.core.state.records import SessionKey
from kconnect.errors import ConflictError, ConnectError
from kconnect.rest import signature, tls_errors

_NEXT = {None: "true", "true": "false"}
MOST_BYTES = 64 * 2**20
"""An answer may have. Over http, whoever is on the way between two workers could send one without an end."""
READ_TO = "kconnect-config-offset"
"""
How far a worker that answers a forwarded request had read the config topic, what it has just written included. Who forwarded it
reads as far before it answers: its caller asks the same worker next.
"""


class Forwarder:
    """
    A worker's client for forwarding requests to other workers, used on its server's event loop.

    Args:
        tls: for workers that are reached by https; without, the system's certificates are trusted.
        transport: httpx's, for tests.
        trace: gives the trace context of the request that is sent on, if there is one.
    """

    def __init__(
        self,
        signature_algorithm: str = "HmacSHA256",
        transport: httpx.AsyncBaseTransport | None = None,
        tls: ssl.SSLContext | None = None,
        trace: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._trace = trace
        self._algorithm = signature_algorithm
        self._transport = transport
        self._tls = tls
        self._client: httpx.AsyncClient | None = None

    async def forward(
        self,
        url: str,
        method: str,
        target: str,
        body: bytes,
        authorization: str | None,
        timeout: float,
        key: SessionKey | None = None,
        if_match: str | None = None,
    ) -> Response | None:
        """
        Ask the worker at `url` and give its answer; None if the request did not get there, or was refused for now.

        `target` is the path with its query, as the caller sent it. With a `key`, the request is signed. ConflictError if
        it has made its two hops; ConnectError if nobody knows whether it was carried out.
        """
        path, _, query = target.partition("?")
        parameters = parse_qsl(query, keep_blank_values=True)
        hops = next((value.lower() for name, value in parameters if name == "forward"), None)
        if hops == "false":
            raise ConflictError(BUSY)
        sent_on = [(name, value) for name, value in parameters if name != "forward"]
        target = f"{path}?{urlencode([*sent_on, ('forward', _NEXT.get(hops, 'false'))])}"
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "kafka-connect"}
        if body:
            headers["Content-Type"] = "application/json"
        if authorization is not None:
            headers["Authorization"] = authorization
        if if_match is not None:
            headers["If-Match"] = if_match
        if (trace_context := self._trace()) is not None:
            headers["traceparent"] = trace_context
        if key is not None:
            headers.update(signature.sign(key, self._algorithm, signature.worker_at(url), method, target, body))
        limits = httpx.Timeout(timeout, connect=min(timeout, 5.0))
        sent = False

        async def trace(event: str, _: object) -> None:
            nonlocal sent
            sent = sent or event.endswith("send_request_headers.started")

        request = self._http().build_request(
            method,
            _base(url) + target,
            content=body or None,
            # As they came, in whatever bytes.
            headers=httpx.Headers(headers, encoding="latin-1"),
            timeout=limits,
            # As it was sent, and is signed: httpx would resolve "..", leave out what comes after a "#", and encode anew.
            extensions={"target": target.encode("latin-1"), "trace": trace},
        )
        try:
            answer = await asyncio.wait_for(self._answer(request), timeout)
        except asyncio.TimeoutError:
            if not sent:
                return None
            raise ConnectError(
                f"IO Error trying to forward REST request: the answer of {_base(url)} was not complete within {timeout:.0f} s"
            ) from None
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            problem = tls_errors.reason(error)
            if problem is not None:
                # To try again would not make a certificate trusted.
                raise ConnectError(f"IO Error trying to forward REST request: no TLS with {_base(url)}: {problem}") from error
            return None
        except httpx.HTTPError as error:
            # It may have been carried out, or not.
            raise ConnectError(f"IO Error trying to forward REST request: {error or type(error).__name__}") from error
        return _relayed(answer)

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        """Ask, and read the whole answer. Raise ConnectError if it is too long, or packed though nobody asked for that."""
        answer = await self._http().send(request, stream=True)
        try:
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise ConnectError(f"IO Error trying to forward REST request: {request.url.netloc.decode()} answers packed")
            content = bytearray()
            async for part in answer.aiter_raw():
                content += part
                if len(content) > MOST_BYTES:
                    raise ConnectError(
                        f"IO Error trying to forward REST request: {request.url.netloc.decode()} answers with more than "
                        f"{MOST_BYTES} bytes"
                    )
        finally:
            await answer.aclose()
        return httpx.Response(answer.status_code, headers=answer.headers, content=bytes(content))

    def _http(self) -> httpx.AsyncClient:
        if self._client is None:
            # Neither a proxy nor credentials of the environment: this is the cluster's own business.
            self._client = httpx.AsyncClient(
                trust_env=False,
                follow_redirects=False,
                transport=self._transport,
                verify=True if self._tls is None else self._tls,
            )
        return self._client


def _base(url: str) -> str:
    unusable = ConflictError(f"The worker that must answer advertises an address that can't be used: {url[:200]!r}")
    try:
        parts = urlsplit(url)
        base = f"{parts.scheme}://{parts.netloc}"
        httpx.URL(base)
    except (ValueError, httpx.InvalidURL):
        raise unusable from None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.path.strip("/"):
        raise unusable
    return base


def _relayed(answer: httpx.Response) -> Response | None:
    """The answer, with a Location and `READ_TO` as they came: `resource.py` makes them this worker's own."""
    if answer.status_code >= 400:
        error = _error(answer)
        if answer.status_code == 409 and error.get("message") == BUSY:
            return None
        response = Response(answer.content, answer.status_code, media_type="application/json")
        for challenge in answer.headers.get_list("www-authenticate"):
            response.headers.append("WWW-Authenticate", challenge)
        return response
    if answer.status_code not in (200, 201, 202, 204):
        raise ConnectError(f"Unexpected status code when handling forwarded request: {answer.status_code}")
    media_type = "application/json" if answer.content else None
    headers = {name: answer.headers[name] for name in ("location", READ_TO) if name in answer.headers}
    return Response(answer.content, answer.status_code, headers, media_type)


def _error(answer: httpx.Response) -> dict[str, object]:
    try:
        body = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        body = None
    if not isinstance(body, dict) or "message" not in body:
        raise ConnectError(f"Unexpected status code when handling forwarded request: {answer.status_code}")
    return body
