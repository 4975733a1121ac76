"""
The disposable process in which plugin code is asked about configs and offsets, so that it can't hurt the worker.

`sandbox.py` starts it as `python -m kconnect.plugins.sandbox_child` and speaks to it in frames: four bytes of length, then
JSON. The first frame says what plugins there are; then each request gets one answer. Before each stage of a request the
child says what it is about to do, so that a parent which has to kill it can name class and stage. Read next: `asking.py`,
then `validation.py`.
"""

from __future__ import annotations

import logging
import os
import queue
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any

import orjson

from kconnect.api.config_provider import ConfigProvider
from kconnect.api.connector import SinkConnector, SourceConnector
from kconnect.api.converter import Converter, HeaderConverter
from kconnect.api.predicate import Predicate
from kconnect.api.record import TopicPartition
from kconnect.api.transformation import Transformation
from kconnect.core.herder.effects import RefusedError, UnsupportedError
from kconnect.core.settings import references, secrets
from kconnect.core.settings.hiding import Submitted
from kconnect.core.settings.references import Resolved
from kconnect.core.settings.worker import tell
from kconnect.core.task.errors import error_class
from kconnect.errors import BadRequestError, ConfigError, ConnectError, NotFoundError
from kconnect.jvm import options
from kconnect.jvm.options import Options
from kconnect.jvm.scan import DISCOVERY
from kconnect.plugins import environments
from kconnect.plugins.asking import Asking, ConfigMap, describe
from kconnect.plugins.confinement import Traces, confine
from kconnect.plugins.providers import Providers, resolve_worker
from kconnect.plugins.reach import Reach
from kconnect.plugins.registry import Registry
from kconnect.plugins.validation import Validation

_INTERFACES: Mapping[str, tuple[type[Any], ...]] = {
    "connector": (SourceConnector, SinkConnector),
    "transformation": (Transformation,),
    "predicate": (Predicate,),
    "converter": (Converter,),
    "header_converter": (HeaderConverter,),
    "config_provider": (ConfigProvider,),
}
"""What a class of each kind must be. Policies of overrides have no interface of ours: they are built in."""

LARGEST_FRAME = 64 * 2**20
_LONGEST_MESSAGE = 10_000


def frame(body: Any) -> bytes:
    data = orjson.dumps(body)
    return struct.pack(">I", len(data)) + data


def pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Return the pipes of requests and of answers."""
    # They are taken away from descriptors 0 and 1 first: whatever a plugin prints must not be read as an answer.
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return requests, answers


def main() -> None:
    requests, answers = pipes()
    first = read_frame(requests) or {}
    waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(requests, waiting), daemon=True).start()
    channel = Channel(answers, waiting)
    worker = first.get("worker", {})
    for name in ("kconnect.plugins.scan", "kconnect.kafka"):
        logging.getLogger(name).setLevel(logging.ERROR)  # what is to be said of these the worker says, or a task
    registry = Registry.scan(first.get("plugin_path"), first.get("plugins"), first.get("discovery") or DISCOVERY)
    memory = first.get("memory")
    heap, more = first.get("java") or Options()[:2]
    options.wanted = Options(heap, more, memory, "sandbox.memory.max.bytes")
    providers = Providers(registry, worker.get("providers", {}), channel.at)
    confine(memory)
    traces = Traces()
    entered = False
    while True:
        request = waiting.get()
        if not entered:
            # All requests to one child have the same.
            environments.enter((*request["directories"], *environments.of_providers(registry, worker.get("providers", {}))))
            entered = True
        call = Call(registry, channel, worker, providers)
        answer = _answer(call, request, memory)
        channel.send(_answer_frame(call, {**answer, "left": [*answer.get("left", ()), *traces.left()]}))


class Channel:
    """The channel from a child to its parent. Thread-safe, for a provider is asked in a thread of its own."""

    def __init__(self, answers: IO[bytes], received: queue.SimpleQueue[dict[str, Any]]) -> None:
        self._answers, self._received = answers, received
        self._lock = threading.Lock()

    def send(self, data: bytes) -> None:
        with self._lock:
            view = memoryview(data)
            while view:
                view = view[self._answers.write(view) :]

    def at(self, stage: str, class_name: str) -> None:
        self.send(frame({"stage": stage, "class": class_name}))

    def hide(self, texts: Iterable[str]) -> None:
        """Have the parent log none of these texts. Returns once it knows them: what plugin code prints may come at once."""
        self.send(frame({"hidden": list(texts)}))
        self._received.get()


def _receive(requests: IO[bytes], waiting: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Pass requests on; end the process with its parent, even while plugin code hangs."""
    status = 1
    try:
        while (request := read_frame(requests)) is not None:
            waiting.put(request)
        status = 0
    except OSError:
        # Plugin code has closed the pipe. Which thread meets that first is chance; the status is that of the other one, too.
        sys.stderr.write(traceback.format_exc())
    finally:
        os._exit(status)


def _answer(call: Call, request: dict[str, Any], memory: int | None) -> dict[str, Any]:
    calls: dict[str, Callable[..., Any]] = {
        "describe": call.describe,
        "validate": call.validate,
        "config": call.config_keys,
        "check": call.check,
        "resolve": call.resolve,
        "resolve_config": call.resolve_config,
        "alter_offsets": call.alter_offsets,
    }
    try:
        return {"result": calls[request["call"]](**request["arguments"]), "warnings": call.warnings()}
    except NotFoundError as error:
        return call.error(NotFoundError, str(error))
    except (BadRequestError, RefusedError, UnsupportedError) as error:
        return call.error(type(error), str(error))
    except ConfigError as error:
        return call.error(BadRequestError, f"{call.where()}: {error}")
    except MemoryError as error:
        error.__traceback__ = None  # its frames hold what there was no room for
        if isinstance(error, ConnectError):  # of Java, which has limits of its own
            return {**call.error(ConnectError, f"{call.where()}: {error_class(error)}: {error}"), "left": ["full memory"]}
        limit = "than there is" if memory is None else f"than the {memory} bytes of the worker's sandbox.memory.max.bytes"
        text = f"{call.where()}: MemoryError: it needed more memory {limit}"
        return {**call.error(ConnectError, text), "left": ["full memory"]}
    except BaseException as error:  # noqa: BLE001 - a plugin's own: told to whoever asked, with its place
        sys.stderr.write(traceback.format_exc())
        return call.error(ConnectError, f"{call.where()}: {type(error).__name__}: {_text(error)}")


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:  # noqa: BLE001 - the error is a plugin's class, too
        return f"its text can't be had ({type(second).__name__})"


def _answer_frame(call: Call, answer: dict[str, Any]) -> bytes:
    """Return the frame of an answer. What a plugin makes part of it may be no JSON, or too large."""
    try:
        data = frame(answer)
    except TypeError as error:
        problem = f"its answer is not JSON: {error}"
    except MemoryError:
        problem = "there is not enough memory for its answer"
    else:
        if len(data) <= LARGEST_FRAME:
            return data
        problem = f"its answer has {len(data)} bytes, more than the {LARGEST_FRAME} that a plugin may answer with"
    return frame({**call.error(ConnectError, f"{call.where()}: {problem}"), "left": answer["left"]})


class Call:
    """A request to plugin code."""

    def __init__(self, registry: Registry, channel: Channel, worker: Mapping[str, Any], providers: Providers) -> None:
        self._registry, self._channel, self._providers = registry, channel, providers
        self._asking = Asking(registry, lambda stage: channel.send(frame(stage)), worker)

    def where(self) -> str:
        return self._asking.where()

    def warnings(self) -> list[str]:
        return [self._asking.hide(text) for text in self._asking.warnings]

    def error(self, kind: type[ConnectError], message: str) -> dict[str, Any]:
        text = self._asking.hide(message)
        if len(text) > _LONGEST_MESSAGE:
            text = f"{text[:_LONGEST_MESSAGE]}… ({len(text)} characters)"
        # An unpaired surrogate can't be sent.
        return {"error": kind.__name__, "message": text.encode("utf-8", "backslashreplace").decode("utf-8")}

    def describe(self, plugin: str, version: str | None = None) -> dict[str, Any]:
        connector = self._registry.find(plugin, "connector", version)
        return describe(self._asking, connector)

    def config_keys(self, plugin: str, kind: str, version: str | None = None) -> list[dict[str, Any]]:
        """The declared settings of any plugin; for connectors, those of the framework are not among them."""
        description = self._registry.find(plugin, kind, version)
        return [key.info() for key in self._asking.config_def(description, self._asking.make(description)).keys.values()]

    def check(self, plugin: str, kind: str, version: str | None = None) -> None:
        """An error, unless the class can be imported, is of its kind, and objects of it can be made and have settings."""
        description = self._registry.find(plugin, kind, version)
        self._asking.at("importing", description)
        loaded = self._registry.load(plugin, kind, version)
        interfaces = _INTERFACES.get(kind, (object,))
        # What a class is in Java `classes.load` has seen to.
        if not description.java and not issubclass(loaded, interfaces):
            names = " or ".join(f"kconnect.api.{interface.__name__}" for interface in interfaces)
            raise BadRequestError(
                f"{description.class_name} is not a {kind.replace('_', ' ')}: it must be a subclass of {names}"
            )
        instance = self._asking.make(description)
        if hasattr(instance, "config"):
            self._asking.config_def(description, instance)

    def alter_offsets(self, plugin: str, config: ConfigMap, offsets: list[tuple[Any, Any]]) -> bool:
        """JSON has brought the values here, so a connector finds the same types whoever sent them."""
        self._asking.secrets |= secrets.values(config)
        settings = {name: value for name, value in config.items() if value is not None}
        if any(references.find(text) for text in settings.values()):
            resolved = self._resolve(settings)
            self._asking.submitted = Submitted(settings, resolved)
            try:
                settings = resolved.config(settings)
            except ConfigError as error:
                raise BadRequestError(str(error)) from error
        try:
            Reach.of_worker(self._asking.worker).check(settings)
        except ConfigError as error:
            raise BadRequestError(str(error)) from error
        description = self._registry.find(plugin, "connector", settings.get("connector.plugin.version"))
        connector = self._asking.connector(description)
        tell(connector, self._asking.worker.get("settings", {}))
        self._asking.hide_passwords(self._asking.config_def(description, connector), settings)
        self._asking.at("alter_offsets()", description)
        try:
            if isinstance(connector, SinkConnector):
                answer = connector.alter_offsets(settings, {TopicPartition(*place): offset for place, offset in offsets})
            else:
                assert isinstance(connector, SourceConnector)
                answer = connector.alter_offsets(settings, [(partition, offset) for partition, offset in offsets])
        except NotImplementedError as error:
            raise UnsupportedError(str(error)) from error
        except ConnectError as error:
            raise RefusedError(str(error) or type(error).__name__) from error
        if not isinstance(answer, bool):
            raise BadRequestError(f"{description.class_name}.alter_offsets() must return True or False")
        return answer

    def validate(self, plugin: str, config: ConfigMap) -> dict[str, Any]:
        return Validation(self._asking, plugin, config, self._resolve).infos()

    def resolve(self, plugin: str, config: Mapping[str, str]) -> dict[str, Any]:
        """A worker's own texts with their references replaced, as `WorkerTexts` has them. `plugin` means nothing here."""
        try:
            resolution = resolve_worker(self._registry, config, self._channel.at)
        except ConfigError as error:
            return {"error": str(error)}
        return {"texts": resolution.texts, "covered": resolution.covered, "settings": resolution.settings}

    def resolve_config(self, plugin: str, config: Mapping[str, str]) -> dict[str, Any]:
        """Settings of a connector with their references replaced, and what logs must show instead. As `resolve` otherwise."""
        resolved = self._resolve(config)
        try:
            return {"config": resolved.config(config), "covered": resolved.cover(config)}
        except ConfigError as error:
            return {"error": str(error)}

    def _resolve(self, config: Mapping[str, str]) -> Resolved:
        resolved = self._providers.resolve([config])
        self._channel.hide({form for value in resolved.cover(config) for form in secrets.forms(value)})
        return resolved


def read_frame(stream: IO[bytes]) -> dict[str, Any] | None:
    header = stream.read(4)
    if len(header) < 4:
        return None
    body = stream.read(struct.unpack(">I", header)[0])
    request: dict[str, Any] = orjson.loads(body)
    return request


if __name__ == "__main__":
    main()
