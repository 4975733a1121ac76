"""`kconnect apply`, `create`, `diff`, `edit` and `patch` against a real server with a herder in memory."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
import yaml

from kconnect.cli.apply import applying
from kconnect.core.herder.request import Request
from kconnect.core.herder.requests.configs import CreateConnector, DeleteConnector, PatchConfig, PutConfig, ValidateConfig
from kconnect.core.herder.requests.connectors import GetStatus, ListConnectors
from kconnect.core.herder.requests.offsets import AlterOffsets, GetOffsets
from kconnect.core.herder.requests.plugins import GetPluginConfig, ListPlugins
from kconnect.core.herder.requests.states import SetTargetState, StopConnector
from kconnect.core.herder.views import config_tag
from kconnect.core.state.records import TargetState
from kconnect.errors import BadRequestError
from tests.cli.calls import Called, call, serving
from tests.cli.killing import Fate, Proxy
from tests.rest.herder import MemoryHerder

CONFIG = {"connector.class": "FileStreamSource", "file": "/x", "topic": "t"}
OFFSETS = [{"partition": {"filename": "/x"}, "offset": {"position": 100}}]
ENDPOINT = "You can also find the above list of errors at the endpoint `/connector-plugins/{connectorType}/config/validate`"
_WRITES = (CreateConnector, PutConfig, PatchConfig, DeleteConnector, SetTargetState, StopConnector, AlterOffsets)


class Herder(MemoryHerder):
    """
    Refuses `topic=bad`, and knows a password that its name does not tell. `older`: a Kafka Connect that creates no connector at
    offsets. It keeps offsets, and `statusless` have no status.
    """

    older = False

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, list[dict[str, Any]]] = {}
        self.statusless: dict[str, int] = {}

    def writes(self) -> list[str]:
        return [type(request).__name__ for request in self.seen if isinstance(request, _WRITES)]

    def submit(self, request: Request[Any]) -> Future[Any]:
        if isinstance(request, CreateConnector | PutConfig) and request.config.get("topic") == "bad":
            self.seen.append(request)
            said = (
                "Connector configuration is invalid and contains the following 1 error(s):\n"
                "Invalid value bad for configuration topic: no\n"
                f"{ENDPOINT}"
            )
            return _raised(BadRequestError(said))
        if isinstance(request, CreateConnector) and request.initial_offsets is not None:
            if self.older:
                return _raised(BadRequestError('Unrecognized field "initial_offsets"'))
            self.kept[request.name] = [{"partition": place, "offset": at} for place, at in request.initial_offsets]
        return super().submit(request)

    def _offsets(self, request: GetOffsets) -> Any:
        return {"offsets": self.kept.get(self._known(request.name), [])}

    def _altered(self, request: Any) -> Any:
        if self.targets[request.name] is not TargetState.STOPPED:
            raise BadRequestError("Connectors must be in the STOPPED state before their offsets can be modified.")
        self.kept[request.name] = [{"partition": place, "offset": at} for place, at in request.offsets]
        return {"message": "altered"}

    def _list(self, request: ListConnectors) -> Any:
        """As Connect leaves out what has no status."""
        found = super()._list(request)
        if "status" in request.expand:
            for name in list(self.statusless):
                self.statusless[name] -= 1
                if self.statusless[name] >= 0:
                    del found[name]
        return found

    def _plugin_config(self, request: GetPluginConfig) -> Any:
        rows = super()._plugin_config(request)
        return [*rows, {"name": "pin", "type": "PASSWORD"}]

    def _validate(self, request: ValidateConfig) -> Any:
        errors = ["Invalid value bad\nfor configuration topic: no"] if request.config.get("topic") == "bad" else []
        rows = [{"definition": {"name": "topic"}, "value": {"name": "topic", "value": "", "errors": errors}}]
        return {**super()._validate(request), "error_count": len(errors), "configs": rows}

    def _plugins(self, request: ListPlugins) -> Any:
        return [*super()._plugins(request), {"class": "com.acme.OrdersSinkConnector", "type": "sink", "version": "1"}]

    _answers = {
        **MemoryHerder._answers,
        ListPlugins: _plugins,
        GetPluginConfig: _plugin_config,
        ValidateConfig: _validate,
        GetOffsets: _offsets,
        AlterOffsets: _altered,
        ListConnectors: _list,
    }


class Strict(Herder):
    """Says what a worker says of several faults, and has all the classes and settings that a file source has."""

    INVALID = (
        "Invalid value lots for configuration tasks.max: Not a number of type INT",
        "Invalid value null for configuration tasks.max: Value must be non-null",
        "Must configure one of topics or topics.regex",
        "Must configure one of topics or topics.regex",
        "Invalid value Filtr for configuration transforms.a.type: Class Filtr could not be found.",
    )
    CLASSES = ("org.apache.kafka.connect.file.FileStreamSourceConnector", "org.apache.kafka.connect.transforms.Filter")

    def submit(self, request: Request[Any]) -> Future[Any]:
        if isinstance(request, CreateConnector | PutConfig | ValidateConfig):
            name = str(request.config["connector.class"])
            if not name.startswith("FileStreamSource"):
                said = f"Failed to find any class that implements Connector and which name matches {name}"
                return _raised(BadRequestError(f"{said}, available connectors are: {self.CLASSES[0]}"))
        if isinstance(request, CreateConnector | PutConfig) and request.config.get("tasks.max") == "lots":
            count = f"Connector configuration is invalid and contains the following {len(self.INVALID)} error(s):"
            return _raised(BadRequestError("\n".join((count, *self.INVALID, ENDPOINT))))
        return super().submit(request)

    def _validate(self, request: ValidateConfig) -> Any:
        plain = ("connector.class", "name", "tasks.max", "topics", "topics.regex", "transforms.a.type", "file", "topic")
        names: tuple[str, ...] = (*plain, "value.converter")
        rows = [{"definition": {"name": name}, "value": {"name": name, "value": "", "errors": []}} for name in names]
        if request.config.get("tasks.max") == "lots":
            for row, errors in zip(rows[2:6], (self.INVALID[:2], *([each] for each in self.INVALID[2:])), strict=True):
                row["value"]["errors"] = list(errors)  # type: ignore[index]
        return {**super()._validate(request), "configs": rows}

    def _plugins(self, request: ListPlugins) -> Any:
        return [{"class": name} for name in self.CLASSES]

    _answers = {**Herder._answers, ValidateConfig: _validate, ListPlugins: _plugins}


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[str]:
    with serving(Strict()) as url:
        yield url


FAULTS = [
    "kconnect: a: Invalid value lots for configuration tasks.max: Not a number of type INT",
    "kconnect: a: Must configure one of topics or topics.regex",
    "kconnect: a: Invalid value Filtr for configuration transforms.a.type: Class Filtr could not be found; did you mean Filter "
    "(org.apache.kafka.connect.transforms.Filter)?",
]


@pytest.mark.parametrize(
    ("command", "status"),
    [(["create"], 6), (["apply"], 6), (["apply", "--dry-run"], 1), (["validate"], 6), (["diff"], 1)],
    ids=str,
)
def test_each_fault_is_told_once_in_a_line(run: Any, strict: str, command: list[str], status: int) -> None:
    write("a", **{"tasks.max": "lots"})
    done = run(*command, "-f", "a.yaml", "--url", strict)
    assert [line for line in done.err.splitlines() if line.startswith("kconnect: ")] == FAULTS
    assert done.status == status


@pytest.mark.parametrize("command", [["create"], ["apply"], ["apply", "--dry-run"], ["diff"]], ids=str)
def test_a_setting_that_nothing_knows_is_warned_of(run: Any, strict: str, command: list[str]) -> None:
    write("a", **{"task.max": "2", "value.convertor": "x"})
    done = run(*command, "-f", "a.yaml", "--url", strict)
    assert [line for line in done.err.splitlines() if line.startswith("kconnect: ")] == [
        "kconnect: warning: a: The setting task.max is unknown; did you mean tasks.max?",
        "kconnect: warning: a: The setting value.convertor is unknown; did you mean value.converter?",
    ]
    assert done.status in (0, 2)


def test_a_setting_that_nothing_knows_is_warned_of_by_a_patch(run: Any, strict: str) -> None:
    write("a")
    run("apply", "-f", "a.yaml", "--url", strict)
    done = run("patch", "a", "task.max=2", "--url", strict)
    assert (done.status, done.err) == (
        0,
        "kconnect: warning: a: The setting task.max is unknown; did you mean tasks.max?\n",
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "FileStreamSorce",
            "There is no connector class FileStreamSorce on the worker; did you mean FileStreamSource "
            "(org.apache.kafka.connect.file.FileStreamSourceConnector)?",
        ),
        (
            "com.acme.Xyz",
            "There is no connector class com.acme.Xyz on the worker; `kconnect get plugins` lists its classes, and `kconnect "
            "plugin install` adds others (docs/plugins.md)",
        ),
        (
            "io.confluent.connect.jdbc.JdbcSourceConnector",
            "io.confluent.connect.jdbc.JdbcSourceConnector of Confluent is not installed on the worker: `kconnect plugin "
            "install ./ARCHIVE.zip --plugin-path DIRECTORY`, with the .zip or .tar.gz that Confluent offers, installs it, on "
            "every worker (docs/java-connectors.md). Without Java SqlSource does that job (docs/connectors/sql-source.md)",
        ),
        (
            "io.debezium.connector.postgresql.PostgresConnector",
            "io.debezium.connector.postgresql.PostgresConnector of Debezium is not installed on the worker: `kconnect plugin "
            "install io.debezium:debezium-connector-postgres:3.6.1.Final --plugin-path DIRECTORY` installs it, on every worker "
            "(docs/java-connectors.md)",
        ),
    ],
)
@pytest.mark.parametrize("command", ["create", "apply", "diff"])
def test_a_class_that_is_not_there_names_the_nearest_or_its_vendor(
    run: Any, strict: str, command: str, name: str, said: str
) -> None:
    write("a", **{"connector.class": name})
    done = run(command, "-f", "a.yaml", "--url", strict)
    assert done.err.splitlines()[0] == f"kconnect: a: {said}"
    assert done.status == (1 if command == "diff" else 6)


def _raised(error: Exception) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


@pytest.fixture
def herder() -> Herder:
    return Herder()


@pytest.fixture(autouse=True)
def url(herder: Herder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.chdir(tmp_path)
    with serving(herder) as url:
        yield url


@pytest.fixture
def run(url: str) -> Any:
    def called(*arguments: str, stdin: str = "", **env: str) -> Called:
        return call(*arguments, stdin=stdin, env={"KCONNECT_URL": url, **env})

    return called


def write(*names: str, file: str = "a.yaml", state: str | None = None, **config: Any) -> None:
    bodies = [{"name": name, "config": {**CONFIG, **config}, **({"state": state} if state else {})} for name in names]
    Path(file).write_text(yaml.safe_dump_all(bodies, sort_keys=False))


def test_created_unchanged_and_changed(run: Any, herder: Herder) -> None:
    write("a", "b", "c")
    done = run("apply", "-f", "a.yaml")
    assert (done.status, done.out) == (0, "created a\ncreated b\ncreated c\n")
    assert done.err == "created 3, changed 0, unchanged 0, failed 0\n"
    herder.seen.clear()
    done = run("apply", "-f", "a.yaml")
    assert (done.status, done.out, done.err) == (0, "", "created 0, changed 0, unchanged 3, failed 0\n")
    assert herder.writes() == [] and len(herder.seen) == 1, "one request tells that nothing is to be done"
    Path("b.json").write_text(json.dumps({"name": "b", "config": {**CONFIG, "tasks.max": 2, "file": "/y"}}))
    Path("a.yaml").write_text(Path("a.yaml").read_text().split("---")[0])
    done = run("apply", "-f", "b.json", "-f", "a.yaml", "--diff")
    assert (done.status, done.out.splitlines()) == (
        2,
        ["~ b  (b.json)", "    - file: /x", "    + file: /y", "    + tasks.max: 2", "changed b"],
    )
    assert herder.writes() == ["PutConfig"]
    assert run("apply", "-f", "b.json", "--diff").status == 0


def test_a_short_name_is_no_other_class_than_the_one_that_the_worker_has_stored_for_it(run: Any, herder: Herder) -> None:
    """As `IcebergSinkConnector`, once a Java plugin is installed that has this name in Kafka Connect."""
    for stored, name, same in (
        ("com.acme.OrdersSinkConnector", "OrdersSinkConnector", True),
        ("com.acme.OrdersSinkConnector", "OrdersSink", True),
        ("com.acme.OrdersSinkConnector", "Orders", False),
        ("com.acme.GoneSinkConnector", "GoneSink", False),
        ("kconnect.connectors.orders.OrdersSink", "OrdersSink", False),
    ):
        herder.submit(CreateConnector("a", {**CONFIG, "connector.class": stored})).result()
        Path("a.json").write_text(json.dumps({"name": "a", "config": {**CONFIG, "connector.class": name}}))
        assert run("diff", "-f", "a.json").status == (0 if same else 2), name
        herder.submit(DeleteConnector("a")).result()


def test_diff_writes_nothing_and_tells_by_its_exit_status(run: Any, herder: Herder) -> None:
    write("a", state="paused")
    told = run("diff", "-f", "a.yaml")
    assert (told.status, told.out.splitlines()) == (
        2,
        ["+ a  (a.yaml:1)", *(f"    + {key}: {value}" for key, value in CONFIG.items()), "    + state: paused"],
    )
    assert told.err == "would be created 1, changed 0, unchanged 0, refused 0\n"
    dry = run("apply", "-f", "a.yaml", "--dry-run")
    assert (dry.status, dry.out) == (2, "a would be created\n")
    assert run("apply", "-f", "a.yaml", "--dry-run", "--diff").out == told.out
    assert herder.writes() == []
    assert run("apply", "-f", "a.yaml").status == 0
    for command in (["diff"], ["apply", "--dry-run"], ["apply", "--diff"]):
        assert run(*command, "-f", "a.yaml").status == 0
        assert run(*command, "-f", "nowhere.yaml").status == 1
        assert run(*command, "-f", "a.yaml", "--no-such-option").status == 1
        assert run(*command, "-f", "a.yaml", "--url", "http://127.0.0.1:9").status == 1
    assert run("apply", "-f", "nowhere.yaml").status == 2
    assert run("apply").status == 2
    assert run("apply", "-f", "a.yaml", "--url", "http://127.0.0.1:9").status == 3


def test_a_dry_run_has_the_worker_check_the_configs(run: Any, herder: Herder) -> None:
    write("a", topic="bad")
    write("b", file="b.yaml")
    for command in (["diff"], ["apply", "--dry-run"]):
        told = run(*command, "-f", "a.yaml", "-f", "b.yaml")
        assert told.status == 1
        assert told.err.splitlines() == [
            "kconnect: a: Invalid value bad for configuration topic: no",
            "would be created 1, changed 0, unchanged 0, refused 1",
        ]
        out = told.out.splitlines()
        assert command == ["diff"] or out == ["a would be refused", "b would be created"]
    assert herder.writes() == []


def test_one_that_is_refused_does_not_stop_the_others(run: Any, herder: Herder) -> None:
    write("a", "c")
    write("b", file="b.yaml", topic="bad")
    done = run("apply", "-f", "b.yaml", "-f", "a.yaml", "--prune", "--yes")
    assert (done.status, done.out) == (6, "created a\ncreated c\n")
    assert done.err.splitlines() == [
        "kconnect: b: Invalid value bad for configuration topic: no",
        "created 2, changed 0, unchanged 0, failed 1",
    ]
    assert sorted(herder.configs) == ["a", "c"]
    assert run("apply", "-f", "b.yaml", "--diff").status == 1


def test_nothing_is_done_if_a_file_has_a_mistake(run: Any, herder: Herder) -> None:
    write("a")
    Path("b.yaml").write_text("name: b\n---\nname: a\nconfig: {connector.class: X}\n")
    done = run("apply", "-f", ".")
    assert (done.status, done.out) == (2, "")
    assert [line.split(";")[0] for line in done.err.splitlines()] == [
        "kconnect: b.yaml:1: no connector's config found",
        "kconnect: b.yaml:3: the connector a is also in a.yaml:1",
        "kconnect: 2 mistakes in the files: nothing was done",
    ]
    assert herder.seen == []


def test_secrets_are_hidden_also_those_that_only_the_class_knows(run: Any) -> None:
    secrets = {"db.password": "s3cret-1", "pin": "s3cret-2", "url": "http://u:s3cret-3@h", "api.key": "${file:/x:k}"}
    write("a", **secrets)
    told = run("diff", "-f", "a.yaml")
    assert "s3cret" not in told.out + told.err
    hidden = {"    + db.password: [hidden]", "    + pin: [hidden]", "    + url: http://u:[hidden]@h"}
    assert hidden <= set(told.out.splitlines())
    assert "    + api.key: ${file:/x:k}" in told.out
    assert "s3cret" not in run("diff", "-f", "a.yaml", "-o", "json").out
    assert run("diff", "-f", "a.yaml", "--show-secrets").out.count("s3cret") == 3
    assert "s3cret" not in str(run("apply", "-f", "a.yaml"))
    write("a", **{**secrets, "db.password": "s3cret-4", "url": "http://u:s3cret-5@h"})
    assert run("diff", "-f", "a.yaml").out.splitlines()[1:] == [
        "    - db.password: [hidden]",
        "    + db.password: [hidden] (a different value)",
        "    - url: http://u:[hidden]@h",
        "    + url: http://u:[hidden]@h (the hidden value differs)",
    ]


def test_states_are_reached_and_otherwise_left_alone(run: Any, herder: Herder) -> None:
    write("a", state="stopped")
    assert run("apply", "-f", "a.yaml").status == 0
    assert herder.targets["a"].name == "STOPPED"
    write("a")
    herder.seen.clear()
    assert run("apply", "-f", "a.yaml").err == "created 0, changed 0, unchanged 1, failed 0\n"
    write("a", state="paused", topic="other")
    done = run("apply", "-f", "a.yaml", "--diff")
    assert done.out.splitlines()[-3:] == ["    - state: stopped", "    + state: paused", "changed a"]
    assert herder.writes() == ["SetTargetState", "PutConfig"], "it rests before it gets a config that it should not run with"
    assert run("diff", "-f", "a.yaml").status == 0
    herder.seen.clear()
    write("a", state="running", topic="third")
    assert run("apply", "-f", "a.yaml", "--wait").status == 0
    assert (herder.writes(), herder.targets["a"].name) == (["PutConfig", "SetTargetState"], "STARTED")
    assert run("diff", "-f", "a.yaml").status == 0


def test_a_connector_that_rests_is_waited_for_as_it_is(run: Any, herder: Herder) -> None:
    write("a", state="paused")
    assert run("apply", "-f", "a.yaml").status == 0
    write("a", topic="other")
    done = run("apply", "-f", "a.yaml", "--wait", "--timeout", "60s")
    assert (done.status, herder.targets["a"].name) == (0, "PAUSED"), done


def test_one_that_does_not_stay_so_is_told_with_the_time_that_was_given(run: Any, herder: Herder) -> None:
    asked: list[str] = []

    def now_and_then(request: GetStatus) -> Any:
        # Both what is said of the old config and what comes of the new one.
        asked.append(request.name)
        herder.failed = set() if len(asked) == 1 else {(request.name, 0)}
        return MemoryHerder._status(herder, request)

    herder._answers = {**herder._answers, GetStatus: lambda _, request: now_and_then(request)}
    write("a")
    done = run("apply", "-f", "a.yaml", "--wait", "--timeout", "2s")
    assert (done.status, "Connector a was not RUNNING within 2 s" in done.err) == (7, True), done


def test_offsets_count_for_what_is_created(run: Any, herder: Herder) -> None:
    Path("a.json").write_text(json.dumps({"name": "a", "config": CONFIG, "offsets": OFFSETS}))
    assert '    + offset: {"filename": "/x"} {"position": 100}' in run("diff", "-f", "a.json").out
    assert run("apply", "-f", "a.json").status == 0
    (created,) = [request for request in herder.seen if isinstance(request, CreateConnector)]
    assert created.initial_offsets == (({"filename": "/x"}, {"position": 100}),)
    for command in (["apply"], ["diff"], ["apply", "--dry-run", "-o", "json"]):
        assert run(*command, "-f", "a.json").err.splitlines()[0] == IGNORED
    assert run("apply", "-f", "a.json").err.splitlines()[1:] == ["created 0, changed 0, unchanged 1, failed 0"]


IGNORED = (
    "a: the offsets in a.json are ignored, because the connector exists already and continues from its own; "
    "to change them, use `kconnect offsets set` or `kconnect offsets import`"
)


def with_offsets(state: str | None) -> None:
    found = {"name": "a", "config": CONFIG, "offsets": OFFSETS, "state": state}
    Path("a.json").write_text(json.dumps({key: value for key, value in found.items() if value is not None}))


@pytest.mark.process
@pytest.mark.parametrize(("state", "at"), [("running", 0), ("running", 1), ("paused", 1), ("stopped", 1), ("running", 2)])
def test_an_apply_that_was_cut_short_is_done_by_the_next(url: str, run: Any, herder: Herder, state: str, at: int) -> None:
    """Where a connector can't be created at its offsets: killed behind its first writes, `at` of which have arrived."""
    herder.older = True
    with_offsets(state)
    fate = Fate()
    with Proxy(url, fate) as proxy:
        # The first is the one that the worker refuses.
        fate.arm(at + 1, answered=True)
        command = [sys.executable, "-m", "kconnect", "apply", "-f", "a.json", "--url", proxy.url]
        process = subprocess.Popen(command)
        fate.aim(process.pid)
        assert process.wait(120) == -signal.SIGKILL
    # Control: it is killed where the test says so.
    assert (list(herder.configs), list(herder.kept)) == (["a"] * (at > 0), ["a"] * (at > 1))
    if at == 1:
        told = run("diff", "-f", "a.json", "-o", "json")
        assert (told.status, json.loads(told.out)[0]["offsets"]) == (2, OFFSETS)
    assert run("apply", "-f", "a.json").status == 0
    assert herder.kept == {"a": OFFSETS}
    assert herder.targets["a"].name == {"running": "STARTED"}.get(state, state.upper())
    herder.seen.clear()
    again = run("apply", "-f", "a.json")
    assert (again.err.splitlines(), herder.writes()) == ([IGNORED, "created 0, changed 0, unchanged 1, failed 0"], [])


def test_where_no_state_is_said_what_was_cut_short_stays_stopped_and_is_told(run: Any, herder: Herder) -> None:
    with_offsets(None)
    herder.submit(CreateConnector("a", dict(CONFIG), "STOPPED"))
    told = "a is STOPPED and has never run, perhaps because an earlier apply was cut short. Its file gives no state"
    for action in ("changed 1, unchanged 0", "changed 0, unchanged 1"):
        done = run("apply", "-f", "a.json")
        assert (done.status, done.err.startswith(told), f"created 0, {action}" in done.err) == (0, True, True), done
        assert "kconnect resume a\n" in done.err
        assert (herder.kept, herder.targets["a"].name) == ({"a": OFFSETS}, "STOPPED")


def test_a_connector_that_has_run_or_runs_keeps_its_offsets(run: Any, herder: Herder) -> None:
    with_offsets("stopped")
    assert run("apply", "-f", "a.json").status == 0
    herder.kept["a"] = [{"partition": {"filename": "/x"}, "offset": {"position": 700}}]
    assert run("apply", "-f", "a.json").err.splitlines() == [IGNORED, "created 0, changed 0, unchanged 1, failed 0"]
    herder.kept["a"] = []
    with_offsets("running")
    herder.targets["a"] = TargetState.STARTED
    assert run("apply", "-f", "a.json").err.splitlines() == [IGNORED, "created 0, changed 0, unchanged 1, failed 0"]
    assert herder.kept == {"a": []}


@pytest.mark.parametrize("state", ["paused", "stopped", "running"])
def test_a_connector_without_a_status_is_asked_for_its_state(
    run: Any, herder: Herder, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A moment after it was created it has none; one that gets none may be in any state."""
    write("a", "b", state=state)
    assert run("apply", "-f", "a.yaml").status == 0
    herder.statusless["a"] = 3
    monkeypatch.setattr(applying, "_STATUS_S", 60.0)
    assert run("apply", "-f", "a.yaml").err == "created 0, changed 0, unchanged 2, failed 0\n"
    monkeypatch.setattr(applying, "_STATUS_S", 0.0)
    herder.statusless["a"] = 1
    herder.targets["a"] = TargetState.PAUSED if state != "paused" else TargetState.STARTED
    herder.seen.clear()
    done = run("apply", "-f", "a.yaml", "--diff")
    assert done.out == f"~ a  (a.yaml:1)\n    + state: {state}\nchanged a\n"
    assert (len(herder.writes()), herder.targets["a"]) == (1, herder.targets["b"])


def test_prune_asks_takes_globs_and_never_takes_all_for_nothing(run: Any, herder: Herder) -> None:
    write("a", "b", "orders-1", "orders-2")
    assert run("apply", "-f", "a.yaml").status == 0
    write("a")
    for arguments in (["--prune"], ["--prune-only", "orders-*"]):
        refused = run("apply", "-f", "a.yaml", *arguments)
        assert refused.status == 2 and "in no file: " in refused.err and "give --yes" in refused.err
    assert len(herder.configs) == 4
    told = run("diff", "-f", "a.yaml", "--prune-only", "orders-*")
    assert (told.status, told.out) == (2, "- orders-1\n- orders-2\n")
    Path("empty.yaml").write_text("# nothing\n")
    assert run("apply", "-f", "empty.yaml", "--prune", "--yes").status == 2
    write("bad", file="bad.yaml", topic="bad")
    done = run("apply", "-f", "a.yaml", "-f", "bad.yaml", "--prune", "--yes")
    assert done.status == 6 and "nothing was deleted, because something failed before: b, orders-1, orders-2 stay" in done.err
    assert len(herder.configs) == 4
    done = run("apply", "-f", "a.yaml", "--prune-only", "orders-*", "-y")
    assert (done.status, done.out) == (0, "deleted orders-1\ndeleted orders-2\n")
    assert done.err == "created 0, changed 0, deleted 2, unchanged 1, failed 0\n"
    assert sorted(herder.configs) == ["a", "b"]


def test_what_get_prints_is_what_apply_takes(run: Any, herder: Herder) -> None:
    write("a", "b", state="paused", **{"x": "no", "y": "1.50", "z": ""})
    assert run("apply", "-f", "a.yaml").status == 0
    for form in ("json", "yaml"):
        printed = run("get", "connectors", "-o", form)
        assert printed.status == 0
        told = run("diff", "-f", "-", stdin=printed.out)
        assert (told.status, told.out, told.err) == (0, "", "would be created 0, changed 0, unchanged 2, refused 0\n")


def test_for_programs(run: Any) -> None:
    write("a")
    done = run("apply", "-f", "a.yaml", "-o", "json")
    assert done.status == 0, done
    assert json.loads(done.out)[0]["action"] == "create"
    write("a", topic="u", state="paused")
    told = run("diff", "-f", "a.yaml", "-o", "json")
    assert told.status == 2
    assert json.loads(told.out) == [
        {
            "name": "a",
            "action": "change",
            "changes": [{"key": "topic", "old": "t", "new": "u"}],
            "state": {"old": "RUNNING", "new": "PAUSED"},
            "failed": False,
        }
    ]


def test_create_refuses_what_is_there(run: Any, herder: Herder) -> None:
    write("a")
    assert run("create", "-f", "a.yaml", "--wait").out == "created a\n"
    write("b", "a", state="paused")
    done = run("create", "-f", "-", stdin=Path("a.yaml").read_text())
    assert (done.status, done.out, done.err) == (5, "created b\n", "kconnect: a: Connector a already exists\n")
    assert herder.targets["b"].name == "PAUSED"


def test_what_is_created_and_patched_is_told_though_its_wait_is_not_in_time(run: Any, herder: Herder) -> None:
    herder.failed.add(("a", 0))
    write("a")
    done = run("create", "-f", "a.yaml", "--wait", "--timeout", "0.1")
    assert (done.status, done.out, done.err.count("\n")) == (7, "created a\n", 1), done
    done = run("patch", "a", "topic=u", "--wait", "--timeout", "0.1")
    assert (done.status, done.out) == (7, "changed a\n    - topic: t\n    + topic: u\n"), done
    assert "kconnect: a: Connector a was not RUNNING within 0.1 s" in done.err


# -- patch ------------------------------------------------------------------------------------------------------------


def test_patch_sets_and_takes_away(run: Any, herder: Herder) -> None:
    write("a", "b", **{"api.key": "s3cret"})
    run("apply", "-f", "a.yaml")
    done = run("patch", "a", "topic=u=v", "file-", "api.key=s3cret2", "--wait")
    assert (done.status, done.out.splitlines()) == (
        0,
        [
            *("changed a", "    - topic: t", "    + topic: u=v"),
            *("    - api.key: [hidden]", "    + api.key: [hidden] (a different value)", "    - file: /x"),
        ],
    )
    assert herder.configs["a"] == {"name": "a", "connector.class": "FileStreamSource", "topic": "u=v", "api.key": "s3cret2"}
    herder.seen.clear()
    assert run("patch", "*", "-p", '{"topic": "u=v", "file": null}').out.startswith("unchanged a\nchanged b\n")
    assert run("patch", "connector", "a", "topic=u=v").out == run("patch", "connector/a", "topic=u=v").out == "unchanged a\n"
    assert herder.writes() == ["PatchConfig"]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["a"], 2, "Give the changes"),
        (["a", "x"], 2, "x is not a change: give KEY=VALUE"),
        (["a", "=x"], 2, "=x does not name a setting"),
        (["a", "x=1", "x-"], 2, "The setting x is given twice"),
        (["a", "name=b"], 2, "A connector's name can't be changed"),
        (["a", "-p", "{"], 2, "-p is not JSON"),
        (["a", "-p", "[]"], 2, "-p is not a JSON object"),
        (["a", "-p", '{"x": []}'], 2, "-p: the setting x is a list"),
        (["nobody", "x=1"], 4, "There is no connector nobody"),
    ],
)
def test_patches_that_are_none(run: Any, herder: Herder, arguments: list[str], status: int, said: str) -> None:
    write("a")
    run("apply", "-f", "a.yaml")
    done = run("patch", *arguments)
    assert done.status == status and said in done.err
    assert herder.writes() == ["CreateConnector"]


# -- edit -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def editor(tmp_path: Path) -> Any:
    """Makes an editor of steps, one a time that it opens: texts to be replaced. It keeps what it was shown."""

    def made(*steps: dict[str, str]) -> str:
        script = tmp_path / "editor.py"
        script.write_text(
            "import json, pathlib, sys\n"
            f"steps = json.loads({json.dumps(json.dumps(steps))})\n"
            f"shown = pathlib.Path({str(tmp_path)!r}, 'shown')\n"
            "seen = shown.read_text().split('=====') if shown.exists() else []\n"
            "file = pathlib.Path(sys.argv[1]); text = file.read_text()\n"
            "shown.write_text('====='.join([*seen, text]))\n"
            "for old, new in steps[len(seen)].items():\n"
            "    assert old in text\n"
            "    text = text.replace(old, new)\n"
            "file.write_text(text)\n"
        )
        return f"{sys.executable} {script}"

    return made


def shown() -> list[str]:
    return Path("shown").read_text().split("=====")


@pytest.mark.process
def test_edit_applies_what_was_saved(run: Any, herder: Herder, editor: Any) -> None:
    write("a", state="paused")
    run("apply", "-f", "a.yaml")
    herder.seen.clear()
    step = {"topic: t": "topic: u\n  tasks.max: 2", "state: paused": "state: running"}
    done = run("edit", "a", EDITOR=editor(step), VISUAL="")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == [
        *("changed a", "    - topic: t", "    + topic: u", "    + tasks.max: 2", "    - state: paused", "    + state: running")
    ]
    assert herder.configs["a"] == {"name": "a", **CONFIG, "topic": "u", "tasks.max": "2"}
    assert yaml.safe_load(shown()[0]) == {"name": "a", "state": "paused", "config": CONFIG}


@pytest.mark.process
def test_edit_without_a_change_does_nothing(run: Any, herder: Herder, editor: Any) -> None:
    write("a")
    run("apply", "-f", "a.yaml")
    herder.seen.clear()
    for step in ({}, {"topic: t": "topic: 't'"}):
        Path("shown").unlink(missing_ok=True)
        done = run("edit", "a", EDITOR=editor(step), VISUAL="")
        assert (done.status, done.out, done.err) == (0, "", "unchanged a\n")
    assert herder.writes() == []
    assert run("edit", "nobody", EDITOR=editor({}), VISUAL="").status == 4


@pytest.mark.process
def test_edit_opens_again_with_what_is_wrong_and_keeps_the_text(run: Any, herder: Herder, editor: Any) -> None:
    write("a")
    run("apply", "-f", "a.yaml")
    wrong: list[dict[str, str]] = [{"topic: t": "topic: [t]"}, {"topic: [t]": "topic: bad"}, {}]
    done = run("edit", "a", EDITOR=editor(*wrong), VISUAL="")
    assert done.status == 2
    kept = Path(done.err.strip().split()[-1])
    try:
        assert "topic: bad" in kept.read_text()
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    finally:
        kept.unlink()
    first, second, third = shown()
    assert "# !" not in first
    assert second.startswith("# ! text.yaml:8: the setting topic is a list")
    assert third.startswith("# ! Invalid value bad for configuration topic: no\n")
    assert herder.configs["a"] == {"name": "a", **CONFIG}
    Path("shown").unlink()
    done = run("edit", "a", EDITOR=editor({"topic: t": "topic: bad"}, {"topic: bad": "topic: good"}), VISUAL="")
    assert (done.status, herder.configs["a"]["topic"]) == (0, "good")


@pytest.mark.process
def test_edit_keeps_the_text_of_an_editor_that_fails(run: Any, herder: Herder, editor: Any) -> None:
    write("a")
    run("apply", "-f", "a.yaml")
    # It fails, for there is no step for the second time that it opens.
    done = run("edit", "a", EDITOR=editor({"topic: t": "topic: bad"}), VISUAL="")
    assert (done.status, "Editing failed" in done.err) == (1, True), done
    kept = Path(done.err.strip().split()[-1])
    assert "topic: bad" in kept.read_text()
    kept.unlink()
    Path("shown").unlink()
    done = run("edit", "a", EDITOR=editor(), VISUAL="")
    assert (done.status, "Editing failed" in done.err, "Your text" in done.err) == (1, True, False), done
    done = run("edit", "a", EDITOR="/nowhere/editor", VISUAL="")
    assert (done.status, done.out) == (1, "") and "/nowhere/editor" in done.err
    assert herder.configs["a"] == {"name": "a", **CONFIG}


@pytest.mark.process
def test_edit_knows_what_state_its_last_try_has_left(run: Any, herder: Herder, editor: Any) -> None:
    write("a")
    run("apply", "-f", "a.yaml")
    first = {"topic: t": "topic: bad", "state: running": "state: stopped"}
    second = {"topic: bad": "topic: good", "state: stopped": "state: running"}
    done = run("edit", "a", EDITOR=editor(first, second), VISUAL="")
    assert (done.status, herder.configs["a"]["topic"], herder.targets["a"].name) == (0, "good", "STARTED"), done


@pytest.mark.process
def test_edit_does_not_undo_what_somebody_else_did(run: Any, herder: Herder, editor: Any, url: str) -> None:
    write("a")
    run("apply", "-f", "a.yaml")
    other = f"{sys.executable} -m kconnect patch a tasks.max=7 --url {url} >&2 && {editor({'topic: t': 'topic: u'})}"
    done = run("edit", "a", EDITOR=f"sh -c '{other} $0'", VISUAL="")
    assert done.status == 5 and "Somebody else has changed the config of" in done.err
    Path(done.err.strip().split()[-1]).unlink()
    assert herder.configs["a"] == {"name": "a", **CONFIG, "tasks.max": "7"}
    # While the worker checks the config, somebody else may be quicker: it is to look again before it writes.
    Path("shown").unlink()
    assert run("edit", "a", EDITOR=editor({"topic: t": "topic: u"}), VISUAL="").status == 0
    (written,) = [request for request in herder.seen if isinstance(request, PutConfig) and request.config.get("topic") == "u"]
    assert written.expected == {config_tag({"name": "a", **CONFIG, "tasks.max": "7"})}
