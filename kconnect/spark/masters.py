"""
Where a Spark master is, by `spark.master`, and whether it takes connections.

Asked by `host/driver.py` before Spark starts, which says nothing for a minute if there is no master, by `session.py`, and by
`kconnect doctor` (`cli/checkup/machine.py`).
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping

_LIMIT_S = 5.0


def places(settings: Mapping[str, str]) -> list[tuple[str, int]]:
    """Return where the master that a worker file names should answer; nothing for local mode and for YARN."""
    master = settings.get("spark.master", "local")
    if not master.startswith(("spark://", "k8s://")):
        return []
    addresses = re.sub(r"^(spark|k8s)://(https?://)?", "", master)
    matches = [re.fullmatch(r"\[?([^\]]+?)\]?(?::(\d+))?/?", part.strip()) for part in addresses.split(",")]
    usual = 7077 if master.startswith("spark") else 443
    return [(match[1], int(match[2] or usual)) for match in matches if match is not None]


_PORTS = range(1, 65536)


def absent(settings: Mapping[str, str]) -> str | None:
    """Return why no master of a standalone cluster takes connections; None if one does, or if Spark runs elsewhere."""
    master, reason = settings.get("spark.master", ""), ""
    if not master.startswith("spark://"):
        return None
    for place in places(settings):
        if place[1] not in _PORTS:
            # The resolver would take it for another one.
            reason = f"{place[1]} is no port"
            continue
        try:
            socket.create_connection(place, _LIMIT_S).close()
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        else:
            return None
    return f"Spark's master at {master} takes no connections ({reason}): check that it runs. Spark tries for a minute"
