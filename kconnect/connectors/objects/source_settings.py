"""
The settings of the object store source: those of the S3 source that people know; the store's and the formats' are the sink's.

Read by `source.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from kconnect.api import ConfigDef, ConfigError, ConfigKey, OneOf, Range, Width
from kconnect.connectors import patterns
from kconnect.connectors.objects import settings
from kconnect.connectors.patterns import Pattern
from kconnect.connectors.setting_rows import INT, LIST, LONG, STRING, section

MODE, FOLDER, TOPICS, INTERVAL = "mode", "topics.dir", "topic.regex.list", "s3.poll.interval.ms"
BATCH, ON_ERROR = "record.batch.max.size", "behavior.on.error"
MAX_FILES, RESTORED = "files.max.count", "restore.topics.regex"
MAX_FILE, MAX_RECORD, MAX_RATIO, MAX_DEPTH = "file.max.bytes", "record.max.bytes", "file.max.ratio", "record.max.depth"
LONGEST_RECORD = 256 * 1024**2
"""The most that `record.max.bytes` may be."""
NUMBER, COUNT = "task.number", "task.count"
"""In the configs of tasks only."""
GENERIC, RESTORE = "GENERIC", "RESTORE_BACKUP"
FILE, RECORDS, WHOLE = "file", "records", "whole"
"""The source partition has the name of a file; its offset, how many records were read, and whether those were all."""

_FILES, _TROUBLE = "Files and topics", "Records and retries"
_STORE = (
    *(settings.STORE, settings.BUCKET, settings.REGION, settings.ENDPOINT),
    *(settings.ACCESS_KEY, settings.SECRET_KEY, settings.PATH_STYLE),
    *(settings.USER, settings.TOKEN),
)


class Route(NamedTuple):
    topic: str
    pattern: Pattern


def routes(config: Mapping[str, Any]) -> list[Route]:
    """Parse the routes of `topic.regex.list`. Raise ConfigError for one that can't be used."""
    result = []
    for text in config[TOPICS]:
        topic, colon, pattern = text.strip().partition(":")
        if not (topic and colon and pattern):
            raise ConfigError(TOPICS, text, "Each entry has a topic, a colon, and a regular expression for names of files")
        try:
            result.append(Route(topic, Pattern(pattern)))
        except patterns.error as error:
            raise ConfigError(TOPICS, text, f"{pattern} is no regular expression: {error}") from None
    return result


def _check(name: str, value: Sequence[str]) -> None:
    routes({TOPICS: value})


def restored(config: Mapping[str, Any]) -> Pattern | None:
    """Return the pattern of `restore.topics.regex`, None for any topic. ConfigError at it."""
    text: str = config[RESTORED]
    try:
        return Pattern(text) if text else None
    except patterns.error as error:
        raise ConfigError(RESTORED, text, f"It is no regular expression: {error}") from None


def _check_restored(name: str, value: str) -> None:
    restored({RESTORED: value})


def _restores(name: str, values: Mapping[str, Any]) -> bool:
    return not _generic(name, values)


def _generic(name: str, values: Mapping[str, Any]) -> bool:
    return (values.get(MODE) or "").upper() == GENERIC


def _taken(name: str, **changes: Any) -> ConfigKey:
    return replace(settings.CONFIG.keys[name], **changes)


CONFIG = ConfigDef(
    _taken(
        settings.STORE,
        doc="Where files are, as a URL: s3://bucket, gs://bucket, az://container, abfss://…, webhdfs://namenode:9870/folder, "
        "or file:///folder. In place of s3.bucket.name. Settings that begin with store.options. are the store's own.",
    ),
    *(_taken(name) for name in _STORE[1:]),
    *section(
        _FILES,
        STRING.high(
            MODE,
            RESTORE,
            "RESTORE_BACKUP: files as ObjectStoreSink and the S3 sink write them; records go back to the topics and partitions "
            "that their names say. GENERIC: any files; topic.regex.list says where their records go.",
            OneOf((RESTORE, GENERIC), ignore_case=True),
            dependents=(TOPICS,),
        ),
        STRING.high(FOLDER, "topics", "The folder to look in, with those in it. Empty: the whole store.", width=Width.MEDIUM),
        LIST.high(
            TOPICS,
            "",
            "Topics, each with a colon and a regular expression that is found in the names of its files, such as "
            "orders:.*/orders/.*[.]json. The first one counts; what none is for is left alone.",
            _check,
            width=Width.LONG,
            visible=_generic,
        ),
        STRING.medium(
            RESTORED,
            "",
            "A regular expression for the topics that RESTORE_BACKUP brings back: others are left alone. Without it, "
            "whoever may put a file into the store writes to any topic that the worker may write to, but to internal ones.",
            _check_restored,
            width=Width.LONG,
            visible=_restores,
        ),
        _taken(
            settings.PLUS,
            doc="What is between the parts of a file's name, for RESTORE_BACKUP: as the sink had it.",
            order=9,
            visible=_restores,
        ),
        _taken(
            settings.FORMAT,
            doc="The format of files: ParquetFormat, AvroFormat, JsonFormat (a line a record), CsvFormat (with names in the "
            "first line) or ByteArrayFormat (a line a record). Only the last part of the name counts. Files whose names end "
            "with .gz are unpacked.",
            order=5,
            dependents=(settings.SEPARATOR,),
        ),
        _taken(settings.SEPARATOR, doc="What is between two records of bytes. By default a line's end.", order=6),
        LONG.medium(INTERVAL, 60_000, "How often to look for new files, in ms.", Range.at_least(1), order=7),
        INT.low(BATCH, 1000, "How many records are taken at once.", Range.at_least(1), order=8),
    ),
    *section(
        _TROUBLE,
        LONG.low(
            MAX_FILE,
            10 * 1024**3,
            "How many bytes a file may have, as it is in the store. It is fetched whole, into spool.dir.",
            Range.at_least(1),
            order=10,
        ),
        INT.low(
            MAX_FILES,
            5_000_000,
            "How many files there may be in topics.dir. A task keeps the names of its own in memory.",
            Range.at_least(1),
            order=14,
        ),
        INT.low(
            MAX_RATIO,
            500,
            "How many times its size a file may become when it is unpacked. It does not count for what is less than 64 MB "
            "then.",
            Range.at_least(1),
            order=11,
        ),
        INT.low(
            MAX_RECORD,
            16 * 1024**2,
            "How many bytes a record may have: a line, with its end in sight; in Avro a quarter of a block; in Parquet an "
            "eighth of a page. Records are taken in smaller lots if they are long.",
            Range.between(1024, LONGEST_RECORD),
            order=12,
        ),
        INT.low(
            MAX_DEPTH, 200, "How deeply objects and lists may be nested in a line of JSON.", Range.between(1, 500), order=13
        ),
        STRING.medium(
            ON_ERROR,
            "fail",
            "What a file does that can't be read. fail: the task fails. log: what is left of it is passed over, and the log "
            "says so. ignore: it is passed over.",
            OneOf(("fail", "log", "ignore"), ignore_case=True),
            order=1,
        ),
        _taken(
            settings.RETRIES,
            doc="How many times in a row the store is asked again, after what may pass, before the task fails. -1: without "
            "end.",
            default=-1,
        ),
        _taken(settings.BACKOFF),
        _taken(settings.TIMEOUT, doc="How long a request to the store may take, in ms."),
        _taken(settings.ANSWER_SIZE, order=15),
        _taken(
            settings.SPOOL, doc="A local folder for the file that is read. By default that of the system for temporary files."
        ),
    ),
)
