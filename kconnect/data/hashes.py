"""
Keys of maps that are not to be a dict: very many of one hash, so that each is compared with all before it.

Python hashes texts with a secret, but a number by what it leaves when divided by 2^61 - 1. Of 64 bits eight numbers have the
same hash, of decimals as many as somebody likes to compute: a map of 1 MB takes minutes. In Java it takes none. Called where
maps are read whose keys others choose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from kconnect.errors import DataError

_MOST = 1000


def require_spread(keys: Collection[Any]) -> None:
    """Raise DataError if a dict of these would take the square of their number; TypeError for one that has no hash."""
    if len(keys) <= _MOST:
        return
    hashes = list(map(hash, keys))
    commonest, count = Counter(hashes).most_common(1)[0]
    # The same key again and again is found at once.
    if count > _MOST and len({str(key) for key, key_hash in zip(keys, hashes) if key_hash == commonest}) > _MOST:
        raise DataError(f"A map has {count} keys which Python can't tell apart by their hash, of which {_MOST} may be")
