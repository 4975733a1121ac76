"""
The thin layer around kopf: watches the resources, has each looked at by `reconciling.py`, and writes what that returns.

Each resource has a loop of its own (kopf's timer), which an event only wakes: so what is lost of events comes with the next
round. Run by `operator.py`. kopf adds and takes away the finalizer, and stops the loop of a resource that is being deleted.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

import httpx
import kopf
import yaml

from kconnect.cli import terminal
from kconnect.cli.connection import Target
from kconnect.cli.operator import resource as resources
from kconnect.cli.operator.decision import SOON_S
from kconnect.cli.operator.reconciling import Result, reconcile
from kconnect.cli.operator.resource import CLUSTER_LABELS, FINALIZER, GROUP, Resource
from kconnect.errors import ConnectError, ForbiddenError, NotFoundError, UnavailableError
from kconnect.rest.client import ConnectClient, RestError

_ANSWER_S = 95.0
"""As the client's own: to check a config may take a worker long."""
_CHECK_S = 30.0
_UNSEEN_S = 120.0
"""A list of one namespace comes so much later than the first events, if ever."""
_PAGE = 500
"""So many resources are in a list at once, as kubectl asks for them."""
_OWN_WRITE_S = 5.0
"""How long a round waits until what the one before has written comes back: else it would do the same again."""

_log = logging.getLogger("kconnect.operator")


class Options(NamedTuple):
    """The command line's choices. No `namespaces` are all; `interval` is in seconds; `port` is that of /healthz."""

    namespaces: tuple[str, ...]
    cluster: str | None
    strimzi: bool
    interval: float
    port: int | None


def run(target: Target, options: Options) -> None:
    """Run the operator until SIGTERM or Ctrl-C. Raise ConnectError if there is no Kubernetes, or one without the resource."""
    settings = kopf.OperatorSettings()
    connection = _login(settings=settings)
    _check(connection)
    _configure(settings)
    with target.connect(_ANSWER_S) as client:
        registry = kopf.OperatorRegistry()
        handlers = _Handlers(client, options)
        # Before any resource is looked at: the list of one namespace comes later than that of another, and whose connector a
        # deleted resource of the one takes along would not be known yet.
        handlers.know(_listed(connection, options))
        handlers.register(registry)
        try:
            client.root()
        except RestError as error:
            # It may come up later. Each resource says so, too.
            _log.warning("%s", error)
        _log.info("Watching %s for the worker at %s", ", ".join(options.namespaces) or "all namespaces", client.url)
        try:
            kopf.run(
                registry=registry,
                settings=settings,
                standalone=True,
                namespaces=options.namespaces,
                clusterwide=not options.namespaces,
                liveness_endpoint=None if options.port is None else f"http://0.0.0.0:{options.port}/healthz",
            )
        except Exception as error:
            # kopf has no public name for these. It has tried for a minute; who started this one does so again.
            if not type(error).__module__.startswith(("kopf.", "aiohttp.")):
                raise
            raise UnavailableError(f"The API server of Kubernetes does not answer, or refuses a request ({error})") from error


class _NothingStored(kopf.DiffBaseStorage):
    """kopf would keep a copy of the resource in an annotation, to tell what has changed. Nobody here asks that."""

    def fetch(self, *, body: kopf.Body) -> None:
        return None

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: Any) -> None:
        pass


class _Handlers:
    """The handlers of a cluster's resources."""

    def __init__(self, client: ConnectClient, options: Options) -> None:
        self._client, self._options = client, options
        self._rivals = Rivals()

    def register(self, registry: kopf.OperatorRegistry) -> None:
        kinds = [(resources.GROUP, resources.PLURAL)]
        if self._options.strimzi:
            kinds.append((resources.STRIMZI_GROUP, resources.STRIMZI_PLURAL))
        kopf.on.login(registry=registry)(_login)
        for kind in kinds:
            kopf.on.event(*kind, registry=registry)(self._wake)
            kopf.on.timer(*kind, registry=registry, when=self._is_meant, interval=0.05, id="keep")(self._keep)
            kopf.on.delete(*kind, registry=registry, when=self._is_meant, id="end")(self._end)

    def know(self, bodies: Iterable[Mapping[str, Any]]) -> None:
        """Note what resources there are."""
        for body in bodies:
            if self._is_meant(body["metadata"].get("labels") or {}):
                self._rivals.foretell(body)

    def _is_meant(self, labels: Mapping[str, str], **_: Any) -> bool:
        cluster = self._options.cluster
        return cluster is None or any(labels.get(label) == cluster for label in CLUSTER_LABELS)

    async def _wake(self, event: Any, body: kopf.Body, memo: kopf.Memo, labels: Mapping[str, str], **_: Any) -> None:
        """Have a resource looked at now if it is another one than at the last look, but for what the operator writes itself."""
        # One that has lost its label is another operator's.
        self._rivals.note(_plain(body), is_gone=event["type"] == "DELETED" or not self._is_meant(labels))
        version = (body.metadata.get("generation"), dict(body.metadata.annotations), body.metadata.get("deletionTimestamp"))
        if memo.get("seen") != version:
            memo["seen"] = version
            _woken(memo).set()
        _changed(memo).set()

    async def _keep(self, body: kopf.Body, memo: Any, patch: kopf.Patch, **others: Any) -> None:
        # kopf's types leave it out for timers, which have it all the same.
        stopped = others["stopped"]
        await _first((_woken(memo).wait(), stopped.wait()), memo.get("delay", 0.0))
        written = memo.get("written")
        if written is not None and body.metadata.get("resourceVersion") == written:
            _changed(memo).clear()
            if body.metadata.get("resourceVersion") == written:
                await _first((_changed(memo).wait(), stopped.wait()), _OWN_WRITE_S)
        memo["written"] = None
        if stopped:
            return
        _woken(memo).clear()
        result = await self._look(body, memo, patch)
        memo["delay"] = SOON_S if result.soon else self._options.interval

    async def _end(self, body: kopf.Body, memo: kopf.Memo, patch: kopf.Patch, **_: Any) -> None:
        result = await self._look(body, memo, patch)
        if not result.released:
            raise kopf.TemporaryError(result.message, delay=SOON_S if result.soon else min(self._options.interval, 10.0))

    async def _look(self, body: kopf.Body, memo: kopf.Memo, patch: kopf.Patch) -> Result:
        lock = memo.setdefault("lock", threading.Lock())

        def look() -> tuple[dict[str, Any], Result]:
            # A resource that is deleted while its loop waits for the worker is looked at by two threads otherwise. What it says
            # is read within: the loop must not create again what the deletion before it has deleted.
            with lock:
                raw = _plain(body)
                return raw, reconcile(self._client, raw, self._rivals.of, datetime.now(timezone.utc))

        raw, result = await asyncio.to_thread(look)
        if result.status is not None:
            before = raw.get("status") or {}
            after = {**result.status, **dict.fromkeys(result.removed)}
            patch.status.update(merge_patch(before, after))
        if result.annotations and not result.released:
            patch.metadata.annotations.update(result.annotations)
        if result.status is not None or result.annotations:
            memo["written"] = raw["metadata"].get("resourceVersion")
        for event in result.events:
            place = f"{raw['metadata'].get('namespace')}/{raw['metadata']['name']}"
            _log.log(
                logging.WARNING if event.type == "Warning" else logging.INFO, "%s: %s: %s", place, event.reason, event.message
            )
            kopf.event(body, type=event.type, reason=event.reason, message=event.message)
        return result


class Rivals:
    """The resources that are known, by uid: which of them have the same connector. Several threads ask."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, Resource]] = {}
        self._unseen: dict[str, float] = {}
        """A resource of which no event has told yet counts until this time, by its uid."""
        self._lock = threading.Lock()

    def foretell(self, body: Mapping[str, Any]) -> None:
        """Note one that is in a list. If no event tells of it, it was deleted meanwhile, and is forgotten after a while."""
        self.note(body)
        with self._lock:
            self._unseen[body["metadata"]["uid"]] = time.monotonic() + _UNSEEN_S

    def note(self, body: Mapping[str, Any], is_gone: bool = False) -> None:
        uid = body["metadata"]["uid"]
        with self._lock:
            self._unseen.pop(uid, None)
            if is_gone:
                self._known.pop(uid, None)
            else:
                self._known[uid] = (str(body["metadata"].get("creationTimestamp")), resources.read(body))

    def of(self, resource: Resource) -> str | None:
        """
        Return the place of another resource that has the connector of this one. Of two that say so of themselves, the older one
        has it.
        """
        with self._lock:
            age = self._known.get(resource.uid, ("", resource))[0]
            for rival_age, rival in self._known.values():
                if rival.uid == resource.uid or rival.connector != resource.connector or rival.owner is None:
                    continue
                if self._unseen.get(rival.uid, math.inf) < time.monotonic():
                    continue
                if resource.owner is None or (rival_age, rival.uid) < (age, resource.uid):
                    return rival.place
        return None


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch (RFC 7386) that makes one object of another; None in `after` removes a field."""
    patch: dict[str, Any] = {}
    for key, value in after.items():
        if isinstance(value, Mapping) and isinstance(before.get(key), Mapping):
            removed = dict.fromkeys(name for name in before[key] if name not in value)
            if inner := merge_patch(before[key], {**value, **removed}):
                patch[key] = inner
        elif before.get(key) != value:
            patch[key] = value
    return patch


def _configure(settings: kopf.OperatorSettings) -> None:
    settings.persistence.finalizer = FINALIZER
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=f"operator.{GROUP}")
    settings.persistence.diffbase_storage = _NothingStored()
    # With only what a role in a namespace allows: neither resources nor namespaces are looked for in the cluster.
    settings.scanning.disabled = True
    settings.background.cancellation_polling = 1.0
    settings.posting.reporting_component = "kconnect-operator"
    settings.posting.event_name_prefix = "kconnect-"
    # One that died unseen would be waited at for ever. The API server takes whole numbers only.
    settings.watching.server_timeout = 300
    terminal.log_to_stderr("%(asctime)s %(levelname)s %(message)s", again=True)
    _log.setLevel(logging.INFO)


def _login(settings: kopf.OperatorSettings, **_: Any) -> kopf.ConnectionInfo | None:
    try:
        return kopf.login_with_service_account(settings=settings) or kopf.login_with_kubeconfig(settings=settings)
    except OSError as error:
        raise UnavailableError(f"The kubeconfig {error.filename} can't be read ({error.strerror})") from None
    except (kopf.LoginError, yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise UnavailableError(f"The kubeconfig can't be used ({reason}). Check what KUBECONFIG names") from None


def _listed(connection: kopf.ConnectionInfo | None, options: Options) -> Iterator[dict[str, Any]]:
    """Yield all resources that are there. Raise ConnectError if the API server does not give them."""
    assert connection is not None, "it was checked"
    verify = connection.as_ssl_context() if connection.server.lower().startswith("https:") else False
    with httpx.Client(
        base_url=connection.server.rstrip("/"), verify=verify, headers=connection.as_http_headers(), timeout=_CHECK_S
    ) as client:
        try:
            kinds = [(resources.GROUP, resources.VERSION, resources.PLURAL)]
            if options.strimzi:
                group = client.get(f"/apis/{resources.STRIMZI_GROUP}")
                if group.status_code != 404:
                    version = group.raise_for_status().json()["preferredVersion"]["version"]
                    kinds.append((resources.STRIMZI_GROUP, version, resources.STRIMZI_PLURAL))
            for group_name, version, plural in kinds:
                for place in [f"/namespaces/{name}" for name in options.namespaces] or [""]:
                    yield from _pages(client, f"/apis/{group_name}/{version}{place}/{plural}")
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            raise UnavailableError(f"The API server at {connection.server} gives no list of the resources ({error})") from error


def _pages(client: httpx.Client, path: str) -> Iterator[dict[str, Any]]:
    more = ""
    while True:
        answer = client.get(path, params={"limit": _PAGE, **({"continue": more} if more else {})})
        if answer.status_code == 410 and more:
            # It has taken too long: from the beginning, which notes some of them twice.
            more = ""
            continue
        page = answer.raise_for_status().json()
        kind = str(page.get("kind", "")).removesuffix("List")
        # Lists leave out what their items are.
        yield from ({"kind": kind, **item} for item in page.get("items") or ())
        more = (page.get("metadata") or {}).get("continue") or ""
        if not more:
            return


def _check(connection: kopf.ConnectionInfo | None) -> None:
    """Raise ConnectError, which says what to do, if the operator could only wait for what nobody has installed."""
    if connection is None:
        raise UnavailableError(
            "No Kubernetes cluster was found: this is no pod with a service account, and there is no kubeconfig. Name one in "
            "KUBECONFIG"
        )
    path = f"/apis/{GROUP}/{resources.VERSION}"
    is_https = connection.server.lower().startswith("https:")
    try:
        verify = connection.as_ssl_context() if is_https else False
        answer = httpx.get(
            connection.server.rstrip("/") + path, headers=connection.as_http_headers(), verify=verify, timeout=_CHECK_S
        )
    except (httpx.HTTPError, OSError, ValueError) as error:
        raise UnavailableError(f"No API server of Kubernetes answers at {connection.server} ({error})") from None
    if answer.status_code == 404:
        raise NotFoundError(
            f"The cluster at {connection.server} has no resource {resources.PLURAL}.{GROUP}: "
            "`kconnect operator --crd` prints it, for kubectl apply"
        )
    if answer.status_code in (401, 403):
        raise ForbiddenError(f"The cluster at {connection.server} lets this account read nothing (HTTP {answer.status_code})")
    if answer.status_code != 200:
        raise ConnectError(f"{connection.server} is no API server of Kubernetes (HTTP {answer.status_code})")


def _plain(body: kopf.Body) -> dict[str, Any]:
    # The loop may replace what it has meanwhile.
    return {key: body.get(key) for key in body}


def _woken(memo: kopf.Memo) -> asyncio.Event:
    event: asyncio.Event = memo.setdefault("woken", asyncio.Event())
    return event


def _changed(memo: kopf.Memo) -> asyncio.Event:
    event: asyncio.Event = memo.setdefault("changed", asyncio.Event())
    return event


async def _first(waits: Collection[Any], timeout: float) -> None:
    """Wait until the first of these is there, for at most `timeout` seconds."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
