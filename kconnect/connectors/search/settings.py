"""
The settings of the OpenSearch sink: those of the Elasticsearch sink that people know, and two for the names of indexes.

Read by `connector.py`, which checks them against each other, and by the modules that do what they say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.api import ConfigDef, ConfigError, NonEmptyString, OneOf, Range, Width
from kconnect.connectors.setting_rows import BOOLEAN, INT, LIST, SECRET, STRING, retry_keys, section

URLS, USER, PASSWORD, COMPRESS = "connection.url", "connection.username", "connection.password", "connection.compression"
TIMEOUT, CA, CERTIFICATE, KEY = "read.timeout.ms", "ssl.ca.location", "ssl.certificate.location", "ssl.key.location"
INDEX, INDEX_FIELD, CREATE = "index.name.format", "index.name.field", "auto.create"
STREAM, DATASET, NAMESPACE, MOMENT = (f"data.stream.{each}" for each in ("type", "dataset", "namespace", "timestamp.field"))
KEY_IGNORE, TOPIC_KEY_IGNORE, METHOD = "key.ignore", "topic.key.ignore", "write.method"
SCHEMA_IGNORE, TOPIC_SCHEMA_IGNORE, VERSION = "schema.ignore", "topic.schema.ignore", "external.version.header"
NULLS, MALFORMED, DROP = "behavior.on.null.values", "behavior.on.malformed.documents", "drop.invalid.message"
MAX_BYTES = "response.max.bytes"
BATCH, BYTES, RETRIES, BACKOFF = "batch.size", "bulk.size.bytes", "max.retries", "retry.backoff.ms"

INSTEAD = {
    **dict.fromkeys(
        ("elastic.https.ssl.truststore.location", "elastic.https.ssl.keystore.location"),
        f"{CA}, {CERTIFICATE} and {KEY} name files in PEM",
    ),
    "proxy.host": "the cluster has to be reached without a proxy",
    "topic.to.external.resource.mapping": f"{INDEX} and transforms such as RegexRouter say which index a record gets",
    "kerberos.user.principal": f"{USER} and {PASSWORD} are what is supported",
}
"""Settings of the other sink that would change what is written, and what does so here."""

_WHERE, _TARGET, _DOCUMENTS, _LIMITS = "Cluster", "Indexes", "Documents", "Limits and retries"


def _no_stream(name: str, values: Mapping[str, Any]) -> bool:
    return (values.get(STREAM) or "none").lower() == "none"


def _stream(name: str, values: Mapping[str, Any]) -> bool:
    return not _no_stream(name, values)


def _are_urls(name: str, value: Any) -> None:
    if not value or not all(str(url).startswith(("http://", "https://")) for url in value):
        raise ConfigError(name, value, "Addresses begin with http:// or https://, and there is at least one")


CONFIG = ConfigDef(
    *section(
        _WHERE,
        LIST.high(
            URLS,
            doc="The cluster's addresses, such as https://search.example.com:9200. Requests go to them in turn.",
            validator=_are_urls,
            width=Width.LONG,
        ),
        STRING.medium(USER, "", "The user.", width=Width.MEDIUM),
        SECRET.medium(PASSWORD, "", "The user's password."),
        STRING.medium(CA, "", "Who vouches for the cluster: a file in PEM."),
        STRING.low(CERTIFICATE, "", "A certificate to show to the cluster, in PEM."),
        STRING.low(KEY, "", "The key of that certificate, in PEM."),
        BOOLEAN.low(COMPRESS, False, "Whether requests are compressed."),
        INT.low(TIMEOUT, 30_000, "How long a request may take, in ms, with all of its answer.", Range.at_least(1)),
        INT.low(
            MAX_BYTES, 32 * 1024 * 1024, "How many bytes an answer may have, unpacked.", Range.between(1024, 1024 * 1024 * 1024)
        ),
    ),
    *section(
        _TARGET,
        STRING.medium(
            INDEX,
            "${topic}",
            "The index of a topic's records; ${topic} stands for its name. Capital letters become small ones.",
            NonEmptyString(),
            width=Width.MEDIUM,
            visible=_no_stream,
        ),
        STRING.low(
            INDEX_FIELD, "", "A field of the value that names the record's index.", width=Width.MEDIUM, visible=_no_stream
        ),
        BOOLEAN.medium(CREATE, True, "Whether an index or a data stream that is missing is made."),
        BOOLEAN.low(
            SCHEMA_IGNORE,
            False,
            "Whether the mapping of a new index is left to the cluster, which guesses it by the first documents. Otherwise it "
            "is made by the schema of the record's value, if there is one.",
        ),
        LIST.low(TOPIC_SCHEMA_IGNORE, "", "Topics for which schema.ignore is true."),
        STRING.medium(
            STREAM,
            "none",
            "logs or metrics: records go into the data stream that type, dataset and namespace name. none: into an index.",
            OneOf(("none", "logs", "metrics"), ignore_case=True),
            dependents=(DATASET, NAMESPACE, MOMENT, INDEX, INDEX_FIELD),
        ),
        STRING.low(
            DATASET, "${topic}", "The data stream's dataset; ${topic} stands for the topic.", NonEmptyString(), visible=_stream
        ),
        STRING.low(
            NAMESPACE,
            "${topic}",
            "The data stream's namespace; ${topic} stands for the topic.",
            NonEmptyString(),
            visible=_stream,
        ),
        LIST.low(
            MOMENT,
            "",
            "The fields with a document's time, for @timestamp: the first one that the record has. By default the record's own "
            "timestamp.",
            visible=_stream,
        ),
    ),
    *section(
        _DOCUMENTS,
        BOOLEAN.high(
            KEY_IGNORE,
            False,
            "Whether a document's id is made of topic, partition and offset. Otherwise it is the record's key, which is a text "
            "or an integer.",
        ),
        LIST.low(TOPIC_KEY_IGNORE, "", "Topics for which key.ignore is true."),
        STRING.low(
            METHOD,
            "insert",
            "insert: a record replaces the document with its id. upsert: its fields are merged into that document.",
            OneOf(("insert", "upsert"), ignore_case=True),
        ),
        STRING.low(
            VERSION,
            "",
            "A header with a document's version, an integer. By default it is the record's offset, if the id is its key.",
        ),
        STRING.low(
            NULLS,
            "fail",
            "What a record without a value does. fail: it is a bad record. ignore: nothing. delete: it deletes the document "
            "with its key.",
            OneOf(("fail", "ignore", "delete"), ignore_case=True),
        ),
        STRING.low(
            MALFORMED,
            "fail",
            "What a document does that the cluster refuses. fail: it is a bad record. warn: it is passed over, and the log "
            "says so. ignore: it is passed over.",
            OneOf(("fail", "warn", "ignore"), ignore_case=True),
        ),
        BOOLEAN.low(
            DROP, False, "Whether a record that can't be made a document, for want of an id or of an object, is passed over."
        ),
    ),
    *section(
        _LIMITS,
        INT.medium(BATCH, 2000, "How many documents one request has at most.", Range.at_least(1)),
        INT.low(BYTES, 5 * 1024 * 1024, "How many bytes, more or less, one request has at most.", Range.at_least(1)),
        *retry_keys("a put is tried again, after what may pass,"),
    ),
)
