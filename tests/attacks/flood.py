"""
A caller who asks without end: `python -m tests.attacks.flood PORT CONNECTIONS PATH` keeps so many connections to a local
worker, and sends `GET PATH` on each, again as soon as it is answered.

It writes a line once all have been sent, ends with its standard input, and then writes how many answers of each status came.
Started by `test_rest.py`, in a process of its own, so that it takes no time of the test's.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from contextlib import suppress


async def _ask(port: int, path: str, sent: list[None], answers: Counter[str]) -> None:
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: curl/8\r\n\r\n".encode()
    counted = False
    while True:
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                while True:
                    writer.write(request)
                    await writer.drain()
                    if not counted:
                        counted = True
                        sent.append(None)
                    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                    length = next(line.partition(":")[2] for line in head.split("\r\n") if line.startswith("content-length"))
                    await reader.readexactly(int(length))
                    answers[head.split(" ")[1]] += 1
            finally:
                writer.close()
        await asyncio.sleep(0.05)


async def _main(port: int, connections: int, path: str) -> None:
    sent: list[None] = []
    answers: Counter[str] = Counter()
    asking = [asyncio.create_task(_ask(port, path, sent, answers)) for _ in range(connections)]
    # Beyond what a worker accepts, none is ever heard of.
    while len(sent) < min(connections, 4096):
        await asyncio.sleep(0.05)
    _say("sent")
    await asyncio.to_thread(sys.stdin.read)
    for task in asking:
        task.cancel()
    _say(json.dumps(answers))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
