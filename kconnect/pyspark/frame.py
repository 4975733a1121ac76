"""
A frame: its options, its columns, and the converters that its connector names. Made on the driver, and sent to executors.

Made by `source.py`. It holds no secret: references of options are resolved where a `Cluster` is made. Read next: `columns.py`,
`rows.py`, `cluster.py`.
"""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kconnect.errors import ConfigError, ConnectError, DataError, NotFoundError
from kconnect.pyspark import connector, converters
from kconnect.pyspark.cluster import Cluster
from kconnect.pyspark.options import KEEP, Options
from kconnect.pyspark.places import Range

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from kconnect.api.converter import Converter

log = logging.getLogger(__name__)

_KEY, _VALUE = "key.converter", "value.converter"
_OF_CONNECTOR_S = 30.0


@dataclass
class Frame:
    """`by_connector` are the settings of converters that the connector's config has, for which the options name none."""

    options: Options
    target: StructType
    by_connector: Mapping[str, dict[str, str]]
    _topics: list[str]
    _asked_at: float = 0.0

    def cluster(self) -> Cluster:
        """Return the cluster to read from, with clients of its own. Its secrets are those of this machine."""
        return Cluster(self.options)

    def topics(self, cluster: Cluster, read: Iterable[str] = ()) -> list[str]:
        """
        Return the topics to read now. The connector is asked from time to time whether it has used more. The topics that were
        `read` before are among those of a connector, whatever it has used since.
        """
        if self.options.connector is not None:
            self._topics = sorted({*self._topics, *read})
        if self.options.connector is not None and time.monotonic() - self._asked_at > _OF_CONNECTOR_S:
            try:
                with connector.connected(self.options) as client:
                    # None of them is left: what the connector has used may be reset, or the connector deleted.
                    self._topics = sorted({*self._topics, *client.topics(self.options.connector)})
            except ConnectError as error:
                # A stream reads on while workers are away.
                log.warning("Whether %s has used more topics can't be had: %s", self.options.connector, error)
            self._asked_at = time.monotonic()
        return cluster.topics(self._topics)

    def read(self, wanted: Range | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a range, in an executor."""
        if wanted is None:
            return
        cluster = self.cluster()
        rows = self._rows(cluster)
        for messages in cluster.messages(wanted):
            yield from rows.batches(messages)
        if rows.dropped:
            log.warning("%d bad records were dropped of %s, the first %s", rows.dropped, wanted, rows.first_error)

    def _rows(self, cluster: Cluster) -> Any:
        from kconnect.pyspark.rows import Rows

        value = converter_of(_VALUE, self.options, self.by_connector, cluster)
        key = converter_of(_KEY, self.options, self.by_connector, cluster)
        columns = arrow_schema(self.target)
        unnamed = converters.AnyJson(texts=is_of_texts(columns))
        return Rows(columns, value or unnamed, key, converters.AnyJson(), self.options.mode)


def converter_of(
    which: str, options: Options, by_connector: Mapping[str, dict[str, str]], cluster: Cluster
) -> Converter | None:
    """Return the converter of keys or values, None if nobody names one."""
    settings = settings_of(which, options, by_connector, cluster)
    only_own = which in by_connector
    return None if settings is None else converters.make(which, settings, only_own)


def settings_of(
    which: str, options: Options, by_connector: Mapping[str, dict[str, str]], cluster: Cluster
) -> dict[str, str] | None:
    """
    Return the settings of the converter of keys or values: the options' own, else the connector's, else those in the worker
    file of the context. None if nobody names one.
    """
    given = options.key if which == _KEY else options.value
    if given is not None:
        return cluster.settings_of(f"{which}.", given)
    return by_connector[which] if which in by_connector else cluster.worker_converter(which)


def of(options: Options, target: StructType) -> Frame:
    """Return a frame with these columns. Its connector is created and asked, as for `schema`, unless that has been done."""
    from kconnect.pyspark import columns

    if options.mode == KEEP and columns.BAD not in target.names:
        raise ConfigError(
            "mode", KEEP, "the schema lacks the column: add _bad struct<error: string, key: binary, value: binary>"
        )
    by_connector: dict[str, dict[str, str]] = {}
    used: list[str] = []
    if options.connector is not None:
        with connector.connected(options) as client:
            connector.ensure(client, options)
            by_connector = _converters(options, client.get_config(options.connector))
            used = client.topics(options.connector)
    has_typed_keys = columns.KEY in target.names and settings_of(_KEY, options, by_connector, Cluster(options)) is not None
    columns.require_usable(arrow_schema(target), has_typed_keys)
    return Frame(options, target, by_connector, used, time.monotonic())


def _converters(options: Options, config: Mapping[str, str | None]) -> dict[str, dict[str, str]]:
    parts = {_KEY: options.key, _VALUE: options.value}
    named = {which: connector.converter(config, which) for which, given in parts.items() if given is None}
    return {which: settings for which, settings in named.items() if settings is not None}


def schema(options: Options) -> StructType:
    """
    Return the columns of a frame, by the newest records of its topics, and by the registry for topics without records.

    Raises:
        NotFoundError: a topic does not exist
        ConfigError: there is nothing that tells the columns
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    from kconnect.pyspark import columns

    cluster = Cluster(options)
    by_connector: dict[str, dict[str, str]] = {}
    used: list[str] = []
    with nullcontext() if options.connector is None else connector.connected(options) as client:
        if client is not None and options.connector is not None:
            connector.ensure(client, options)
            by_connector = _converters(options, client.get_config(options.connector))
            used = connector.wait_for_records(client, options, cluster)
    topics = cluster.topics(used)
    if not topics:
        raise NotFoundError(f"No topic matches topics.pattern={options.pattern}")
    topics = cluster.existing(topics)
    value_settings = settings_of(_VALUE, options, by_connector, cluster)
    value = converters.make(_VALUE, value_settings, _VALUE in by_connector)
    key = converter_of(_KEY, options, by_connector, cluster) if options.has_key else None
    of_values, of_keys = columns.Seen(), columns.Seen()
    reasons: list[str] = []
    for topic in topics:
        if not _look(cluster, topic, options, value, key, of_values, of_keys, reasons):
            registered = _registered(topic, value_settings or {})
            if registered is not None:
                of_values.look_at_schema(topic, registered)
    made = of_values.columns()
    if value_settings is None and made.names in ([], [columns.VALUE]):
        # Nobody has said that it is JSON.
        of_values = columns.Seen()
        if reasons:
            log.warning("Values are read as texts, since they are not all JSON%s", reasons[0])
        for topic in topics:
            _look(cluster, topic, options, converters.AnyJson(texts=True), None, of_values, of_keys, reasons)
        made = of_values.columns()
    if not made.names:
        tried = "as JSON or as text" if value_settings is None else f"by {type(value).__name__}"
        raise ConfigError(
            f"Nothing tells the columns of {', '.join(topics)}: there is no record with a value that can be read "
            f"{tried}{''.join(reasons[:1])}. Name the converter in value.converter, wait for records, or give "
            'the schema yourself, as in .schema("id long, name string, _offset long")'
        )
    key_type = None if key is None else of_keys.key_type()
    spark_schema: StructType = from_arrow_schema(columns.around(made, key_type, options))
    return spark_schema


def _look(
    cluster: Cluster,
    topic: str,
    options: Options,
    value: Converter,
    key: Converter | None,
    of_values: Any,
    of_keys: Any,
    reasons: list[str],
) -> bool:
    """
    Take the newest records of a topic into account, the newest first. Bad ones say nothing of columns; why the first one is bad
    goes to `reasons`. Return whether one has a value.
    """
    from kconnect.pyspark.rows import reason_of

    seen = False
    for message in reversed(cluster.newest(topic, options.sample)):
        for part, text, seen_part in ((value, message.value(), of_values), (key, message.key(), of_keys)):
            if part is None or text is None:
                continue
            try:
                converted = part.to_connect_data(topic, text, ())
                seen_part.look(topic, converted.schema, converted.value)
                seen = seen or (part is value and converted.value is not None)
            except (DataError, ValueError, TypeError, RecursionError) as error:
                place = f"{topic}-{message.partition()} at offset {message.offset()}"
                log.info("%s is a bad record: %s", place, error)
                if part is value:
                    reasons.append(f" (the record of {place}: {reason_of(error)})")
    return seen


def _registered(topic: str, settings: Mapping[str, str]) -> Any:
    """Return the newest schema that a registry has for the values of a topic, None if there is none to be had."""
    if not settings.get("", "").endswith("AvroConverter"):
        return None
    from kconnect.converters import subjects

    try:
        return subjects.read(subjects.registry_of(settings), f"{topic}-value", None)
    except ConnectError as error:
        log.info("The registry has no schema for the values of %s: %s", topic, error)
        return None


def is_of_texts(made: pa.Schema) -> bool:
    """Whether a frame's records are one text each."""
    from kconnect.pyspark import columns

    own = [field for field in made if field.name not in columns.ABOUT]
    return len(own) == 1 and own[0].name == columns.VALUE and str(own[0].type) == "string"


def arrow_schema(target: StructType) -> pa.Schema:
    """Return the columns that this version of PySpark expects of a source, to the last detail."""
    from pyspark.sql.pandas.types import to_arrow_schema

    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
    made: pa.Schema = to_arrow_schema(target, **zone)
    return made
