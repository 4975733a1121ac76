"""
The program of an executor's pod on Kubernetes: becomes the JVM that Spark's driver has ordered.

Spark makes a pod whose variables say what the JVM is to know, and leaves to the image how to start it. The pod template of the
chart (`docker/chart/templates/_helpers.tpl`) names this module, so that the image of the workers serves executors, too, and
nobody has to build one of Spark's. Whatever is wrong ends the pod with a sentence, which Spark's driver has in its log. Read
next: `spark/session.py`, for the driver's side.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

from kconnect.errors import ConnectError
from kconnect.jvm import java
from kconnect.spark import home

_MAIN = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_ARGUMENTS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
_OPTION = re.compile(r"SPARK_JAVA_OPT_(\d+)")


def command(environ: Mapping[str, str], program: str) -> list[str]:
    """Return the JVM's command line. ConnectError if Spark's driver has not made this pod."""
    wanted = [*_ARGUMENTS.values(), "SPARK_EXECUTOR_MEMORY", "SPARK_HOME"]
    if missing := [name for name in wanted if not environ.get(name)]:
        raise ConnectError(
            f"This is no executor's pod: {', '.join(missing)} not set. Spark's driver makes such pods, with spark.master=k8s://…"
        )
    numbered = sorted((int(found[1]), value) for name, value in environ.items() if (found := _OPTION.fullmatch(name)))
    # SPARK_CLASSPATH is spark.executor.extraClassPath, which goes before Spark's own, as on other clusters.
    classes = [environ.get("SPARK_CLASSPATH", ""), environ.get("SPARK_CONF_DIR", ""), f"{environ['SPARK_HOME']}/jars/*"]
    arguments = [word for option, name in _ARGUMENTS.items() for word in (option, environ[name])]
    options = [option for _, option in numbered]
    return [
        *(program, *options, f"-Xmx{environ['SPARK_EXECUTOR_MEMORY']}"),
        *("-cp", os.pathsep.join(filter(None, classes)), _MAIN, *arguments),
    ]


def main() -> None:
    home.name_it(os.environ)
    try:
        words = command(os.environ, java.checked())
    except ConnectError as error:
        sys.exit(f"kconnect.host.pod: {error}")
    os.execv(words[0], words)


if __name__ == "__main__":
    main()
