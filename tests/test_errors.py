"""The texts of errors, and that each has a status in REST."""

from __future__ import annotations

import pytest

from kconnect import errors
from kconnect.errors import ConfigError, ConnectError
from kconnect.rest.errors import STATUS


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("abc", "Invalid value abc for configuration k: no"),
        (None, "Invalid value null for configuration k: no"),
        (True, "Invalid value true for configuration k: no"),
        (["a", "b"], "Invalid value [a, b] for configuration k: no"),
        ("", "Invalid value  for configuration k: no"),
    ],
)
def test_a_config_error_names_setting_value_and_rule(value: object, text: str) -> None:
    error = ConfigError("k", value, "no")
    assert (str(error), error.name, error.value) == (text, "k", value)


def test_a_config_error_may_be_a_message_only() -> None:
    error = ConfigError("all is lost")
    assert (str(error), error.name) == ("all is lost", None)


def test_the_head_shows_the_whole_tree() -> None:
    tree = errors.__doc__ or ""
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert len(classes) == 11
    for cls in classes:
        assert issubclass(cls, ConnectError)
        assert cls.__name__ in tree
        assert any(base in STATUS for base in cls.__mro__)
