"""
How far a connector's config may reach: checked before any code of a plugin gets the config.

`validation.py` asks when a config is submitted, `units/` when a connector or task starts, and the sandbox before offsets are
altered: a config may have been written by a worker with other settings, or by a Kafka Connect. The table of settings is
`core/settings/unsafe.py`; files are looked at here, because links have to be followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from kconnect import normal_forms, own_places
from kconnect.core.settings import host_paths, unsafe
from kconnect.core.settings.host_paths import ALLOWED_PATHS
from kconnect.core.settings.internal_topics import InternalTopics
from kconnect.core.settings.unsafe import UNSAFE_ALLOWLIST
from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConfigError
from kconnect.own_places import JOURNAL, NO_JOURNAL, OURS, OwnPlaces


@dataclass(frozen=True)
class Reach:
    """
    A worker's limits. `unsafe` are settings that it allows all the same, `folders` those whose files configs may name, `code`
    folders of which they may not, and `internal` the topics that they may not.
    """

    unsafe: Sequence[str] = ()
    folders: Sequence[str] = ()
    code: Sequence[str] = ()
    internal: InternalTopics = field(default_factory=InternalTopics)

    @classmethod
    def of_settings(cls, settings: WorkerSettings) -> Reach:
        """Return the limits that a worker's file sets."""
        code = own_places.of_settings(settings.raw)
        return cls(settings.override_policy.unsafe, settings.connector_files_allowed_paths, code, settings.internal_topics)

    @classmethod
    def of_worker(cls, worker: Mapping[str, Any]) -> Reach:
        """Return the limits from what a child process is told of its worker."""
        settings = worker.get("settings", {})
        paths = [part.strip() for part in settings.get(ALLOWED_PATHS, "").split(",") if part.strip()]
        internal = InternalTopics(**worker.get("internal_topics", {}))
        return cls(worker.get("overrides", {}).get("unsafe", ()), paths, own_places.of_settings(settings), internal)

    def problems(self, config: Mapping[str, str | None], beside: bool = False) -> Iterator[tuple[str, str]]:
        """
        Yield settings of a resolved config, each with a sentence that says why it may not be used. With `beside`, leave out
        the task's own clients, of which `overrides.py` says more.
        """
        settings = {setting: value for setting, value in config.items() if value is not None}
        for setting, value in settings.items():
            try:
                _check_letters(value)
            except ValueError as error:
                yield setting, f"The setting '{setting}' can't be used: {error}."
                # What others make of such a text may take them hours.
                return
        for danger in unsafe.of_config(settings, self.unsafe):
            if beside and danger.setting.startswith(_OVERRIDES):
                continue
            # No value: it may hold a password.
            part = "it" if danger.part == danger.setting else danger.part
            yield (
                danger.setting,
                f"The setting '{danger.setting}' {danger.reason}, so connectors may not have it. To allow it, add {part} to "
                f"the worker's {UNSAFE_ALLOWLIST}.",
            )
        if self.folders:
            yield from self._astray(host_paths.named(settings))

    def check(self, *configs: Mapping[str, str | None]) -> None:
        """
        Raise ConfigError for the first problem of any of these configs.

        Internal topics count as well: what a reference stands for may be another topic than when the config was submitted.
        """
        for config in configs:
            for _, message in self.problems(config):
                raise ConfigError(message)
            for setting, message in self.internal.problems(config):
                raise ConfigError(f"The setting '{setting}' can't be used: {message}")

    def _astray(self, paths: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        roots = [os.path.realpath(folder) for folder in self.folders]
        own = OwnPlaces(roots, self.code)
        for setting, path in paths:
            # A relative path would mean another file in each process, and a longer one is none: each part of it is looked at.
            is_path = "\0" not in path and os.path.isabs(path) and len(path) <= _LONGEST
            real = os.path.realpath(path) if is_path else None
            if real is not None and own.hold(real):
                yield setting, f"The setting '{setting}' names {path!r}, and {OURS}."
            elif real is None or not _is_below(real, roots):
                yield (
                    setting,
                    f"The setting '{setting}' names the file {path[:_LONGEST]!r}, which is not below a folder that the "
                    f"worker's {ALLOWED_PATHS} names ({', '.join(self.folders)}). Name a file there, by its absolute path.",
                )
            elif real.endswith(JOURNAL):
                yield setting, f"The setting '{setting}' names {path!r}, and {NO_JOURNAL}."


_LONGEST = 4096
"""Linux takes no longer paths."""
_OVERRIDES = tuple(f"{client}.override." for client in ("producer", "consumer", "admin"))


def _check_letters(value: str) -> None:
    """Raise ValueError for a letter of too many marks: libraries bring hosts of addresses into normal forms, once decoded."""
    normal_forms.check(value)
    for _ in range(2):
        if "%" not in value:
            return
        value = unquote(value)
        normal_forms.check(value)


def _is_below(real: str, roots: Iterable[str]) -> bool:
    return any(os.path.commonpath((root, real)) == root for root in roots)
