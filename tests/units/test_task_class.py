"""Which class a task is of: the one that its started connector has named."""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.api.config import ConfigDef
from kconnect.api.connector import SourceConnector
from kconnect.api.task import SourceTask
from kconnect.plugins.java_names import task_class_name
from kconnect.units import task_class


class First(SourceTask):
    def version(self) -> str:
        return "1"

    def start(self, props: dict[str, str]) -> None: ...

    def stop(self) -> None: ...

    def poll(self) -> None:
        return None


class Second(First):
    class Inner(First):
        """A class within another one."""


class Choosing(SourceConnector):
    """Knows by its config which tasks it has, as in Kafka Connect it may."""

    def version(self) -> str:
        return "1"

    def config(self) -> ConfigDef:
        return ConfigDef()

    def start(self, props: dict[str, str]) -> None:
        self._props = props

    def stop(self) -> None: ...

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{}]

    def task_class(self) -> type[Any]:
        return {"second": Second, "inner": Second.Inner}[self._props["kind"]]


class Changing(Choosing):
    def task_class(self) -> type[Any]:
        return Second if hasattr(self, "_props") else First


@pytest.mark.parametrize("kind", ["second", "inner"])
def test_a_connector_that_was_never_started_is_not_the_one_to_say(kind: str) -> None:
    started = Choosing()
    started.start({"kind": kind})
    assert task_class.of(Choosing(), task_class_name(started.task_class())) is started.task_class()


def test_what_the_started_one_has_named_counts() -> None:
    assert task_class.of(Changing(), f"{__name__}.Second") is Second
    assert task_class.of(Changing(), f"{__name__}.First") is First


@pytest.mark.parametrize("name", [None, f"{__name__}.Gone", "os.path", "com.acme.Task", "", f"{__name__}.ConfigDef", __name__])
def test_a_name_that_is_no_class_of_its_tasks_any_more(name: str | None) -> None:
    assert task_class.of(Changing(), name) is First
    with pytest.raises(AttributeError, match="_props"):
        task_class.of(Choosing(), name)
