"""What `kconnect.testing` gives to authors of plugins: it finds what is wrong, and nothing in what is right."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest

import kconnect.testing
from kconnect.api import (
    INT64_SCHEMA,
    ConfigError,
    ConnectError,
    RetriableError,
    SourceRecord,
    TopicPartition,
)
from kconnect.connectors.file_sink import FileStreamSinkConnector
from kconnect.connectors.file_source import FileStreamSourceConnector
from kconnect.converters.json import JsonConverter
from kconnect.converters.simple_header import SimpleHeaderConverter
from kconnect.predicates.topic_name_matches import TopicNameMatches
from kconnect.testing import (
    PluginProblems,
    SinkRunner,
    SourceRunner,
    check_plugin,
    config_errors,
    config_infos,
    configured,
    holds,
    round_trip,
    sink_records,
    source_record,
    transform,
)
from kconnect.transforms.mask_field import MaskFieldValue
from tests.testing import bad_plugins as bad

COUNT = {"topic": "numbers"}
ODD: Any = {"trace": 1}


def test_the_public_names() -> None:
    assert kconnect.testing.__all__ == sorted(kconnect.testing.__all__)
    assert all(hasattr(kconnect.testing, name) for name in kconnect.testing.__all__)


# --- a source ---


def test_a_source_goes_on_behind_what_was_acknowledged() -> None:
    with SourceRunner(bad.Counting, COUNT) as source:
        assert [record.value for record in source.read(2)] == ["1", "2"]
        assert source.offsets == [({"counter": "one"}, {"number": 2})]
        assert [record.value for record in source.poll(acknowledge=False)] == ["3"]
        source.restart(crash=True)
        assert [record.value for record in source.poll()] == ["3"]


def test_a_source_finds_offsets_that_were_there_before() -> None:
    with SourceRunner(bad.Counting, COUNT, offsets=[({"counter": "one"}, {"number": 41})]) as source:
        assert source.poll()[0].value == "42"


def test_offsets_come_back_as_json_has_them(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"a\nb\n")
    with SourceRunner(FileStreamSourceConnector, {"file": str(file), "topic": "lines"}) as source:
        assert [record.value for record in source.poll()] == ["a", "b"]
        with open(file, "ab") as more:
            more.write(b"c\n")
        source.restart()
        assert [record.value for record in source.poll()] == ["c"]
        assert source.offsets == [({"filename": str(file)}, {"position": 6})]


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (SourceRecord({"a": 1}, {"at": [1]}, "t"), "primitive types.* field at contains list"),
        (SourceRecord({"a": {}}, {"at": 1}, "t"), "primitive types.* field a contains dict"),
        (SourceRecord(None, {"at": 1}, "t"), "no source partition"),
        (SourceRecord({"a": 1}, {"at": 1}, ""), "its topic is ''"),
        (SourceRecord({"a": 1}, {"at": 1}, "t/1"), "'t/1' is not a topic name"),
        (SourceRecord({"a": 1}, {"at": 1}, "t", value={1, 2}), "its value needs a schema, or is no data: .*class builtins.set"),
        (
            SourceRecord({"a": 1}, {"at": 1}, "t", key=object()),
            "its key needs a schema, .*class builtins.object",
        ),
        (SourceRecord({"a": 1}, {"at": 1}, "t", value_schema=INT64_SCHEMA, value="x"), "INT64.*String"),
        (SourceRecord({"a": 1}, {"at": 1}, "t", timestamp=-1), "timestamp is -1"),
        (SourceRecord({"a": 1}, {"at": 1}, "t", value_schema=INT64_SCHEMA, value="x"), "class str, does not fit its schema"),
        (SourceRecord({"a": 1}, {"at": 1}, "t", partition=ODD), "The partition of a source record is {'trace': 1}"),
        (SourceRecord({"a": 1}, {"at": 1}, "t", headers=ODD), "its headers hold a str, but must be Headers"),
        ("text", "returned a str as record 1"),
    ],
)
def test_records_that_no_worker_could_use(record: Any, words: str) -> None:
    with (
        SourceRunner(bad.counting_task(record=lambda self, number: record), COUNT) as source,
        pytest.raises(AssertionError, match=words),
    ):
        source.poll()


def test_what_a_task_is_told_of_its_records() -> None:
    told: list[Any] = []
    connector = bad.counting_task(
        commit_record=lambda self, record, metadata: told.append((record.value, metadata.topic, metadata.offset)),
        commit=lambda self: told.append("commit"),
    )
    with SourceRunner(connector, COUNT) as source:
        source.read(2)
    assert told == [("1", "numbers", 0), "commit", ("2", "numbers", 1), "commit"]


def test_reading_tries_again_what_is_retriable_and_gives_up_in_words() -> None:
    polls = iter([RetriableError("not yet"), RetriableError("not yet"), None])

    def poll(self: Any) -> Any:
        error = next(polls, RetriableError("the server is away"))
        if error is not None:
            raise error
        return [self.record(7)]

    with SourceRunner(bad.counting_task(poll=poll), COUNT) as source:
        assert source.read(1)[0].value == "7"
        with pytest.raises(AssertionError, match="returned 0 of 1 records within 0 s; the last poll said: the server is away"):
            source.read(1, timeout=0)


def test_transactions_end_where_the_task_says() -> None:
    def poll(self: Any) -> list[SourceRecord]:
        records = [self.record(self._last + number) for number in (1, 2, 3)]
        self.context.transaction_context.commit_transaction(records[1])
        self._last += 3
        return records

    connector = bad.counting_task(poll=poll)
    connector.can_define_transaction_boundaries = lambda self, props: True  # type: ignore[method-assign]
    with SourceRunner(connector, {**COUNT, "transaction.boundary": "connector"}) as source:
        source.poll()
        assert [[record.value for record in each.records] for each in source.transactions] == [["1", "2"]]
        assert source.offsets == [({"counter": "one"}, {"number": 2})]
        source.restart(crash=True)
        assert source.poll()[0].value == "3"


@pytest.mark.parametrize(
    ("runner", "base", "task_base", "config"),
    [(SourceRunner, bad.Counting, bad.CountingTask, COUNT), (SinkRunner, bad.Keeping, bad.KeepingTask, {})],
    ids=["source", "sink"],
)
@pytest.mark.parametrize("fails", ["connector start", "task initialize", "task start"])
def test_what_was_begun_and_failed_is_stopped_as_in_a_worker(
    runner: Any, base: type[Any], task_base: type[Any], config: dict[str, str], fails: str
) -> None:
    stopped: list[str] = []

    def methods(who: str) -> dict[str, Any]:
        failing = {call: bad.raising for call in ("initialize", "start") if fails == f"{who} {call}"}
        return {**failing, "stop": lambda self: stopped.append(who), "__module__": __name__}

    task = type("Task", (task_base,), methods("task"))
    connector = type("Changed", (base,), {**methods("connector"), "task_class": lambda self: task})
    with pytest.raises(KeyError):
        runner(connector, config).start()
    assert stopped == (["connector"] if fails.startswith("connector") else ["task", "connector"])


def test_the_number_of_tasks_is_checked() -> None:
    with pytest.raises(ConnectError, match=r"task_configs\(1\) returned 2 configs: at most 1"):
        SourceRunner(bad.counting(task_configs=lambda self, n: [{}, {}]), COUNT).start()
    with pytest.raises(ConnectError, match=r"the setting 'n' as a int"):
        SourceRunner(bad.counting(task_configs=lambda self, n: [{"n": 1}]), COUNT).start()
    with pytest.raises(ConnectError, match="There is no task 1"):
        SourceRunner(bad.Counting, COUNT, task=1).start()


# --- a sink ---


def test_a_sink_in_the_order_of_a_worker() -> None:
    place = TopicPartition("lines", 0)
    with SinkRunner(bad.Keeping, {"topics": "lines"}) as sink:
        task: Any = sink.task
        sink.put(sink_records("a", "b", topic="lines", offset=5))
        assert sink.committed == {}
        assert sink.flush() == {place: 7}
        sink.put(sink_records("c", topic="lines", offset=7))
    assert [record.value for record in task.kept] == ["a", "b", "c"]
    assert task.calls == ["open lines-0", "flush", "flush", "close", "stop"]
    assert sink.committed == {place: 8}


def test_after_a_crash_nothing_more_is_committed() -> None:
    with SinkRunner(bad.Keeping, {"topics": "lines"}) as sink:
        sink.put(sink_records("a", topic="lines"))
        task: Any = sink.task
        sink.restart(crash=True)
        assert sink.committed == {} and task.calls == ["open lines-0"]


def test_bad_records_are_reported_where_that_is_configured() -> None:
    with SinkRunner(bad.Keeping, {"topics": "lines", "errors.tolerance": "all"}) as sink:
        sink.put(sink_records("bad", "good"))
        assert [(record.value, str(error)) for record, error in sink.reported] == [("bad", "it is bad")]
    with SinkRunner(bad.Keeping, {"topics": "lines"}) as sink:
        sink.put(sink_records("bad"))
        assert sink.reported == []


def test_a_sink_may_not_commit_what_it_was_not_given() -> None:
    def pre_commit(self: Any, offsets: Any) -> Any:
        return {place: position._replace(offset=position.offset + 1) for place, position in offsets.items()}

    task = type("Eager", (bad.KeepingTask,), {"pre_commit": pre_commit})
    connector = type("EagerSink", (bad.Keeping,), {"task_class": lambda self: task})
    sink = SinkRunner(connector, {}).start()
    sink.put(sink_records("a"))
    with pytest.raises(AssertionError, match="of test-0"):
        sink.flush()


def test_the_built_in_sink(tmp_path: Path) -> None:
    file = tmp_path / "out"
    with SinkRunner(FileStreamSinkConnector, {"file": str(file), "topics": "lines", "tasks.max": "2"}) as sink:
        sink.put(sink_records("a", "b"))
        assert len(sink.task_configs) == 2
    assert file.read_text() == "a\nb\n"


# --- what stands in between ---


def test_transforms_predicates_converters() -> None:
    given = source_record({"id": 7, "card": "4111"})
    made = transform(MaskFieldValue, {"fields": "card"}, given)
    assert made is not None and made.value == {"id": 7, "card": ""}
    assert holds(TopicNameMatches, {"pattern": "or.*"}, source_record(topic="orders"))
    assert not holds(TopicNameMatches, {"pattern": "x.*"}, source_record(topic="orders"))
    assert round_trip(JsonConverter, {"schemas.enable": "false"}, {"a": [1, None]}).value == {"a": [1, None]}
    assert round_trip(bad.Texts, {}, "ä").value == "ä"


def test_a_config_that_would_be_refused() -> None:
    with pytest.raises(ConfigError, match=r"The config of MaskFieldValue would be refused: .*fields"):
        transform(MaskFieldValue, {}, source_record({}))
    with pytest.raises(ConfigError, match=r"The config of Counting would be refused: .*topic"):
        SourceRunner(bad.Counting, {})
    with pytest.raises(ConfigError, match="Settings are texts"):
        SourceRunner(bad.Counting, {"topic": 7})  # type: ignore[dict-item]
    with pytest.raises(ConnectError, match="use SourceRunner or SinkRunner"):
        configured(bad.Counting)


def test_validation_is_that_of_rest() -> None:
    infos = config_infos(bad.Counting, {"topic": "t", "tasks.max": "zero"})
    assert infos["error_count"] == 2 and {"name", "groups", "configs"} < infos.keys()
    assert config_errors(bad.Counting, {"topic": "t", "tasks.max": "zero"}) == {
        "tasks.max": [
            "Invalid value zero for configuration tasks.max: Not a number of type INT",
            "Invalid value null for configuration tasks.max: Value must be non-null",
        ]
    }
    assert config_errors(bad.Counting, {"topic": "t", "transforms": "x"}).keys() == {"transforms.x.type"}
    assert config_errors(bad.Counting, COUNT) == {}


# --- the checks ---


@pytest.mark.parametrize(
    ("plugin", "config", "records"),
    [
        (bad.Counting, COUNT, ()),
        (bad.counting(bad.WithLateStop), COUNT, ()),
        (bad.Keeping, {"topics": "t"}, sink_records("a", "b")),
        (bad.Upper, {"field": "name"}, [source_record({"name": "ada"}), *sink_records({"name": "ada"})]),
        (bad.Texts, {}, [source_record("ä")]),
        (JsonConverter, {"schemas.enable": "false"}, [source_record({"a": 1})]),
        (SimpleHeaderConverter, {}, ()),
    ],
)
def test_what_is_right_has_no_problems(plugin: type[Any], config: dict[str, str], records: Any) -> None:
    check_plugin(plugin, config, records)


def _versioned(version: Any) -> type[Any]:
    return bad.counting(version=lambda self: version)


@pytest.mark.parametrize(
    ("plugin", "config", "records", "words"),
    [
        (_versioned(""), COUNT, (), r"version\(\) returned '', which is not a version"),
        (_versioned(None), COUNT, (), r"version\(\) returned None"),
        (_versioned("undefined"), COUNT, (), "has no version"),
        (bad.counting(version=bad.raising), COUNT, (), r"version\(\) raised KeyError: 'oops' \(bad_plugins.py, line \d+\)"),
        (bad.NeedsSettings, COUNT, (), r"can't be made: NeedsSettings\(\) raised TypeError"),
        (bad.Unfinished, COUNT, (), "lacks methods that its base class declares: config, start, stop, task_"),
        (bad.NoInstanceYet, COUNT, (), r"config\(\) can't be used: AttributeError"),
        (bad.counting(config=lambda self: None), COUNT, (), "returned None, but must return a ConfigDef"),
        (bad.BadSettings, COUNT, (), "declares the setting tasks.max, which belongs to the framework"),
        (bad.BadSettings, COUNT, (), "the setting silent has no doc"),
        (bad.BadSettings, COUNT, (), "the setting db.password seems to be a secret"),
        (bad.BadSettings, COUNT, (), "the default of limit is refused.*at least 1"),
        (bad.Counting, {}, (), "validation refuses the config: .*topic"),
        (bad.RaisingValidation, COUNT, (), r"validate\(\) of an empty config raised KeyError: 'topic'"),
        (bad.Preflight, COUNT, (), r"exactly_once_support\(\) returned True"),
        (bad.counting(start=bad.raising), COUNT, (), "could not be started: KeyError"),
        (bad.counting(task_class=lambda self: bad.KeepingTask), COUNT, (), "must return a class derived from SourceTask"),
        (bad.counting(task_configs=lambda self, n: [{}] * (n + 1)), COUNT, (), r"task_configs\(3\) returned 4 configs"),
        (bad.counting(task_configs=lambda self, n: [{"n": n}]), COUNT, (), "the setting 'n' as a int"),
        (bad.counting_task(poll=lambda self: ()), COUNT, (), r"poll\(\) returned a tuple"),
        (bad.counting_task(poll=bad.leaving), COUNT, (), r"poll\(\) raised SystemExit: 3 \(bad_plugins.py, line \d+\)"),
        (bad.counting_task(start=bad.leaving), COUNT, (), "could not be started: SystemExit: 3"),
        (bad.counting(task_configs=bad.leaving), COUNT, (), "SystemExit: 3"),
        (bad.counting_task(poll=bad.raising), COUNT, (), r"poll\(\) raised KeyError"),
        (bad.counting_task(version=lambda self: 1), COUNT, (), r"version\(\) of the task returned 1"),
        (bad.counting_task(stop=bad.raising), COUNT, (), r"stop\(\) raised KeyError"),
        (bad.ChangingSink, {}, sink_records({"a": 1}), r"put\(\) changed the records"),
        (bad.ImpatientSink, {}, sink_records("a"), r"put\(\[\]\) raised IndexError"),
        (bad.Keeping, {}, [source_record("a")], "make them with sink_records"),
        (bad.InPlace, {"field": "n"}, [source_record({"n": "a"})], "changed the value of the record"),
        (bad.NoTombstones, {"field": "n"}, (), r"apply\(\) of a tombstone \(its value is None\) raised TypeError"),
        (bad.NewPlace, {"field": "n"}, [source_record("a")], "lost its origin"),
        (bad.OtherBatches, {"field": "n"}, [source_record({"n": "a"})], r"apply_all\(\) returned something else"),
        (bad.NoRecord, {"field": "n"}, [source_record("a")], "returned a str, but must return a SourceRecord or None"),
        (bad.NoTopic, {"field": "n"}, [source_record("a")], "record 1: .* can't be used: 'a b' is not a topic name"),
        (bad.NoData, {"field": "n"}, [source_record("a")], "record 1: .* can't be used: its value .* no data: .*builtins.set"),
        (bad.Upper, {}, (), 'Missing required configuration "field"'),
        (bad.Maybe, {}, (), r"test\(\) returned None, but must return True or False"),
        (bad.Careless, {}, (), r"to_connect_data\(\) of meaningless bytes raised UnicodeDecodeError"),
        (bad.Careless, {}, (), r"to_connect_data\(\) of None, a tombstone"),
        (bad.RaisingProvider, {}, (), r"get\(\) of a missing key raised KeyError"),
    ],
)
def test_what_is_wrong_is_told(plugin: type[Any], config: dict[str, str], records: Any, words: str) -> None:
    with pytest.raises(PluginProblems) as found:
        check_plugin(plugin, config, records)
    assert any(re.search(words, problem) for problem in found.value.problems), str(found.value)


def test_a_step_may_leave_work_to_the_next() -> None:
    check_plugin(bad.Dates, {"field": "n"}, [source_record("a")])


def test_a_place_is_one_of_the_plugin() -> None:
    with pytest.raises(PluginProblems, match=r"raised KeyError: .* \(bad_plugins\.py, line \d+\)"):
        check_plugin(bad.RaisingProvider, {})
    # kconnect has looked at the result: where it did that says nothing.
    with pytest.raises(PluginProblems, match=r"returned a int, but must return a list of dicts$"):
        check_plugin(bad.Five, COUNT)


def test_a_class_that_no_entry_point_can_name() -> None:
    class Inner(bad.Counting):
        """Nobody can import it."""

    with pytest.raises(PluginProblems, match="defined inside a function"):
        check_plugin(Inner, COUNT)


def test_imports_from_the_inside_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nosy.py").write_text(
        "from kconnect.core.state import records\nfrom kconnect import api\n"
        "from tests.testing.bad_plugins import Counting\n\nclass Nosy(Counting):\n    state = records\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import nosy  # type: ignore[import-not-found]

    with pytest.raises(PluginProblems, match=r"imports kconnect\.core\.state: only kconnect\.api") as found:
        check_plugin(nosy.Nosy, COUNT)
    assert len(found.value.problems) == 1


@pytest.mark.parametrize("plugin", [dict, "text", SourceRecord])
def test_what_is_no_plugin_at_all(plugin: Any) -> None:
    with pytest.raises(ConnectError, match="is not a plugin: derive it from one of"):
        check_plugin(plugin)


def test_a_poll_that_stop_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    from kconnect.testing.plugins import checks

    # The check's own limit is what is tried here: no plugin hangs for a minute to show it.
    monkeypatch.setattr(checks, "_STOP_S", 3.0)
    with pytest.raises(PluginProblems, match=r"poll\(\) has not returned .* after stop"):
        check_plugin(bad.counting(_never_ending()), COUNT)


def _never_ending() -> type[bad.CountingTask]:
    def poll(self: Any) -> Any:
        return threading.Event().wait() if self._last else bad.CountingTask.poll(self)

    return type("Endless", (bad.CountingTask,), {"poll": poll})
