"""
By what a new table of Iceberg is partitioned, as configs say it: `city`, `day(at)`, `bucket(id, 16)`.

Called by the connectors and lakes of Iceberg and Spark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from kconnect.api import ConfigError

_PARTITION = re.compile(
    r"(?P<alone>[\w.]+)$|(?P<name>year|month|day|hour|void|identity)s?\((?P<field>[^,()]+)\)$"
    r"|(?P<sized>bucket|truncate)\((?P<column>[^,()]+),\s*(?P<size>\d+)\)$"
)


class Partition(NamedTuple):
    """A field of a partition spec: `transform` as Iceberg writes it, such as day or bucket[16]."""

    column: str
    transform: str


def parsed(name: str, texts: Sequence[str]) -> list[Partition]:
    """ConfigError at the setting `name` for what is none."""
    result = []
    # A list is split at commas, and bucket(id, 16) has one.
    for text in re.split(r",\s*(?![^()]*\))", ",".join(texts)):
        match = _PARTITION.match(text.strip())
        if text.strip() and match is None:
            raise ConfigError(
                name, text, "Fields of a partition are such as city, day(at), bucket(id, 16) or truncate(name, 4)"
            )
        if match is not None and match["alone"]:
            result.append(Partition(match["alone"], "identity"))
        elif match is not None and match["sized"]:
            result.append(Partition(match["column"].strip(), f"{match['sized']}[{match['size']}]"))
        elif match is not None:
            result.append(Partition(match["field"].strip(), match["name"]))
    return result
