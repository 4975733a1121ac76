"""
Answers of Glue and DynamoDB, read within limits of size and time.

boto3 reads answers whole, whatever they become, and waits for each part of one anew. The clients of a catalog get what sends
their requests from here. Called by `catalogs.py`. Read next: `answers.py`, for catalogs in REST.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import urllib3

from kconnect import deadlines
from kconnect.connectors.iceberg import answers, ends
from kconnect.connectors.interrupts import Kept

KINDS = ("glue", "dynamodb")
SESSION = "botocore_session"
"""The property by which pyiceberg takes a session of botocore's."""
_PIECE = 64 * 1024


def session() -> Any:
    """Return a session of botocore's, all of whose clients read answers within limits. ImportError if it is not installed."""
    import botocore.session

    made = botocore.session.Session()
    made.register("creating-client-class", _add)
    return made


def _add(class_attributes: dict[str, Any], base_classes: list[type], **_: Any) -> None:
    class Limited:
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            _Bounded(self._endpoint.http_session)  # type: ignore[attr-defined]

    base_classes.insert(0, Limited)


class _Bounded:
    """A sender of a client's requests. It raises OSError of its own, which botocore does not try again by itself."""

    def __init__(self, http_session: Any) -> None:
        self._kept = Kept()
        self._is_ended = False
        self._send = http_session.send
        by_proxy = http_session._get_proxy_manager
        self._kept.watched(http_session._manager)
        http_session._get_proxy_manager = lambda url: self._kept.watched(by_proxy(url))
        http_session.send = self.send
        ends.note(self)

    def send(self, request: Any) -> Any:
        if self._is_ended:
            raise OSError("the task is to stop")
        # Else all of it is read at once.
        request.stream_output = True
        # The time is also that of the head, and of what is between the parts of a body.
        with deadlines.within(answers.WHOLE_S, self._kept.shut_down, _late):
            answer = self._send(request)
            try:
                answer._content = b"".join(_pieces(answer))
            except urllib3.exceptions.HTTPError as error:
                raise OSError(f"an answer of the catalog broke off: {error}") from None
            finally:
                answer.raw.close()
        return answer

    def end(self) -> None:
        self._is_ended = True
        self._kept.shut_down()


def _late() -> Exception:
    return TimeoutError(f"an answer of the catalog takes longer than {answers.WHOLE_S:g} s")


def _pieces(answer: Any) -> Iterator[bytes]:
    size = 0
    for piece in answer.raw.stream(_PIECE):
        size += len(piece)
        if size > answers.MOST_BYTES:
            raise OSError(f"an answer of the catalog has more than {answers.MOST_BYTES} bytes")
        yield piece
