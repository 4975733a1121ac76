"""The examples of docs/expressions.md do what they say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kconnect.api import SourceRecord
from kconnect.plugins.registry import Registry
from kconnect.transforms.python import PATH
from kconnect.units.transforms import Transforms

TEXT = (Path(__file__).parents[2] / "docs" / "expressions.md").read_text()
EXAMPLES = re.findall(r"^```\n(transforms=.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
(FUNCTION,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 5


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.splitlines()[0])
def test_example(example: str, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(FUNCTION)
    lines = example.splitlines()
    config = dict(line.split("=", 1) for line in lines if re.match(r"(transforms|predicates)[.=]", line))
    rest = dict(line.partition(" ")[::2] for line in lines if not re.match(r"(transforms|predicates)[.=]", line))
    chain = Transforms(config, Registry.scan(None), worker={PATH: str(tmp_path)})
    (found,) = chain.steps.apply([SourceRecord({}, {}, "orders", value=json.loads(rest["in"]))])
    if "dropped" in rest:
        assert found is None
    else:
        assert found.value == json.loads(rest["out"])
        assert found.topic == rest.get("topic", "orders")
