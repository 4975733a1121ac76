"""
Outcomes of a preview for others to read: without the secrets that its config, or a provider, has put into the chain.

A transform may put a secret into each record (`InsertField` with `static.value=${file:…}`), and a preview would answer with it.
Called by `Preview.shown`; what `kconnect dlq` writes to Kafka, and what `kconnect test` compares, is the outcome as it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from kconnect.api.config import HIDDEN
from kconnect.core.settings import secrets

if TYPE_CHECKING:
    from kconnect.preview.preview import Outcome


def hide(outcome: Outcome, hidden: Collection[str]) -> Outcome:
    """Return the outcome with every secret of `hidden` blotted out, in keys of objects, numbers and bytes too."""
    if not hidden:
        return outcome
    steps = tuple(dataclasses.replace(step, record=_body(step.record, hidden)) for step in outcome.steps)
    return dataclasses.replace(
        outcome,
        record=_body(outcome.record, hidden),
        steps=steps,
        out=_body(outcome.out, hidden),
        key=_bytes(outcome.key, hidden),
        value=_bytes(outcome.value, hidden),
        headers=tuple((secrets.hide(name, hidden), _bytes(data, hidden)) for name, data in outcome.headers),
    )


def _body(body: Any, hidden: Collection[str]) -> Any:
    match body:
        case str():
            return secrets.hide(body, hidden)
        case dict():
            return {secrets.hide(name, hidden) if isinstance(name, str) else name: _body(v, hidden) for name, v in body.items()}
        case list() | tuple():
            return [_body(item, hidden) for item in body]
        case bool() | None:
            return body
        case int() | float():
            # A secret of digits, which a transform has cast.
            return HIDDEN if str(body) in hidden else body
        case _:
            return body


def _bytes(data: bytes | None, hidden: Collection[str]) -> bytes | None:
    if data is None:
        return None
    for secret in sorted(hidden, key=len, reverse=True):
        data = data.replace(secret.encode("utf-8", "surrogatepass"), HIDDEN.encode())
    return data
