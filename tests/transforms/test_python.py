"""The transform Python: which functions it takes, from where, and what becomes of records; and that configs can't widen it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kconnect.api import ConfigError, DataError, SourceRecord
from kconnect.core.settings.worker import WorkerSettings
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from kconnect.transforms.python import PATH, Python
from kconnect.units.transforms import Transforms

FUNCTIONS = """
import wordlist

seen = []

def shout(record):
    return record.new_record(value=record.value.upper())

def drop_short(record, *, least):
    return record if len(record.value) >= int(least) else None

def tag(record, **settings):
    return record.new_record(value={"value": record.value, **settings})

def wrong(record):
    return record.value

def from_beside(record):
    return record.new_record(value=wordlist.WORD)

def count(record):
    seen.append(record.value)
    if record.value == "bad":
        raise ValueError("no " + record.value)
    return record

def both(record):
    return record.new_record(value="one")

def _all(records):
    return [record.new_record(value="all") for record in records]

both.batch = _all
not_a_function = 1
"""
CONFIG = {"transforms": "p", "transforms.p.type": "Python"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    allowed = tmp_path / "allowed"
    (allowed / "team").mkdir(parents=True)
    (allowed / "functions.py").write_text(FUNCTIONS)
    (allowed / "wordlist.py").write_text("WORD = 'beside'\n")
    (allowed / "team" / "more.py").write_text("def same(record):\n    return record\n")
    (allowed / "broken.py").write_text("raise RuntimeError('on import')\n")
    (allowed / "leaves.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "outside.py").write_text("import sys\nsys.reached_outside = True\ndef same(record):\n    return record\n")
    (allowed / "link.py").symlink_to(tmp_path / "outside.py")
    (allowed / "linked").symlink_to(tmp_path)
    return allowed


def made(folder: Path | str | None, function: str, **settings: str) -> Python:
    transform = Python()
    if folder is not None:
        transform.worker = {PATH: str(folder)}
    transform.configure({"function": function, **settings})
    return transform


def record(value: Any) -> SourceRecord:
    return SourceRecord({}, {}, "t", value=value)


def values(records: Any) -> list[Any]:
    return [None if each is None else each.value for each in records]


@pytest.mark.parametrize("name", ["functions:shout", "functions.py:shout", " functions:shout "])
def test_a_function_of_an_allowed_folder(folder: Path, name: str) -> None:
    assert made(folder, name).apply(record("a")).value == "A"


@pytest.mark.parametrize("name", ["team.more:same", "team/more.py:same"])
def test_a_folder_within_the_folder(folder: Path, name: str) -> None:
    assert made(f"/nowhere,{folder}", name).apply(record("a")).value == "a"


def test_it_may_import_what_lies_beside_it(folder: Path) -> None:
    assert made(folder, "functions:from_beside").apply(record("a")).value == "beside"


def test_settings_are_handed_over(folder: Path) -> None:
    assert made(folder, "functions:drop_short", least="2").apply(record("a")) is None
    assert made(folder, "functions:tag", team="x").apply(record("a")).value == {"value": "a", "team": "x"}
    with pytest.raises(ConfigError, match=r"can't be called with a record and these settings \(none\): missing .* 'least'"):
        made(folder, "functions:drop_short")
    with pytest.raises(ConfigError, match=r"these settings \(laest\): "):
        made(folder, "functions:drop_short", laest="2")


def test_what_is_no_record(folder: Path) -> None:
    with pytest.raises(DataError, match=r"^functions:wrong must return a record or None, but returned a str$"):
        made(folder, "functions:wrong").apply(record("a"))


def test_a_changed_file_counts_for_tasks_that_start_later(folder: Path) -> None:
    before = made(folder, "team.more:same")
    (folder / "team" / "more.py").write_text("def same(record):\n    return None\n")
    assert made(folder, "team.more:same").apply(record("a")) is None
    assert before.apply(record("a")).value == "a"


@pytest.mark.parametrize("folders", [None, "", " , "])
def test_it_is_off_unless_the_worker_allows_it(folders: str | None) -> None:
    with pytest.raises(ConfigError, match=r"for configuration function: Python functions are off on this worker: the worker "):
        made(folders, "functions:shout")


@pytest.mark.parametrize(
    "name",
    [
        "../outside:same",
        "../outside.py:same",
        "team/../../outside.py:same",
        "/etc/passwd:x",
        "link:same",
        "link.py:same",
        "linked.outside:same",
        "linked/outside.py:same",
        "os:system",
        "subprocess:run",
        "kconnect.transforms.python:os",
        "functions",
        "functions:",
        ":shout",
        "functions:seen.append",
        "functions:shout()",
        "functions:__import__('os')",
        "a\0b:same",
        ".hidden:same",
        "~/x.py:same",
        "team:same",
        "",
    ],
)
def test_there_is_no_way_out_of_the_folder(folder: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=r"for configuration function: (it must be module:function|there is no )"):
        made(folder, name)
    assert not hasattr(sys, "reached_outside")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("functions:nope", r"functions\.py has no function nope$"),
        ("functions:not_a_function", r"functions\.py has no function not_a_function$"),
        ("broken:x", r"broken\.py can't be imported: RuntimeError: on import$"),
        ("leaves:x", r"leaves\.py can't be imported: SystemExit: 3$"),
    ],
)
def test_a_function_that_can_not_be_had(folder: Path, name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        made(folder, name)


def chain(folder: Path, function: str, **settings: str) -> Transforms:
    config = {**CONFIG, "transforms.p.function": function, **settings}
    return Transforms(config, Registry.scan(None), worker={PATH: str(folder), "sasl.password": "secret"})


class TestInATask:
    def test_the_worker_s_setting_is_given(self, folder: Path) -> None:
        assert values(chain(folder, "functions:shout").steps.apply([record("a"), record("b")])) == ["A", "B"]

    def test_a_batch_function_takes_many_records(self, folder: Path) -> None:
        assert values(chain(folder, "functions:both").steps.apply([record("a"), record("b")])) == ["all", "all"]
        assert made(folder, "functions:both").apply(record("a")).value == "one"

    def test_no_record_is_seen_twice(self, folder: Path) -> None:
        steps = chain(folder, "functions:count").steps
        with pytest.raises(Exception, match="no bad"):
            steps.apply([record("a"), record("bad")])
        seen: Callable[..., Any] = steps.steps[0].apply
        assert seen.__self__._function.__globals__["seen"] == ["a", "bad"]  # type: ignore[attr-defined]

    @pytest.mark.parametrize("setting", [PATH, "worker", "worker_settings", f"worker.{PATH}"])
    def test_a_config_can_not_allow_it(self, folder: Path, setting: str) -> None:
        config = {
            **CONFIG,
            "transforms.p.function": "functions:shout",
            f"transforms.p.{setting}": str(folder),
            setting: str(folder),
        }
        with pytest.raises(ConfigError, match="Python functions are off on this worker"):
            Transforms(config, Registry.scan(None), worker={})

    def test_plugins_learn_of_nothing_else(self, folder: Path) -> None:
        transform = chain(folder, "functions:shout").steps.steps[0].apply.__self__  # type: ignore[attr-defined]
        assert transform.worker == {PATH: str(folder)}


@pytest.mark.process
class TestInValidation:
    def rows(self, folder: Path | None, **settings: str) -> dict[str, list[str]]:
        known: Mapping[str, str] = {} if folder is None else {PATH: str(folder)}
        config = {"name": "c", "connector.class": "FileStreamSource", "topic": "t", **CONFIG}
        config |= {f"transforms.p.{name.replace('__', '.')}": value for name, value in settings.items()}
        sandbox = Sandbox(Registry.scan(None), plugin_settings=known)
        try:
            rows = sandbox.validate("FileStreamSource", config)["configs"]
        finally:
            sandbox.close()
        found = {row["value"]["name"]: row["value"]["errors"] for row in rows}
        return {name: errors for name, errors in found.items() if name.startswith("transforms.p.")}

    def test_a_good_one(self, folder: Path) -> None:
        rows = self.rows(folder, function="functions:drop_short", least="2")
        assert rows["transforms.p.function"] == rows["transforms.p.least"] == []

    def test_a_bad_one(self, folder: Path) -> None:
        (error,) = self.rows(folder, function="functions:nope")["transforms.p.function"]
        assert error == "Invalid value functions:nope for configuration function: functions.py has no function nope"

    def test_where_it_is_off(self) -> None:
        (error,) = self.rows(None, function="functions:shout")["transforms.p.function"]
        assert "Python functions are off on this worker" in error

    def test_expressions_too(self) -> None:
        rows = self.rows(None, type="Expression", field__total="value.(", field__x="1", header__y="nope")
        assert rows["transforms.p.field.x"] == []
        assert "expected a name, found (" in rows["transforms.p.field.total"][0]
        assert "there is no variable nope" in rows["transforms.p.header.y"][0]


def test_the_worker_s_folders_are_absolute() -> None:
    needed = dict.fromkeys(
        ("bootstrap.servers", "group.id", "config.storage.topic", "offset.storage.topic", "status.storage.topic"), "x"
    )
    needed |= {"key.converter": "x", "value.converter": "x"}
    assert WorkerSettings.from_properties({**needed, PATH: "/a, /b"}, {}).python_transform_path == ["/a", "/b"]
    assert WorkerSettings.from_properties(needed, {}).python_transform_path == []
    with pytest.raises(ConfigError, match="Must be absolute paths"):
        WorkerSettings.from_properties({**needed, PATH: "functions"}, {})
