"""
A TCP proxy on loopback whose link can be cut, stopped or slowed down: a partition between two processes of one machine.

`Proxy` listens on one port and connects to another; the chaos runs (`chaos/cluster.py`) put one between each worker and the
broker, and one before each worker's REST. `broker_behind` makes a broker that clients can't go round. Read next:
`chaos/faults.py`.
"""

from __future__ import annotations

import asyncio
import enum
import threading
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol

from kconnect.local.broker import Broker, free_port

_BLOCK = 64 * 1024
_DELAY_S, _LOOK_S = 0.1, 0.02
_BYTES_PER_S = 3_000_000 / 8


class Ports(Protocol):
    """What every proxy has: where it listens, and where it connects to."""

    port: int
    target_port: int


def broker_behind(proxies: Sequence[Ports], directory: Path) -> Broker:
    """
    With a listener of its own for each proxy, which is advertised at the proxy: clients go where a broker sends them, so a
    proxy before the one listener would be left at once. `bootstrap_servers` is past all of them.
    """
    port, controller = free_port(), free_port()
    names = {f"P{number}": proxy for number, proxy in enumerate(proxies, 1)}
    own = f"PLAINTEXT://127.0.0.1:{port}"
    real = [f"{name}://127.0.0.1:{proxy.target_port}" for name, proxy in names.items()]
    shown = [f"{name}://127.0.0.1:{proxy.port}" for name, proxy in names.items()]
    protocols = ["PLAINTEXT:PLAINTEXT", "CONTROLLER:PLAINTEXT", *(f"{name}:PLAINTEXT" for name in names)]
    properties = {
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": ",".join([own, *real, f"CONTROLLER://127.0.0.1:{controller}"]),
        "advertised.listeners": ",".join([own, *shown]),
        "listener.security.protocol.map": ",".join(protocols),
    }
    return Broker(directory, port, properties)


class Link(enum.Enum):
    """What becomes of bytes. "There" is from who connects to who listens, "back" the other way."""

    OPEN = "open"
    CUT = "cut: connections are closed, new ones refused"
    HALF_OPEN = "half-open: connections are accepted, and whatever is sent is swallowed"
    ONLY_THERE = "one way: what comes back is swallowed"
    ONLY_BACK = "one way: what goes there is swallowed"
    LATE = "late: what comes back waits until the link is open again"
    SLOW = "slow: 100 ms and 3000 kbit/s each way"


_SWALLOWED = {Link.HALF_OPEN: {"there", "back"}, Link.ONLY_THERE: {"back"}, Link.ONLY_BACK: {"there"}}


class Proxy:
    """
    `target_port` may be set before `start`. `set` returns once the link has changed; connections that lost bytes meanwhile
    are closed when it is open again, for what would follow makes no sense.
    """

    def __init__(self, target_port: int = 0, port: int = 0) -> None:
        self.target_port = target_port
        self.port = port or free_port()
        self.link = Link.OPEN
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"proxy {self.port}", daemon=True)
        self._server: asyncio.Server | None = None
        self._connections: set[_Connection] = set()

    def start(self) -> Proxy:
        self._thread.start()
        self._do(self._listen())
        return self

    def set(self, link: Link) -> None:
        self._do(self._change(link))

    def close(self) -> None:
        if not self._thread.is_alive():
            return
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, limit=_BLOCK)

    async def _change(self, link: Link) -> None:
        self.link = link
        if link is Link.CUT and self._server is not None:
            self._server.close()
            self._server = None
        for connection in list(self._connections):
            if link is Link.CUT or (connection.lost_bytes and link not in _SWALLOWED):
                connection.abort()
        if link is not Link.CUT and self._server is None:
            await self._listen()

    async def _end(self) -> None:
        await self._change(Link.CUT)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(self, writer)
        self._connections.add(connection)
        try:
            await connection.run(reader)
        except OSError:
            pass  # Either end may go at any time; the other one is told by `close`.
        finally:
            connection.close()
            self._connections.discard(connection)


class _Connection:
    def __init__(self, proxy: Proxy, client: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._writers = [client]
        self.lost_bytes = False

    async def run(self, reader: asyncio.StreamReader) -> None:
        client = self._writers[0]
        if self._proxy.link is Link.HALF_OPEN:
            self.lost_bytes = True
            while await reader.read(_BLOCK):
                pass
            return
        back, target = await asyncio.open_connection("127.0.0.1", self._proxy.target_port, limit=_BLOCK)
        self._writers.append(target)
        ways = [self._pump(reader, target, "there"), self._pump(back, client, "back")]
        # Kafka's and HTTP's clients never close one way only: the end of one is the end of both.
        _, others = await asyncio.wait([asyncio.ensure_future(way) for way in ways], return_when=asyncio.FIRST_COMPLETED)
        for other in others:
            other.cancel()

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, way: str) -> None:
        loop = asyncio.get_running_loop()
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(16)
        sender = asyncio.ensure_future(self._send(waiting, target, way))
        try:
            while data := await source.read(_BLOCK):
                if way in _SWALLOWED.get(self._proxy.link, ()):
                    self.lost_bytes = True
                    continue
                delay = 0.0
                if self._proxy.link is Link.SLOW:
                    await asyncio.sleep(len(data) / _BYTES_PER_S)
                    delay = _DELAY_S
                await waiting.put((loop.time() + delay, data))
            await waiting.put((0.0, b""))
            await sender
        except OSError:
            pass
        finally:
            sender.cancel()

    async def _send(self, waiting: asyncio.Queue[tuple[float, bytes]], target: asyncio.StreamWriter, way: str) -> None:
        """
        In order: what is sent after the link was made quick again does not overtake what was delayed. Nothing is the end.
        """
        loop = asyncio.get_running_loop()
        while True:
            due, data = await waiting.get()
            if not data:
                return
            if due > loop.time():
                await asyncio.sleep(due - loop.time())
            while way == "back" and self._proxy.link is Link.LATE:
                await asyncio.sleep(_LOOK_S)
            try:
                target.write(data)
                await target.drain()
            except OSError:
                return

    def close(self) -> None:
        """Both sides, after what is still to be sent."""
        for writer in self._writers:
            writer.close()

    def abort(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
