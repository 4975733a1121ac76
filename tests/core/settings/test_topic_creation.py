"""Topic creation rules (KIP-158): its examples, and what is wrong with others."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

from kconnect.core.settings import topic_creation
from kconnect.core.settings.topic_creation import Group, TopicCreation, refused, sections, warnings
from kconnect.core.settings.validation import errors_of
from kconnect.errors import ConfigError

DEFAULT = {"topic.creation.default.replication.factor": "3", "topic.creation.default.partitions": "5"}
LISTED = {"topic.creation.groups": "g", "topic.creation.g.include": "t"}


def creation(**settings: str) -> TopicCreation:
    found = TopicCreation.from_config({**DEFAULT, **settings})
    assert found is not None
    return found


def rows(config: dict[str, str]) -> list[dict[str, Any]]:
    return [row for section in sections(config) for row in section.rows()]


def errors(config: dict[str, str]) -> dict[str, list[str]]:
    return {row["value"]["name"]: errors_of(row) for row in rows(config) if errors_of(row)}


def numbers(group: Group) -> tuple[int, int]:
    return group.replication_factor, group.partitions


def test_example_1_one_way_for_all_topics() -> None:
    group = creation().group_of("any")
    assert (group.name, numbers(group), group.config) == ("default", (3, 5), {})


def test_example_2_a_group_takes_what_it_lacks_from_default() -> None:
    rules = creation(
        **{
            "topic.creation.groups": "inorder",
            "topic.creation.inorder.include": "status, orders.*",
            "topic.creation.inorder.partitions": "1",
        }
    )
    assert numbers(rules.group_of("status")) == numbers(rules.group_of("orders-eu")) == (3, 1)
    assert numbers(rules.group_of("statuses")) == numbers(rules.group_of("my-orders")) == (3, 5)


def test_example_3_topic_settings() -> None:
    rules = creation(
        **{
            "topic.creation.groups": "compacted",
            "topic.creation.compacted.include": r"key_value_topic, another\.compacted\.topic, configurations.*",
            "topic.creation.compacted.replication.factor": "5",
            "topic.creation.compacted.partitions": "1",
            "topic.creation.compacted.cleanup.policy": "compact",
        }
    )
    group = rules.group_of("another.compacted.topic")
    assert (numbers(group), group.config) == ((5, 1), {"cleanup.policy": "compact"})
    assert rules.group_of("another-compacted-topic").name == "default"


def test_a_topic_has_settings_of_all_its_groups_and_none_overrides_an_earlier_one() -> None:
    rules = creation(
        **{
            "topic.creation.default.retention.ms": "9",
            "topic.creation.default.segment.ms": "9",
            "topic.creation.groups": "first, second",
            "topic.creation.first.include": "t",
            "topic.creation.first.cleanup.policy": "compact",
            "topic.creation.second.include": "t|u",
            "topic.creation.second.cleanup.policy": "delete",
            "topic.creation.second.segment.ms": "2",
            "topic.creation.second.partitions": "2",
        }
    )
    settings = rules.settings_of("t")
    assert settings.config == {"cleanup.policy": "compact", "segment.ms": "2", "retention.ms": "9"}
    assert (settings.group, settings.replication_factor, settings.partitions) == ("first", 3, 5)
    assert rules.settings_of("u").config == {"cleanup.policy": "delete", "segment.ms": "2", "retention.ms": "9"}
    assert rules.settings_of("v").config == {"retention.ms": "9", "segment.ms": "9"}


def test_example_4_with_its_slip() -> None:
    config = {
        **DEFAULT,
        "topic.creation.groups": "compacted, highly_parallel",
        "topic.creation.highly_parallel.include": "hpc.*,parallel.*",
        "topic.creation.highly_parallel.exclude": ".*internal, .*metadata, .*config.*",
        "topic.creation.highly_parallel.replication.factor": "1",
        "topic.creation.highly_paralle.partitions": "1",
        "topic.creation.compacted.include": "configurations.*",
        "topic.creation.compacted.cleanup.policy": "compact",
    }
    assert errors(config) == {}
    rules = TopicCreation.from_config(config)
    assert rules is not None
    assert [group.name for group in rules.groups] == ["compacted", "highly_parallel", "default"]
    assert numbers(rules.group_of("hpc-1")) == (1, 5)
    assert rules.group_of("hpc-internal").name == "default", "an exclusion overrides any inclusion"
    assert list(warnings("source", config)) == [
        "topic.creation.highly_paralle.partitions has no effect: no group of that name is in topic.creation.groups "
        "(compacted, highly_parallel)"
    ]


def test_of_two_groups_that_match_the_first_counts() -> None:
    both = {"topic.creation.a.include": "t", "topic.creation.a.retention.ms": "1", "topic.creation.b.include": "t"}
    assert creation(**both, **{"topic.creation.groups": "a,b"}).group_of("t").config == {"retention.ms": "1"}
    assert creation(**both, **{"topic.creation.groups": "b,a"}).group_of("t").config == {}


def test_a_topic_that_keeps_a_pattern_busy_is_of_the_default_group() -> None:
    """A record may name its topic: the task failed of it at each start."""
    rules = creation(**{**LISTED, "topic.creation.g.include": "(a|aa)+b"})
    assert (rules.group_of("aab").name, rules.group_of("a" * 60).name) == ("g", "default")


def test_the_default_group_s_topic_settings_are_its_own() -> None:
    rules = creation(**LISTED, **{"topic.creation.default.cleanup.policy": "compact"})
    assert rules.group_of("t").config == {}
    assert rules.group_of("other").config == {"cleanup.policy": "compact"}


def test_without_any_such_setting_topics_are_left_to_the_broker() -> None:
    assert TopicCreation.from_config({"topic": "t"}) is None
    assert rows({"topic": "t"}) == []


def test_the_rows_are_grouped_and_in_order_of_preference() -> None:
    found = rows({**DEFAULT, **LISTED, "topic.creation.g.cleanup.policy": "compact"})
    assert [row["definition"]["name"].removeprefix("topic.creation.") for row in found] == [
        *("g.include", "g.exclude", "g.replication.factor", "g.partitions", "g.cleanup.policy"),
        *("default.replication.factor", "default.partitions"),
    ]
    assert list(dict.fromkeys(row["definition"]["group"] for row in found)) == ["Topic Creation: g", "Topic Creation: default"]
    definitions = {row["definition"]["name"]: row["definition"] for row in found}
    assert definitions["topic.creation.g.partitions"]["default_value"] == "5"
    assert definitions["topic.creation.default.partitions"]["required"]


def test_the_default_group_must_be_complete() -> None:
    missing = 'Missing required configuration "topic.creation.default.{}" which has no default value.'
    assert errors(LISTED) == {
        f"topic.creation.default.{name}": [missing.format(name)] for name in ("replication.factor", "partitions")
    }
    with pytest.raises(ConfigError, match="Missing required configuration"):
        TopicCreation.from_config(LISTED)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("default.partitions", "0", "Number of partitions must be positive, or -1 to use the broker's default"),
        ("default.partitions", "x", "Not a number of type INT"),
        ("default.replication.factor", "-2", "Replication factor must be positive"),
        ("g.partitions", "0", "Number of partitions must be positive"),
        ("g.replication.factor", "99999", "Not a number of type SHORT"),
        ("g.include", "a, (b", "Invalid regex: Unclosed group"),
        ("g.exclude", "[", "Invalid regex: Unclosed character class"),
    ],
)
def test_what_is_wrong_is_said_once_and_where(setting: str, value: str, message: str) -> None:
    config = {**DEFAULT, **LISTED, f"topic.creation.{setting}": value}
    found = errors(config)
    assert list(found) == [f"topic.creation.{setting}"]
    (text,) = found[f"topic.creation.{setting}"]
    assert f"for configuration topic.creation.{setting}: {message}" in text
    with pytest.raises(ConfigError, match=f"topic.creation.{setting}: "):
        TopicCreation.from_config(config)


def test_minus_one_is_the_broker_s_default() -> None:
    config = dict.fromkeys(DEFAULT, "-1")
    assert errors(config) == {}
    assert numbers(creation(**config).group_of("t")) == (-1, -1)


def test_a_setting_belongs_to_the_group_with_the_longest_name() -> None:
    rules = creation(
        **{
            "topic.creation.groups": "a,a.b",
            "topic.creation.a.include": "x",
            "topic.creation.a.b.include": "y",
            "topic.creation.a.b.partitions": "7",
        }
    )
    assert (rules.group_of("x").partitions, rules.group_of("x").config) == (5, {})
    assert rules.group_of("y").partitions == 7


def test_what_has_no_effect_is_told() -> None:
    config = {
        **DEFAULT,
        "topic.creation.groups": "default, g",
        "topic.creation.default.include": "x",
        "topic.creation.g.partitions": "1",
    }
    assert errors(config) == {}
    assert [text.split(":")[0] for text in warnings("source", config)] == [
        "topic.creation.groups need not list the group default, which always exists and is always the last one",
        "topic.creation.default.include has no effect",
        "The group g has no effect",
    ]
    assert [text.split(":")[0] for text in warnings("sink", config)] == [
        "topic.creation.* settings have no effect on a sink connector"
    ]
    assert creation(**config).group_of("x").name == "default"
    assert list(warnings("sink", {"topics": "t"})) == []


def test_a_worker_may_refuse_them_all() -> None:
    found, own = refused({**DEFAULT, "topic.creation.groups": "g", "topic": "t"})
    named = [row["value"]["name"] for section in found for row in section.rows()]
    assert named == list(DEFAULT)
    assert [name for name, _ in own] == ["topic.creation.groups"]
    assert "topic.creation.enable is false" in own[0][1]
    assert refused({"topic": "t"}) == ([], [])


def test_no_group_is_looked_at_for_the_settings_of_another() -> None:
    """Of 8,000 groups that took half a minute, at each start of a task."""
    names = [f"g{number}" for number in range(1000)]
    many = {
        f"topic.creation.{name}.{setting}": value
        for name in names
        for setting, value in (("include", name), ("partitions", "2"))
    }
    with patch.object(topic_creation, "_split", wraps=topic_creation._split) as split:
        found = creation(**{"topic.creation.groups": ",".join(names), **many})
    assert [group.name for group in found.groups] == [*names, "default"]
    groups = {id(call.args[1]) for call in split.call_args_list}
    assert len(groups) == 1 and all(len(call.args[1]) <= len("default") for call in split.call_args_list)
