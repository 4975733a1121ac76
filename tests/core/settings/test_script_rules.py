"""Which scripts of Debezium's transforms a config may have."""

from __future__ import annotations

import pytest

from kconnect.core.settings.unsafe import of_config


def refused(script: str, name: str = "condition", language: str = "jsr223.groovy", *allowed: str) -> list[str]:
    config = {"transforms.f.type": "io.debezium.transforms.Filter", "transforms.f.language": language}
    return [danger.setting for danger in of_config({**config, f"transforms.f.{name}": script}, allowed)]


@pytest.mark.parametrize(
    "script",
    [
        "value.op == 'u' && value.updateDescription.updatedFields != '{}' && value.removedFields != null",
        "value.after?.status == 'shipped'",
        "value.op in ['c', 'u'] || !(value.before.id >= 10.5)",
        'value.after["is_sync"] == 0 ? "yes" : "no"',
        "header.x.value == -1",
    ],
)
def test_scripts_that_compare(script: str) -> None:
    assert refused(script) == []


@pytest.mark.parametrize(
    "script",
    [
        "'touch /tmp/x'.execute() != null",
        "evaluate '1'",
        "value.x 'touch'",
        "value.class.classLoader == null",
        "new File('x') == null",
        "(value.x)('y')",
        "value['x']('y')",
        '"${1}" == 1',
        "value.x = 1",
        "{ -> 1 } == 1",
        "value.&x == 1",
        "@groovy.transform.ASTTest x",
        "/x/ == 1",
        "`x` == 1",
        "value.op == 'a\\'.execute() + '",
        "eval\u0028'x')",
        "value.op == 'c' // \n println('x')",
    ],
)
def test_scripts_that_do_more(script: str) -> None:
    """Whoever may create connectors has a script engine run what they like: it is refused."""
    assert refused(script) == ["transforms.f.condition"]
    assert refused(script, "topic.expression") == ["transforms.f.topic.expression"]
    assert refused(script, "condition", " GRAAL.js") == ["transforms.f.condition"]
    assert refused(script, "condition", "jsr223.groovy", "language") == [], "the worker's file allows it"


def test_a_language_without_a_script_that_is_known() -> None:
    assert [danger.setting for danger in of_config({"transforms.f.language": "jsr223.groovy", "transforms.f.code": "x()"})]
    assert list(of_config({"text.language": "en", "text.condition": "f()"})) == []


@pytest.mark.parametrize("text", ["(", "a.", "'", "1", "a ", "!"])
def test_a_long_script_does_not_take_long(text: str) -> None:
    refused(text * 200_000)
