"""A proxy before a cluster's REST that ends a command with SIGKILL at one of its writes: before it arrives, or behind it."""

from __future__ import annotations

import os
import queue
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx


class Fate:
    """Shared by the proxies of a command: at which of its writes it ends, and on which side of it."""

    def __init__(self) -> None:
        self.answered = False
        self._left = 0
        self._pid: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._lock = threading.Lock()

    def arm(self, number: int, answered: bool) -> None:
        """For the command that is started next; number 0 is never."""
        self._left, self.answered = number, answered

    def aim(self, pid: int) -> None:
        self._pid.put(pid)

    def strikes(self) -> bool:
        with self._lock:
            self._left -= 1
            return self._left == 0

    def strike(self) -> None:
        # The command may write before whoever started it has told its id.
        os.kill(self._pid.get(timeout=60), signal.SIGKILL)


class Proxy:
    """Passes requests on to `upstream`; a context. `url` is where to ask instead."""

    def __init__(self, upstream: str, fate: Fate) -> None:
        client = httpx.Client(base_url=upstream.rstrip("/"), timeout=120, verify=False)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {"Content-Type": self.headers["Content-Type"]} if body else {}
                struck = self.command != "GET" and not self.path.endswith("validate") and fate.strikes()
                if struck and not fate.answered:
                    fate.strike()
                    return
                answer = client.request(self.command, self.path, content=body, headers=headers)
                if struck:
                    fate.strike()
                    return
                self.send_response(answer.status_code)
                self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
                self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

            do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = pass_on

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._client = client
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Proxy:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._client.close()
