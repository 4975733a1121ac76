"""
A TCP proxy before a broker that understands where Kafka's requests begin, and can hold one back (fault F8).

`HoldingProxy` cuts the client's connection when it holds a request, so that the client sends it again on another one; the
held one reaches the broker when the test says so, as a packet does that a network or a suspended broker had delayed. It also
counts which requests of which version clients send. Used by `tests/integration/test_late_end.py`; for links that lose bytes
see `proxy.py`.
"""

from __future__ import annotations

import asyncio
import enum
import struct
import threading
from collections import Counter
from collections.abc import Coroutine
from typing import Any, TypeVar

from kconnect.local.broker import free_port

T = TypeVar("T")

_HEAD = struct.Struct(">ihhi")
"""A request begins with its size, its kind, its version, and a number that the answer repeats."""


class Api(enum.IntEnum):
    """The kinds of requests that transactions are made of, by their numbers in Kafka's protocol."""

    PRODUCE = 0
    INIT_PRODUCER_ID = 22
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    TXN_OFFSET_COMMIT = 28


class HoldingProxy:
    """
    Stands before a broker of `proxy.broker_behind`. Any thread may call everything.

    `sent` counts requests by kind and version; those of kinds that `Api` has not are left out.
    """

    def __init__(self) -> None:
        self.port, self.target_port = free_port(), free_port()
        self.sent: Counter[tuple[Api, int]] = Counter()
        self._wanted: Api | None = None
        self._held: _Held | None = None
        self._is_held = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"holding proxy {self.port}", daemon=True)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    def start(self) -> HoldingProxy:
        self._thread.start()
        self._do(self._listen())
        return self

    def close(self) -> None:
        if self._thread.is_alive():
            self._do(self._end())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(60)
            self._loop.close()

    def hold_next(self, kind: Api) -> None:
        """Hold the next request of this kind, and cut the connection that it came on."""
        self._is_held.clear()
        self._wanted = kind

    def wait_held(self, timeout: float = 60.0) -> None:
        if not self._is_held.wait(timeout):
            raise TimeoutError(f"No request came that could be held within {timeout:.0f} s")

    def release(self) -> bytes:
        """Send what was held to the broker; gives the body of its answer."""
        held, self._held = self._held, None
        assert held is not None
        return self._do(held.send())

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)

    async def _end(self) -> None:
        assert self._server is not None
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        answers: asyncio.Task[None] | None = None
        held = False
        try:
            back, target = await asyncio.open_connection("127.0.0.1", self.target_port)
            answers = asyncio.ensure_future(_copy(back, writer))
            while not held:
                head = await reader.readexactly(_HEAD.size)
                size, kind, version, number = _HEAD.unpack(head)
                frame = head + await reader.readexactly(size + 4 - len(head))
                if kind in iter(Api):
                    self.sent[Api(kind), version] += 1
                held = self._wanted is not None and kind == self._wanted
                if not held:
                    target.write(frame)
                    await target.drain()
                    continue
                answers.cancel()
                self._wanted, self._held = None, _Held(frame, number, back, target)
                self._is_held.set()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # Either end may go at any time; the other one is told below.
        finally:
            self._connections.discard(task)
            writer.close()
            if answers is not None and not held:
                answers.cancel()
                target.close()


class _Held:
    """A request whose client has gone, and the connection that it was to go to."""

    def __init__(self, frame: bytes, number: int, back: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        self._frame, self._number, self._back, self._target = frame, number, back, target

    async def send(self) -> bytes:
        self._target.write(self._frame)
        await self._target.drain()
        size, number = struct.unpack(">ii", await self._back.readexactly(8))
        if number != self._number:
            raise ValueError(f"The answer has the number {number}, the held request {self._number}")
        body = await self._back.readexactly(size - 4)
        self._target.close()
        return body


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(64 * 1024):
            target.write(data)
            await target.drain()
    except OSError:
        pass
    finally:
        target.close()
