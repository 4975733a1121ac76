"""
Durations as `java.time.Duration.parse` reads them, such as `PT1H` and `P1DT30M`.

Asked by `core/settings/client_choices.py` for `auto.offset.reset=by_duration:…`, which Kafka's Java clients read this way.
"""

from __future__ import annotations

import re

_NUMBER = "[-+]?[0-9]{1,19}"
_PATTERN = re.compile(
    rf"(?P<sign>[-+]?)P(?:(?P<days>{_NUMBER})D)?"
    rf"(?P<time>T(?:(?P<hours>{_NUMBER})H)?(?:(?P<minutes>{_NUMBER})M)?(?:(?P<seconds>{_NUMBER})(?:[.,](?P<part>[0-9]{{0,9}}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)
_UNITS_S = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
_MOST_S = 2**63 - 1


def milliseconds(text: str) -> int | None:
    """Return the whole milliseconds of a duration, or None if Java can't read the text."""
    match = _PATTERN.fullmatch(text)
    if match is None or (match["time"] or "").upper() == "T" or all(match[unit] is None for unit in _UNITS_S):
        return None
    total_s = sum(int(match[unit] or 0) * seconds for unit, seconds in _UNITS_S.items())
    part_ns = int((match["part"] or "").ljust(9, "0"))
    if (match["seconds"] or "").startswith("-"):
        part_ns = -part_ns
    if abs(total_s) > _MOST_S:
        return None
    total_ns = (total_s * 10**9 + part_ns) * (-1 if match["sign"] == "-" else 1)
    return total_ns // 10**6
