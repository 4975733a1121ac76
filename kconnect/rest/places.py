"""
How many requests a server answers at once, shared out among its callers, so that nobody keeps the others out.

`resource.py` takes a place for each request once it knows who is calling: a user with a role or, where there is no login, an
address. Reads and changes have places of their own, and `/health` needs none. A long poll (`own.py`) holds a place of a read,
and gives way when places are short: it is answered at once, with what there is. Work that takes a process of its own waits in
`errands.py`. Nothing here waits. Read next: `connections.py`, which bounds what callers may keep open.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from starlette.requests import HTTPConnection

from kconnect.rest.notes import noted

_READS = 1024
_OF_EVERY_CALLER = 8
"""So many places a caller has in any case, however many others there are."""


class NoPlaceError(Exception):
    """The caller, or all of them together, have as many requests under way as there may be."""


class Places:
    """
    The places of one server, on its event loop.

    Args:
        connections: how many connections the server has; reads take at most half of them, and changes a quarter.
    """

    def __init__(self, connections: int = 2 * _READS) -> None:
        self._reads = _Share(min(_READS, max(1, connections // 2)))
        self._changes = _Share(max(1, self._reads.most // 2))
        self._polls: dict[Hashable, dict[asyncio.Future[None], None]] = {}
        """Of each caller, in the order in which they began."""
        self._most_polls = max(1, self._reads.most // 2)

    @contextmanager
    def take(self, caller: Hashable, changes: bool) -> Iterator[None]:
        """Hold a place for one request. Raise NoPlaceError if there is none, and no long poll that could give way."""
        share = self._changes if changes else self._reads
        while not share.has_room(caller):
            is_own_fault = share.is_spent_by(caller)
            if changes or not self._let_one_go(caller if is_own_fault else self._greediest()):
                raise NoPlaceError
        share.take(caller)
        try:
            yield
        finally:
            share.give_back(caller)

    @contextmanager
    def poll(self, caller: Hashable) -> Iterator[asyncio.Future[None]]:
        """Hold a long poll, within a place that is taken. It must be answered once the future is done."""
        if len(self._polls.get(caller, ())) >= max(1, self._most_polls // 2):
            self._let_one_go(caller)
        elif sum(map(len, self._polls.values())) >= self._most_polls:
            self._let_one_go(self._greediest())
        gives_way: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._polls.setdefault(caller, {})[gives_way] = None
        try:
            yield gives_way
        finally:
            if self._forget(caller, gives_way):
                # It ended by itself.
                pass
            else:
                # Its place was given to somebody when it gave way.
                self._reads.take(caller)

    def _greediest(self) -> Hashable:
        return max(self._polls, key=lambda caller: len(self._polls[caller]), default=None)

    def _let_one_go(self, caller: Hashable) -> bool:
        """Have the caller's oldest long poll answered. Its place is free at once: it takes a moment only."""
        gives_way = next(iter(self._polls.get(caller, ())), None)
        if gives_way is None:
            return False
        self._forget(caller, gives_way)
        self._reads.give_back(caller)
        gives_way.set_result(None)
        return True

    def _forget(self, caller: Hashable, gives_way: asyncio.Future[None]) -> bool:
        polls = self._polls.get(caller, {})
        if gives_way not in polls:
            return False
        del polls[gives_way]
        if not polls:
            del self._polls[caller]
        return True


class _Share:
    """Places of one kind: half of them for one caller at most."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._a_caller = max(1, most // 2)
        self._taken: Counter[Hashable] = Counter()

    def has_room(self, caller: Hashable) -> bool:
        return not self.is_spent_by(caller) and (
            self._taken.total() < self.most or self._taken[caller] < min(_OF_EVERY_CALLER, self._a_caller)
        )

    def is_spent_by(self, caller: Hashable) -> bool:
        return self._taken[caller] >= self._a_caller

    def take(self, caller: Hashable) -> None:
        self._taken[caller] += 1

    def give_back(self, caller: Hashable) -> None:
        self._taken[caller] -= 1
        if self._taken[caller] <= 0:
            del self._taken[caller]


def caller_of(http: HTTPConnection) -> Hashable:
    """Return who a request counts for: the user with the role, or else the address."""
    notes = noted(http.scope)
    if "user" in notes:
        return notes["user"], notes.get("role")
    return _network(http.client.host if http.client is not None else "")


@functools.lru_cache(maxsize=4096)
def _network(address: str) -> str:
    """The address; of IPv6 what one machine has as a rule, which has more addresses than could be counted."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False))
