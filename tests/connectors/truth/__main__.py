"""
`scripts/connector-truth`: plays the histories: `python -m tests.connectors.truth [--minutes N] [--seed S] [PATTERN]`.

Without options these are the few fixed ones that `scripts/test` plays. With `--minutes`, new ones are drawn, round by round,
until the time is over or a round has failed; it prints the seed, which repeats that round. PATTERN chooses tests by a part of
their names. Exit status 1: a target did not have what its model says.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

_HERE = Path(__file__).parent
_EXAMPLES = 40
"""Histories of each kind in a round."""


def command(pattern: str, *more: str) -> list[str]:
    chosen = ["-k", pattern] if pattern else []
    # What the rounds before have failed with is none of this round's business.
    return [sys.executable, "-m", "pytest", str(_HERE), "-q", "-p", "no:cacheprovider", "--show-capture=no", *chosen, *more]


def play(seed: int, pattern: str, limit_s: float) -> int:
    """Play a round of new histories. Return pytest's exit status; 0 if the time was over before."""
    night = {"KCONNECT_EXPLORE": "1", "KCONNECT_NIGHT": "1"}
    examples = os.environ.get("KCONNECT_TRUTH_EXAMPLES", str(_EXAMPLES))
    environment = {**os.environ, **night, "KCONNECT_TRUTH_EXAMPLES": examples}
    try:
        arguments = command(pattern, "-x", f"--hypothesis-seed={seed}", "--timeout=1500")
        return subprocess.run(arguments, env=environment, timeout=limit_s).returncode
    except subprocess.TimeoutExpired:
        return 0


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/connector-truth", description=__doc__.strip().splitlines()[0])
    parser.add_argument("--minutes", type=float, default=0.0, help="draw new histories for so long")
    parser.add_argument("--seed", type=int, help="of the first round; the next ones count on from it")
    parser.add_argument("pattern", nargs="?", default="", help="a part of the names of tests")
    options = parser.parse_args(arguments)
    if not options.minutes and options.seed is None:
        return subprocess.run(command(options.pattern, "-m", "not long", "--durations=12")).returncode
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1_000_000)
    began = time.monotonic()
    end = began + 60 * options.minutes
    rounds = 0
    # Without a time it is one round, such as the one that has failed.
    while not rounds or time.monotonic() < end:
        say(f"== Seed {seed + rounds}")
        left_s = max(60.0, end - time.monotonic()) if options.minutes else float("inf")
        status = play(seed + rounds, options.pattern, min(left_s, 24 * 3600.0))
        if status:
            say(f"Failed. Again: scripts/connector-truth --seed {seed + rounds} {options.pattern}".rstrip())
            return status
        rounds += 1
    say(f"{rounds} rounds in {time.monotonic() - began:.0f} s, all of them right")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
