"""The small faults that `scripts/mutate` puts into the product: each is one edit, and what is left is Python."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.rig.mutation.faults import faults_of

SOURCE = b'''
def f(a, b: int = 1):
    """Not of interest."""
    log.info("nor this", a)
    if (a < 2) and not (b is not None):
        raise ValueError("\xc3\xa4", a)
    try:
        write(a, as_leader=True)
    except (OSError, ValueError):
        pass
    return a + 1
'''


def test_one_fault_at_a_time() -> None:
    found = {(fault.line, fault.kind): fault.shown(SOURCE).splitlines()[1][2:] for fault in faults_of(Path("x.py"), SOURCE)}
    assert found == {
        (2, "number"): "def f(a, b: int = 2):",
        (5, "condition negated"): "if (not ((a < 2) and not (b is not None))):",
        (5, "comparison turned"): "if (a < 2) and not (b is None):",
        (5, "and for or"): "if (a < 2) or not (b is not None):",
        (5, "number"): "if (a < 3) and not (b is not None):",
        (6, "raise left out"): "pass",
        (6, "arguments swapped"): 'raise ValueError(a, "ä")',
        (8, "call left out"): "pass",
        (8, "keyword left out"): "write(a)",
        (8, "true for false"): "write(a, as_leader=False)",
        (9, "exception widened"): "except Exception:",
        (11, "return left out"): "return None",
        (11, "plus for minus"): "return a - 1",
        (11, "number"): "return a + 2",
    }


@pytest.mark.long
def test_what_is_left_is_python() -> None:
    kinds: Counter[str] = Counter()
    for path in sorted(Path(__file__).parents[2].joinpath("kconnect", "core").rglob("*.py")):
        source = path.read_bytes()
        for fault in faults_of(path, source):
            kinds[fault.kind] += 1
            faulty = fault.applied(source)
            assert faulty != source, fault
            if kinds[fault.kind] % 10 == 0:
                ast.parse(faulty)
    assert len(kinds) == 12
    assert min(kinds.values()) > 20, kinds
