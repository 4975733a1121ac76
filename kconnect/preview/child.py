"""
A chain tried on records for a worker: in a process of its own, so that plugin code can't hurt the worker. It ends with it.

`worker/errands.py` starts it as `python -m kconnect.preview.child` and speaks to it in the sandbox's frames: one greeting, one
request, one answer. `dlq/child.py` is such a process, too. Read next: `preview.py`, which does what tasks do.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import BadRequestError, ConfigError, ConnectError, DataError
from kconnect.jvm import options
from kconnect.jvm.options import Options
from kconnect.kafka import sample
from kconnect.plugins import environments
from kconnect.plugins.confinement import confine
from kconnect.plugins.registry import Registry
from kconnect.plugins.sandbox_child import frame, pipes, read_frame
from kconnect.preview import preview
from kconnect.preview.preview import Outcome, Preview

Work = Callable[[Mapping[str, Any], "int | None"], "dict[str, Any]"]
"""The request, and how much memory there is, in bytes."""


def main() -> None:
    serve(_preview)


def serve(work: Work) -> None:
    """Answer the one request. `work` makes what is sent as JSON, or raises a ConnectError, which is sent as such."""
    requests, answers = pipes()
    memory = (read_frame(requests) or {}).get("memory")
    confine(memory)
    request = read_frame(requests)
    if request is not None:
        threading.Thread(target=_end_with_worker, args=(requests,), daemon=True).start()
        answers.write(frame(_answer(work, request, memory)))


def plugins(settings: WorkerSettings, memory: int | None) -> Registry:
    options.wanted = Options(*settings.java, memory, "sandbox.memory.max.bytes")
    return Registry.scan(settings.plugin_path, discovery=settings.plugin_discovery)


def chain(config: Mapping[str, str], kind: str | None, settings: WorkerSettings, known: Registry) -> Preview:
    """ConfigError for a setting that can't be used."""
    environments.prepare(environments.directories(known, config, settings))
    return Preview(config, kind or preview.kind_of(config, known), settings, known)


def _end_with_worker(requests: IO[bytes]) -> None:
    requests.read()
    os._exit(1)


def _answer(work: Work, request: Mapping[str, Any], memory: int | None) -> dict[str, Any]:
    try:
        # As text: half a pair of surrogates, which records may have, passes no stricter writer.
        return {"result": json.dumps(work(request, memory))}
    except ConfigError as error:
        return {"error": BadRequestError.__name__, "message": str(error)}
    except ConnectError as error:
        return {"error": type(error).__name__, "message": str(error)}


def _preview(request: Mapping[str, Any], memory: int | None) -> dict[str, Any]:
    settings = WorkerSettings.from_properties(request["worker"], {})
    tried = chain(request["config"], None, settings, plugins(settings, memory))
    try:
        records = request["records"]
        outcomes = _sampled(tried, settings, request["sample"]) if records is None else _given(tried, records)
        return {"kind": tried.kind, "records": [outcome.as_json() for outcome in outcomes]}
    finally:
        tried.close()


def _given(chain: Preview, records: list[Any]) -> Iterator[Outcome]:
    for number, body in enumerate(records):
        try:
            record = preview.read(body, chain.kind)
        except DataError as error:
            raise BadRequestError(f"records[{number}]: {error}") from None
        yield chain.message(record) if isinstance(record, preview.Message) else chain.record(record)


def _sampled(chain: Preview, settings: WorkerSettings, wanted: Mapping[str, Any]) -> Iterator[Outcome]:
    for message in sample.messages(settings, chain.config, **wanted):
        yield chain.message(message)


if __name__ == "__main__":
    main()
