"""
Places: where the files of a table may be that an upsert reads.

A manifest names files by their whole location, and whoever may write where the table is may write a manifest: it could name a
file of another table, whose rows the upsert would copy into this one. Called by `commits.py` and `upserts.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.table import Table

from kconnect import normal_forms
from kconnect.api import ConnectError
from kconnect.connectors import names
from kconnect.connectors.host_files import is_within
from kconnect.connectors.iceberg import settings

_OF_DATA = ("write.data.path", "write.object-storage.path", "write.folder-storage.path")
_SAME = {"s3a": "s3", "s3n": "s3", "abfs": "abfss", "": "file"}
"""Schemes by which one file is known to several engines."""
_FILE = "file://"
_METADATA = re.compile(r"(.+)/metadata/[^/]+", re.DOTALL)


class Places:
    """The folders of a table, and those that the config adds."""

    def __init__(self, table: Table, more: Sequence[str]) -> None:
        self._name = ".".join(table.name())
        self._folders = [folder for folder in map(_folder, (*_own(table), *more)) if folder]

    def check(self, location: str) -> None:
        """Raise ConnectError for a file that is in none of the folders."""
        path = _normal(location)
        if path is None or not any(path.startswith(folder) and _is_here(folder, path) for folder in self._folders):
            raise ConnectError(
                f"The table {self._name} has the file {names.printable(location)}, which is not in the table's folder: an "
                f"upsert would copy its rows into the table. If that is right, add its folder to {settings.LOCATIONS}"
            )


def _is_here(folder: str, path: str) -> bool:
    """Whether a file is in a folder and not where a link leads to, if they are on this machine."""
    return not path.startswith(_FILE) or is_within(folder.removeprefix(_FILE), path.removeprefix(_FILE))


def _own(table: Table) -> list[str]:
    """
    Return the table's own folders. Only a REST catalog says itself where they are: another one names the file with the
    metadata, and what is in that, whoever may write there says.
    """
    if isinstance(table.catalog, RestCatalog):
        return [table.location(), *(table.properties[name] for name in _OF_DATA if table.properties.get(name))]
    match = _METADATA.fullmatch(table.metadata_location)
    return [match[1] if match else table.location()]


def _folder(location: str) -> str | None:
    path = _normal(location)
    return None if path is None else f"{path.rstrip('/')}/"


def _normal(location: str) -> str | None:
    """Return a location as all engines would write it; None for one that clients read differently, or that leads upwards."""
    try:
        parts = normal_forms.split(location)
    except ValueError:
        return None
    path = location.split("://", 1)[1].partition("/")[2] if "://" in location else parts.path
    if ".." in path.split("/") or "\\" in location or re.search(r"[\0-\x1f\x7f]", location):
        return None
    scheme = parts.scheme.lower()
    return f"{_SAME.get(scheme, scheme)}://{parts.netloc}/{path.lstrip('/')}"
