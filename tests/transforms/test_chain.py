"""The chain of a task as its config names it; `test_golden.py` has what the transforms do."""

from __future__ import annotations

import pytest

from kconnect.errors import ConfigError
from kconnect.plugins.registry import Registry
from kconnect.units.transforms import Transforms

PLUGINS = Registry.scan(None)


@pytest.mark.parametrize("predicate", ["", "q"])
def test_a_task_with_a_predicate_that_is_not_there_fails(predicate: str) -> None:
    config = {"transforms": "f", "transforms.f.type": "Filter", "transforms.f.predicate": predicate}
    with pytest.raises(ConfigError, match=r"transforms\.f\.predicate: there is no predicate of that alias"):
        Transforms(config, PLUGINS)


def test_a_predicate_that_no_transform_uses_is_never_made() -> None:
    unused = {"predicates": "p", "predicates.p.type": "HasHeaderKey"}  # without its name, so that making it would fail
    assert not Transforms(unused, PLUGINS).steps
