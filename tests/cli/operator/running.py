"""`kconnect operator` as a process, and the resources that it looks after, as kubectl would write and read them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support import wait_until

if TYPE_CHECKING:
    from tests.rig.systems.kubernetes import ApiServer

_MERGE = "application/merge-patch+json"


class Operator:
    """The process, which can be killed and started again."""

    def __init__(self, server: ApiServer, url: str, log: Path, *options: str) -> None:
        self._server, self._log = server, log
        self._command = [sys.executable, "-m", "kconnect", "operator", "--url", url, "--interval", "2", *options]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Operator:
        environment = {**os.environ, "KUBECONFIG": str(self._server.kubeconfig)}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def stop(self) -> int:
        """End it in order, and return its exit status."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(60)

    def kill(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(60)

    @property
    def log(self) -> str:
        return self._log.read_text("utf-8")

    def __enter__(self) -> Operator:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()


class Resources:
    """The resources of one kind in a namespace of one test."""

    def __init__(
        self, server: ApiServer, namespace: str, group: str = "kconnect.dev/v1alpha1", kind: str = "Connector"
    ) -> None:
        self._server, self.namespace, self._group, self._kind = server, namespace, group, kind
        self._path = f"/apis/{group}/namespaces/{namespace}/{kind.lower()}s"

    def manifest(self, name: str, /, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
        metadata = {"name": name, "namespace": self.namespace, "annotations": annotations or {}}
        return {"apiVersion": self._group, "kind": self._kind, "metadata": metadata, "spec": spec}

    def create(self, name: str, /, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
        body: dict[str, Any] = self._server.call("POST", self._path, self.manifest(name, annotations, **spec))
        return body

    def refusal(self, name: str, /, **spec: Any) -> str:
        """Why the API server does not take a resource."""
        response = self._server.request("POST", self._path, self.manifest(name, None, **spec))
        assert response.status_code == 422, response.text
        return str(response.json()["message"])

    def patch(self, name: str, /, **spec: Any) -> None:
        self._server.call("PATCH", f"{self._path}/{name}", {"spec": spec}, _MERGE)

    def refused_patch(self, name: str, /, **spec: Any) -> str:
        response = self._server.request("PATCH", f"{self._path}/{name}", {"spec": spec}, _MERGE)
        assert response.status_code == 422, response.text
        return str(response.json()["message"])

    def annotate(self, name: str, **annotations: str) -> None:
        """Underscores stand for the dashes of the names, which are kconnect's."""
        own = {f"kconnect.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
        self._server.call("PATCH", f"{self._path}/{name}", {"metadata": {"annotations": own}}, _MERGE)

    def delete(self, name: str) -> None:
        self._server.call("DELETE", f"{self._path}/{name}")

    def get(self, name: str) -> dict[str, Any] | None:
        """The resource, None if it is gone."""
        response = self._server.request("GET", f"{self._path}/{name}")
        if response.status_code == 404:
            return None
        found: dict[str, Any] = response.json()
        return found

    def status(self, name: str) -> dict[str, Any]:
        return (self.get(name) or {}).get("status") or {}

    def reason(self, name: str) -> str:
        """The reason of the condition Ready."""
        return next((row["reason"] for row in self.status(name).get("conditions", ()) if row["type"] == "Ready"), "")

    def wait(self, name: str, reason: str) -> dict[str, Any]:
        """Wait until the resource is Ready, or not, for a reason, at its newest generation."""

        def is_so() -> bool:
            body = self.get(name) or {}
            is_new = body.get("status", {}).get("observedGeneration") == body.get("metadata", {}).get("generation")
            return is_new and self.reason(name) == reason

        wait_until(is_so, 120, f"{name} did not become {reason}")
        return self.status(name)

    def wait_gone(self, name: str) -> None:
        wait_until(lambda: self.get(name) is None, 120, f"{name} did not go")

    def events(self, name: str) -> list[tuple[str, str, str]]:
        return [
            (event["type"], event["reason"], event["message"])
            for event in self._server.events
            if event["reportingComponent"] == "kconnect-operator"
            and (event["involvedObject"]["namespace"], event["involvedObject"]["name"]) == (self.namespace, name)
        ]

    def columns(self, name: str) -> dict[str, Any]:
        """What `kubectl get` shows."""
        import httpx

        table = httpx.get(
            f"{self._server.url}{self._path}/{name}", headers={"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
        )
        body = json.loads(table.content)
        return dict(zip((column["name"] for column in body["columnDefinitions"]), body["rows"][0]["cells"], strict=True))
