"""The framework's settings of connectors: Connect's tables, and what the views make of a config."""

from __future__ import annotations

import pytest

from kconnect.api.config import NO_DEFAULT, ConfigDef
from kconnect.core.settings import errors, operation
from kconnect.core.settings.sink import SINK_CONFIG, group_errors, topics_errors
from kconnect.core.settings.source import SOURCE_CONFIG, SourceSettings
from kconnect.errors import ConfigError

# name, type, default, importance, group:order, as Kafka Connect 4.3.1 prints them.
COMMON = """
name STRING required HIGH Common:1
connector.class STRING required HIGH Common:2
connector.plugin.version STRING null MEDIUM Common:3
tasks.max INT 1 HIGH Common:4
tasks.max.enforce BOOLEAN true LOW Common:5
key.converter CLASS null LOW Common:6
key.converter.plugin.version STRING null LOW Common:7
value.converter CLASS null LOW Common:8
value.converter.plugin.version STRING null LOW Common:9
header.converter CLASS null LOW Common:10
header.converter.plugin.version STRING null LOW Common:11
transforms LIST [] LOW Transforms:12
predicates LIST [] LOW Predicates:13
config.action.reload STRING restart LOW Common:14
errors.retry.timeout LONG 0 MEDIUM Error Handling:1
errors.retry.delay.max.ms LONG 60000 MEDIUM Error Handling:2
errors.tolerance STRING none MEDIUM Error Handling:3
errors.log.enable BOOLEAN false MEDIUM Error Handling:4
errors.log.include.messages BOOLEAN false MEDIUM Error Handling:5
"""
SOURCE = """
topic.creation.groups LIST [] LOW Topic Creation:1
exactly.once.support STRING requested MEDIUM Exactly Once Support:2
transaction.boundary STRING poll MEDIUM Exactly Once Support:3
transaction.boundary.interval.ms LONG null LOW Exactly Once Support:4
offsets.storage.topic STRING null LOW offsets.topic:1
"""
SINK = """
topics LIST [] HIGH Common:4
topics.regex STRING "" HIGH Common:4
errors.deadletterqueue.topic.name STRING "" MEDIUM Error Handling:6
errors.deadletterqueue.topic.replication.factor SHORT 3 MEDIUM Error Handling:7
errors.deadletterqueue.context.headers.enable BOOLEAN false MEDIUM Error Handling:8
"""
DEFAULTS = {None: "null", True: "true", False: "false", "": '""'}
BASE = {"name": "c", "connector.class": "C"}


@pytest.mark.parametrize(("table", "printed"), [(SOURCE_CONFIG, COMMON + SOURCE), (SINK_CONFIG, COMMON + SINK)])
def test_the_tables_are_connect_s(table: ConfigDef, printed: str) -> None:
    rows = []
    for key in table.keys.values():
        if key in operation.KEYS or (table is SOURCE_CONFIG and key in errors.DEAD_LETTER_KEYS):
            continue  # Not Connect's.
        default = key.default
        shown = "required" if default is NO_DEFAULT else "[]" if default == [] else str(default)
        if default is None or isinstance(default, bool) or default == "":
            shown = DEFAULTS[default]
        rows.append(f"{key.name} {key.type.value} {shown} {key.importance.value} {key.group}:{key.order}")
        assert key.doc, f"{key.name} is not documented"
        assert key.display_name
    assert rows == [line for line in printed.splitlines() if line]


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("name", "", "Invalid value  for configuration name: String may not be empty"),
        ("name", "a\nb", "String may not contain control sequences but had the following ASCII chars: 10"),
        ("name", "a\x00\x85b", "had the following ASCII chars: 0, 133"),
        pytest.param("name", "..", "No URL has it", id="a name that no URL has"),
        pytest.param("name", ".", "No URL has it", id="another one"),
        pytest.param("name", "n" * 301, "It has 301 characters, of which 300 are possible", id="a long name"),
        ("tasks.max", "0", "Invalid value 0 for configuration tasks.max: Value must be at least 1"),
        ("errors.tolerance", "x", "Invalid value x for configuration errors.tolerance: String must be one of: none, all"),
        ("transforms", "f, f", "Invalid value [f, f] for configuration transforms: Duplicate alias provided."),
        (
            "transforms",
            ",".join(map(str, range(1001))),
            "Invalid value 1001 names for configuration transforms: It may have 1000 ",
        ),
        ("topic.creation.groups", "g,g", "Invalid value [g, g] for configuration topic.creation.groups: Duplicate alias"),
        ("exactly.once.support", "x", "String must be one of (case insensitive): REQUIRED, REQUESTED"),
        ("transaction.boundary.interval.ms", "-1", "Value must be at least 0"),
        ("offsets.storage.topic", " ", "String must be non-empty"),
    ],
)
def test_what_is_refused(setting: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        SOURCE_CONFIG.parse({**BASE, setting: value})
    assert message in str(raised.value)


def test_a_pattern_that_is_none() -> None:
    with pytest.raises(ConfigError, match=r"^Invalid value \[ for configuration topics.regex: Invalid regex: "):
        SINK_CONFIG.parse({**BASE, "topics.regex": "["})
    with pytest.raises(ConfigError, match=r"^Configuration 'topics' values must not be empty.$"):
        SINK_CONFIG.parse({**BASE, "topics": "a, b,"})
    with pytest.raises(ConfigError, match=r"^Configuration 'topics' values must not be duplicated.$"):
        SINK_CONFIG.parse({**BASE, "topics": "a,a"})


def test_the_view_of_a_source() -> None:
    config = {**BASE, "transaction.boundary": "Interval", "transaction.boundary.interval.ms": "7", "offsets.storage.topic": "o"}
    assert SourceSettings.from_config(config) == SourceSettings("interval", 7, "o")
    assert SourceSettings.from_config(BASE) == SourceSettings()
    with pytest.raises(ConfigError, match=r"Invalid value 0 for configuration tasks\.max: Value must be at least 1"):
        SourceSettings.from_config({**BASE, "tasks.max": "0"})


def test_what_becomes_of_records_that_fail() -> None:
    assert errors.ErrorSettings.of(BASE) == errors.ErrorSettings()
    config = {
        "errors.retry.timeout": "1500",
        "errors.retry.delay.max.ms": "200",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": " dead ",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    assert errors.ErrorSettings.of({**BASE, **config}) == errors.ErrorSettings(1.5, 0.2, True, topic="dead", headers=True)
    assert errors.ErrorSettings.of({"errors.retry.timeout": "-1"}).retry_timeout_s is None
    with pytest.raises(ConfigError, match=r"errors\.tolerance: String must be one of: none, all"):
        errors.ErrorSettings.of({"errors.tolerance": "some"})


@pytest.mark.parametrize(
    ("topics", "regex", "dead_letters", "errors"),
    [
        (["a"], "", "", {}),
        ([], "a.*", "", {}),
        (
            [],
            "",
            "",
            {
                "topics": "Must configure one of topics or topics.regex",
                "topics.regex": "Must configure one of topics or topics.regex",
            },
        ),
        (
            ["a"],
            "b",
            "",
            {
                "topics": "topics and topics.regex are mutually exclusive options, but both are set.",
                "topics.regex": "topics and topics.regex are mutually exclusive options, but both are set.",
            },
        ),
        (
            ["x"],
            "",
            "x",
            {"topics": "The DLQ topic 'x' may not be included in the list of topics ('topics=[x]') consumed by the connector"},
        ),
        (
            [],
            "r.*",
            "rx",
            {
                "topics.regex": "The DLQ topic 'rx' may not be matched by the regex for the topics "
                "('topics.regex=r.*') consumed by the connector"
            },
        ),
        ([], "r", "rx", {}),
    ],
)
def test_the_choice_of_topics(topics: list[str], regex: str, dead_letters: str, errors: dict[str, str]) -> None:
    parsed = {"topics": topics, "topics.regex": regex, "errors.deadletterqueue.topic.name": dead_letters}
    assert topics_errors(parsed) == errors


def test_a_sink_keeps_out_of_the_workers_group() -> None:
    conflict = "Consumer group for sink connector named c conflicts with Connect worker group connect-c"
    assert group_errors({}, {"name": "c"}, "connect-c") == {"name": conflict}
    assert group_errors({"consumer.override.group.id": "g"}, {"name": "c"}, "connect-c") == {}
    assert group_errors({"consumer.override.group.id": "g"}, {"name": "c"}, "g") == {
        "consumer.override.group.id": "Consumer group g conflicts with Connect worker group g"
    }
    assert group_errors({"consumer.override.group.id": " g\t"}, {"name": "c"}, "g"), "a client is given it without blanks"
    replays = {"consumer.override.group.id": "kconnect-dlq-orders-dead"}
    assert "which dead letters were replayed" in str(group_errors(replays, {"name": "c"}, "g"))
