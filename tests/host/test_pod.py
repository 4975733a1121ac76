"""What an executor's pod becomes, by the variables that Spark gives it. `tests/docker/test_executors.py` has it run."""

from __future__ import annotations

import pytest

from kconnect.errors import ConnectError
from kconnect.host import pod

GIVEN = {
    "SPARK_HOME": "/spark",
    "SPARK_CONF_DIR": "/conf",
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@worker:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "1",
    "SPARK_EXECUTOR_MEMORY": "512m",
    "SPARK_APPLICATION_ID": "app",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.7",
    "SPARK_EXECUTOR_POD_NAME": "exec-3",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_JAVA_OPT_10": "-Dlast=1",
    "SPARK_JAVA_OPT_2": "-Dfirst=a b",
    "_SPARK_AUTH_SECRET": "canary",
}


def test_options_come_in_their_order_and_no_secret_is_on_the_command_line() -> None:
    words = pod.command(GIVEN, "/java")
    assert words[:6] == ["/java", "-Dfirst=a b", "-Dlast=1", "-Xmx512m", "-cp", "/conf:/spark/jars/*"]
    assert words[7:] == [
        *("--driver-url", GIVEN["SPARK_DRIVER_URL"], "--executor-id", "3", "--cores", "1", "--app-id", "app"),
        *("--hostname", "10.0.0.7", "--resourceProfileId", "0", "--podName", "exec-3"),
    ]
    assert not [word for word in words if "canary" in word]


def test_classes_of_the_worker_file_go_before_spark_s() -> None:
    words = pod.command({**GIVEN, "SPARK_CLASSPATH": "/plugins/more.jar"}, "/java")
    assert words[words.index("-cp") + 1] == "/plugins/more.jar:/conf:/spark/jars/*"


def test_elsewhere_it_says_what_is_missing() -> None:
    with pytest.raises(
        ConnectError, match=r"no executor's pod: SPARK_DRIVER_URL, SPARK_EXECUTOR_ID not set\. Spark's driver makes"
    ):
        pod.command({**GIVEN, "SPARK_DRIVER_URL": "", "SPARK_EXECUTOR_ID": ""}, "/java")
