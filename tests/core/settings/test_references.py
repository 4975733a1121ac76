"""References to secrets (KIP-297): how they are written, replaced and put back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kconnect.core.settings import references, secrets
from kconnect.core.settings.references import Reference, Resolved
from kconnect.errors import ConfigError
from tests.support import examples

FILE = Reference("file", "/run/db", "password", "${file:/run/db:password}")
ENV = Reference("env", "", "HOST", "${env:HOST}")
RAW = {"db.password": "${file:/run/db:password}", "url": "db://${env:HOST}/?p=${file:/run/db:password}", "plain": "x"}
RESOLVED = Resolved({FILE: "canary-1", ENV: "db.example"})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("${file:/run/db:password}", [("file", "/run/db", "password")]),
        ("${env:HOST}", [("env", "", "HOST")]),
        ("a${p:k}b${p:q:k}c", [("p", "", "k"), ("p", "q", "k")]),
        # As Kafka's pattern has it: the path ends at the second colon, the key has the rest.
        ("${p:C:/x:k}", [("p", "C", "/x:k")]),
        ("${p::k}", [("p", "", "k")]),
        ("${:k}", [("", "", "k")]),
        ("${p:}", [("p", "", "")]),
        ("$${p:k}}", [("p", "", "k")]),
        ("${a${p:k}", [("a${p", "", "k")]),
        ("${p:two\nlines:k}", [("p", "two\nlines", "k")]),
        ("${topic} $1 ${} {p:k} $p:k ${p:k", []),
    ],
)
def test_what_is_a_reference(text: str, found: list[tuple[str, str, str]]) -> None:
    assert [(ref.provider, ref.path, ref.key) for ref in references.find(text)] == found


@given(st.text("${}:a\n", max_size=24))
@settings(max_examples=examples(2000))
def test_they_are_those_of_kafka_s_pattern(text: str) -> None:
    pattern = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")
    expected = [(match[1], match[3] or "", match[4], match[0]) for match in pattern.finditer(text)]
    assert [(ref.provider, ref.path, ref.key, ref.text) for ref in references.find(text)] == expected
    assert "".join(references.literals(text)) == pattern.sub("", text)
    assert Resolved().text(text) == text


@pytest.mark.parametrize("text", ["${" + ":" * 10**6, "${" * 10**6 + "}", "${:" * 10**6, ("${" + ":" * 999 + "$") * 1000])
def test_a_text_that_is_made_to_take_long_takes_no_longer(text: str) -> None:
    # Kafka's pattern would not come back from these in this test's lifetime.
    assert len(references.find(text)) <= 1
    assert Resolved().text(text) == text


def test_references_are_replaced_once() -> None:
    again = Resolved({FILE: "${env:HOST}", ENV: "h"})
    assert again.config(RAW) == {"db.password": "${env:HOST}", "url": "db://h/?p=${env:HOST}", "plain": "x"}


def test_two_ways_to_write_one_reference_mean_the_same() -> None:
    assert Resolved({ENV: "h"}).text("${env::HOST} ${env:HOST}") == "h h"


def test_a_reference_that_could_not_be_had_is_an_error_of_its_setting() -> None:
    failed = Resolved({ENV: "db.example"}, {FILE: "the provider file could not be asked: why"})
    with pytest.raises(ConfigError) as raised:
        failed.config(RAW)
    assert str(raised.value) == (
        "The setting db.password can't be used: ${file:/run/db:password} can't be resolved: the provider file could not be "
        "asked: why"
    )
    assert failed.problems(RAW).keys() == {"db.password", "url"}
    assert failed.config({"plain": "x", "h": "${env:HOST}"}) == {"plain": "x", "h": "db.example"}


def test_task_configs_get_their_references_back() -> None:
    made = {
        "db.password": "canary-1",
        "task.url": "jdbc:canary-1@db.example",
        "url": "something else",
        "plain": "x",
        "task": "0",
    }
    (stored,) = references.put_back([made], RAW, RESOLVED)
    assert stored == {
        "db.password": "${file:/run/db:password}",
        "task.url": "jdbc:${file:/run/db:password}@${env:HOST}",
        "url": RAW["url"],
        "plain": "x",
        "task": "0",
    }


def test_a_text_that_somebody_else_has_written_as_a_reference_of_the_config_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"The setting tables of a task can't be used: .* \$\{env::HOST\} ") as raised:
        references.put_back([{"tables": "a,${env::HOST}"}], RAW, RESOLVED)
    assert "db.example" not in str(raised.value)
    others = {"tables": "a,${env:OTHER},${topic}"}
    assert references.put_back([others], RAW, RESOLVED) == [others]


def test_what_is_too_short_to_be_a_secret_is_not_looked_for_elsewhere() -> None:
    resolved = Resolved({ENV: "1", FILE: "true"})
    made = {"db.password": "true", "task": "1", "on": "true", "port": "9091"}
    assert references.put_back([made], RAW, resolved) == [{**made, "db.password": RAW["db.password"]}]


def test_without_references_task_configs_stay_as_they_are() -> None:
    assert references.put_back([{"a": "x"}], {"a": "y"}, Resolved()) == [{"a": "x"}]


def test_a_value_that_is_part_of_another() -> None:
    resolved = Resolved({ENV: "abcd", FILE: "abcdefgh"})
    assert references.put_back([{"a": "abcdefgh abcd"}], RAW, resolved) == [{"a": f"{FILE} {ENV}"}]


def test_what_is_covered_has_every_form_that_texts_have() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG\nab\n-----END PRIVATE KEY-----\n"
    covered = Resolved({FILE: key, ENV: "abc"}).cover()
    assert covered.keys() == {
        key,
        key.strip(),
        "-----BEGIN PRIVATE KEY-----",
        "MIIEvQIBADANBgkqhkiG",
        "-----END PRIVATE KEY-----",
    }
    assert set(covered.values()) == {FILE.text}


@pytest.mark.parametrize(
    ("raw", "quoted", "shown"),
    [
        ("/tmp/x${env:PW}", "no file /tmp/xhunter2", "no file /tmp/x${env:PW}"),
        ("pw_${env:PW}y/z", "pw_hunter2y", "pw_${env:PW}y"),
        ("${env:PW}${env:PW}", "ahunter2hunter2", "a${env:PW}"),
        ("averylongprefix${env:PW}", "averylongprefixhunter2behind", "averylongprefix${env:PW}behind"),
        ("é${env:PW}", "éhunter2", "é${env:PW}"),
    ],
)
def test_a_short_secret_within_a_word(raw: str, quoted: str, shown: str) -> None:
    (ref,) = set(references.find(raw))
    resolved = Resolved({ref: "hunter2"})
    assert "hunter2" in references.substitute(quoted, resolved.cover()), "the control: as a word of its own it is not there"
    assert references.substitute(quoted, resolved.cover({"file": raw})) == shown
    assert references.put_back([{"path": quoted}], {"file": raw}, resolved) == [{"path": shown}]


def test_a_short_secret_is_not_looked_for_in_other_words() -> None:
    (ref,) = references.find("${env:PW}")
    assert references.substitute("reorders", Resolved({ref: "order"}).cover({"topic": "${env:PW}"})) == "reorders"


def test_texts_of_what_is_resolved_show_no_values() -> None:
    assert "canary" not in f"{RESOLVED!r} {RESOLVED}"
    (vault,) = references.declared(WORKER).values()
    assert "canary" not in f"{vault!r} {vault}"


WORKER = {
    "config.providers": "vault",
    "config.providers.vault.class": "acme.Vault",
    "config.providers.vault.param.token": "canary-2",
    "config.providers.vault.param.deep.er": "1",
    "config.providers.other.param.x": "2",
}


def test_providers_of_a_worker_file() -> None:
    (vault,) = references.declared(WORKER).values()
    assert (vault.name, vault.class_name, vault.parameters) == ("vault", "acme.Vault", {"token": "canary-2", "deep.er": "1"})
    assert references.declared({}) == {}
    with pytest.raises(ConfigError, match=r'"config.providers.a.class".*`config.providers` names a'):
        references.declared({"config.providers": "a, vault"})


def test_a_reference_is_no_secret_and_what_stands_beside_it_is() -> None:
    assert secrets.plain({"db.password": "${file:/run/db:password}"}) == set()
    assert secrets.plain({"db.password": "salt-${env:HOST}-pepper"}) == {"salt-", "-pepper"}


def test_settings_that_the_worker_reads_can_not_hold_references() -> None:
    config = {"tasks.weight": "${env:HOST}", "connector.class": "X", "tasks.max": "${env:HOST}"}
    ((setting, message),) = references.of_the_worker(config)
    assert setting == "tasks.weight"
    assert message.startswith("Invalid value ${env:HOST} for configuration tasks.weight: the worker itself reads this setting")
