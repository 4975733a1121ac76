"""
The options of `format("kconnect")`: a row each, and what a frame's options say, checked as a whole.

Made by `source.py`, in the processes in which Spark asks for a schema or for a reader. Pure: what `${env:…}` stands for is
looked up in `secrets.py`, where it is used, so that no secret is ever part of a plan. Read next: `places.py`, which says where
to begin and end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kconnect.errors import ConfigError
from kconnect.pyspark import places
from kconnect.pyspark.places import Place

FAIL, DROP, KEEP = "fail", "drop", "keep"
_MODES = {FAIL: FAIL, DROP: DROP, KEEP: KEEP, "failfast": FAIL, "dropmalformed": DROP, "permissive": KEEP}
"""Spark's words for the modes of its own sources are taken, too."""


class Row(NamedTuple):
    """An option: `default` is its text, None if there is none;"""

    name: str
    default: str | None
    doc: str


# fmt: off
ROWS = (
    Row("topics", None, "The topics to read, separated by commas."),
    Row("topics.pattern", None, "A regular expression of Python's. All topics whose whole name it matches are read."),
    Row("connector", None, "The name of a connector. The topics that it has used are read."),
    Row("connector.config", None, "The connector's config, as JSON. The connector is created if it does not exist."),
    Row("connector.config.*", None, "The same, a setting each. Names are in small letters: Spark does not keep capitals."),
    Row("connector.update", "false", "Whether an existing connector with another config gets this one."),
    Row("connector.wait.ms", "120000", "How long to wait until the connector runs and its topics have a record."),
    Row("context", None, "A name from `kconnect context list`, for the URL of the workers, Kafka's address and the logins."),
    Row("rest.url", None, "The URL of a worker. Default: the context's, else `http://localhost:8083`."),
    Row("kafka.*", None, "A setting of Kafka's consumer, by Kafka's own name, such as `kafka.bootstrap.servers`."),
    Row("credentials.file", None, "A properties file with further options, on each machine that runs Spark. For logins."),
    Row("key.converter", None, "The converter of keys, as a connector has it. Its settings begin with `key.converter.`."),
    Row("value.converter", None, "The converter of values, as a connector has it. Its settings begin with `value.converter.`."),
    Row("startingOffsets", "earliest", '`earliest`, `latest`, or `{"orders": {"0": 120, "1": -2}}`; -2: earliest, -1: latest.'),
    Row("endingOffsets", "latest", "Where a batch ends, in the same form. The offset itself is not read. Not for streams."),
    Row("startingTimestamp", None, "Where to begin: at the first record of a time, `2026-11-29T12:00:00Z` or ms since 1970."),
    Row("endingTimestamp", None, "Where a batch ends: at the first record of this time or later."),
    Row("maxOffsetsPerTrigger", None, "How many offsets one batch of a stream has at most."),
    Row("maxRecordsPerPartition", None, "How many offsets one task of Spark's reads at most."),
    Row("failOnDataLoss", "true", "Whether a read fails if Kafka has deleted records that it should have had."),
    Row("mode", FAIL, "Bad records: `fail` the query, `drop` them, or `keep` them in `_bad`, where `drop_bad` counts them."),
    Row("includeKey", "false", "Whether there is a column `_key`: by `key.converter`, or binary without one."),
    Row("includeHeaders", "false", "Whether there is a column `_headers`, as Spark's Kafka source has it."),
    Row("schema.sample.records", "1000", "Of how many records of each topic, the newest ones, the schema is made."),
    Row("read.timeout.ms", "120000", "How long a task waits for the next record of its range before it fails."),
)
# fmt: on
"""Names are those of Spark's Kafka source where it has such an option, and otherwise in the style of Connect's settings."""

_BY_NAME = {row.name.lower(): row for row in ROWS}
_PREFIXES = ("kafka.", "key.converter.", "value.converter.", "connector.config.")
_SPARKS = {
    "subscribe": "topics",
    "subscribepattern": "topics.pattern",
    "assign": "startingOffsets and endingOffsets",
    "bootstrap.servers": "kafka.bootstrap.servers",
    "path": "topics",
    "provider": "CREATE TEMPORARY VIEW instead of CREATE TABLE",
    "minpartitions": "maxRecordsPerPartition",
    "columnnameofcorruptrecord": "mode=keep, whose column is _bad",
    "startingoffsetsbytimestamp": "startingTimestamp",
    "endingoffsetsbytimestamp": "endingTimestamp",
}
"""What those try who know Spark's own sources, and what it is called here."""
_FRAMEWORK = frozenset(("enable.auto.commit", "auto.offset.reset", "isolation.level", "key.deserializer", "value.deserializer"))
"""Settings of Kafka's consumer that this source sets itself: a frame is defined by offsets, and has committed records only."""


@dataclass(frozen=True)
class Options:
    """
    The options of one frame. `kafka`, `key` and `value` are settings of Kafka's client and of the converters without their
    prefix; they may have references such as `${env:NAME}`, which `secrets.py` resolves.
    """

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    connector: str | None = None
    config: Mapping[str, str] | None = None
    update: bool = False
    wait_ms: int = 120_000
    context: str | None = None
    url: str | None = None
    kafka: Mapping[str, str] = field(default_factory=dict)
    credentials: str | None = None
    key: Mapping[str, str] | None = None
    value: Mapping[str, str] | None = None
    starting: Place = places.EARLIEST
    ending: Place = places.LATEST
    most_of_batch: int | None = None
    most_of_task: int | None = None
    fails_on_loss: bool = True
    mode: str = FAIL
    has_key: bool = False
    has_headers: bool = False
    sample: int = 1000
    read_ms: int = 120_000

    @property
    def has_topic(self) -> bool:
        """Whether there is a column `_topic`: unless the options name exactly one topic."""
        return self.pattern is not None or self.connector is not None or len(self.topics) > 1


def parse(given: Mapping[str, str]) -> Options:
    """
    Return what the options say. Raise ConfigError, naming the option, for what can't be used, also for one that holds a secret
    as it is. Values are never part of such a message where they may be secret.
    """
    options = {name.lower(): text for name, text in given.items()}
    for name in given:
        _require_known(name)
    _refuse_secrets(given)
    config = _config(given)
    topics = tuple(part.strip() for part in options.get("topics", "").split(",") if part.strip())
    connector = options.get("connector")
    if config is not None and connector is None:
        connector = config.get("name")
    if config is not None and connector is None:
        raise ConfigError("connector", None, "name the connector that connector.config is for")
    pattern = options.get("topics.pattern")
    if pattern is not None:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ConfigError("topics.pattern", pattern, f"it is no regular expression ({error})") from None
    if not topics and pattern is None and connector is None:
        raise ConfigError("Nothing says what to read: give the option topics, topics.pattern or connector")
    kafka = dict(_below(options, "kafka."))
    for name in sorted(_FRAMEWORK & kafka.keys()):
        raise ConfigError(f"kafka.{name}", kafka[name], "this source sets it itself: it reads committed records by offsets")
    starting, ending = _place(options, "starting"), _place(options, "ending")
    try:
        places.require_order(starting, ending)
    except ValueError as error:
        name = "endingOffsets" if ending.time_ms is None else "endingTimestamp"
        raise ConfigError(name, options[name.lower()], str(error)) from None
    return Options(
        topics=topics,
        pattern=pattern,
        connector=connector,
        config=config,
        update=_flag(options, "connector.update"),
        wait_ms=_count(options, "connector.wait.ms", 0),
        context=options.get("context"),
        url=options.get("rest.url"),
        kafka=kafka,
        credentials=options.get("credentials.file"),
        key=_converter(options, "key.converter"),
        value=_converter(options, "value.converter"),
        starting=starting,
        ending=ending,
        most_of_batch=_count(options, "maxOffsetsPerTrigger", 1) if "maxoffsetspertrigger" in options else None,
        most_of_task=_count(options, "maxRecordsPerPartition", 1) if "maxrecordsperpartition" in options else None,
        fails_on_loss=_flag(options, "failOnDataLoss"),
        mode=_mode(options),
        has_key=_flag(options, "includeKey"),
        has_headers=_flag(options, "includeHeaders"),
        sample=_count(options, "schema.sample.records", 1),
        read_ms=_count(options, "read.timeout.ms", 1000),
    )


def require_endless(options: Options) -> None:
    """Raise ConfigError if a stream is to end somewhere: only batches do."""
    if options.ending != places.LATEST:
        name = "endingOffsets" if options.ending.time_ms is None else "endingTimestamp"
        raise ConfigError(
            f"The option {name} is for spark.read only: a stream has no end. To stop at what there is now, use "
            ".trigger(availableNow=True)"
        )


def _require_known(name: str) -> None:
    lower = name.lower()
    if lower in _BY_NAME or any(lower.startswith(prefix) and len(lower) > len(prefix) for prefix in _PREFIXES):
        return
    if lower in _SPARKS:
        raise ConfigError(f"format('kconnect') has no option {name}: use {_SPARKS[lower]}")
    import difflib

    near = difflib.get_close_matches(lower, _BY_NAME, 1)
    remedy = f"do you mean {_BY_NAME[near[0]].name}?" if near else "docs/pyspark.md lists all options"
    raise ConfigError(f"format('kconnect') has no option {name}: {remedy}")


def _refuse_secrets(given: Mapping[str, str]) -> None:
    from kconnect.pyspark import secrets

    for name, text in given.items():
        if name.lower() == "connector.config":
            continue
        if secrets.is_literal(name, text):
            raise ConfigError(
                f"The option {name} holds a secret as it is, and Spark shows options in its plans, its UI and its event log. "
                f"{secrets.REMEDY}"
            )


def _config(given: Mapping[str, str]) -> dict[str, str] | None:
    """Return the config of `connector.config` and `connector.config.*`, None if there is neither."""
    from kconnect.pyspark import secrets

    config: dict[str, str] = {}
    texts = {name.lower(): text for name, text in given.items()}
    if "connector.config" in texts:
        config.update(_json_config(texts["connector.config"]))
    prefix = "connector.config."
    config.update({name[len(prefix) :]: text for name, text in given.items() if name.lower().startswith(prefix)})
    if not config:
        return None
    for name, text in config.items():
        if secrets.is_literal(name, text):
            raise ConfigError(
                f"The setting {name} of connector.config holds a secret as it is, and Spark shows options in its plans, its UI "
                "and its event log. Write a reference to one of the workers' config providers, such as "
                "${file:/run/secrets/db.properties:password}: the worker resolves it"
            )
    if "connector.class" not in config:
        raise ConfigError("connector.config", None, "it has no connector.class, which says what the connector is")
    return config


def _json_config(text: str) -> dict[str, str]:
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        plain = None
    if isinstance(plain, dict) and isinstance(plain.get("config"), dict) and isinstance(plain.get("name"), str):
        # As REST takes it, and as files for curl have it.
        plain = {"name": plain["name"], **plain["config"]}
    if not isinstance(plain, dict) or any(isinstance(value, dict | list) for value in plain.values()):
        raise ConfigError('The option connector.config is no JSON object of settings, such as {"connector.class": "Datagen"}')
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in plain.items() if value is not None}


def _below(options: Mapping[str, str], prefix: str) -> Iterator[tuple[str, str]]:
    return ((name[len(prefix) :], text) for name, text in options.items() if name.startswith(prefix))


def _converter(options: Mapping[str, str], which: str) -> dict[str, str] | None:
    """Return a converter's settings with its name as `""`, None if the options have none."""
    settings = dict(_below(options, f"{which}."))
    if which in options:
        return {"": options[which].strip(), **settings}
    if settings:
        raise ConfigError(which, None, f"it must name the converter whose settings are given ({which}.{min(settings)})")
    return None


def _text(options: Mapping[str, str], name: str) -> str:
    return options.get(name.lower(), _BY_NAME[name.lower()].default or "").strip()


def _flag(options: Mapping[str, str], name: str) -> bool:
    text = _text(options, name).lower()
    if text not in ("true", "false"):
        raise ConfigError(name, text, "must be true or false")
    return text == "true"


def _count(options: Mapping[str, str], name: str, least: int) -> int:
    text = _text(options, name)
    if not (text.isascii() and text.isdigit() and int(text) >= least):
        raise ConfigError(name, text, f"must be a whole number from {least} on")
    return int(text)


def _mode(options: Mapping[str, str]) -> str:
    text = _text(options, "mode")
    if text.lower() not in _MODES:
        raise ConfigError("mode", text, "must be fail, drop or keep (or Spark's FAILFAST, DROPMALFORMED, PERMISSIVE)")
    return _MODES[text.lower()]


def _place(options: Mapping[str, str], which: str) -> Place:
    offsets, timestamp = f"{which}Offsets", f"{which}Timestamp"
    if timestamp.lower() in options:
        if offsets.lower() in options:
            raise ConfigError(timestamp, options[timestamp.lower()], f"{offsets} says it, too: give one of the two")
        return _checked(timestamp, options[timestamp.lower()], places.of_time)
    return _checked(offsets, _text(options, offsets), places.of_text)


def _checked(name: str, text: str, parse_text: Callable[[str], Place]) -> Place:
    try:
        return parse_text(text)
    except ValueError as error:
        raise ConfigError(name, text, str(error)) from None


def as_json(value: Any) -> str:
    """Return a value as the text of an option that takes JSON."""
    return json.dumps(value)
