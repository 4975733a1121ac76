"""
The memory that this process has, for who reads answers by libraries that have no limit of size.

What an answer takes is seen as the process grows while it comes. Used by `sql/answers.py` and `objects/asking.py`.
"""

from __future__ import annotations

import os

_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident() -> int:
    """Return how many bytes this process has in memory; 0 where the system does not say. It costs a few microseconds."""
    try:
        number = os.open("/proc/self/statm", os.O_RDONLY)
        try:
            return int(os.read(number, 128).split()[1]) * _PAGE
        finally:
            os.close(number)
    except OSError:
        return 0
