"""Plugin code in processes of its own: what it answers, and what happens when it misbehaves."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from kconnect.core.settings.overrides import Policy
from kconnect.errors import BadRequestError, ConnectError, NotFoundError, RequestTimeoutError
from kconnect.plugins.child import Child, ChildEndedError
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from tests.plugins.conftest import CONNECTORS
from tests.rig.systems.plugin_packages import PluginPackage


def config(plugin: str, **settings: str | None) -> dict[str, str | None]:
    return {"name": "c", "connector.class": plugin, "file": "a.txt", **settings}


def errors(infos: dict[str, Any]) -> dict[str, list[str]]:
    return {row["value"]["name"]: row["value"]["errors"] for row in infos["configs"] if row["value"]["errors"]}


def wait_for(condition: Callable[[], bool], limit: float = 60) -> None:
    deadline = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true in time"
        time.sleep(0.01)


def test_a_connector_is_described(sandbox: Sandbox) -> None:
    described = {"class": "demo_connectors.DemoSinkConnector", "type": "sink", "version": "2.5"}
    assert sandbox.describe("DemoSink") == described
    assert sandbox.describe("demo_connectors.DemoSourceConnector")["type"] == "source"
    with pytest.raises(NotFoundError, match="Failed to find any class that implements Connector and which name matches"):
        sandbox.describe("Nope")


def test_a_good_config_has_no_errors(sandbox: Sandbox) -> None:
    infos = sandbox.validate("DemoSource", config("DemoSource"))
    assert (infos["name"], infos["error_count"]) == ("DemoSource", 0)
    names = [row["definition"]["name"] for row in infos["configs"]]
    assert names[0] == "name"
    assert names[-3:] == ["file", "rows", "db.password"]
    assert infos["groups"][-1] == "Demo"


def test_errors_of_the_framework_and_of_the_connector(sandbox: Sandbox) -> None:
    submitted = config("DemoSource", file=None, rows="0", **{"tasks.max": "abc", "db.password": "hunter22"})
    infos = sandbox.validate("DemoSource", submitted)
    assert errors(infos) == {
        "tasks.max": [
            "Invalid value abc for configuration tasks.max: Not a number of type INT",
            "Invalid value null for configuration tasks.max: Value must be non-null",
        ],
        "file": ["Null value can not be supplied as the configuration value."],
        "rows": ["Invalid value 0 for configuration rows: Value must be at least 1"],
    }
    assert infos["error_count"] == 4
    assert "hunter22" not in str(infos)


def test_what_a_connector_says_about_other_settings_is_kept(sandbox: Sandbox) -> None:
    infos = sandbox.validate("PickySource", config("PickySource", **{"tasks.max": "0"}))
    assert infos["configs"][0]["definition"] is None
    assert infos["configs"][0]["value"]["name"] == "strange"
    rows = {row["definition"]["name"]: row["value"] for row in infos["configs"][1:]}
    assert rows["tasks.max"]["errors"] == [
        "Invalid value 0 for configuration tasks.max: Value must be at least 1",
        "too many",
    ]
    assert rows["file"]["recommended_values"] == ["a.txt"]
    assert rows["rows"] is None
    assert infos["error_count"] == 3


def test_a_converter_of_another_directory(sandbox: Sandbox) -> None:
    submitted = config("DemoSource", **{"value.converter": "Upper", "value.converter.upper": "maybe"})
    infos = sandbox.validate("DemoSource", submitted)
    assert errors(infos) == {
        "value.converter.upper": ["Invalid value maybe for configuration upper: Expected value to be either true or false"]
    }
    assert infos["groups"][-1] == "Case"
    unknown = sandbox.validate("DemoSource", config("DemoSource", **{"key.converter": "Nope"}))
    assert errors(unknown) == {
        "key.converter": ["Invalid value Nope for configuration key.converter: Class Nope could not be found."]
    }
    broken = errors(sandbox.validate("DemoSource", config("DemoSource", **{"key.converter": "Gone"})))
    assert "The class upper.GoneConverter" in broken["key.converter"][0]
    assert "can't be imported: AttributeError" in broken["key.converter"][0]


CHAIN = {
    "transforms": "r",
    "transforms.r.type": "Rename",
    "transforms.r.to": "b",
    "transforms.r.predicate": "p",
    "predicates": "p",
    "predicates.p.type": "Named",
    "predicates.p.size": "3",
}


def test_a_chain_s_settings_come_by_alias(sandbox: Sandbox) -> None:
    infos = sandbox.validate("DemoSource", config("DemoSource", **CHAIN))
    assert errors(infos) == {}
    names = [row["definition"]["name"] for row in infos["configs"]]
    first = names.index("transforms.r.type")
    assert names[first : first + 8] == [
        *("transforms.r.type", "transforms.r.plugin.version", "transforms.r.to"),
        *("transforms.r.negate", "transforms.r.predicate"),
        *("predicates.p.type", "predicates.p.plugin.version", "predicates.p.size"),
    ]
    rows = {row["definition"]["name"]: row for row in infos["configs"]}
    assert rows["transforms.r.negate"]["definition"]["type"] == "BOOLEAN", "the framework's masks the plugin's own"
    assert rows["transforms.r.plugin.version"]["definition"]["default_value"] == "3.0"
    assert infos["groups"][-3:] == ["Transforms: r", "Predicates: p", "Demo"]


@pytest.mark.parametrize(
    ("change", "setting", "message"),
    [
        ({"transforms.r.type": "Nope"}, "transforms.r.type", "Class Nope could not be found."),
        ({"transforms.r.type": None}, "transforms.r.type", 'Missing required configuration "transforms.r.type"'),
        ({"transforms.r.to": None}, "transforms.r.to", 'Missing required configuration "transforms.r.to" which has'),
        ({"transforms.r.negate": "maybe"}, "transforms.r.negate", "Expected value to be either true or false"),
        ({"predicates.p.size": "x"}, "predicates.p.size", "Not a number of type INT"),
        ({"transforms.r.predicate": "q"}, "transforms.r.predicate", "there is no predicate of that alias"),
        ({"transforms.r.predicate": ""}, "transforms.r.predicate", "Without this setting, the transform applies to"),
        (
            {"transforms.r.predicate": None, "transforms.r.negate": "true"},
            "transforms.r.type",
            "Config 'transforms.r.negate' was provided but there is no config 'transforms.r.predicate' defining a predicate",
        ),
        ({"transforms": "r, r"}, "transforms", "Duplicate alias provided."),
    ],
)
def test_what_is_wrong_with_a_chain(sandbox: Sandbox, change: dict[str, str | None], setting: str, message: str) -> None:
    changed = {name: value for name, value in {**CHAIN, **change}.items() if value is not None}
    found = errors(sandbox.validate("DemoSource", config("DemoSource", **changed)))
    assert any(message in text for text in found[setting]), found


def test_a_predicate_that_no_transform_uses_is_warned_of(sandbox: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    unused = {name: value for name, value in CHAIN.items() if name != "transforms.r.predicate"}
    with caplog.at_level(logging.WARNING):
        assert errors(sandbox.validate("DemoSource", config("DemoSource", **unused))) == {}
        assert "Connector c: No transform uses the predicate p" in caplog.text
        caplog.clear()
        sandbox.validate("DemoSource", config("DemoSource", **CHAIN))
    assert "The predicate p" not in caplog.text, "the control"


def test_a_sink_may_not_join_the_workers_group(sandbox: Sandbox) -> None:
    submitted = config("DemoSink", topics="t", **{"consumer.override.group.id": "workers"})
    assert errors(sandbox.validate("DemoSink", submitted)) == {
        "consumer.override.group.id": ["Consumer group workers conflicts with Connect worker group workers"]
    }


def test_exactly_once_is_asked_of_the_connector(plugin_path: list[str], sandbox: Sandbox) -> None:
    required = {"exactly.once.support": "required", "transaction.boundary": "connector"}
    found = errors(sandbox.validate("ExactSource", config("ExactSource", **required)))
    assert found["exactly.once.support"] == [
        "This worker does not have exactly-once source support enabled.",
        "The connector does not support exactly-once semantics with the provided configuration.",
    ]
    assert "does not support connector-defined transaction boundaries" in found["transaction.boundary"][0]
    exact = Sandbox(Registry.scan(plugin_path), plugin_path, 30, exactly_once=True)
    submitted = config("ExactSource", rows="1", **{"exactly.once.support": "required"})
    assert exact.validate("ExactSource", submitted)["error_count"] == 0
    exact.close()


def test_the_worker_s_policy_holds_for_the_clients_settings(plugin_path: list[str], sandbox: Sandbox) -> None:
    submitted = config("DemoSource", **{"producer.override.acks": "1", "consumer.override.client.id": "c"})
    infos = sandbox.validate("DemoSource", submitted)
    assert (infos["error_count"], infos["configs"][-1]["value"]["name"]) == (0, "producer.override.acks")
    strict = Sandbox(Registry.scan(plugin_path), plugin_path, 30, overrides=Policy("None"))
    try:
        infos = strict.validate("DemoSource", submitted)
        assert list(errors(infos)) == ["producer.override.acks"]
        assert infos["error_count"] == 1
    finally:
        strict.close()


TOPIC_CREATION = {"topic.creation.groups": "g", "topic.creation.g.include": "(", "topic.creation.default.partitions": "1"}


def test_topic_creation_rules_are_checked(sandbox: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    infos = sandbox.validate("DemoSource", config("DemoSource", **TOPIC_CREATION))
    found = errors(infos)
    assert list(found) == ["topic.creation.g.include", "topic.creation.default.replication.factor"]
    assert infos["groups"][-3:] == ["Topic Creation: g", "Topic Creation: default", "Demo"]
    with caplog.at_level(logging.WARNING):
        assert sandbox.validate("DemoSink", config("DemoSink", topics="t", **TOPIC_CREATION))["error_count"] == 0
    assert "Connector c: topic.creation.* settings have no effect on a sink connector" in caplog.text


def test_a_worker_without_topic_creation_refuses_its_rules(plugin_path: list[str]) -> None:
    sandbox = Sandbox(Registry.scan(plugin_path), plugin_path, 30, topic_creation=False)
    try:
        infos = sandbox.validate("DemoSource", config("DemoSource", **TOPIC_CREATION))
        assert set(errors(infos)) == set(TOPIC_CREATION)
        assert infos["error_count"] == 3
        assert sandbox.validate("DemoSource", config("DemoSource"))["error_count"] == 0
    finally:
        sandbox.close()


def test_printing_does_not_disturb_the_answer(sandbox: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "kconnect.plugins"):
        assert sandbox.validate("ChattySource", config("ChattySource"))["error_count"] == 0
        wait_for(lambda: "printed to stdout" in caplog.text and "from a child" in caplog.text)


@pytest.mark.parametrize(
    ("plugin", "text"),
    [
        ("CrashingSource", r"\(SIGSEGV\): demo_connectors.CrashingSource at the stage constructing"),
        ("HungrySource", r"\(SIGKILL, perhaps because memory ran out\): demo_connectors.HungrySource .* config\(\)"),
        ("LeavingSource", r"\(exit status 3\): demo_connectors.LeavingSource at the stage config\(\)"),
        ("ExitingSource", r"demo_connectors.ExitingSource failed at the stage config\(\): SystemExit: 4"),
        ("BrokenSource", r"BrokenSource failed at the stage importing: .*No module named 'a_module_that_is_not_there'"),
    ],
)
def test_what_ends_a_plugin_is_told_with_class_and_stage(sandbox: Sandbox, plugin: str, text: str) -> None:
    with pytest.raises(ConnectError, match=text):
        sandbox.validate(plugin, config(plugin))
    assert sandbox.validate("DemoSource", config("DemoSource"))["error_count"] == 0


@pytest.mark.parametrize(("plugin", "stage"), [("HangingSource", r"validate\(\)"), ("SpinningSource", r"config\(\)")])
def test_a_plugin_that_hangs_is_killed_at_the_limit(sandbox: Sandbox, plugin: str, stage: str) -> None:
    sandbox.validate("DemoSource", config("DemoSource"))  # warm: the limit below is for the plugin, not for Python
    with pytest.raises(RequestTimeoutError, match=f"within 5 s: demo_connectors.{plugin} at the stage {stage}"):
        sandbox.validate(plugin, config(plugin), timeout=5)
    assert sandbox.validate("DemoSource", config("DemoSource"))["error_count"] == 0


def test_a_refusal_is_the_callers_fault(sandbox: Sandbox) -> None:
    with pytest.raises(BadRequestError, match=r"config\(\) must return a ConfigDef that is not null."):
        sandbox.validate("NoneSource", config("NoneSource"))
    with pytest.raises(BadRequestError, match=r"validate\(\) must return a Config that is not null."):
        sandbox.validate("NothingSource", config("NothingSource"))
    with pytest.raises(BadRequestError, match="neither a SourceConnector nor a SinkConnector"):
        sandbox.validate("NotAConnector", config("NotAConnector"))
    with pytest.raises(BadRequestError, match="which name matches Nope"):
        sandbox.validate("DemoSource", config("Nope"))


def test_no_secret_in_messages_or_logs(sandbox: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    canary = "canary-5f1d"
    with caplog.at_level(logging.DEBUG):
        with pytest.raises(ConnectError, match="KeyError: 'no \\[hidden\\]'") as raised:
            sandbox.validate("RaisingSource", config("RaisingSource", **{"db.password": canary}))
        wait_for(lambda: "KeyError" in caplog.text)
    assert canary not in str(raised.value) + caplog.text


def test_listing_leaves_out_what_cannot_be_asked(sandbox: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        rows = [row for row in sandbox.list_plugins(connectors_only=False) if "." in row["class"]]
    demo = [row for row in rows if row["class"].startswith(("demo", "upper"))]
    assert {"class": "demo_connectors.DemoSinkConnector", "type": "sink", "version": "2.5"} in demo
    assert demo[-1] == {"class": "upper.UpperConverter", "type": "converter", "version": "1.0"}
    rest = "in version 2.5 is not listed until plugins are reloaded: "
    assert f"demo_broken:BrokenSource {rest}" in caplog.text
    assert f"demo_connectors:CrashingSource {rest}its process ended (SIGSEGV)" in caplog.text
    assert all(row["type"] in ("sink", "source") for row in sandbox.list_plugins(connectors_only=True))


def test_the_settings_of_a_plugin(sandbox: Sandbox) -> None:
    names = [row["name"] for row in sandbox.plugin_config("DemoSource", None)]
    assert names[:4] == ["file", "rows", "db.password", "name"]
    assert "exactly.once.support" in names
    assert [row["name"] for row in sandbox.plugin_config("Upper", "1.0")] == ["converter.type", "upper"]
    with pytest.raises(BadRequestError, match=r"version range \[9,9\], available versions: \[2.5\]"):
        sandbox.plugin_config("DemoSource", "9")
    with pytest.raises(BadRequestError, match=r"^Invalid version specification: \[bad$"):
        sandbox.plugin_config("DemoSource", "[bad")
    with pytest.raises(NotFoundError, match="Unknown plugin Nope"):
        sandbox.plugin_config("Nope", None)


def test_many_threads_get_their_own_answers(sandbox: Sandbox) -> None:
    wrong: list[object] = []

    def ask(number: int) -> None:
        for turn in range(5):
            topic = f"t{number}-{turn}"
            infos = sandbox.validate("DemoSink", config("DemoSink", topics=topic))
            values = {row["value"]["name"]: row["value"]["value"] for row in infos["configs"]}
            if values["topics"] != topic:
                wrong.append((topic, values["topics"]))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)  # less than the sandbox gives it
    assert not wrong
    assert not any(thread.is_alive() for thread in threads)


def test_the_warm_child_serves_the_first_plugin_that_is_asked_for_and_no_other(plugin_path: list[str]) -> None:
    sandbox = Sandbox(Registry.scan(plugin_path), plugin_path, 30)
    sandbox.warm_up()
    warm = {child.pid for child in children()}
    sandbox.validate("DemoSource", config("DemoSource"))
    assert {child.pid for child in children()} == warm
    sandbox.validate("FileStreamSource", config("FileStreamSource", topic="t"))
    assert {child.pid for child in children()} > warm
    sandbox.close()


def test_secrets_of_configs_do_not_fill_the_worker_s_memory() -> None:
    """The worker knows what a child must not log, in each form, for as long as it keeps that child."""
    sandbox = Sandbox(Registry.scan(None))
    try:
        for size in (10, 100_000):
            for number in range(3):
                secret = f"{number:04}" + "\\\"'" * size
                sandbox.validate("FileStreamSource", {**config("FileStreamSource", topic="t"), "my.password": secret})
            hidden = [text for child in sandbox._idle for text in child._hidden]
            assert sum(map(len, hidden)) < 2 * 2**20
            assert bool(hidden) == (size == 10), "the control: a process is kept, and what it must not log"
    finally:
        sandbox.close()


def test_idle_children_end_but_for_a_small_one(plugin_path: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A request finds one that is warm; one with a JVM, which takes much memory, is not kept for that."""
    monkeypatch.setattr("kconnect.plugins.sandbox._IDLE_S", 0.5)
    sandbox = Sandbox(Registry.scan(plugin_path), plugin_path, 30)
    try:
        sandbox.validate("DemoSource", config("DemoSource"))
        sandbox.validate("FileStreamSource", config("FileStreamSource", topic="t"))
        wait_for(lambda: len(sandbox._idle) == 1)
        (kept,) = sandbox._idle
        sandbox._tidy()
        assert sandbox._idle == [kept] and kept.used and kept.is_alive()
        monkeypatch.setattr("kconnect.plugins.child._LARGE", 1000)
        sandbox.validate("FileStreamSource", config("FileStreamSource", topic="t"))
        wait_for(lambda: len(sandbox._idle) == 1 and not sandbox._idle[0].used)
        assert not kept.is_alive()
    finally:
        sandbox.close()
    assert not children()


def test_a_child_that_died_while_idle_costs_nothing(plugin_path: list[str]) -> None:
    sandbox = Sandbox(Registry.scan(plugin_path), plugin_path, 30)
    sandbox.validate("DemoSource", config("DemoSource"))
    for child in children():
        child.kill()
        child.wait(60)
    assert sandbox.validate("DemoSource", config("DemoSource"))["error_count"] == 0
    sandbox.close()
    assert not children()


def test_what_is_installed_later_is_there_after_the_worker_s_restart(tmp_path: Path) -> None:
    """Or processes that happen to start later would run another version than those that run already."""

    def install(version: str) -> None:
        code = f"{CONNECTORS}    def config(self): return ConfigDef(ConfigKey('since.{version}', Type.STRING, ''))\n"
        code = code.replace("class NotAConnector: ...", "class Own(DemoSourceConnector):")
        PluginPackage("own", version, {"own.py": code}, {"kconnect.connectors": {"Own": "own:Own"}}).install(tmp_path)

    def since(sandbox: Sandbox, version: str | None = None) -> list[str]:
        asked = {"name": "c", "connector.class": "Own", "connector.plugin.version": version}
        names = [row["value"]["name"] for row in sandbox.validate("Own", asked)["configs"]]
        return [name for name in names if name.startswith("since.")]

    install("1.0")
    sandbox = Sandbox(Registry.scan([str(tmp_path)]), [str(tmp_path)])
    install("2.0")
    try:
        assert since(sandbox) == ["since.1.0"]
        assert since(sandbox, "2.0") == []
    finally:
        sandbox.close()
    restarted = Sandbox(Registry.scan([str(tmp_path)]), [str(tmp_path)])
    try:
        assert since(restarted) == ["since.2.0"]
    finally:
        restarted.close()


def test_a_class_whose_services_say_nothing_keeps_nobody_from_the_others_beside_it(plugin_path: list[str]) -> None:
    """As the sinks in the box are: a config that names a catalog which does not answer is looked at for a minute."""
    sandbox = Sandbox(Registry.scan(plugin_path), plugin_path, 240)

    def ask(name: str) -> None:
        with suppress(ConnectError):
            sandbox.validate(name, config(name))

    names = ["HangingSource", "demo_connectors.HangingSource"]
    threads = [threading.Thread(target=ask, args=(name,), daemon=True) for name in 4 * names]
    for thread in threads:
        thread.start()
    try:
        wait_for(lambda: sum(child.stage is not None for child in list(sandbox._busy)) == 3)
        assert sandbox.validate("DemoSource", config("DemoSource"), timeout=120)["error_count"] == 0
        assert all(thread.is_alive() for thread in threads)
    finally:
        sandbox.close()
    for thread in threads:
        thread.join(60)


def test_closing_ends_a_call_that_hangs(plugin_path: list[str]) -> None:
    sandbox = Sandbox(Registry.scan(plugin_path), plugin_path, 30)
    raised: list[Exception] = []

    def ask() -> None:
        try:
            sandbox.validate("HangingSource", config("HangingSource"))
        except ConnectError as error:
            raised.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    wait_for(
        lambda: any(
            child.stage == {"stage": "validate()", "class": "demo_connectors.HangingSource"} for child in list(sandbox._busy)
        )
    )
    sandbox.close()
    thread.join(20)  # less than the sandbox gives it
    assert len(raised) == 1
    assert not children()


def test_children_inherit_no_sockets_and_die_with_their_parent(plugin_path: list[str], tmp_path: Path) -> None:
    """A worker that is killed while plugin code hangs leaves nothing behind."""
    script = tmp_path / "worker.py"
    script.write_text(
        "import socket, sys, threading\n"
        "from kconnect.plugins.registry import Registry\n"
        "from kconnect.plugins.sandbox import Sandbox\n"
        "listener = socket.create_server(('127.0.0.1', 0)); listener.set_inheritable(True)\n"
        "sandbox = Sandbox(Registry.scan(sys.argv[1:]), sys.argv[1:])\n"
        "asked = {'name': 'c', 'connector.class': 'HangingSource', 'file': 'a'}\n"
        "threading.Thread(target=lambda: sandbox.validate('HangingSource', asked)).start()\n"
        "while not any((child.stage or {}).get('stage') == 'validate()' for child in list(sandbox._busy)): pass\n"
        "print('hanging', flush=True)\n"
    )
    worker = subprocess.Popen([sys.executable, str(script), *plugin_path], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    assert worker.stdout.readline() == "hanging\n"
    (child,) = psutil.Process(worker.pid).children()
    links = [os.readlink(f"/proc/{child.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{child.pid}/fd")]
    assert not [link for link in links if link.startswith("socket:")]
    worker.kill()
    worker.wait(60)
    worker.stdout.close()
    wait_for(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def children() -> list[psutil.Process]:
    """Sandbox children of the sandboxes made here; those of the shared one are in its own care."""
    return [
        child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE and child.pid not in _SHARED
    ]


_SHARED: set[int] = set()


@pytest.fixture(autouse=True)
def _know_the_shared_children(sandbox: Sandbox) -> None:
    _SHARED.clear()
    _SHARED.update(child.pid for child in psutil.Process().children())


def test_a_child_that_can_not_start_says_why() -> None:
    child = Child((), {"canary": "x" * 200_000}, "kconnect.no_such_module")
    try:
        with pytest.raises(ChildEndedError, match=r"exit status 1: .*No module named kconnect\.no_such_module"):
            child.ask({}, time.monotonic() + 60)
    finally:
        child.kill()


def test_a_config_of_thousands_of_secrets_is_refused(sandbox: Sandbox) -> None:
    """The worker would know each in a dozen forms, and look for all of them in each line that the process prints."""
    sandbox.validate("DemoSource", config("DemoSource", **{f"label.{n}.token": f"canary-{n}" for n in range(900)}))
    for many in (
        {f"label.{n}.token": f"canary-{n}" for n in range(1001)},
        {"label.url": "http://h/?" + "&".join(f"token=canary-{n}" for n in range(1001))},
    ):
        with pytest.raises(BadRequestError, match="The config has 1,001 secrets, of which 1,000 are possible: leave some out"):
            sandbox.validate("DemoSource", config("DemoSource", **many))
