"""A connector's chain, tried on records before it runs. Made by `rest/preview.py`. Nothing of the cluster is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kconnect.core.herder import effects
from kconnect.core.herder.procedures import Procedure, ask
from kconnect.core.herder.request import Office, Request


@dataclass(frozen=True, slots=True)
class PreviewChain(Request[str]):
    """`POST /kconnect/preview`; the answer is JSON, as text. `records` None: they come from a topic, as `sample` says."""

    config: Mapping[str, str]
    records: tuple[Any, ...] | None
    sample: Mapping[str, Any]
    hurries = True

    def answer(self, office: Office) -> Procedure[str]:
        return (yield from ask(effects.Preview(self.config, self.records, self.sample)))
