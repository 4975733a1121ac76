"""
Staging: rows that a task has written into files of the table, for another task to commit with its own.

So several tasks make one snapshot in an interval. A stage is told in a small file for each of its partitions of Kafka, in the
folder of the table. Whoever commits it asks whether the table has the offsets that it begins with, as for rows of its own; a
stage that is too late, or of somebody who was given up for dead, is never committed. Called by `targets.py`. Read next:
`commits.py`.
"""

from __future__ import annotations

import hashlib
import logging
import urllib.parse
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import orjson
import pyarrow as pa
from pyiceberg.manifest import DataFile, read_manifest_list
from pyiceberg.table import Table

from kconnect.api import TopicPartition
from kconnect.connectors.iceberg import commits
from kconnect.connectors.lake.stages import Stage

log = logging.getLogger(__name__)

_FOLDER = "kconnect"
_LONGEST = 200
"""What a disk takes as a folder's name, and some more."""


def made(table: Table, rows: pa.Table, begins: dict[TopicPartition, int], ends: dict[TopicPartition, int]) -> Stage:
    """Files of the table, which nobody sees until they are committed."""
    transaction = table.transaction()
    transaction.append(rows)
    snapshot = transaction.table_metadata.current_snapshot()
    assert snapshot is not None
    return Stage(snapshot.snapshot_id, snapshot.manifest_list, begins, ends)


def publish(table: Table, connector: str, stage: Stage) -> None:
    """Publish a stage for the task that commits, instead of what was published of these partitions before."""
    parts = [[place.topic, place.partition, stage.begins[place], end] for place, end in stage.ends.items()]
    data = orjson.dumps({"snapshot": stage.snapshot, "manifests": stage.manifests, "parts": parts})
    for place in stage.ends:
        with table.io.new_output(_file(table, connector, place)).create(overwrite=True) as file:
            file.write(data)


def withdraw(table: Table, connector: str, stage: Stage) -> None:
    """Withdraw a published stage: a table that is rolled back is not to get files that may be gone by then."""
    for place in stage.ends:
        try:
            table.io.delete(_file(table, connector, place))
        except FileNotFoundError:
            continue  # Another one has told something of this partition since, and has withdrawn it.
        except OSError as error:
            log.warning("What was told of a stage of the table %s is left: %s", ".".join(table.name()), error)


def published(table: Table, connector: str, places: Iterable[TopicPartition]) -> list[Stage]:
    """Return the stages published of these partitions, also those that were committed, or are too late."""
    stages: dict[int, Stage] = {}
    for place in places:
        try:
            with table.io.new_input(_file(table, connector, place)).open() as file:
                data = orjson.loads(file.read())
        except (FileNotFoundError, orjson.JSONDecodeError):
            continue  # Nothing is told, or just being told: a folder shows half of a file.
        stage = _parsed(data, table.location())
        if stage is None:
            log.warning("The file of a stage of the table %s is none of ours: it is left", ".".join(table.name()))
            continue
        stages[stage.snapshot] = stage
    return list(stages.values())


def _parsed(data: Any, location: str) -> Stage | None:
    """Return what a file tells. None for one that is not as `publish` writes it, or leads out of the table's folder."""
    try:
        parts = [(TopicPartition(topic, partition), begin, end) for topic, partition, begin, end in data["parts"]]
        begins, ends = {place: begin for place, begin, _ in parts}, {place: end for place, _, end in parts}
        stage = Stage(data["snapshot"], data["manifests"], begins, ends)
        inside = stage.manifests.startswith(f"{location.rstrip('/')}/") and ".." not in stage.manifests.split("/")
        numbers = all(type(number) is int for number in (stage.snapshot, *begins.values(), *ends.values()))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return stage if inside and numbers else None


def commit(table: Table, connector: str, stages: Sequence[Stage], ids: commits.Ids = commits.NO_IDS) -> None:
    """Commit the stages that begin with what the table has, in one snapshot. Errors as for `commits.commit`."""
    table.refresh()
    places = {place for stage in stages for place in stage.begins}
    stored_offsets = commits.stored(table, connector, places)
    chosen: list[Stage] = []
    chosen_places: set[TopicPartition] = set()
    files: list[DataFile] = []
    for stage in stages:
        if chosen_places.isdisjoint(stage.begins) and all(
            stored_offsets.get(place) == begin for place, begin in stage.begins.items()
        ):
            stage_files = _files(table, stage)
            if stage_files is not None:
                chosen.append(stage)
                chosen_places.update(stage.begins)
                files += stage_files
    if not chosen:
        return
    begins = {place: begin for stage in chosen for place, begin in stage.begins.items()}
    ends = {place: end for stage in chosen for place, end in stage.ends.items()}
    commits.commit_files(table, files, connector, begins, ends, ids)


def _files(table: Table, stage: Stage) -> list[DataFile] | None:
    """
    Return a stage's files. None if they do not exist, or are partitioned as the table is no more: the task makes them anew in
    time.
    """
    try:
        manifests = list(read_manifest_list(table.io.new_input(stage.manifests)))
        stage_manifests = [manifest for manifest in manifests if manifest.added_snapshot_id == stage.snapshot]
        if any(manifest.partition_spec_id != table.spec().spec_id for manifest in stage_manifests):
            return None
        return [entry.data_file for manifest in stage_manifests for entry in manifest.fetch_manifest_entry(table.io)]
    except FileNotFoundError as error:
        log.warning("The staged files of the table %s are not there: %s", ".".join(table.name()), error)
        return None


def _file(table: Table, connector: str, place: TopicPartition) -> str:
    # What a connector is called must not lead out of the table's folder.
    folder = urllib.parse.quote(connector, safe="", errors="surrogatepass")
    if len(folder) > _LONGEST:
        folder = hashlib.sha256(folder.encode()).hexdigest()
    return f"{table.location()}/{_FOLDER}/{folder}/{place.topic}/{place.partition}.json"


def known(table: Table, connector: str, topics: Collection[str]) -> list[TopicPartition]:
    """The partitions of these topics that the table has offsets of, in order: who has the first one commits for all."""
    prefix = commits.name_of(connector, TopicPartition("", 0)).removesuffix(".0")
    parts = [name.removeprefix(prefix).rpartition(".") for name in table.properties if name.startswith(prefix)]
    return sorted(TopicPartition(topic, int(number)) for topic, _, number in parts if topic in topics and number.isdecimal())
