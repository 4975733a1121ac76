"""
Plugins by name. Knows their metadata only; `load` alone imports, and is called in task hosts and the sandbox's children.

A plugin is known by its Python path, its class's name, that name without `Connector`, `Converter` or the like, and the
built-in ones by their Java class names as well, so that existing configs run unchanged. Several versions of one plugin may
be installed (KIP-891); the newest is taken unless one is asked for. Read `scan.py` before, `sandbox.py` next.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect import CONNECT_VERSION
from kconnect.errors import BadRequestError, ConnectError, NotFoundError
from kconnect.java import versions
from kconnect.jvm.scan import DISCOVERY
from kconnect.plugins import environments, realms
from kconnect.plugins.scan import INSTALLED, JAVA, BrokenPlugin, Found, scan

log = logging.getLogger(__name__)

KINDS = {
    "connector": "Connector",
    "transformation": "Transformation",
    "predicate": "Predicate",
    "converter": "Converter",
    "header_converter": "HeaderConverter",
    "config_provider": "ConfigProvider",
    "override_policy": "ConnectorClientConfigOverridePolicy",
}
"""Kinds of plugins, and what Connect calls the interface of each."""

_JAVA_NAMES = {
    "kconnect.connectors.file_source:FileStreamSourceConnector": ("org.apache.kafka.connect.file.FileStreamSourceConnector"),
    "kconnect.connectors.file_sink:FileStreamSinkConnector": "org.apache.kafka.connect.file.FileStreamSinkConnector",
    "kconnect.converters.avro:AvroConverter": "io.confluent.connect.avro.AvroConverter",
    "kconnect.converters.bytes:ByteArrayConverter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    "kconnect.converters.numbers:BooleanConverter": "org.apache.kafka.connect.converters.BooleanConverter",
    "kconnect.converters.numbers:DoubleConverter": "org.apache.kafka.connect.converters.DoubleConverter",
    "kconnect.converters.numbers:FloatConverter": "org.apache.kafka.connect.converters.FloatConverter",
    "kconnect.converters.numbers:IntegerConverter": "org.apache.kafka.connect.converters.IntegerConverter",
    "kconnect.converters.numbers:LongConverter": "org.apache.kafka.connect.converters.LongConverter",
    "kconnect.converters.numbers:ShortConverter": "org.apache.kafka.connect.converters.ShortConverter",
    "kconnect.converters.simple_header:SimpleHeaderConverter": ("org.apache.kafka.connect.storage.SimpleHeaderConverter"),
    "kconnect.converters.json:JsonConverter": "org.apache.kafka.connect.json.JsonConverter",
    "kconnect.converters.string:StringConverter": "org.apache.kafka.connect.storage.StringConverter",
    "kconnect.transforms.cast:CastKey": "org.apache.kafka.connect.transforms.Cast$Key",
    "kconnect.transforms.cast:CastValue": "org.apache.kafka.connect.transforms.Cast$Value",
    "kconnect.transforms.drop_headers:DropHeaders": "org.apache.kafka.connect.transforms.DropHeaders",
    "kconnect.transforms.extract_field:ExtractFieldKey": "org.apache.kafka.connect.transforms.ExtractField$Key",
    "kconnect.transforms.extract_field:ExtractFieldValue": "org.apache.kafka.connect.transforms.ExtractField$Value",
    "kconnect.transforms.filter:Filter": "org.apache.kafka.connect.transforms.Filter",
    "kconnect.transforms.flatten:FlattenKey": "org.apache.kafka.connect.transforms.Flatten$Key",
    "kconnect.transforms.flatten:FlattenValue": "org.apache.kafka.connect.transforms.Flatten$Value",
    "kconnect.transforms.header_from:HeaderFromKey": "org.apache.kafka.connect.transforms.HeaderFrom$Key",
    "kconnect.transforms.header_from:HeaderFromValue": "org.apache.kafka.connect.transforms.HeaderFrom$Value",
    "kconnect.transforms.hoist_field:HoistFieldKey": "org.apache.kafka.connect.transforms.HoistField$Key",
    "kconnect.transforms.hoist_field:HoistFieldValue": "org.apache.kafka.connect.transforms.HoistField$Value",
    "kconnect.transforms.insert_field:InsertFieldKey": "org.apache.kafka.connect.transforms.InsertField$Key",
    "kconnect.transforms.insert_field:InsertFieldValue": "org.apache.kafka.connect.transforms.InsertField$Value",
    "kconnect.transforms.insert_header:InsertHeader": "org.apache.kafka.connect.transforms.InsertHeader",
    "kconnect.transforms.mask_field:MaskFieldKey": "org.apache.kafka.connect.transforms.MaskField$Key",
    "kconnect.transforms.mask_field:MaskFieldValue": "org.apache.kafka.connect.transforms.MaskField$Value",
    "kconnect.transforms.regex_router:RegexRouter": "org.apache.kafka.connect.transforms.RegexRouter",
    "kconnect.transforms.replace_field:ReplaceFieldKey": "org.apache.kafka.connect.transforms.ReplaceField$Key",
    "kconnect.transforms.replace_field:ReplaceFieldValue": "org.apache.kafka.connect.transforms.ReplaceField$Value",
    "kconnect.transforms.set_schema_metadata:SetSchemaMetadataKey": "org.apache.kafka.connect.transforms.SetSchemaMetadata$Key",
    "kconnect.transforms.set_schema_metadata:SetSchemaMetadataValue": (
        "org.apache.kafka.connect.transforms.SetSchemaMetadata$Value"
    ),
    "kconnect.transforms.timestamp_converter:TimestampConverterKey": (
        "org.apache.kafka.connect.transforms.TimestampConverter$Key"
    ),
    "kconnect.transforms.timestamp_converter:TimestampConverterValue": (
        "org.apache.kafka.connect.transforms.TimestampConverter$Value"
    ),
    "kconnect.transforms.timestamp_router:TimestampRouter": "org.apache.kafka.connect.transforms.TimestampRouter",
    "kconnect.transforms.value_to_key:ValueToKey": "org.apache.kafka.connect.transforms.ValueToKey",
    "kconnect.providers.directory_config_provider:DirectoryConfigProvider": (
        "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
    ),
    "kconnect.providers.env_config_provider:EnvVarConfigProvider": (
        "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
    ),
    "kconnect.providers.file_config_provider:FileConfigProvider": "org.apache.kafka.common.config.provider.FileConfigProvider",
    "kconnect.predicates.has_header_key:HasHeaderKey": "org.apache.kafka.connect.transforms.predicates.HasHeaderKey",
    "kconnect.predicates.record_is_tombstone:RecordIsTombstone": (
        "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone"
    ),
    "kconnect.predicates.topic_name_matches:TopicNameMatches": (
        "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"
    ),
}
"""A row for each built-in plugin that stands for a Java class; its Java name is what REST shows."""

_OF_CONNECT = "org.apache.kafka."

_SUFFIXES = {
    "connector": ("SourceConnector", "SinkConnector", "Connector"),
    "converter": ("Converter",),
    "header_converter": ("HeaderConverter", "Converter"),
    "config_provider": ("ConfigProvider", "Provider"),
    "override_policy": ("ConnectorClientConfigOverridePolicy", "OverridePolicy", "Policy"),
}

_ALSO = {
    # As KIP-585's own examples name it.
    "org.apache.kafka.connect.transforms.predicates.TopicNameMatches": (
        "org.apache.kafka.connect.predicates.TopicNameMatch",
        "TopicNameMatch",
    )
}


@dataclass(frozen=True)
class PluginDesc:
    """
    A version of a plugin, as its metadata describe it.

    `class_name` is what REST shows, `python_path` is `module:Class`, for a Java plugin `java:` and its class; `name` is that
    of the entry point, `location` the directory of `plugin.path` that holds it (for Java an archive, too), or `installed`.
    """

    class_name: str
    python_path: str
    name: str
    kind: str
    version: str
    location: str
    type: str = ""
    """Of a connector source or sink, if that is known without asking it, as of Java's."""
    stamp: str = ""
    """For Java: another one where a file of the location is another."""

    @property
    def java(self) -> bool:
        return self.python_path.startswith(JAVA)

    @property
    def is_unknown_to_connect(self) -> bool:
        """Whether this is a built-in plugin that stands for no class of Java: Kafka Connect knows none of its names."""
        return self.location == INSTALLED and self.class_name.startswith("kconnect.")

    @property
    def connects_aliases(self) -> tuple[str, str]:
        """The short names that Kafka Connect has for a connector in Java."""
        simple = self.class_name.rsplit(".", 1)[-1]
        return simple, simple.removesuffix("Connector")

    @property
    def java_class(self) -> tuple[str, str] | None:
        """
        Its class in Java, and the directory or archive that has it: empty for one of Connect's own, which the built-in plugin
        stands for. None if it is in Python only.
        """
        if self.java:
            return self.class_name, self.location
        return (self.class_name, "") if self.class_name.startswith(_OF_CONNECT) else None

    @property
    def aliases(self) -> tuple[str, ...]:
        """Every name by which a config may mean this plugin."""
        qualified = self.python_path.split(":")[1]
        simple = qualified.rsplit(".", 1)[-1]
        # Java's names of nested classes, `ExtractField$Key`; here they may be nested too.
        java = self.class_name.rsplit(".", 1)[-1]
        short = [
            name.removesuffix(suffix)
            for name in (simple, java)
            for suffix in _SUFFIXES.get(self.kind, ())
            if name.endswith(suffix) and name != suffix
        ]
        dotted = self.python_path.replace(":", ".")
        also = _ALSO.get(self.class_name, ())
        return tuple(dict.fromkeys((self.class_name, self.python_path, dotted, self.name, java, simple, *short, *also)))


class PluginVersionError(BadRequestError):
    """The class is there, but not in a version that was asked for."""


class Registry:
    """All plugins of this process; does not change."""

    def __init__(
        self, plugins: Sequence[PluginDesc], broken: Sequence[BrokenPlugin] = (), directories: Iterable[str] = ()
    ) -> None:
        self.plugins = list(plugins)
        self.broken = list(broken)
        self.directories = sorted(directories)
        """Those of plugin.path that have plugins, and be they copies of others."""
        self.before: tuple[Registry, ...] = ()
        """What the worker had before, with other Java plugins, the oldest first: hosts live on that know no more."""
        self._by_name: dict[tuple[str, str], list[PluginDesc]] = {}
        for plugin in self.plugins:
            for name in plugin.aliases:
                self._by_name.setdefault((plugin.kind, name), []).append(plugin)

    @classmethod
    def scan(
        cls, plugin_path: Iterable[str] | None, known: Collection[str] | None = None, discovery: str = DISCOVERY
    ) -> Registry:
        """
        Read the metadata beside kconnect and in each child directory of `plugin_path`. A broken one is only listed.

        `known` are the `directories` of the worker's own registry, for a process that it starts: what was installed since then
        is there once the worker has looked anew, and not for processes that happen to start before. `discovery` is Connect's
        `plugin.discovery`, for Java plugins.
        """
        entries, broken = scan(plugin_path or (), discovery)
        if known is not None:
            entries = [entry for entry in entries if entry.location == INSTALLED or entry.location in known]
        return cls(_without_duplicates(entries), broken, {entry.location for entry in entries} - {INSTALLED})

    def anew(self, plugin_path: Iterable[str] | None, discovery: str = DISCOVERY) -> tuple[Registry, dict[str, list[str]]]:
        """
        Scan again. Return the new registry, and what is different: `added` and `removed` directories, and the classes that were
        `installed` beside kconnect since. These are not in the registry: processes that run would not find them.
        """
        now = Registry.scan(plugin_path, discovery=discovery)
        late = [plugin for plugin in now.plugins if plugin.location == INSTALLED and plugin not in self.plugins]
        changes = {
            "added": sorted({*now.directories} - {*self.directories}),
            "removed": sorted({*self.directories} - {*now.directories}),
            "installed": sorted({plugin.class_name for plugin in late}),
        }
        renewed = Registry([plugin for plugin in now.plugins if plugin not in late], now.broken, now.directories)
        renewed.before = self.before if renewed.java_plugins == self.java_plugins else (*self.before, self)
        return renewed, changes

    @property
    def java_plugins(self) -> list[PluginDesc]:
        return [plugin for plugin in self.plugins if plugin.java]

    def find(self, name: str, kind: str, version: str | None = None, beside: str | None = None) -> PluginDesc:
        """
        The plugin of that name, the newest that `version` allows: a version, one of Maven's ranges, None or `latest`. Without
        a version that of the location `beside`, if it has one. Which part of a connector asks how: `chain.py`.

        NotFoundError, saying what there is, if there is none; BadRequestError if the name fits several classes, or `version`
        can't be read; PluginVersionError if the class is there but not in that version.
        """
        matches = self._matches(name, kind)
        if version is None and beside is not None:
            near = [match for match in matches if match.location == beside]
            matches = near or matches
        exact = [match for match in matches if match.version == version]
        if exact:
            return exact[0]
        try:
            chosen = versions.choose(matches[0].class_name, [match.version for match in matches], version)
        except versions.VersionRangeError as error:
            raise BadRequestError(str(error)) from None
        except versions.VersionNotFoundError as error:
            raise PluginVersionError(str(error)) from None
        return next(match for match in matches if match.version == chosen)

    def class_of_new_configs(self, name: str) -> str:
        """
        Return the class that a new config means by this name of a connector, if stored configs may mean another one by it:
        the Java plugin that has the name in Kafka Connect, where a built-in connector has it for convenience. Otherwise return
        the name itself.
        """
        matches = self._by_name.get(("connector", name.strip()), [])
        javas = {match.class_name for match in matches if match.java and name.strip() in match.connects_aliases}
        built_in = [match for match in matches if match.is_unknown_to_connect]
        if len(javas) != 1 or not built_in or any(match.name == name.strip() for match in built_in):
            return name
        return javas.pop()

    def versions(self, name: str | None, kind: str) -> list[str]:
        """All versions of the plugin of that name, the newest first; none if there is no such plugin, or several."""
        try:
            matches = self._matches(name or "", kind)
        except ConnectError:
            return []
        return versions.oldest_first(match.version for match in matches)[::-1]

    def _matches(self, name: str, kind: str) -> list[PluginDesc]:
        """All versions of one plugin."""
        matches = self._by_name.get((kind, name.strip()), [])
        classes = sorted({match.class_name for match in matches})
        if len(classes) > 1:
            # A stored config never changes its class because a Java plugin with such a name was installed.
            built_in = [match for match in matches if match.is_unknown_to_connect]
            if len({match.class_name for match in built_in}) == 1 and all(match.java or match in built_in for match in matches):
                return built_in
            raise BadRequestError(
                f"More than one {kind} matches alias {name}. Please use full package and class name instead. "
                f"Classes found: {', '.join(classes)}"
            )
        if not matches:
            available = sorted({plugin.class_name for plugin in self.plugins if plugin.kind == kind})
            raise NotFoundError(
                f"Failed to find any class that implements {KINDS[kind]} and which name matches {name}, available "
                f"{kind.replace('_', ' ')}s are: {', '.join(available) or 'none'}"
            )
        return matches

    def class_names(self, kind: str) -> list[str]:
        """Return the class names of all plugins of a kind, sorted."""
        return sorted({plugin.class_name for plugin in self.plugins if plugin.kind == kind})

    def class_name(self, name: str | None, kind: str) -> str | None:
        """The full name of the class that `name` means; `name` itself if there is none, or several."""
        try:
            return name and self.find(name, kind).class_name
        except ConnectError:
            return name

    def load(self, name: str, kind: str, version: str | None = None, beside: str | None = None) -> type[Any]:
        """
        Import a plugin's class; which one, `find` says. ConnectError, naming class and cause, if that fails.

        Where its modules come from: `environments.py`.
        """
        plugin = self.find(name, kind, version, beside)
        if plugin.java:
            return _load_java(plugin)
        module, _, attribute = plugin.python_path.partition(":")
        try:
            imported = environments.import_module(plugin.location, module)
            loaded: Any = imported
            for part in attribute.split("."):
                loaded = getattr(loaded, part)
        except Exception as error:
            raise ConnectError(
                f"The class {plugin.class_name} ({plugin.python_path} in {plugin.location}) can't be imported: "
                f"{type(error).__name__}: {error}"
            ) from error
        if not isinstance(loaded, type):
            raise ConnectError(f"{plugin.python_path} of the plugin {plugin.name} in {plugin.location} is not a class")
        return loaded


def _load_java(plugin: PluginDesc) -> type[Any]:
    # A process without Java plugins neither starts a JVM nor imports what would.
    from kconnect.jvm import classes

    try:
        return classes.load(plugin.kind, plugin.class_name, plugin.location)
    except ConnectError as error:
        raise ConnectError(f"The class {plugin.class_name} in {plugin.location} can't be loaded: {error}") from error


def _without_duplicates(entries: Iterable[Found]) -> list[PluginDesc]:
    """
    Two copies of one version are one plugin: that of the first location (Connect hides the others too). But what many Java
    plugins bring along, Connect's own converters and transforms, stays the built-in one, which needs no JVM.
    """
    entries = list(entries)
    built_in = {
        (entry.kind, _shown(entry.path)) for entry in entries if entry.location == INSTALLED and entry.kind != "connector"
    }
    built_in = {(kind, shown) for kind, shown in built_in if shown.startswith(_OF_CONNECT)}
    entries = [entry for entry in entries if not (entry.path.startswith(JAVA) and (entry.kind, _shown(entry.path)) in built_in)]
    plugins: dict[tuple[str, str, str], PluginDesc] = {}
    for entry in entries:
        shown = _shown(entry.path)
        # What stands for a class of Connect's has its version, so that a config which asks for one runs here and there.
        ours = shown.startswith(_OF_CONNECT) and not entry.path.startswith(JAVA)
        version = CONNECT_VERSION if ours else entry.version
        plugin = PluginDesc(shown, entry.path, entry.name, entry.kind, version, entry.location, entry.type, entry.stamp)
        first = plugins.setdefault((plugin.kind, plugin.class_name, plugin.version), plugin)
        if first.location != plugin.location:
            log.info(
                "The %s %s in version %s of %s is not used: %s has the same",
                plugin.kind,
                plugin.class_name,
                plugin.version,
                plugin.location,
                first.location,
            )
    return list(plugins.values())


def java_name(plugin: type[Any]) -> str | None:
    """Return the name of the Java class that a type stands for, as `jvm/classes.py` makes them; None for a type of Python's."""
    name: str | None = getattr(plugin, "java_class", None)
    return name


def class_name(plugin: type[Any]) -> str:
    """The name of a plugin's class as REST and reports show it: Java's for a built-in one, and for one of Java."""
    return java_name(plugin) or _shown(f"{realms.plain_name(plugin.__module__)}:{plugin.__qualname__}")


def _shown(path: str) -> str:
    return _JAVA_NAMES.get(path) or path.removeprefix(JAVA).replace(":", ".")
