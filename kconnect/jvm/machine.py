"""
The one JVM of a process, with Kafka Connect's jars of one declared version, the shim, and Connect's own `Plugins`.

Started by the first Java plugin that is loaded (`classes.py`), in a task host or a child of the sandbox, which have a JVM in
their environment (`plugins/environments.py`): so after its fork, and never where there is none. `Plugins` does what it does
in Connect: each directory gets a class loader of its own, and classes of the framework come from here. Read next:
`classes.py`, for what is made of a Java class; `logs.py`, for what Java logs.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import logging
import os
import resource
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import jpype
import jpype.config

from kconnect import private_folder
from kconnect.core.settings import gates
from kconnect.errors import ConnectError
from kconnect.jvm import archive, jars, java, logs, options, shim, threads
from kconnect.jvm.options import Options

_FLAGS = (
    # Signals are the host's business: it decides when this process ends.
    "-Xrs",
    "-Xshare:auto",
    # Tasks have few threads and small young records; other collectors take threads and processor time for themselves.
    "-XX:+UseSerialGC",
    "-Dfile.encoding=UTF-8",
    "-Djava.awt.headless=true",
    # For `shim/NoExit.java`.
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
)

log = logging.getLogger(__name__)
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)

_lock = threading.Lock()
_plugins: Any = None
_sources: dict[str, Any] = {}


def is_running() -> bool:
    return _plugins is not None


def start() -> Any:
    """
    Connect's `Plugins` of this process, with a JVM started for it first if there is none, which takes a second. It knows what
    Connect itself brings; the directories of `plugin.path` come by `source`.

    Raises:
        ConnectError: no Java 17, no jars, or an option that Java refuses
    """
    global _plugins
    with _lock:
        if _plugins is None:
            # At the end of this process nobody waits for threads that a plugin has left.
            jpype.config.onexit = False
            _start_java(options.wanted)
            atexit.register(leave)
            jpype.JClass("kconnect.shim.NoExit").install()
            threads.begin()
            logs.begin()
            jpype.JClass("kconnect.shim.Beans").begin()
            settings = to_map({"plugin.discovery": "service_load"})
            _plugins = jpype.JClass("org.apache.kafka.connect.runtime.isolation.Plugins")(settings)
            # JPype has Python search for garbage, in all that it knows, each time that Java has collected its own: in a busy
            # host several times a second. JPype's classes of Java's, and what was imported so far, stay anyway.
            gc.freeze()
        return _plugins


def source(place: str) -> Any:
    """Connect's `PluginSource` of a directory or archive of `plugin.path`: the same one, with its class loader, each time."""
    plugins = start()
    with _lock:
        if place not in _sources:
            isolation = jpype.JPackage("org.apache.kafka.connect.runtime.isolation")
            path = jpype.JClass("java.nio.file.Path").of(place)
            try:
                _sources[place] = isolation.PluginUtils.isolatedPluginSource(
                    path, plugins.delegatingLoader(), isolation.ClassLoaderFactory()
                )
            except jpype.JException as error:
                raise ConnectError(f"The Java plugin {place} can't be read: {error}") from None
            _register_drivers(_sources[place].loader())
        return _sources[place]


def _register_drivers(loader: Any) -> None:
    """
    Databases' drivers, which register themselves when their classes are loaded. DriverManager looks for them once in a JVM,
    with the first plugin's loader; in Connect it is the scan that finds the others'.
    """
    drivers = jpype.JClass("java.util.ServiceLoader").load(jpype.JClass("java.sql.Driver").class_, loader).iterator()
    # As in Connect, one that can't be loaded ends this, and fails whoever wants it.
    with suppress(jpype.JException):
        while drivers.hasNext():
            drivers.next()


def leave() -> None:
    """A thread of JPype's (1.7) that comes back to an interpreter which is ending would abort the process."""
    jpype.JClass("org.jpype.ref.JPypeReferenceQueue").getInstance().stop()


def _start_java(options: Options) -> None:
    # What Java logs goes to the shim, and slf4j warns of two bindings.
    connect = [str(jar) for jar in sorted(jars.connect().glob("*.jar")) if not jar.name.startswith("slf4j-simple-")]
    shim_jar = shim.jar()
    class_path = [str(shim_jar), *connect]
    # Before Java 18 it need not be allowed, and from 24 on it can't be.
    allowed = ["-Djava.security.manager=allow"] if 18 <= java.version(java.find()) < 24 else []
    heap = options.fitting_heap()
    if heap < options.heap:
        log.info(
            "The heap of the JVM is %d bytes, and not %d, because %s is %s", heap, options.heap, options.setting, options.most
        )
    # Any thread may be the one that meets a full heap; what goes on afterwards is chance.
    ends = [f"-XX:ErrorFile={options.report or os.devnull}", *(["-XX:+CrashOnOutOfMemoryError"] if options.report else ())]
    closed = gates.flags(options.more)
    # What its libraries unpack and put aside is to be nobody else's. What the user names counts: it comes behind.
    flags = [
        f"-Xmx{heap}",
        *_FLAGS,
        *private_folder.made().options,
        *archive.flags(shim_jar),
        *allowed,
        *ends,
        *closed,
        *options.more,
    ]
    _leave_crashes_to_java()
    try:
        jpype.startJVM(java.library(), *flags, classpath=class_path, interrupt=False)
    except (OSError, RuntimeError) as error:
        user_options = " ".join(options.more)
        raise ConnectError(
            f"The JVM for Java plugins did not start with {user_options or 'its own options'}: {error}"
        ) from error


def _leave_crashes_to_java() -> None:
    """
    Restore the system's handlers of these signals. Faulthandler's the JVM would call before its own report, and so never write
    it. With the system's own it reports, and raises SIGABRT, for which faulthandler is still there (`host/blackbox.py`).
    """
    for number in _CRASHES:
        # Not by `signal.signal`, which is for the main thread.
        ctypes.CDLL(None).signal(int(number), 0)
    # Of the size of the heap, for what the report says.
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))


@contextmanager
def loader_of(plugin: Any) -> Iterator[None]:
    """
    Within it this thread's class loader is the plugin's, as Connect has it around each call; what it logs is its unit's. A
    loader stands for itself.
    """
    enter = jpype.JClass("kconnect.shim.Loaders").enter
    loader = plugin if isinstance(plugin, jpype.JClass("java.lang.ClassLoader")) else plugin.getClass().getClassLoader()
    attach()
    logs.adopt()
    before = enter(loader)
    try:
        yield
    finally:
        enter(before)


def attach() -> None:
    """Java is not to wait for this thread, nor to give it a loader that knows nothing of Connect."""
    thread = jpype.JClass("java.lang.Thread")
    if not thread.isAttached():
        thread.attachAsDaemon()


def to_map(texts: Mapping[str, str | None]) -> Any:
    java_map = jpype.JClass("java.util.HashMap")()
    for name, value in texts.items():
        java_map.put(name, value)
    return java_map


def of_map(java: Any) -> dict[str, str]:
    """Convert a Java map of names and texts; nulls are left out."""
    return {str(entry.getKey()): str(entry.getValue()) for entry in java.entrySet() if entry.getValue() is not None}
