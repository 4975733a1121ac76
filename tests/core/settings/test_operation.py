"""The settings that Connect does not have: in both tables, with their own reading."""

from __future__ import annotations

import pytest

from kconnect.core.settings.operation import KEYS, Operation
from kconnect.core.settings.sink import SINK_CONFIG
from kconnect.core.settings.source import SOURCE_CONFIG


def test_sources_and_sinks_have_them() -> None:
    names = {key.name for key in KEYS}
    assert names <= SINK_CONFIG.keys.keys()
    assert names <= SOURCE_CONFIG.keys.keys()


def test_the_defaults_are_those_of_the_rows() -> None:
    assert Operation.of({}) == Operation(*(key.default for key in KEYS))


def test_values_are_read_as_numbers_and_what_can_t_be_read_has_its_default() -> None:
    read = Operation.of({"errors.restart.max.attempts": "-1", "errors.restart.backoff.ms": "50", "tasks.weight": "3"})
    assert read == Operation(-1, 50, 300_000, 3)
    assert Operation.of({"tasks.weight": "${file:x:y}"}) == Operation()


@pytest.mark.parametrize(
    ("name", "value"),
    [("errors.restart.max.attempts", "-2"), ("errors.restart.backoff.ms", "0"), ("tasks.weight", "0")],
)
def test_what_makes_no_sense_is_refused(name: str, value: str) -> None:
    errors = {found.name: found.errors for found in SOURCE_CONFIG.validate({name: value})}
    assert any(name in error for error in errors[name])
