"""How many histories are played: a few fixed ones by `scripts/test`, new ones as long as asked by connector-truth."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

_EXAMPLES = "KCONNECT_TRUTH_EXAMPLES"


def histories(count: int) -> settings:
    """`count` is that of `scripts/test`."""
    examples = int(os.environ.get(_EXAMPLES, "0")) or count
    phases = [Phase.explicit, Phase.generate, *([Phase.shrink] if examples > count else [])]
    checks = [
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
        HealthCheck.filter_too_much,
    ]
    return settings(max_examples=examples, deadline=None, phases=phases, suppress_health_check=checks, database=None)
