"""The texts of errors, and what each class means to REST and the command line."""

from __future__ import annotations

import pytest

from kconnect import errors
from kconnect.cli import main
from kconnect.errors import ConfigError, ConnectError
from kconnect.rest.client import RestError


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
    assert len(classes) == 18
    for cls in classes:
        assert issubclass(cls, ConnectError)
        assert cls.__name__ in tree


def test_each_class_has_a_row() -> None:
    classes = {value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)}
    assert classes <= errors.TABLE.keys()
    assert classes == set(errors.BY_NAME.values())


def test_a_class_of_ones_own_has_its_nearest_relatives_row() -> None:
    class Own(errors.NotFoundError):
        pass

    assert errors.row_of(Own) is errors.TABLE[errors.NotFoundError]
    assert errors.row_of(KeyError).status == 500 and errors.row_of(KeyError).java is None
    assert errors.row_of(KeyboardInterrupt).java is None


@pytest.mark.parametrize(
    ("kind", "exit"),
    [
        (errors.ConnectError, 1),
        (errors.ConfigError, 6),
        (errors.NotFoundError, 4),
        (errors.AlreadyExistsError, 5),
        (errors.ConflictError, 5),
        (errors.BadRequestError, 6),
        (errors.ForbiddenError, 8),
        (errors.RequestTimeoutError, 3),
        (errors.UnavailableError, 3),
        (ValueError, 1),
        (KeyError, 1),
    ],
)
def test_exit_statuses(kind: type[Exception], exit: int) -> None:
    assert main.status_of(kind("x")) == exit


@pytest.mark.parametrize(
    ("status", "exit"),
    [(None, 3), (400, 6), (401, 8), (403, 8), (404, 4), (405, 6), (406, 6), (409, 5), (413, 1), (415, 6), (500, 1), (503, 1)],
)
def test_exit_statuses_of_answers(status: int | None, exit: int) -> None:
    assert RestError(status, "x").exit_code == exit


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("It is invalid:\n  a: no\n  b: no", "It is invalid: a: no; b: no"),
        ("one\n\n two", "one; two"),
        ("one", "one"),
        ("", ""),
    ],
)
def test_lines_of_an_error_in_one(text: str, line: str) -> None:
    assert errors.in_one_line(text) == line
