"""
The worker file: properties, the environment on top, and references to secrets resolved (KIP-421).

Called by `worker/main.py` and `preview/preview.py`. The Spark driver and the hosts get what it gives, in orders that nobody
else sees. Read next: `order.py`, by which they read these, `core/settings/worker.py`, `plugins/providers.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kconnect.core.settings import references
from kconnect.core.settings.worker import WorkerSettings, for_hosts, with_environment
from kconnect.errors import ConfigError, NotFoundError
from kconnect.jvm.scan import DISCOVERY
from kconnect.plugins.providers import WorkerTexts, resolve_worker
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox import Sandbox
from kconnect.processes import logs


def resolved(texts: Mapping[str, str], in_sandbox: bool) -> WorkerTexts:
    """
    The texts with their references replaced: by a child process, so that the worker runs no provider's code, or here.

    ConfigError with all that can't be had, and for a provider that can't be.
    """
    declared = references.declared(texts)
    if not declared and not any(references.find(text) for text in texts.values()):
        return WorkerTexts(texts)
    plugin_path = [part.strip() for part in texts.get("plugin.path", "").split(",") if part.strip()]
    discovery = texts.get("plugin.discovery", "").strip() or DISCOVERY
    registry = Registry.scan(plugin_path, discovery=discovery)
    for provider in declared.values():
        try:
            registry.find(provider.class_name, "config_provider")
        except NotFoundError as error:
            setting = f"{references.PROVIDERS}.{provider.name}.class"
            raise ConfigError(setting, provider.class_name, str(error)) from None
    if not in_sandbox or not any(references.find(text) for text in texts.values()):
        return resolve_worker(registry, texts)
    sandbox = Sandbox(registry, plugin_path, discovery=discovery)
    try:
        return sandbox.resolve(texts)
    finally:
        sandbox.close()


def settings(texts: Mapping[str, str], environ: Mapping[str, str], host_name: str) -> tuple[WorkerSettings, dict[str, Any]]:
    """
    The worker's settings, and what an order to the driver or a host says of them. Logs hide their secrets from here on.

    ConfigError with all that is wrong, which quotes no secret.
    """
    complete = with_environment(texts, environ)
    # What providers say while they are asked comes before the settings are known to be good.
    logs.configure("json" if complete.get("log.format", "").strip() == "json" else "text")
    resolution = resolved(complete, in_sandbox=True)
    logs.cover(resolution.covered, always=True)
    try:
        worker_settings = WorkerSettings.from_properties(resolution.texts, {}, host_name)
    except ConfigError as error:
        raise ConfigError(logs.hide(str(error))) from None
    logs.configure(worker_settings.log_format)
    logs.hide_secrets(worker_settings.raw)
    properties = for_hosts(worker_settings.raw)
    covered = {
        value: reference
        for value, reference in resolution.covered.items()
        if any(value in text for text in properties.values())
    }
    return worker_settings, {"properties": properties, "covered": covered, "references": list(resolution.settings)}
