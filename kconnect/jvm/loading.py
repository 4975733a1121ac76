"""
Loads Java classes: the class itself, an object of it, and a Python type that stands for it.

Called by whatever stands for a Java class in Python (`connectors.py`, `transforms.py`, `sink_task.py` and others). A type has
the Java class's name in `java_class`; that is what statuses, metrics and REST show. Read next: `classes.py`.
"""

from __future__ import annotations

from typing import Any, TypeVar

import jpype

from kconnect.errors import ConnectError
from kconnect.jvm import machine
from kconnect.jvm.errors import calling, translated

T = TypeVar("T")


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


def type_of(base: type[Any], loaded: Any, place: str) -> type[Any]:
    """Return a type for a Java class that was loaded from `place`: a subclass of `base`."""
    name = str(loaded.getName())
    return type(name.rpartition(".")[2].replace("$", "_"), (base,), {"java_class": name, "java_place": place})


def of_connect(base: type[T], name: str) -> type[T]:
    """Return the type of a class that Connect itself brings."""
    return type_of(base, find(name, ""), "")
