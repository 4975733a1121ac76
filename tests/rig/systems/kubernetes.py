"""
An API server of Kubernetes for custom resources, without a cluster: the real `apiextensions-apiserver` with a real etcd.

It has schemas, status subresources, watches, finalizers and conflicts of custom resources. It has no core API and no list of
groups, so `Front` stands before it: it keeps the events that are posted, makes the list, and passes all else on. There are no
Secrets, RBAC or Pods. Used by the tests of `kconnect operator`.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import ssl
import subprocess
import threading
from pathlib import Path
from typing import Any

import httpx
import yaml
from aiohttp import ClientError, ClientSession, ClientTimeout, web
from yarl import URL

from kconnect.errors import ConnectError
from kconnect.jvm import jars, lock
from kconnect.local.broker import free_port
from tests.rig.systems import debian, go_tools
from tests.support import wait_until

SERVER = "apiextensions-apiserver"
_PATIENCE_S = 120.0
_DISABLED = ",".join(
    (
        *("NamespaceLifecycle", "MutatingAdmissionPolicy", "MutatingAdmissionWebhook"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook"),
    )
)


def find() -> dict[str, Path] | None:
    """Return where the server and etcd are, None if one of them is missing."""
    server, etcd = go_tools.find(SERVER), shutil.which("etcd")
    return None if server is None or etcd is None else {"server": server, "etcd": Path(etcd)}


def find_or_build() -> dict[str, Path]:
    """Return what `find` does, and install or build what is missing. Raise ConnectError if that can't be done."""
    go_tools.find_or_build(SERVER, build=True)
    if shutil.which("etcd") is None and debian.can_install():
        with lock.hold(jars.cache_dir() / "etcd.lock"):
            if shutil.which("etcd") is None:
                debian.install("etcd-server")
    programs = find()
    if programs is None:
        raise ConnectError("etcd was not found: install it, on Debian with `apt-get install etcd-server`")
    return programs


class ApiServer:
    """A server from `start` to `stop`. `kubeconfig` is the file by which clients find its front, `url` the front's address."""

    def __init__(self, programs: dict[str, Path], directory: Path) -> None:
        self._programs, self._directory = programs, directory
        self._processes: list[subprocess.Popen[bytes]] = []
        self._front: Front | None = None
        self.kubeconfig = directory / "kubeconfig"
        self.url = ""

    def start(self) -> ApiServer:
        self._directory.mkdir(parents=True, exist_ok=True)
        _certificates(self._directory)
        client, peer, secure = free_port(), free_port(), free_port()
        etcd = f"http://127.0.0.1:{client}"
        self._run(
            "etcd",
            f"--data-dir={self._directory / 'etcd'}",
            *(f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}"),
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
        )
        wait_until(lambda: _answers(f"{etcd}/health"), _PATIENCE_S, "etcd did not answer")
        own = self._directory / "self"
        real = f"https://127.0.0.1:{secure}"
        _write_kubeconfig(own, real, self._directory)
        self._run(
            "server",
            f"--etcd-servers={etcd}",
            *("--bind-address=127.0.0.1", f"--secure-port={secure}", f"--cert-dir={self._directory / 'certs'}"),
            f"--client-ca-file={self._directory / 'ca.crt'}",
            *(f"--kubeconfig={own}", f"--authentication-kubeconfig={own}", f"--authorization-kubeconfig={own}"),
            *("--authentication-skip-lookup", "--authorization-always-allow-paths=/*"),
            f"--disable-admission-plugins={_DISABLED}",
        )
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.load_cert_chain(self._directory / "admin.crt", self._directory / "admin.key")
        self._front = Front(real, context)
        self.url = self._front.start()
        _write_kubeconfig(self.kubeconfig, self.url)
        wait_until(lambda: _answers(f"{self.url}/apis/apiextensions.k8s.io/v1"), _PATIENCE_S, "the API server did not answer")
        return self

    def stop(self) -> None:
        if self._front is not None:
            self._front.stop()
        for process in reversed(self._processes):
            process.terminate()
        for process in reversed(self._processes):
            process.wait(60)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events that were posted, the oldest first."""
        assert self._front is not None
        return list(self._front.events)

    def request(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> httpx.Response:
        content = None if body is None else json.dumps(body)
        return httpx.request(method, self.url + path, content=content, headers={"Content-Type": kind}, timeout=30)

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """Return the answer; AssertionError with its sentence if it is a refusal."""
        response = self.request(method, path, body, kind)
        assert response.is_success, response.text
        return response.json()

    def define(self, definition: dict[str, Any]) -> None:
        """Create a kind of resource, if there is none yet, and wait until it is served."""
        response = self.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        assert response.is_success or response.status_code == 409, response.text
        spec = definition["spec"]
        paths = [f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}" for version in spec["versions"]]
        wait_until(lambda: all(_answers(self.url + path) for path in paths), _PATIENCE_S, f"{paths} were not served")

    def _run(self, name: str, *words: str) -> None:
        with (self._directory / f"{name}.log").open("wb") as log:
            command = [str(self._programs[name]), *words]
            self._processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log))


class Front:
    """What answers for the core API that the server lacks: events can be posted. All else goes to the server, over TLS."""

    def __init__(self, server: str, context: ssl.SSLContext) -> None:
        self._server, self._context = server, context
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._session: ClientSession | None = None
        self._runner: web.AppRunner | None = None
        self.events: list[dict[str, Any]] = []

    def start(self) -> str:
        self._thread.start()
        return asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(60)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    async def _start(self) -> str:
        self._session = ClientSession(timeout=ClientTimeout(total=None), auto_decompress=False)
        application = web.Application(client_max_size=2**24)
        application.router.add_get("/api", self._versions)
        application.router.add_get("/api/v1", self._resources)
        application.router.add_get("/api/v1/namespaces", self._forbidden)
        application.router.add_get("/apis", self._groups)
        application.router.add_post("/api/v1/namespaces/{namespace}/events", self._keep)
        application.router.add_route("*", "/{path:.*}", self._pass_on)
        self._runner = web.AppRunner(application, shutdown_timeout=1, handler_cancellation=True)
        await self._runner.setup()
        port = free_port()
        await web.TCPSite(self._runner, "127.0.0.1", port).start()
        return f"http://127.0.0.1:{port}"

    async def _stop(self) -> None:
        assert self._runner is not None and self._session is not None
        await self._runner.cleanup()
        await self._session.close()
        # Watches of those who have gone.
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _versions(self, request: web.Request) -> web.Response:
        return web.json_response({"kind": "APIVersions", "versions": ["v1"]})

    async def _resources(self, request: web.Request) -> web.Response:
        rows = (("events", "Event", True), ("namespaces", "Namespace", False))
        resources = [
            {"name": name, "singularName": kind.lower(), "namespaced": namespaced, "kind": kind, "verbs": ["create", "list"]}
            for name, kind, namespaced in rows
        ]
        return web.json_response({"kind": "APIResourceList", "groupVersion": "v1", "resources": resources})

    async def _forbidden(self, request: web.Request) -> web.Response:
        """As who has a role in a namespace only is answered."""
        message = "namespaces is forbidden at the cluster scope"
        return web.json_response({"kind": "Status", "status": "Failure", "message": message, "code": 403}, status=403)

    async def _groups(self, request: web.Request) -> web.Response:
        """The list of groups, which the aggregator of a whole Kubernetes makes."""
        assert self._session is not None
        url = f"{self._server}/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        async with self._session.get(url, ssl=self._context, headers={"Accept-Encoding": "identity"}) as answer:
            specs = [item["spec"] for item in (await answer.json())["items"]]
        groups = []
        for spec in specs:
            names = [version["name"] for version in spec["versions"] if version["served"]]
            versions = [{"groupVersion": f"{spec['group']}/{name}", "version": name} for name in names]
            # Kubernetes prefers one that is neither alpha nor beta, too.
            preferred = min(versions, key=lambda version: ("alpha" in version["version"], "beta" in version["version"]))
            groups.append({"name": spec["group"], "versions": versions, "preferredVersion": preferred})
        return web.json_response({"kind": "APIGroupList", "groups": groups})

    async def _keep(self, request: web.Request) -> web.Response:
        event = await request.json()
        self.events.append(event)
        return web.json_response(event, status=201)

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        assert self._session is not None
        headers = {name: value for name, value in request.headers.items() if name.lower() in ("accept", "content-type")}
        body = await request.read()
        url = self._server + request.raw_path
        asking = self._session.request(
            request.method, URL(url, encoded=True), data=body or None, headers=headers, ssl=self._context
        )
        try:
            answer = await asking
        except ClientError as error:
            return web.Response(status=502, text=str(error))
        async with answer:
            kept = {
                name: value for name, value in answer.headers.items() if name.lower() in ("content-type", "content-encoding")
            }
            response = web.StreamResponse(status=answer.status, headers=kept)
            await response.prepare(request)
            async for part in answer.content.iter_any():
                await response.write(part)
            await response.write_eof()
            return response


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=10).status_code == 200
    except httpx.HTTPError:
        return False


def _certificates(directory: Path) -> None:
    """An authority, and a certificate of the group that may do everything."""
    steps = (
        "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=test-ca",
        "req -newkey rsa:2048 -nodes -keyout admin.key -out admin.csr -subj /O=system:masters/CN=admin",
        "x509 -req -in admin.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out admin.crt -days 2",
    )
    for step in steps:
        subprocess.run(["openssl", *step.split()], cwd=directory, check=True, capture_output=True)


def _write_kubeconfig(path: Path, server: str, certificates: Path | None = None) -> None:
    cluster: dict[str, Any] = {"server": server}
    user: dict[str, Any] = {}
    if certificates is not None:
        cluster["insecure-skip-tls-verify"] = True
        user = {"client-certificate": str(certificates / "admin.crt"), "client-key": str(certificates / "admin.key")}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "data"}}],
        "current-context": "test",
    }
    path.write_text(yaml.safe_dump(document), "utf-8")
