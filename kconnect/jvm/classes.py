"""
Java classes as Python classes: `load` gives a type of `kconnect.api` whose objects stand for Java's.

Called by `plugins/registry.py`, in task hosts and the sandbox's children, which start their JVM by it. Read next: `loading.py`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jpype

from kconnect.errors import ConnectError
from kconnect.jvm import connectors, converters, loading, providers, transforms


@lru_cache(None)
def load(kind: str, name: str, place: str) -> type[Any]:
    """
    The type that stands for the class `name` in a directory or archive of `plugin.path`.

    Raises:
        ConnectError: no JVM can be had here, the class can't be loaded, or is not what `kind` says
    """
    loaded = loading.find(name, place)
    bases: dict[str, tuple[tuple[str, type[Any]], ...]] = {
        "connector": (
            ("org.apache.kafka.connect.source.SourceConnector", connectors.JavaSourceConnector),
            ("org.apache.kafka.connect.sink.SinkConnector", connectors.JavaSinkConnector),
        ),
        "transformation": (("org.apache.kafka.connect.transforms.Transformation", transforms.JavaTransformation),),
        "predicate": (("org.apache.kafka.connect.transforms.predicates.Predicate", transforms.JavaPredicate),),
        "converter": (("org.apache.kafka.connect.storage.Converter", converters.JavaConverter),),
        "header_converter": (("org.apache.kafka.connect.storage.HeaderConverter", converters.JavaHeaderConverter),),
        "config_provider": (("org.apache.kafka.common.config.provider.ConfigProvider", providers.JavaConfigProvider),),
    }
    for interface, base in bases.get(kind, ()):
        if jpype.JClass(interface).class_.isAssignableFrom(loaded):
            return loading.type_of(base, loaded, place)
    raise ConnectError(f"{name} is a Java plugin that kconnect can't use as a {kind.replace('_', ' ')}")
