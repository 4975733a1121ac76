"""The names that plugins may use. Taking one away, or adding one, is a decision: it is made here."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kconnect.api

NAMES = """
    Connector SourceConnector SinkConnector ConnectorContext ExactlyOnceSupport
    Task SourceTask SinkTask SourceTaskContext SinkTaskContext SinkBatch TransactionContext OffsetReader ErrantRecordReporter
    SourceRecord SinkRecord RecordBatch Header RecordMetadata TopicPartition OffsetAndMetadata TimestampType OffsetOnly
    Converter HeaderConverter Transformation Predicate ConfigProvider ConfigData

    Schema SchemaType SchemaAndValue Field Struct Column
    INT8_SCHEMA INT16_SCHEMA INT32_SCHEMA INT64_SCHEMA FLOAT32_SCHEMA FLOAT64_SCHEMA
    BOOLEAN_SCHEMA STRING_SCHEMA BYTES_SCHEMA DATE_SCHEMA TIME_SCHEMA TIMESTAMP_SCHEMA
    OPTIONAL_INT8_SCHEMA OPTIONAL_INT16_SCHEMA OPTIONAL_INT32_SCHEMA OPTIONAL_INT64_SCHEMA
    OPTIONAL_FLOAT32_SCHEMA OPTIONAL_FLOAT64_SCHEMA OPTIONAL_BOOLEAN_SCHEMA OPTIONAL_STRING_SCHEMA OPTIONAL_BYTES_SCHEMA

    Config ConfigDef ConfigKey ConfigValue NO_DEFAULT Type Importance Width Password
    Validator Range OneOf NonEmptyString NonNull

    ConnectError RetriableError DataError ConfigError NotFoundError AlreadyExistsError ConflictError BadRequestError
    ForbiddenError RequestTimeoutError UnavailableError

    schema values
"""


def test_these_and_no_others() -> None:
    assert sorted(kconnect.api.__all__) == sorted(NAMES.split())


def test_all_exist() -> None:
    missing = [name for name in kconnect.api.__all__ if not hasattr(kconnect.api, name)]
    assert missing == []


@pytest.mark.process
def test_it_brings_in_nothing_else_of_ours_and_no_client() -> None:
    show = (
        "import sys, kconnect.api; "
        "print(*sorted(m for m in sys.modules if m.split('.')[0] in ('kconnect', 'pyspark', 'confluent_kafka')))"
    )
    loaded = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True).stdout.split()
    below = ("kconnect.api", "kconnect.data", "kconnect.errors", "kconnect.java")
    assert [name for name in loaded if name != "kconnect" and not name.startswith(below)] == []
