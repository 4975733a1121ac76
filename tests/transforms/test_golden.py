"""
The golden chains as a task runs them, through a connector's settings; and what other tests need of golden records.

Each transform by itself, and each predicate, is in `tests/golden/test_golden.py`.
"""

from __future__ import annotations

from typing import Any

import pytest

from kconnect.api import ConnectError
from kconnect.plugins.registry import Registry
from kconnect.units.transforms import Transforms
from tests.golden import envelopes
from tests.rig.golden import errors, records
from tests.rig.golden.records import build as record_of

__all__ = ["PLUGINS", "chain_config", "record_of"]

PLUGINS = Registry.scan(None)


@pytest.mark.parametrize("case", envelopes.as_params(envelopes.load("chains.jsonl")))
def test_chains(case: dict[str, Any]) -> None:
    chain = Transforms(chain_config(case["steps"]), PLUGINS)
    for body, wanted in zip(case["ins"], case["outs"], strict=True):
        record = record_of(case["kind"], body)
        if wanted["error"] is None:
            (found,) = chain.steps.apply([record])
            records.check(found, wanted["out"])
            continue
        with pytest.raises(ConnectError) as raised:
            chain.steps.apply([record])
        assert raised.value.__cause__ is not None
        errors.check(raised.value.__cause__, wanted["error"])


def chain_config(steps: list[dict[str, Any]]) -> dict[str, str]:
    """A connector's settings for these transforms."""
    config = {"transforms": ",".join(f"t{index}" for index in range(len(steps)))}
    predicates = []
    for index, step in enumerate(steps):
        prefix = f"transforms.t{index}."
        config[f"{prefix}type"] = step["class"]
        config.update({f"{prefix}{name}": value for name, value in step["config"].items()})
        asked = step.get("predicate")
        if asked:
            predicates.append(f"p{index}")
            config[f"{prefix}predicate"] = f"p{index}"
            config[f"{prefix}negate"] = str(asked["negate"]).lower()
            config[f"predicates.p{index}.type"] = asked["class"]
            config.update({f"predicates.p{index}.{name}": value for name, value in asked["config"].items()})
    return {**config, "predicates": ",".join(predicates)}
