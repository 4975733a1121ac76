"""
Asks the worker's config providers what references stand for (KIP-297, KIP-421).

`Providers` is held by each task host, by each child of the sandbox, and for a moment by the reading of the worker file; never
by the worker, which imports no plugin. Read next: `core/settings/references.py`, `api/config_provider.py`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kconnect.api.config_provider import ConfigData, ConfigProvider
from kconnect.core.settings import references
from kconnect.core.settings.references import Declared, Reference, Resolved
from kconnect.errors import ConfigError, ConnectError
from kconnect.plugins.registry import Registry

log = logging.getLogger(__name__)

LIMIT_S = 30.0

Announce = Callable[[str, str], None]


@dataclass(frozen=True)
class WorkerTexts:
    """
    A worker's texts with their references replaced. `covered` has the references by what is to be covered by them, and
    `settings` the names of the settings that hold some.
    """

    texts: Mapping[str, str] = field(repr=False)
    covered: Mapping[str, str] = field(default_factory=dict, repr=False)
    settings: tuple[str, ...] = ()


def resolve_worker(registry: Registry, texts: Mapping[str, str], announce: Announce = lambda stage, name: None) -> WorkerTexts:
    """
    The worker's own references (KIP-421). A provider's parameters may have some too, to providers whose own have none.

    ConfigError with all that can't be had. Of `spark.*`, only references to the worker's providers are meant: Spark has
    variables of the same form.
    """
    holding = tuple(name for name, text in texts.items() if references.find(text))
    if not holding:
        return WorkerTexts(texts)
    of_providers = references.of_providers(texts)
    declared = references.declared(texts)
    plain = [name for name, declaration in declared.items() if not any(map(references.find, declaration.parameters.values()))]
    first = Providers(registry, {**of_providers, references.PROVIDERS: ",".join(plain)}, announce)
    parameters = first.resolve([of_providers])
    first.close()
    complete = {name: parameters.text(text) for name, text in of_providers.items()}
    providers = Providers(registry, complete, announce)
    other_texts = {name: text for name, text in texts.items() if name not in of_providers}
    resolution = providers.resolve([other_texts])
    providers.close()
    foreign = {ref: why for ref, why in resolution.failures.items() if ref.provider not in declared}
    own_resolution = replace(resolution, failures={ref: why for ref, why in resolution.failures.items() if ref not in foreign})
    problems = {
        **parameters.problems(of_providers),
        **resolution.problems({name: text for name, text in other_texts.items() if not name.startswith("spark.")}),
        **own_resolution.problems({name: text for name, text in other_texts.items() if name.startswith("spark.")}),
    }
    if problems:
        listed = "\n".join(f"  {setting}: {text}" for setting in sorted(problems) for text in problems[setting])
        raise ConfigError(f"The worker's configuration is invalid:\n{listed}")
    resolved = {**complete, **{name: resolution.text(text) for name, text in other_texts.items()}}
    return WorkerTexts(resolved, {**parameters.cover(), **resolution.cover(other_texts)}, holding)


class Providers:
    """
    The providers that a worker's texts declare, each made at its first use and kept. Thread-safe; a provider that hangs holds
    up nobody but those who ask it. `announce` is told stage and class before a provider's code runs.
    """

    def __init__(self, registry: Registry, worker: Mapping[str, str], announce: Announce = lambda stage, name: None) -> None:
        self._registry, self._announce = registry, announce
        self._declared = references.declared(worker)
        self._made: dict[str, ConfigProvider] = {}
        self._locks = {name: threading.Lock() for name in self._declared}

    def resolve(
        self,
        configs: Iterable[Mapping[str, str]],
        cancelled: Callable[[], bool] = lambda: False,
        limit_s: float = LIMIT_S,
    ) -> Resolved:
        """
        Resolve the references of some configs. Each provider and path is asked once. Never fails: references that can't be
        resolved, also because a provider has not answered within the limit or before `cancelled()`, are among the failures.
        """
        refs_by_path: dict[tuple[str, str], set[Reference]] = {}
        for config in configs:
            for text in config.values():
                for ref in references.find(text) if "${" in text else ():
                    refs_by_path.setdefault((ref.provider, ref.path), set()).add(ref)
        values: dict[Reference, str] = {}
        failures: dict[Reference, str] = {}
        ttls: list[int] = []
        deadline = time.monotonic() + limit_s
        for (provider, path), refs in refs_by_path.items():
            answer = self._ask(provider, path, sorted({ref.key for ref in refs}), cancelled, deadline, limit_s)
            if isinstance(answer, str):
                failures.update((ref, answer) for ref in refs)
                continue
            for ref in refs:
                value = answer.data.get(ref.key)
                if isinstance(value, str):
                    values[ref] = value
                else:
                    failures[ref] = self._missing(ref, value)
            if answer.ttl is not None and answer.ttl >= 0:
                ttls.append(answer.ttl)
        return Resolved(values, failures, min(ttls, default=None))

    def close(self) -> None:
        # A copy: one that has been given up may answer yet.
        for name, provider in list(self._made.items()):
            try:
                provider.close()
            except Exception as error:  # noqa: BLE001 - a plugin may raise anything, and what it gave is not worse for it
                log.warning("The config provider %s could not be closed: %s", name, type(error).__name__)

    def _missing(self, ref: Reference, value: Any) -> str:
        where = f" at the path {ref.path}" if ref.path else ""
        if value is None:
            return f"the provider {ref.provider} has no key {ref.key}{where}, or does not allow access to it"
        return (
            f"the value that the provider {ref.provider} has for the key {ref.key}{where} is a {type(value).__name__}, not text"
        )

    def _ask(
        self, name: str, path: str, keys: list[str], cancelled: Callable[[], bool], deadline: float, limit_s: float
    ) -> ConfigData | str:
        """Return the provider's answer, or why there is none."""
        declaration = self._declared.get(name)
        if declaration is None:
            names = ", ".join(self._declared) or "none"
            return f"there is no provider {name}; the worker's `{references.PROVIDERS}` names: {names}"
        answers: list[ConfigData | str] = []
        # In a thread of its own, which is left alone if the provider hangs.
        asking = threading.Thread(
            target=lambda: answers.append(self._answer(declaration, path, keys)), name=f"config provider {name}", daemon=True
        )
        asking.start()
        while asking.is_alive() and time.monotonic() < deadline and not cancelled():
            asking.join(min(0.1, max(0.0, deadline - time.monotonic())))
        if answers:
            return answers[0]
        if cancelled():
            return f"stopped while the provider {name} was asked"
        return f"the provider {name} ({declaration.class_name}) did not answer within {limit_s:g} s"

    def _answer(self, declaration: Declared, path: str, keys: list[str]) -> ConfigData | str:
        what = "can't be configured"
        try:
            with self._locks[declaration.name]:
                provider = self._made.get(declaration.name)
                if provider is None:
                    self._announce("configure()", declaration.class_name)
                    provider = self._registry.load(declaration.class_name, "config_provider")()
                    provider.configure(dict(declaration.parameters))
                    self._made[declaration.name] = provider
            what = "has failed"
            self._announce("get()", declaration.class_name)
            data = provider.get(path, keys)
        except ConnectError as error:
            return f"the provider {declaration.name} {what}: {error}"
        except BaseException as error:  # noqa: BLE001 - a plugin may raise anything, and its text may quote a secret
            return f"the provider {declaration.name} ({declaration.class_name}) {what}: {type(error).__name__}"
        if not isinstance(data, ConfigData):
            kind = type(data).__name__
            return f"the provider {declaration.name} ({declaration.class_name}) gave a {kind}, which must be a ConfigData"
        return data
