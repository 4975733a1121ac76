"""How many histories are played: a few fixed ones by `scripts/test`, new ones as long as asked by connector-truth."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

_EXAMPLES = "KCONNECT_TRUTH_EXAMPLES"
_BY_DAY = 0.6
"""What part of them: `scripts/test --long` plays all, and then an hour of new ones."""


def histories(count: int) -> settings:
    """`count` is that of a night without a number of its own."""
    by_day = count if os.environ.get("KCONNECT_NIGHT") else max(1, round(count * _BY_DAY))
    examples = int(os.environ.get(_EXAMPLES, "0")) or by_day
    phases = [Phase.explicit, Phase.generate, *([Phase.shrink] if examples > count else [])]
    checks = [
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
        HealthCheck.filter_too_much,
    ]
    return settings(max_examples=examples, deadline=None, phases=phases, suppress_health_check=checks, database=None)
