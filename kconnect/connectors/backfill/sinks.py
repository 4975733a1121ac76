"""
The SparkSink into whose tables a backfill writes, as the backfill's config has it: its settings, and where rows are staged.

Called by `range_connector.py`, which checks a config and gives a backfill up, and by `range_into.py`. Nothing of Spark, nor of
Arrow, is imported before it is needed. Read next: `range_into.py`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from pathlib import Path
from typing import Any

from kconnect.api import ConfigError, ConnectError
from kconnect.connectors.backfill import settings
from kconnect.connectors.host_files import HostFiles

log = logging.getLogger(__name__)

COMMITTING = "committing"
"""The file that says that a commit was asked for."""
_STORE, _FOLDER, _FILES = "lake.store.url", "_kconnect_staging", "file:///"
_ODD_TEXT = "% ? # * \\ $ [ ] { } and blanks"
_ODD = frozenset("%?#*\\ $[]{}")
_FENCED_S = 50.0
"""Less than what a worker waits for."""


def committed_partition(copy: int) -> dict[str, Any]:
    """Return the source partition that says that the tables have the copy with this number."""
    return {"lsn": copy, "backfill": "tables"}


def config_of(props: Mapping[str, str]) -> dict[str, str]:
    """Return the config of the sink, with the name of the backfill: by that the tables know who has written."""
    own = {name.removeprefix(settings.SINK): value for name, value in props.items() if name.startswith(settings.SINK)}
    return {**own, "name": props.get("name", "")}


def problems(props: Mapping[str, str], worker: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what is wrong with the sink's settings, or with where rows are staged."""
    sink = config_of(props)
    if sink.get("connector.class") != "SparkSink":
        rule = f"{settings.SINK}connector.class must be SparkSink, but is {sink.get('connector.class')}"
        return [(settings.INTO, f"{rule}: kconnect backfill start --into has all settings of a sink copied.")]
    if importlib.util.find_spec("pyarrow") is None:
        return [(settings.INTO, "pyarrow is not installed here: pip install pyarrow on every machine of the cluster.")]
    from kconnect.connectors.spark.connector import SparkSinkConnector

    connector = SparkSinkConnector()
    connector.worker = worker
    validated = connector.validate(sink)
    wrong = [f"{settings.SINK}{value.name}: {value.errors[0]}" for value in validated.values if value.errors]
    if wrong:
        return [(settings.INTO, wrong[0])]
    try:
        folder_of(props, worker)
    except ConfigError as error:
        return [(settings.STAGING, f"{error}.")]
    return []


def where_of(props: Mapping[str, str], worker: Mapping[str, str]) -> Callable[[str], dict[str, Any]]:
    """Return what says where a table of the sink is."""
    from kconnect.connectors.spark.lake import SparkLake
    from kconnect.connectors.spark.settings import CONFIG

    def never(*arguments: Any) -> Any:
        raise AssertionError

    sink = config_of(props)
    return SparkLake(CONFIG.parse(sink), sink, worker, never, never).where


def folder_of(props: Mapping[str, str], worker: Mapping[str, str]) -> Path:
    """Return the folder for the rows of a backfill. ConfigError if there may be none."""
    url = props.get(settings.STAGING, "").strip()
    store = props.get(settings.SINK + _STORE, "")
    if not url and store.startswith(_FILES):
        # No table has a name that begins so.
        url = f"{store.rstrip('/')}/{_FOLDER}"
    if not url.startswith(_FILES):
        rule = "It must be a folder that all machines have at the same place, as in file:///data/staging"
        raise ConfigError(settings.STAGING, url or None, rule)
    if not _ODD.isdisjoint(url) or not url.isprintable():
        raise ConfigError(
            settings.STAGING, url, f"Spark has a meaning for one of its characters: it may have none of {_ODD_TEXT}"
        )
    path = url.removeprefix("file://")
    HostFiles(worker).check(settings.STAGING, path)
    return Path(path, hashlib.sha256(props.get("name", "").encode()).hexdigest()[:20])


def remove(folder: Path) -> None:
    """Remove what is staged."""
    if folder.exists():
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            log.warning("The folder %s is of a backfill that is over, and can't be removed: remove it", folder)


def give_up(props: Mapping[str, str], worker: Mapping[str, str], partitions: Sequence[Mapping[str, Any]]) -> None:
    """
    Remove what is staged, and see to it that no commit of it comes later, as from an application that was given up for dead.
    ConnectError if that can't be had.
    """
    folder = folder_of(props, worker)
    is_done = any(partition.get("backfill") in ("tables", "done") for partition in partitions)
    for place in sorted(folder.iterdir()) if folder.is_dir() and not is_done else []:
        if (place / COMMITTING).exists() and place.name.isdecimal():
            _fence(place, props, worker)
    remove(folder)


def _fence(folder: Path, props: Mapping[str, str], worker: Mapping[str, str]) -> None:
    from kconnect.connectors.spark import copies
    from kconnect.connectors.spark.application import Application, SparkFault

    spark = Application(worker)
    text = "The tables can't be told that the backfill is given up"
    try:
        found = copies.found(folder, where_of(props, worker))
        done, late = futures.wait(copies.fence(spark, found, props.get("name", ""), int(folder.name)), _FENCED_S)
        for answer in done:
            answer.result()
        if late:
            raise ConnectError(f"{text}: Spark has not answered for {_FENCED_S:.0f} s. Try again")
    except SparkFault as error:
        raise ConnectError(f"{text}: {error}") from None
    finally:
        spark.end()
