"""
The settings of the object store sink: those of the S3 sink that people know, and `store` for other stores.

Read by `connector.py`, which checks them against each other, and by the modules that do what they say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigError, NonEmptyString, OneOf, Range, Width
from kconnect.connectors.common import is_zone
from kconnect.connectors.passthrough import CheckedBy, Passthrough
from kconnect.connectors.setting_rows import BOOLEAN, INT, LIST, LONG, SECRET, STRING, retry_keys, section
from kconnect.own_places import JOURNAL

STORE, BUCKET, REGION, ENDPOINT = "store", "s3.bucket.name", "s3.region", "store.url"
ACCESS_KEY, SECRET_KEY, PATH_STYLE = "aws.access.key.id", "aws.secret.access.key", "s3.path.style.access.enabled"
FOLDER, SLASH, PLUS, PAD = "topics.dir", "directory.delim", "file.delim", "filename.offset.zero.pad.width"
FORMAT, COMPRESSION, PARQUET_CODEC, AVRO_CODEC = "format.class", "s3.compression.type", "parquet.codec", "avro.codec"
SEPARATOR, EXTENSION = "format.bytearray.separator", "format.bytearray.extension"
PARTITIONER, FIELDS, PATH, DURATION = "partitioner.class", "partition.field.name", "path.format", "partition.duration.ms"
ZONE, LOCALE, EXTRACTOR, TIME_FIELD = "timezone", "locale", "timestamp.extractor", "timestamp.field"
MOST_FILES = "files.max.open"
COUNT, INTERVAL, SCHEDULE, BYTES = "flush.size", "rotate.interval.ms", "rotate.schedule.interval.ms", "rotate.bytes"
COMPATIBILITY, NULLS = "schema.compatibility", "behavior.on.null.values"
USER, TOKEN = "hdfs.user", "hdfs.token"
RETRIES, BACKOFF, TIMEOUT, SPOOL = "s3.part.retries", "retry.backoff.ms", "request.timeout.ms", "spool.dir"
ANSWER_SIZE = "answer.max.bytes"
PASSTHROUGH = Passthrough("store.options.", "obstore", CheckedBy.LIST)

FORMATS = ("JsonFormat", "ParquetFormat", "AvroFormat", "CsvFormat", "ByteArrayFormat")
PARTITIONERS = ("DefaultPartitioner", "FieldPartitioner", "TimeBasedPartitioner", "DailyPartitioner", "HourlyPartitioner")

_COMPATIBILITIES = ("NONE", "BACKWARD", "FORWARD", "FULL")
_WHERE, _FILES, _FOLDERS, _ROTATION, _TROUBLE = "Store", "Files", "Folders", "Rotation", "Records and retries"


def simple(name: str | None) -> str:
    """The last part of a class's name: that is what counts, whose class it is does not."""
    return (name or "").rpartition(".")[2]


def _one_of(*names: str) -> Any:
    def check(name: str, value: Any) -> None:
        if simple(value) not in names:
            raise ConfigError(name, value, f"It must be one of {', '.join(names)}, with a package before it or without")

    return check


def _partitioned_by(*names: str) -> Any:
    return lambda name, values: simple(values.get(PARTITIONER)) in names


def _extension(name: str, value: Any) -> None:
    """Refuse the name of a journal of SQLite, which then does what is in it."""
    if str(value or "").endswith(JOURNAL):
        raise ConfigError(name, value, f"It must not end with {JOURNAL}, as journals of SQLite do")


def _format_is(*names: str) -> Any:
    return lambda name, values: simple(values.get(FORMAT)) in names


def _in_hdfs(name: str, values: Mapping[str, Any]) -> bool:
    return "webhdfs://" in (values.get(STORE) or "")


def _without_store(name: str, values: Mapping[str, Any]) -> bool:
    return not values.get(STORE)


_BY_TIME = PARTITIONERS[2:]

S3_KEYS = (
    STRING.medium(REGION, "us-west-2", "The region of S3."),
    STRING.low(ENDPOINT, "", "The address of a server that is like S3, such as http://minio:9000."),
    SECRET.high(
        ACCESS_KEY,
        "",
        "The access key of S3. By default the environment, a profile of the machine or of its container says who asks.",
    ),
    SECRET.high(SECRET_KEY, "", "The secret of that key."),
    BOOLEAN.low(PATH_STYLE, True, "Whether the bucket is in the path of addresses, or else in the name of the host."),
)
"""The rows of S3, also for a lake there."""

CONFIG = ConfigDef(
    *section(
        _WHERE,
        STRING.high(
            STORE,
            "",
            "Where files go, as a URL: s3://bucket, gs://bucket, az://container, abfss://…, webhdfs://namenode:9870/folder, or "
            "file:///folder. A path behind it is a folder for all of them. In place of s3.bucket.name. Settings that begin "
            "with store.options. are the store's own.",
            width=Width.LONG,
            dependents=(BUCKET, USER, TOKEN),
        ),
        STRING.high(BUCKET, "", "The bucket of S3.", width=Width.LONG, visible=_without_store),
        *S3_KEYS,
        STRING.medium(USER, "", "Who writes to HDFS, where it believes what it is told.", visible=_in_hdfs),
        SECRET.medium(
            TOKEN,
            "",
            "A delegation token of HDFS, for a cluster with Kerberos. Somebody must renew it there.",
            visible=_in_hdfs,
        ),
    ),
    *section(
        _FILES,
        STRING.high(
            FORMAT,
            doc="The format of files: ParquetFormat, AvroFormat, JsonFormat (a line a record), CsvFormat or ByteArrayFormat. "
            "Only the last part of the name counts.",
            validator=_one_of(*FORMATS),
            dependents=(COMPRESSION, PARQUET_CODEC, AVRO_CODEC, SEPARATOR, EXTENSION),
            recommender=lambda name, values: list(FORMATS),
        ),
        STRING.low(
            COMPRESSION,
            "none",
            "How files of JSON, CSV or bytes are compressed.",
            OneOf(("none", "gzip")),
            visible=_format_is("JsonFormat", "CsvFormat", "ByteArrayFormat"),
        ),
        STRING.low(
            PARQUET_CODEC,
            "snappy",
            "How Parquet files are compressed.",
            OneOf(("none", "snappy", "gzip", "brotli", "lz4", "zstd")),
            visible=_format_is("ParquetFormat"),
        ),
        STRING.low(
            AVRO_CODEC,
            "null",
            "How Avro files are compressed.",
            OneOf(("null", "deflate", "bzip2", "xz")),
            visible=_format_is("AvroFormat"),
        ),
        STRING.low(
            SEPARATOR,
            None,
            "What is behind each record in a file of bytes; by default a line break.",
            visible=_format_is("ByteArrayFormat"),
        ),
        STRING.low(
            EXTENSION, ".bin", "What names of files of bytes end with.", _extension, visible=_format_is("ByteArrayFormat")
        ),
    ),
    *section(
        _FOLDERS,
        STRING.high(FOLDER, "topics", "The folder of all topics."),
        STRING.high(
            PARTITIONER,
            "DefaultPartitioner",
            "How folders below that of a topic are made. DefaultPartitioner: one for each partition. FieldPartitioner: by "
            "fields. TimeBasedPartitioner, DailyPartitioner, HourlyPartitioner: by time.",
            _one_of(*PARTITIONERS),
            dependents=(FIELDS, PATH, DURATION, ZONE, LOCALE, EXTRACTOR, TIME_FIELD),
            recommender=lambda name, values: list(PARTITIONERS),
        ),
        LIST.medium(
            FIELDS,
            "",
            "The fields whose values make folders, such as country,address.city.",
            visible=_partitioned_by("FieldPartitioner"),
        ),
        STRING.medium(
            PATH,
            "",
            "The folder of a time, such as 'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH.",
            width=Width.LONG,
            visible=_partitioned_by("TimeBasedPartitioner"),
        ),
        LONG.medium(
            DURATION,
            -1,
            "How long the time of a folder is, in ms. It begins at a multiple of this.",
            visible=_partitioned_by("TimeBasedPartitioner"),
        ),
        STRING.medium(
            ZONE,
            "UTC",
            "The zone of folders, and of rotate.schedule.interval.ms.",
            is_zone,
            recommender=lambda name, values: ["UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo"],
        ),
        STRING.low(LOCALE, "", "Not needed: folders have no names of months."),
        STRING.medium(
            EXTRACTOR,
            "Wallclock",
            "What the time of a record is. Wallclock: when it is written. Record: its timestamp. RecordField: a field.",
            _one_of("Wallclock", "Record", "RecordField"),
            dependents=(TIME_FIELD,),
            visible=_partitioned_by(*_BY_TIME),
            recommender=lambda name, values: ["Wallclock", "Record", "RecordField"],
        ),
        STRING.medium(
            TIME_FIELD,
            "timestamp",
            "That field: a Timestamp or Date, milliseconds since 1970, or a text in ISO 8601.",
            NonEmptyString(),
            visible=lambda name, values: simple(values.get(EXTRACTOR)) == "RecordField",
        ),
        STRING.low(SLASH, "/", "What is between folders.", NonEmptyString()),
        STRING.low(PLUS, "+", "What is between topic, partition and first offset in the name of a file.", NonEmptyString()),
        INT.low(PAD, 10, "How many digits the offset in a name has at least.", Range.at_least(0)),
    ),
    *section(
        _ROTATION,
        INT.high(
            COUNT,
            doc="After how many records of a partition of Kafka its files are whole, and go to the store.",
            validator=Range.at_least(1),
        ),
        LONG.high(
            INTERVAL,
            -1,
            "Before a record whose time is by so many ms later than that of the first, they are whole, too. -1: never. The "
            "time is that of the partitioner, or else the record's timestamp. If most records are earlier than the first by "
            "so much, one of these counts as the first.",
        ),
        LONG.medium(
            SCHEDULE,
            -1,
            "At each multiple of so many ms of the clock, they are whole, too; then records are written at least once. -1: "
            "never.",
        ),
        LONG.medium(
            BYTES,
            -1,
            "With so many bytes in them, they are whole, too; then records are written at least once. -1: however many there "
            "are.",
        ),
        INT.low(
            MOST_FILES,
            500,
            "How many folders may have an open file at once, for each partition of Kafka. Before one more they are all whole: "
            "the host, which other connectors share, has only so many files open.",
            Range.between(1, 100_000),
            order=6,
        ),
        STRING.high(
            COMPATIBILITY,
            "NONE",
            "What a record of another schema does. NONE: with it a new file begins. BACKWARD, FULL: one of an older version is "
            "written as one of the file's, one of a newer version begins a new file. FORWARD: the other way round. Versions "
            "are those of a schema registry; without them it is as NONE.",
            OneOf(_COMPATIBILITIES, ignore_case=True),
            order=5,
        ),
    ),
    *section(
        _TROUBLE,
        STRING.low(
            NULLS,
            "fail",
            "What is done with a record without a value: fail: it is a bad record. ignore: it is passed over.",
            OneOf(("fail", "ignore"), ignore_case=True),
        ),
        *retry_keys("a file is sent again, after what may pass,", RETRIES, 5000),
        LONG.low(
            TIMEOUT,
            60_000,
            "How long a request to the store may take, in ms. Large files are sent by several.",
            Range.at_least(1),
        ),
        LONG.low(
            ANSWER_SIZE,
            512 * 1024 * 1024,
            "How many bytes of memory an answer of the store may take: a page of names, or the text of an error; not a file. "
            "It is measured by what the process grows meanwhile, for whatever reason; then the request is made again.",
            Range.at_least(16 * 1024 * 1024),
            order=6,
        ),
        STRING.low(
            SPOOL,
            "",
            "A local folder for files that are not whole yet. By default that of the system for temporary files.",
            order=5,
        ),
    ),
)
