"""
A connector's chain on single records, step by step, without a worker: what each predicate said and each transform made.

It runs what tasks run: `transforms.Transforms`, `core/task/steps.py` and the conversions of `core/task/chain.py`, with a look
at the record between the steps. A record that fails is reported and the next one is taken, whatever `errors.tolerance` says,
and nothing is tried again. Called by `cli/chains/preview.py` and `cli/chains/testing.py`, which print; records from Kafka come
from `kafka/sample.py`. The form of records is that of `preview/envelopes.py`.
"""

from __future__ import annotations

import base64
import dataclasses
import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kconnect.api.config import Type
from kconnect.api.connector import SinkConnector, SourceConnector
from kconnect.api.record import SinkRecord, SourceRecord
from kconnect.core.settings import aliases, secrets, worker
from kconnect.core.settings.connector import framework_config
from kconnect.core.settings.errors import ErrorSettings
from kconnect.core.settings.worker import WorkerSettings, with_environment
from kconnect.core.task.chain import Outgoing, SinkChain, SourceChain
from kconnect.core.task.errors import Errors, Failure, error_class
from kconnect.core.task.steps import Step, Steps
from kconnect.errors import ConfigError, ConnectError, DataError, NotFoundError
from kconnect.plugins import chain
from kconnect.plugins.providers import Providers
from kconnect.plugins.reach import Reach
from kconnect.plugins.registry import Registry
from kconnect.preview import envelopes, hiding
from kconnect.processes import worker_file
from kconnect.units import converters
from kconnect.units.transforms import Transforms

Body = dict[str, Any]
"""A record as JSON."""

_DEFAULTS = {
    "bootstrap.servers": "localhost:9092",
    "group.id": "kconnect-preview",
    "config.storage.topic": "none",
    "offset.storage.topic": "none",
    "status.storage.topic": "none",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}
"""What a worker file must have and a preview can do without: nothing of it is used, but for the converters."""


@dataclass(frozen=True)
class Verdict:
    """The answer of a step's predicate. `result` None: it failed, or was not asked; `negate`: the step wants the others."""

    alias: str
    type: str
    result: bool | None
    negate: bool


@dataclass(frozen=True)
class Done:
    """The outcome of one step. `record` is None if the step dropped the record or failed."""

    alias: str
    predicate: Verdict | None
    applied: bool
    record: Body | None


@dataclass(frozen=True)
class Problem:
    """
    Why a record failed. `alias` is the step's, None in a converter; `tolerated`: a task would go on without it. `cause` is
    what lies below, for people: Connect's messages often leave it to the trace.
    """

    stage: str
    class_name: str
    message: str
    alias: str | None
    tolerated: bool
    cause: str = ""


@dataclass(frozen=True)
class Outcome:
    """
    The outcome of one record. `out` is None if nothing comes out. `key` and `value` are the bytes in Kafka: those that a source
    would write, or those that a sink's record was read from; None, too, if it was given as a record.
    """

    record: Body
    steps: tuple[Done, ...]
    out: Body | None
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    error: Problem | None = None

    @property
    def dropped_by(self) -> str | None:
        """The alias of the step that dropped it on purpose."""
        return self.steps[-1].alias if self.out is None and self.error is None and self.steps else None

    def as_json(self) -> Body:
        error = self.error
        return {
            "in": self.record,
            "steps": [
                {
                    "alias": step.alias,
                    "predicate": None if step.predicate is None else dataclasses.asdict(step.predicate),
                    "applied": step.applied,
                    "record": step.record,
                }
                for step in self.steps
            ],
            "out": self.out,
            "key_bytes": _base64(self.key),
            "value_bytes": _base64(self.value),
            "error": None
            if error is None
            else {
                "stage": error.stage,
                "class": error.class_name,
                "message": error.message,
                "alias": error.alias,
                "tolerated": error.tolerated,
            },
        }


@dataclass(frozen=True)
class Message:
    """A consumed message that never was in Kafka: what `SinkChain` asks of the client's."""

    record: Body
    key_bytes: bytes | None
    value_bytes: bytes | None

    def topic(self) -> str:
        return str(self.record["topic"])

    def partition(self) -> int:
        return self.record.get("partition") or 0

    def offset(self) -> int:
        return self.record.get("offset") or 0

    def key(self) -> bytes | None:
        return self.key_bytes

    def value(self) -> bytes | None:
        return self.value_bytes

    def headers(self) -> list[tuple[str, bytes | None]]:
        return []

    def timestamp(self) -> tuple[int, int]:
        at = self.record.get("timestamp")
        return (0, -1) if at is None else (1, at)


class Preview:
    """The chain of one connector. Call `close` when it is no longer needed."""

    def __init__(self, config: Mapping[str, str], kind: str, settings: WorkerSettings, plugins: Registry) -> None:
        """ConfigError, without secrets, for the first setting of the chain that can't be used."""
        self.kind = kind
        self._secrets = _secrets(config, settings, plugins)
        try:
            config, covered = _resolved(config, settings, plugins)
            self._secrets |= {form for value in covered for form in secrets.forms(value)}
            Reach.of_settings(settings).check(config)
            _check(config, kind)
            _check_classes(config, settings, plugins)
            self.tolerant = ErrorSettings.of(config).tolerant
            self._failure: Failure | None = None
            errors = _errors(self._failed)
            chain_converters = converters.make(config, settings, plugins)
            self._sink, self._source = SinkChain(chain_converters, errors), SourceChain(chain_converters, errors)
            self._transforms = Transforms(config, plugins, worker=settings.raw, apart=True)
        except ConnectError as error:
            raise ConfigError(secrets.hide(str(error), self._secrets)) from None
        self.config = config
        """With the references of the chain, and of its consumer, resolved."""
        self._errors = errors
        predicates = aliases.predicates(config)
        named = zip(self._transforms.steps.steps, aliases.transforms(config))
        self._steps = [_Watched(step, predicates.get(alias.predicate or "")) for step, alias in named]

    def close(self) -> None:
        self._transforms.close()

    def shown(self, outcome: Outcome) -> Outcome:
        """Return the outcome for others to read: without the secrets of the config and of its providers."""
        return hiding.hide(outcome, self._secrets)

    def shown_text(self, text: str) -> str:
        """Return a text about an outcome for others to read: a topic's name may be a secret that a transform has put there."""
        return secrets.hide(text, self._secrets)

    def record(self, record: SourceRecord | SinkRecord, converts: Callable[[str], bool] | None = None) -> Outcome:
        """
        A record as the task gave it, or, of a sink, as its converters made it. A source's has no bytes if `converts` is false
        of its topic: converters register schemas under the topic's name.
        """
        body = envelopes.to_record(record, original=False)
        if self.kind == "sink":
            return self._run(record, body, record)
        outcome = self._run(record, body, record)
        if outcome.out is None or (converts is not None and not converts(self._last.topic)):
            return outcome
        self._failure = None
        (message,) = self._source.apply([self._last], [record])
        if message is None:
            return dataclasses.replace(outcome, out=None, error=self._problem(None))
        return _with_bytes(outcome, message)

    def message(self, message: Any) -> Outcome:
        """
        A message of Kafka. A source's chain takes it as the record that the same converters would have written.
        """
        self._failure = None
        (read,) = self._sink.apply([message])
        if read is None:
            return Outcome(_unread(message), (), None, message.key(), message.value(), error=self._problem(None))
        if self.kind == "source":
            parts = (read.key_schema, read.key, read.value_schema, read.value, read.timestamp, read.headers)
            return self.record(SourceRecord(None, None, read.topic, read.partition, *parts))
        outcome = self._run(read, envelopes.to_record(read, original=False), message)
        headers = tuple(message.headers() or ())
        return dataclasses.replace(outcome, key=message.key(), value=message.value(), headers=headers)

    def _run(self, record: Any, body: Body, origin: Any) -> Outcome:
        """Through the steps; what comes out is in `_last`, too."""
        steps: list[Done] = []
        self._failure = None
        current = record
        for watched in self._steps:
            (current,) = Steps([watched.step]).apply([current], [origin], self._errors)
            alias = watched.step.alias
            after = None if current is None else envelopes.to_record(current)
            steps.append(Done(alias, watched.verdict(), watched.applied, after))
            if self._failure is not None:
                return Outcome(body, tuple(steps), None, error=self._problem(alias))
            if current is None:
                return Outcome(body, tuple(steps), None)
        self._last = current
        return Outcome(body, tuple(steps), steps[-1].record if steps else envelopes.to_record(current))

    def _failed(self, failure: Failure) -> None:
        self._failure = failure

    def _problem(self, alias: str | None) -> Problem:
        failure = self._failure
        assert failure is not None
        message = secrets.hide(str(failure.error), self._secrets)
        class_name = error_class(failure.error)
        cause = failure.error.__cause__
        below = "" if cause is None else secrets.hide(str(cause), self._secrets)
        return Problem(failure.stage.value, class_name, message, alias, self.tolerant, "" if below in message else below)


class _Watched:
    """A step that remembers, of the last record, what its predicate said and whether it was applied."""

    def __init__(self, step: Step, predicate: aliases.Alias | None) -> None:
        self._predicate = predicate
        self._result: bool | None = None
        self.applied = False
        self._negate = step.negate
        apply, test, apply_all = step.apply, step.test, step.apply_all

        def watched_apply(record: Any) -> Any:
            self.applied = True
            return _checked(step.alias, apply(record))

        def watched_test(record: Any) -> bool:
            self._result, self.applied = None, False
            self._result = bool(test(record))  # type: ignore[misc]
            return self._result

        def watched_apply_all(records: list[Any]) -> Sequence[Any]:
            self.applied = True
            return [_checked(step.alias, record) for record in apply_all(records)]  # type: ignore[misc]

        self.step = dataclasses.replace(
            step,
            apply=watched_apply,
            test=None if test is None else watched_test,
            apply_all=None if apply_all is None else watched_apply_all,
        )

    def verdict(self) -> Verdict | None:
        if self._predicate is None:
            return None
        return Verdict(self._predicate.name, self._predicate.type or "", self._result, self._negate)


def _checked(alias: str, result: Any) -> Any:
    # A task would fail of it, too, but later, and with the error of whoever comes next.
    if result is not None and not isinstance(result, SourceRecord | SinkRecord):
        raise ConnectError(f"The transform {alias} gave a {type(result).__name__}, where a record or None may be given")
    return result


def kind_of(config: Mapping[str, str], plugins: Registry) -> str:
    """`source` or `sink`: by its class, if that can be had here, or else by whether it names topics to read."""
    try:
        connector = chain.connector(config).load(plugins)
    except ConnectError:
        return "sink" if config.get("topics") or config.get("topics.regex") else "source"
    if issubclass(connector, SinkConnector):
        return "sink"
    if issubclass(connector, SourceConnector):
        return "source"
    raise ConfigError("connector.class", config["connector.class"], "it is neither a source nor a sink connector")


def worker_settings(
    properties: Mapping[str, str], environ: Mapping[str, str], bootstrap_servers: str | None = None
) -> WorkerSettings:
    """
    Return the settings of a worker file, which may lack what a preview does without. Raise ConfigError with all that is wrong.
    """
    servers = {"bootstrap.servers": bootstrap_servers} if bootstrap_servers else {}
    texts = {**_DEFAULTS, **with_environment(properties, environ), **servers}
    return WorkerSettings.from_properties(worker_file.resolved(texts, in_sandbox=False).texts, {})


def _resolved(config: Mapping[str, str], settings: WorkerSettings, plugins: Registry) -> tuple[dict[str, str], dict[str, str]]:
    """
    The config with the references of its chain resolved, by the worker's providers, and what is to be covered. ConfigError for
    one that can't be had; of others, such as passwords of the connector's own, nothing is asked: nothing here uses them.
    """
    texts = {name: text for name, text in config.items() if text is not None}
    used = {name: text for name, text in texts.items() if name.startswith(_CHAIN)}
    client = {name: text for name, text in texts.items() if name.startswith("consumer.override.")}
    resolved = Providers(plugins, settings.raw).resolve([used, client])
    for problems in resolved.problems(used).values():
        raise ConfigError(f"{problems[0]}; give the worker's file with -w, and run where its secrets are")
    return {**config, **resolved.config(used), **{name: resolved.text(text) for name, text in client.items()}}, resolved.cover(
        used, client
    )


_CHAIN = ("transforms", "predicates", "key.converter", "value.converter", "header.converter", "errors.")


def read(body: Any, kind: str) -> SourceRecord | SinkRecord | Message:
    """
    A record in the form of the golden data. `key_bytes` or `key_text`, and the same of the value, stand for bytes that a
    sink consumes. DataError, naming the part, if it is none.
    """
    if not isinstance(body, dict) or not (_RAW & body.keys()):
        return envelopes.from_record(body, kind)
    rest = {name: part for name, part in body.items() if name not in _RAW}
    if kind != "sink":
        raise DataError("bytes are what a sink reads; a source's record has a `key` and a `value`")
    if not isinstance(rest.get("topic"), str) or rest.keys() & {"key", "value", "headers", "original"}:
        raise DataError("a record of bytes has a `topic`, and no `key`, `value` or `headers`")
    envelopes.from_record(rest, kind)
    return Message(rest, _raw(body, "key"), _raw(body, "value"))


_RAW = {f"{part}_{form}" for part in ("key", "value") for form in ("bytes", "text")}


def _raw(body: Body, part: str) -> bytes | None:
    text, coded = body.get(f"{part}_text"), body.get(f"{part}_bytes")
    if text is not None and coded is not None:
        raise DataError(f"`{part}_text` and `{part}_bytes` are two forms of one thing: give one of them")
    if text is not None:
        return str(text).encode()
    try:
        return None if coded is None else base64.b64decode(coded, validate=True)
    except (TypeError, ValueError):
        raise DataError(f"`{part}_bytes` must be base64") from None


def _with_bytes(outcome: Outcome, message: Outgoing) -> Outcome:
    return dataclasses.replace(outcome, key=message[2], value=message[1], headers=tuple(message[7] or ()))


def _unread(message: Any) -> Body:
    """A message that can't be converted: what is in it is bytes."""
    kind, timestamp = message.timestamp()
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "timestamp": timestamp if kind else None,
        "offset": message.offset(),
        "key": envelopes.envelope_of(None, message.key()),
        "value": envelopes.envelope_of(None, message.value()),
        "headers": [{"name": name, "value": envelopes.envelope_of(None, data)} for name, data in message.headers() or ()],
    }


def _errors(report: Any) -> Errors:
    settings = ErrorSettings(tolerant=True)
    return Errors(settings, report, lambda seconds: True, lambda: 0.0, lambda longest: longest)


def _check(config: Mapping[str, str], kind: str) -> None:
    """ConfigError for the first of the framework's settings that a chain depends on."""
    depends = ("transforms", "predicates", "errors.")
    for value in framework_config(kind).validate(dict(config)):
        if value.errors and value.name.startswith(depends):
            raise ConfigError(value.errors[0])
    for _, message in aliases.errors(config):
        raise ConfigError(message)


def _check_classes(config: Mapping[str, str], settings: WorkerSettings, plugins: Registry) -> None:
    """ConfigError for the first class that is not installed. Whoever loads one says so too, with the names of all others."""
    asked = [(f"{alias.prefix}type", alias.type, kind) for kind, alias in _plugins(config)]
    inherited = worker.converters(settings)
    for which, kind in (("key", "converter"), ("value", "converter"), ("header", "header_converter")):
        setting = f"{which}.converter"
        asked.append((setting, config.get(setting) or inherited[setting], kind))
    for setting, name, kind in asked:
        if not name:
            continue
        try:
            plugins.find(name, kind)
        except NotFoundError:
            available = sorted({plugin.class_name.rsplit(".", 1)[-1] for plugin in plugins.plugins if plugin.kind == kind})
            near = difflib.get_close_matches(name.rsplit(".", 1)[-1], available, 3, 0.5) or available
            rule = f"no {kind.replace('_', ' ')} of that name is installed here"
            remedy = f"write one of {', '.join(near)}, or have the worker file (-w) name its `plugin.path`"
            raise ConfigError(setting, name, f"{rule}; {remedy}") from None


def _secrets(config: Mapping[str, str], settings: WorkerSettings, plugins: Registry) -> set[str]:
    """Return what must not be in a message: by the names of settings, and by what transforms and predicates declare."""
    hidden = secrets.values(config) | secrets.values(settings.raw)
    for kind, alias in _plugins(config):
        try:
            keys = plugins.load(alias.type or "", kind, alias.version)().config().keys.values()
        except Exception:  # noqa: BLE001 - a plugin's own; that it can't be used is said elsewhere
            continue
        for key in keys:
            value = alias.properties.get(key.name)
            if key.type is Type.PASSWORD and value:
                hidden |= secrets.forms(value)
    return hidden


def _plugins(config: Mapping[str, str]) -> Iterator[tuple[str, aliases.Alias]]:
    try:
        yield from (("transformation", alias) for alias in aliases.transforms(config))
        yield from (("predicate", alias) for alias in aliases.predicates(config).values())
    except ConfigError:
        # A `negate` that is no boolean: `_check` tells of it.
        return


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()
