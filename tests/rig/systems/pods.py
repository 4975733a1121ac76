"""
The part of Kubernetes that Spark needs to run executors in pods: an API of pods, and who runs their programs on this machine.

The API is `kubernetes-server-mock`, which Kubernetes' client for Java is tested with (as is Spark's scheduler), in a JVM of its
own: it keeps what is posted and tells who watches; it checks nothing, and has no rights. `Pods` plays the kubelet: it starts
the program that a pod names, says that it runs and how it ended, and ends it with its pod. Images, mounts and networks are
not there. Used by `tests/docker/test_executors.py`; run as a module, it is the API.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import httpx

from kconnect.jvm import jars, java
from kconnect.local.guard import Guard
from tests.support import wait_until

_MOCK = "io.fabric8:kubernetes-server-mock:7.6.1"
_OF_SPARK = ("kubernetes-*.jar", "zjsonpatch-*.jar", "slf4j-api-*.jar", "jackson-*.jar", "snakeyaml-*.jar", "vertx-*.jar")
"""What the mock needs beside: the client that it is the other side of comes with Spark."""
_TURN_S = 0.2
_ENDED = ("Succeeded", "Failed")


class Pods:
    """The API at `url`, and the kubelet of one namespace, from `start` to `stop`."""

    def __init__(self, namespace: str) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="kconnect-pods-"))
        self._namespace = namespace
        self._api: subprocess.Popen[bytes] | None = None
        self._guard: Guard | None = None
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._over = threading.Event()
        self._kubelet = threading.Thread(target=self._look_again_and_again, name="kubelet")
        self.orders: dict[str, dict[str, Any]] = {}
        """Each executor's pod as it was posted, by name."""
        self.url = ""

    def start(self) -> Pods:
        with open(self._log("api"), "wb") as log:
            self._api = subprocess.Popen(
                [sys.executable, "-m", "tests.rig.systems.pods", str(self._directory)],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._guard = Guard(self._api.pid, str(self._directory))
        self.url = f"http://127.0.0.1:{wait_until(self._port, 120, 'the API of pods did not start')}"
        self._client = httpx.Client(base_url=f"{self.url}/api/v1/namespaces/{self._namespace}", timeout=30, trust_env=False)
        self._kubelet.start()
        return self

    def _port(self) -> str:
        assert self._api is not None and self._api.poll() is None, self._log("api").read_text()[-2000:]
        with contextlib.suppress(FileNotFoundError):
            return (self._directory / "port").read_text()
        return ""

    def stop(self) -> None:
        self._over.set()
        if self._kubelet.ident is not None:
            self._kubelet.join()
        for program in self._running.values():
            _end(program)
        if self._api is not None:
            self._api.kill()
            self._api.wait()
        if self._guard is not None:
            self._guard.release()
        shutil.rmtree(self._directory, ignore_errors=True)

    def create(self, pod: dict[str, Any]) -> None:
        """Post a pod that somebody else runs."""
        self._client.post("/pods", json=pod).raise_for_status()

    def requests(self) -> list[tuple[str, str]]:
        """Return the method and the path of each request that others than the kubelet have made."""
        lines = map(json.loads, (self._directory / "requests").read_text().splitlines())
        return [(method, path) for method, path, agent in lines if not agent.startswith("python-httpx")]

    def pids(self) -> dict[str, int]:
        """Return the processes that run now, by pod."""
        return {name: program.pid for name, program in self._running.items() if program.poll() is None}

    def kill(self, name: str) -> None:
        """Kill the program of a pod."""
        os.killpg(self._running[name].pid, signal.SIGKILL)

    def log(self, name: str) -> str:
        return self._log(name).read_text("utf-8", "replace")

    def _log(self, name: str) -> Path:
        return self._directory / f"{name}.log"

    def _look_again_and_again(self) -> None:
        while not self._over.wait(_TURN_S):
            self._look()

    def _look(self) -> None:
        answer = self._client.get("/pods", params={"labelSelector": "spark-role=executor"}).raise_for_status()
        pods = {pod["metadata"]["name"]: pod for pod in answer.json()["items"]}
        for name in self._running.keys() - pods.keys():
            _end(self._running.pop(name))
        for name, pod in pods.items():
            if name not in self.orders:
                self.orders[name] = pod
                self._running[name] = self._run(name, pod)
                self._say(name, pod, "Running", {"running": {}})
            elif (status := self._running[name].poll()) is not None and pod["status"]["phase"] not in _ENDED:
                self._say(name, pod, "Failed" if status else "Succeeded", {"terminated": {"exitCode": abs(status)}})

    def _run(self, name: str, pod: dict[str, Any]) -> subprocess.Popen[bytes]:
        (container,) = pod["spec"]["containers"]
        fields = {"status.podIP": "127.0.0.1", "metadata.name": name}
        environment = dict(os.environ)
        for variable in container["env"]:
            reference = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            environment[variable["name"]] = variable.get("value", "") if reference is None else fields[reference]
        # What is mounted into the pod.
        for variable in ("SPARK_LOCAL_DIRS", "SPARK_CONF_DIR"):
            environment[variable] = str(self._directory / name / variable)
            Path(environment[variable]).mkdir(parents=True)
        words = [*container["command"], *container["args"]]
        # Process 1 of a container, which here nobody is; and the image's Python.
        assert words[:3] == ["tini", "--", "python"]
        with open(self._log(name), "wb") as log:
            return subprocess.Popen(
                [sys.executable, *words[3:]], env=environment, stdout=log, stderr=log, start_new_session=True
            )

    def _say(self, name: str, pod: dict[str, Any], phase: str, state: dict[str, Any]) -> None:
        container = pod["spec"]["containers"][0]["name"]
        statuses = [
            {"name": container, "state": state, "ready": phase == "Running", "restartCount": 0, "image": "", "imageID": ""}
        ]
        self._client.patch(
            f"/pods/{name}",
            json={"status": {"phase": phase, "podIP": "127.0.0.1", "containerStatuses": statuses}},
            headers={"content-type": "application/merge-patch+json"},
        ).raise_for_status()


def _end(program: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)
    program.wait()


def main(directory: str) -> None:
    """Be the API until somebody ends this process; `directory` gets the port, and a line for each request."""
    import jpype

    own, of_spark = jars.resolve("kubernetes-mock", (_MOCK,)), jars.of_pyspark("kubernetes-client").parent
    class_path = [*own.glob("*.jar"), *(jar for pattern in _OF_SPARK for jar in of_spark.glob(pattern))]
    jpype.startJVM(java.library(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", classpath=[*map(str, class_path)])
    mock, kept = jpype.JPackage("io").fabric8.kubernetes.client.server.mock, jpype.JPackage("io").fabric8.mockwebserver
    server = mock.KubernetesMockServer(
        kept.Context(), kept.MockWebServer(), jpype.JClass("java.util.HashMap")(), mock.KubernetesCrudDispatcher(), False
    )
    server.init(jpype.JClass("java.net.InetAddress").getByName("127.0.0.1"), 0)
    requests = Path(directory, "requests")
    requests.touch()
    Path(directory, "port.new").write_text(str(server.getPort()))
    Path(directory, "port.new").rename(Path(directory, "port"))
    while True:
        request = server.takeRequest()
        line = [str(request.getMethod()), str(request.getPath()), str(request.getHeader("User-Agent"))]
        with open(requests, "a") as file:
            file.write(f"{json.dumps(line)}\n")


if __name__ == "__main__":
    main(sys.argv[1])
