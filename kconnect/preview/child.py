"""
A chain tried on records for a worker: in a process of its own, so that plugin code can't hurt the worker.

`worker/errands.py` starts it as `python -m kconnect.preview.child`. `dlq/child.py` makes its chains here, too. Read next:
`plugins/one_request.py` for how they speak, `preview.py`, which does what tasks do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kconnect.core.settings.worker import WorkerSettings
from kconnect.errors import BadRequestError, DataError
from kconnect.jvm import options
from kconnect.jvm.options import Options
from kconnect.kafka import sample
from kconnect.plugins import environments, one_request
from kconnect.plugins.registry import Registry
from kconnect.preview import preview
from kconnect.preview.preview import Outcome, Preview


def main() -> None:
    one_request.serve(_preview)


def plugins(settings: WorkerSettings, memory: int | None) -> Registry:
    options.wanted = Options(*settings.java, memory, "sandbox.memory.max.bytes")
    return Registry.scan(settings.plugin_path, discovery=settings.plugin_discovery)


def chain(config: Mapping[str, str], kind: str | None, settings: WorkerSettings, plugins: Registry) -> Preview:
    """ConfigError for a setting that can't be used."""
    environments.prepare(environments.directories(plugins, config, settings))
    return Preview(config, kind or preview.kind_of(config, plugins), settings, plugins)


def _preview(request: Mapping[str, Any], memory: int | None) -> dict[str, Any]:
    settings = WorkerSettings.from_properties(request["worker"], {})
    tried = chain(request["config"], None, settings, plugins(settings, memory))
    try:
        records = request["records"]
        outcomes = _sampled(tried, settings, request["sample"]) if records is None else _given(tried, records)
        return {"kind": tried.kind, "records": [tried.shown(outcome).as_json() for outcome in outcomes]}
    finally:
        tried.close()


def _given(chain: Preview, records: list[Any]) -> Iterator[Outcome]:
    for number, body in enumerate(records):
        try:
            record = preview.read(body, chain.kind)
        except DataError as error:
            raise BadRequestError(f"records[{number}]: {error}") from None
        yield chain.message(record) if isinstance(record, preview.Message) else chain.record(record)


def _sampled(chain: Preview, settings: WorkerSettings, choice: Mapping[str, Any]) -> Iterator[Outcome]:
    for message in sample.messages(settings, chain.config, **choice):
        yield chain.message(message)


if __name__ == "__main__":
    main()
