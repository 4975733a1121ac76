"""What is covered stays so, whatever else is to be covered."""

from __future__ import annotations

import json
from base64 import b64encode
from random import Random

import pytest

from kconnect.core.settings.references import Reference, Resolved
from kconnect.data import secret_texts
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


LONG = "Sup3rSecretHead.eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4ifQ.Tail9SecretEnd"


@pytest.mark.parametrize("cut", [12, 40, len(LONG) - 1])
def test_what_is_left_of_a_secret_that_was_cut_is_covered(cut: int) -> None:
    """Many a text is cut before anybody hides what is in it."""
    covered = Covered()
    covered.put({LONG: SHOWN})
    part = LONG[:cut]
    for text in (f"can't read '{part}...'", part, f"{part} and {LONG} and {part}", f"{part}…"):
        assert covered.hide(text) == text.replace(LONG, SHOWN).replace(part, SHOWN)
        assert secret_texts.hide(text, [LONG]) == text.replace(LONG, "[hidden]").replace(part, "[hidden]")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("production-db-1.example.com", "the production topic of example.com"),
        (
            'org.apache.kafka.common.security.plain.PlainLoginModule required password="x";',
            "org.apache.kafka.common.config.ConfigException",
        ),
        (
            'org.apache.kafka.common.security.plain.PlainLoginModule required password="x";',
            "The level of org.apache.kafka is INFO",
        ),
        ("/run/secrets/kconnect-1/production/password", "/run/secrets/kconnect-1/production2/password"),
    ],
)
def test_what_only_begins_alike_stays(value: str, text: str) -> None:
    """Most of a log would be hidden otherwise: many a secret begins with the name of a class, or of a folder."""
    covered = Covered()
    covered.put({value: SHOWN})
    assert covered.hide(text) == secret_texts.hide(text, [value]) == text


@pytest.mark.parametrize(
    "part",
    ["Tail9SecretEnd", "tail9secretend", "More8Secret", "Amp5Secret", "SUP3RSECRETHEAD@TAIL9SECRETEND/MORE8SECRET&AMP5SECRET"],
)
def test_what_libraries_take_out_of_a_url_is_covered(part: str) -> None:
    reference = Reference("file", "/f", "k", SHOWN)
    value = "Sup3rSecretHead@Tail9SecretEnd/More8Secret&Amp5Secret"
    covered = Covered()
    covered.put(Resolved({reference: value}).cover({}))
    assert covered.hide(f"http://{part}/x can't be reached") == f"http://{SHOWN}/x can't be reached"


def test_as_requests_quotes_it() -> None:
    covered = Covered()
    covered.put({"p%ss w\"ö\rd<&>'tail": SHOWN})
    assert covered.hide("p%25ss%20w%22%C3%B6%0Dd%3C&%3E'tail") == SHOWN


def test_long_texts_of_one_letter_take_no_time() -> None:
    """Each place of it may be the beginning, or the end, of a value."""
    covered = Covered()
    values = {f"{number}" + "x" * 50_000 + f"{number}": SHOWN for number in range(20)}
    covered.put(values)
    text = "x" * 100_000
    assert covered.hide(text) == secret_texts.hide(text, values) == text
