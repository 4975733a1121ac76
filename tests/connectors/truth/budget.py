"""How many histories are played: a few fixed ones by `scripts/test`, new ones as long as asked by connector-truth."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

from tests.support import examples

_EXAMPLES = "KCONNECT_TRUTH_EXAMPLES"


def histories(count: int) -> settings:
    """`count` is that of a night without a number of its own."""
    wanted = int(os.environ.get(_EXAMPLES, "0")) or examples(count)
    phases = [Phase.explicit, Phase.generate, *([Phase.shrink] if wanted > count else [])]
    checks = [
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
        HealthCheck.filter_too_much,
    ]
    return settings(max_examples=wanted, deadline=None, phases=phases, suppress_health_check=checks, database=None)
