"""What is covered stays so, whatever else is to be covered."""

from __future__ import annotations

import json
from base64 import b64encode
from random import Random

import pytest

from kconnect.core.settings.references import Reference, Resolved
from kconnect.processes.covered import Covered

SECRET, SHOWN = "hunter2-very-secret", "${env:DB}"


def bundle(lines: int) -> str:
    """Make a text that looks like a bundle of certificates."""
    random = Random(7)
    return "\n".join(b64encode(random.randbytes(48)).decode() for _ in range(lines))


def test_a_reference_to_many_lines_uncovers_nobody_elses_secret() -> None:
    """Whoever may create connectors refers to a long file: the secrets of all others stood in logs from then on."""
    covered, text = Covered(), bundle(5000)
    covered.put({SECRET: SHOWN})
    long = Reference("dir", "/run/secrets", "ca.pem", "${dir:/run/secrets:ca.pem}")
    covered.put(Resolved({long: text}).cover({"ssl": long.text}))
    assert covered.hide(f"It is {SECRET}.") == f"It is {SHOWN}."
    for line in (text.splitlines()[0], text.splitlines()[-1]):
        assert covered.hide(f"at {line}") == f"at {long.text}"
    assert covered.hide(json.dumps(text)) == f'"{long.text}"'


@pytest.mark.parametrize("kept", [90, 30])
def test_what_takes_most_room_goes_first(kept: int) -> None:
    covered = Covered(kept)
    covered.put({SECRET: SHOWN})
    covered.put({f"{number}-of-many-{number}": "${file:/f:k}" for number in range(200)})
    covered.put({"another-secret": "${env:OTHER}"})
    assert covered.hide(f"{SECRET} another-secret") == f"{SHOWN} ${{env:OTHER}}"
    assert covered.hide("199-of-many-199") == "${file:/f:k}", "the latest is not there any more"
    assert covered.hide("0-of-many-0") == "0-of-many-0"


def test_long_secrets_take_no_memory_and_uncover_nobody_elses() -> None:
    """Each restart of a connector may bring another password of a megabyte; all plain ones are covered by one word."""
    covered = Covered(4000)
    covered.put({SECRET: "[hidden]"}, "quiet")
    for number in range(20):
        covered.put({f"{number:04}" + "x" * 60_000: "[hidden]"}, "greedy")
    shown = covered._known.shown
    assert sum(map(len, shown)) < 2 * 4000 * 256
    assert covered.hide(f"It is {SECRET}.") == "It is [hidden]."
    assert covered.hide("0019" + "x" * 60_000) == "[hidden]", "the latest is not there any more"
    assert covered._groups.keys() == shown.keys()
