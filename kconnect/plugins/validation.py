"""
Validation of a connector's config where its plugins can be asked: ConfigInfos as REST gives them.

Called by `sandbox_child.py`. Plugin classes say what they declare, and `core/settings/validation.py` makes the answer of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from kconnect.api.config import Config, ConfigDef, ConfigKey, ConfigValue
from kconnect.api.connector import ExactlyOnceSupport, SourceConnector
from kconnect.core.settings import aliases, overrides, references, secrets, topic_creation
from kconnect.core.settings.common import CONVERTERS, common_keys
from kconnect.core.settings.connector import framework_config
from kconnect.core.settings.hiding import Submitted
from kconnect.core.settings.internal_topics import InternalTopics
from kconnect.core.settings.references import Resolved
from kconnect.core.settings.source import BOUNDARY, EXACTLY_ONCE_SUPPORT
from kconnect.core.settings.validation import Asked, Section, validate
from kconnect.core.settings.worker import tell
from kconnect.errors import BadRequestError, ConnectError
from kconnect.plugins import chain
from kconnect.plugins.asking import Asking, ConfigMap, kind_of
from kconnect.plugins.reach import Reach
from kconnect.plugins.registry import KINDS, PluginDesc, PluginVersionError
from kconnect.plugins.scan import INSTALLED

Resolve = Callable[[Mapping[str, str]], Resolved]


class Validation:
    """
    The validation of one config; `plugin` is the connector's class as the request names it. `resolve` returns the values of its
    references: validators get those, and the answer shows the references.
    """

    def __init__(self, asking: Asking, plugin: str, config: ConfigMap, resolve: Resolve) -> None:
        self._asking, self._plugin = asking, plugin
        asking.secrets |= secrets.values(config)
        raw = {name: value for name, value in config.items() if value is not None}
        if any(references.find(text) for text in raw.values()):
            asking.submitted = Submitted(raw, resolve(raw))
            config = {**config, **asking.submitted.config}
        self._config = config
        self._classes: dict[str, str | None] = {}
        """Of the framework's settings that name a class: its full name, None if there is none."""

    def infos(self) -> dict[str, Any]:
        asking, config = self._asking, self._config
        try:
            plugin = asking.registry.find(self._plugin, "connector", config.get("connector.plugin.version"))
        except PluginVersionError as error:
            return self._without_connector(str(error))
        connector = asking.connector(plugin)
        config_def = asking.config_def(plugin, connector)
        asking.hide_passwords(config_def, config)
        settings = {name: value for name, value in config.items() if value is not None}
        worker = asking.worker
        tell(connector, worker.get("settings", {}))
        # Before the plugin gets the config: its own validation may load and ask what the settings say.
        refused = list(Reach.of_worker(worker).problems(settings, beside=True))
        asking.at("validate()", plugin)
        result = Config(config_def.validate(config)) if refused else connector.validate(dict(settings))
        if not isinstance(result, Config):
            raise BadRequestError(f"{plugin.class_name}.validate() must return a Config that is not null.")
        errors: list[tuple[str, str]] = []
        if isinstance(connector, SourceConnector) and not refused:
            self._exactly_once(plugin, connector, settings, errors)
        kind = kind_of(connector)
        errors += InternalTopics(**worker.get("internal_topics", {})).problems(settings)
        policy, exactly_once = overrides.Policy(**worker.get("overrides", {})), bool(worker.get("exactly_once"))
        asking.warnings += overrides.warnings(kind, settings, exactly_once=exactly_once)
        sections = overrides.sections(kind, config, policy, exactly_once=exactly_once)
        self._fit(sections, kind, settings, exactly_once)
        sections += self._converter_sections(settings, errors)
        by_alias = [*self._alias_sections("transforms", settings), *self._alias_sections("predicates", settings)]
        for setting, message in aliases.errors(settings):
            _add_error(by_alias, setting, message)
        asking.warnings += aliases.warnings(settings)
        by_alias += self._topic_creation(kind, settings, errors)
        for setting, message in refused:
            if not _add_error([*by_alias, *sections], setting, message):
                _refuse(result.values, setting, message)
        return validate(
            self._plugin,
            config,
            Asked(kind, config_def, result.values),
            worker_group=asking.worker.get("group", ""),
            framework=self._framework(kind),
            classes=self._classes,
            errors=errors,
            aliases=by_alias,
            clients_and_converters=sections,
            submitted=asking.submitted,
        )

    def _fit(self, clients: list[Section], kind: str, settings: dict[str, str], exactly_once: bool) -> None:
        """Refuse settings of clients that don't fit together, where nothing else is wrong with them."""
        worker = self._asking.worker.get("clients")
        if not worker or not any(section.values for section in clients) or any(v.errors for s in clients for v in s.values):
            return
        # Kafka's client is loaded for configs that say something about it only.
        from kconnect.kafka import submitted

        used = overrides.clients_used(kind, settings, exactly_once)
        for setting, message in submitted.problems(worker, kind, settings, used):
            _add_error(clients, setting, message)

    def _without_connector(self, problem: str) -> dict[str, Any]:
        """Return the answer for a connector that does not exist in the version asked for: only what all connectors have."""
        keys = {key.name: key for key in common_keys()}
        setting = "connector.plugin.version"
        keys[setting] = _versioned(keys[setting], self._asking.registry.versions(self._plugin, "connector"))
        for converter in CONVERTERS:
            version = f"{converter}.plugin.version"
            keys[version] = _versioned(keys[version], [], self._config.get(converter) is not None)
        errors = [("connector.class", problem), (setting, problem)]
        framework = ConfigDef(*keys.values())
        asked, submitted = Asked("any", ConfigDef(), []), self._asking.submitted
        return validate(self._plugin, self._config, asked, framework=framework, errors=errors, submitted=submitted)

    def _framework(self, kind: str) -> ConfigDef:
        """The framework's settings with what there is to choose from here."""
        defaults, registry = self._asking.worker.get("converters", {}), self._asking.registry
        keys = dict(framework_config(kind).keys)
        plugin_version = "connector.plugin.version"
        keys[plugin_version] = _versioned(keys[plugin_version], registry.versions(self._plugin, "connector"))
        for which in ("key", "value", "header"):
            of_kind = "header_converter" if which == "header" else "converter"
            name, classes = f"{which}.converter", registry.class_names(of_kind)
            default = registry.class_name(defaults.get(name), of_kind)
            keys[name] = replace(keys[name], default=default, recommender=_offer(classes))
            version = f"{name}.plugin.version"
            named = self._config.get(name, default)
            is_installed = self._classes.get(name, named) is not None
            keys[version] = _versioned(
                keys[version], registry.versions(default if named is None else named, of_kind), is_installed
            )
        return ConfigDef(*keys.values())

    def _exactly_once(
        self, plugin: PluginDesc, connector: SourceConnector, settings: dict[str, str], errors: list[tuple[str, str]]
    ) -> None:
        if EXACTLY_ONCE_SUPPORT.read(settings).lower() == "required":
            if not self._asking.worker.get("exactly_once"):
                errors.append(("exactly.once.support", "This worker does not have exactly-once source support enabled."))
            self._asking.at("exactly_once_support()", plugin)
            try:
                support = connector.exactly_once_support(dict(settings))
            except Exception as error:  # noqa: BLE001 - a plugin's own
                errors.append(("exactly.once.support", _unexpected(error)))
            else:
                if support is None:
                    errors.append(
                        (
                            "exactly.once.support",
                            "The connector does not implement the API required for preflight validation of exactly-once "
                            "source support. Please consult its documentation to determine whether it supports "
                            'exactly-once semantics, and then use the value "requested" for this property.',
                        )
                    )
                elif support is not ExactlyOnceSupport.SUPPORTED:
                    errors.append(
                        (
                            "exactly.once.support",
                            "The connector does not support exactly-once semantics with the provided configuration.",
                        )
                    )
        if BOUNDARY.read(settings).lower() == "connector":
            self._asking.at("can_define_transaction_boundaries()", plugin)
            try:
                can_define = connector.can_define_transaction_boundaries(dict(settings))
            except Exception as error:  # noqa: BLE001 - a plugin's own
                errors.append(("transaction.boundary", _unexpected(error)))
            else:
                if not can_define:
                    errors.append(
                        (
                            "transaction.boundary",
                            "The connector does not support connector-defined transaction boundaries with the given "
                            "configuration. Please reconfigure it to use a different transaction boundary definition.",
                        )
                    )

    def _topic_creation(self, kind: str, settings: dict[str, str], errors: list[tuple[str, str]]) -> list[Section]:
        self._asking.warnings += topic_creation.warnings(kind, settings)
        if kind == "sink":
            return []
        if self._asking.worker.get("topic_creation", True):
            return topic_creation.sections(settings)
        sections, topic_errors = topic_creation.refused(settings)
        errors += topic_errors
        return sections

    def _converter_sections(self, settings: dict[str, str], errors: list[tuple[str, str]]) -> list[Section]:
        """Return the sections of the converters that the config names itself: the worker's settings don't hold for those."""
        sections: list[Section] = []
        for which in ("header", "key", "value"):
            setting = f"{which}.converter"
            part = chain.converter(self._asking.registry, self._config, self._asking.worker.get("converters", {}), which)
            named = settings.get(setting)
            if named is None:
                self._inherited(part, errors)
                continue
            asked = self._class(part, named)
            self._classes[setting] = asked.shown
            if asked.problem is not None and asked.is_class_s:
                errors.append((setting, asked.problem))
            if asked.problem is not None and asked.is_version_s:
                errors.append((f"{setting}.plugin.version", asked.problem))
            if asked.found is None or asked.made is None:
                continue
            config_def = self._asking.config_def(asked.found, asked.made)
            prefix = f"{setting}."
            converter_config = {name[len(prefix) :]: value for name, value in self._config.items() if name.startswith(prefix)}
            self._asking.hide_passwords(config_def, converter_config)
            sections.append(Section(prefix, config_def, config_def.validate({"converter.type": which, **converter_config})))
        return sections

    def _alias_sections(self, setting: str, settings: dict[str, str]) -> list[Section]:
        """
        Return a section for each transform or predicate. A class that can't be loaded leaves the framework's settings only.
        """
        kind = "transformation" if setting == "transforms" else "predicate"
        classes = self._asking.registry.class_names(kind)
        sections: list[Section] = []
        for name in dict.fromkeys(aliases.names(setting, settings)):
            prefix = f"{setting}.{name}."
            named = settings.get(f"{prefix}type")
            alias = aliases.Alias(name, prefix, named, settings.get(f"{prefix}plugin.version"), {})
            asked = self._class(chain.transform(alias) if setting == "transforms" else chain.predicate(alias), named)
            declared = None
            if asked.found is not None and asked.made is not None:
                tell(asked.made, self._asking.worker.get("settings", {}))
                part_config = {key[len(prefix) :]: value for key, value in settings.items() if key.startswith(prefix)}
                declared = self._asking.config_def(asked.found, asked.made, part_config)
            config_def = aliases.config_def(setting, name, self._asking.registry.versions(named, kind), declared, classes)
            self._asking.hide_passwords(config_def, self._config)
            section = Section("", config_def, config_def.validate(self._config))
            section.values[0].value = asked.shown
            if asked.problem:
                # Instead of what its absence would be called.
                section.values[0].errors[:] = [asked.problem]
                if asked.is_version_s:
                    section.values[1].errors.append(asked.problem)
            sections.append(section)
        return sections

    def _inherited(self, part: chain.Part, errors: list[tuple[str, str]]) -> None:
        """
        Whether a converter of the worker's can be had beside the connector's plugins. A version of it that is not installed is
        no fault of the config: the task fails (KIP-891).
        """
        with suppress(ConnectError):
            converter = part.find(self._asking.registry)
            if converter.location == INSTALLED:
                return
            try:
                self._asking.make(converter)
            except ConnectError as error:
                errors.append((part.setting, f"The worker's {part.setting}, {part.name}, can't be used here: {error}"))

    def _class(self, part: chain.Part, name: str | None) -> _Class:
        setting, kind = part.setting, part.kind
        if name is None:
            return _Class(problem=f'Missing required configuration "{setting}" which has no default value.')
        registry = self._asking.registry
        try:
            plugin = registry.find(name, kind, part.version, part.beside)
        except PluginVersionError as error:
            return _Class(shown=registry.class_name(name, kind), problem=str(error), is_version_s=True)
        except ConnectError as error:
            shown = registry.class_name(name, kind) if registry.versions(name, kind) else None
            if shown is None:
                return self._no_class(name, kind, setting)
            # Connect, too, tells this of a converter's version only, whose own rule has told it, and of a transform's both.
            is_told = "converter" in kind
            return _Class(shown=shown, problem=str(error), is_version_s=not is_told, is_class_s=not is_told)
        try:
            return _Class(plugin, self._asking.make(plugin), plugin.class_name)
        except ConnectError as error:
            return _Class(plugin, None, plugin.class_name, f"Invalid value {name} for configuration {setting}: {error}")

    def _no_class(self, name: str, kind: str, setting: str) -> _Class:
        """Why there is none of that kind: with the words of Connect, which tells a class of another kind from none."""
        registry = self._asking.registry
        for other_kind in KINDS:
            with suppress(ConnectError):
                shown = registry.find(name, other_kind).class_name
                return _Class(shown=shown, problem=f"Class class {shown} does not implement the {KINDS[kind]} interface")
        # Java's Cast is abstract, its Cast$Key and Cast$Value are not.
        inner = [class_name for class_name in registry.class_names(kind) if class_name.startswith(f"{name}$")]
        if inner:
            problem = f"This class is abstract and cannot be created. Did you mean {', '.join(inner)}?"
            return _Class(shown=name, problem=problem)
        return _Class(problem=f"Invalid value {name} for configuration {setting}: Class {name} could not be found.")


@dataclass(frozen=True)
class _Class:
    """The class of a setting: `shown` is its name in the answer, `problem` says why there is none."""

    found: PluginDesc | None = None
    made: Any = None
    shown: str | None = None
    problem: str | None = None
    is_version_s: bool = False
    """Whether the problem is that of the version setting beside it."""
    is_class_s: bool = True


def _offer(classes: list[str]) -> Callable[[str, Mapping[str, Any]], list[Any]]:
    return lambda name, parsed: list(classes)


def _versioned(key: ConfigKey, versions: list[str], is_installed: bool = True) -> ConfigKey:
    """The key of a version with what there is to choose from, the newest first; hidden unless `is_installed`."""
    offered = versions if is_installed else []
    newest = next(iter(versions), None)
    return replace(key, default=newest, recommender=_offer(offered), visible=lambda name, parsed: is_installed)


def _add_error(sections: list[Section], setting: str, message: str) -> bool:
    """Add a message to a setting of one of the sections. Return whether one has it."""
    values = [value for section in sections for value in section.values if section.prefix + value.name == setting]
    for value in values:
        value.errors.append(message)
    return bool(values)


def _refuse(values: list[ConfigValue], setting: str, message: str) -> None:
    """Add a message to a setting of the connector's, which may not have declared it."""
    setting_value = next((value for value in values if value.name == setting), None)
    if setting_value is None:
        setting_value = ConfigValue(setting)
        values.append(setting_value)
    setting_value.errors.append(message)


def _unexpected(error: Exception) -> str:
    """Return the message for a question that the plugin could not answer, in Connect's words."""
    text = str(error).strip()
    detail = f": {text}" if text else "; please see the worker logs for more details."
    return f"An unexpected error occurred during validation{detail}"
