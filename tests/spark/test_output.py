"""What Spark's JVM says on its standard error: `kconnect/spark/output.py`."""

from __future__ import annotations

import os
import threading

import pytest

from kconnect.spark import output
from tests.support import wait_until


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("WARNING: Using incubator modules: jdk.incubator.vector", None),
        ("Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties", None),
        ('Setting default log level to "WARN".', None),
        ("To adjust logging level use sc.setLogLevel(newLevel). For SparkR, use setLogLevel(newLevel).", None),
        ("26/11/23 00:35:04 WARN NativeCodeLoader: Unable to load native-hadoop library for your platform...", None),
        ("", None),
        ("org.apache.spark.SparkException: Exception thrown in awaitResult: ", None),
        ("org.apache.spark.SparkException: no", ("WARNING", "org.apache.spark.SparkException: no")),
        ("26/11/23 00:35:04 ERROR SparkContext: Error initializing", ("ERROR", "SparkContext: Error initializing")),
        ("26/11/23 00:35:04 WARN Utils: Your hostname resolves", ("WARNING", "Utils: Your hostname resolves")),
        ("java.net.BindException: taken", ("WARNING", "java.net.BindException: taken")),
        ("\tat org.apache.spark.SparkContext.<init>(SparkContext.scala:585)", None),
        ("\tat java.base/java.lang.Thread.run(Thread.java:840)", None),
        ("\t... 12 more", None),
        ("Caused by: java.io.IOException: Failed to connect to /127.0.0.1:1", None),
    ],
)
def test_of_its_start_the_log_has_what_somebody_can_use(
    line: str, told: tuple[str, str] | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    output.tell(line)
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == ([] if told is None else [told])


def test_once_it_is_up_lines_pass_as_they_are(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    """What has passed is read once, at the end: what comes while it is read would be lost. Others may write there, too."""
    before = set(threading.enumerate())
    found = output.Output()
    (passing,) = [each for each in threading.enumerate() if each.name == "spark-output" and each not in before]
    lines = "2026-11-23 00:35:04.000 INFO    kconnect.host.main Host 0 starts\n26/11/23 00:35:04 WARN A: b\n"
    with open(os.dup(found.end), "wb", buffering=0) as jvm:
        found.started()
        jvm.write(b"26/11/23 00:35:04 ERROR A: b\n")
        wait_until(lambda: "A: b" in caplog.messages)
        found.up()
        jvm.write(lines.encode())
        found.drain(60)
    passing.join(60)
    assert not passing.is_alive()
    text = capfd.readouterr().err
    assert [text.find(line) >= 0 for line in lines.splitlines(keepends=True)] == [True, True]
    assert text.index(lines.splitlines()[0]) < text.index(lines.splitlines()[1])
    assert "ERROR A: b" not in text


def test_once_it_is_up_stacks_of_spark_s_are_left_out_and_those_of_plugins_are_not() -> None:
    lines = {
        "26/11/27 08:04:40 WARN TaskSetManager: Lost task 0.7 in stage 2.0: java.io.IOException: Cannot run program": False,
        "\tat java.base/java.lang.ProcessBuilder.start(ProcessBuilder.java:1143)": True,
        "Caused by: java.io.IOException: error=2, No such file or directory": True,
        "\t... 20 more": True,
        "26/11/27 08:04:40 ERROR Executor: Exception in task 0.0": False,
        "java.lang.IllegalStateException: no": False,
        "\tat org.apache.spark.Executor.run(Executor.scala:1)": True,
        "26/11/28 07:28:47 WARN TaskSetManager: Lost task 0.0 in stage 0.0 (TID 0): org.apache.spark.SparkException: ": False,
        "Error from python worker:": False,
        "  /usr/bin/python3: Error while finding module specification for 'kconnect.spark.daemon'": False,
        "PYTHONPATH was:": False,
        "  /opt/pyspark.zip": False,
        "org.apache.spark.SparkException: EOFException occurred while reading the port number": False,
        "\tat org.apache.spark.errors.SparkCoreErrors$.e(SparkCoreErrors.scala:55)": True,
        "2026-11-27 08:04:41.000 ERROR   kconnect.host [orders|task-0] The task failed": False,
        "org.apache.kafka.connect.errors.ConnectException: no": False,
        "\tat com.acme.Task.poll(Task.java:7)": False,
    }
    stacks = output.Stacks()
    assert {line: stacks.has(line) for line in lines} == lines
