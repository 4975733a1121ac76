"""From an error's class to its status, and what the log gets."""

from __future__ import annotations

import logging

import pytest

from kconnect import errors as api

from .conftest import Http, assert_error
from .herder import MemoryHerder


class OwnError(api.NotFoundError):
    """Of a family that the table knows."""


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (api.BadRequestError("x"), 400),
        (api.ForbiddenError("x"), 403),
        (api.NotFoundError("x"), 404),
        (OwnError("x"), 404),
        (api.AlreadyExistsError("x"), 409),
        (api.ConflictError("x"), 409),
        (api.RequestTimeoutError("x"), 500),
        (api.UnavailableError("x"), 503),
        (api.ConnectError("x"), 500),
        (api.RetriableError("x"), 500),
        (api.DataError("x"), 500),
        (api.ConfigError("x"), 500),
        (RuntimeError("x"), 500),
    ],
)
def test_statuses(http: Http, herder: MemoryHerder, error: Exception, status: int) -> None:
    herder.fail_next = error
    assert_error(http("GET", "/connectors"), status, "x")


def test_unknown_error_without_a_text_is_named(http: Http, herder: MemoryHerder) -> None:
    herder.fail_next = ZeroDivisionError()
    assert_error(http("GET", "/connectors"), 500, "ZeroDivisionError")


def test_unknown_error_is_logged_once_with_its_trace(
    http: Http, herder: MemoryHerder, caplog: pytest.LogCaptureFixture
) -> None:
    herder.fail_next = KeyError("boom")
    http("GET", "/connectors")
    logged = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert [record.getMessage() for record in logged] == ["GET /connectors failed unexpectedly"]
    assert logged[0].exc_info is not None


def test_what_the_client_did_wrong_is_not_logged(http: Http, caplog: pytest.LogCaptureFixture) -> None:
    http("GET", "/connectors/nope")
    http("POST", "/connectors", content=b"{", headers={"content-type": "application/json"})
    # The access log and the audit log have a line for every request.
    names = {record.name for record in caplog.records if record.name.startswith("kconnect")}
    assert names <= {"kconnect.rest.access", "kconnect.audit"}
