"""
Checks for common mistakes in plugins, in one call: `check_plugin`.

Called by authors' tests through `kconnect.testing`. Each check is for a rule in the docstrings of `kconnect/api` whose
violation a worker would notice late, or not explain. Read next: `source.py`, `sink.py`, `records.py`, which run the parts that
move data.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from kconnect.api.config import ConfigDef, Type, parse
from kconnect.api.connector import Connector, ExactlyOnceSupport, SinkConnector, SourceConnector
from kconnect.api.record import SinkRecord
from kconnect.core.settings import secrets
from kconnect.core.settings.connector import framework_config
from kconnect.errors import ConfigError, ConnectError, RetriableError
from kconnect.testing.plugins import chain_checks, configs
from kconnect.testing.plugins.chain_checks import Records, told
from kconnect.testing.plugins.records import image
from kconnect.testing.plugins.sink import SinkRunner
from kconnect.testing.plugins.source import SourceRunner
from kconnect.testing.plugins.tasks import task_configs_of

_STOP_S = 60.0
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+!_-]*")


class PluginProblems(AssertionError):
    """All problems that `check_plugin` has found, as sentences in `problems`."""

    def __init__(self, plugin: type[Any], problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"{plugin.__name__}:\n" + "\n".join(f"- {problem}" for problem in problems))


def check_plugin(plugin: type[Any], config: Mapping[str, str] | None = None, records: Records = ()) -> None:
    """
    Check that a plugin's class does what a worker relies on. Raises PluginProblems with all problems, if there are any.

    `config` must work: for a connector it is as in REST, for other plugins it has their own settings. The check runs the plugin
    with it. A connector and its first task are started. A source is polled until it returns records, twice at most, and is
    stopped while it polls. Sinks, transforms and predicates get `records`. A converter converts their values to bytes and back.
    The config should point to a system for tests. The check takes as long as the plugin's `poll` blocks.
    """
    configs.kind_of(plugin)
    problems = list(_problems(plugin, dict(config or {}), records))
    if problems:
        raise PluginProblems(plugin, problems)


def _problems(plugin: type[Any], config: dict[str, str], records: Records) -> Iterator[str]:
    yield from _of_module(plugin)
    try:
        instance = plugin()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
        yield f"can't be made: {plugin.__name__}() raised {told(error)}; move what needs a config to start() or configure()"
        return
    yield from _of_version(plugin, instance)
    declared: ConfigDef | None = None
    if not hasattr(instance, "config"):
        declared = ConfigDef()
    else:
        try:
            declared = configs.config_def_of(instance, config)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
            yield f"config() can't be used: {told(error)}; it is called on an instance that was never started or configured"
    if declared is None:
        return
    kind = configs.kind_of(plugin)
    yield from _of_settings(declared, kind, plugin)
    if kind == "connector":
        yield from _of_connector(plugin, config, records)
        return
    try:
        instance = configs.configured(plugin, config)
    except ConfigError as error:
        yield str(error)
        return
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
        yield f"configure() raised {told(error)}"
        return
    yield from chain_checks.problems(instance, config, records)
    if hasattr(instance, "close"):
        yield from _raises("close()", instance.close)


def _of_module(plugin: type[Any]) -> Iterator[str]:
    if "<locals>" in plugin.__qualname__:
        yield "is defined inside a function: an entry point can only name classes at a module's top level"
    if inspect.isabstract(plugin):
        missing = ", ".join(sorted(plugin.__abstractmethods__))
        yield f"lacks methods that its base class declares: {missing}"
    if plugin.__module__.split(".")[0] == "kconnect":
        return
    try:
        tree = ast.parse(inspect.getsource(sys.modules[plugin.__module__]))
    except (OSError, TypeError, KeyError, SyntaxError):
        return
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update({node.module} if node.module != "kconnect" else {f"kconnect.{a.name}" for a in node.names})
    inner = sorted(name for name in names if name.startswith("kconnect.") and name.split(".")[1] not in ("api", "testing"))
    if inner:
        yield f"imports {', '.join(inner)}: only kconnect.api stays the same from one version to the next"


def _of_version(plugin: type[Any], instance: Any) -> Iterator[str]:
    try:
        version = instance.version()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
        yield f"version() raised {told(error)}"
        return
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        yield f"version() returned {version!r}, which is not a version: return a text such as '1.0.0'"
        return
    if version == "undefined":
        yield "has no version(): statuses and metrics can't tell its versions apart"
        return
    installed = configs.installed_version(plugin)
    if installed is not None and installed != version:
        yield f"version() returned {version}, but its package has version {installed}: read both from one place"


def _of_settings(declared: ConfigDef, kind: str, plugin: type[Any]) -> Iterator[str]:
    framework = set()
    if kind == "connector":
        framework = set(framework_config("sink" if issubclass(plugin, SinkConnector) else "source").keys)
    for name, key in declared.keys.items():
        if name in framework:
            yield f"declares the setting {name}, which belongs to the framework: choose another name"
        if not key.doc.strip():
            yield f"the setting {name} has no doc: REST and tools show it to users"
        if key.type is not Type.PASSWORD and secrets.is_secret(name):
            yield f"the setting {name} seems to be a secret: declare it with Type.PASSWORD, so that it is never shown"
        if not key.required:
            try:
                value = parse(name, key.default, key.type)
                if key.validator is not None:
                    key.validator(name, value)
            except ConfigError as error:
                yield f"the default of {name} is refused by its own type or validator: {error}"


# --- connectors ---


def _of_connector(plugin: type[Connector], config: dict[str, str], records: Records) -> Iterator[str]:
    for title, settings in (("an empty config", {}), ("the config", config)):
        try:
            errors = configs.config_errors(plugin, settings)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
            yield f"validate() of {title} raised {told(error)}: it should return the errors of each setting instead"
            return
    if errors:
        yield from (f"validation refuses the config: {message}" for messages in errors.values() for message in messages)
        return
    full = configs.accepted(plugin, config)
    if issubclass(plugin, SourceConnector):
        yield from _of_preflight(plugin(), full)
        yield from _of_source(plugin, config)
    elif issubclass(plugin, SinkConnector):
        yield from _of_sink(plugin, config, records)


def _of_preflight(connector: SourceConnector, full: dict[str, str]) -> Iterator[str]:
    """The methods that are called on an instance that was never started."""
    try:
        support = connector.exactly_once_support(dict(full))
        if support is not None and not isinstance(support, ExactlyOnceSupport):
            yield f"exactly_once_support() returned {support!r}, but must return an ExactlyOnceSupport or None"
        can = connector.can_define_transaction_boundaries(dict(full))
        if not isinstance(can, bool):
            yield f"can_define_transaction_boundaries() returned {can!r}, but must return True or False"
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
        yield (
            f"exactly_once_support() or can_define_transaction_boundaries() raised {told(error)} on an instance that was never "
            "started"
        )


def _of_task(runner: SourceRunner | SinkRunner) -> Iterator[str]:
    version = runner.task.version()
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        yield f"version() of the task returned {version!r}, which is not a version: return a text such as '1.0.0'"
    for limit in ("1", "3"):
        try:
            task_configs_of(runner.connector, {**runner.config, "tasks.max": limit})
        except ConnectError as error:
            yield str(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
            yield f"task_configs({limit}) raised {told(error)}"


def _of_source(plugin: type[SourceConnector], config: dict[str, str]) -> Iterator[str]:
    runner = SourceRunner(plugin, {**config, "tasks.max": config.get("tasks.max", "3")})
    problems: list[str] = []
    ready, stopping, stopped = threading.Event(), threading.Event(), threading.Event()
    # A thread for the task, as in a worker: `stop` is called from another thread than everything else, while `poll` may block.
    task = threading.Thread(target=_poll, args=(runner, problems, ready, stopping, stopped), name="task", daemon=True)
    task.start()
    ready.wait(_STOP_S)
    stopping.set()
    if runner.runs:
        problems += _raises("stop()", runner.stop_task)
    stopped.set()
    task.join(_STOP_S)
    if task.is_alive():
        problems.append(f"poll() has not returned {_STOP_S:.0f} s after stop(): wait on a threading.Event that stop() sets")
    yield from problems
    if problems:
        return
    try:
        runner.start()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
        yield f"could not be started again with its own offsets: {told(error)}"
    else:
        yield from _raises("stop() of a task that has not polled", runner.stop)


def _poll(
    runner: SourceRunner, problems: list[str], ready: threading.Event, stopping: threading.Event, stopped: threading.Event
) -> None:
    """
    A task's life, in its thread. It sets `ready` after it has returned records, or none twice. `stopped` is set after its
    `stop` was called.
    """
    try:
        runner.start()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
        problems.append(f"could not be started: {told(error)}")
        ready.set()
        return
    problems += _of_task(runner)
    try:
        if not runner.poll():
            runner.poll()
    except RetriableError:
        pass
    except AssertionError as error:
        problems.append(str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
        problems.append(f"poll() raised {told(error)}")
    ready.set()
    with suppress(Exception, SystemExit):  # a poll that is stopped may end as it likes
        while not stopping.is_set() and not problems:
            runner.poll(acknowledge=False)
    stopped.wait()
    problems += _raises("stop() of the connector", runner.stop)


def _of_sink(plugin: type[SinkConnector], config: dict[str, str], records: Records) -> Iterator[str]:
    sink_records = [record for record in records if isinstance(record, SinkRecord)]
    if len(sink_records) < len(records):
        yield "records for a sink must be SinkRecords: make them with sink_records()"
        return
    runner = SinkRunner(plugin, config)
    try:
        runner.start()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
        yield f"could not be started: {told(error)}"
        return
    yield from _of_task(runner)
    try:
        runner.put([])
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
        yield f"put([]) raised {told(error)}: the list may be empty"
    before = [image(record) for record in sink_records]
    try:
        if sink_records:
            runner.put(sink_records)
            runner.flush()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
        yield f"put() or flush() raised {told(error)}"
    if before != [image(record) for record in sink_records]:
        yield "put() changed the records that it was given: they may be put again, or go to the dead letter queue"
    yield from _raises("close() or stop()", runner.stop)


def _raises(what: str, call: Callable[[], Any]) -> Iterator[str]:
    try:
        call()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's own
        yield f"{what} raised {told(error)}"
