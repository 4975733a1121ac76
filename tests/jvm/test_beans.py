"""What plugins publish by JMX, and as metrics of their own, read in this process by `kconnect/jvm/beans.py` and the shim."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog

from kconnect.core.metrics.published import Published
from kconnect.jvm import beans, classes
from kconnect.jvm.logs import name_of
from kconnect.processes import logs
from tests.jvm.java import LONG, STRING, chain
from tests.jvm.test_source_task import numbers
from tests.support import wait_until

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]

SECRET = "canary-bean-77a1"
WAIT_S = 120.0


def latest(unit: str) -> dict[str, Published]:
    return {each.prefix: each for each in beans.latest(0.1, lambda text: text.replace(SECRET, "[hidden]")).get(unit, ())}


@pytest.fixture
def unit(request: pytest.FixtureRequest) -> Iterator[str]:
    """This thread is a task's."""
    name = request.node.name
    logs.bind(name, 0)
    yield name_of(name, 0)
    logs.bind(name, 0)
    beans.end()
    structlog.contextvars.clear_contextvars()


def wait(found: Callable[[], object]) -> None:
    wait_until(lambda: bool(found()), WAIT_S)


def test_a_bean_is_known_as_its_task_s_and_told_in_numbers(java_plugin: Path, unit: str) -> None:
    task = numbers(java_plugin, chain(LONG, STRING), bean=f"rig:type=Tally,name={SECRET},nr=1")
    task.poll()
    wait(lambda: "rig_tally" in latest(unit) and latest(unit)["rig_tally"].values["sent"] == 5)
    found = latest(unit)["rig_tally"]
    assert dict(found.labels) == {"name": "[hidden]", "nr": "1"}
    assert found.values == {"sent": 5, "ready": 1, "unknown": None, "slow": 1}


def test_metrics_that_plugins_make_have_connect_s_tags_until_the_unit_ends(java_plugin: Path, unit: str) -> None:
    task = numbers(java_plugin, chain(LONG, STRING))
    task.poll()
    shout = classes.load("transformation", "rig.Shout", str(java_plugin))()
    shout.configure({})
    shout.monitor("transformation", "loud")
    connector = unit.partition("\0")[0]

    def rows() -> list[tuple[dict[str, str], dict[str, float | None]]]:
        every = beans.latest(0.1, str).get(unit, ())
        return [(dict(each.labels), dict(each.values)) for each in every if each.prefix == "kafka_connect_plugins"]

    wait(lambda: len(rows()) == 2)
    own = {"connector": connector, "task": "0"}
    expected = [(own, {"numbers_sent": 5.0}), ({**own, "transformation": "loud"}, {"calls_total": 0.0})]
    wait(lambda: rows() == expected)
    beans.end()
    wait(lambda: not rows())
    # The next life of the task makes them anew.
    numbers(java_plugin, chain(LONG, STRING))
    wait(lambda: rows() == [(own, {"numbers_sent": 0.0})])


def test_a_getter_that_hangs_costs_its_own_bean_only(java_plugin: Path, unit: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    for number, how in enumerate(("bean", "", "bean", "")):
        register(java_plugin, f"rig{number}:type=Hangs", how)
    wait(lambda: {"rig1_hangs", "rig3_hangs"} <= latest(unit).keys())
    assert not {"rig0_hangs", "rig2_hangs"} & latest(unit).keys()
    # One after the other, and once each.
    wait(lambda: hanging(caplog) == ["rig0", "rig2"])
    register(java_plugin, "rig4:type=Hangs", "")
    wait(lambda: "rig4_hangs" in latest(unit))
    assert hanging(caplog) == ["rig0", "rig2"]


def hanging(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Which are said not to answer."""
    return sorted(text.split()[3].partition(":")[0] for text in caplog.messages if "does not answer" in text)


def register(java_plugin: Path, bean: str, how: str) -> None:
    """As one life of the task after the other."""
    beans.end()
    numbers(java_plugin, chain(LONG, STRING), bean=bean, fails=how)


def test_of_very_many_beans_some_are_told(java_plugin: Path, unit: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    numbers(java_plugin, chain(LONG, STRING), beans="20000")
    wait(lambda: [text for text in caplog.messages if "more than there is room for" in text])
    assert 500 < sum(len(each.values) for each in beans.latest(0.1, str)[unit]) <= 6000


def test_the_beans_of_a_thread_that_is_nobody_s() -> None:
    stranger = threading.Thread(target=_register_alone)
    stranger.start()
    stranger.join()
    wait(lambda: latest("").get("alone_x"))
    assert latest("")["alone_x"].labels == ()


def _register_alone() -> None:
    import jpype

    from kconnect.jvm import machine

    machine.start()
    machine.attach()
    server = jpype.JClass("java.lang.management.ManagementFactory").getPlatformMBeanServer()
    server.registerMBean(
        jpype.JClass("javax.management.timer.Timer")(), jpype.JClass("javax.management.ObjectName")("alone:type=x")
    )
