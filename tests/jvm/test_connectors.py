"""A Java connector, asked for task configs: `kconnect/jvm/connectors.py`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kconnect.core.task.answers import AnswerError
from kconnect.errors import ConnectError
from kconnect.jvm import classes
from kconnect.units import task_class

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]


def numbers(plugin: Path, **config: str) -> Any:
    connector = classes.load("connector", "rig.NumbersSource", str(plugin))()
    connector.start({"topic": "t", **config})
    return connector


def test_task_configs_are_maps_of_texts(java_plugin: Path) -> None:
    assert numbers(java_plugin).task_configs(2) == [{"topic": "t", "number": "0"}, {"topic": "t", "number": "1"}]
    assert numbers(java_plugin, configs="a null value").task_configs(1) == [{}], "the setting is not set"


@pytest.mark.parametrize(
    ("configs", "given"),
    [
        ("nothing", "null"),
        ("a null", "null as the config of task 0"),
        ("a text", "a java.lang.String as the config of task 0"),
        ("a number", "a java.lang.Integer as the value of a setting of task 0"),
    ],
)
def test_an_answer_that_is_no_list_of_configs_is_refused_in_a_sentence(java_plugin: Path, configs: str, given: str) -> None:
    with pytest.raises(AnswerError) as caught:
        numbers(java_plugin, configs=configs).task_configs(1)
    assert str(caught.value) == (
        f"rig.NumbersSource.taskConfigs() returned {given}, but must return a list with one map of texts for each task, which "
        "is empty if there is nothing to do"
    )


def test_what_it_throws_is_no_answer(java_plugin: Path) -> None:
    connector = numbers(java_plugin, configs="fail 1")
    with pytest.raises(ConnectError, match="the database is starting") as caught:
        connector.task_configs(1)
    assert not isinstance(caught.value, AnswerError)
    assert "Caused by: java.io.IOException: refused" in caught.value.java_trace  # type: ignore[attr-defined]
    assert len(connector.task_configs(1)) == 1


def test_tasks_are_of_the_class_that_the_started_connector_has_named(java_plugin: Path) -> None:
    """One that was never started may not know which: it is not asked then."""
    connector = numbers(java_plugin)
    assert connector.task_class_named("rig.NumbersTask") is not None
    for name in ("rig.RecordingTask", "java.lang.String", "rig.Gone"):
        with pytest.raises(ConnectError, match=re.escape(name)):
            connector.task_class_named(name)
    assert task_class.of(connector, "rig.NumbersTask").java_class == "rig.NumbersTask"  # type: ignore[attr-defined]
