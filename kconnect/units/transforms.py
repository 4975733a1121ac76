"""
The transforms and predicates of one task. Built in the task's thread by `chains.py`, and by previews.

Read next: `core/task/steps.py`, which runs them, and `core/settings/aliases.py` for how a config names them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kconnect.api.predicate import Predicate
from kconnect.api.transformation import Transformation
from kconnect.core.settings import aliases
from kconnect.core.settings.aliases import Alias
from kconnect.core.settings.worker import for_plugins, tell
from kconnect.core.task.steps import Step, Steps, by_topic
from kconnect.plugins import chain
from kconnect.plugins.registry import Registry, class_name, java_name
from kconnect.units import aliased
from kconnect.units.converters import is_built_in

log = logging.getLogger(__name__)


class Transforms:
    """
    `steps` are those of a connector's config, each configured once; `close` when the task ends. With `owned`, the records
    that they are given are nobody else's, and may come back changed instead of copied. `worker` are the worker's texts, of
    which those plugins get to know that ask for them (`worker_settings`). With `apart`, each predicate is asked by itself,
    which is slow where it is in Java.
    """

    def __init__(
        self,
        config: Mapping[str, str],
        plugins: Registry,
        owned: bool = False,
        worker: Mapping[str, str] | None = None,
        apart: bool = False,
    ) -> None:
        """ConfigError, naming alias and setting, if one can't be had or does not take its settings."""
        self._plugins, self._owned, self._apart = plugins, owned, apart
        self._worker = for_plugins(worker or {})
        self._made: list[tuple[str, Any]] = []
        by_name = aliases.predicates(config)
        try:
            self.steps = Steps([self._step(alias, by_name) for alias in aliases.transforms(config)])
        except Exception:
            self.close()
            raise

    def close(self) -> None:
        for name, part in self._made:
            try:
                part.close()
            except Exception:
                log.exception("Closing %s failed", name)
        self._made = []

    def _step(self, alias: Alias, predicates: Mapping[str, Alias]) -> Step:
        transform = self._make(alias, chain.transform(alias))
        transform.owns_records = self._owned
        kind = type(transform)
        step = Step(
            alias.name,
            transform.apply,
            class_name=class_name(kind),
            apply_all=transform.apply_all if kind.apply_all is not Transformation.apply_all else None,
            foreign=not is_built_in(kind),
            apply_batch=transform.apply_batch if self._owned and kind.apply_batch is not Transformation.apply_batch else None,
        )
        asked = aliased.predicate_of(alias, predicates)
        if asked is None:
            return step
        predicate = self._make(asked, chain.predicate(asked))
        if not self._apart and all(java_name(type(part)) is not None for part in (transform, predicate)):
            # Both are in Java: it is asked there, without a crossing of its own.
            transform.only(predicate, alias.negate)
            return step
        step = replace(step, test=predicate.test, negate=alias.negate)
        if predicate.of_topic:
            test, test_batch = by_topic(predicate.test)
            return replace(step, test=test, test_batch=test_batch)
        if type(predicate).test_batch is Predicate.test_batch:
            return step
        if is_built_in(type(predicate)):
            return replace(step, test_batch=predicate.test_batch)
        return replace(step, test_batch=lambda batch: predicate.test_batch(batch.apart()))

    def _make(self, alias: Alias, part: chain.Part) -> Any:
        with aliased.configuring(alias):
            instance = part.load(self._plugins)()
            tell(instance, self._worker)
            instance.configure(dict(alias.properties))
            if java_name(type(instance)) is not None:
                instance.monitor(*part.tag)
        self._made.append((aliased.named(alias), instance))
        return instance
