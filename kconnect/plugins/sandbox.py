"""
Asks plugin code about configs in child processes that can be thrown away: the worker itself never imports a plugin.

`Sandbox` is held by `worker/main.py`; its methods block and are called from the loop's threads. A child that does not
answer within the limit, crashes or exits costs that one request an error which names the class and the stage; the next
request gets a fresh child. Read next: `sandbox_child.py`.
"""

from __future__ import annotations

import logging
import queue
import subprocess
import sys
import threading
from collections.abc import Iterable
from typing import Any

from kconnect.api.errors import BadRequestError, ConnectError, NotFoundError
from kconnect.core.settings.connector import SINK_CONFIG, SOURCE_CONFIG
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox_child import read_frame, write_frame

log = logging.getLogger(__name__)

_CHILDREN = 4
_TYPES = ("sink", "source", "transformation", "predicate", "converter", "header_converter")


class Sandbox:
    """`timeout` in seconds limits each call, the start of a child included. Thread-safe."""

    def __init__(self, registry: Registry, plugin_path: Iterable[str] | None, timeout: float = 60.0) -> None:
        self._registry = registry
        self._plugin_path = list(plugin_path or ())
        self._timeout = timeout
        self._idle: queue.LifoQueue[_Child] = queue.LifoQueue()
        self._slots = threading.Semaphore(_CHILDREN)
        self._described: dict[str, dict[str, Any]] = {}
        self._closed = False

    def warm_up(self) -> None:
        """Have one child ready before somebody asks."""
        self._idle.put(_Child(self._plugin_path))

    def close(self) -> None:
        self._closed = True
        while not self._idle.empty():
            self._idle.get().kill()

    def describe(self, plugin: str) -> dict[str, Any]:
        """`class`, `type` and `version` of a connector; NotFoundError if there is none of that name."""
        if plugin not in self._described:
            self._described[plugin] = self._call("describe", plugin=plugin)
        return self._described[plugin]

    def validate(self, plugin: str, config: dict[str, str | None]) -> dict[str, Any]:
        """ConfigInfos; BadRequestError if the class does not exist or its code fails."""
        try:
            return self._call("validate", plugin=plugin, config=config)
        except NotFoundError as error:
            raise BadRequestError(str(error)) from error

    def list_plugins(self, connectors_only: bool) -> list[dict[str, Any]]:
        """The body of `GET /connector-plugins`; a connector whose code can't be asked is left out, with a warning."""
        rows = []
        for plugin in self._registry.plugins:
            kind = plugin.kind
            if kind == "connector":
                try:
                    described = self.describe(plugin.class_name)
                except ConnectError as error:
                    log.warning("The plugin %s is not listed: %s", plugin.class_name, error)
                    continue
                rows.append({"class": plugin.class_name, "type": described["type"], "version": described["version"]})
            elif not connectors_only and kind in _TYPES:
                rows.append({"class": plugin.class_name, "type": kind, "version": plugin.version})
        return sorted(rows, key=lambda row: (_TYPES.index(row["type"]), row["class"], row["version"]))

    def plugin_config(self, plugin: str, version: str | None) -> list[dict[str, Any]]:
        """The body of `GET /connector-plugins/{plugin}/config`: own settings first, then those of the framework."""
        for kind in ("connector", "converter", "header_converter", "transformation", "predicate"):
            try:
                found = self._registry.find(plugin, kind)
            except NotFoundError:
                continue
            if version not in (None, "latest", found.version):
                raise BadRequestError(
                    f"Plugin {found.class_name} not found that matches the version range [{version},{version}], "
                    f"available versions: [{found.version}]"
                )
            rows: list[dict[str, Any]] = self._call("config", plugin=plugin, kind=kind)
            if kind == "connector":
                framework = SINK_CONFIG if self.describe(plugin)["type"] == "sink" else SOURCE_CONFIG
                own = {row["name"] for row in rows}
                rows += [key.info() for name, key in framework.keys.items() if name not in own]
            return rows
        raise NotFoundError(f"Unknown plugin {plugin}.")

    def _call(self, call: str, **arguments: Any) -> Any:
        with self._slots:
            try:
                child = self._idle.get_nowait()
            except queue.Empty:
                child = _Child(self._plugin_path)
            result = child.ask({"call": call, "arguments": arguments}, self._timeout)
            # Only a child that answered is used again.
            if self._closed:
                child.kill()
            else:
                self._idle.put(child)
        if "error" in result:
            raise NotFoundError(result["error"]) if result["not_found"] else BadRequestError(result["error"])
        return result["result"]


class _Child:
    def __init__(self, plugin_path: list[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kconnect.plugins.sandbox_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        write_frame(self._stdin, {"plugin_path": plugin_path})

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """The answer; ConnectError naming class and stage if the child is silent for too long or ends."""
        killed = threading.Event()

        def kill() -> None:
            killed.set()
            self._process.kill()

        timer = threading.Timer(timeout, kill)
        timer.daemon = True
        timer.start()
        stage: dict[str, Any] = {"stage": "starting", "class": request["arguments"].get("plugin", "")}
        try:
            write_frame(self._stdin, request)
            while (frame := read_frame(self._stdout)) is not None:
                if "stage" in frame:
                    stage = frame
                elif "ready" not in frame:
                    return frame
        except OSError:
            log.debug("The sandbox's child has closed its pipe")
        finally:
            timer.cancel()
        self.kill()
        where = f"{stage['class']} at the stage {stage['stage']}"
        if killed.is_set():
            raise BadRequestError(f"The plugin did not answer within {timeout:.0f} s: {where}. Its process was killed.")
        raise BadRequestError(f"The plugin ended its process (status {self._process.returncode}): {where}.")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._stdin.close()
        self._stdout.close()
