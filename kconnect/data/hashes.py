"""
Maps whose keys others choose: a dict of very many keys of one hash compares each of them with all before it.

Python hashes texts with a secret, but a number by what it leaves when divided by 2^61 - 1. Of 64 bits eight numbers have the
same hash, of decimals as many as somebody likes to compute: a map of 1 MB takes minutes. In Java it takes none. Called by the
readers of converters and of literals.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from kconnect.errors import DataError

_MOST = 1000


def dict_of(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """
    Return the dict of these keys with their values.

    Raises:
        DataError: a key is a list or a map, or making it would take the square of their number
    """
    try:
        if len(pairs) > _MOST:
            _require_spread([key for key, _ in pairs])
        return dict(pairs)
    except TypeError as error:
        raise DataError("A map has a key that is a list or a map itself, which Python's can't have") from error


def _require_spread(keys: list[Any]) -> None:
    hashes = list(map(hash, keys))
    commonest, count = Counter(hashes).most_common(1)[0]
    # The same key again and again is found at once.
    if count > _MOST and len({str(key) for key, key_hash in zip(keys, hashes) if key_hash == commonest}) > _MOST:
        raise DataError(f"A map has {count} keys which Python can't tell apart by their hash, of which {_MOST} may be")
