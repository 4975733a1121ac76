"""
The one doorway to the herder: a thread that feeds it events and performs its effects, in order.

Everybody else submits and waits: REST by `submit`, the log's reader and the group's member by `post`. Slow work (writes,
the sandbox, the admin client) is done by a few threads of its own, and its outcome comes back as an event: by which is said
where it is performed, mostly in `world.py`. Built by `main.py`. Read next: `core/herder/herder.py`.
"""

from __future__ import annotations

import itertools
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol, TypeVar

from kconnect.core.cluster.silence import Absences, Host, Silence, silent_after_s
from kconnect.core.herder import effects, events
from kconnect.core.herder.effects import Effect
from kconnect.core.herder.herder import Herder
from kconnect.core.herder.performing import Lane, performers, performs
from kconnect.core.herder.request import Request
from kconnect.core.settings import lent_logins
from kconnect.core.state.assignment_records import Held
from kconnect.worker.shared_threads import Owner, SharedThreads
from kconnect.worker.writing import Writing

log = logging.getLogger(__name__)

T = TypeVar("T")

_TICK_S, _QUIET_TICK_S, _QUIET_S = 0.1, 0.5, 3.0
"""How often the herder gets to see the time, and how often once nothing has happened for so many seconds."""
_READ_S = 0.1
"""A read is begun at least as often, however much else there is to do."""
_PROBE_MS = 500
_THREADS = {Lane.GROUP: 4, Lane.ASK: 8, Lane.PLUGIN: 64, Lane.SHOW: 3}
"""Pools only keep slow answers from each other. Plugins: enough for each to have its limit from the start."""
_SHARED = {Lane.CLIENT: 16, Lane.LOOK: 8, Lane.FENCE: 16}
"""Threads that connectors share: what only their configs name may not answer at all."""


class Outside(Protocol):
    """The performer of what the loop does not do itself: `world.py`, and tests. Beside its performers it has these."""

    def members(self) -> tuple[dict[str, str], str | None, str | None]:
        """The fields of `events.Members`; may block."""
        ...

    def is_dead(self, held: Held) -> bool: ...

    def silences(self) -> Mapping[Host, Silence]:
        """Return which hosts, of any worker, do not run what they have. Must not block."""
        ...


class Traces(Protocol):
    """Who follows requests through the loop, if telemetry is on: `telemetry/requests.py`. No call blocks, or fails."""

    def asked(self, ticket: int) -> None:
        """A request is submitted. Called by who submits it, in the context of its trace."""
        ...

    def begun(self, effect: Effect[Any]) -> Effect[Any]:
        """Return the effect as it is to be performed, which is asked for by a request."""
        ...

    def ended(self, id: int, error: Exception | None) -> None:
        """An effect with that id has ended. From any thread."""
        ...

    def settled(self, ticket: int) -> None:
        """The request is answered, or nobody waits for it any more."""
        ...


class Loop:
    def __init__(self, herder: Herder, outside: Outside, traces: Traces | None = None) -> None:
        self._herder = herder
        self._traces = traces
        self._outside = outside
        self._events: queue.SimpleQueue[events.Event | _Look | None] = queue.SimpleQueue()
        self._reads: deque[events.Requested] = deque()
        """Requests that look. One is begun when nothing else is to be done: neither changes nor `/health` wait for many."""
        self._read_at = 0.0
        self._tickets = itertools.count(1)
        self._waiting: dict[int, Future[Any]] = {}
        self._performers = performers(self, outside)
        self._writing = Writing(lambda effect: self._performers[type(effect)].perform(effect), self.post)
        self._pools = {lane: ThreadPoolExecutor(size, lane.name.lower()) for lane, size in _THREADS.items()}
        self._shared = {lane: SharedThreads(size, lane.name.lower()) for lane, size in _SHARED.items()}
        self._thread = threading.Thread(target=self._run, name="loop", daemon=True)
        self._probed_at = 0
        silent_s = silent_after_s(herder.desk.identity.session_timeout_ms)
        self._unread_ms, self._absences = 1000 * silent_s, Absences(silent_s)
        self.log_seen_at: int | None = None
        """Up to when the log has been read, in milliseconds of the monotonic clock. Set by who reads it, from its thread."""
        self.released = threading.Event()
        """Set once nothing of this worker runs any more, after a `ShutDown`."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the loop's threads; whoever still waits is refused."""
        self._events.put(None)
        self._thread.join(5)
        self._writing.close()
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
        for threads in self._shared.values():
            threads.close()

    def post(self, event: events.Event) -> None:
        if self._traces is not None and isinstance(event, events.Done | events.Failed):
            self._traces.ended(event.id, event.error if isinstance(event, events.Failed) else None)
        self._events.put(event)

    def submit(self, request: Request[T]) -> Future[T]:
        """
        Ask the herder. The future gives the answer, mostly JSON data, or raises one of `kconnect.errors`.

        Cancelling it tells the herder that nobody waits any more. Thread-safe.
        """
        ticket = next(self._tickets)
        future: Future[T] = Future()
        self._waiting[ticket] = future
        if self._traces is not None:
            self._traces.asked(ticket)
        future.add_done_callback(lambda done: self.post(events.Cancelled(ticket)) if done.cancelled() else None)
        requested = events.Requested(ticket, request)
        if request.writes or request.hurries or not request.waits:
            self.post(requested)
        else:
            self._reads.append(requested)
            self._events.put(_LOOK)
        return future

    def _next(self, timeout: float) -> events.Event | None:
        """Return what is to be done next; None at the end."""
        end = time.monotonic() + timeout
        while True:
            if self._reads and (self._events.empty() or time.monotonic() - self._read_at >= _READ_S):
                requested = self._reads.popleft()
                if requested.ticket in self._waiting:
                    self._read_at = time.monotonic()
                    return requested
                continue
            try:
                event = self._events.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                return events.Tick()
            if not isinstance(event, _Look):
                return event

    def _run(self) -> None:
        busy_at = time.monotonic()
        while True:
            quiet = time.monotonic() - busy_at > _QUIET_S
            event = self._next(_QUIET_TICK_S if quiet else _TICK_S)
            if event is None:
                break
            if not isinstance(event, (events.Tick, events.Members)):
                busy_at = time.monotonic()
            if isinstance(event, events.Cancelled):
                self._waiting.pop(event.ticket, None)
                if self._traces is not None:
                    self._traces.settled(event.ticket)
            try:
                for effect in self._herder.handle(event, _now()):
                    self._perform(effect)
            except Exception:
                # The event is lost, the worker must live: what it decides, it decides from the log, anew each time.
                log.exception("The herder failed on %s", type(event).__name__)
            self._probe()
        for future in list(self._waiting.values()):
            if future.set_running_or_notify_cancel():
                future.set_exception(ConnectionError("Worker is shutting down"))

    def _perform(self, effect: Effect[Any]) -> None:
        if self._traces is not None and effect.ticket:
            effect = self._traces.begun(effect)
        lane, perform = self._performers[type(effect)]
        if lane is Lane.AT_ONCE:
            result = perform(effect)
            if effect.id:
                self.post(events.Done(effect.id, result))
        elif lane is Lane.WRITE:
            self._writing.put(effect)
        elif lane in self._shared:
            self._shared[lane].submit(_owner(effect), partial(self._later, effect, perform), partial(self._is_wanted, effect))
        else:
            self._pools[lane].submit(self._later, effect, perform)

    def _is_wanted(self, effect: Effect[Any]) -> bool:
        """Whether the request that asks for it, if one does, still waits. If not, its procedure has ended and hears nothing."""
        return not effect.ticket or effect.ticket in self._waiting

    def _later(self, effect: Effect[Any], perform: Callable[[Any], Any]) -> None:
        try:
            result = perform(effect)
            if effect.id:
                self.post(events.Done(effect.id, result))
        except Exception as error:  # noqa: BLE001 - the herder decides what a failure means
            self.post(events.Failed(effect.id, error))

    @performs(effects.FindMembers, Lane.GROUP)
    def _find_members(self, effect: effects.FindMembers) -> None:
        try:
            self.post(events.Members(*self._outside.members()))
        except Exception as error:  # noqa: BLE001 - asked again in a moment
            log.warning("The members of the group could not be read: %s", error)

    @performs(effects.Reply, Lane.AT_ONCE)
    def _reply(self, effect: effects.Reply) -> None:
        self._settle(effect.ticket, lambda future: future.set_result(effect.value))

    @performs(effects.Refuse, Lane.AT_ONCE)
    def _refuse(self, effect: effects.Refuse) -> None:
        self._settle(effect.ticket, lambda future: future.set_exception(effect.error))

    @performs(effects.Log, Lane.AT_ONCE)
    def _log(self, effect: effects.Log) -> None:
        log.log(logging.getLevelName(effect.level), "%s", effect.message)

    @performs(effects.Bye, Lane.AT_ONCE)
    def _bye(self, effect: effects.Bye) -> None:
        self.released.set()

    def _settle(self, ticket: int, how: Callable[[Future[Any]], None]) -> None:
        if self._traces is not None:
            self._traces.settled(ticket)
        future = self._waiting.pop(ticket, None)
        if future is not None and future.set_running_or_notify_cancel():
            how(future)

    def _probe(self) -> None:
        """See which hosts of this worker, and of workers that left the group, are dead on this machine."""
        now = _now()
        if now - self._probed_at < _PROBE_MS and self._probed_at:
            return
        self._probed_at = now
        herder, me = self._herder, self._herder.desk.me
        if not herder.desk.started:
            self._probed_at = 0
            return
        old = [
            held
            for held in herder.log.assignment.held.values()
            if held.worker == me or (herder.desk.leads and held.worker not in herder.desk.members)
        ]
        self._probe_silence(now)
        dead = frozenset((held.worker, held.host, held.incarnation) for held in old if self._outside.is_dead(held))
        if dead != herder.desk.dead_hosts:
            self.post(events.HostsDead(dead))

    def _probe_silence(self, now: int) -> None:
        desk, held = self._herder.desk, self._herder.log.assignment.held
        # Of hosts that have ended since nobody wants to hear any more.
        existing = {(worker, number, host.incarnation) for (worker, number), host in held.items()}
        silences = {host: silence for host, silence in self._outside.silences().items() if host in existing}
        unread = self.log_seen_at is not None and now - self.log_seen_at > self._unread_ms
        unread_since = self.log_seen_at if unread else None
        assigned = [assignment.units or frozenset() for assignment in self._herder.log.assignment.assignments.values()]
        absent = self._absences.late(assigned, [host.units or frozenset() for host in held.values()], now)
        known = (desk.silent_hosts, desk.unread_since is None, desk.absent)
        if (silences, unread_since is None, absent) != known:
            self.post(events.HostsSilent(silences, unread_since, absent))


class _Look:
    """Wakes the loop for what is in `_reads`."""


_LOOK = _Look()


def _owner(effect: Effect[Any]) -> Owner:
    """Return the connector that an effect is for, if it is for one, and whether the brokers to ask may be its own."""
    return Owner(getattr(effect, "connector", None), lent_logins.names_brokers(getattr(effect, "config", ())))


def _now() -> int:
    return int(time.monotonic() * 1000)
