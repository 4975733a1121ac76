"""
The chain of a task whose connector is Java's: all of it runs in Java, so that a record crosses over once, as bytes. And the
converters of a task in Python, if one of them is Java's.

Called by `chains.py`. A built-in converter, transform or predicate that stands for one of Connect's runs as Connect's own class
here, which gives the same result without a crossing. JPype is imported for such a chain only. Read next:
`kconnect/jvm/chain.py`; for parts in Python, `converters.py` and `transforms.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kconnect.core.settings import aliases
from kconnect.core.settings.aliases import Alias
from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import ConfigError, ConnectError
from kconnect.plugins import chain
from kconnect.plugins.registry import PluginDesc, Registry
from kconnect.units import aliased, converters

if TYPE_CHECKING:
    from kconnect.jvm.chain import Chain

log = logging.getLogger(__name__)


class JavaChain:
    """
    `chain` has each part configured once; `close` when the task ends. Without `transforms` it has the converters only, for a
    task in Python.
    """

    def __init__(self, config: Mapping[str, str], settings: WorkerSettings, plugins: Registry, transforms: bool = True) -> None:
        """ConfigError, naming the setting, if a part can't be had in Java or does not take its settings."""
        from kconnect.jvm.chain import Chain

        self._plugins = plugins
        self._beside = "the connector is" if transforms else "another converter is"

        def converter(which: str) -> Any:
            asked = converters.part(which, config, settings, plugins)
            converter_settings = {**converters.given(asked, config, settings), "converter.type": which}
            more = () if which == "header" else (which == "key",)
            return self._configured(asked, asked.find(plugins), converter_settings, *more)

        self.chain: Chain = Chain(*map(converter, ("key", "value", "header")))
        try:
            by_name = aliases.predicates(config)
            for alias in aliases.transforms(config) if transforms else ():
                self._add(alias, by_name)
        except Exception:
            self.close()
            raise

    def close(self) -> None:
        try:
            self.chain.close()
        except ConnectError:
            log.exception("Closing the converters and transforms failed")

    def _add(self, alias: Alias, known: Mapping[str, Alias]) -> None:
        transform = self._alias(alias, chain.transform(alias))
        asked = aliased.predicate_of(alias, known)
        predicate = None if asked is None else self._alias(asked, chain.predicate(asked))
        self.chain.add(alias.name, transform, predicate, alias.negate and predicate is not None)

    def _alias(self, alias: Alias, part: chain.Part) -> Any:
        with aliased.configuring(alias):
            return self._configured(part, part.find(self._plugins), alias.properties)

    def _configured(self, part: chain.Part, found: PluginDesc, given: Mapping[str, str], *more: bool) -> Any:
        from kconnect.jvm import classes

        if found.java_class is None:
            raise ConfigError(
                part.setting, part.name, f"this plugin is in Python, and {self._beside} in Java. Name one in Java"
            )
        part_made = classes.load(part.kind, *found.java_class)()
        part_made.configure(dict(given), *more)
        part_made.monitor(*part.tag)
        return part_made
