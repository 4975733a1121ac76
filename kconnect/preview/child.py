"""
A chain tried on records for a worker: in a process of its own, so that plugin code can't hurt the worker. It ends with it.

`worker/previews.py` starts it as `python -m kconnect.preview.child` and speaks to it in the sandbox's frames: one greeting, one
request, one answer. Read next: `preview.py`, which does what tasks do.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
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


def main() -> None:
    requests, answers = pipes()
    memory = (read_frame(requests) or {}).get("memory")
    confine(memory)
    request = read_frame(requests)
    if request is not None:
        threading.Thread(target=_end_with_worker, args=(requests,), daemon=True).start()
        answers.write(frame(_answer(request, memory)))


def _end_with_worker(requests: IO[bytes]) -> None:
    requests.read()
    os._exit(1)


def _answer(request: Mapping[str, Any], memory: int | None) -> dict[str, Any]:
    try:
        # As text: half a pair of surrogates, which records may have, passes no stricter writer.
        return {"result": json.dumps(_preview(request, memory))}
    except ConfigError as error:
        return {"error": BadRequestError.__name__, "message": str(error)}
    except ConnectError as error:
        return {"error": type(error).__name__, "message": str(error)}


def _preview(request: Mapping[str, Any], memory: int | None) -> dict[str, Any]:
    config: dict[str, str] = request["config"]
    settings = WorkerSettings.from_properties(request["worker"], {})
    options.wanted = Options(*settings.java, memory, "sandbox.memory.max.bytes")
    plugins = Registry.scan(settings.plugin_path, discovery=settings.plugin_discovery)
    environments.prepare(environments.directories(plugins, config, settings))
    chain = Preview(config, preview.kind_of(config, plugins), settings, plugins)
    try:
        records = request["records"]
        outcomes = _sampled(chain, settings, request["sample"]) if records is None else _given(chain, records)
        return {"kind": chain.kind, "records": [outcome.as_json() for outcome in outcomes]}
    finally:
        chain.close()


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
