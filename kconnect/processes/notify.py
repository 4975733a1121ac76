"""
Tells the service manager that started this process, if one did, how far it is: systemd's protocol of `Type=notify`.

Called by `worker/main.py`. `docker/systemd/kconnect.service` is such a service.
"""

from __future__ import annotations

import logging
import os
import socket

log = logging.getLogger(__name__)

_VARIABLE = "NOTIFY_SOCKET"


class Manager:
    """The service manager. `is_there` is False if nobody waits for news: then `tell` does nothing."""

    def __init__(self) -> None:
        # Taken away: what this process starts is not to speak for it.
        self._address = os.environ.pop(_VARIABLE, "")
        self._last = ""

    @property
    def is_there(self) -> bool:
        return bool(self._address)

    def tell(self, **news: str) -> None:
        """Send variables such as READY="1", unless the last news were the same. What cannot be sent is logged."""
        text = "\n".join(f"{name}={value}" for name, value in news.items())
        if not self._address or text == self._last:
            return
        self._last = text
        # systemd may name a socket that is in no folder.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
                channel.sendto(text.encode(), address)
        except OSError as error:
            log.warning("The service manager can't be told %r: %s", text, error)
