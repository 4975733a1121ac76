"""
The names in a bucket of S3, asked for without obstore, which lists nothing once one of them is none of its own.

Whoever may put one object into a bucket may call it `a//b`, `..` or with control characters, and obstore then can't list the
page that it is in. So its list is asked for here, by requests that are signed as S3 wants it, and such a name is passed over:
obstore signs addresses of objects only, and boto3 would come for this one request. It needs the key that the config, or the
hosts' environment, gives: what a machine gets from its cloud only obstore has. Called by `stores.py`. Read next: `listing.py`,
for the usual case.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import os
import re
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from xml.etree import ElementTree

import requests
from obstore import exceptions
from requests.adapters import HTTPAdapter

from kconnect import deadlines, normal_forms
from kconnect.connectors.interrupts import Kept

_MOST_BYTES = 16 * 1024 * 1024
"""Of a page: a thousand names of a kilobyte, with what is around them."""
_PIECE = 64 * 1024
_LONGEST_TEXT = 2000
_UNNAMEABLE = re.compile(r"(?:^|/)\.{0,2}(?:/|$)|[\x00-\x1f\x7f]")
_OTHER_NAMES = {"aws_endpoint_url": "aws_endpoint", "aws_default_region": "aws_region", "aws_token": "aws_session_token"}
_KEY, _SECRET, _TOKEN = "aws_access_key_id", "aws_secret_access_key", "aws_session_token"
_ON = ("true", "1", "yes", "on")


class Entry(NamedTuple):
    name: str
    modified: datetime.datetime


class Bucket:
    """
    A bucket, and the folder in it that is the store. `options` are those of obstore's store, and `client` of its client. Only
    `end` may be called from another thread.
    """

    def __init__(self, name: str, prefix: str, options: Mapping[str, Any], client: Mapping[str, Any], timeout_s: float) -> None:
        of_environment = {each.lower(): value for each, value in os.environ.items() if each.startswith("AWS_") and value}
        self._options: dict[str, Any] = {}
        for every in (of_environment, options):
            self._options |= {_OTHER_NAMES.get(each, each): value for each, value in every.items()}
        self._bucket, self._prefix = name, prefix.strip("/")
        self._timeout_s = timeout_s
        self._is_ended = False
        self._kept = Kept()
        self._session = requests.Session()
        self._session.trust_env = False
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, self._kept.watch(HTTPAdapter()))
        if client.get("proxy_url"):
            self._session.proxies = dict.fromkeys(("http", "https"), str(client["proxy_url"]))
        self._others = client.keys() & {"root_certificate", "proxy_ca_certificate", "proxy_excludes"}
        if _is_on(client.get("allow_invalid_certificates")):
            self._session.verify = False

    @property
    def can_ask(self) -> bool:
        """Whether there is a key, or none is needed, and nothing that only obstore knows."""
        has_login = _is_on(self._options.get("aws_skip_signature")) or all(map(self._options.get, (_KEY, _SECRET)))
        return bool(has_login and not self._others and not _is_on(self._options.get("aws_s3_express")))

    def end(self) -> None:
        """Have what is asked fail, now and from now on."""
        self._is_ended = True
        self._kept.shut_down()

    def names(
        self, folder: str, longest_s: float, stopped: Callable[[], bool], pass_over: Callable[[str], object]
    ) -> Iterator[Entry]:
        """
        Yield what there is in a folder, and in those in it, until `stopped` says so. `pass_over` is told of other names.
        GenericError if there is nothing new for `longest_s` seconds.
        """
        top = f"{self._prefix}/" if self._prefix else ""
        prefix = top + (f"{folder.strip('/')}/" if folder.strip("/") else "")
        token, heard_at = "", time.monotonic()
        while not stopped():
            page = self._page(prefix, token)
            found = 0
            for key, modified in _entries(page):
                name = key.removeprefix(top)
                if key.endswith("/"):
                    # A folder, as those have it who make them.
                    continue
                if not key.startswith(prefix) or _UNNAMEABLE.search(name):
                    pass_over(name)
                    continue
                found += 1
                yield Entry(name, modified)
            if found:
                heard_at = time.monotonic()
            token = _text(page, "NextContinuationToken")
            if _text(page, "IsTruncated") != "true" or not token:
                return
            if time.monotonic() - heard_at > longest_s:
                raise exceptions.GenericError(f"the store has listed nothing for {longest_s:g} s, and says that there is more")

    def _page(self, prefix: str, token: str) -> ElementTree.Element:
        query = {"list-type": "2", "prefix": prefix, "encoding-type": "url", **({"continuation-token": token} if token else {})}
        url = f"{self._address()}?{urllib.parse.urlencode(sorted(query.items()), quote_via=urllib.parse.quote, safe='')}"
        headers = {"Accept-Encoding": "identity"}
        if _is_on(self._options.get("aws_request_payer")):
            headers["x-amz-request-payer"] = "requester"
        if not _is_on(self._options.get("aws_skip_signature")):
            headers |= self._signature(url, headers)
        if self._is_ended:
            raise exceptions.GenericError("the task is to stop")
        timeouts = (min(self._timeout_s, 10.0), self._timeout_s)
        try:
            with (
                deadlines.within(self._timeout_s, self._kept.shut_down, lambda: requests.Timeout("it takes too long")),
                self._session.get(url, headers=headers, stream=True, timeout=timeouts, allow_redirects=False) as answer,
            ):
                data = _whole(answer)
        except requests.RequestException as error:
            text = "operation timed out" if isinstance(error, requests.Timeout) else "error sending request"
            raise exceptions.GenericError(text) from None
        if answer.status_code != 200:
            text = f"status code: {answer.status_code}: {data[:_LONGEST_TEXT].decode('utf-8', 'replace')}"
            kinds = {401: exceptions.UnauthenticatedError, 403: exceptions.PermissionDeniedError, 404: exceptions.NotFoundError}
            raise kinds.get(answer.status_code, exceptions.GenericError)(text)
        try:
            return parsed(data)
        except (ElementTree.ParseError, LookupError, ValueError):
            raise exceptions.GenericError("the store's list is none") from None

    def _address(self) -> str:
        """Return the address of the bucket, as obstore makes it."""
        endpoint, region = str(self._options.get("aws_endpoint") or "").rstrip("/"), self._region
        is_hosted = _is_on(self._options.get("aws_virtual_hosted_style_request"))
        if endpoint:
            return endpoint if is_hosted else f"{endpoint}/{self._bucket}"
        host = f"s3.{region}.amazonaws.com"
        return f"https://{self._bucket}.{host}/" if is_hosted else f"https://{host}/{self._bucket}"

    @property
    def _region(self) -> str:
        return str(self._options.get("aws_region") or "us-east-1")

    def _signature(self, url: str, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers that sign a request (AWS's signature 4)."""
        parts = normal_forms.split(url)
        now = datetime.datetime.now(datetime.timezone.utc)
        day, moment = now.strftime("%Y%m%d"), now.strftime("%Y%m%dT%H%M%SZ")
        nothing = hashlib.sha256(b"").hexdigest()
        own = {"x-amz-date": moment, "x-amz-content-sha256": nothing}
        if self._options.get(_TOKEN):
            own["x-amz-security-token"] = str(self._options[_TOKEN])
        signed = {"host": parts.netloc, **{name: headers[name] for name in headers if name.startswith("x-amz-")}, **own}
        names = ";".join(sorted(signed))
        lines = "".join(f"{name}:{signed[name].strip()}\n" for name in sorted(signed))
        request = "\n".join(("GET", parts.path or "/", parts.query, lines, names, nothing))
        scope = f"{day}/{self._region}/s3/aws4_request"
        text = "\n".join(("AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(request.encode()).hexdigest()))
        key = f"AWS4{self._options[_SECRET]}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        login = f"Credential={self._options[_KEY]}/{scope}, SignedHeaders={names}, Signature={signature}"
        return {**own, "Authorization": f"AWS4-HMAC-SHA256 {login}"}


class _Plain(ElementTree.TreeBuilder):
    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise ElementTree.ParseError("it declares its own type")


def parsed(data: bytes) -> ElementTree.Element:
    """
    Return the root of a document in XML. ParseError for one that is none, or that has a DTD: no store's answer does, and what
    it defines may become a hundred times as much.
    """
    return ElementTree.fromstring(data, ElementTree.XMLParser(target=_Plain()))


def _whole(answer: requests.Response) -> bytes:
    data = bytearray()
    for piece in answer.iter_content(_PIECE):
        data += piece
        if len(data) > _MOST_BYTES:
            raise exceptions.GenericError(f"a page of its list has more than {_MOST_BYTES} bytes")
    return bytes(data)


def _entries(page: ElementTree.Element) -> Iterator[tuple[str, datetime.datetime]]:
    """Yield the keys of a page, each with its time; that of one that has none is 1970."""
    is_quoted = _text(page, "EncodingType") == "url"
    for entry in page:
        if _local(entry) != "Contents":
            continue
        key = _text(entry, "Key")
        try:
            modified = datetime.datetime.fromisoformat(_text(entry, "LastModified").replace("Z", "+00:00"))
        except ValueError:
            modified = datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
        aware = modified if modified.tzinfo else modified.replace(tzinfo=datetime.timezone.utc)
        yield urllib.parse.unquote_plus(key) if is_quoted else key, aware


def _text(element: ElementTree.Element, name: str) -> str:
    """Return the text of a child; servers differ in whether it has a namespace."""
    return next((child.text or "" for child in element if _local(child) == name), "")


def _local(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _is_on(value: Any) -> bool:
    return str(value if value is not None else "").strip().lower() in _ON
