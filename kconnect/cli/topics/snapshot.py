"""
The file of `kconnect topics export`: all records of the internal topics, byte by byte, with how Kafka kept them.

JSON lines, compressed with gzip if the name ends in `.gz`: first what it is and the topics, then a line for each record, at
last the number of records and a SHA-256 of all lines before. So one that was cut off is known. Keys and values are texts where
they are UTF-8, which JSON gives back unchanged, and base64 otherwise. The file holds all secrets that the topics hold, and the
workers' session key: only its owner may read it. Read next: `restoring.py`.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

import orjson

from kconnect.core.state.records import Topic
from kconnect.errors import AlreadyExistsError, BadRequestError, NotFoundError
from kconnect.internal_topics.contents import Contents, Stored, TopicFacts

FORMAT = 2
"""
What this kconnect reads. A snapshot without inferred schemas is written in format 1, which those before it read, too: they know
four topics.
"""
_SMALL, _MOST_RATIO, _LONGEST_LINE, _LONGEST_END = 64 << 20, 200, 64 << 20, 1 << 20
"""Bytes that any file may become, and how many times its own; of a line, which has one record; of the first and last line."""
_NEVER_WHOLE = "It was cut short, or changed later. Export again, or use another snapshot"


def write(contents: Contents, path: Path) -> None:
    """
    Into a new file that only its owner may read: it appears when it is complete. AlreadyExistsError if there is one, OSError if
    it can't be written.
    """
    if path.exists():
        raise AlreadyExistsError(f"{path} exists already; choose another name, or remove it")
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    # Not by a mask on what `open` makes: the file must never be readable by others, not for a moment.
    file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(file, "wb") as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as zipped:
                    _write_to(contents, zipped.write)
            else:
                _write_to(contents, raw.write)
            raw.flush()
            os.fsync(raw.fileno())
        os.link(partial, path)
    except FileExistsError:
        raise AlreadyExistsError(
            f"{path} has just been created by another process; choose another name, or remove it",
        ) from None
    finally:
        os.unlink(partial)


def write_to(contents: Contents, stream: BinaryIO) -> None:
    """Uncompressed, to where somebody else decides who may read it."""
    _write_to(contents, stream.write)
    stream.flush()


def _write_to(contents: Contents, put: Callable[[bytes], Any]) -> None:
    digest = hashlib.sha256()
    for line in _lines(contents):
        data = orjson.dumps(line) + b"\n"
        digest.update(data)
        put(data)
    put(orjson.dumps({"records": len(contents.records), "sha256": digest.hexdigest()}) + b"\n")


def _lines(contents: Contents) -> Iterator[dict[str, Any]]:
    yield {
        "kconnect_topics_snapshot": FORMAT if Topic.SCHEMAS in contents.topics else 1,
        "created_ms": contents.created_ms,
        "cluster_id": contents.cluster_id,
        "brokers": contents.brokers,
        "group": contents.group,
        "topics": {
            role.value: {
                "name": facts.name,
                "replicas": facts.replicas,
                "in_sync": facts.in_sync,
                "settings": facts.settings,
                "own": sorted(facts.own),
                "ends": {str(partition): end for partition, end in facts.ends.items()},
                "open_at": facts.open_at,
            }
            for role, facts in contents.topics.items()
        },
        "missing": {role.value: name for role, name in contents.missing.items() if role is not Topic.SCHEMAS},
    }
    for record in contents.records:
        line: dict[str, Any] = {
            "topic": record.role.value,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": [record.timestamp_type, record.timestamp_ms],
            "key": _packed(record.key),
            "value": _packed(record.value),
        }
        if record.headers:
            line["headers"] = [[name, _packed(value)] for name, value in record.headers]
        yield line


def _lines_of(stream: IO[bytes] | gzip.GzipFile, path: Path, most: int) -> list[bytes]:
    """All lines, or the first one of a file that is no snapshot. BadRequestError for more than `most` bytes."""
    lines: list[bytes] = []
    while line := stream.readline(_LONGEST_LINE):
        if not lines:
            # What is no JSON is quoted by its error, at four times its size.
            _head(line[:_LONGEST_END], path)
        most -= len(line)
        if most < 0 or len(line) == _LONGEST_LINE:
            raise BadRequestError(
                f"The snapshot {path} has a line of {_LONGEST_LINE >> 20} MiB, or becomes {_MOST_RATIO} times as large when it "
                "is unpacked, as none does that `kconnect topics export` has written. Use another one"
            )
        lines.append(line)
    return lines


def _head(line: bytes, path: Path) -> dict[str, Any]:
    try:
        head: dict[str, Any] = orjson.loads(line)
        head["kconnect_topics_snapshot"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise BadRequestError(f"{path} is not a snapshot; `kconnect topics export` writes them") from None
    return head


def read(path: Path) -> Contents:
    """
    NotFoundError if there is no such file, BadRequestError if it is no snapshot, one of a newer kconnect, or not complete.
    """
    try:
        with path.open("rb") as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if zipped else path.open("rb") as stream:
            lines = _lines_of(stream, path, _SMALL + _MOST_RATIO * path.stat().st_size)
    except FileNotFoundError:
        raise NotFoundError(f"The file {path} does not exist") from None
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise BadRequestError(f"The snapshot {path} is not complete. {_NEVER_WHOLE}") from None
    head = _head(lines[0][:_LONGEST_END] if lines else b"", path)
    format_number = head["kconnect_topics_snapshot"]
    if format_number not in (1, FORMAT):
        raise BadRequestError(
            f"{path} is a snapshot of format {format_number}, but this kconnect reads formats up to {FORMAT}: upgrade kconnect"
        )
    try:
        tail = orjson.loads(lines[-1][:_LONGEST_END])
        whole = tail["sha256"] == hashlib.sha256(b"".join(lines[:-1])).hexdigest() and tail["records"] == len(lines) - 2
        records = [_record(orjson.loads(line)) for line in lines[1:-1]] if whole else []
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, binascii.Error):
        whole = False
    if not whole:
        raise BadRequestError(f"The snapshot {path} is not complete. {_NEVER_WHOLE}")
    try:
        return _contents(head, records)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise BadRequestError(f"{path} is not a snapshot; `kconnect topics export` writes them") from None


def _contents(head: dict[str, Any], records: list[Stored]) -> Contents:
    """Raise whatever a head of another form leads to."""
    contents = Contents(
        {Topic(role): _facts(topic) for role, topic in head["topics"].items()},
        records,
        {Topic(role): name for role, name in head["missing"].items()},
        head["brokers"],
        head["cluster_id"],
        head["group"],
        created_ms=head["created_ms"],
    )
    texts = (*(facts.name for facts in contents.topics.values()), *contents.missing.values())
    numbers = (contents.brokers, contents.created_ms, *(number for record in records for number in _numbers(record)))
    if not all(isinstance(text, str) for text in texts) or not all(type(number) is int for number in numbers):
        raise TypeError("a name is no text, or a number none")
    return contents


def _numbers(record: Stored) -> tuple[Any, ...]:
    return record.partition, record.offset, record.timestamp_ms, record.timestamp_type


def _facts(packed: dict[str, Any]) -> TopicFacts:
    return TopicFacts(
        packed["name"],
        tuple(packed["replicas"]),
        tuple(packed["in_sync"]),
        packed["settings"],
        frozenset(packed["own"]),
        {int(partition): end for partition, end in packed["ends"].items()},
        tuple(packed["open_at"]),
    )


def _record(line: dict[str, Any]) -> Stored:
    kind, moment = line["timestamp"]
    headers = tuple((name, _unpacked(value)) for name, value in line.get("headers", ()))
    place = (Topic(line["topic"]), line["partition"], line["offset"])
    return Stored(*place, _unpacked(line["key"]), _unpacked(line["value"]), moment, kind, headers)


def _packed(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _unpacked(packed: Any) -> bytes | None:
    if isinstance(packed, dict):
        return base64.b64decode(packed["base64"], validate=True)
    return None if packed is None else str(packed).encode()
