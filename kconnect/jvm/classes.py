"""
Java classes as Python classes: `load` gives a type of `kconnect.api` whose objects stand for Java's.

Called by `plugins/registry.py`, in task hosts and the sandbox's children, which start their JVM by it. A type has the Java
class's name in `java_class`; that is what statuses, metrics and REST show.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any

import jpype

from kconnect.api.task import Task
from kconnect.errors import ConnectError
from kconnect.jvm import machine
from kconnect.jvm.errors import calling, translated

log = logging.getLogger(__name__)


@lru_cache(None)
def load(kind: str, name: str, place: str) -> type[Any]:
    """
    The type that stands for the class `name` in a directory or archive of `plugin.path`.

    Raises:
        ConnectError: no JVM can be had here, the class can't be loaded, or is not what `kind` says
    """
    from kconnect.jvm import connectors, parts, providers

    loaded = find(name, place)
    bases: dict[str, tuple[tuple[str, type[Any]], ...]] = {
        "connector": (
            ("org.apache.kafka.connect.source.SourceConnector", connectors.JavaSourceConnector),
            ("org.apache.kafka.connect.sink.SinkConnector", connectors.JavaSinkConnector),
        ),
        "transformation": (("org.apache.kafka.connect.transforms.Transformation", parts.JavaTransformation),),
        "predicate": (("org.apache.kafka.connect.transforms.predicates.Predicate", parts.JavaPredicate),),
        "converter": (("org.apache.kafka.connect.storage.Converter", parts.JavaConverter),),
        "header_converter": (("org.apache.kafka.connect.storage.HeaderConverter", parts.JavaHeaderConverter),),
        "config_provider": (("org.apache.kafka.common.config.provider.ConfigProvider", providers.JavaConfigProvider),),
    }
    for interface, base in bases.get(kind, ()):
        if jpype.JClass(interface).class_.isAssignableFrom(loaded):
            return _type(base, loaded, place)
    raise ConnectError(f"{name} is a Java plugin that kconnect can't use as a {kind.replace('_', ' ')}")


def task(loaded: Any, place: str, is_sink: bool) -> type[Task]:
    """The type that stands for the class of a connector's tasks."""
    from kconnect.jvm import sink_task, source_task

    base: type[Task] = sink_task.JavaSinkTask if is_sink else source_task.JavaSourceTask
    return _type(base, loaded, place)


def find(name: str, place: str) -> Any:
    """The Java class; ConnectError if it can't be loaded. An empty `place`: what Connect itself brings."""
    loader = machine.source(place).loader() if place else machine.start().delegatingLoader()
    try:
        with calling(loader):
            return jpype.JClass("java.lang.Class").forName(name, True, loader)
    except ConnectError as error:
        trace = getattr(error, "java_trace", "")
        raise ConnectError(f"{getattr(error, 'shown_as', '')}: {error}") from (error if trace else None)


def new(name: str, place: str) -> Any:
    """An object of the class, made by its constructor without arguments."""
    loaded = find(name, place)
    with calling(loaded.getClassLoader() or machine.start().delegatingLoader()):
        try:
            return loaded.getDeclaredConstructor().newInstance()
        except jpype.JClass("java.lang.reflect.InvocationTargetException") as thrown:
            raise translated(thrown.getCause()) from None


def _type(base: type[Any], loaded: Any, place: str) -> type[Any]:
    name = str(loaded.getName())
    return type(name.rpartition(".")[2].replace("$", "_"), (base,), {"java_class": name, "java_place": place})
