"""
The header Link of an answer, as RFC 8288 has it: where the next page is.

A link may have several relations in one text, names of parameters have no case, and texts in quotes may have commas. A page
that is overlooked ends the round, and the pages behind it are never read. Called by `service.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# In one way only: a blank behind an equals sign that could belong to either side doubled the ways, with each parameter.
_LINK = re.compile(r"\s*<([^<>]*)>((?:\s*;\s*[^\s;,=\"<]+(?:\s*=(?:\s*(?:\"(?:[^\"\\]|\\.)*\"|[^\s;,\"<]+))?)?)*)\s*(?:,|$)")
_PARAMETER = re.compile(r";\s*([^\s;,=\"]+)(?:\s*=\s*(\"(?:[^\"\\]|\\.)*\"|[^\s;,\"]*))?")
_LONGEST = 16 * 1024


def following(headers: Iterable[str]) -> str | None:
    """Return the address of the first link whose relation is `next`; None if there is none."""
    for header in headers:
        # Many blanks in a row would be tried in every division.
        text = " ".join(header[:_LONGEST].split())
        at = 0
        while at < len(text):
            link = _LINK.match(text, at)
            if link is None:
                # What is no link is passed over.
                at = text.find("<", at + 1)
                if at < 0:
                    break
                continue
            at = link.end()
            if "next" in _relations(link[2]):
                return link[1]
    return None


def _relations(parameters: str) -> list[str]:
    """Return the relations of a link in small letters. Only its first `rel` counts."""
    for name, value in _PARAMETER.findall(parameters):
        if name.lower() == "rel":
            return str(value).strip("\"'").lower().split()
    return []
