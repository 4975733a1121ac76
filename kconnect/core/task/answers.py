"""
What a plugin's calls return, checked at the one door where it comes in: from there on nobody expects anything else.

Called by `units/connector_unit.py`, for connectors in Python and in Java, and by `units/source_task.py`. Each refusal is a
sentence that names the plugin's class, the call, what it returned and what it may return. It never quotes a value, which may be
a secret. Read next: `units/connector_unit.py`; `positions.py` for what sink tasks hand over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kconnect.api.record import SourceRecord
from kconnect.errors import UnrecoverableError

RECORDS = "a list of SourceRecords, or None if there are none"
CONFIGS = "a list with one map of texts for each task, which is empty if there is nothing to do"


class AnswerError(UnrecoverableError):
    """A plugin's call returned what it may not return: the same call would do so again."""


class Polled(NamedTuple):
    """The result of a source task's `poll`. `failure` is the reason why it has no more records; those before it count."""

    records: list[SourceRecord] | None
    failure: Exception | None = None


def polled(plugin: str, answer: Any) -> Polled:
    """
    Return a source task's answer to `poll`. Any iterable of records will do, and Nones are left out. AnswerError if the answer
    is none. What comes before something else in it, or before an error of an iterator, goes to Kafka, as in Connect: to the
    task, these records are given.
    """
    if answer is None:
        return Polled(None)
    if not isinstance(answer, Iterable) or isinstance(answer, str | bytes | Mapping):
        raise refusal(plugin, "poll", kind_of(answer), RECORDS)
    # A list of this side's own: a task may fill its own anew for the next answer.
    records: list[SourceRecord] = []
    failure: Exception | None = None
    try:
        records += answer
    except Exception as error:
        if not records:
            raise
        failure = error
    # What there is of kinds, not of records, is asked one by one.
    kinds = set(map(type, records))
    if not kinds <= {SourceRecord, type(None)} and (wrong := _first_wrong(records)) is not None:
        number, what = wrong
        failure = refusal(plugin, "poll", f"{what} as record {number} of {len(records)}", RECORDS)
        records = records[:number]
    if type(None) in kinds:
        # Left out, as in Connect.
        records = [record for record in records if record is not None]
    if failure is not None and not records:
        raise failure
    return Polled(records, failure)


def _first_wrong(records: Sequence[Any]) -> tuple[int, str] | None:
    """Return which is the first that is no record, and what it is; None if all are, or None."""
    for number, record in enumerate(records):
        if record is not None and not isinstance(record, SourceRecord):
            return number, kind_of(record)
        if record is not None and not all(hasattr(record, name) for name in SourceRecord.__slots__):
            return number, f"{kind_of(record)} whose constructor has not called SourceRecord's"
    return None


def task_configs(plugin: str, call: str, answer: Any) -> list[dict[str, str]]:
    """
    Return a connector's answer to `task_configs` as a list of dicts. Any iterable of maps will do. AnswerError if the answer
    is none. A setting whose value is None is left out, as in Java.
    """
    if not isinstance(answer, Iterable) or isinstance(answer, str | bytes | Mapping):
        raise refusal(plugin, call, kind_of(answer), CONFIGS)
    configs: list[dict[str, str]] = []
    for number, config in enumerate(answer):
        if not isinstance(config, Mapping):
            raise refusal(plugin, call, f"{kind_of(config)} as the config of task {number}", CONFIGS)
        for name, value in config.items():
            if not isinstance(name, str):
                raise refusal(plugin, call, f"{kind_of(name)} as the name of a setting of task {number}", CONFIGS)
            if value is not None and not isinstance(value, str):
                raise refusal(plugin, call, f"{kind_of(value)} as the value of {name!r} for task {number}", CONFIGS)
        configs.append({name: value for name, value in config.items() if value is not None})
    return configs


def task_class(plugin: str, answer: Any) -> Callable[[], Any]:
    """Return a connector's answer to `task_class`. AnswerError if that is nothing of which a task can be made."""
    if not callable(answer):
        raise refusal(plugin, "task_class", kind_of(answer), "the class of its tasks")
    return answer  # type: ignore[no-any-return]


def refusal(plugin: str, call: str, returned: str, allowed: str) -> AnswerError:
    """Return the error for an answer that can't be used: `returned` is what the call returned, `allowed` what it may return."""
    return AnswerError(f"{plugin}.{call}() returned {returned}, but must return {allowed}")


def kind_of(answer: Any) -> str:
    """Return what an answer is, for messages, without quoting it: `None`, `an int`, `a com.acme.Record`."""
    if answer is None:
        return "None"
    kind = type(answer)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
